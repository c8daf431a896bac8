package payout_test

import (
	"strings"
	"testing"

	"bursar/internal/db"
	"bursar/internal/server/servertest"
)

// attend marks a payout as one that somebody has to look at.
func attend(t testing.TB, n *servertest.Node, id, why string) {
	t.Helper()
	put(t, n, func(tx *db.Tx) error { return tx.Exec(`UPDATE payout SET attention = $2 WHERE id = $1`, id, why) })
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
		key, person, client := x.Owner, n.Person(t, x.Owner), machine(t, x, x.Owner)
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
		has(key, account, 100_000, 0)
	})
}

// The rail has refused it and says later that it was paid: who pays it again pays it twice.
func TestAContradictedPayoutIsNotRetried(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		account := x.Account(100_000)
		id := pay(x.Owner, account, 10_000)
		fail(t, n, id, "BANK_UNAVAILABLE")
		attend(t, n, id, "contradicted")
		if got := x.Owner.Post(payouts+"/"+id+"/retry", nil).Fails(422, "PAYOUT_STATE").Message(); !strings.Contains(got, "may have been paid") {
			t.Errorf("the answer says %q", got)
		}
		state(x.Owner, id, "failed")
		has(x.Owner, account, 100_000, 0)
	})
}

func TestAContradictedPayoutIsNotApproved(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, maker, second := n.Pair(t)
		account := x.Account(100_000)
		id := pay(maker, account, 10_000)
		attend(t, n, id, "contradicted")
		approve(second, id).Fails(422, "PAYOUT_STATE")
		state(maker, id, "initiated")
		has(maker, account, 100_000, 0)
	})
}

// Approvals that keys may give are weaker than those of people, however many there are.
func TestLettingKeysApproveWaitsForAnotherPerson(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		g := newGuarded(t, n)
		second := n.Person(t, g.Member("admin"))
		g.Staff("disbursement_authorizer", 2)
		people, _ := g.rule(body{"approvals": 1})
		keys, waits := g.rule(body{"approvals": 3, "keys_may_approve": true})
		if waits == "" {
			t.Fatal("it holds at once")
		}
		g.expect("before it is approved", g.need("acc", "instapay", 100), "1")
		second.Approve(waits).OK()
		g.expect("beside a rule of people", g.need("acc", "instapay", 100), "3")
		// To end the rule of people lets keys approve, and waits as well.
		gone := g.Owner.Delete("/v2/approval-rules/" + people).OK().Text("approval_id")
		if gone == "" {
			t.Fatal("the rule of people goes at once")
		}
		second.Approve(gone).OK()
		g.expect("without it", g.need("acc", "instapay", 100), "3 keys")
		if done := g.Owner.Delete("/v2/approval-rules/" + keys).OK(); done.Text("approval_id") == "" {
			t.Error("three approvals go at once")
		}
	})
}

func TestKeysApproveOnlyWhereAllRulesLetThem(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		g := newGuarded(t, n)
		storedRule(t, g.Tenant, body{"approvals": 2, "keys_may_approve": true})
		g.expect("alone", g.need("acc", "instapay", 100), "2 keys")
		g.rule(body{"approvals": 0, "rail": "instapay"})
		g.expect("beside a rule that demands nothing", g.need("acc", "instapay", 100), "2 keys")
		storedRule(t, g.Tenant, body{"approvals": 1, "rail": "instapay", "above_cents": 50})
		g.expect("beside a rule that demands a person", g.need("acc", "instapay", 100), "2")
		g.expect("where that does not match", g.need("acc", "instapay", 50), "2 keys")
	})
}

func TestARetryNeedsApproversWhoStillMay(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, maker, second := n.Pair(t)
		x.Member("admin")
		account := x.Account(100_000)
		id := pay(maker, account, 10_000)
		approve(second, id).OK()
		fail(t, n, id, "BANK_UNAVAILABLE")
		maker.Delete(x.Path("/members/" + second.UserID)).OK()
		maker.Post(payouts+"/"+id+"/retry", nil).OK()
		state(maker, id, "initiated")
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
		id := pay(x.Owner, account, 10_000)
		approve(colleague, id).OK()
		fail(t, n, id, "BANK_UNAVAILABLE")
		x.Owner.Post(payouts+"/"+id+"/retry", nil).OK()
		state(x.Owner, id, "pending") // as keys may still approve
		fail(t, n, id, "BANK_UNAVAILABLE")
		x.Owner.Delete("/v2/approval-rules/" + keys).OK()
		x.Owner.Post(payouts+"/"+id+"/retry", nil).OK()
		state(x.Owner, id, "initiated")
	})
}

// The limit is of an entry. Its number is paid without the entry, by another entry, and by the entry.
func TestALimitOfAMakerHoldsForAnothersDraftThatTheyChange(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		colleague := x.Member("disbursement_manager")
		account := x.Account(1_000_000)
		x.Owner.Post("/v2/limits", body{"workspace_id": x.WorkspaceID, "per": "payout", "amount_cents": 10_000, "maker_id": x.Owner.UserID}).Created()
		x.Owner.Post(payouts, request(account, 10_001)).Fails(422, "LIMIT_EXCEEDED")
		draft := pay(colleague, account, 100, body{"status": "draft"})
		x.Owner.Patch(payouts+"/"+draft, body{"amount_cents": 500_000}).OK()
		x.Owner.Post(payouts+"/"+draft+"/publish", nil).Fails(422, "LIMIT_EXCEEDED")
		colleague.Post(payouts+"/"+draft+"/publish", nil).Fails(422, "LIMIT_EXCEEDED")
		colleague.Post(payouts+"/"+pay(colleague, account, 10_001, body{"status": "draft"})+"/publish", nil).OK()
	})
}

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

// transfer moves money between accounts.
func transfer(c *servertest.Client, from, to string, amount int64) *servertest.Answer {
	c.T().Helper()
	return c.Post("/v2/transfers", body{"source_account_id": from, "destination_account_id": to, "amount_cents": amount})
}

// Whoever may pay from one account alone must not fill it from one from which they may not.
func TestATransferDoesNotBringMoneyUnderWeakerRules(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		for name, c := range map[string]struct {
			rules, limits []body // whose account is 0 for the source and 1 for the destination
			guarded       bool
		}{
			"nothing":                               {nil, nil, false},
			"a rule of the source":                  {[]body{{"approvals": 1, "account_id": 0}}, nil, true},
			"a rule of the destination":             {[]body{{"approvals": 1, "account_id": 1}}, nil, false},
			"a rule of all":                         {[]body{{"approvals": 1}}, nil, false},
			"the same rule of both":                 {[]body{{"approvals": 1, "account_id": 0}, {"approvals": 1, "account_id": 1}}, nil, false},
			"a weaker rule of the destination":      {[]body{{"approvals": 2, "account_id": 0}, {"approvals": 1, "account_id": 1}}, nil, true},
			"keys in that of the destination":       {[]body{{"approvals": 1, "account_id": 0}, {"approvals": 2, "keys_may_approve": true, "account_id": 1}}, nil, true},
			"a narrower rule of the destination":    {[]body{{"approvals": 1, "account_id": 0}, {"approvals": 1, "account_id": 1, "above_cents": 500}}, nil, true},
			"a wider rule of the destination":       {[]body{{"approvals": 1, "account_id": 0, "above_cents": 500, "rail": "instapay"}, {"approvals": 1, "account_id": 1, "above_cents": 400}}, nil, false},
			"a rule of all that is as strict":       {[]body{{"approvals": 1, "account_id": 0, "rail": "instapay"}, {"approvals": 1}}, nil, false},
			"a limit of the source":                 {nil, []body{{"per": "payout", "amount_cents": 500, "account_id": 0}}, true},
			"a limit of the destination":            {nil, []body{{"per": "payout", "amount_cents": 500, "account_id": 1}}, false},
			"the same limit of both":                {nil, []body{{"per": "payout", "amount_cents": 500, "account_id": 0}, {"per": "payout", "amount_cents": 500, "account_id": 1}}, false},
			"a higher limit of the destination":     {nil, []body{{"per": "payout", "amount_cents": 500, "account_id": 0}, {"per": "payout", "amount_cents": 501, "account_id": 1}}, true},
			"a limit of the destination on a rail":  {nil, []body{{"per": "payout", "amount_cents": 500, "account_id": 0}, {"per": "payout", "amount_cents": 500, "account_id": 1, "rail": "pesonet"}}, true},
			"a limit of each that is as strict":     {nil, []body{{"per": "day", "amount_cents": 500, "account_id": 0}, {"per": "day", "amount_cents": 500, "each": "account"}}, false},
			"a limit of the destination by maker":   {nil, []body{{"per": "day", "amount_cents": 500, "account_id": 0}, {"per": "day", "amount_cents": 500, "account_id": 1, "each": "maker"}}, true},
			"a limit without a count in the second": {nil, []body{{"per": "day", "amount_cents": 500, "count": 2, "account_id": 0}, {"per": "day", "amount_cents": 500, "account_id": 1}}, true},
		} {
			t.Run(name, func(t *testing.T) {
				x := n.Tenant(t)
				accounts := []string{x.Account(1_000), x.Account(0)}
				for path, list := range map[string][]body{"/v2/approval-rules": c.rules, "/v2/limits": c.limits} {
					for _, one := range list {
						if at, is := one["account_id"].(int); is {
							one["account_id"] = accounts[at]
							defer func() { one["account_id"] = at }() // for the other engine
						}
						if path == "/v2/approval-rules" {
							storedRule(t, x, one)
							continue
						}
						one["workspace_id"] = x.WorkspaceID
						x.Owner.Post(path, one).Created()
					}
				}
				got := transfer(x.Owner, accounts[0], accounts[1], 100)
				if c.guarded {
					got.Fails(422, "ACCOUNT_GUARDED")
					has(x.Owner, accounts[0], 1_000, 0)
				} else {
					got.Created()
				}
			})
		}
	})
}

// Two people have agreed that one account pays without approval. Nobody fills it alone from another.
func TestATransferToAnAccountThatNobodyApprovesIsGuarded(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, maker, second := n.Pair(t)
		main, petty := x.Account(10_000), x.Account(0)
		rule := body{"workspace_id": x.WorkspaceID, "approvals": 0, "account_id": petty, "up_to_cents": 500}
		second.Approve(maker.Post("/v2/approval-rules", rule).Created().Text("approval_id")).OK()
		transfer(maker, main, petty, 100).Fails(422, "ACCOUNT_GUARDED")
		rule["account_id"] = main
		second.Approve(maker.Post("/v2/approval-rules", rule).Created().Text("approval_id")).OK()
		transfer(maker, main, petty, 100).Created()
	})
}

func TestTransfersCountForTheLimitsOfTheirAccount(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		main, other, third := x.Account(10_000), x.Account(0), x.Account(10_000)
		x.Owner.Post("/v2/limits", body{"workspace_id": x.WorkspaceID, "per": "day", "amount_cents": 1_000, "each": "account"}).Created()
		x.Owner.Post("/v2/limits", body{"workspace_id": x.WorkspaceID, "per": "day", "amount_cents": 1_500}).Created()
		transfer(x.Owner, main, other, 600).Created()
		transfer(x.Owner, main, other, 401).Fails(422, "LIMIT_EXCEEDED")
		x.Owner.Post(payouts, request(main, 401)).Fails(422, "LIMIT_EXCEEDED")
		pay(x.Owner, main, 400)
		pay(x.Owner, third, 1_000) // the limit of the workspace is for payouts alone
		has(x.Owner, other, 600, 0)
	})
}
