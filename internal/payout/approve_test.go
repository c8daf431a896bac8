package payout_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"bursar/api"
	"bursar/internal/config"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
)

func TestAnotherPersonApprovesAPayoutBeforeItsMoneyIsTaken(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, maker, second := n.Pair(t)
		account := x.Account(100_000)
		for name, approve := range map[string]func(id string) *servertest.Answer{
			"at the payout": func(id string) *servertest.Answer { return approve(second, id) },
			"at the approval": func(id string) *servertest.Answer {
				return second.Approve(second.Get(payouts + "/" + id).Text("approval_id"))
			},
		} {
			before := maker.Balances(account)
			var p api.Payout
			maker.Post(payouts, request(account, 10_000, body{"description": name})).Created().Data(&p)
			if p.Status != api.PayoutInitiated || p.ApprovalID == "" || !strings.Contains(p.ApprovalReason, "Needs approval") {
				t.Fatalf("the payout is %+v", p)
			}
			maker.Has(account, before[0], before[1])
			approve(p.ID).OK()
			maker.PayoutIs(p.ID, "pending")
			maker.Has(account, before[0]-10_000, before[1]+10_000)
			if got := n.Audited(t, p.ID); !slices.Equal(got, []string{"payout.request.created", "payout.request.approved"}) {
				t.Errorf("the story is %v", got)
			}
			second.Post(payouts+"/"+p.ID+"/approve", body{"digest": "x"}).Fails(422, "PAYOUT_STATE") // twice
			maker.Has(account, before[0]-10_000, before[1]+10_000)
		}
	})
}

func TestApprovingTwiceAtOnceTakesTheMoneyOnce(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, maker, second := n.Pair(t)
		account := x.Account(100_000)
		id := maker.Pay(account, 10_000)
		digest := second.Get("/v1/approvals/" + second.Get(payouts+"/"+id).Text("approval_id")).OK().Text("digest")
		answers := servertest.SideBySide(6, func(int) *servertest.Answer { return second.Post(payouts+"/"+id+"/approve", body{"digest": digest}) })
		got := servertest.Statuses(answers)
		if got["200"] != 1 || got["422 PAYOUT_STATE"]+got["422 APPROVAL_DECIDED"] != 5 {
			t.Errorf("the answers are %v", got)
		}
		maker.Has(account, 90_000, 10_000)
	})
}

func TestWhatWasRejectedOrCancelledIsNotApproved(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, maker, second := n.Pair(t)
		account := x.Account(100_000)
		for _, end := range []struct {
			by     *servertest.Client
			step   string
			reason string
			state  string
			action string
		}{
			{second, "reject", "unknown invoice", "rejected", "payout.request.rejected"},
			{maker, "cancel", "asked for twice", "void", "payout.request.cancelled"},
		} {
			id := maker.Pay(account, 10_000)
			one := payouts + "/" + id
			approval := maker.Get(one).OK().Text("approval_id")
			digest := second.Get("/v1/approvals/" + approval).OK().Text("digest")
			var p api.Payout
			end.by.Post(one+"/"+end.step, body{"reason": end.reason}).OK().Data(&p)
			if p.Status != api.PayoutCancelled || p.CancelReason != end.reason || p.Rejected != (end.step == "reject") {
				t.Errorf("after %s the payout is %+v", end.step, p)
			}
			second.Post(one+"/approve", body{"digest": digest}).Fails(422, "PAYOUT_STATE")
			second.Post("/v1/approvals/"+approval+"/approve", body{"digest": digest, "verification": "x"}).Fails(422, "APPROVAL_DECIDED")
			if got := second.Get("/v1/approvals/" + approval).OK().Text("state"); got != end.state {
				t.Errorf("after %s the approval is %s", end.step, got)
			}
			if got := n.Audited(t, id); !slices.Equal(got, []string{"payout.request.created", end.action}) {
				t.Errorf("the story is %v", got)
			}
			maker.Has(account, 100_000, 0)
		}
	})
}

func TestWhatWasApprovedIsNotRejected(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, maker, second := n.Pair(t)
		account := x.Account(100_000)
		id := maker.Pay(account, 10_000)
		approve(second, id).OK()
		approval := maker.Get(payouts + "/" + id).OK().Text("approval_id")
		n.Unchanged(t, func() {
			second.Post(payouts+"/"+id+"/reject", body{"reason": "too late"}).Fails(422, "PAYOUT_STATE")
			second.Post("/v1/approvals/"+approval+"/reject", body{"reason": "too late"}).Fails(422, "APPROVAL_DECIDED")
		})
		maker.PayoutIs(id, "pending")
		maker.Has(account, 90_000, 10_000)
	})
}

func TestOneOfApproveRejectAndCancelWins(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, maker, second := n.Pair(t)
		account := x.Account(1_000_000)
		for round := range 6 {
			id := maker.Pay(account, 10_000)
			one := payouts + "/" + id
			before := maker.Balances(account)
			digest := second.Get("/v1/approvals/" + second.Get(one).Text("approval_id")).OK().Text("digest")
			answers := servertest.SideBySide(3, func(i int) *servertest.Answer {
				switch (i + round) % 3 {
				case 0:
					return second.Post(one+"/approve", body{"digest": digest})
				case 1:
					return second.Post(one+"/reject", body{"reason": "no"})
				}
				return maker.Post(one+"/cancel", nil)
			})
			got := servertest.Statuses(answers)
			// What is approved can be cancelled as well: then both have won, in that order.
			status := maker.Get(one).OK().Text("status")
			switch {
			case status == "pending" && got["200"] == 1:
				maker.Has(account, before[0]-10_000, before[1]+10_000)
			case status == "cancelled" && got["200"] >= 1 && got["200"] <= 2:
				maker.Has(account, before[0], before[1])
			default:
				t.Errorf("the payout is %s after %v", status, got)
			}
		}
	})
}

func TestAnApproverSeesThatTheMoneyIsGone(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, maker, second := n.Pair(t)
		account := x.Account(100_000)
		one, two := maker.Pay(account, 60_000), maker.Pay(account, 60_000)
		approve(second, one).OK()
		refused := approve(second, two).Fails(422, "INSUFFICIENT_FUNDS")
		if !strings.Contains(string(refused.Body), `"available_balance":40000,"requested_amount":60000`) {
			t.Errorf("the answer is %s", refused.Body)
		}
		maker.PayoutIs(two, "initiated")
		maker.Has(account, 40_000, 60_000)
		maker.Patch("/v2/accounts/"+account, body{"status": "frozen"}).OK()
		approve(second, two).Fails(422, "ACCOUNT_FROZEN")
		maker.Patch("/v2/accounts/"+account, body{"status": "active"}).OK()
		x.Deposit(account, 20_000)
		approve(second, two).OK()
		maker.Has(account, 0, 120_000)
	})
}

func TestNoOneApprovesWhatTheyTookPartIn(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		owner, colleague := x.Owner, x.Member("admin")
		third := n.Person(t, x.Member("admin"))
		x.EverybodyCounts()
		account := x.Account(10_000_000)
		person := func(c *servertest.Client) *servertest.Client { return n.Person(t, c) }
		clientOf := func(maker *servertest.Client) *servertest.Client { return x.Machine(maker, "disbursement_manager") }
		draft := func(c *servertest.Client) string { return c.Pay(account, 1_000, body{"status": "draft"}) }
		publish := func(c *servertest.Client, id string) string {
			c.Post(payouts+"/"+id+"/publish", nil).OK()
			return id
		}
		for name, c := range map[string]struct {
			make     func() string
			approver *servertest.Client
			allowed  bool
		}{
			"the maker with a key, by that key":        {func() string { return owner.Pay(account, 1_000) }, owner, false},
			"the maker with a key, as a person":        {func() string { return owner.Pay(account, 1_000) }, person(owner), false},
			"the maker as a person":                    {func() string { return person(owner).Pay(account, 1_000) }, person(owner), false},
			"the maker of the client":                  {func() string { return clientOf(owner).Pay(account, 1_000) }, person(owner), false},
			"somebody else for a client":               {func() string { return clientOf(owner).Pay(account, 1_000) }, third, true},
			"a machine client":                         {func() string { return owner.Pay(account, 1_000) }, clientOf(colleague), false},
			"a colleague's key":                        {func() string { return owner.Pay(account, 1_000) }, colleague, false},
			"a colleague":                              {func() string { return owner.Pay(account, 1_000) }, person(colleague), true},
			"who wrote the draft":                      {func() string { return publish(colleague, draft(owner)) }, person(owner), false},
			"who published the draft":                  {func() string { return publish(colleague, draft(owner)) }, person(colleague), false},
			"who made the client that wrote the draft": {func() string { return publish(colleague, draft(clientOf(owner))) }, person(owner), false},
			"who had the client's secret when it wrote the draft": {func() string {
				client := clientOf(owner).UserID
				rotated := func(by *servertest.Client) *servertest.Client {
					secret := by.Post(x.Path("/clients/"+client+"/rotate"), nil).OK().Text("secret")
					return n.Holder(t, n.Exchange(t, servertest.Basic(client, secret)).OK().Text("token"))
				}
				id := draft(rotated(colleague))
				return publish(rotated(owner), id)
			}, person(colleague), false},
			"who changed the draft": {func() string {
				id := draft(owner)
				colleague.Patch(payouts+"/"+id, body{"amount_cents": 2_000}).OK()
				return publish(owner, id)
			}, person(colleague), false},
			"somebody else for a draft": {func() string { return publish(colleague, draft(owner)) }, third, true},
		} {
			t.Run(name, func(t *testing.T) {
				id := c.make()
				digest := third.On(t).Get("/v1/approvals/" + third.On(t).Get(payouts+"/"+id).OK().Text("approval_id")).OK().Text("digest")
				got := c.approver.On(t).Post(payouts+"/"+id+"/approve", body{"digest": digest})
				if c.allowed {
					got.OK()
				} else {
					got.Fails(403, "FORBIDDEN")
					owner.On(t).PayoutIs(id, "initiated")
				}
			})
		}
	})
}

func TestAPublishedPayoutIsNotEdited(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, maker, second := n.Pair(t)
		account := x.Account(100_000)
		id := maker.Pay(account, 10_000)
		maker.Patch(payouts+"/"+id, body{"amount_cents": 20_000}).Fails(422, "PAYOUT_STATE")
		digest := second.Get("/v1/approvals/" + second.Get(payouts+"/"+id).Text("approval_id")).OK().Text("digest")
		// Someone who changes the store itself does not get that approved either.
		n.Write(t, func(tx *db.Tx) error { return tx.Exec(`UPDATE payout SET amount = 20000 WHERE id = $1`, id) })
		second.Post(payouts+"/"+id+"/approve", body{"digest": digest}).Fails(422, "APPROVAL_CHANGED")
		maker.Has(account, 100_000, 0)
	})
}

func TestAnApprovalThatExpiresCancelsItsPayout(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, maker, _ := n.Pair(t)
		account := x.Account(100_000)
		id := maker.Pay(account, 10_000)
		n.Clock.Advance(30*24*time.Hour + time.Second)
		if err := n.Server.Tidy(t.Context()); err != nil {
			t.Fatal(err)
		}
		maker = maker.Again(t)
		maker.PayoutIs(id, "cancelled")
		if got := n.Audited(t, id); !slices.Equal(got, []string{"payout.request.created", "payout.request.expired"}) {
			t.Errorf("the story is %v", got)
		}
	})
}

func TestAMethodThatCannotBePaidIsNotPaid(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, maker, second := n.Pair(t)
		account := x.Account(1_000_000)
		entry := x.Entry("Ada")
		methods := "/v1/directory/" + entry + "/receiving-methods"
		made := maker.Post(methods, servertest.Account("1234567890", body{"institution_code": bpi})).OK()
		method := made.Text("id")
		ask := func() *servertest.Answer {
			return maker.Post(payouts, request(account, 10_000, body{"settlement_account": nil, "receiving_method_id": method}))
		}
		unpayable := func(status string) {
			t.Helper()
			if got := ask().Fails(422, "METHOD_NOT_PAYABLE").Detail("status"); got != status {
				t.Errorf("the method is %s, want %s", got, status)
			}
		}
		unpayable("pending")
		second.Approve(made.Text("approval_id")).OK()
		unpayable("active") // and it cools
		n.Clock.Advance(24*time.Hour + time.Second)
		maker.Token, second = maker.Again(t).Token, n.Person(t, second.Again(t))
		var p api.Payout
		ask().Created().Data(&p)
		if p.EntryID != entry || p.ReceivingMethodID != method || p.SettlementAccount.BankCode != bpi || p.SettlementAccount.BankAccountNumber != "•••• 7890" {
			t.Errorf("the payout is %+v", p)
		}
		// Anyone who approves hears that it cannot be paid any more.
		maker.Patch("/v1/directory/"+entry, body{"status": "inactive"}).OK()
		approve(second, p.ID).Fails(422, "METHOD_NOT_PAYABLE")
		unpayable("active")
		second.Approve(maker.Patch("/v1/directory/"+entry, body{"status": "active"}).OK().Text("approval_id")).OK()
		successor := maker.Patch(methods+"/"+method, body{"account_id": "9876543210"}).OK()
		second.Approve(successor.Text("approval_id")).OK()
		n.Clock.Advance(24*time.Hour + time.Second)
		maker.Token, second = maker.Again(t).Token, n.Person(t, second.Again(t))
		unpayable("retired")
		approve(second, p.ID).Fails(422, "METHOD_NOT_PAYABLE")
		method = successor.Text("id")
		later := ask().Created().Text("id")
		maker.Delete(methods + "/" + method).OK()
		approve(second, later).Fails(422, "METHOD_NOT_PAYABLE")
		ask().Fails(404, "RESOURCE_NOT_FOUND")
		maker.PayoutIs(p.ID, "initiated")
		maker.Has(account, 1_000_000, 0)
	})
}

// A payout may wait for days after it was approved: for a rail that is down, or over a weekend.
func TestWhatCannotBePaidAnyMoreIsNotSentThoughItWasApproved(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		for name, c := range map[string]struct {
			change func(x *servertest.Tenant, entry, method string)
			want   string
		}{
			"nothing changes": {func(*servertest.Tenant, string, string) {}, "completed"},
			"the method is removed": {func(x *servertest.Tenant, entry, method string) {
				x.Owner.Delete("/v1/directory/" + entry + "/receiving-methods/" + method).OK()
			}, "failed"},
			"the method is replaced": {func(x *servertest.Tenant, entry, method string) {
				x.Owner.Patch("/v1/directory/"+entry+"/receiving-methods/"+method, body{"account_id": "1234567891"}).OK()
			}, "failed"},
			"the payee is inactive": {func(x *servertest.Tenant, entry, _ string) {
				x.Owner.Patch("/v1/directory/"+entry, body{"status": "inactive"}).OK()
			}, "failed"},
			"the payee is deleted": {func(x *servertest.Tenant, entry, _ string) { x.Owner.Delete("/v1/directory/" + entry).OK() }, "failed"},
		} {
			t.Run(name, func(t *testing.T) {
				x := n.Tenant(t)
				account, entry := x.Account(100_000), x.Entry("Ada")
				method := x.Owner.AddMethod(entry, servertest.Account("1234567890", body{"institution_code": bpi}))
				id := x.Owner.Pay(account, 10_000, body{"settlement_account": nil, "receiving_method_id": method})
				x.Owner.PayoutIs(id, "pending")
				c.change(x, entry, method)
				n.RunPayouts(t)
				x.Owner.PayoutIs(id, c.want)
				if c.want == "completed" {
					return
				}
				x.Owner.Has(account, 100_000, 0)
				if got := servertest.Decoded[api.Payout](x.Owner.Get(payouts + "/" + id)); got.Failure.Code != "METHOD_NOT_PAYABLE" || len(got.Attempts) != 0 {
					t.Errorf("it failed with %+v after %d attempts", got.Failure, len(got.Attempts))
				}
			})
		}
	})
}

func TestARetriedPayoutNeedsNoOtherApprovalWhileTheOldOneHolds(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, maker, second := n.Pair(t)
		account := x.Account(100_000)
		id := maker.Pay(account, 10_000)
		approve(second, id).OK()
		fail(t, n, id, "BANK_UNAVAILABLE")
		maker.Post(payouts+"/"+id+"/retry", nil).OK()
		maker.PayoutIs(id, "pending")
		fail(t, n, id, "BANK_UNAVAILABLE")
		// A rule that demands more than was given does not let the old approval suffice.
		x.Staff("disbursement_authorizer", 1)
		maker.Post("/v2/approval-rules", body{"workspace_id": x.WorkspaceID, "approvals": 2}).Created()
		maker.Post(payouts+"/"+id+"/retry", nil).OK()
		maker.PayoutIs(id, "initiated")
		maker.Has(account, 100_000, 0)
		approve(second, id).OK()
		maker.PayoutIs(id, "initiated") // another one is missing
		third := n.Person(t, x.Member("admin"))
		x.EverybodyCounts()
		approve(third, id).OK()
		maker.PayoutIs(id, "pending")
		maker.Has(account, 90_000, 10_000)
	})
}

func TestAClientMakesPayoutsWithItsIDAndSecret(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, maker, second := n.Pair(t)
		account := x.Account(100_000)
		by := db.Caller{}
		by.ID = maker.UserID
		id, secret, err := n.Identity.CreateClient(t.Context(), by, x.WorkspaceID, "Robot", "disbursement_manager")
		if err != nil {
			t.Fatal(err)
		}
		basic := []string{"Authorization", servertest.Basic(id, secret)}
		robot := n.Stranger(t)
		made := robot.Do("POST", payouts, request(account, 10_000), basic...).Created()
		if got := robot.Do("GET", payouts, nil, basic...).OK().Column("id"); !slices.Equal(got, []string{made.Text("id")}) {
			t.Errorf("the client lists %v", got)
		}
		robot.Do("POST", payouts+"/"+made.Text("id")+"/approve", body{"digest": "x"}, basic...).Fails(403, "FORBIDDEN")
		approve(second, made.Text("id")).OK()
		robot.Do("POST", payouts+"/"+made.Text("id")+"/cancel", nil, basic...).OK()
		maker.Has(account, 100_000, 0)
		robot.Do("POST", payouts, request(account, 10_000), "Authorization", servertest.Basic(id, secret+"x")).Fails(401, "INVALID_CREDENTIALS")
		robot.Do("POST", payouts, request(account, 10_000)).Fails(401, "UNAUTHORIZED")
	})
}

func TestAScreeningHoldsAndRefusesPayouts(t *testing.T) {
	t.Parallel()
	command := filepath.Join(t.TempDir(), "screen")
	script := "#!/bin/sh\nread -r line\ncase \"$line\" in *Sanctioned*) d=deny;; *Doubtful*) d=hold;; *) d=allow;; esac\necho \"{\\\"decision\\\": \\\"$d\\\", \\\"reason\\\": \\\"list 7\\\"}\"\n"
	if err := os.WriteFile(command, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store, func(c *config.Serve) { c.ScreeningCommand = command })
		x := n.Tenant(t)
		account := x.Account(100_000)
		to := func(name string) body {
			return body{"settlement_account": body{"bank_account_name": name, "bank_account_number": "1234567890", "bank_code": bpi}}
		}
		if got := x.Owner.Post(payouts, request(account, 1_000, to("Sanctioned"))).Fails(422, "SCREENING_DENIED").Message(); !strings.Contains(got, "list 7") {
			t.Errorf("the answer says %q", got)
		}
		var p api.Payout
		x.Owner.Post(payouts, request(account, 1_000, to("Doubtful"))).Created().Data(&p)
		if p.Status != api.PayoutInitiated || !strings.Contains(p.ApprovalReason, "list 7") {
			t.Errorf("the payout is %+v", p)
		}
		x.Owner.PayoutIs(x.Owner.Pay(account, 1_000, to("Ada")), "pending")
		x.Owner.Has(account, 99_000, 1_000)
	})
}
