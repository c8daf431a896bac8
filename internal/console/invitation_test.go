package console_test

import (
	"net/http"
	"strings"
	"testing"

	"bursar/internal/server/servertest"
)

func TestInvitationsAreAnsweredInTheConsole(t *testing.T) {
	t.Parallel()
	n := start(t)
	grants, payroll := n.Tenant(t), n.Tenant(t)
	grants.Owner.Patch(grants.Path(""), servertest.Body{"name": "Grants"}).OK()
	n.User(t, "ana@example.com")
	grants.Add("ana@example.com", "auditor")
	payroll.Add("ana@example.com", "viewer")

	page := open(t, n, "ana@example.com", "") // is in no workspace, so that one is not there
	page.ExpectStatus(http.StatusNotFound)
	page.Goto(n.PublicURL + "/")
	page.WaitURL("/invitations")
	page.WaitText("Grants")
	page.Accessible("invitations")
	page.Shoot("invitations")
	page.ClickText("Join Grants")
	page.WaitURL("/w/" + grants.WorkspaceID)
	page.WaitText("You're invited to another workspace.")
	page.Accessible("home with an invitation")
	page.Shoot("home-invited")
	page.ClickText("Show the invitation")
	page.WaitURL("/invitations")
	page.ClickText("Decline the invitation to Payroll")
	page.ClickText("Decline")
	page.WaitText("Invitation declined.")
	page.WaitText("No invitations")
	page.Accessible("no invitations")

	if got := grants.Members(t); len(got) != 2 || got[1].Status != "active" {
		t.Errorf("where the invitation was accepted, members are %+v", got)
	}
	if got := len(payroll.Members(t)); got != 1 {
		t.Errorf("%d members are left where the invitation was declined", got)
	}
}

func TestAnInvitationThatHasEndedSaysSo(t *testing.T) {
	each(t, func(t *testing.T, n *servertest.Node) {
		x, email := n.Tenant(t), servertest.NewEmail()
		n.User(t, email)
		id := x.Add(email, "viewer")
		visitor, other := browse(t, n, email), browse(t, n, adminEmail)
		for _, decision := range []string{"accept", "decline"} {
			if got := other.post("/invitations/" + id + "/" + decision); !strings.Contains(got.body, "This invitation has been answered or withdrawn, or has expired.") {
				t.Errorf("somebody else's: %s is answered %d at %s", decision, got.status, got.path)
			}
		}
		x.Owner.Delete(x.Path("/members/" + id)).OK()
		if got := visitor.post("/invitations/" + id + "/accept"); !strings.Contains(got.body, "This invitation has been answered or withdrawn, or has expired.") {
			t.Errorf("answered %d at %s", got.status, got.path)
		}
		if got := visitor.get("/w/" + x.WorkspaceID); got.status != http.StatusNotFound {
			t.Errorf("the workspace answers %d", got.status)
		}
	})
}

func TestEverybodyCanLeaveInTheConsole(t *testing.T) {
	t.Parallel()
	n := start(t)
	n.Member(t, "vic@example.com", "viewer")
	page := open(t, n, "vic@example.com", "/members")
	page.ClickText("Leave the workspace")
	page.ClickText("Leave")
	page.WaitText("You left Treasury.")
	if _, in := members(t, n)["vic@example.com"]; in {
		t.Error("is still a member")
	}

	n.Admin(t).Put("/v1/workspaces/"+n.First.WorkspaceID+"/roles/nothing", servertest.Body{"name": "Nothing", "permissions": []string{}}).OK()
	n.Member(t, "nobody@example.com", "nothing") // does not see the members
	page = open(t, n, "nobody@example.com", "/organization")
	page.ClickText("Leave the workspace")
	page.ClickText("Leave")
	page.WaitText("You left Treasury.")
}
