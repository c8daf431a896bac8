package payout_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"bursar/api"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/fault"
	"bursar/internal/ledger"
	"bursar/internal/payout"
	"bursar/internal/rail"
)

const evidence = "BPI statement of 16 November, line 12"

func (o *office) resolve(who, id, as string) (api.Payout, error) {
	return o.payouts.Resolve(context.Background(), o.caller(who), payout.ResolveInput{ID: id, PayoutResolve: api.PayoutResolve{As: as, Evidence: evidence}})
}

// resolved resolves a payout of the sandbox, which takes one person.
func (o *office) resolved(id, as string) {
	o.t.Helper()
	if _, err := o.resolve("usr_a", id, as); err != nil {
		o.t.Fatal(err)
	}
}

// lastStep is the last row of the audit log about a payout.
func (o *office) lastStep(id string) string {
	o.t.Helper()
	story, err := o.payouts.Story(context.Background(), o.caller("usr_c"), payout.Input{ID: id})
	if err != nil {
		o.t.Fatal(err)
	}
	last := story.Steps[0]
	text := last.ActorID + " " + last.Action
	for _, c := range last.Changes {
		text += fmt.Sprintf("\n%s: %s → %s", c.Field, c.Before, c.After)
	}
	return text
}

func (o *office) retry(who, id string) error {
	_, err := o.payouts.Retry(context.Background(), o.caller(who), payout.Input{ID: id})
	return err
}

// booked checks what must hold whatever people have found, even if it is not what the simulator has paid.
func (b *bank) booked() {
	b.t.Helper()
	for _, what := range b.unsound() {
		if what != "payouts that are completed and that the bank does not know" && what != "payouts that failed and that the bank has paid" {
			b.t.Errorf("there are %s", what)
		}
	}
	if report, err := ledger.Verify(context.Background(), b.db, false, func(int64, int64) {}); err != nil || len(report.Mismatches) > 0 {
		b.t.Errorf("the ledger does not verify: %v, %v", report.Mismatches, err)
	}
}

// deaf lets the bank report nothing by itself.
func (b *bank) deaf() { b.line.receive = func() []rail.Message { return nil } }

// answers stores the answer of a rail about the first attempt.
func (b *bank) answers(id string, o rail.Outcome) {
	b.t.Helper()
	if err := b.Store(context.Background(), payout.EndToEndID(id, 1), o); err != nil {
		b.t.Fatal(err)
	}
}

// stuck are payouts that need attention, by what they are.
var stuck = map[string]func(b *bank) string{
	"processing outcome_unknown": func(b *bank) string {
		id := b.pay(number("9011"))[0]
		b.turn()
		b.clock.advance(15 * time.Minute)
		b.turn()
		return id
	},
	"processing contradicted": func(b *bank) string {
		id := b.pay(number("9011"))[0]
		b.turn()
		b.forgets()
		b.settle(time.Minute)
		b.line.lookUp = nil
		return id
	},
	"pending contradicted": func(b *bank) string {
		id := b.pay(number("9001"))[0]
		b.turn()
		b.write(func(tx *db.Tx) error {
			_, err := payout.RetryFailed(tx, id)
			return err
		})
		b.answers(id, rail.Outcome{State: rail.Completed})
		return id
	},
	"failed INVALID_ACCOUNT AC01 contradicted": func(b *bank) string {
		id := b.pay(number("9001"))[0]
		b.turn()
		b.answers(id, rail.Outcome{State: rail.Completed})
		return id
	},
	"cancelled contradicted": func(b *bank) string {
		id := b.pay(number("0001"))[0]
		b.write(func(tx *db.Tx) error {
			if _, err := payout.CancelPending(tx, id); err != nil {
				return err
			}
			return tx.Exec(`UPDATE payout SET attention = 'contradicted' WHERE id = $1`, id) // as recall does
		})
		return id
	},
	"completed contradicted": func(b *bank) string {
		b.deaf()
		id := b.pay(number("0001"))[0]
		b.turn()
		b.answers(id, rail.Outcome{State: rail.Rejected, Code: "AC04"})
		return id
	},
	"reversed ACCOUNT_CLOSED AC04 contradicted": func(b *bank) string {
		b.deaf()
		id := b.pay(number("0001"))[0]
		b.turn()
		again := returned(id)
		again.Outcome.Reference, again.EntryID = "R2", "again"
		b.hear("statement 1", settled(id), returned(id), again)
		b.deaf()
		return id
	},
}

func TestAPayoutThatNeedsAttentionIsResolved(t *testing.T) {
	for _, c := range []struct {
		before, as, after, attempt string
		taken                      int64 // from the account, in payouts, after it was resolved
	}{
		{"processing outcome_unknown", "paid", "completed", "completed paid", 1},
		{"processing outcome_unknown", "not_paid", "failed PROCESSING_FAILED", "not_received not_paid", 0},
		{"processing contradicted", "paid", "completed", "completed paid", 1},
		{"processing contradicted", "not_paid", "failed PROCESSING_FAILED", "not_received not_paid", 0},
		{"pending contradicted", "paid", "completed", "completed paid", 1},
		{"pending contradicted", "not_paid", "failed PROCESSING_FAILED", "not_received not_paid", 0},
		{"failed INVALID_ACCOUNT AC01 contradicted", "paid", "completed", "completed paid", 1},
		{"failed INVALID_ACCOUNT AC01 contradicted", "not_paid", "failed INVALID_ACCOUNT AC01", "not_received not_paid", 0},
		{"cancelled contradicted", "paid", "completed", "completed paid", 1},
		{"cancelled contradicted", "not_paid", "cancelled", "not_received not_paid", 0},
		{"completed contradicted", "paid", "completed", "completed paid", 1},
		{"completed contradicted", "not_paid", "failed PROCESSING_FAILED", "not_received not_paid", 0},
		{"reversed ACCOUNT_CLOSED AC04 contradicted", "paid", "reversed ACCOUNT_CLOSED AC04", "completed ", 0},
		{"reversed ACCOUNT_CLOSED AC04 contradicted", "not_paid", "reversed ACCOUNT_CLOSED AC04", "completed ", 0},
	} {
		t.Run(c.before+" as "+c.as, func(t *testing.T) {
			dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
				b := openBank(t, store)
				o := openOffice(b)
				had := b.count(`SELECT available FROM ledger_account WHERE id = $1`, b.account.ID)
				id := stuck[c.before](b)
				b.is(id, c.before)
				o.resolved(id, c.as)
				b.is(id, c.after)
				equal(t, "the attempt", b.lines(`SELECT state, resolved FROM payout_attempt WHERE payout_id = $1`, id), []string{c.attempt})
				if got, want := b.balances(b.account), fmt.Sprint(had-c.taken*amount, " 0"); got != want {
					t.Errorf("the account has %s, want %s", got, want)
				}
				b.booked()
				if told := b.told(id); told[len(told)-1] != "resolved" {
					t.Errorf("the audit log has %q", told)
				}
				if text := o.lastStep(id); !strings.Contains(text, "evidence: null → \""+evidence) {
					t.Errorf("the audit log has %s", text)
				}
				// The rail is asked no more, and there is nothing left to resolve.
				b.line.lookUp = func(context.Context, *rail.Rail, []rail.Payment) ([]rail.Outcome, error) {
					t.Error("the rail is asked about what is resolved")
					return nil, nil
				}
				b.settle(time.Hour)
				b.is(id, c.after)
				if _, err := o.resolve("usr_b", id, c.as); codeOf(err) != fault.PayoutState {
					t.Errorf("resolved again: %v", err)
				}
			})
		})
	}
}

// What the rail and the bank report after people have resolved a payout.
func TestLaterReportsAreJudgedByTheResolution(t *testing.T) {
	reject := func(id string) rail.Notice { return decided(id, rail.Rejected, "AC04") }
	complete := func(id string) rail.Notice { return decided(id, rail.Completed, "") }
	accept := func(id string) rail.Notice { return decided(id, rail.Accepted, "ACSP") }
	for _, c := range []struct {
		name, as string
		report   func(id string) rail.Notice
		after    string
		suspense int64
		settled  int64
	}{
		{"a debit after paid", "paid", settled, "completed", 0, 1},
		{"a return after paid", "paid", returned, "reversed ACCOUNT_CLOSED AC04", 0, 0},
		{"a rejection after paid", "paid", reject, "completed contradicted", 0, 0},
		{"a completion after paid", "paid", complete, "completed", 0, 0},
		{"a debit after not_paid", "not_paid", settled, "failed PROCESSING_FAILED contradicted", -amount, 0},
		{"a return after not_paid", "not_paid", returned, "failed PROCESSING_FAILED contradicted", amount, 0},
		{"a rejection after not_paid", "not_paid", reject, "failed PROCESSING_FAILED", 0, 0},
		{"a completion after not_paid", "not_paid", complete, "failed PROCESSING_FAILED contradicted", 0, 0},
		{"an acknowledgement after not_paid that was known", "not_paid", accept, "failed PROCESSING_FAILED", 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
				b := openBank(t, store)
				o := openOffice(b)
				id := stuck["processing outcome_unknown"](b)
				o.resolved(id, c.as)
				b.hear("statement", c.report(id))
				b.is(id, c.after)
				if n := b.count(`SELECT CAST(coalesce(sum(available), 0) AS BIGINT) FROM ledger_account WHERE kind = 'suspense'`); n != c.suspense {
					t.Errorf("%d in suspense, want %d", n, c.suspense)
				}
				if n := b.count(`SELECT count(*) FROM ledger_transaction WHERE reference = $1 AND kind = 'settle'`, id); n != c.settled {
					t.Errorf("%d debits were settled, want %d", n, c.settled)
				}
				b.booked()
				if c.as == "not_paid" {
					contradicted := strings.HasSuffix(c.after, "contradicted")
					if err := o.retry("usr_a", id); (codeOf(err) == fault.PayoutState) != contradicted {
						t.Errorf("retried: %v", err)
					}
				}
			})
		})
	}
}

// A debit arrives after the payout was retried and before it is sent.
func TestADebitAfterNotPaidStopsARetryThatWaits(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		b := openBank(t, store)
		o := openOffice(b)
		id := stuck["processing outcome_unknown"](b)
		o.resolved(id, "not_paid")
		if err := o.retry("usr_a", id); err != nil {
			t.Fatal(err)
		}
		debit := settled(id)
		debit.MessageID, debit.EntryID, debit.Currency, debit.Booked = "statement", "debit", "PHP", true
		if err := b.Take(t.Context(), b.line, debit); err != nil {
			t.Fatal(err)
		}
		b.is(id, "pending contradicted")
		submitted := b.submissions()
		b.settle(time.Hour)
		if len(*submitted) != 0 {
			t.Errorf("sent %q", *submitted)
		}
		b.booked()
		o.resolved(id, "paid")
		b.is(id, "completed")
		b.booked()
	})
}

// completed → not_paid → failed → retried → completed, under one end-to-end id.
func TestAPayoutThatWasReopenedIsPaidByARetry(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		b := openBank(t, store)
		o := openOffice(b)
		before := b.balances(b.account)
		id := b.pay(number("9011"))[0]
		b.turn()
		b.answers(id, rail.Outcome{State: rail.Completed})
		b.answers(id, rail.Outcome{State: rail.Rejected, Code: "AC04"})
		b.is(id, "completed contradicted")
		o.resolved(id, "not_paid")
		if got := b.balances(b.account); got != before {
			t.Errorf("the account has %s, want %s", got, before)
		}
		submitted := b.submissions()
		if err := o.retry("usr_a", id); err != nil {
			t.Fatal(err)
		}
		b.turn()
		equal(t, "submitted", *submitted, []string{payout.EndToEndID(id, 1) + ", 2"})
		equal(t, "attempts", b.attempts(id), []string{"1 accepted, submission 2"})
		b.write(func(tx *db.Tx) error {
			_, err := b.sim.Settle(tx, payout.EndToEndID(id, 1))
			return err
		})
		b.turn()
		b.is(id, "completed")
		b.sound()
	})
}

// A rejection of the submission after one that was not paid decides, and one of the older submission changes nothing.
func TestARejectionAfterNotPaidDecides(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		b := openBank(t, store)
		o := openOffice(b)
		id := stuck["processing outcome_unknown"](b)
		o.resolved(id, "not_paid")
		if err := o.retry("usr_a", id); err != nil {
			t.Fatal(err)
		}
		b.turn()
		b.answers(id, rail.Outcome{State: rail.Rejected, Code: "AC01", Submission: 1})
		b.is(id, "processing")
		b.write(func(tx *db.Tx) error {
			_, err := b.sim.Reject(tx, payout.EndToEndID(id, 1), "MS03")
			return err
		})
		b.turn()
		b.is(id, "failed PROCESSING_FAILED MS03")
		if err := o.retry("usr_a", id); err != nil {
			t.Fatal(err)
		}
		b.turn()
		equal(t, "attempts", b.attempts(id), []string{"1 rejected, submission 2", "2 accepted"})
		b.booked()
	})
}

func TestAResolutionThatWouldBeWrongIsRefused(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		b := openBank(t, store)
		o := openOffice(b)
		refused := func(what, id, as string, want fault.Code) {
			t.Helper()
			before := b.payout(id)
			if _, err := o.resolve("usr_a", id, as); codeOf(err) != want {
				t.Errorf("%s: %v, want %s", what, err, want)
			}
			if after := b.payout(id); after.Status != before.Status || after.Attention != before.Attention {
				t.Errorf("%s: it is %s %s", what, after.Status, after.Attention)
			}
			b.booked()
		}
		plain := b.pay(number("9011"))[0]
		b.turn()
		refused("nothing is unclear", plain, "paid", fault.PayoutState)
		b.hear("statement", decided(plain, rail.Completed, ""), settled(plain))
		b.answers(plain, rail.Outcome{State: rail.Rejected, Code: "AC04"})
		b.is(plain, "completed contradicted")
		refused("the statement shows it", plain, "not_paid", fault.PayoutState)

		b.line.receive = nil
		failed := stuck["failed INVALID_ACCOUNT AC01 contradicted"](b)
		b.write(func(tx *db.Tx) error {
			left := b.count(`SELECT available FROM ledger_account WHERE id = $1`, b.account.ID) - amount + 1
			_, err := ledger.Post(tx, ledger.Transaction{Kind: ledger.KindTransfer, WorkspaceID: "ws_1", Reference: "trf_1", Moves: []ledger.Move{
				{AccountID: b.account.ID, Bucket: ledger.BucketAvailable, Amount: -left}, {AccountID: o.accounts[1].ID, Bucket: ledger.BucketAvailable, Amount: left}}})
			return err
		})
		refused("the account is short", failed, "paid", fault.InsufficientFunds)

		draft, err := o.create("usr_a", 1, o.terms("0001", 100))
		if err != nil || draft.Status != payout.Initiated {
			t.Fatal(draft.Status, err)
		}
		b.write(func(tx *db.Tx) error { return tx.Exec(`UPDATE payout SET attention = 'contradicted' WHERE id = $1`, draft.ID) })
		refused("it could be paid once more", draft.ID, "paid", fault.PayoutState)
		o.resolved(draft.ID, "not_paid")
		b.is(draft.ID, "initiated")
		if err := o.approve("usr_b", draft.ID); err != nil {
			t.Error(err)
		}
	})
}

// What is resolved as paid counts for the limits of the day, though it may be above them.
func TestWhatIsResolvedAsPaidCountsForLimits(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		b := openBank(t, store)
		o := openOffice(b)
		id := stuck["failed INVALID_ACCOUNT AC01 contradicted"](b)
		rules := o.serve()
		if _, err := rules.SetLimit(t.Context(), o.caller("usr_a"), payout.SetLimitInput{PayoutLimitSet: api.PayoutLimitSet{WorkspaceID: new("ws_1"), Per: api.LimitPerDay, AmountCents: new(int64(1))}}); err != nil {
			t.Fatal(err)
		}
		b.clock.advance(time.Second)
		used := func(want int64) {
			t.Helper()
			if got := b.count(`SELECT CAST(coalesce(sum(amount), 0) AS BIGINT) FROM payout_used`); got != want {
				t.Errorf("%d are used, want %d", got, want)
			}
		}
		o.resolved(id, "paid")
		used(amount)
		b.answers(id, rail.Outcome{State: rail.Rejected, Code: "AC04"})
		o.resolved(id, "not_paid")
		used(0)
	})
}

// The account of a completed payout was closed: what was not paid waits in suspense, as a return would.
func TestAReopenedPayoutOfAClosedAccountGoesToSuspense(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		b := openBank(t, store)
		o := openOffice(b)
		id := stuck["completed contradicted"](b)
		left := b.count(`SELECT available FROM ledger_account WHERE id = $1`, b.account.ID)
		b.write(func(tx *db.Tx) error {
			if _, err := ledger.Post(tx, ledger.Transaction{Kind: ledger.KindTransfer, WorkspaceID: "ws_1", Reference: "trf_1", Moves: []ledger.Move{
				{AccountID: b.account.ID, Bucket: ledger.BucketAvailable, Amount: -left}, {AccountID: o.accounts[1].ID, Bucket: ledger.BucketAvailable, Amount: left}}}); err != nil {
				return err
			}
			return tx.Exec(`UPDATE ledger_account SET status = 'closed' WHERE id = $1`, b.account.ID)
		})
		o.resolved(id, "not_paid")
		if n := b.count(`SELECT available FROM ledger_account WHERE kind = 'suspense'`); n != amount {
			t.Errorf("%d in suspense", n)
		}
		b.booked()
	})
}

// Of two who resolve at once, or of one and the bank, one is first.
func TestAResolutionRacesWithAnotherAndWithTheBank(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		b := openBank(t, store)
		o := openOffice(b)
		second := o.second()
		ids := b.pay(slices.Repeat([]string{number("9011")}, 12)...)
		b.turn()
		b.clock.advance(15 * time.Minute)
		b.turn()
		for i, id := range ids {
			var both sync.WaitGroup
			errs := make([]error, 2)
			both.Go(func() { _, errs[0] = o.resolve("usr_a", id, api.ResolvePaid) })
			both.Go(func() {
				if i%2 == 0 {
					_, errs[1] = second.resolve("usr_b", id, api.ResolveNotPaid)
					return
				}
				debit := settled(id)
				debit.MessageID, debit.EntryID, debit.Currency, debit.Booked = "statement", id, "PHP", true
				errs[1] = b.Take(context.Background(), b.line, debit)
			})
			both.Wait()
			switch one, other := codeOf(errs[0]), codeOf(errs[1]); {
			case i%2 == 0 && (one == "" && other == fault.PayoutState) != (one != fault.PayoutState || other != ""):
				t.Errorf("resolved twice: %v, %v", errs[0], errs[1])
			case i%2 == 1:
				b.is(id, "completed")
				if other != "" || one != "" && one != fault.PayoutState || b.count(`SELECT count(*) FROM ledger_transaction WHERE reference = $1 AND kind = 'settle'`, id) != 1 {
					t.Errorf("beside the bank: %v, %v", errs[0], errs[1])
				}
			}
		}
		b.booked()
	})
}

// liveOffice is an office whose first account pays by files.
func liveOffice(t *testing.T, store dbtest.Store) (*live, *office) {
	l := openLive(t, store)
	o := openOffice(l.bank)
	l.turn()
	return l, o
}

// overdue is a payout that the bank has not answered in time.
func (l *live) overdue() string {
	l.t.Helper()
	id := l.pay(number("0001"))[0]
	l.turn()
	l.clock.advance(15 * time.Minute)
	l.turn()
	l.is(id, "processing outcome_unknown")
	return id
}

// asked resolves a live payout, and returns the approval that waits.
func (o *office) asked(who, id, as string) string {
	o.t.Helper()
	_, err := o.resolve(who, id, as)
	var f *fault.Fault
	if !errors.As(err, &f) || f.Code != fault.SecondPersonRequired {
		o.t.Fatal("resolved: ", err)
	}
	return f.Details.(api.SecondPersonDetails).ApprovalID
}

func (o *office) approvalIs(id, want string) {
	o.t.Helper()
	if got := o.lines(`SELECT state, kind FROM approval WHERE id = $1`, id); !slices.Equal(got, []string{want + " payout_resolve"}) {
		o.t.Errorf("the approval is %q, want %s", got, want)
	}
}

func TestALivePayoutIsResolvedByTwo(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		l, o := liveOffice(t, store)
		id := l.overdue()
		waits := o.asked("usr_a", id, "paid")
		l.is(id, "processing outcome_unknown")
		shown, err := o.payouts.Get(t.Context(), o.caller("usr_b"), payout.GetInput{ID: id})
		if err != nil || shown.ResolveApprovalID != waits {
			t.Errorf("the payout waits for %q, want %q: %v", shown.ResolveApprovalID, waits, err)
		}
		if err := o.approveIt("usr_a", waits); codeOf(err) != fault.Forbidden {
			t.Errorf("approved by who asked: %v", err)
		}
		other := o.asked("usr_b", id, "not_paid") // takes its place
		o.approvalIs(waits, "void")
		l.settle(time.Hour) // look-ups in vain change nothing
		if err := o.approveIt("usr_a", other); err != nil {
			t.Fatal(err)
		}
		o.approvalIs(other, "approved")
		l.is(id, "failed PROCESSING_FAILED")
		if err := o.approveIt("usr_c", other); codeOf(err) != fault.ApprovalDecided {
			t.Errorf("approved twice: %v", err)
		}
		equal(t, "the audit log", l.told(id), []string{"sent", "needs_attention", "resolve_requested", "resolve_requested", "resolved"})
		l.booked()
	})
}

// What happens between request and approval ends the request.
func TestAResolutionThatIsOvertakenIsNotApproved(t *testing.T) {
	for name, c := range map[string]struct {
		meanwhile func(l *live, o *office, id string)
		state     string
		want      fault.Code
	}{
		"the bank decides": {func(l *live, _ *office, id string) { l.answers(id, rail.Outcome{State: rail.Completed}) }, "void", fault.ApprovalDecided},
		"the bank contradicts itself": {func(l *live, _ *office, id string) {
			l.answers(id, rail.Outcome{State: rail.NotReceived, Submission: 1})
		}, "void", fault.ApprovalDecided},
		"the bank debits it": {func(l *live, _ *office, id string) {
			l.answers(id, rail.Outcome{State: rail.NotReceived, Submission: 1})
			debit := settled(id)
			debit.MessageID, debit.EntryID, debit.Currency, debit.Booked = "statement", "debit", "PHP", true
			if err := l.Take(context.Background(), l.files, debit); err != nil {
				l.t.Fatal(err)
			}
		}, "void", fault.ApprovalDecided},
		"it is changed past the program": {func(l *live, _ *office, id string) {
			l.write(func(tx *db.Tx) error { return tx.Exec(`UPDATE payout_attempt SET submission = 7 WHERE payout_id = $1`, id) })
		}, "pending", fault.ApprovalChanged},
	} {
		t.Run(name, func(t *testing.T) {
			dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
				l, o := liveOffice(t, store)
				id := l.overdue()
				waits := o.asked("usr_a", id, "not_paid")
				c.meanwhile(l, o, id)
				o.approvalIs(waits, c.state)
				if err := o.approveIt("usr_b", waits); codeOf(err) != c.want {
					t.Errorf("approved: %v, want %s", err, c.want)
				}
				l.booked()
			})
		})
	}
}

// A person cancels a payout while another's resolution of it waits.
func TestACancellationEndsAResolutionThatWaits(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		l, o := liveOffice(t, store)
		id := l.overdue()
		if err := o.approveIt("usr_b", o.asked("usr_a", id, "not_paid")); err != nil {
			t.Fatal(err)
		}
		if err := o.retry("usr_a", id); err != nil {
			t.Fatal(err)
		}
		l.answers(id, rail.Outcome{State: rail.Completed})
		l.is(id, "pending contradicted")
		waits := o.asked("usr_a", id, "paid")
		if _, err := o.payouts.Cancel(t.Context(), o.caller("usr_c"), payout.CancelInput{ID: id}); err != nil {
			t.Fatal(err)
		}
		o.approvalIs(waits, "void")
		if err := o.approveIt("usr_b", o.asked("usr_a", id, "paid")); err != nil {
			t.Fatal(err)
		}
		l.is(id, "completed")
		l.booked()
	})
}

// messages returns the ids of the messages that have a payment, in the order of their files.
func (l *live) messages(endToEndID string) (ids []string) {
	l.t.Helper()
	names, err := filepath.Glob(filepath.Join(l.folder, "out", "*.xml"))
	if err != nil {
		l.t.Fatal(err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			l.t.Fatal(err)
		}
		if strings.Contains(string(text), "<EndToEndId>"+endToEndID+"</EndToEndId>") {
			_, rest, _ := strings.Cut(string(text), "<MsgId>")
			id, _, _ := strings.Cut(rest, "<")
			ids = append(ids, id)
		}
	}
	return ids
}

// A node dies between the claim and the file, and another one goes on.
func TestARetryAfterNotPaidGoesOutOnceUnderTheSameID(t *testing.T) {
	for name, killed := range map[string]bool{"in one go": false, "by a node that dies": true} {
		t.Run(name, func(t *testing.T) {
			dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
				l, o := liveOffice(t, store)
				id := l.overdue()
				if err := o.approveIt("usr_b", o.asked("usr_a", id, "not_paid")); err != nil {
					t.Fatal(err)
				}
				if err := o.retry("usr_a", id); err != nil {
					t.Fatal(err)
				}
				want := "1 accepted, submission 2"
				if killed {
					if n, err := l.Claim(t.Context()); n != 1 || err != nil {
						t.Fatal(n, err)
					}
					l = l.at(l.folder)
					l.settle(lease + time.Second)
					want = "1 accepted, submission 3"
				}
				l.turn()
				l.is(id, "processing")
				equal(t, "attempts", l.attempts(id), []string{want})
				if sent := l.messages(payout.EndToEndID(id, 1)); len(sent) != 2 || sent[0] == sent[1] {
					t.Errorf("it is in the messages %q", sent)
				}
				l.settle(10 * time.Minute)
				l.is(id, "processing")
				l.answers(id, rail.Outcome{State: rail.Completed})
				l.is(id, "completed")
				l.booked()
			})
		})
	}
}

// A payment of an adopted folder is resolved like any other.
func TestAnAdoptedPaymentIsResolved(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		l, o := liveOffice(t, store)
		id := l.pay(number("0001"))[0]
		l.turn()
		l.loseNotes()
		l = l.at(l.folder)
		l.turn()
		l.adopt(true)
		l.is(id, "processing contradicted")
		if err := o.approveIt("usr_b", o.asked("usr_a", id, "not_paid")); err != nil {
			t.Fatal(err)
		}
		l.is(id, "failed PROCESSING_FAILED")
		if err := o.retry("usr_a", id); err != nil {
			t.Fatal(err)
		}
		l.settle(time.Minute)
		equal(t, "attempts", l.attempts(id), []string{"1 accepted, submission 2"})
		l.booked()
	})
}

// Nobody else could approve: one person resolves at once.
func TestAWorkspaceOfOneResolvesAlone(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		l, o := liveOffice(t, store)
		id := l.overdue()
		l.write(func(tx *db.Tx) error {
			if err := tx.Exec(`DELETE FROM member_role WHERE account_id <> 'usr_a'`); err != nil {
				return err
			}
			return tx.Exec(`UPDATE receiving_policy SET payouts_seen_at = 0`)
		})
		if _, err := o.resolve("usr_a", id, "paid"); err != nil {
			t.Fatal(err)
		}
		l.is(id, "completed")
		l.booked()
	})
}

// A restored store asks its rails about submissions after those that were not paid.
func TestARestoredStoreDoesNotMistakeWhatWasNotPaid(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		l, o := liveOffice(t, store)
		id := l.overdue()
		if err := o.approveIt("usr_b", o.asked("usr_a", id, "not_paid")); err != nil {
			t.Fatal(err)
		}
		l.write(func(tx *db.Tx) error {
			_, err := payout.StopRails(tx, "a test")
			return err
		})
		l.settle(time.Minute)
		l.is(id, "failed PROCESSING_FAILED")
		if err := l.resume(false); err != nil {
			t.Fatal(err)
		}
	})
}

// The log has who resolved it, with what evidence, and who approved.
func TestTheLogHasTheEvidence(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		l, o := liveOffice(t, store)
		id := l.overdue()
		if err := o.approveIt("usr_b", o.asked("usr_a", id, "paid")); err != nil {
			t.Fatal(err)
		}
		want := `usr_b payout.request.resolved
status: "processing" → "completed"
attention: "outcome_unknown" → null
resolved: null → "paid"
evidence: null → "` + evidence + `"
end_to_end_id: null → "` + payout.EndToEndID(id, 1) + `"
approval: "pending" → "approved"`
		if text := o.lastStep(id); !strings.HasPrefix(text, want) || !strings.Contains(text, `requested_by: null → "usr_a"`) {
			t.Errorf("the log has %s", text)
		}
	})
}
