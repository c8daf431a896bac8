package workspace_test

import (
	"slices"
	"testing"
	"time"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/server/servertest"
)

// The only approver, beside someone who requests, makes another approver in each way that there is.
func TestAnApproverAddedByTheOnlyApproverCountsWhenTheRequirementWouldEnd(t *testing.T) {
	clerk := []string{"ws.read", "ws.payouts.read", "ws.payouts.create"}
	for name, add := range map[string]func(t *testing.T, x *servertest.Tenant) *servertest.Client{
		"by a role": func(_ *testing.T, x *servertest.Tenant) *servertest.Client {
			user := x.Member("viewer")
			x.Owner.Post(x.Path("/roles"), body{"user_id": user.UserID, "role": "disbursement_authorizer"}).OK()
			return user
		},
		"by an invitation": func(t *testing.T, x *servertest.Tenant) *servertest.Client {
			email := servertest.NewEmail()
			user := x.Node.User(t, email)
			id := x.Owner.Post(x.Path("/members"), body{"email": email, "role": "admin"}).OK().Text("user_id")
			x.Node.Clock.Advance(time.Second)
			user.Join(id)
			return user
		},
		"by more permissions for a role": func(_ *testing.T, x *servertest.Tenant) *servertest.Client {
			user := x.Member("clerk")
			x.Define("clerk", append(clerk, "ws.payouts.approve")...)
			return user
		},
		"by more permissions for a role of an invitation": func(t *testing.T, x *servertest.Tenant) *servertest.Client {
			email := servertest.NewEmail()
			user := x.Node.User(t, email)
			id := x.Owner.Post(x.Path("/members"), body{"email": email, "role": "clerk"}).OK().Text("user_id")
			x.Define("clerk", append(clerk, "ws.payouts.approve")...)
			user.Join(id)
			return user
		},
	} {
		t.Run(name, func(t *testing.T) {
			servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
				x := n.Tenant(t)
				x.Define("clerk", clerk...)
				maker := x.Member("disbursement_manager")
				before := n.DB.Now()
				added := add(t, x)
				p := secondPerson(t, x, access.Payouts)
				if from, want := p.CountsFrom(added.UserID), n.DB.Now()+(72*time.Hour).Milliseconds(); from < before+(72*time.Hour).Milliseconds() || from > want {
					t.Errorf("they count from %d, want %d", from, want)
				}
				if p.Vacant() || p.MakerCountsFrom(maker.UserID) > n.DB.Now() {
					t.Error("what the others request can no longer be approved")
				}
			})
		})
	}
}

func TestWhoTheOnlyApproverAddsIsDelayedOnceMore(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		x.Member("disbursement_manager")
		extend := func() api.SecondPersonExtended {
			t.Helper()
			return servertest.Decoded[api.SecondPersonExtended](x.Owner.Post(x.Path("/second-person/extend"), nil))
		}
		if got := extend(); got.Extended || got.DemandedUntil != 0 {
			t.Errorf("with nobody added there is %+v to extend", got)
		}
		email := servertest.NewEmail()
		added := n.User(t, email)
		id := x.Owner.Post(x.Path("/members"), body{"email": email, "role": "admin"}).OK().Text("user_id")
		want := n.DB.Now() + (144 * time.Hour).Milliseconds()
		if got := extend(); !got.Extended || got.DemandedUntil > want || got.DemandedUntil < want-time.Minute.Milliseconds() {
			t.Errorf("before they accept: %+v, want %d", got, want)
		}
		added.Join(id)
		if got := extend(); got.Extended {
			t.Errorf("extended again: %+v", got)
		}
		if from := secondPerson(t, x, access.Payouts).CountsFrom(added.UserID); from > want || from < want-time.Minute.Milliseconds() {
			t.Errorf("they count from %d, want %d", from, want)
		}
		n.Clock.Advance(145 * time.Hour)
		if !secondPerson(t, x, access.Payouts).Counts(added.UserID, "", 0) {
			t.Error("they never count")
		}
	})
}

// A role that a rule names counts as late for anyone who has it from the only approver.
func TestTheOnlyApproverGivesNoRoleThatARuleNamesForNow(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		x.Define("cfo", "ws.read", "ws.payouts.read", "ws.payouts.approve")
		x.Member("disbursement_manager")
		x.Owner.Post(x.Path("/roles"), body{"user_id": x.Owner.UserID, "role": "cfo"}).OK()
		now := n.DB.Now()
		if from := secondPerson(t, x, access.Payouts).RoleCountsFrom(x.Owner.UserID, "cfo", now); from < now+(71*time.Hour).Milliseconds() {
			t.Errorf("the role counts from %d", from)
		}
	})
}

// Anyone who the only approver has added asks for another one, and the only approver agrees: that is one person. Two who count are two,
// in what both of them approve.
func TestAGrantCountsAfterTheWaitOnlyIfBothWhoAgreeCount(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		x.Member("member")
		x.Define("clerk", "ws.read", "ws.payouts.read", "ws.payouts.create", "ws.directory.read", "ws.receiving.read", "ws.receiving.write")
		x.Member("clerk")
		x.Define("people", "ws.read", "ws.payouts.read", "ws.payouts.approve", "ws.members.read", "ws.members.write", "ws.roles.write")
		x.Define("approve", "ws.read", "ws.payouts.read", "ws.payouts.approve")
		x.Define("both", "ws.read", "ws.payouts.read", "ws.payouts.approve", "ws.receiving.approve")
		email := servertest.NewEmail()
		puppet, viewer := n.User(t, email), x.Member("viewer")
		puppet.Join(x.Owner.Post(x.Path("/members"), body{"email": email, "role": "people"}).OK().Text("user_id"))
		granted := func(by, approver *servertest.Client, role string, wait time.Duration, pairs ...access.Pair) {
			t.Helper()
			n.Person(t, approver).Approve(waits(by.Post(x.Path("/roles"), body{"user_id": viewer.UserID, "role": role}))).OK()
			for _, pair := range pairs {
				in := time.Duration(secondPerson(t, x, pair).CountsFrom(viewer.UserID)-n.DB.Now()) * time.Millisecond
				if in.Round(time.Hour) != wait {
					t.Errorf("%s counts for %+v in %s, want %s", role, pair, in, wait)
				}
			}
			x.Owner.Delete(x.Path("/roles/" + viewer.UserID + "/" + role)).OK()
		}
		granted(puppet, x.Owner, "approve", 72*time.Hour, access.Payouts)
		n.Clock.Advance(73 * time.Hour)
		x.Owner, puppet = x.Owner.Again(t), puppet.Again(t)
		granted(x.Owner, puppet, "approve", day, access.Payouts)
		granted(x.Owner, puppet, "both", 72*time.Hour, access.Receiving)
	})
}

// Two who count for receiving methods agree to a role that also approves payouts, for which only one of them counts.
func TestAGrantCountsAfterTheWaitOnlyInThePairsInWhichBothCount(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		x.Define("checker", "ws.read", "ws.receiving.read", "ws.receiving.approve")
		x.Define("both", "ws.read", "ws.payouts.read", "ws.payouts.approve", "ws.receiving.approve")
		x.Member("disbursement_manager")
		checker, viewer, email := x.Member("checker"), x.Member("viewer"), servertest.NewEmail()
		invited := n.User(t, email)
		n.Person(t, checker).Approve(waits(x.Owner.Post(x.Path("/roles"), body{"user_id": viewer.UserID, "role": "both"}))).OK()
		n.Person(t, checker).Approve(waits(x.Owner.Post(x.Path("/members"), body{"email": email, "role": "both"}))).OK()
		members := servertest.Decoded[[]api.Member](x.Owner.Get(x.Path("/members")))
		at := slices.IndexFunc(members, func(m api.Member) bool { return m.Email == email })
		countIn := func(who *servertest.Client, pair access.Pair, want time.Duration) {
			t.Helper()
			in := time.Duration(secondPerson(t, x, pair).CountsFrom(who.UserID)-n.DB.Now()) * time.Millisecond
			if in.Round(time.Hour) != want {
				t.Errorf("they count for %+v in %s, want %s", pair, in, want)
			}
		}
		countIn(viewer, access.Receiving, day)
		countIn(viewer, access.Payouts, 3*day)
		n.Clock.Advance(day)
		invited.Again(t).Join(members[at].ID)
		countIn(invited, access.Payouts, 3*day) // as of one whom one person invites
	})
}
