package dispatch_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"bursar/api"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/ledger"
	"bursar/internal/payout"
	"bursar/internal/rail"
)

const evidence = "BPI statement of 16 November, line 12"

func (o *office) resolve(who, id, as string) (api.Payout, error) {
	return o.payouts.Resolve(context.Background(), o.caller(who),
		payout.ResolveInput{ID: id, PayoutResolve: api.PayoutResolve{As: as, Evidence: evidence}})
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

// leave moves money to another account until the first one has an amount left.
func (o *office) leave(cents int64) {
	o.t.Helper()
	move := o.now(0).Available - cents
	o.write(func(tx *db.Tx) error {
		o.events = append(o.events, audit.Event{Action: audit.TransferCreated, WorkspaceID: "ws_1", ResourceID: "trf_1", Description: "A test"})
		_, err := ledger.Post(tx, ledger.Transaction{Kind: ledger.KindTransfer, WorkspaceID: "ws_1", Reference: "trf_1", Moves: []ledger.Move{
			{AccountID: o.accounts[0].ID, Bucket: ledger.BucketAvailable, Amount: -move},
			{AccountID: o.accounts[1].ID, Bucket: ledger.BucketAvailable, Amount: move},
		}})
		return err
	})
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
			_, err := retryFailed(tx, b.vault, id)
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
			if _, err := cancelPending(tx, id); err != nil {
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
				if _, err := o.resolve("usr_b", id, c.as); codeOf(err) != api.CodePayoutState {
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
					if err := o.retry("usr_a", id); (codeOf(err) == api.CodePayoutState) != contradicted {
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

// It was resolved as paid by mistake, after it had failed.
func TestAFailedPayoutThatWasResolvedAsPaidAndThenAsNotPaidIsRetried(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		o := openOffice(openBank(t, store))
		o.deaf()
		p, err := o.create("usr_a", 0, o.terms("9001", amount))
		if err != nil {
			t.Fatal(err)
		}
		o.turn()
		o.is(p.ID, "failed INVALID_ACCOUNT AC01")
		o.clock.advance(time.Minute)
		o.answers(p.ID, rail.Outcome{State: rail.Completed})
		o.resolved(p.ID, "paid")
		o.is(p.ID, "completed")
		o.answers(p.ID, rail.Outcome{State: rail.Rejected, Code: "AC01"})
		o.resolved(p.ID, "not_paid")
		o.is(p.ID, "failed PROCESSING_FAILED")
		if err := o.retry("usr_a", p.ID); err != nil {
			t.Error(err)
		}
	})
}
