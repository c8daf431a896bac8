package server_test

import (
	"strconv"

	"bursar/internal/server/servertest"
)

// batches fills batches of payouts.
func (c *town) batches() {
	many := c.many.payouts
	ids := c.ids("bat", many)
	c.insert("payout_batch", "id, workspace_id, account_id, currency, description, payouts, total, refused, maker_id, approval_id, approval_why, created_at", many, func(i int) []any {
		return []any{ids[i], c.workspaces[c.spread(i)], c.ledger, "XTS", "", 1, 100, 0, c.accounts[i%len(c.accounts)], nil, "", c.past(i, many)}
	})
}

// payouts takes payouts through all steps that people take with them, and reads all lists.
func (w *tour) payouts() {
	x := w.town.large
	half := strconv.FormatInt(w.town.past(1, 2), 10)
	for _, filter := range [][2]string{
		{"", ""}, {"source_account_id", w.town.ledger}, {"status", "processing"}, {"status", "completed"}, {"entry_id", x.Entry("Ada")}, {"batch_id", "bat_none"},
		{"rail", "pesonet"}, {"external_id", "none"}, {"since", half}, {"until", half}, {"q", "ada"}, {"q", "ada 1"}, {"q", "nobody"},
	} {
		w.list(x.Owner, "/v2/payout-requests", "half of all", "workspace_id", x.WorkspaceID, filter[0], filter[1])
		w.list(x.Owner, "/v2/payout-requests", "half of all", "workspace_id", x.WorkspaceID, "status", "completed", filter[0], filter[1])
	}

	const payouts = "/v2/payout-requests"
	account := x.Account(1_000_000)
	method := x.Owner.AddMethod(x.Entry("Ada"), servertest.Account("1234567890", body{"institution_code": "BOPIPHMMXXX"}))
	ask := func(more body) body {
		r := body{"source_account_id": account, "amount_cents": 100, "currency": "PHP",
			"settlement_account": body{"bank_account_name": "Juan dela Cruz", "bank_account_number": "1234567890", "bank_code": "BOPIPHMMXXX"}}
		for key, value := range more {
			if r[key] = value; value == nil {
				delete(r, key)
			}
		}
		return r
	}
	w.begin("a payout")
	x.Owner.Post(payouts+"/validate", ask(body{"external_id": "walk"})).OK()
	x.Owner.Post(payouts, ask(body{"external_id": "walk"})).OK()
	x.Owner.Post(payouts, ask(body{"external_id": "walk"})).OK()
	x.Owner.Post(payouts, ask(body{"settlement_account": nil, "receiving_method_id": method}))
	draft := x.Owner.Post(payouts, ask(body{"status": "draft"})).OK().Text("id")
	x.Owner.Patch(payouts+"/"+draft, body{"amount_cents": 200}).OK()
	x.Owner.Post(payouts+"/"+draft+"/publish", nil).OK()
	x.Owner.Get(payouts + "/" + draft + "?reveal=true").OK()
	x.Owner.Post(payouts+"/"+draft+"/cancel", nil).OK()
	x.Owner.Post(payouts+"/"+x.Sent("1234569001")+"/retry", nil).OK()
	failed := x.Sent("1234569001")
	x.Contradict(failed, "sandbox") // as one that was retried before a restore
	x.Owner.Post(payouts+"/"+failed+"/resolve", body{"as": "paid", "evidence": "a statement"}).OK()
	for _, as := range []string{"paid", "not_paid"} {
		stuck := x.Stuck("sandbox")
		x.Owner.Get(payouts + "/" + stuck).OK()
		x.Owner.Post(payouts+"/"+stuck+"/resolve", body{"as": as, "evidence": "a statement"}).OK()
	}

	w.begin("a batch of payouts")
	batch := func(maker *servertest.Client) (id string, list []string) {
		var b struct {
			ID      string
			Results []struct{ ID string }
		}
		one := ask(nil)
		delete(one, "source_account_id")
		delete(one, "currency")
		maker.Post("/v2/batch-payout-requests", body{"source_account_id": account, "currency": "PHP", "payouts": []body{one, one}}).OK().Data(&b)
		for _, r := range b.Results {
			list = append(list, r.ID)
		}
		return b.ID, list
	}
	id, list := batch(x.Owner)
	x.Owner.Get("/v2/batch-payout-requests/" + id).OK()
	x.Owner.Post(payouts+"/"+list[0]+"/cancel", nil).OK()

	w.begin("a file of payouts, whose payees are named")
	x.Owner.Do("POST", "/v2/batch-payout-requests?currency=PHP&source_account_id="+account, "to,amount\nNamed,1\n"+x.Entry("Named")+",1\n",
		"Content-Type", "text/csv").Fails(400, "VALIDATION_ERROR") // they have no receiving methods

	w.begin("payouts that somebody approves")
	x = w.town.middle // which has no rules
	account = x.Account(1_000_000)
	retried := x.Stuck("sandbox")
	x.Owner.Post(payouts+"/"+retried+"/resolve", body{"as": "not_paid", "evidence": "a statement"}).OK()
	if got := x.Owner.Post(payouts+"/"+retried+"/retry", nil).OK().Text("status"); got != "pending" {
		w.t.Errorf("a retry in a workspace without rules is %s", got)
	}
	w.node.RunPayouts(w.t)
	maker, second := x.Member("disbursement_manager"), w.node.Person(w.t, x.Member("admin"))
	x.EverybodyCounts()
	approval := func(id string) string { return second.Get(payouts + "/" + id).OK().Text("approval_id") }
	paid := maker.Post(payouts, ask(nil)).OK().Text("id")
	second.Post(payouts+"/"+paid+"/approve", body{"digest": second.Get("/v1/approvals/" + approval(paid)).OK().Text("digest")}).OK()
	refused := maker.Post(payouts, ask(nil)).OK().Text("id")
	second.Post(payouts+"/"+refused+"/reject", body{"reason": "no"}).OK()
	resolved := second.Post(payouts+"/"+x.Stuck("live")+"/resolve", body{"as": "not_paid", "evidence": "a statement"}).Fails(403, "SECOND_PERSON_REQUIRED")
	w.node.Person(w.t, x.Member("admin")).Get("/v1/approvals/" + resolved.Detail("approval_id")).OK()
	cancelled := maker.Post(payouts, ask(nil)).OK().Text("id")
	maker.Post(payouts+"/"+cancelled+"/cancel", nil).OK()
	x.Contradict(cancelled, "sandbox") // as one that was sent before a restore
	asked := maker.Post(payouts+"/"+cancelled+"/resolve", body{"as": "paid", "evidence": "a statement"}).Fails(403, "SECOND_PERSON_REQUIRED")
	second.Approve(asked.Detail("approval_id")).OK()
	_, list = batch(maker)
	maker.Post(payouts+"/"+list[0]+"/cancel", nil).OK()
	second.Approve(approval(list[1])).OK()
	_, list = batch(maker)
	second.Post(payouts+"/"+list[0]+"/reject", body{"reason": "no"}).OK()
	_, list = batch(maker)
	for _, id := range list {
		maker.Post(payouts+"/"+id+"/cancel", nil).OK()
	}

	w.begin("sending that people stop")
	stop, resume := x.Path("/payout-stop"), x.Path("/payout-resume")
	maker.Post(stop, body{"reason": "a drill"}).OK()
	maker.Get(payouts + "?workspace_id=" + x.WorkspaceID).OK()
	w.node.RunPayouts(w.t)
	maker.Post(resume, body{}).Fails(403, "SECOND_PERSON_REQUIRED")
	second.Get(stop).OK()
	maker.Post(stop, body{"reason": "another drill"}).OK()
	second.Approve(maker.Post(resume, body{}).Fails(403, "SECOND_PERSON_REQUIRED").Detail("approval_id")).OK()
	live := "/v2/accounts/" + x.LiveAccount()
	x.Owner.Patch(live, body{"status": "frozen"}).OK()
	x.Owner.Patch(live, body{"status": "active"}).Fails(403, "SECOND_PERSON_REQUIRED")
	x.Owner.Patch(live, body{"status": "frozen"}).OK()
	second.Approve(x.Owner.Patch(live, body{"status": "active"}).Fails(403, "SECOND_PERSON_REQUIRED").Detail("approval_id")).OK()
}
