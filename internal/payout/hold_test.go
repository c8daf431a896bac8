package payout_test

import (
	"slices"
	"testing"
	"time"

	"bursar/api"
	"bursar/internal/db"
	"bursar/internal/payout"
	"bursar/internal/server/servertest"
)

// onRail is a payout of a batch by a rail.
func onRail(name string, cents int64) body {
	return body{"amount_cents": cents, "settlement_rail": name, "settlement_account": to(bpi, "1234567890")}
}

// batchOf asks for a batch.
func batchOf(maker *servertest.Client, account string, list ...body) (b api.PayoutBatch) {
	maker.T().Helper()
	maker.Post(batches, body{"source_account_id": account, "currency": "PHP", "payouts": list}).Created().Data(&b)
	return b
}

// InstaPay is sent at once, and PESONet later: the claim of the first holds both.
func TestALimitForOnePayoutOfABatchHoldsItOnAllRails(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, maker, second := n.Pair(t)
		b := batchOf(maker, x.Account(100_000), onRail("instapay", 1_000), onRail("pesonet", 20_000))
		second.Approve(b.ApprovalID).OK()
		if p := servertest.Decoded[api.Payout](maker.Get(payouts + "/" + b.Results[1].ID)); p.SendAt <= n.DB.Now() {
			t.Fatal("PESONet takes it now")
		}
		limitPerPayout(x.Owner, x.WorkspaceID, 5_000)
		now, later := maker.PayoutHeld(b.Results[0].ID), maker.PayoutHeld(b.Results[1].ID)
		if now.RecheckApprovalID == "" || now.RecheckApprovalID != later.RecheckApprovalID {
			t.Errorf("the batch is held by %q and %q", now.RecheckApprovalID, later.RecheckApprovalID)
		}
		for _, p := range []api.Payout{now, later} {
			if got := n.Audited(t, p.ID); !slices.Contains(got, "payout.request.needs_attention") {
				t.Errorf("the story of %s is %v", p.ID, got)
			}
		}
	})
}

func TestALimitThatBecomesStricterWhileABatchIsSentHoldsTheRest(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, maker, second := n.Pair(t)
		limitPerPayout(x.Owner, x.WorkspaceID, 50_000)
		b := batchOf(maker, x.Account(100_000), onRail("instapay", 1_000), onRail("pesonet", 20_000))
		second.Approve(b.ApprovalID).OK()
		n.RunPayouts(t)
		maker.PayoutIs(b.Results[0].ID, "completed")
		limitPerPayout(x.Owner, x.WorkspaceID, 5_000)
		later := servertest.Decoded[api.Payout](maker.Get(payouts + "/" + b.Results[1].ID))
		n.Clock.Advance(time.Duration(later.SendAt-n.DB.Now()+1) * time.Millisecond)
		maker.Again(t).PayoutHeld(later.ID)
	})
}

func TestAPayoutThatFailsWhenItIsDueIsNotHeld(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, maker, second := n.Pair(t)
		account := x.Account(100_000)
		id := maker.Pay(account, 10_000)
		approve(second, id).OK()
		limitPerPayout(x.Owner, x.WorkspaceID, 5_000)
		x.Owner.Patch("/v2/accounts/"+account, body{"status": "frozen"}).OK()
		n.RunPayouts(t)
		maker.PayoutIs(id, "failed")
		if got := n.Count(t, `SELECT count(*) FROM approval WHERE kind = 'payout_recheck' AND workspace_id = $1`, x.WorkspaceID); got != 0 {
			t.Errorf("%d approvals ask to release nothing", got)
		}
	})
}

func TestTheRestOfAHeldBatchIsReleasedAfterOneWasCancelled(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, maker, second := n.Pair(t)
		b := batchOf(maker, x.Account(100_000), onRail("instapay", 10_000), onRail("instapay", 20_000))
		second.Approve(b.ApprovalID).OK()
		limitPerPayout(x.Owner, x.WorkspaceID, 5_000)
		p := maker.PayoutHeld(b.Results[0].ID)
		maker.Post(payouts+"/"+b.Results[1].ID+"/cancel", body{}).OK()
		if gone := servertest.Decoded[api.Payout](maker.Get(payouts + "/" + b.Results[1].ID)); gone.Attention != "" || gone.RecheckApprovalID != "" {
			t.Errorf("a cancelled payout needs %q, and waits for %q", gone.Attention, gone.RecheckApprovalID)
		}
		second.Approve(p.RecheckApprovalID).OK()
		n.RunPayouts(t)
		maker.PayoutIs(p.ID, "completed")
	})
}

// The limit goes while the approval waits.
func TestABatchThatNothingHoldsAnyMoreIsConfirmedWhileItsApprovalWaits(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, maker, second := n.Pair(t)
		b := batchOf(maker, x.Account(100_000), onRail("instapay", 10_000), onRail("instapay", 1_000))
		second.Approve(b.ApprovalID).OK()
		limit := x.Owner.Post("/v2/limits", body{"workspace_id": x.WorkspaceID, "per": "payout", "amount_cents": 5_000}).OK().Text("id")
		p := maker.PayoutHeld(b.Results[0].ID)
		confirm := payouts + "/" + b.Results[1].ID + "/confirm"
		if got := maker.Post(confirm, nil).Fails(403, "SECOND_PERSON_REQUIRED").Detail("approval_id"); got != p.RecheckApprovalID {
			t.Errorf("it waits for %s, the answer names %s", p.RecheckApprovalID, got)
		}
		second.Approve(x.Owner.Delete("/v2/limits/" + limit).OK().Text("approval_id")).OK()
		maker.Post(confirm, nil).OK()
		if got := second.Get("/v1/approvals/" + p.RecheckApprovalID).OK().Text("state"); got != "void" {
			t.Errorf("the approval is %s", got)
		}
		n.RunPayouts(t)
		for _, r := range b.Results {
			maker.PayoutIs(r.ID, "completed")
			if got := n.Audited(t, r.ID); !slices.Contains(got, "payout.recheck.approved") {
				t.Errorf("the story of %s is %v", r.ID, got)
			}
		}
	})
}

// What the store says about an earlier approval, or about a batch, does not make a rule look less strict.
func TestARuleIsComparedWithWhatWasApprovedAndNotWithColumns(t *testing.T) {
	for name, change := range map[string]string{
		"the role of the approval": `UPDATE approval SET role = 'cfo' WHERE subject_id = $1`,
		"the total of the batch":   `UPDATE payout_batch SET total = 1 WHERE id = $1`,
	} {
		t.Run(name, func(t *testing.T) {
			servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
				x, maker, second := n.Pair(t)
				x.Define("cfo", "ws.payouts.read", "ws.payouts.create", "ws.payouts.approve")
				x.Staff("cfo", 1)
				b := batchOf(maker, x.Account(100_000), onRail("instapay", 10_000), onRail("instapay", 10_000))
				second.Approve(b.ApprovalID).OK()
				n.Clock.Advance(time.Second)
				x.Owner.Post("/v2/approval-rules", body{"workspace_id": x.WorkspaceID, "approvals": 1, "role": "cfo", "above_cents": 15_000}).Created()
				n.Write(t, func(tx *db.Tx) error { return tx.Exec(change, b.ID) })
				maker.PayoutHeld(b.Results[0].ID)
			})
		})
	}
}

// As when the batch was requested.
func TestARuleOfOneRailIsComparedWithWhatABatchPaysByThatRail(t *testing.T) {
	for name, c := range map[string]struct {
		above int64
		held  bool
	}{"more": {25_000, true}, "less": {35_000, false}} {
		t.Run(name, func(t *testing.T) {
			servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
				x, maker, second := n.Pair(t)
				x.Staff("disbursement_authorizer", 1)
				b := batchOf(maker, x.Account(100_000), onRail("instapay", 15_000), onRail("instapay", 15_000), onRail("pesonet", 10_000))
				second.Approve(b.ApprovalID).OK()
				n.Clock.Advance(time.Second)
				x.Owner.Post("/v2/approval-rules", body{"workspace_id": x.WorkspaceID, "approvals": 2, "rail": "instapay", "above_cents": c.above}).Created()
				n.RunPayouts(t)
				p := servertest.Decoded[api.Payout](maker.Get(payouts + "/" + b.Results[0].ID))
				if held := p.Attention == payout.Recheck; held != c.held {
					t.Errorf("it is %s %s", p.Status, p.Attention)
				}
			})
		})
	}
}

// Anyone who can write to the store lets another held payout wait for an approval that is not about it.
func TestAnApprovalReleasesOnlyThePayoutsThatItIsFor(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, maker, second := n.Pair(t)
		account := x.Account(100_000)
		small, large := maker.Pay(account, 6_000), maker.Pay(account, 60_000)
		approve(second, small).OK()
		approve(second, large).OK()
		limitPerPayout(x.Owner, x.WorkspaceID, 5_000)
		p := maker.PayoutHeld(small)
		n.Write(t, func(tx *db.Tx) error {
			return tx.Exec(`UPDATE payout SET recheck_id = $2 WHERE id = $1`, large, p.RecheckApprovalID)
		})
		second.Approve(p.RecheckApprovalID).Fails(422, "APPROVAL_CHANGED")
		maker.PayoutHeld(large)
	})
}
