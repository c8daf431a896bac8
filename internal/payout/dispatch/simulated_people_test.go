package dispatch_test

import (
	"context"
	"errors"
	"time"

	"bursar/api"
	"bursar/internal/fault"
	"bursar/internal/payout"
	"bursar/internal/rail"
)

// attend lets someone settle what needs attention, retry what has failed, or cancel what waits.
func (w *world) attend(id string) {
	switch p := w.payout(id); {
	case p.ID == "": // it was lost with the store
	case p.Attention != "":
		if as := w.compare(id); as != "" {
			_, err := w.resolve("usr_a", id, as)
			var f *fault.Fault
			if errors.As(err, &f) && f.Code == api.CodeSecondPersonRequired { // a recovered one has no code of its terms
				err = w.approveIt("usr_b", f.Details.(api.SecondPersonDetails).ApprovalID)
			}
			w.does("resolves "+id+" as "+as, err)
		}
	case w.quiet:
	case p.Status == payout.Failed:
		w.does("retries "+id, w.retry("usr_a", id))
	case p.Status == payout.Pending && w.chance(3):
		_, err := w.payouts.Cancel(context.Background(), w.caller("usr_a"), payout.CancelInput{ID: id})
		w.does("cancels "+id, err)
	}
}

// compare returns what the bank's book says about a payout, or "" while that may change.
func (w *world) compare(id string) (as string) {
	const sentLately = `SELECT count(*) FROM payout_attempt WHERE payout_id = $1 AND claimed_at > $2`
	if w.count(sentLately, id, w.clock.Now().Add(-2*time.Minute).UnixMilli()) == 0 {
		as = api.ResolveNotPaid
	}
	for _, b := range w.book {
		switch {
		case b.payoutID != id:
		case b.state == rail.Accepted:
			return ""
		case b.state == rail.Completed:
			as = api.ResolvePaid
		}
	}
	return as
}

// stopOrResume stops sending, or resumes it.
func (w *world) stopOrResume() {
	if w.stopped() {
		w.sendAgain("usr_a")
		w.does("resumes sending", nil)
	} else {
		w.stopSending("usr_a")
		w.does("stops sending", nil)
	}
}

// stopped reports whether people have stopped sending.
func (w *world) stopped() bool {
	return w.count(`SELECT count(*) FROM payout_stop WHERE mode = 'sandbox' AND stopped_at > 0`) > 0
}

// does tells what someone has done, which may be refused.
func (w *world) does(what string, err error) {
	var refused *fault.Fault
	switch {
	case err == nil:
		w.tell("someone %s", what)
	case errors.As(err, &refused):
		w.tell("someone %s, which is refused: %v", what, err)
	default:
		w.t.Fatal(err)
	}
}
