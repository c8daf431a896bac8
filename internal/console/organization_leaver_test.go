package console_test

import (
	"net/http"
	"testing"

	"bursar/internal/server/servertest"
)

func TestOwnerRemovesALeaverByAChecklist(t *testing.T) {
	n := start(t)
	kim := n.Member(t, "kim@example.com", "admin")
	made := kim.Post("/v1/workspaces/"+n.First.WorkspaceID+"/members", servertest.Body{"email": "guest@example.com", "role": "viewer"}).OK()
	n.Admin(t).Post("/v1/organizations/"+n.First.OrganizationID+"/owners", servertest.Body{"user_id": kim.UserID}).OK()
	page := open(t, n, adminEmail, "/organization")
	page.ClickText("Remove a person everywhere")
	page.WaitURL("/organization/leaver")
	page.Fill("Email address", "kim@example.com")
	page.ClickText("Show the checklist")
	page.WaitText("Ownership of the organization")
	page.WaitText("Membership in Treasury (admin)")
	page.WaitText("The invitation of guest@example.com to Treasury")
	page.WaitText("Nothing waits for them.")
	page.Accessible("the checklist of a leaver")
	page.Shoot("organization-leaver")
	page.ClickText("Remove User kim@example.com everywhere")
	page.ClickText("Remove")
	page.WaitText("kim@example.com was removed from the organization and all its workspaces.")
	kim.Get("/v1/workspaces/"+n.First.WorkspaceID).Fails(http.StatusNotFound, "RESOURCE_NOT_FOUND")
	if left := n.Count(t, `SELECT count(*) FROM workspace_member WHERE member_id = $1`, made.Text("user_id")); left != 0 {
		t.Error("the invitation that they made is open")
	}

	page.Goto(n.PublicURL + room(n, "/organization/leaver?email="+adminEmail))
	page.WaitText("is the last admin of Treasury. Make another member an admin first.")
	page.WaitText("is the last owner of the organization.")
	if page.Has(`form[method="post"][data-confirm^="Remove"]`) {
		t.Error("a removal is offered that the service refuses")
	}
	page.Accessible("the checklist of the last owner")
	page.ExpectStatus(http.StatusUnprocessableEntity)
	page.Goto(n.PublicURL + room(n, "/organization/leaver?email=nobody@example.com"))
	page.WaitText("No one with this address is in the organization.")

	n.Member(t, "vic@example.com", "viewer")
	vic := browse(t, n, "vic@example.com")
	refused(t, vic.get(room(n, "/organization/leaver")), "org.settings.write")
	refused(t, vic.post(room(n, "/organization/leaver"), "email", adminEmail), "org.settings.write")
}
