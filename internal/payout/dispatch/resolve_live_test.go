package dispatch_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"bursar/api"
	"bursar/internal/approval"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/fault"
	"bursar/internal/payout"
	"bursar/internal/rail"
)

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
	if !errors.As(err, &f) || f.Code != api.CodeSecondPersonRequired {
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
		both := openLiveOffice(t, store)
		l, o := both.live, both.office
		id := l.overdue()
		waits := o.asked("usr_a", id, "paid")
		l.is(id, "processing outcome_unknown")
		shown, err := o.payouts.Get(t.Context(), o.caller("usr_b"), payout.GetInput{ID: id})
		if err != nil || shown.ResolveApprovalID != waits {
			t.Errorf("the payout waits for %q, want %q: %v", shown.ResolveApprovalID, waits, err)
		}
		if err := o.approveIt("usr_a", waits); codeOf(err) != api.CodeForbidden {
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
		if err := o.approveIt("usr_c", other); codeOf(err) != api.CodeApprovalDecided {
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
		want      api.Code
	}{
		"the bank decides": {func(l *live, _ *office, id string) {
			l.answers(id, rail.Outcome{State: rail.Completed})
		}, "void", api.CodeApprovalDecided},
		"the bank contradicts itself": {func(l *live, _ *office, id string) {
			l.answers(id, rail.Outcome{State: rail.NotReceived, Submission: 1})
		}, "void", api.CodeApprovalDecided},
		"the bank debits it": {func(l *live, _ *office, id string) {
			l.answers(id, rail.Outcome{State: rail.NotReceived, Submission: 1})
			debit := settled(id)
			debit.MessageID, debit.EntryID, debit.Currency, debit.Booked = "statement", "debit", "PHP", true
			if err := l.Take(context.Background(), l.files, debit); err != nil {
				l.t.Fatal(err)
			}
		}, "void", api.CodeApprovalDecided},
		"it is changed past the program": {func(l *live, _ *office, id string) {
			l.write(func(tx *db.Tx) error {
				return tx.Exec(`UPDATE payout_attempt SET submission = 7 WHERE payout_id = $1`, id)
			})
		}, "pending", api.CodeApprovalChanged},
	} {
		t.Run(name, func(t *testing.T) {
			dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
				both := openLiveOffice(t, store)
				l, o := both.live, both.office
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
		both := openLiveOffice(t, store)
		l, o := both.live, both.office
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
				both := openLiveOffice(t, store)
				l, o := both.live, both.office
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
		both := openLiveOffice(t, store)
		l, o := both.live, both.office
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

// No one else could approve: one person resolves at once.
func TestAWorkspaceOfOneResolvesAlone(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		both := openLiveOffice(t, store)
		l, o := both.live, both.office
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
		both := openLiveOffice(t, store)
		l, o := both.live, both.office
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
		both := openLiveOffice(t, store)
		l, o := both.live, both.office
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

// The approver agrees to what the approval was requested for.
func TestTheApprovalOfAResolutionIsNotMovedToAnotherPayout(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		o := openLiveOffice(t, store)
		ids := o.live.pay(number("0001"), number("0002"))
		o.turn()
		o.clock.advance(15 * time.Minute)
		o.turn()
		waits := o.asked("usr_a", ids[0], "not_paid")
		o.exec(`UPDATE approval SET subject_id = $2 WHERE id = $1`, waits, ids[1])
		if err := o.approveIt("usr_b", waits); codeOf(err) != api.CodeApprovalChanged {
			t.Errorf("approve: %v", err)
		}
		for _, id := range ids {
			o.is(id, "processing outcome_unknown")
		}
		if _, err := o.approvals.Reject(t.Context(), o.caller("usr_b"), approval.RejectInput{ID: waits, ApprovalReject: api.ApprovalReject{Reason: "no"}}); err != nil {
			t.Errorf("reject: %v", err)
		}
	})
}
