package console_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"bursar/internal/browsertest"
	"bursar/internal/config"
	"bursar/internal/mail/smtptest"
	"bursar/internal/server/servertest"
)

// members is the roles of everyone in the first workspace, by email.
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
