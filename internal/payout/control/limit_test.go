package control_test

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"bursar/api"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/fault"
	"bursar/internal/payout/control"
	"bursar/internal/server/servertest"
)

// take reserves for a payout, and returns the limit that does not allow it with what is left.
func (g *guarded) take(p control.Spending) string {
	g.t.Helper()
	p.WorkspaceID, p.At, p.Mode, p.Currency = g.WorkspaceID, g.n.DB.Now(), cmp.Or(p.Mode, api.ModeSandbox), cmp.Or(p.Currency, "PHP")
	_, err := db.Write(g.t.Context(), g.n.DB, db.Caller{}, func(tx *db.Tx) (struct{}, audit.Event, error) {
		return struct{}{}, audit.None("a test"), g.rules.TakeLimits(tx, p)
	})
	var f *fault.Fault
	if !errors.As(err, &f) {
		if err != nil {
			g.t.Fatal(err)
		}
		return ""
	}
	d := f.Details.(api.LimitDetails)
	if f.Code != api.CodeLimitExceeded || d.RequestedAmount != p.Amount {
		g.t.Errorf("refused with %+v", f)
	}
	return fmt.Sprint(d.Per, " ", d.RemainingCents)
}

// limit sets a limit and returns the answer.
func (g *guarded) limit(terms body) *servertest.Answer {
	g.t.Helper()
	full := maps.Clone(terms)
	full["workspace_id"] = g.WorkspaceID
	return g.Owner.Post("/v2/limits", full)
}

func TestLimitsHold(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		g := newGuarded(t, n)
		account, ada := g.Account(0), g.Entry("Ada")
		g.expect("without limits", g.take(control.Spending{Amount: 1 << 50}), "")
		g.limit(body{"per": "payout", "amount_cents": 1000}).Created()
		g.limit(body{"per": "day", "amount_cents": 2500, "account_id": account}).Created()
		g.limit(body{"per": "day", "amount_cents": 1500, "each": "maker"}).Created()
		g.limit(body{"per": "day", "amount_cents": 100_000, "count": 2, "entry_id": ada}).Created()
		g.limit(body{"per": "day", "amount_cents": 700, "rail": "pesonet", "each": "payee"}).Created()

		g.expect("exactly the most by one payout", g.take(control.Spending{Amount: 1000, Makers: []string{"a"}}), "")
		g.expect("one more", g.take(control.Spending{Amount: 1001, Makers: []string{"b"}}), "payout 1000")
		g.expect("beyond the maker's day", g.take(control.Spending{Amount: 501, Makers: []string{"a"}}), "day 500")
		g.expect("up to it", g.take(control.Spending{Amount: 500, Makers: []string{"a"}}), "")
		g.expect("another maker", g.take(control.Spending{Amount: 1000, Makers: []string{"b"}}), "")

		for i, want := range []string{"", "", "day 500"} {
			g.expect("the account", g.take(control.Spending{Amount: 1000, Makers: []string{fmt.Sprint("m", i)}, AccountID: account}), want)
		}
		// What one limit refuses is counted by no other: the maker of the refused one has all left.
		g.expect("the maker of what was refused", g.take(control.Spending{Amount: 1000, Makers: []string{"m2"}}), "")

		for i, want := range []string{"", "", "day 99998"} {
			g.expect("the payee's count", g.take(control.Spending{Amount: 1, Makers: []string{"c"}, EntryID: ada, Key: fmt.Append(nil, "k", i)}), want)
		}
		g.expect("a payee by number", g.take(control.Spending{Amount: 700, Makers: []string{"d"}, Rail: "pesonet", Key: []byte("key")}), "")
		g.expect("the same number by an entry", g.take(control.Spending{Amount: 1, Makers: []string{"e"}, Rail: "pesonet", EntryID: "entry_x", Key: []byte("key")}), "day 0")
		g.expect("another number on another rail", g.take(control.Spending{Amount: 1, Makers: []string{"e"}, Rail: "instapay", Key: []byte("key")}), "")
	})
}

// However many pay at once, no limit is passed.
func TestLimitsHoldWhenManyPayAtOnce(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		g := newGuarded(t, n)
		first := g.limit(body{"per": "day", "amount_cents": 1000}).Created().Text("id")
		second := g.limit(body{"per": "day", "amount_cents": 1_000_000, "each": "maker", "count": 3}).Created().Text("id")
		const callers, amount = 16, 130
		taken := 0
		for _, refused := range servertest.SideBySide(callers, func(i int) string {
			return g.take(control.Spending{Amount: amount, Makers: []string{fmt.Sprint(i % 4)}})
		}) {
			if refused == "" {
				taken++
			}
		}
		if taken != 1000/amount {
			t.Errorf("%d payouts fit", taken)
		}
		for limit, want := range map[string]int{first: taken * amount, second: taken * amount} {
			if used := n.Count(t, `SELECT CAST(SUM(amount) AS BIGINT) FROM payout_counted WHERE guard_id = $1`, limit); used != want {
				t.Errorf("%d are counted, want %d", used, want)
			}
		}
	})
}

func TestADayOfLimitsBeginsAtMidnightInManila(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		g := newGuarded(t, n)
		g.limit(body{"per": "day", "amount_cents": 100}).Created()
		now := n.Clock.Now().UTC().Add(8 * time.Hour)
		n.Clock.Advance(now.Truncate(24 * time.Hour).Add(24*time.Hour - time.Minute).Sub(now)) // 23:59 in Manila
		p := control.Spending{Amount: 100, WorkspaceID: g.WorkspaceID, At: n.DB.Now(), Mode: api.ModeSandbox, Currency: "PHP"}
		g.expect("before midnight", g.take(p), "")
		g.expect("again", g.take(p), "day 0")
		back := func() {
			t.Helper()
			n.Write(t, func(tx *db.Tx) error { return g.rules.GiveBack(tx, p) })
		}
		back()
		g.expect("what was cancelled on the same day", g.take(p), "")
		n.Clock.Advance(2 * time.Minute)
		g.expect("after midnight", g.take(p), "")
		back() // of yesterday
		g.expect("what was cancelled the day after", g.take(p), "day 0")
		// A limit that is younger than a payout gets nothing back of it.
		p.At = n.DB.Now()
		n.Clock.Advance(time.Second)
		g.Owner.Token = g.Owner.Again(t).Token
		g.limit(body{"per": "day", "amount_cents": 150, "each": "account"}).Created()
		back()
		g.expect("the older one has room again", g.take(control.Spending{Amount: 100}), "")
		back()
		g.expect("the younger one has not", g.take(control.Spending{Amount: 100}), "day 50")
		n.Clock.Advance(8 * 24 * time.Hour)
		if err := n.Server.Tidy(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n.Count(t, `SELECT count(*) FROM payout_counted`) != 0 {
			t.Error("counters of past days are kept")
		}
	})
}

func TestAHigherLimitWaitsForAnotherPerson(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		g := newGuarded(t, n)
		g.limit(body{"per": "payout", "amount_cents": 10, "rail": "pesonet"}).Created()
		if done := g.limit(body{"per": "payout", "amount_cents": 20, "rail": "pesonet"}).OK(); done.Status != 200 || done.Number("amount_cents") != 20 || done.Text("approval_id") != "" {
			t.Errorf("a sole person raises a limit: %s", done.Body)
		}
		second := n.Person(t, g.Member("admin"))
		made := g.limit(body{"per": "day", "amount_cents": 1000, "count": 5}).Created()
		id := made.Text("id")
		present := func() string {
			t.Helper()
			for _, row := range servertest.Decoded[[]api.PayoutLimit](g.Owner.Get("/v2/limits?workspace_id=" + g.WorkspaceID)) {
				if row.ID == id {
					return fmt.Sprint(row.AmountCents, " ", row.Count)
				}
			}
			return "none"
		}
		g.limit(body{"per": "day", "amount_cents": 500, "count": 5}).OK()
		g.expect("less, at once", present(), "500 5")
		g.expect("counts by it", g.take(control.Spending{Amount: 501}), "day 500")
		g.expect("and takes", g.take(control.Spending{Amount: 500}), "")
		for _, more := range []body{{"amount_cents": 501, "count": 5}, {"amount_cents": 500, "count": 6}, {"amount_cents": 100}} {
			more["per"] = "day"
			waits := g.limit(more).OK().Text("approval_id")
			g.expect("while it waits", present(), "500 5")
			n.Person(t, g.Owner).Approve(waits).Fails(403, "FORBIDDEN")
			second.Post("/v1/approvals/"+waits+"/reject", body{"reason": "no"}).OK()
		}
		first := g.limit(body{"per": "day", "amount_cents": 600, "count": 5}).OK().Text("approval_id")
		then := g.limit(body{"per": "day", "amount_cents": 700, "count": 5}).OK().Text("approval_id")
		second.Approve(first).Fails(422, "APPROVAL_DECIDED")
		second.Approve(then).OK()
		g.expect("approved", present(), "700 5")
		g.expect("the count of the day goes on", g.take(control.Spending{Amount: 201}), "day 200")
		waits := g.Owner.Delete("/v2/limits/" + id).OK()
		if waits.Text("approval_id") == "" || waits.Object()["removed"] != nil {
			t.Errorf("removing it: %s", waits.Body)
		}
		g.expect("while its end waits", present(), "700 5")
		// Less than before needs no one, and what waited is void.
		g.limit(body{"per": "day", "amount_cents": 650, "count": 5}).OK()
		second.Approve(waits.Text("approval_id")).Fails(422, "APPROVAL_DECIDED")
		second.Approve(g.Owner.Delete("/v2/limits/" + id).OK().Text("approval_id")).OK()
		g.expect("removed", present(), "none")
		g.expect("nothing is counted", g.take(control.Spending{Amount: 20}), "")
	})
}

func TestALimitNamesWhatIsThere(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		g := newGuarded(t, n)
		elsewhere := n.Tenant(t)
		g.limit(body{"per": "payout", "amount_cents": 1, "count": 2}).Invalid("per")
		if got := g.limit(body{"per": "day", "amount_cents": 1, "rail": "pigeon"}).Invalid("rail"); !strings.Contains(string(got.Body), "must be one of instapay, pesonet") {
			t.Errorf("an unknown rail: %s", got.Body)
		}
		for _, foreign := range []body{{"account_id": elsewhere.Account(0)}, {"maker_id": elsewhere.Owner.UserID}, {"entry_id": elsewhere.Entry("Ada")}} {
			foreign["per"], foreign["amount_cents"] = "day", 1
			g.limit(foreign).Fails(404, "RESOURCE_NOT_FOUND")
		}
		g.limit(body{"per": "day", "amount_cents": 0, "account_id": g.Account(0), "maker_id": g.Owner.UserID, "entry_id": g.Entry("Ada"), "rail": "instapay", "each": "maker"}).Created()
	})
}

// A requester's own machine client is no way around their limit, and neither are drafts and transfers that it makes.
func TestALimitOfEachMakerCountsTheirMachineClients(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		account, other := x.Account(100_000), x.Account(0)
		robot := x.Machine(x.Owner, "disbursement_manager")
		x.Owner.Post("/v2/limits", body{"workspace_id": x.WorkspaceID, "per": "day", "each": "maker", "amount_cents": 1_000, "account_id": account}).Created()
		x.Owner.Post("/v2/limits", body{"workspace_id": x.WorkspaceID, "per": "day", "each": "maker", "amount_cents": 1_000, "account_id": other}).Created()
		x.Owner.Pay(account, 900)
		x.Owner.Post(payouts, request(account, 900)).Fails(422, "LIMIT_EXCEEDED")
		robot.Post(payouts, request(account, 900)).Fails(422, "LIMIT_EXCEEDED")
		batch := robot.Post("/v2/batch-payout-requests", body{"source_account_id": account, "currency": "PHP", "payouts": []body{
			{"amount_cents": 900, "settlement_account": to(bpi, "1234567890")}}}).OK()
		if got := servertest.Decoded[api.PayoutBatch](batch); got.Refused != 1 {
			t.Errorf("a batch of the client: %s", batch.Body)
		}
		x.Machine(x.Owner, "admin").Transfer(account, other, 900).Fails(422, "LIMIT_EXCEEDED")
		draft := robot.Pay(account, 900, body{"status": "draft"})
		x.Owner.Post(payouts+"/"+draft+"/publish", nil).Fails(422, "LIMIT_EXCEEDED")
		robot.Pay(account, 100)
		x.Owner.Post(payouts, request(account, 100)).Fails(422, "LIMIT_EXCEEDED")
	})
}

// What is tried in the sandbox neither uses up what live payouts may be, nor lets them through.
func TestEachModeHasItsOwnCountersAndRules(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		g := newGuarded(t, n)
		both := g.limit(body{"per": "day", "amount_cents": 1_000}).Created()
		g.expect("the mode of a limit that names none", both.Text("mode"), "both")
		g.limit(body{"per": "day", "amount_cents": 300, "mode": "live", "each": "maker"}).Created()
		g.limit(body{"per": "payout", "amount_cents": 900, "mode": "sandbox"}).Created()
		live := func(amount int64) control.Spending {
			return control.Spending{Amount: amount, Mode: api.ModeLive, Makers: []string{"a"}}
		}
		sandbox := func(amount int64) control.Spending { return control.Spending{Amount: amount, Makers: []string{"a"}} }
		g.expect("one of the sandbox", g.take(sandbox(901)), "payout 900")
		g.expect("all of the sandbox's day", g.take(sandbox(900))+g.take(sandbox(100)), "")
		g.expect("more than that", g.take(sandbox(1)), "day 0")
		g.expect("the live limit of the maker", g.take(live(301)), "day 300")
		g.expect("live payouts beside a full sandbox", g.take(live(300)), "")
		g.expect("more live than the maker may", g.take(live(1)), "day 0")
		g.expect("another maker, up to what all share", g.take(control.Spending{Amount: 701, Mode: api.ModeLive}), "day 700")
		g.expect("another currency", g.take(control.Spending{Amount: 1_000, Mode: api.ModeLive, Currency: "USD"}), "")

		g.rule(body{"approvals": 0, "mode": "sandbox"})
		g.expect("a payout of the sandbox", g.need("acc", "instapay", 600), "0")
		g.Staff("admin", 2)
		g.rule(body{"approvals": 2, "mode": "live", "above_cents": 500})
		g.mode = api.ModeLive
		g.expect("a live one above the rule", g.need("acc", "instapay", 501), "2")
		g.expect("a live one below it, which no rule of the sandbox lets through", g.need("acc", "instapay", 500), "1")
	})
}

func TestTheModeOfARuleIsThatOfItsAccountOrBoth(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		g := newGuarded(t, n)
		account := g.Account(0)
		for _, path := range []string{"/v2/approval-rules", "/v2/limits"} {
			terms := func(mode string) body {
				return body{"workspace_id": g.WorkspaceID, "account_id": account, "mode": mode, "approvals": 0, "per": "payout", "amount_cents": 5}
			}
			strip := func(b body) body {
				for _, name := range map[string][]string{"/v2/approval-rules": {"per", "amount_cents"}, "/v2/limits": {"approvals"}}[path] {
					delete(b, name)
				}
				return b
			}
			g.Owner.Post(path, strip(terms("live"))).Invalid("mode")
			g.Owner.Post(path, strip(terms("test"))).Invalid("mode")
			g.Owner.Post(path, strip(terms("sandbox"))).Created()
			g.Owner.Post(path, strip(terms("both"))).Created() // another scope
			unnamed := strip(terms(""))
			delete(unnamed, "mode")
			delete(unnamed, "account_id")
			g.expect("without a mode, "+path, g.Owner.Post(path, unnamed).Created().Text("mode"), "both")
		}
	})
}

func TestALimitOfAMakerHoldsForAnothersDraftThatTheyChange(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		colleague := x.Member("disbursement_manager")
		account := x.Account(1_000_000)
		x.Owner.Post("/v2/limits", body{"workspace_id": x.WorkspaceID, "per": "payout", "amount_cents": 10_000, "maker_id": x.Owner.UserID}).Created()
		x.Owner.Post(payouts, request(account, 10_001)).Fails(422, "LIMIT_EXCEEDED")
		draft := colleague.Pay(account, 100, body{"status": "draft"})
		x.Owner.Patch(payouts+"/"+draft, body{"amount_cents": 500_000}).OK()
		x.Owner.Post(payouts+"/"+draft+"/publish", nil).Fails(422, "LIMIT_EXCEEDED")
		colleague.Post(payouts+"/"+draft+"/publish", nil).Fails(422, "LIMIT_EXCEEDED")
		colleague.Post(payouts+"/"+colleague.Pay(account, 10_001, body{"status": "draft"})+"/publish", nil).OK()
	})
}

// Its number is paid without the entry, by another entry, and by the entry.
func TestALimitOfAPayeeCountsTheirNumberHoweverItIsPaid(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		account := x.Account(1_000_000)
		method := func(entry, number string) body {
			made := x.Owner.Post("/v1/directory/"+entry+"/receiving-methods", servertest.Account(number, body{"institution_code": bpi})).OK()
			return body{"settlement_account": nil, "receiving_method_id": made.Text("id")}
		}
		ada, twin := x.Entry("Ada"), x.Entry("Ada again")
		byAda, byTwin, direct := method(ada, "1234567890"), method(twin, "1234-567-890"), body{"settlement_account": to(bpi, "123 456 7890")}
		other := method(ada, "1111111111")
		ask := func(where body) *servertest.Answer { return x.Owner.Post(payouts, request(account, 10_000, where)) }
		for _, limit := range []body{{"entry_id": ada}, {"each": "payee"}} {
			limit["workspace_id"], limit["per"], limit["amount_cents"] = x.WorkspaceID, "day", 20_000
			id := x.Owner.Post("/v2/limits", limit).Created().Text("id")
			first := ask(direct).Created().Text("id")
			ask(byTwin).Created()
			for _, where := range []body{byAda, byTwin, direct, other} {
				ask(where).Fails(422, "LIMIT_EXCEEDED")
			}
			// What was taken is given back, and not more.
			x.Owner.Post(payouts+"/"+first+"/cancel", nil).OK()
			ask(other).Created()
			ask(direct).Fails(422, "LIMIT_EXCEEDED")
			x.Owner.Delete("/v2/limits/" + id).OK()
		}
	})
}
