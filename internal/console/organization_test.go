package console_test

import (
	"net/http"
	"strings"
	"testing"

	"bursar/internal/browsertest"
	"bursar/internal/server/servertest"
)

func TestOrganizationAndWorkspaceAreRenamed(t *testing.T) {
	n := start(t)
	n.Admin(t).Post("/v1/workspaces", servertest.Body{"name": "Payroll", "organization_id": n.First.OrganizationID}).OK()
	n.User(t, "rival@example.com").Post("/v1/organizations", servertest.Body{"name": "Rival", "slug": "rival"}).OK()
	page := open(t, n, adminEmail, "/organization")
	page.Accessible("organization")
	page.Shoot("organization")
	page.Fill("Organization name", "Acme Holding")
	page.Fill("Organization slug", "acme-holding")
	page.ClickText("Save organization")
	page.WaitText("Organization saved.")
	org := n.Admin(t).Get("/v1/organizations/" + n.First.OrganizationID).OK()
	if org.Text("name") != "Acme Holding" || org.Text("slug") != "acme-holding" {
		t.Errorf("want the new name, got %s", org.Body)
	}
	page.Fill("Workspace name", "Main treasury")
	page.Fill("Workspace slug", "main")
	page.Select("New entries that may be doubles", "Refuse them")
	page.ClickText("Save workspace")
	page.WaitText("Workspace saved.")
	if page.Text(".switcher summary") != "Main treasury" {
		t.Error("the switcher has the old name")
	}
	if page.Value("New entries that may be doubles") != "refuse" || n.Admin(t).Get("/v1/workspaces/"+n.First.WorkspaceID).OK().Text("on_duplicate") != "refuse" {
		t.Error("doubles are not refused")
	}

	page.ExpectStatus(http.StatusUnprocessableEntity)
	page.Fill("Organization slug", "rival")
	page.ClickText("Save organization")
	page.WaitText(`The slug "rival" is taken.`)
	if page.Text("#organization-slug-problem") == "" || page.Value("Organization slug") != "rival" || page.Value("Workspace slug") != "main" {
		t.Error("want the problem at the field, and what was typed")
	}
	page.Accessible("organization with a slug that is taken")
	page.Shoot("organization-taken")
	page.Fill("Workspace slug", "payroll")
	page.ClickText("Save workspace")
	page.WaitText(`The slug "payroll" is taken.`)
	if page.Text("#workspace-slug-problem") == "" || page.Has("#organization-slug-problem") {
		t.Error("want the problem at the field of the workspace")
	}
}

func TestOrganizationIsReadOnlyWithoutThePermission(t *testing.T) {
	n := start(t)
	n.Member(t, "vic@example.com", "viewer")
	page := open(t, n, "vic@example.com", "/organization")
	page.WaitText("Only an owner of the organization can change these")
	page.WaitText("Your roles don't allow changing these")
	if page.Has(`main form:not([data-confirm^="Leave"])`) || page.Has(`main a[href^="/workspaces/new"]`) {
		t.Error("a viewer is offered what they may not do")
	}
	page.Accessible("organization for a viewer")
	page.Shoot("organization-viewer")
	vic := browse(t, n, "vic@example.com")
	refused(t, vic.post(room(n, "/organization"), "name", "Mine", "slug", "mine"), "org.settings.write")
	refused(t, vic.post(room(n, "/organization/workspace"), "name", "Mine", "slug", "mine"), "ws.write")
	if denied(t, n, "iam.workspace.updated") != 1 {
		t.Error("the refusal is not on record")
	}
	if n.Count(t, `SELECT count(*) FROM audit_entry WHERE organization_id = $1 AND action = 'iam.organization.settings_updated' AND outcome = 'denied'`,
		n.First.OrganizationID) != 1 {
		t.Error("the refusal is not on record for the organization")
	}
	if n.Count(t, `SELECT count(*) FROM audit_entry WHERE action = 'iam.access.denied'`) != 0 {
		t.Error("looking at the page is no refusal")
	}
	refused(t, vic.post("/workspaces/new", "organization", n.First.OrganizationID, "name", "Mine"), "org.settings.write")
}

func TestOwnersAreAddedAndRemoved(t *testing.T) {
	n := start(t)
	n.Member(t, "kim@example.com", "admin")
	page := open(t, n, adminEmail, "/organization")
	page.WaitText("The only owner can't be removed.")
	page.Select("New owner", "User kim@example.com (kim@example.com)")
	page.ClickText("Add owner")
	page.WaitText("Owner added.")
	page.Accessible("organization with two owners")
	page.Shoot("organization-owners")
	kim := browse(t, n, "kim@example.com")
	if got := kim.post(room(n, "/organization"), "name", "Acme Two", "slug", "acme-two"); got.status != http.StatusOK {
		t.Errorf("the new owner changes the organization: %d", got.status)
	}
	if got := kim.post(room(n, "/organization/owners/"+n.First.UserID+"/remove")); !strings.Contains(got.body, "Owner removed.") {
		t.Errorf("the founder is removed: %d", got.status)
	}
	page.Reload()
	page.WaitText("Only an owner of the organization can change these")
	if got := kim.post(room(n, "/organization/owners/"+memberID(t, n, "kim@example.com")+"/remove")); got.status != http.StatusUnprocessableEntity ||
		!strings.Contains(got.body, "The last owner of an organization cannot be removed") {
		t.Errorf("the last owner is told why they stay: %d", got.status)
	}
}

func TestOwnerCreatesAWorkspace(t *testing.T) {
	n := start(t)
	page := open(t, n, adminEmail, "/organization")
	page.ClickText("New workspace")
	page.WaitURL("/workspaces/new")
	page.Accessible("a new workspace")
	page.Shoot("workspace-new")
	page.Fill("Workspace name", "Payroll")
	page.ClickText("Create workspace")
	page.WaitText(`Workspace "Payroll" created.`)
	if page.Text(".switcher summary") != "Payroll" {
		t.Error("want to be in the new workspace")
	}
	page.Goto(n.PublicURL + "/workspaces/new")
	page.Select("Organization", "A new organization")
	page.Fill("Organization name", "Beta")
	page.Fill("Workspace name", "Lab")
	page.ClickText("Create workspace")
	page.WaitText(`Workspace "Lab" created.`)
	if n.Count(t, `SELECT count(*) FROM workspace w JOIN organization o ON o.id = w.organization_id WHERE w.slug = 'lab' AND o.slug = 'beta'`) != 1 {
		t.Error("want a workspace in a new organization")
	}
}

func TestSomebodyWithoutAWorkspaceIsToldWhatToDo(t *testing.T) {
	n := start(t)
	n.User(t, "solo@example.com")
	page := browsertest.Open(t)
	signInBrowser(t, n, page, "solo@example.com")
	page.Goto(n.PublicURL + "/workspaces/new")
	page.WaitText("You're not in a workspace yet.")
	page.WaitText("invite solo@example.com")
	page.Accessible("no workspace")
	page.Shoot("workspace-none")
	page.Fill("Organization name", "Solo")
	page.Fill("Workspace name", "Desk")
	page.ClickText("Create workspace")
	page.WaitText(`Workspace "Desk" created.`)
}

func TestRefusedWorkspaceFormKeepsItsContent(t *testing.T) {
	n := start(t)
	n.User(t, "solo@example.com")
	solo := browse(t, n, "solo@example.com")
	nameless := solo.post("/workspaces/new", "organization_name", "", "name", "Desk")
	if nameless.status != http.StatusBadRequest || !strings.Contains(nameless.body, `id="organization_name-problem"`) || !strings.Contains(nameless.body, `value="Desk"`) {
		t.Errorf("want the problem at the organization, got %d", nameless.status)
	}
	roomless := solo.post("/workspaces/new", "once", "one", "organization_name", "Solo", "name", " ")
	if roomless.status != http.StatusBadRequest || !strings.Contains(roomless.body, `id="name-problem"`) || !strings.Contains(roomless.body, "selected>Solo</option>") {
		t.Errorf("want the problem at the workspace and the organization chosen, got %d", roomless.status)
	}
	twice := []answer{
		solo.post("/workspaces/new", "once", "two", "organization", "new", "organization_name", "Pair", "name", "Desk"),
		solo.post("/workspaces/new", "once", "two", "organization", "new", "organization_name", "Pair", "name", "Desk"),
	}
	if twice[0].path != twice[1].path || n.Count(t, `SELECT count(*) FROM organization WHERE name = 'Pair'`) != 1 {
		t.Errorf("a form sent twice acts once: %s and %s", twice[0].path, twice[1].path)
	}
}

func TestAnOwnerDecidesHowLongTheAuditLogIsKept(t *testing.T) {
	t.Parallel()
	n := start(t)
	n.Member(t, "vic@example.com", "viewer")
	page := open(t, n, adminEmail, "/organization")
	page.WaitText("Acme keeps its audit log for ever.")
	save := func(days string) {
		page.Fill("Erase after days", days)
		page.ClickText("Save retention")
		page.ClickText("Change")
	}
	for days, problem := range map[string]string{"30": "Must be at least 365, or 0 to keep the log for ever.", "soon": "Must be a whole number."} {
		page.ExpectStatus(http.StatusBadRequest)
		save(days)
		page.WaitText(problem)
		if page.Value("Erase after days") != days {
			t.Errorf("what was typed is gone: %q", page.Value("Erase after days"))
		}
		page.Accessible("organization with a bad retention")
		page.ExpectStatus(http.StatusOK)
	}
	save("730")
	page.WaitText("Audit log retention saved.")
	page.WaitText("What's personal in an audit entry of Acme and its workspaces is erased after 730 days.")
	page.Accessible("organization with a retention")
	page.Shoot("organization-retention")
	vic := open(t, n, "vic@example.com", "/organization")
	vic.WaitText("is erased after 730 days.")
	save("")
	page.WaitText("Acme keeps its audit log for ever.")
}
