package console_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"bursar/internal/browsertest"
	"bursar/internal/config"
	"bursar/internal/db/dbtest"
	"bursar/internal/mail/smtptest"
	"bursar/internal/server/servertest"
)

// members is the roles of everybody in the first workspace, by email.
func members(t testing.TB, n *servertest.Node) map[string][]string {
	t.Helper()
	var list []struct {
		Email string
		Roles []string
	}
	n.Admin(t).Get("/v1/workspaces/" + n.First.WorkspaceID + "/members").OK().Data(&list)
	found := map[string][]string{}
	for _, m := range list {
		found[m.Email] = m.Roles
	}
	return found
}

// denied counts the recorded refusals of an action in the first workspace.
func denied(t testing.TB, n *servertest.Node, action string) int {
	t.Helper()
	return n.Count(t, `SELECT count(*) FROM audit_entry WHERE workspace_id = $1 AND action = $2 AND outcome = 'denied'`, n.First.WorkspaceID, action)
}

// refused checks that a page names the missing permission.
func refused(t testing.TB, a answer, permission string) {
	t.Helper()
	if a.status != http.StatusForbidden || !strings.Contains(a.body, "<code>"+permission+"</code>") {
		t.Errorf("want a refusal that names %s, got %d:\n%s", permission, a.status, a.body)
	}
}

func TestNewPersonIsInvitedByALinkThatIsShownOnce(t *testing.T) {
	n := start(t)
	page := open(t, n, adminEmail, "/members")
	page.Accessible("members")
	page.Fill("Email address", "newcomer@example.com")
	page.Select("Role", "Directory manager")
	page.ClickText("Invite")
	page.WaitText("newcomer@example.com has been invited.")
	invitation := page.Value("Invitation link for newcomer@example.com")
	page.Accessible("members with an invitation")
	page.Shoot("members-invited")
	page.ClickText("Copy")
	page.WaitText("Copied")

	page.Reload()
	page.WaitText("· expires " + n.Clock.Now().AddDate(0, 0, 7).UTC().Format("Jan 2, 2006"))
	if page.Has("#shown-once") || page.Text("tbody tr:first-child .badge") != "Invited" {
		t.Error("the link must be gone and the member be there, invited")
	}

	newcomer := browsertest.Open(t)
	newcomer.Goto(invitation)
	newcomer.Fill("Your name", "Nora Newcomer")
	newcomer.Fill("Password", password)
	newcomer.ClickText("Continue with a password")
	newcomer.WaitURL("/w/" + n.First.WorkspaceID)

	page.Reload()
	page.WaitText("Nora Newcomer")
	if status := page.Text("tbody tr:nth-child(2) .badge"); status != "Active" {
		t.Errorf("want the newcomer to be active, got %q", status)
	}
	if got := members(t, n)["newcomer@example.com"]; !slices.Equal(got, []string{"directory_manager"}) {
		t.Errorf("want the role of the invitation, got %v", got)
	}
}

func TestInvitationIsRenewed(t *testing.T) {
	n := start(t)
	n.Admin(t).Post("/v1/workspaces/"+n.First.WorkspaceID+"/members", servertest.Body{"email": "late@example.com", "role": "viewer"}).OK()
	n.Clock.Advance(8 * 24 * time.Hour)
	page := open(t, n, adminEmail, "/members")
	page.WaitText("Invitation expired")
	page.ClickText("New link for late@example.com")
	page.ClickText("New link")
	page.WaitText("late@example.com has been invited.")
	again := stranger(t, n).get(strings.TrimPrefix(page.Value("Invitation link for late@example.com"), n.PublicURL))
	if again.status != http.StatusOK || !strings.Contains(again.body, "late@example.com") {
		t.Errorf("the new link does not lead to the invitation: %d", again.status)
	}
}

func TestInvitingAgainAddsARoleToTheInvitation(t *testing.T) {
	n := start(t)
	visitor := browse(t, n, adminEmail)
	for _, try := range []struct{ role, want string }{
		{"viewer", "late@example.com has been invited."},
		{"auditor", "late@example.com was already invited. The invitation now includes the role Auditor."},
	} {
		if got := visitor.post(room(n, "/members"), "email", "late@example.com", "role", try.role); !strings.Contains(got.body, try.want) {
			t.Errorf("want %q, got %d:\n%s", try.want, got.status, got.body)
		}
	}
	if got := members(t, n)["late@example.com"]; !slices.Equal(got, []string{"viewer", "auditor"}) {
		t.Errorf("want both roles, got %v", got)
	}
}

func TestWhomTheOrganizationKnowsJoinsImmediately(t *testing.T) {
	n := start(t)
	second := n.Admin(t).Post("/v1/workspaces", servertest.Body{"name": "Grants", "organization_id": n.First.OrganizationID}).OK().Text("id")
	ana := n.User(t, "ana@example.com")
	ana.Join(n.Admin(t).Post("/v1/workspaces/"+second+"/members", servertest.Body{"email": "ana@example.com", "role": "viewer"}).OK().Text("user_id"))
	page := open(t, n, adminEmail, "/members")
	page.Fill("Email address", "ana@example.com")
	page.Select("Role", "Auditor")
	page.ClickText("Invite")
	page.WaitText("ana@example.com is now a member with the role Auditor.")

	page.ExpectStatus(http.StatusBadRequest)
	page.Fill("Email address", "nobody@example")
	page.Eval(`document.querySelector("#email").form.noValidate = true`, nil)
	page.Fill("Email address", "no address")
	page.ClickText("Invite")
	page.WaitText("Must be an email address.")
	if page.Value("Email address") != "no address" {
		t.Error("what was typed is lost")
	}
	page.Accessible("members with a wrong invitation")
	page.Shoot("members-wrong")
}

func TestRolesAreAddedAndRemoved(t *testing.T) {
	n := start(t)
	n.Member(t, "ana@example.com", "viewer")
	page := open(t, n, adminEmail, "/members")
	page.ClickText("Add a role for User ana@example.com")
	page.Select("Role for User ana@example.com", "Auditor")
	page.Accessible("members with a role to add")
	page.Shoot("members-add-role")
	page.ClickText("Add the role to User ana@example.com")
	page.WaitText(`Role "Auditor" added.`)
	if got := members(t, n)["ana@example.com"]; !slices.Equal(got, []string{"viewer", "auditor"}) {
		t.Fatalf("want both roles, got %v", got)
	}
	page.ClickText("Remove the Viewer role from User ana@example.com")
	page.WaitText(`Role "Viewer" removed.`)
	if got := members(t, n)["ana@example.com"]; !slices.Equal(got, []string{"auditor"}) {
		t.Fatalf("want one role, got %v", got)
	}
	page.ClickText("Remove User ana@example.com")
	page.WaitText("Remove User ana@example.com from Treasury?")
	page.Shoot("members-remove")
	page.ClickText("Remove")
	page.WaitText("Member removed.")
	if _, in := members(t, n)["ana@example.com"]; in {
		t.Error("the member is still there")
	}
}

func TestTheOnlyAdminCannotLeave(t *testing.T) {
	n := start(t)
	n.Member(t, "ana@example.com", "admin")
	n.Member(t, "cy@example.com", "viewer")
	page := open(t, n, adminEmail, "/members")
	if page.Has("#only-admin") || page.Has("tbody button:disabled") {
		t.Error("with two admins nothing is off")
	}
	page.ClickText("Remove the Admin role from User ana@example.com")
	page.WaitText("The only admin can't leave or lose this role.")
	var off []string
	page.Eval(`[...document.querySelectorAll('button:disabled[aria-describedby="only-admin"]')].map((b) => b.ariaLabel)`, &off)
	if want := []string{"Remove the Admin role from User " + adminEmail, "Leave the workspace"}; !slices.Equal(off, want) {
		t.Errorf("want %q to be off, got %q", want, off)
	}
	page.Accessible("members with one admin")
	page.Shoot("members")

	visitor := browse(t, n, adminEmail)
	for _, path := range []string{"/roles/admin/remove", "/remove"} {
		got := visitor.post(room(n, "/members/"+n.First.UserID+path))
		if got.status != http.StatusUnprocessableEntity || !strings.Contains(got.body, "The last admin of a workspace can neither leave nor lose the role.") {
			t.Errorf("%s: want a message, got %d", path, got.status)
		}
	}
}

func TestLeavingAWorkspaceEndsAccess(t *testing.T) {
	n := start(t)
	n.Member(t, "ana@example.com", "admin")
	page := open(t, n, "ana@example.com", "/members")
	page.ClickText("Leave the workspace")
	page.ClickText("Leave")
	page.WaitText("You left Treasury.")
	page.ExpectStatus(http.StatusNotFound)
	page.Goto(n.PublicURL + room(n, "/members"))
	page.WaitText("Not found")
}

func TestLosingAccessToMembersLeadsHome(t *testing.T) {
	n := start(t)
	n.Member(t, "ana@example.com", "admin")
	ana := browse(t, n, "ana@example.com")
	id := memberID(t, n, "ana@example.com")
	got := ana.post(room(n, "/members/"+id+"/roles/admin/remove"))
	if got.path != room(n, "") {
		t.Errorf("want the home page, got %d at %s", got.status, got.path)
	}
}

func memberID(t testing.TB, n *servertest.Node, email string) string {
	t.Helper()
	for _, row := range n.Admin(t).Get("/v1/workspaces/" + n.First.WorkspaceID + "/members").OK().List() {
		if row["email"] == email {
			return row["id"].(string)
		}
	}
	t.Fatalf("%s is no member", email)
	return ""
}

func TestManyMembersAreFilteredAndPaged(t *testing.T) {
	n := start(t)
	admin := n.Admin(t)
	for i := range 60 {
		role := "viewer"
		if i == 42 {
			role = "auditor"
		}
		admin.Post("/v1/workspaces/"+n.First.WorkspaceID+"/members", servertest.Body{"email": fmt.Sprintf("person%02d@example.com", i), "role": role}).OK()
	}
	page := open(t, n, adminEmail, "/members")
	page.WaitText("61 members")
	page.ClickText("Next")
	page.WaitText("person59@example.com")
	page.ClickText("Remove the Viewer role from person59@example.com")
	page.WaitText(`Role "Viewer" removed.`)
	page.WaitURL("page=2")
	page.ClickText("Previous")
	page.Fill("Name or email", "PERSON3")
	page.WaitText("10 of 61 members")
	page.WaitURL("q=PERSON3")
	page.Shoot("members-filtered")
	page.Fill("Name or email", "")
	page.Select("#with-role", "Auditor")
	page.WaitText("1 of 61 members")
	page.Select("#status", "Disabled")
	page.WaitText("No matching members")
	page.Accessible("members, filtered to none")
	page.Shoot("members-none")
	page.Reload() // the filter survives, because it is in the address
	page.WaitText("No matching members")
	page.ClickText("Show all")
	page.WaitText("61 members")
}

func TestChangingMembersNeedsThePermission(t *testing.T) {
	n := start(t)
	n.Member(t, "vic@example.com", "viewer")
	vic := browse(t, n, "vic@example.com")
	seen := vic.get(room(n, "/members"))
	if seen.status != http.StatusOK || !strings.Contains(seen.body, adminEmail) {
		t.Fatalf("a viewer sees the members: %d", seen.status)
	}
	own := "/members/" + memberID(t, n, "vic@example.com") + "/remove" // anybody can leave
	if strings.Contains(strings.ReplaceAll(seen.body, own, ""), "/members/usr_") || strings.Contains(seen.body, `id="invite"`) {
		t.Error("a viewer is offered what they may not do")
	}
	page := open(t, n, "vic@example.com", "/members")
	page.Accessible("members for a viewer")
	page.Shoot("members-viewer")

	vic = browse(t, n, "vic@example.com")
	admin := n.First.UserID
	for _, try := range []struct{ path, action string }{
		{"/members", "iam.member.added"},
		{"/members/" + admin + "/link", "iam.member.invited"},
		{"/members/" + admin + "/roles", "iam.member.role_assigned"},
		{"/members/" + admin + "/roles/admin/remove", "iam.member.role_removed"},
		{"/members/" + admin + "/remove", "iam.member.removed"},
	} {
		refused(t, vic.post(room(n, try.path), "email", "x@example.com", "role", "viewer"), "ws.members.write")
		if denied(t, n, try.action) != 1 {
			t.Errorf("the refusal of %s is not on record", try.action)
		}
	}
}

func TestNobodyGrantsPermissionsTheyLack(t *testing.T) {
	n := start(t)
	n.Admin(t).Put("/v1/workspaces/"+n.First.WorkspaceID+"/roles/greeter", servertest.Body{
		"name": "Greeter", "permissions": []string{"ws.read", "ws.members.read", "ws.members.write", "ws.directory.read", "ws.payouts.read", "ws.accounts.read"},
	}).OK()
	n.Member(t, "gil@example.com", "greeter")
	gil := browse(t, n, "gil@example.com")
	body := gil.get(room(n, "/members")).body
	if !strings.Contains(body, `<option value="viewer"`) || strings.Contains(body, `<option value="admin"`) || strings.Contains(body, `<option value="member"`) {
		t.Error("want only roles that the visitor holds all of")
	}
	refused(t, gil.post(room(n, "/members"), "email", "x@example.com", "role", "admin"), "ws.write")
	refused(t, gil.post(room(n, "/members/"+memberID(t, n, "gil@example.com")+"/roles"), "role", "admin"), "ws.write")
}

func TestMembersAboveTheVisitorAreOutOfReach(t *testing.T) {
	n := start(t)
	n.Admin(t).Put("/v1/workspaces/"+n.First.WorkspaceID+"/roles/greeter", servertest.Body{
		"name": "Greeter", "permissions": []string{"ws.read", "ws.members.read", "ws.members.write", "ws.directory.read", "ws.payouts.read", "ws.accounts.read"},
	}).OK()
	n.Member(t, "second@example.com", "admin") // so that no admin is the last one
	n.Member(t, "gil@example.com", "greeter")
	n.Member(t, "vic@example.com", "viewer")
	page := open(t, n, "gil@example.com", "/members")
	page.Accessible("members with some above the visitor")
	page.Shoot("members-above")
	gil := browse(t, n, "gil@example.com")
	body, above := gil.get(room(n, "/members")).body, memberID(t, n, "second@example.com")
	for _, path := range []string{"/remove", "/roles/admin/remove"} {
		if strings.Contains(body, `action="`+room(n, "/members/"+above+path)) {
			t.Errorf("%s is offered", path)
		}
		refused(t, gil.post(room(n, "/members/"+above+path)), "ws.write")
	}
	if got := gil.post(room(n, "/members/"+memberID(t, n, "vic@example.com")+"/remove")); got.status != http.StatusOK {
		t.Errorf("removing somebody below answers %d", got.status)
	}
}

func TestMembersOfOtherWorkspacesAreNotFound(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := startOn(t, store)
		tenant := n.Tenant(t)
		visitor := browse(t, n, adminEmail)
		for _, path := range []string{"/members", "/roles", "/roles/new", "/organization", "/keys"} {
			if got := visitor.get("/w/" + tenant.WorkspaceID + path); got.status != http.StatusNotFound {
				t.Errorf("%s of another workspace answers %d", path, got.status)
			}
		}
		for _, path := range []string{"/link", "/roles", "/roles/admin/remove", "/remove"} {
			if got := visitor.post(room(n, "/members/"+tenant.Owner.UserID+path), "role", "viewer"); got.status != http.StatusNotFound {
				t.Errorf("%s of somebody else's member answers %d", path, got.status)
			}
		}
	})
}

func TestRemovingSomebodyOffersToRotateTheMachineClientsTheyMade(t *testing.T) {
	n := start(t)
	n.Member(t, "kim@example.com", "admin")
	browse(t, n, "kim@example.com").post(room(n, "/clients"), "name", "Nightly import", "role", "viewer")
	page := open(t, n, adminEmail, "/members")
	page.ClickText("Remove User kim@example.com")
	page.WaitText("They know the secret of Nightly import: you can rotate it next.")
	page.Shoot("members-remove-client")
	page.ClickText("Remove")
	page.WaitText("Member removed. They know the secret of a machine client, which keeps working until you rotate it.")
	page.WaitText("Left: rotate it")
	page.Accessible("keys with a client whose maker left")
	page.Shoot("keys-left")
	page.ClickText("Rotate the secret of Nightly import")
	page.ClickText("New secret")
	page.WaitText("has a new secret")
	if body := browse(t, n, adminEmail).get(room(n, "/keys")).body; strings.Contains(body, "Left: rotate it") {
		t.Error("the warning stays after the rotation")
	}
}

func TestMachineClientsAreMarkedAmongMembers(t *testing.T) {
	n := start(t)
	visitor := browse(t, n, adminEmail)
	visitor.post(room(n, "/clients"), "name", "Nightly import", "role", "admin")
	page := visitor.get(room(n, "/members")).body
	if !strings.Contains(page, "Machine client") || !strings.Contains(page, "Nightly import") {
		t.Error("the machine client is not among the members")
	}
	if !strings.Contains(page, `id="only-admin"`) {
		t.Error("a machine does not count as an admin")
	}
}

func TestInvitationIsMailedIfMailIsConfigured(t *testing.T) {
	mailbox := smtptest.Start(t, smtptest.Options{})
	n := start(t, func(c *config.Serve) { c.SMTPURL, c.MailFrom = mailbox.URL, "bursar@example.com" })
	n.RunBackground(t)
	got := browse(t, n, adminEmail).post(room(n, "/members"), "email", "newcomer@example.com", "role", "viewer")
	if !strings.Contains(got.body, "The invitation was sent to this address.") || strings.Contains(got.body, "/invite/") {
		t.Errorf("want to be told of the mail, and not of the link, got %d", got.status)
	}
	again := browse(t, n, adminEmail).post(room(n, "/members/"+memberID(t, n, "newcomer@example.com")+"/link"))
	if !strings.Contains(again.body, "A new invitation was sent to newcomer@example.com.") || strings.Contains(again.body, "/invite/") {
		t.Errorf("want to be told of the second mail, and not of the link, got %d", again.status)
	}
	for all := 1; mailbox.Wait(t, all)[all-1].To[0] != "newcomer@example.com"; all++ { // the admin is told of a password
	}
}
