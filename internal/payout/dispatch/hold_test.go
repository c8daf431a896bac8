package dispatch_test

import (
	"testing"

	"bursar/api"
	"bursar/internal/db/dbtest"
	"bursar/internal/payout"
	"bursar/internal/rail"
)

// The rail answers for one payout of a batch later than for the other, so that it is held later.
func TestAnApprovalReleasesAllOfABatchThatIsHeld(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		o := openOffice(openBank(t, store))
		b, err := o.batch("usr_a", 0, true, amount, amount)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := o.Claim(t.Context()); n != 2 || err != nil {
			t.Fatal(n, err)
		}
		o.limit()
		var waits []string
		for _, r := range b.Results {
			o.tell(payout.EndToEndID(r.ID, 1), rail.Outcome{State: rail.NotReceived, Submission: 1})
			if n, err := o.Claim(t.Context()); n != 0 || err != nil {
				t.Fatal(n, err)
			}
			o.is(r.ID, "pending recheck")
			waits = append(waits, o.payout(r.ID).RecheckID)
		}
		if n := o.count(`SELECT count(*) FROM approval WHERE kind = 'payout_recheck' AND state = 'pending'`); n != 1 {
			t.Errorf("%d approvals wait", n)
		}
		if err := o.approveIt("usr_b", waits[0]); codeOf(err) != api.CodeApprovalDecided {
			t.Errorf("the earlier approval: %v", err)
		}
		if err := o.approveIt("usr_b", waits[1]); err != nil {
			t.Fatal(err)
		}
		for _, r := range b.Results {
			o.is(r.ID, "pending")
		}
	})
}
