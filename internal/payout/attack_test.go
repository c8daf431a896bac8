package payout_test

import (
	"strings"
	"testing"

	"bursar/internal/db"
	"bursar/internal/server/servertest"
)

// attend marks a payout as one that someone has to look at.
func attend(t testing.TB, n *servertest.Node, id, why string) {
	t.Helper()
	n.Write(t, func(tx *db.Tx) error { return tx.Exec(`UPDATE payout SET attention = $2 WHERE id = $1`, id, why) })
}

// An admin wants a payee's money: with a session, an API key and a machine client of theirs, by a
// change of the payee's account, by paying another account, by weaker rules, by removing the other
// admin, and by an account that they invite. In the end nothing was paid.
func TestOnePersonNeitherChangesWhereAPayeeIsPaidNorPaysAlone(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		entry, account := x.Entry("Ada"), x.Account(100_000)
		methods := "/v1/directory/" + entry + "/receiving-methods"
		method := x.Owner.AddMethod(entry, servertest.Account("1234567890", body{"institution_code": bpi}))
		second := x.Member("admin")
		key, person, client := x.Owner, n.Person(t, x.Owner), x.Machine(x.Owner, "disbursement_manager")
		var waiting []string
		ask := func(what string, answer *servertest.Answer) {
			t.Helper()
			id := answer.Text("approval_id")
			if id == "" {
				t.Fatalf("%s waits for nobody", what)
			}
			waiting = append(waiting, id)
		}
		steal := func() {
			t.Helper()
			for name, me := range map[string]*servertest.Client{"a key": key, "a session": person, "a client": client} {
				ask("a payout of "+name, me.Post(payouts, request(account, 1_000, body{"settlement_account": to(bpi, "6666666666")})).Created())
			}
			changed := key.Patch(methods+"/"+method, body{"account_id": "6666666666"}).OK()
			ask("another account of the payee", changed)
			added := person.Post(methods, servertest.Account("6666666666", body{"institution_code": bpi, "is_default": true})).OK()
			ask("one more account of the payee", added)
			for _, made := range []*servertest.Answer{changed, added} {
				key.Post(payouts, request(account, 1_000, body{"settlement_account": nil, "receiving_method_id": made.Text("id")})).Fails(422, "METHOD_NOT_PAYABLE")
			}
			ask("a rule for everybody", person.Post("/v2/approval-rules", body{"workspace_id": x.WorkspaceID, "approvals": 0}).Created())
			ask("a rule for a client", person.Post("/v2/approval-rules", body{"workspace_id": x.WorkspaceID, "approvals": 0, "client_id": client.UserID}).Created())
			if made := person.Post("/v2/approval-rules", body{"workspace_id": x.WorkspaceID, "approvals": 1, "keys_may_approve": true}); made.Status != 400 {
				ask("a rule that lets keys approve", made.Created()) // one person alone could not satisfy it
			}
			ask("a looser policy", person.Patch(x.Path("/receiving-policy"), body{"receiving_approval": "one_person"}).OK())
			for _, id := range waiting {
				digest := person.Get("/v1/approvals/" + id).OK().Text("digest")
				for _, me := range []*servertest.Client{key, person, client} {
					if got := me.Post("/v1/approvals/"+id+"/approve", body{"digest": digest, "verification": "none"}); got.Status/100 != 4 {
						t.Errorf("one person asks for %s and approves it", id)
					}
				}
			}
		}
		steal()
		key.Delete(x.Path("/members/" + second.UserID)).OK()
		steal()
		puppet := n.Person(t, x.Member("admin"))
		for _, id := range waiting {
			if puppet.Get("/v1/approvals/"+id).OK().Text("state") == "pending" {
				puppet.Approve(id).Fails(403, "FORBIDDEN")
			}
		}
		n.RunPayouts(t)
		key.Has(account, 100_000, 0)
	})
}

// The rail has refused it and says later that it was paid: who pays it again pays it twice.
func TestAContradictedPayoutIsNotRetried(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		account := x.Account(100_000)
		id := x.Owner.Pay(account, 10_000)
		fail(t, n, id, "BANK_UNAVAILABLE")
		attend(t, n, id, "contradicted")
		if got := x.Owner.Post(payouts+"/"+id+"/retry", nil).Fails(422, "PAYOUT_STATE").Message(); !strings.Contains(got, "may have been paid") {
			t.Errorf("the answer says %q", got)
		}
		x.Owner.PayoutIs(id, "failed")
		x.Owner.Has(account, 100_000, 0)
	})
}

func TestAContradictedPayoutIsNotApproved(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, maker, second := n.Pair(t)
		account := x.Account(100_000)
		id := maker.Pay(account, 10_000)
		attend(t, n, id, "contradicted")
		approve(second, id).Fails(422, "PAYOUT_STATE")
		maker.PayoutIs(id, "initiated")
		maker.Has(account, 100_000, 0)
	})
}

func TestARetryNeedsApproversWhoStillMay(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, maker, second := n.Pair(t)
		x.Member("admin")
		account := x.Account(100_000)
		id := maker.Pay(account, 10_000)
		approve(second, id).OK()
		fail(t, n, id, "BANK_UNAVAILABLE")
		maker.Delete(x.Path("/members/" + second.UserID)).OK()
		maker.Post(payouts+"/"+id+"/retry", nil).OK()
		maker.PayoutIs(id, "initiated")
	})
}

func TestARetryDoesNotTakeTheApprovalOfKeysForThatOfPeople(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		account := x.Account(100_000)
		rule := body{"workspace_id": x.WorkspaceID, "approvals": 1, "keys_may_approve": true}
		colleague := x.Member("admin") // a session of a key
		agreed := x.Owner.Post("/v2/approval-rules", rule).Created()
		n.Person(t, colleague).Approve(agreed.Text("approval_id")).OK()
		keys := agreed.Text("id")
		id := x.Owner.Pay(account, 10_000)
		approve(colleague, id).OK()
		fail(t, n, id, "BANK_UNAVAILABLE")
		x.Owner.Post(payouts+"/"+id+"/retry", nil).OK()
		x.Owner.PayoutIs(id, "pending") // as keys may still approve
		fail(t, n, id, "BANK_UNAVAILABLE")
		x.Owner.Delete("/v2/approval-rules/" + keys).OK()
		x.Owner.Post(payouts+"/"+id+"/retry", nil).OK()
		x.Owner.PayoutIs(id, "initiated")
	})
}
