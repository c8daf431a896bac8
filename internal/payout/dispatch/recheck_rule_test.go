package dispatch_test

import (
	"testing"
	"time"

	"bursar/api"
	"bursar/internal/db/dbtest"
	"bursar/internal/payout/control"
)

// The rule has been in force for an hour when the payout is approved, with the approvals that were demanded when it was requested.
func TestARuleMadeStricterBeforeTheApprovalHoldsThePayout(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		o := openOffice(openBank(t, store))
		id := o.pay("usr_a", 1) // takes one approval
		o.clock.advance(time.Hour)
		_, err := o.serve().CreateRule(t.Context(), o.caller("usr_c"), control.RuleInput{ApprovalRuleCreate: api.ApprovalRuleCreate{
			WorkspaceID: new("ws_1"), Approvals: new(int64(2)), AboveCents: new(int64(1))}})
		if err != nil {
			t.Fatal(err)
		}
		o.clock.advance(time.Hour)
		if err := o.approve("usr_b", id); err != nil {
			t.Fatal(err)
		}
		o.dispatch(o.serve())
		if n, err := o.Claim(t.Context()); n != 0 || err != nil {
			t.Errorf("%d sent with one approval: %v", n, err)
		}
		o.is(id, "pending recheck")
	})
}
