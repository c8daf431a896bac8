package workspace_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/db"
	"bursar/internal/server/servertest"
	"bursar/internal/workspace"
)

const day = 24 * time.Hour

// waits is the approval that an answer names.
func waits(a *servertest.Answer) string {
	return a.Fails(403, "SECOND_PERSON_REQUIRED").Detail("approval_id")
}

func has(t *testing.T, x *servertest.Tenant, userID, role string) bool {
	t.Helper()
	return x.Node.Count(t, `SELECT count(*) FROM member_role WHERE workspace_id = $1 AND account_id = $2 AND role = $3`, x.WorkspaceID, userID, role) == 1
}

func secondPerson(t *testing.T, x *servertest.Tenant, pair access.Pair) (p access.SecondPerson) {
	t.Helper()
	if err := x.Node.DB.Read(t.Context(), func(q db.Q) (err error) {
		p, err = access.FindSecondPerson(q, pair, x.WorkspaceID, x.Node.DB.Now())
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestAGrantOfApproveTakesASecondPerson(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, maker, second := n.Pair(t)
		viewer := x.Member("viewer")
		x.Define("clerk", "ws.read")
		clerk := x.Member("clerk")
		widened := body{"name": "Clerk", "permissions": []string{"ws.read", "ws.payouts.read", "ws.payouts.approve"}}
		email := servertest.NewEmail()

		assigned := waits(maker.Post(x.Path("/roles"), body{"user_id": viewer.UserID, "role": "disbursement_authorizer"}))
		defined := waits(maker.Put(x.Path("/roles/clerk"), widened))
		invited := waits(maker.Post(x.Path("/members"), body{"email": email, "role": "admin"}))
		again := waits(maker.Post(x.Path("/members"), body{"email": strings.ToUpper(email), "role": "admin"}))
		if again != invited {
			t.Errorf("the same invitation waits twice: %s and %s", invited, again)
		}
		if has(t, x, viewer.UserID, "disbursement_authorizer") || n.Count(t, `SELECT count(*) FROM account WHERE email = $1`, email) != 0 {
			t.Error("a grant that waits has happened")
		}
		for _, id := range []string{assigned, defined, invited} {
			n.Person(t, maker).Approve(id).Fails(403, "FORBIDDEN")
			second.Approve(id).OK()
		}
		if !has(t, x, viewer.UserID, "disbursement_authorizer") {
			t.Error("an approved grant has not happened")
		}
		members := servertest.Decoded[[]api.Member](maker.Get(x.Path("/members")))
		if !slices.ContainsFunc(members, func(m api.Member) bool {
			return m.Email == email && m.Status == "invited" && fmt.Sprint(m.Roles) == "[admin]"
		}) {
			t.Errorf("the members are %+v", members)
		}
		// They count after the usual wait.
		counts := func(c *servertest.Client) bool { return secondPerson(t, x, access.Payouts).Counts(c.UserID, "", 0) }
		if counts(viewer) || counts(clerk) {
			t.Error("a new approver counts at once")
		}
		n.Clock.Advance(day + time.Second)
		if !counts(viewer) || !counts(clerk) {
			t.Error("a new approver does not count after a day")
		}
	})
}

// Roles that approve nothing need no one, nor does the first approver beside the founder.
func TestOtherGrantsTakeOnePerson(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		x.Owner.Post(x.Path("/members"), body{"email": servertest.NewEmail(), "role": "admin"}).OK()
		x.Member("admin")
		for _, role := range []string{"viewer", "member", "auditor", "directory_manager", "disbursement_manager"} {
			x.Owner.Post(x.Path("/members"), body{"email": servertest.NewEmail(), "role": role}).OK()
		}
		x.Define("narrow", "ws.read", "ws.payouts.approve")
		user := x.Member("narrow")
		x.Owner.Put(x.Path("/roles/narrow"), body{"name": "Narrow", "permissions": []string{"ws.read"}}).OK() // losing access is immediate
		x.Owner.Delete(x.Path("/roles/" + user.UserID + "/narrow")).OK()
	})
}

// A request that is repeated with its idempotency key names the same approval.
func TestAGrantThatWaitsIsStoredOnce(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, maker, second := n.Pair(t)
		viewer := x.Member("viewer")
		ask := func() string {
			return waits(maker.Do("POST", x.Path("/roles"), body{"user_id": viewer.UserID, "role": "admin"}, "Idempotency-Key", "grant-once"))
		}
		first := ask()
		second.Post("/v1/approvals/"+first+"/reject", body{"reason": "no"}).OK()
		if again := ask(); again != first {
			t.Errorf("the retry names %s, not %s", again, first)
		}
		if has(t, x, viewer.UserID, "admin") {
			t.Error("a rejected grant has happened")
		}
	})
}

// A person has other ids before they are invited, while they are, and as a member.
func TestAGrantToAnInvitedPersonWaitsOnce(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		t.Run("requested before the invitation", func(t *testing.T) {
			x, maker, second := n.Pair(t)
			guest := n.User(t, servertest.NewEmail())
			byAddress := waits(maker.Post(x.Path("/members"), body{"email": guest.Email(), "role": "admin"}))
			invitation := x.Add(guest.Email(), "viewer")
			for _, again := range []*servertest.Answer{
				maker.Post(x.Path("/members"), body{"email": guest.Email(), "role": "admin"}),
				maker.Post(x.Path("/roles"), body{"user_id": invitation, "role": "admin"}),
				second.Post(x.Path("/roles"), body{"user_id": invitation, "role": "admin"}),
			} {
				if got := waits(again); got != byAddress {
					t.Errorf("the grant that waits as %s waits as %s, too", byAddress, got)
				}
			}
			second.Approve(byAddress).OK()
			guest.Join(invitation)
			if !has(t, x, guest.UserID, "admin") {
				t.Error("the approved grant has not happened")
			}
		})
		t.Run("requested before the invitation is accepted", func(t *testing.T) {
			x, maker, second := n.Pair(t)
			guest := n.User(t, servertest.NewEmail())
			invitation := x.Add(guest.Email(), "viewer")
			invited := waits(maker.Post(x.Path("/roles"), body{"user_id": invitation, "role": "admin"}))
			guest.Join(invitation)
			for _, again := range []*servertest.Answer{
				maker.Post(x.Path("/members"), body{"email": guest.Email(), "role": "admin"}),
				maker.Post(x.Path("/roles"), body{"user_id": guest.UserID, "role": "admin"}),
			} {
				if got := waits(again); got != invited {
					t.Errorf("the grant that waits as %s waits as %s, too", invited, got)
				}
			}
			second.Approve(invited).OK()
			if !has(t, x, guest.UserID, "admin") {
				t.Error("the grant approved after the person joined has not happened")
			}
		})
	})
}

// What was shown to the second person is what they agree to.
func TestAGrantIsForTheRoleThatWasShown(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, maker, second := n.Pair(t)
		viewer := x.Member("viewer")
		x.Define("approver", "ws.read", "ws.payouts.read", "ws.payouts.approve")
		id := waits(maker.Post(x.Path("/roles"), body{"user_id": viewer.UserID, "role": "approver"}))
		x.Define("approver", "ws.read", "ws.payouts.read", "ws.payouts.approve", "ws.members.read", "ws.members.write")
		second.Approve(id).Fails(422, "APPROVAL_CHANGED")
		second.Post("/v1/approvals/"+id+"/reject", body{"reason": "changed"}).OK()

		// Nor does someone who may no longer grant it.
		other := x.Member("admin")
		id = waits(other.Post(x.Path("/roles"), body{"user_id": viewer.UserID, "role": "approver"}))
		maker.Delete(x.Path("/members/" + other.UserID)).OK()
		second.Approve(id).Fails(422, "APPROVAL_CHANGED")
		if has(t, x, viewer.UserID, "approver") {
			t.Error("the role was granted")
		}
	})
}

// An admin who removes the other approvers, or takes their roles, goes on needing a second person for 72 hours, and does not become two
// by a second mailbox meanwhile.
func TestNoOneEndsFourEyesAlone(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, ada, bob := n.Pair(t)
		n.Clock.Advance(2 * day)
		ada = ada.Again(t)
		x.Owner = ada
		ada.Delete(x.Path("/members/" + bob.UserID)).OK()
		end := max(secondPerson(t, x, access.Payouts).DemandEnds(), secondPerson(t, x, access.Receiving).DemandEnds())
		for _, pair := range access.Pairs() {
			if p := secondPerson(t, x, pair); !p.Demanded() || !p.Vacant() || p.DemandEnds() < n.DB.Now()+(72*time.Hour-time.Minute).Milliseconds() {
				t.Errorf("after the removal: demanded %v, vacant %v until %d, want %d", p.Demanded(), p.Vacant(), p.DemandEnds(), end)
			}
		}
		email := servertest.NewEmail()
		puppet := n.User(t, email)
		puppet.Join(ada.Post(x.Path("/members"), body{"email": email, "role": "admin"}).OK().Text("user_id")) // no one is left who could agree
		if from := secondPerson(t, x, access.Payouts).CountsFrom(puppet.UserID); from < end-1000 || from > end {
			t.Errorf("who was appointed alone counts from %d, want %d", from, end)
		}
		// The wait of a new approver alone does not make two of one.
		n.Clock.Advance(2 * day)
		if p := secondPerson(t, x, access.Payouts); p.Counts(puppet.UserID, "", 0) || !p.Demanded() {
			t.Error("who was appointed alone counts before the 72 hours end")
		}
		ada = ada.Again(t)
		x.Owner = ada
		ada.Patch(x.Path("/receiving-policy"), body{"second_person_hours": 1}).OK().Text("approval_id")
		if secondPerson(t, x, access.Payouts).DemandEnds() < end-1000 {
			t.Error("one person has shortened the time")
		}
		// Nor does someone who only requests, so that ada approves it.
		clerkEmail := servertest.NewEmail()
		clerk := n.User(t, clerkEmail)
		clerk.Join(ada.Post(x.Path("/members"), body{"email": clerkEmail, "role": "directory_manager"}).OK().Text("user_id"))
		if p := secondPerson(t, x, access.Receiving); !p.Vacant() {
			t.Error("who was allowed to request alone ends the vacancy")
		}
		asked := clerk.Post("/v1/directory/"+x.Entry("Payee")+"/receiving-methods", servertest.Account("1")).OK().Text("approval_id")
		n.Person(t, ada).Approve(asked).Fails(403, "FORBIDDEN")
		// Leaving and coming back gains nothing.
		ada.Delete(x.Path("/members/" + puppet.UserID)).OK()
		puppet.Again(t).Join(ada.Post(x.Path("/members"), body{"email": email, "role": "admin"}).OK().Text("user_id"))
		if from := secondPerson(t, x, access.Payouts).CountsFrom(puppet.UserID); from < end-1000 {
			t.Errorf("who came back counts from %d", from)
		}
		n.Clock.Advance(day + time.Hour)
		if secondPerson(t, x, access.Payouts).Vacant() {
			t.Error("the time does not end")
		}
	})
}

func TestAnOwnerOrAnApproverExtendsTheRequirementOnce(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		for _, by := range []string{"an owner", "an approver"} {
			t.Run(by, func(t *testing.T) {
				x, ada, bob := n.Pair(t)
				extend := x.Path("/second-person/extend")
				owner := x.Member("viewer")
				ada.Post(x.OrganizationPath("/owners"), body{"user_id": owner.UserID}).OK()
				ada.Delete(x.Path("/members/" + owner.UserID)).OK() // an owner need not be a member
				viewer := x.Member("viewer")
				extender := map[string]*servertest.Client{"an owner": owner, "an approver": ada}[by]
				if got := extender.Post(extend, nil).OK(); got.Object()["extended"] != false {
					t.Errorf("with two people there is nothing to extend: %s", got.Body)
				}
				ada.Delete(x.Path("/members/" + bob.UserID)).OK()
				before := max(secondPerson(t, x, access.Payouts).DemandEnds(), secondPerson(t, x, access.Receiving).DemandEnds())
				viewer.Post(extend, nil).Fails(403, "FORBIDDEN")
				bob.Post(extend, nil).Fails(404, "RESOURCE_NOT_FOUND")
				n.User(t, servertest.NewEmail()).Post(extend, nil).Fails(404, "RESOURCE_NOT_FOUND")
				email := servertest.NewEmail()
				puppet := n.User(t, email)
				puppet.Join(ada.Post(x.Path("/members"), body{"email": email, "role": "admin"}).OK().Text("user_id"))

				done := servertest.Decoded[api.SecondPersonExtended](extender.Post(extend, nil))
				if want := before + access.Extension.Milliseconds(); !done.Extended || done.DemandedUntil != want {
					t.Errorf("extended: %+v, want %d", done, want)
				}
				if from := secondPerson(t, x, access.Payouts).CountsFrom(puppet.UserID); from < done.DemandedUntil-1000 || from > done.DemandedUntil {
					t.Errorf("who was appointed alone counts from %d, want %d", from, done.DemandedUntil)
				}
				for _, again := range []*servertest.Client{owner, ada} {
					if got := servertest.Decoded[api.SecondPersonExtended](again.Post(extend, nil)); got.Extended || got.DemandedUntil != done.DemandedUntil {
						t.Errorf("extended again: %+v", got)
					}
				}
				if row := x.Audit("&action=iam.workspace.second_person_extended&outcome=success"); len(row) != 1 {
					t.Errorf("the log has %v", row)
				}
			})
		}
	})
}

// The demand need not last for 72 hours: it ends as soon as another approver counts, such as one whom the operator has appointed.
func TestAnotherApproverWhoCountsEndsTheVacancy(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, ada, bob := n.Pair(t)
		ada.Delete(x.Path("/members/" + bob.UserID)).OK()
		carol := n.User(t, servertest.NewEmail())
		if _, err := workspace.Appoint(t.Context(), n.DB, db.Caller{}, x.WorkspaceID, carol.Email()); err != nil {
			t.Fatal(err)
		}
		ask := func() string {
			return x.Owner.Post("/v1/directory/"+x.Entry("Payee")+"/receiving-methods", servertest.Account("1")).OK().Text("approval_id")
		}
		early := ask()
		n.Person(t, carol).Approve(early).Fails(403, "FORBIDDEN")
		if !secondPerson(t, x, access.Receiving).Vacant() {
			t.Error("a new approver ends the vacancy at once")
		}
		n.Clock.Advance(day + time.Second)
		x.Owner = ada.Again(t)
		for _, pair := range access.Pairs() {
			if p := secondPerson(t, x, pair); p.Vacant() || !p.Demanded() {
				t.Errorf("after a day: vacant %v, demanded %v", p.Vacant(), p.Demanded())
			}
		}
		n.Person(t, carol.Again(t)).Approve(ask()).OK()
	})
}

// A role that a rule names takes a second person, too, if it approves nothing any more: its holders approve by another one.
func TestAGrantOfARoleThatARuleNamesTakesASecondPerson(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, ada, bob := n.Pair(t)
		x.Define("signatory", "ws.read", "ws.payouts.approve")
		x.Give(bob, "signatory")
		viewer, later := x.Member("viewer"), x.Member("viewer")
		grant := func(c *servertest.Client) *servertest.Answer {
			return ada.Post(x.Path("/roles"), body{"user_id": c.UserID, "role": "signatory"})
		}
		rule := ada.Post("/v2/approval-rules", body{"workspace_id": x.WorkspaceID, "approvals": 1, "role": "signatory"}).Created().Text("id")
		x.Define("signatory", "ws.read")
		id := waits(grant(later))
		invited := waits(ada.Post(x.Path("/members"), body{"email": servertest.NewEmail(), "role": "signatory"}))
		if has(t, x, later.UserID, "signatory") {
			t.Error("a grant that waits has happened")
		}
		bob.Approve(id).OK()
		bob.Approve(invited).OK()
		if !has(t, x, later.UserID, "signatory") {
			t.Error("an approved grant has not happened")
		}
		bob.Approve(ada.Delete("/v2/approval-rules/" + rule).OK().Text("approval_id")).OK()
		grant(viewer).OK() // of a role that no rule names
	})
}

// A rule that names a role is not met by who gives it to themselves.
func TestNoOneGivesThemselvesTheRoleThatARuleNames(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, ada, bob := n.Pair(t)
		x.Define("cfo", "ws.read", "ws.payouts.read", "ws.payouts.approve")
		x.Give(bob, "cfo") // or nobody could satisfy the rule
		x.Owner.Post("/v2/approval-rules", body{"workspace_id": x.WorkspaceID, "approvals": 1, "role": "cfo"}).OK()
		x.Owner.Delete(x.Path("/roles/" + bob.UserID + "/cfo")).OK()
		requested := n.DB.Now()

		id := waits(bob.Post(x.Path("/roles"), body{"user_id": bob.UserID, "role": "cfo"}))
		bob.Approve(id).Fails(403, "FORBIDDEN")
		n.Person(t, ada).Approve(id).OK()
		counts := func() bool { return secondPerson(t, x, access.Payouts).Counts(bob.UserID, "cfo", requested-1) }
		if counts() {
			t.Error("a role that was granted after the request counts at once")
		}
		if !secondPerson(t, x, access.Payouts).Counts(bob.UserID, "cfo", n.DB.Now()) {
			t.Error("a role that was held before the request does not count")
		}
		n.Clock.Advance(day + time.Second)
		if !counts() {
			t.Error("a role that two people granted does not count after a day")
		}
		ada = ada.Again(t)
		x.Owner = ada
		ada.Delete(x.Path("/roles/" + bob.UserID + "/cfo")).OK()
		ada.Delete(x.Path("/roles/cfo")).Fails(422, "ROLE_IN_USE")

		// Alone, it counts for nothing that was requested before, and for the rest when the time ends.
		ada.Delete(x.Path("/members/" + bob.UserID)).OK()
		ada.Post(x.Path("/roles"), body{"user_id": ada.UserID, "role": "cfo"}).OK()
		p := secondPerson(t, x, access.Payouts)
		if from := p.RoleCountsFrom(ada.UserID, "cfo", n.DB.Now()); from < p.DemandEnds() {
			t.Errorf("a role that was granted alone counts from %d, want %d", from, p.DemandEnds())
		}
		n.Clock.Advance(30 * day)
		if p = secondPerson(t, x, access.Payouts); p.RoleCountsFrom(ada.UserID, "cfo", requested-1) <= n.DB.Now() {
			t.Error("a role that one person took counts for what was requested before")
		}
	})
}

func TestRemovingTheLastApproverReportsWhatWaits(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, ada, bob := n.Pair(t)
		carol := x.Member("disbursement_authorizer")
		for range 2 {
			ada.Post("/v1/directory/"+x.Entry("Payee")+"/receiving-methods", servertest.Account("1")).OK()
		}
		if got := ada.Delete(x.Path("/roles/" + carol.UserID + "/disbursement_authorizer")).OK(); strings.Contains(string(got.Body), "approvals_waiting") {
			t.Errorf("another approver is left: %s", got.Body)
		}
		if got := servertest.Decoded[api.MemberRemoved](ada.Delete(x.Path("/members/" + bob.UserID))); got.ApprovalsWaiting != 2 {
			t.Errorf("%d approvals wait for no one, want 2", got.ApprovalsWaiting)
		}
	})
}

// A grant that a stolen key asked for ends with the key.
func TestAGrantThatARevokedKeyAskedForIsNotApproved(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, _, second := n.Pair(t)
		key, thief := stolenKey(t, n, x.Owner)
		id := waits(thief.Post(x.Path("/members"), body{"email": servertest.NewEmail(), "role": "admin"}))
		x.Owner.Delete("/v1/api-keys/" + key).OK()
		second.Approve(id).Fails(422, "APPROVAL_CHANGED")
	})
}

// Nor is one approved whose maker may no longer sign in.
func TestAGrantOfADisabledMakerIsNotApproved(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		maker, second := x.Member("admin"), n.Person(t, x.Owner)
		id := waits(maker.Post(x.Path("/members"), body{"email": servertest.NewEmail(), "role": "admin"}))
		disable(t, n, maker.Email())
		second.Approve(id).Fails(422, "APPROVAL_CHANGED")
	})
}

// Nor does someone end a vacancy by whose role is widened.
func TestAWidenedRoleEndsNoVacancy(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, ada, bob := n.Pair(t)
		x.Define("harmless", "ws.read", "ws.payouts.read", "ws.directory.read", "ws.receiving.read")
		x.Member("harmless")
		ada.Delete(x.Path("/members/" + bob.UserID)).OK()
		x.Define("harmless", "ws.read", "ws.payouts.read", "ws.directory.read", "ws.receiving.read", "ws.payouts.create", "ws.receiving.write")
		for _, pair := range access.Pairs() {
			if p := secondPerson(t, x, pair); !p.Vacant() {
				t.Errorf("%+v is not vacant any more", pair)
			}
		}
	})
}

// More permissions for a role are approved for those who had the role when they were requested.
func TestMorePermissionsForARoleAreForTheMembersWhoWereShown(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, maker, second := n.Pair(t)
		x.Define("clerk", "ws.read")
		first, email := x.Member("clerk"), servertest.NewEmail()
		widen := func() string {
			return waits(maker.Put(x.Path("/roles/clerk"), body{"name": "Clerk", "permissions": []string{"ws.read", "ws.payouts.read", "ws.payouts.approve"}}))
		}
		id := widen()
		if shown := second.Get("/v1/approvals/" + id).OK(); !strings.Contains(string(shown.Body), first.Email()) {
			t.Errorf("the approver does not see who has the role: %s", shown.Body)
		}
		maker.Post(x.Path("/members"), body{"email": email, "role": "clerk"}).OK()
		second.Approve(id).Fails(422, "APPROVAL_CHANGED")
		id = widen()
		if shown := second.Get("/v1/approvals/" + id).OK(); !strings.Contains(string(shown.Body), email) {
			t.Errorf("the approver does not see who is invited with the role: %s", shown.Body)
		}
		maker.Delete(x.Path("/members/" + first.UserID)).OK()
		second.Approve(id).OK()
	})
}

// An approver may be left, and still too few.
func TestRemovingAnApproverReportsWhatWaitsForMoreOrForARoleOrForBothPairs(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		pay := func(x *servertest.Tenant) {
			x.Owner.Post("/v2/payout-requests", body{"source_account_id": x.Account(1_000), "amount_cents": 100, "currency": "PHP",
				"settlement_account": body{"bank_account_name": "Ada", "bank_account_number": "1234567890", "bank_code": "BOPIPHMMXXX"}}).Created()
		}
		for name, c := range map[string]struct {
			ask    func(x *servertest.Tenant, carol *servertest.Client)
			remove string // "" is the member
		}{
			"two approvals": {func(x *servertest.Tenant, _ *servertest.Client) {
				x.Owner.Post("/v2/approval-rules", body{"workspace_id": x.WorkspaceID, "approvals": 2}).Created()
				pay(x)
			}, ""},
			"a role": {func(x *servertest.Tenant, carol *servertest.Client) {
				x.Define("cfo", "ws.read", "ws.payouts.read", "ws.payouts.approve")
				x.Give(carol, "cfo")
				x.Owner.Post("/v2/approval-rules", body{"workspace_id": x.WorkspaceID, "approvals": 1, "role": "cfo"}).Created()
				pay(x)
			}, "cfo"},
			"both pairs": {func(x *servertest.Tenant, _ *servertest.Client) {
				x.Owner.Patch(x.Path("/receiving-policy"), body{"second_person_hours": 1}).OK()
			}, ""},
		} {
			x := n.Tenant(t)
			x.Define("payer", "ws.read", "ws.payouts.read", "ws.payouts.approve")
			x.Member("payer")
			carol := x.Member("disbursement_authorizer")
			x.EverybodyCounts()
			c.ask(x, carol)
			path := x.Path("/members/" + carol.UserID)
			if c.remove != "" {
				path = x.Path("/roles/" + carol.UserID + "/" + c.remove)
			}
			if got := x.Owner.Delete(path).OK(); !strings.Contains(string(got.Body), `"approvals_waiting":1`) {
				t.Errorf("%s: %s", name, got.Body)
			}
		}
	})
}
