package approval_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"bursar/api"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/server/servertest"
)

type body = servertest.Body

const day = 24 * time.Hour

// paid lists what clients of the specification pay: the numbers of an entry, the default with a star.
func paid(c *servertest.Client, entry string) string {
	var data struct {
		Methods []api.ReceivingMethod `json:"receiving_methods"`
	}
	c.Get("/v1/directory/" + entry).OK().Data(&data)
	var names []string
	for _, m := range data.Methods {
		if m.IsDefault {
			m.AccountID += "*"
		}
		names = append(names, m.AccountID)
	}
	return strings.Join(names, " ")
}

// all lists every method of an entry as "number status".
func all(c *servertest.Client, entry string) string {
	var names []string
	for _, m := range servertest.Decoded[[]api.ReceivingMethod](c.Get(methods(entry))) {
		names = append(names, m.AccountID+" "+m.Status)
	}
	return strings.Join(names, ", ")
}

func methods(entry string) string { return "/v1/directory/" + entry + "/receiving-methods" }

func expect(t testing.TB, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}

// add adds a method and returns its id and the approval that it waits for.
func add(c *servertest.Client, entry, number string, more ...body) (id, approval string) {
	c.T().Helper()
	made := c.Post(methods(entry), servertest.Account(number, more...)).OK()
	return made.Text("id"), made.Text("approval_id")
}

// again signs in again, since a test that lets days pass outlasts every session.
func again(t testing.TB, users ...*servertest.Client) {
	t.Helper()
	for _, c := range users {
		c.Token = c.Again(t).Token
	}
}

func emailOf(t testing.TB, n *servertest.Node, id string) (email string) {
	t.Helper()
	err := n.DB.Read(t.Context(), func(q db.Q) error {
		_, err := q.Row(`SELECT email FROM account WHERE id = $1`, id).Scan(&email)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return email
}

func TestANewAccountIsPaidAfterASecondPersonAndADay(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, maker, second := n.Pair(t)
		entry := x.Entry("Ada")
		made := maker.Post(methods(entry), servertest.Account("111122223333", body{"is_default": true})).OK()
		id, approval := made.Text("id"), made.Text("approval_id")
		if made.Text("status") != "pending" || made.Object()["is_default"] != false {
			t.Errorf("the new method is %s", made.Body)
		}
		expect(t, "what is paid before", paid(maker, entry), "")
		expect(t, "all methods", all(maker, entry), "111122223333 pending")

		list := second.Get("/v1/approvals?state=pending&workspace_id=" + x.WorkspaceID).OK()
		if rows := list.List(); len(rows) != 1 || rows[0]["id"] != approval || rows[0]["can_approve"] != true || strings.Contains(string(list.Body), "111122223333") {
			t.Errorf("the list is %s", list.Body)
		}
		shown := servertest.Decoded[api.Approval](second.Get("/v1/approvals/" + approval))
		if shown.RequestedBy.ID != maker.UserID || shown.RequestedBy.IP == "" || shown.RequestedBy.KeyID == "" || shown.SubjectID != id || shown.EntryID != entry {
			t.Errorf("the approval is %+v", shown)
		}
		if !slices.Contains(shown.Fields, api.ApprovalField{Field: "account_id", After: "111122223333"}) {
			t.Errorf("the fields are %+v", shown.Fields)
		}
		done := second.Approve(approval).OK()
		if done.Text("state") != "approved" || done.Text("verification") != "Called the payee." {
			t.Errorf("approved: %s", done.Body)
		}
		expect(t, "what is paid while it cools", paid(maker, entry), "")
		n.Clock.Advance(day - time.Minute)
		again(t, maker)
		expect(t, "what is paid a minute before", paid(maker, entry), "")
		n.Clock.Advance(time.Minute + time.Second)
		expect(t, "what is paid after a day", paid(maker, entry), "111122223333*")
		if err := n.Server.Tidy(t.Context()); err != nil {
			t.Fatal(err)
		}
		got := n.Audited(t, id)
		if want := []string{"directory.receiving_method.added", "directory.receiving_method.approved", "directory.receiving_method.activated"}; !slices.Equal(got, want) {
			t.Errorf("the log tells %v", got)
		}
	})
}

func TestTheOldAccountIsPaidUntilItsSuccessorIs(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		entry := x.Entry("Ada")
		old, _ := add(x.Owner, entry, "old")
		other, _ := add(x.Owner, entry, "other")
		second := n.Person(t, x.Member("admin")) // from now on it takes two
		made := x.Owner.Patch(methods(entry)+"/"+old, body{"account_id": "new"}).OK()
		if made.Text("id") == old || made.Text("replaces") != old || made.Text("status") != "pending" {
			t.Errorf("the successor is %s", made.Body)
		}
		expect(t, "before the approval", paid(x.Owner, entry), "old* other")
		shown := servertest.Decoded[api.Approval](second.Get("/v1/approvals/" + made.Text("approval_id")))
		if !slices.Contains(shown.Fields, api.ApprovalField{Field: "account_id", Before: "old", After: "new"}) {
			t.Errorf("the fields are %+v", shown.Fields)
		}
		second.Approve(made.Text("approval_id")).OK()
		expect(t, "while it cools", paid(x.Owner, entry), "old* other")
		n.Clock.Advance(day + time.Second)
		again(t, x.Owner)
		expect(t, "when it has cooled", paid(x.Owner, entry), "new* other")
		expect(t, "all methods", all(x.Owner, entry), "old retired, new active, other active")
		// Removing the successor brings the old one back for no one.
		x.Owner.Delete(methods(entry) + "/" + made.Text("id")).OK()
		expect(t, "after the removal", paid(x.Owner, entry), "other")
		_ = other
	})
}

// Everything that could make a method payable, or the default, by one person.
func TestEveryWayToAPayableMethodTakesTwo(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		for name, act := range map[string]func(x *servertest.Tenant, entry, first, second string) (want string){
			"adding": func(x *servertest.Tenant, entry, _, _ string) string { add(x.Owner, entry, "new"); return "a* b" },
			"adding as the default": func(x *servertest.Tenant, entry, _, _ string) string {
				add(x.Owner, entry, "new", body{"is_default": true})
				return "a* b"
			},
			"changing": func(x *servertest.Tenant, entry, first, _ string) string {
				x.Owner.Patch(methods(entry)+"/"+first, body{"account_id": "new"}).OK()
				return "a* b"
			},
			"changing the institution": func(x *servertest.Tenant, entry, first, _ string) string {
				x.Owner.Patch(methods(entry)+"/"+first, body{"institution_code": "GXCHPHM2XXX"}).OK()
				return "a* b"
			},
			"making the default": func(x *servertest.Tenant, entry, _, second string) string {
				x.Owner.Patch(methods(entry)+"/"+second, body{"is_default": true}).OK()
				return "a* b"
			},
			"removing the default": func(x *servertest.Tenant, entry, first, _ string) string {
				x.Owner.Delete(methods(entry) + "/" + first).OK()
				return "b"
			},
			"deleting and restoring": func(x *servertest.Tenant, entry, _, _ string) string {
				x.Owner.Delete("/v1/directory/" + entry).OK()
				x.Owner.Post("/v1/directory/"+entry+"/restore", nil).OK()
				return ""
			},
			"retiring, then restoring": func(x *servertest.Tenant, entry, first, _ string) string {
				made := x.Owner.Patch(methods(entry)+"/"+first, body{"account_id": "new"}).OK().Text("id")
				x.Owner.Delete("/v1/directory/" + entry).OK()
				x.Owner.Post("/v1/directory/"+entry+"/restore", nil).OK()
				x.Owner.Patch(methods(entry)+"/"+made, body{"is_default": true})
				return ""
			},
			"editing what waits": func(x *servertest.Tenant, entry, first, _ string) string {
				made := x.Owner.Patch(methods(entry)+"/"+first, body{"account_id": "new"}).OK().Text("id")
				x.Owner.Patch(methods(entry)+"/"+made, body{"account_id": "newer", "is_default": true}).OK()
				return "a* b"
			},
		} {
			t.Run(name, func(t *testing.T) {
				x := n.Tenant(t)
				entry := x.Entry("Ada")
				first, _ := add(x.Owner, entry, "a")
				second, _ := add(x.Owner, entry, "b")
				x.Member("disbursement_authorizer")
				want := act(x, entry, first, second)
				expect(t, "what is paid", paid(x.Owner, entry), want)
				n.Clock.Advance(time.Hour / 2)
				expect(t, "what is paid later", paid(x.Owner, entry), want)
			})
		}
	})
}

func TestAWorkspaceOfOnePersonNeedsNoApprovalAndStatesTheReason(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		x.Member("viewer") // who could neither ask nor approve
		entry := x.Entry("Ada")
		id, approval := add(x.Owner, entry, "111122223333")
		if approval != "" {
			t.Errorf("it waits for %s", approval)
		}
		expect(t, "what is paid", paid(x.Owner, entry), "111122223333*")
		row := x.Audit("&resource_id=" + id)[0]
		if !strings.Contains(fmt.Sprint(row["changes"]), "one_person") {
			t.Errorf("the log does not say that one person sufficed: %v", row)
		}
		policy := x.Owner.Get(x.Path("/receiving-policy")).OK()
		if policy.Number("persons") != 1 || policy.Number("cooling_hours") != 0 {
			t.Errorf("the policy is %s", policy.Body)
		}
	})
}

// No one who has a part in a request approves it.
func TestNoOneApprovesWhatTheyTakePartIn(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		owner, colleague := x.Owner, x.Member("admin")
		entry := x.Entry("Ada")
		third := n.Person(t, x.Member("admin"))
		x.EverybodyCounts()
		clientOf := func(maker string) *servertest.Client {
			by := db.Caller{}
			by.ID = maker
			id, secret, err := n.Identity.CreateClient(t.Context(), by, x.WorkspaceID, "Robot", "directory_manager")
			if err != nil {
				t.Fatal(err)
			}
			return n.Holder(t, n.Exchange(t, servertest.Basic(id, secret)).OK().Text("token"))
		}
		rotated := func(maker string) *servertest.Client { // made by one, rotated by another
			by := db.Caller{}
			by.ID = maker
			id, _, err := n.Identity.CreateClient(t.Context(), by, x.WorkspaceID, "Robot", "directory_manager")
			if err != nil {
				t.Fatal(err)
			}
			secret := owner.Post(x.Path("/clients/"+id+"/rotate"), nil).OK().Text("secret")
			return n.Holder(t, n.Exchange(t, servertest.Basic(id, secret)).OK().Text("token"))
		}
		person := func(c *servertest.Client) *servertest.Client { return n.Person(t, c) }
		for name, c := range map[string]struct {
			maker, approver *servertest.Client
			allowed         bool
		}{
			"the maker's own key":                         {owner, owner, false},
			"the maker as a person":                       {person(owner), person(owner), false},
			"the maker, with a key before":                {owner, person(owner), false},
			"the maker at a device":                       {n.DeviceSession(t, owner), person(owner), false},
			"who made the client":                         {clientOf(owner.UserID), person(owner), false},
			"who made the client and not its secret":      {rotated(colleague.UserID), person(colleague), false},
			"who saw the secret and did not make it":      {rotated(colleague.UserID), person(owner), false},
			"somebody else for a client":                  {rotated(colleague.UserID), third, true},
			"a colleague's key":                           {owner, colleague, false},
			"a colleague at a device that a key approved": {owner, n.DeviceSession(t, colleague), false},
			"a machine client":                            {owner, clientOf(colleague.UserID), false},
			"a colleague":                                 {owner, person(colleague), true},
			"the owner for a colleague":                   {colleague, person(owner), true},
		} {
			t.Run(name, func(t *testing.T) {
				_, id := add(c.maker.On(t), entry, "1")
				digest := third.Get("/v1/approvals/" + id).OK().Text("digest")
				got := c.approver.On(t).Post("/v1/approvals/"+id+"/approve", body{"digest": digest, "verification": "called"})
				if c.allowed {
					got.OK()
				} else {
					got.Fails(403, "FORBIDDEN")
				}
				owner.Delete(methods(entry) + "/" + servertest.Decoded[api.Approval](third.Get("/v1/approvals/"+id)).SubjectID)
			})
		}
	})
}

func TestAnApproverSignedInAMomentAgo(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, maker, second := n.Pair(t)
		_, id := add(maker, x.Entry("Ada"), "1")
		digest := maker.Get("/v1/approvals/" + id).OK().Text("digest")
		n.Clock.Advance(16 * time.Minute)
		second.Post("/v1/approvals/"+id+"/approve", body{"digest": digest, "verification": "called"}).Fails(403, "RECENT_LOGIN_REQUIRED")
		// A code that is picked up late signs no one in later: what counts is when they approved it.
		code := n.NewDeviceCode(t, nil)
		n.ApproveAtBrowser(t, second, code)
		n.Clock.Advance(9 * time.Minute)
		late := n.Holder(t, n.PollDevice(t, code).OK().Text("token"))
		n.Clock.Advance(7 * time.Minute)
		late.Post("/v1/approvals/"+id+"/approve", body{"digest": digest, "verification": "called"}).Fails(403, "RECENT_LOGIN_REQUIRED")
		n.Person(t, second).Approve(id).OK()
	})
}

func TestAnApprovalIsForWhatWasShown(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, maker, second := n.Pair(t)
		entry := x.Entry("Ada")
		method, first := add(maker, entry, "1")
		shown := second.Get("/v1/approvals/" + first).OK().Text("digest")
		second.Post("/v1/approvals/"+first+"/approve", body{"digest": strings.Repeat("0", 64), "verification": "called"}).Fails(422, "APPROVAL_CHANGED")
		edited := maker.Patch(methods(entry)+"/"+method, body{"account_id": "2"}).OK().Text("approval_id")
		second.Post("/v1/approvals/"+first+"/approve", body{"digest": shown, "verification": "called"}).Fails(422, "APPROVAL_DECIDED")
		second.Post("/v1/approvals/"+edited+"/approve", body{"digest": shown, "verification": "called"}).Fails(422, "APPROVAL_CHANGED")
		if state := second.Get("/v1/approvals/" + first).OK().Text("state"); state != "void" {
			t.Errorf("the first approval is %s", state)
		}
		second.Approve(edited).OK()
		second.Approve(edited).Fails(422, "APPROVAL_DECIDED")
		maker.Post("/v1/approvals/"+edited+"/withdraw", nil).Fails(422, "APPROVAL_DECIDED")
		expect(t, "all methods", all(maker, entry), "1 rejected, 2 active")
		// A request for another default is void when the default has changed.
		b, waiting := add(maker, entry, "b")
		second.Approve(waiting).OK()
		n.Clock.Advance(day + time.Second)
		again(t, maker)
		second = n.Person(t, n.User(t, servertest.NewEmail())) // no one of the workspace
		second.Get("/v1/approvals/"+edited).Fails(404, "RESOURCE_NOT_FOUND")
		maker.Patch(methods(entry)+"/"+b, body{"is_default": true}).OK()
		maker.Delete(methods(entry) + "/" + b).OK()
		if rows := maker.Get("/v1/approvals?state=pending&workspace_id=" + x.WorkspaceID).OK().List(); len(rows) != 0 {
			t.Errorf("there waits %v", rows)
		}
	})
}

func TestRejectedAndWithdrawnAndExpired(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, maker, second := n.Pair(t)
		entry := x.Entry("Ada")
		one, rejected := add(maker, entry, "1")
		two, withdrawn := add(maker, entry, "2")
		three, expired := add(maker, entry, "3")
		second.Post("/v1/approvals/"+rejected+"/reject", body{"reason": "unknown to Ada"}).OK()
		maker.Post("/v1/approvals/"+withdrawn+"/withdraw", nil).OK()
		n.Clock.Advance(30*day + time.Second)
		again(t, maker)
		second = n.Person(t, second.Again(t))
		digest := maker.Get("/v1/approvals/" + expired).OK().Text("digest")
		second.Post("/v1/approvals/"+expired+"/approve", body{"digest": digest, "verification": "called"}).Fails(422, "APPROVAL_DECIDED")
		if err := n.Server.Tidy(t.Context()); err != nil {
			t.Fatal(err)
		}
		for id, state := range map[string]string{rejected: "rejected", withdrawn: "withdrawn", expired: "expired"} {
			expect(t, "the state", maker.Get("/v1/approvals/"+id).OK().Text("state"), state)
		}
		expect(t, "all methods", all(maker, entry), "1 rejected, 2 rejected, 3 rejected")
		for id, action := range map[string]string{one: "rejected", two: "withdrawn", three: "expired"} {
			expect(t, "the log", n.Audited(t, id)[1], "directory.receiving_method."+action)
		}
	})
}

func TestAnApprovalThatCannotBeReadDoesNotKeepOthersFromExpiring(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, maker, _ := n.Pair(t)
		entry := x.Entry("Ada")
		_, damaged := add(maker, entry, "1")
		n.Clock.Advance(time.Second)
		_, other := add(maker, entry, "2")
		damage(t, n, damaged, other)
		n.Clock.Advance(30*day + time.Second)
		again(t, maker)
		if err := n.Server.Tidy(t.Context()); err == nil || !strings.Contains(err.Error(), damaged) {
			t.Errorf("the error does not name the approval: %v", err)
		}
		expect(t, "the state", maker.Get("/v1/approvals/"+other).OK().Text("state"), "expired")
	})
}

// damage gives an approval what another one is for.
func damage(t *testing.T, n *servertest.Node, id, other string) {
	t.Helper()
	_, err := db.Write(t.Context(), n.DB, db.Caller{}, func(tx *db.Tx) (struct{}, audit.Event, error) {
		return struct{}{}, audit.None("a test"), tx.Exec(`UPDATE approval SET payload_sealed = (SELECT o.payload_sealed FROM approval o WHERE o.id = $2) WHERE id = $1`, id, other)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestOneOfApproveWithdrawAndEditWins(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, maker, second := n.Pair(t)
		for round := range 6 {
			entry := x.Entry("Ada")
			method, id := add(maker, entry, "1")
			digest := second.Get("/v1/approvals/" + id).OK().Text("digest")
			answers := servertest.SideBySide(4, func(i int) *servertest.Answer {
				switch (i + round) % 4 {
				case 0:
					return second.Post("/v1/approvals/"+id+"/approve", body{"digest": digest, "verification": "called"})
				case 1:
					return maker.Post("/v1/approvals/"+id+"/withdraw", nil)
				case 2:
					return second.Post("/v1/approvals/"+id+"/reject", body{"reason": "no"})
				}
				return maker.Patch(methods(entry)+"/"+method, body{"account_id": "2"})
			})
			statuses := servertest.Statuses(answers)
			state := maker.Get("/v1/approvals/" + id).OK().Text("state")
			won := 0
			for _, a := range answers {
				if a.Status == 200 && a.Text("state") != "" {
					won++
				}
			}
			if state == "void" && won != 0 || state != "void" && won != 1 || state == "pending" {
				t.Errorf("the approval is %s after %v", state, statuses)
			}
			if list := all(maker, entry); state != "approved" && strings.Contains(list, "1 active") {
				t.Errorf("after %s there is %s", state, list)
			}
		}
	})
}

func TestNoOneBecomesTwoPeopleByInvitingThemselves(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, maker, second := n.Pair(t)
		entry := x.Entry("Ada")
		puppet := n.Person(t, x.Member("admin"))
		_, id := add(maker, entry, "1")
		puppet.Approve(id).Fails(403, "FORBIDDEN")
		// A custom role that gains the permission, and a role that is granted, are as new.
		x.Define("clerk", "ws.read", "ws.directory.read", "ws.receiving.read")
		clerk := x.Member("clerk")
		n.Clock.Advance(30 * time.Minute)
		agreed(n.Person(t, second), maker.Put(x.Path("/roles/clerk"), body{"name": "Clerk", "permissions": []string{"ws.read", "ws.directory.read", "ws.receiving.read", "ws.receiving.approve"}}))
		n.Person(t, clerk).Approve(id).Fails(403, "FORBIDDEN")
		n.Clock.Advance(day - 29*time.Minute)
		again(t, maker)
		n.Person(t, clerk.Again(t)).Approve(id).Fails(403, "FORBIDDEN")
		n.Person(t, puppet.Again(t)).Approve(id).OK()
		_ = second
	})
}

func TestNoOneBecomesASingleApproverByRemovingTheOthers(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		for name, remove := range map[string]func(x *servertest.Tenant, second *servertest.Client){
			"removing": func(x *servertest.Tenant, second *servertest.Client) {
				x.Owner.Delete(x.Path("/members/" + second.UserID)).OK()
			},
			"taking the role": func(x *servertest.Tenant, second *servertest.Client) {
				x.Owner.Post(x.Path("/roles"), body{"user_id": second.UserID, "role": "viewer"}).OK()
				x.Owner.Delete(x.Path("/roles/" + second.UserID + "/admin")).OK()
			},
			"disabling": func(x *servertest.Tenant, second *servertest.Client) {
				if _, err := n.Identity.DisableUser(t.Context(), db.Caller{}, emailOf(t, n, second.UserID)); err != nil {
					t.Fatal(err)
				}
			},
		} {
			t.Run(name, func(t *testing.T) {
				x, maker, second := n.Pair(t)
				entry := x.Entry("Ada")
				n.Clock.Advance(12 * time.Hour) // so that it counts from the removal
				again(t, maker)
				remove(x, second)
				n.Clock.Advance(71 * time.Hour)
				again(t, maker)
				if _, id := add(maker, entry, "1"); id == "" {
					t.Error("one person suffices a moment after the removal")
				}
				maker.Patch(x.Path("/receiving-policy"), body{"receiving_approval": "one_person"}).OK()
				if _, id := add(maker, entry, "2"); id == "" {
					t.Error("the policy was loosened by one person")
				}
				n.Clock.Advance(2 * time.Hour)
				again(t, maker)
				if _, id := add(maker, entry, "3"); id != "" {
					t.Error("who is alone for longer than 72 hours still needs a second person")
				}
			})
		}
	})
}

func TestALooserPolicyTakesTheSecondPerson(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, maker, second := n.Pair(t)
		path := x.Path("/receiving-policy")
		policy := func() string {
			p := servertest.Decoded[api.ReceivingPolicy](maker.Get(path))
			return fmt.Sprint(p.ReceivingApproval, " ", p.Persons, " ", p.CoolingHours)
		}
		expect(t, "at first", policy(), "automatic 2 24")
		maker.Patch(path, body{"receiving_approval": "two_persons", "receiving_cooling_hours": 48}).OK()
		expect(t, "tightened at once", policy(), "two_persons 2 48")
		for _, looser := range []body{{"receiving_approval": "one_person"}, {"receiving_approval": "automatic"}, {"receiving_cooling_hours": 0}} {
			waits := maker.Patch(path, looser).OK().Text("approval_id")
			expect(t, "while it waits", policy(), "two_persons 2 48")
			n.Person(t, maker).Approve(waits).Fails(403, "FORBIDDEN")
			second.Post("/v1/approvals/"+waits+"/reject", body{"reason": "no"}).OK()
		}
		first := maker.Patch(path, body{"receiving_cooling_hours": 2}).OK().Text("approval_id")
		then := maker.Patch(path, body{"receiving_cooling_hours": 1}).OK().Text("approval_id")
		second.Approve(first).Fails(422, "APPROVAL_DECIDED")
		second.Approve(then).OK()
		expect(t, "approved", policy(), "two_persons 2 1")
		entry := x.Entry("Ada")
		_, id := add(maker, entry, "1")
		second.Approve(id).OK()
		n.Clock.Advance(59 * time.Minute)
		expect(t, "before the hour", paid(maker, entry), "")
		n.Clock.Advance(2 * time.Minute)
		again(t, maker)
		expect(t, "after the hour", paid(maker, entry), "1*")
	})
}

// What one person decided alone ends when there is another, until that one agrees.
func TestALooserPolicyThatOnePersonMadeIsSuspendedUntilTheSecondConfirms(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		path := x.Path("/receiving-policy")
		read := func() api.ReceivingPolicy { return servertest.Decoded[api.ReceivingPolicy](x.Owner.Get(path)) }
		looser := body{"receiving_approval": "one_person", "receiving_cooling_hours": 0, "second_person_hours": 1}
		if done := servertest.Decoded[api.ReceivingPolicy](x.Owner.Patch(path, looser)); done.ApprovalID != "" || done.Persons != 1 || done.Suspended != nil {
			t.Errorf("a sole trader's policy is %+v", done)
		}
		entry := x.Entry("Ada")
		if _, id := add(x.Owner, entry, "1"); id != "" {
			t.Error("a sole trader needs a second person")
		}
		second := n.Person(t, x.Member("admin"))
		p := read()
		if p.ReceivingApproval != "automatic" || p.Persons != 2 || p.CoolingHours != 24 || p.SecondPersonHours != nil || p.Suspended == nil || p.Suspended.ReceivingApproval != "one_person" {
			t.Errorf("with a second person the policy is %+v", p)
		}
		if _, id := add(x.Owner, entry, "2"); id == "" {
			t.Error("what one person decided alone holds for two")
		}
		waits := x.Owner.Patch(path, looser).OK().Text("approval_id")
		second.Approve(waits).OK()
		if p = read(); p.ReceivingApproval != "one_person" || p.Persons != 1 || p.Suspended != nil {
			t.Errorf("after the second has confirmed it, the policy is %+v", p)
		}
		if _, id := add(x.Owner, entry, "3"); id != "" {
			t.Error("a second person is demanded against the policy")
		}
	})
}

// The wait of a new approver and the time that the demand outlives the last one are shared by both pairs: whoever may approve payouts
// agrees to less of them, too.
func TestAShorterWaitTakesTheSecondPersonOfEveryPairThatItTouches(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		for _, shorter := range []body{{"receiving_cooling_hours": 1}, {"second_person_hours": 1}} {
			x := n.Tenant(t)
			x.Define("payer", "ws.read", "ws.payouts.read", "ws.payouts.approve")
			payer := n.Person(t, x.Member("payer"))
			path := x.Path("/receiving-policy")
			waits := x.Owner.Patch(path, shorter).OK().Text("approval_id")
			if waits == "" {
				t.Fatalf("%v: one person shortens it", shorter)
			}
			payer.Approve(waits).OK()
			if p := servertest.Decoded[api.ReceivingPolicy](x.Owner.Get(path)); p.ReceivingCoolingHours == nil && p.SecondPersonHours == nil {
				t.Errorf("%v: what was approved does not hold: %+v", shorter, p)
			}
		}
		// With a second person of each, it takes one who is both.
		x := n.Tenant(t)
		x.Define("payer", "ws.read", "ws.payouts.read", "ws.payouts.approve")
		x.Define("keeper", "ws.read", "ws.directory.read", "ws.receiving.read", "ws.receiving.approve")
		payer, keeper, both := n.Person(t, x.Member("payer")), n.Person(t, x.Member("keeper")), n.Person(t, x.Member("disbursement_authorizer"))
		x.EverybodyCounts()
		waits := x.Owner.Patch(x.Path("/receiving-policy"), body{"second_person_hours": 1}).OK().Text("approval_id")
		keeper.Approve(waits).Fails(403, "FORBIDDEN")
		shown := keeper.Get("/v1/approvals/" + waits).OK()
		payer.Post("/v1/approvals/"+waits+"/approve", body{"digest": shown.Text("digest"), "verification": "asked"}).Fails(403, "FORBIDDEN")
		both.Approve(waits).OK()
	})
}

func TestTheSecondPersonOfPayoutsAgreesToALooserPolicyWhereReceivingMethodsHaveNone(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		x.Define("payer", "ws.read", "ws.payouts.read", "ws.payouts.approve")
		payer := n.Person(t, x.Member("payer"))
		path := x.Path("/receiving-policy")
		waits := x.Owner.Patch(path, body{"receiving_approval": "one_person"}).OK().Text("approval_id")
		if waits == "" {
			t.Fatal("one person loosens it")
		}
		payer.Approve(waits).OK()
		if p := servertest.Decoded[api.ReceivingPolicy](x.Owner.Get(path)); p.ReceivingApproval != "one_person" {
			t.Errorf("the policy is %+v", p)
		}
	})
}

// agreed lets a second person agree to a grant that waits for one.
func agreed(second *servertest.Client, asked *servertest.Answer) {
	second.T().Helper()
	second.Approve(asked.Fails(403, "SECOND_PERSON_REQUIRED").Detail("approval_id")).OK()
}

// A new phone number next to a new account is the fraud: the earlier one is to be called.
func TestTheApproverSeesWhatElseChanged(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, maker, second := n.Pair(t)
		entry := x.Entry("Ada")
		maker.Patch("/v1/directory/"+entry, body{"fields": body{"phone": "+44 1", "email": "ada@example.com"}}).OK()
		n.Clock.Advance(31 * day)
		again(t, maker)
		second = n.Person(t, second.Again(t))
		maker.Patch("/v1/directory/"+entry, body{"fields": body{"phone": "+44 2"}}).OK()
		maker.Patch("/v1/directory/"+entry, body{"fields": body{"phone": "+44 3", "mobile": "+44 9"}}).OK()
		maker.Patch("/v1/directory/"+entry, body{"fields": body{"mobile": nil}}).OK()
		add(maker, entry, "0")
		for i := range 51 { // no one hides a new phone number behind these
			maker.Patch("/v1/directory/"+entry, body{"fields": body{"note": fmt.Sprint(i)}}).OK()
		}
		_, id := add(maker, entry, "1")
		shown := servertest.Decoded[api.Approval](second.Get("/v1/approvals/" + id))
		got := map[string]string{}
		for _, c := range shown.Contacts {
			got[c.Field] = c.Now + " was " + c.Earlier
		}
		if want := map[string]string{"phone": "+44 3 was +44 1", "email": "ada@example.com was "}; !maps.Equal(got, want) {
			t.Errorf("the contacts are %v", got)
		}
		if len(shown.RecentChanges) != 51 || shown.RecentChanges[0].Action != "directory.entry.updated" || shown.RecentChanges[50].Action != "directory.receiving_method.added" {
			t.Errorf("the %d changes are %+v", len(shown.RecentChanges), shown.RecentChanges)
		}
		n.Clock.Advance(day)
		again(t, maker)
		_, other := add(maker, entry, "2")
		if first := servertest.Decoded[api.Approval](maker.Get("/v1/approvals/" + other)).RecentChanges[0]; first.Action != "directory.receiving_method.added" {
			t.Errorf("another new account is not told of: %+v", first)
		}
		if seen := n.Audited(t, entry); seen[len(seen)-1] != "directory.receiving_method.revealed" {
			t.Errorf("the number was shown without a row: %v", seen)
		}
	})
}

// No one hides a merge, or a change or the removal of another account, behind later changes of the payee, of a third account, or of accounts
// that are added and removed again. Those do not make the list long either.
func TestTheApproverSeesTheNewestChangeOfEachKind(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		entry := x.Entry("Ada")
		methodPath := func(account string) string {
			return methods(entry) + "/" + x.Owner.AddMethod(entry, servertest.Account(account))
		}
		removed, changed, later := methodPath("111122223333"), methodPath("444455556666"), methodPath("555566667777")
		second := n.Person(t, x.Member("admin"))
		successor := x.Owner.Patch(changed, body{"account_id": "999988887777"}).OK().Text("id")
		x.Owner.Delete(removed).OK()
		x.Owner.Post("/v1/directory/"+entry+"/merge", body{"sources": []string{x.Entry("Eve")}}).OK()
		n.Clock.Advance(time.Second)
		x.Owner.Patch(later, body{"account_id": "888877776666"}).OK()
		for i := range 60 {
			n.Clock.Advance(time.Second)
			x.Owner.Patch("/v1/directory/"+entry, body{"fields": body{fmt.Sprint("note ", i%20): fmt.Sprint(i)}}).OK()
			decoy, _ := add(x.Owner, entry, fmt.Sprint(i))
			x.Owner.Delete(methods(entry) + "/" + decoy).OK()
		}
		_, id := add(x.Owner, entry, "1")
		list := servertest.Decoded[api.Approval](second.Get("/v1/approvals/" + id)).RecentChanges
		for what, is := range map[string]func(c api.ApprovalChange, field, before, after string) bool{
			"the merge": func(c api.ApprovalChange, field, _, _ string) bool {
				return c.Action == "directory.entry.merged" && field == "sources"
			},
			"the change": func(c api.ApprovalChange, field, _, after string) bool {
				return c.Action == "directory.receiving_method.updated" && field == "id" && after == strconv.Quote(successor)
			},
			"the removal": func(c api.ApprovalChange, field, before, after string) bool {
				return c.Action == "directory.receiving_method.removed" && field == "status" && before == `"active"`
			},
		} {
			if !slices.ContainsFunc(list, func(c api.ApprovalChange) bool {
				return slices.ContainsFunc(c.Changes, func(one api.AuditChange) bool { return is(c, one.Field, string(one.Before), string(one.After)) })
			}) {
				t.Errorf("%s is not among the changes %+v", what, list)
			}
		}
		if len(list) > 60 {
			t.Errorf("%d changes are shown", len(list))
		}
		if !slices.IsSortedFunc(list, func(a, b api.ApprovalChange) int { return cmp.Compare(b.Timestamp, a.Timestamp) }) {
			t.Error("the newest does not come first")
		}
	})
}

func TestNumbersOfApprovalsAreSealed(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, maker, second := n.Pair(t)
		entry := x.Entry("Ada")
		old, id := add(maker, entry, "PLANTED-1")
		second.Approve(id).OK()
		maker.Patch(methods(entry)+"/"+old, body{"account_id": "PLANTED-2"}).OK()
		if dump := n.Dump(t); strings.Contains(dump, "PLANTED") {
			t.Error("the store tells an account number")
		}
		if _, err := n.Vault.Reseal(t.Context(), db.Caller{}, func(int64, int64) {}); err != nil {
			t.Fatal(err)
		}
		if status, err := n.Vault.Status(t.Context()); err != nil || status.Sealed["approval"] != 2 || status.Waiting != 0 {
			t.Errorf("status %+v, %v", status, err)
		}
		waits := maker.Get("/v1/approvals?state=pending&workspace_id=" + x.WorkspaceID).OK().List()[0]["id"].(string)
		second.Approve(waits).OK()
	})
}

func TestAnInstitutionIsOneThatCanBePaid(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		entry := x.Entry("Ada")
		x.Owner.Post(methods(entry), servertest.Account("1", body{"institution_code": "NOSUCHBANK"})).Invalid("institution_code")
		made := x.Owner.Post(methods(entry), servertest.Account("1", body{"institution_code": "GXCHPHM2XXX"})).OK()
		expect(t, "the code", made.Text("institution_code"), "GXCHPHM2XXX")
		after := x.Owner.Patch(methods(entry)+"/"+made.Text("id"), body{"institution_code": ""}).OK()
		expect(t, "the code of the successor", after.Text("institution_code"), "")
	})
}

// The second person of a pair may join while the policy waits for that of the other.
func TestALooserPolicyTakesTheSecondPersonOfEveryPairThatThereIsWhenItIsApproved(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		x.Define("keeper", "ws.read", "ws.directory.read", "ws.receiving.read", "ws.receiving.approve")
		x.Define("payer", "ws.read", "ws.payouts.read", "ws.payouts.approve")
		keeper := n.Person(t, x.Member("keeper"))
		ask := func() string {
			return x.Owner.Patch(x.Path("/receiving-policy"), body{"second_person_hours": 1}).OK().Text("approval_id")
		}
		waits := ask()
		x.Member("payer")
		keeper.Approve(waits).Fails(422, "APPROVAL_CHANGED")
		keeper.Approve(ask()).Fails(403, "FORBIDDEN")
	})
}
