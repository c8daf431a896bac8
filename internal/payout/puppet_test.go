package payout_test

import (
	"testing"
	"time"

	"bursar/internal/server/servertest"
)

// After the second person has left, the approver adds others who request payouts. Until the demand for a second person ends, the approver
// alone would be both. A machine client of the person who left is not the approver's.
func TestAPersonAddedAfterTheSecondPersonLeftCannotApproveForTheOneWhoAddedThem(t *testing.T) {
	type place struct {
		*servertest.Tenant
		account string
		robot   *servertest.Client
	}
	remove := func(p place, who *servertest.Client) { p.Owner.Delete(p.Path("/members/" + who.UserID)).OK() }
	for name, c := range map[string]struct {
		ask  func(t *testing.T, p place) (payout string)
		once bool // the approver may approve it at once
	}{
		"a person": {func(_ *testing.T, p place) string { return p.Member("disbursement_manager").Pay(p.account, 100) }, false},
		"a person who was removed": {func(_ *testing.T, p place) string {
			puppet := p.Member("disbursement_manager")
			id := puppet.Pay(p.account, 100)
			remove(p, puppet)
			return id
		}, false},
		"a machine client": {func(t *testing.T, p place) string {
			return p.Machine(p.Member("viewer"), "disbursement_manager").Pay(p.account, 100)
		}, false},
		"a machine client of a person who was removed": {func(t *testing.T, p place) string {
			puppet := p.Member("viewer")
			robot := p.Tenant.Machine(puppet, "disbursement_manager")
			remove(p, puppet)
			return robot.Pay(p.account, 100)
		}, false},
		"an earlier machine client with a new secret": {func(t *testing.T, p place) string {
			p.Define("robots", "ws.read", "ws.members.read", "ws.directory.read", "ws.receiving.read", "ws.accounts.read", "ws.payouts.read",
				"ws.payouts.create", "ws.keys.read", "ws.keys.write")
			puppet := p.Member("robots")
			given := p.Node.Person(t, puppet).Post(p.Path("/clients/"+p.robot.UserID+"/rotate"), nil).OK().Text("secret")
			remove(p, puppet)
			return p.Node.Holder(t, p.Node.Exchange(t, servertest.Basic(p.robot.UserID, given)).OK().Text("token")).Pay(p.account, 100)
		}, false},
		"an earlier machine client": {func(_ *testing.T, p place) string { return p.robot.Pay(p.account, 100) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
				x := n.Tenant(t)
				former := x.Member("admin")
				p := place{x, x.Account(1_000), nil}
				n.Clock.Advance(48 * time.Hour)
				x.Owner, former = x.Owner.Again(t), former.Again(t)
				p.robot = x.Machine(former, "disbursement_manager")
				remove(p, former)
				n.Clock.Advance(time.Minute)
				waits := x.Owner.Get(payouts + "/" + c.ask(t, p)).OK().Text("approval_id")
				if c.once {
					n.Person(t, x.Owner).Approve(waits).OK()
					return
				}
				n.Person(t, x.Owner).Approve(waits).Fails(403, "FORBIDDEN")
				n.Clock.Advance(73 * time.Hour)
				n.Person(t, x.Owner.Again(t)).Approve(waits).OK()
			})
		})
	}
}
