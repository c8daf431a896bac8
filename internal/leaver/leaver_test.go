package leaver_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"bursar/api"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/identity"
	"bursar/internal/server/servertest"
)

type body = servertest.Body

// remove asks an owner's client to remove a person.
func remove(x *servertest.Tenant, c *servertest.Client, content body) *servertest.Answer {
	return c.Post(x.OrganizationPath("/leavers"), content)
}

// workspaceOf creates one more workspace in the organization.
func workspaceOf(x *servertest.Tenant, name string) *servertest.Tenant {
	other := *x
	other.WorkspaceID = x.Owner.Post("/v1/workspaces", body{"name": name, "organization_id": x.OrganizationID}).OK().Text("id")
	return &other
}

// keyOf creates an API key as an operator does, limited to workspaces.
func keyOf(t *testing.T, n *servertest.Node, email string, workspaces ...string) (id string, session *servertest.Client) {
	t.Helper()
	id, secret, err := n.Identity.CreateKeyFor(t.Context(), db.Caller{}, email,
		identity.NewKey{Name: "limited", Scope: audit.Scope{WorkspaceIDs: workspaces}})
	if err != nil {
		t.Fatal(err)
	}
	return id, n.Login(t, secret)
}

func TestALeaverLosesAllThatTheyHaveInTheOrganization(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		second, elsewhere := workspaceOf(x, "Second"), n.Tenant(t)
		grace := x.Member("admin")
		email := grace.Email()
		second.Add(email, "viewer")
		x.Owner.Post(x.OrganizationPath("/owners"), body{"user_id": grace.UserID}).OK()
		grace.Join(elsewhere.Add(email, "viewer"))

		key, limited := keyOf(t, n, email, x.WorkspaceID, second.WorkspaceID)
		_, wider := keyOf(t, n, email, x.WorkspaceID, elsewhere.WorkspaceID)
		clientID, _, err := n.Identity.CreateClient(t.Context(), db.Caller{}, x.WorkspaceID, "ERP", "viewer")
		if err != nil {
			t.Fatal(err)
		}
		secret := grace.Post(x.Path("/clients/"+clientID+"/rotate"), nil).OK().Text("secret")
		machine := n.Holder(t, n.Exchange(t, servertest.Basic(clientID, secret)).OK().Text("token"))
		machine.Get(x.Path("")).OK()
		guest := n.User(t, servertest.NewEmail())
		invitation := grace.Post(x.Path("/members"), body{"email": guest.Email(), "role": "viewer"}).OK().Text("user_id")

		var planned api.Leaver
		n.Unchanged(t, func() { remove(x, x.Owner, body{"email": email, "dry_run": true}).OK().Data(&planned) })
		var done api.Leaver
		remove(x, x.Owner, body{"email": email}).OK().Data(&done)
		if planned.Removed || !done.Removed {
			t.Errorf("removed: %v in the dry run, %v then", planned.Removed, done.Removed)
		}
		planned.Removed = true
		if diff := cmp.Diff(planned, done); diff != "" {
			t.Errorf("the dry run (-) and the removal (+) differ:\n%s", diff)
		}
		named := func(x *servertest.Tenant, name string) api.NamedWorkspace {
			return api.NamedWorkspace{WorkspaceID: x.WorkspaceID, WorkspaceName: name}
		}
		want := api.Leaver{
			OrganizationID: x.OrganizationID, UserID: grace.UserID, Email: email, Name: "User " + email, Removed: true, Owner: true,
			Memberships: []api.LeaverMembership{{NamedWorkspace: named(x, "Payroll"), Roles: []string{"admin"}, Status: "active"}, {NamedWorkspace: named(second, "Second"), Roles: []string{"viewer"}, Status: "active"}},
			Invitations: []api.LeaverInvitation{{NamedWorkspace: named(x, "Payroll"), ID: invitation, Email: guest.Email()}},
			Clients:     []api.LeaverClient{{NamedWorkspace: named(x, "Payroll"), ID: clientID, Name: "ERP"}},
			APIKeys:     []api.LeaverKey{{ID: key, Name: "limited"}},
			Tasks: []api.LeaverTask{{NamedWorkspace: named(x, "Payroll"), Kind: "client", ID: clientID, What: "ERP",
				TakeOver: []api.User{{ID: x.Owner.UserID, Email: x.Owner.Email(), Name: "User " + x.Owner.Email()}}}},
		}
		if diff := cmp.Diff(want, done); diff != "" {
			t.Errorf("want (-), got (+):\n%s", diff)
		}

		for _, path := range []string{x.Path(""), second.Path(""), x.OrganizationPath("")} {
			grace.Get(path).Fails(404, "RESOURCE_NOT_FOUND")
			wider.Get(path).Fails(404, "RESOURCE_NOT_FOUND")
		}
		limited.Get("/v1/auth/me").Fails(401, "UNAUTHORIZED")
		grace.Get(elsewhere.Path("")).OK()
		wider.Get(elsewhere.Path("")).OK()
		machine.Get(x.Path("")).Fails(401, "UNAUTHORIZED")
		n.Exchange(t, servertest.Basic(clientID, secret)).Fails(401, "INVALID_CREDENTIALS")
		guest.Post("/v1/invitations/"+invitation+"/accept", nil).Fails(404, "RESOURCE_NOT_FOUND")
		if ended := servertest.Decoded[[]api.MachineClient](x.Owner.Get(x.Path("/clients"))); !ended[0].SecretEnded {
			t.Errorf("the clients are %+v", ended)
		}
		next := x.Owner.Post(x.Path("/clients/"+clientID+"/rotate"), nil).OK().Text("secret")
		n.Exchange(t, servertest.Basic(clientID, next)).OK()
		if again := servertest.Decoded[[]api.MachineClient](x.Owner.Get(x.Path("/clients"))); again[0].SecretEnded {
			t.Errorf("the clients are %+v", again)
		}
		remove(x, x.Owner, body{"email": email}).Fails(404, "RESOURCE_NOT_FOUND")

		actions := func(query string) []string {
			return x.Owner.Get("/v1/audit?limit=100&outcome=success&" + query).OK().Column("action")
		}
		organization, workspace := actions("organization_id="+x.OrganizationID), actions("workspace_id="+x.WorkspaceID)
		for _, one := range []string{"iam.organization.leaver_removed", "iam.organization.owner_removed", "auth.key.revoked"} {
			if !slices.Contains(organization, one) {
				t.Errorf("the log of the organization has %v, without %s", organization, one)
			}
		}
		for _, one := range []string{"iam.member.removed", "auth.client.secret_ended"} {
			if !slices.Contains(workspace, one) {
				t.Errorf("the log of the workspace has %v, without %s", workspace, one)
			}
		}
	})
}

func TestALeaverStaysWhereTheyAreTheLastAdminOrOwner(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		second := workspaceOf(x, "Second")
		grace := x.Member("admin")
		x.Owner.Post(x.OrganizationPath("/owners"), body{"user_id": grace.UserID}).OK()
		email := x.Owner.Email()
		var planned api.Leaver
		n.Unchanged(t, func() {
			answer := remove(x, x.Owner, body{"email": email}).Fails(422, "LAST_ADMIN")
			var got struct {
				Error struct{ Details api.LastAdminDetails }
			}
			answer.Decode(&got)
			want := api.LastAdminDetails{Workspaces: []api.NamedWorkspace{{WorkspaceID: second.WorkspaceID, WorkspaceName: "Second"}}}
			if diff := cmp.Diff(want, got.Error.Details); diff != "" {
				t.Errorf("want (-), got (+):\n%s", diff)
			}
			remove(x, x.Owner, body{"email": email, "dry_run": true}).OK().Data(&planned)
		})
		if len(planned.LastAdminOf) != 1 || planned.LastAdminOf[0].WorkspaceID != second.WorkspaceID || planned.LastOwner {
			t.Errorf("the checklist is %+v", planned)
		}
		x.Owner.Post(second.Path("/members"), body{"email": grace.Email(), "role": "admin"}).OK()
		x.Owner.Delete(x.OrganizationPath("/owners/" + grace.UserID)).OK()
		planned = api.Leaver{}
		n.Unchanged(t, func() {
			remove(x, x.Owner, body{"user_id": x.Owner.UserID}).Fails(422, "LAST_OWNER")
			remove(x, x.Owner, body{"user_id": x.Owner.UserID, "dry_run": true}).OK().Data(&planned)
		})
		if len(planned.LastAdminOf) != 0 || !planned.LastOwner {
			t.Errorf("the checklist is %+v", planned)
		}
		x.Owner.Post(x.OrganizationPath("/owners"), body{"user_id": grace.UserID}).OK()
		remove(x, x.Owner, body{"user_id": x.Owner.UserID}).OK()
		x.Owner.Get(second.Path("")).Fails(404, "RESOURCE_NOT_FOUND")
	})
}

func TestWhatWaitsForALeaverIsListedWithWhoCanTakeOver(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		grace := x.Member("admin")
		clerk := x.Member("disbursement_manager")
		entry := x.Entry("Payee")
		method := body{"provider": "bank", "account_name": "Ada", "account_id": "1234567890"}
		theirs := grace.Post("/v1/directory/"+entry+"/receiving-methods", method).OK().Text("approval_id")
		forThem := x.Owner.Post("/v1/directory/"+x.Entry("Another")+"/receiving-methods", method).OK().Text("approval_id")
		draft := grace.Post("/v2/payout-requests", body{"source_account_id": x.Account(100), "amount_cents": 100, "currency": "PHP", "status": "draft",
			"settlement_account": body{"bank_account_name": "Juan dela Cruz", "bank_account_number": "1234567890", "bank_code": "BOPIPHMMXXX"}}).OK().Text("id")

		var got api.Leaver
		remove(x, x.Owner, body{"email": grace.Email(), "dry_run": true}).OK().Data(&got)
		user := func(c *servertest.Client) api.User {
			return api.User{ID: c.UserID, Email: c.Email(), Name: "User " + c.Email()}
		}
		w := api.NamedWorkspace{WorkspaceID: x.WorkspaceID, WorkspaceName: "Payroll"}
		want := []api.LeaverTask{
			{NamedWorkspace: w, Kind: api.TaskRequest, ID: theirs, What: "receiving_method", TakeOver: []api.User{user(x.Owner)}},
			{NamedWorkspace: w, Kind: api.TaskDecision, ID: forThem, What: "receiving_method", TakeOver: []api.User{user(x.Owner)}},
			{NamedWorkspace: w, Kind: api.TaskDraft, ID: draft, What: "", TakeOver: []api.User{user(x.Owner), user(clerk)}},
		}
		if diff := cmp.Diff(want, got.Tasks); diff != "" {
			t.Errorf("want (-), got (+):\n%s", diff)
		}
		// With another approver no one has to decide without them.
		x.Member("admin")
		remove(x, x.Owner, body{"email": grace.Email(), "dry_run": true}).OK().Data(&got)
		if slices.ContainsFunc(got.Tasks, func(task api.LeaverTask) bool { return task.Kind == api.TaskDecision }) {
			t.Errorf("the tasks are %+v", got.Tasks)
		}
	})
}

func TestOnlyAnOwnerWhoAdministersRemovesALeaver(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		grace := x.Member("viewer")
		person := n.Person(t, x.Owner)
		_, plain := keyOf(t, n, x.Owner.Email())
		remove(x, n.Tenant(t).Owner, body{"user_id": grace.UserID}).Fails(404, "RESOURCE_NOT_FOUND")
		if got := remove(x, x.Member("admin"), body{"user_id": grace.UserID}).Fails(403, "FORBIDDEN").Detail("permission"); got != "org.settings.write" {
			t.Errorf("an admin lacks %q", got)
		}
		for _, dry := range []bool{true, false} {
			if got := remove(x, plain, body{"user_id": grace.UserID, "dry_run": dry}).Fails(403, "FORBIDDEN").Detail("permission"); got != "administer" {
				t.Errorf("a key lacks %q", got)
			}
		}
		for _, nobody := range []body{{"email": servertest.NewEmail()}, {"user_id": "usr_nobody"}, {"user_id": n.Tenant(t).Owner.UserID}, {"email": n.Tenant(t).Owner.Email()}} {
			remove(x, x.Owner, nobody).Fails(404, "RESOURCE_NOT_FOUND")
		}
		remove(x, x.Owner, body{}).Invalid("email")
		remove(x, x.Owner, body{"email": "ada"}).Invalid("email")
		remove(x, x.Owner, body{"email": grace.Email(), "user_id": grace.UserID}).Invalid("user_id")

		n.Clock.Advance(16 * time.Minute)
		remove(x, person, body{"user_id": grace.UserID}).Fails(403, "RECENT_LOGIN_REQUIRED")
		n.Clock.Advance(-16 * time.Minute)
		remove(x, person, body{"user_id": grace.UserID}).OK()
		grace.Get(x.Path("")).Fails(404, "RESOURCE_NOT_FOUND")
	})
}

// An owner must not find out by the checklist whether an invited address belongs to a user.
func TestAnInvitedLeaverIsShownWithoutAnAccount(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		user := n.User(t, servertest.NewEmail())
		user.Join(x.Add(user.Email(), "viewer"))
		keyOf(t, n, user.Email(), x.WorkspaceID)
		user.Delete(x.Path("/members/" + user.UserID)).OK()
		for _, email := range []string{user.Email(), servertest.NewEmail()} {
			x.Add(email, "viewer")
			var got api.Leaver
			remove(x, x.Owner, body{"email": email}).OK().Data(&got)
			want := api.Leaver{OrganizationID: x.OrganizationID, Email: email, Removed: true,
				Memberships: []api.LeaverMembership{{
					NamedWorkspace: api.NamedWorkspace{WorkspaceID: x.WorkspaceID, WorkspaceName: "Payroll"}, Roles: []string{"viewer"}, Status: "invited"}},
				Invitations: []api.LeaverInvitation{}, Clients: []api.LeaverClient{}, APIKeys: []api.LeaverKey{}, Tasks: []api.LeaverTask{}}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("want (-), got (+):\n%s", diff)
			}
			if got := x.Audit("")[0]; got["action"] != "iam.member.removed" || got["resource_id"] == user.UserID {
				t.Errorf("the log says %v", got)
			}
		}
		if got := user.Get("/v1/invitations").OK().List(); len(got) != 0 {
			t.Errorf("still invited: %v", got)
		}
		remove(x, x.Owner, body{"user_id": user.UserID}).Fails(404, "RESOURCE_NOT_FOUND")
	})
}

// No one may give a leaver back what was suspended of them.
func TestSuspendedAccessOfALeaverEnds(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		key, secret, err := n.Identity.CreateKeyFor(t.Context(), db.Caller{}, x.Owner.Email(), identity.NewKey{Name: "stolen", Scope: audit.Scope{Administer: true}})
		if err != nil {
			t.Fatal(err)
		}
		grace, thief := n.User(t, servertest.NewEmail()), n.Login(t, secret)
		grace.Join(thief.Post(x.Path("/members"), body{"email": grace.Email(), "role": "viewer"}).OK().Text("user_id"))
		thief.Post(x.OrganizationPath("/owners"), body{"user_id": grace.UserID}).OK()
		report := servertest.Decoded[api.CompromisedKey](x.Owner.Post("/v1/api-keys/"+key+"/compromised", nil))
		if len(report.Suspended) != 1 || len(report.SuspendedOwners) != 1 {
			t.Fatalf("the report is %+v", report)
		}
		var got api.Leaver
		remove(x, x.Owner, body{"email": grace.Email()}).OK().Data(&got)
		if len(got.Memberships) != 1 || got.Memberships[0].Status != "suspended" {
			t.Errorf("the memberships are %+v", got.Memberships)
		}
		n.Person(t, x.Owner).Post(x.Path("/suspended/"+report.Suspended[0].ID+"/confirm"), nil).Fails(404, "RESOURCE_NOT_FOUND")
		n.Person(t, x.Owner).Post(x.OrganizationPath("/suspended/"+report.SuspendedOwners[0].ID+"/confirm"), nil).Fails(404, "RESOURCE_NOT_FOUND")
		grace.Get(x.Path("")).Fails(404, "RESOURCE_NOT_FOUND")
	})
}

func TestAnInvitationThatALeaverMadeThroughAnApprovalEnds(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, _, second := n.Pair(t)
		grace := x.Member("viewer")
		x.Define("inviter", "ws.read", "ws.members.read", "ws.members.write", "ws.payouts.read", "ws.payouts.approve", "ws.accounts.read", "ws.directory.read", "ws.receiving.read")
		guest := n.User(t, servertest.NewEmail())
		held := x.Owner.Post(x.Path("/members"), body{"email": guest.Email(), "role": "inviter"}).Fails(403, "SECOND_PERSON_REQUIRED").Detail("approval_id")
		second.Approve(held).OK()
		invitation := guest.Get("/v1/invitations").OK().Column("id")
		if len(invitation) != 1 {
			t.Fatalf("the invitations are %v", invitation)
		}
		x.Owner.Post(x.OrganizationPath("/owners"), body{"user_id": grace.UserID}).OK()
		var got api.Leaver
		remove(x, n.Person(t, grace), body{"email": x.Owner.Email()}).OK().Data(&got)
		if len(got.Invitations) != 1 || got.Invitations[0].Email != guest.Email() {
			t.Errorf("their invitations are %+v", got.Invitations)
		}
		guest.Post("/v1/invitations/"+invitation[0]+"/accept", nil).Fails(404, "RESOURCE_NOT_FOUND")
	})
}

func TestOwnersWhoRemoveEachOtherAtOnceLeaveOne(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		for range 3 {
			x := n.Tenant(t)
			grace := x.Member("admin")
			x.Owner.Post(x.OrganizationPath("/owners"), body{"user_id": grace.UserID}).OK()
			pair := []*servertest.Client{x.Owner, grace}
			answers := servertest.SideBySide(2, func(i int) *servertest.Answer { return remove(x, pair[i], body{"user_id": pair[1-i].UserID}) })
			if got := servertest.Statuses(answers); got["200"] != 1 {
				t.Errorf("answered %v", got)
			}
			if owners := n.Count(t, `SELECT count(*) FROM organization_member WHERE organization_id = $1`, x.OrganizationID); owners != 1 {
				t.Errorf("%d owners are left", owners)
			}
		}
	})
}

func TestALeaverCreatesNoWorkspaceWhileTheyAreRemoved(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		for range 4 {
			x := n.Tenant(t)
			grace := x.Member("admin")
			x.Owner.Post(x.OrganizationPath("/owners"), body{"user_id": grace.UserID}).OK()
			answers := servertest.SideBySide(2, func(i int) *servertest.Answer {
				if i == 0 {
					return remove(x, x.Owner, body{"user_id": grace.UserID})
				}
				return grace.Post("/v1/workspaces", body{"name": "Mine", "organization_id": x.OrganizationID})
			})
			left := n.Count(t, `SELECT count(*) FROM live_member WHERE account_id = $1 AND organization_id = $2`, grace.UserID, x.OrganizationID)
			if removed := answers[0].Status == 200; removed && left > 0 || !removed && answers[0].Code() != "LAST_ADMIN" {
				t.Errorf("answered %v, and they are in %d workspaces", servertest.Statuses(answers), left)
			}
		}
	})
}
