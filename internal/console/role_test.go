package console_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"bursar/internal/browsertest"
	"bursar/internal/server/servertest"
)

type role struct {
	Key, Name, Color string
	Permissions      []string
}

// roles reads the roles of the first workspace, by key.
func roles(t testing.TB, n *servertest.Node) map[string]role {
	t.Helper()
	var list []role
	n.Admin(t).Get("/v1/workspaces/" + n.First.WorkspaceID + "/roles").OK().Data(&list)
	found := map[string]role{}
	for _, r := range list {
		found[r.Key] = r
	}
	return found
}

func TestTheMatrixShowsWhatEachRoleAllows(t *testing.T) {
	n := start(t)
	n.Admin(t).Put("/v1/workspaces/"+n.First.WorkspaceID+"/roles/night_shift", servertest.Body{
		"name": "Night shift", "color": "#c11574", "permissions": []string{"ws.read", "ws.audit.read"},
	}).OK()
	n.Member(t, "ana@example.com", "night_shift")
	page := open(t, n, adminEmail, "/roles")
	var cells []struct {
		Role, Permission string
		Yes              bool
	}
	page.Eval(`[...document.querySelectorAll("td[data-permission]")].map((td) => ({
		Role: td.dataset.role, Permission: td.dataset.permission, Yes: td.textContent.trim() === "Yes" }))`, &cells)
	all := roles(t, n)
	shown := map[string]bool{}
	for _, cell := range cells {
		shown[cell.Permission] = true
	}
	for _, permission := range all["admin"].Permissions {
		useless := strings.HasPrefix(permission, "ws.webhooks.")
		if shown[permission] == useless {
			t.Errorf("the row of %s is shown: %v", permission, shown[permission])
		}
	}
	if want := len(all) * len(shown); len(cells) != want {
		t.Errorf("want %d cells, got %d", want, len(cells))
	}
	if first := page.Text("table.matrix thead th:nth-child(2)"); first != "Night shift" {
		t.Errorf("the workspace's own role is not first, but %s", first)
	}
	for _, cell := range cells {
		if slices.Contains(all[cell.Role].Permissions, cell.Permission) != cell.Yes {
			t.Errorf("the matrix is wrong about %s and %s", cell.Role, cell.Permission)
		}
	}
	if page.Has(`tbody small.mono:empty`) || slices.Contains(page.Texts("tbody th[scope=rowgroup]"), "Other") {
		t.Error("every permission is described")
	}
	if held := page.Text(`a[aria-label="1 member with the role Night shift"]`); held != "1" {
		t.Errorf("want one holder, got %s", held)
	}
	page.Accessible("roles")
	page.Shoot("roles")
	page.SetViewport(390, 844)
	var broken []string
	page.Eval(`[...document.querySelectorAll("tbody small.mono")].flatMap((small) => [...small.childNodes]).filter((node) => {
		const range = document.createRange();
		range.selectNodeContents(node);
		return node.nodeType === Node.TEXT_NODE && range.getClientRects().length > 1;
	}).map((node) => node.parentNode.textContent)`, &broken)
	if len(broken) > 0 {
		t.Errorf("on a phone these names break within a word: %q", broken)
	}
}

func TestARoleIsCreatedChangedAndDeleted(t *testing.T) {
	n := start(t)
	page := open(t, n, adminEmail, "/roles")
	page.Accessible("roles without own ones")
	page.ClickText("New role")
	page.Accessible("a new role")
	page.Fill("Name", "Night shift")
	page.Fill("Color", "#c11574")
	page.Check("See the audit log") // this also ticks "See the workspace"
	page.Eval("scrollTo(0, 0)", nil)
	page.Shoot("roles-new")
	page.ClickText("Create role")
	page.WaitText(`Role "Night shift" saved.`)
	made := roles(t, n)["night_shift"]
	if made.Name != "Night shift" || made.Color != "#c11574" || !slices.Equal(made.Permissions, []string{"ws.read", "ws.audit.read"}) {
		t.Fatalf("want what was chosen, got %+v", made)
	}

	page.ClickText("Edit role Night shift")
	page.Accessible("a role")
	page.Shoot("roles-edit")
	page.Fill("Name", "Late shift")
	page.Uncheck("See the audit log")
	page.Check("See entries and tags")
	page.ClickText("Save")
	page.WaitText(`Role "Late shift" saved.`)
	if changed := roles(t, n)["night_shift"]; changed.Name != "Late shift" || !slices.Equal(changed.Permissions, []string{"ws.read", "ws.directory.read"}) {
		t.Fatalf("want what was changed, got %+v", changed)
	}

	n.Member(t, "ana@example.com", "night_shift")
	page.ExpectStatus(http.StatusUnprocessableEntity)
	page.ClickText("Delete role Late shift")
	page.ClickText("Delete")
	page.WaitText("The role night_shift is in use: remove it from its members first.")
	page.Accessible("roles with one in use")
	page.Shoot("roles-in-use")
	n.Admin(t).Delete("/v1/workspaces/" + n.First.WorkspaceID + "/roles/" + memberID(t, n, "ana@example.com") + "/night_shift").OK()
	page.ClickText("Delete role Late shift")
	page.ClickText("Delete")
	page.WaitText(`Role "Late shift" deleted.`)
	if _, there := roles(t, n)["night_shift"]; there {
		t.Error("the role is still there")
	}
}

func TestRoleProblemsAreShownBesideTheirFields(t *testing.T) {
	n := start(t)
	visitor := browse(t, n, adminEmail)
	visitor.post(room(n, "/roles"), "name", "Night shift", "role", "night", "color", "#c11574", "permissions", "ws.read")

	again := visitor.post(room(n, "/roles"), "name", "Night shift", "role", "night", "color", "#c11574", "permissions", "ws.read")
	if again.path != room(n, "/roles") || again.status != http.StatusOK {
		t.Errorf("the same form sent twice does no harm, got %d at %s", again.status, again.path)
	}
	other := visitor.post(room(n, "/roles"), "name", "Nightly", "role", "night", "color", "#c11574", "permissions", "ws.audit.read")
	if other.status != http.StatusUnprocessableEntity || !strings.Contains(other.body, "A role with the key night already exists.") {
		t.Errorf("want that the key is taken, got %d", other.status)
	}
	if roles(t, n)["night"].Name != "Night shift" {
		t.Error("a new role has changed one that was there")
	}
	page := open(t, n, adminEmail, "/roles/new")
	page.Eval(`document.querySelector("#role").form.noValidate = true`, nil)
	page.ExpectStatus(http.StatusBadRequest)
	page.Fill("Key (optional)", "Not A Key")
	page.Check("See entries and tags")
	page.ClickText("Create role")
	page.WaitText("Please fix the highlighted fields: Name, Key")
	page.WaitText("Must be 2 to 48 of a-z, 0-9 and _, beginning with a letter.")
	page.WaitText("Must be 1 to 100 characters.")
	if page.Value("Key (optional)") != "Not A Key" || !page.Has(`input[value="ws.directory.read"]:checked`) {
		t.Error("what was typed is lost")
	}
	page.Accessible("a wrong role")
	page.Shoot("roles-wrong")
}

func TestPermissionsAreTickedWithThoseTheyNeed(t *testing.T) {
	n := start(t)
	page := open(t, n, adminEmail, "/roles/new")
	ticked := func() string {
		var keys []string
		page.Eval(`[...document.querySelectorAll("input[name=permissions]:checked")].map((box) => box.value)`, &keys)
		return strings.Join(keys, " ")
	}
	page.Check("Add, edit and remove receiving methods")
	if got := ticked(); got != "ws.read ws.directory.read ws.receiving.read ws.receiving.write" {
		t.Errorf("ticking one leads to %s", got)
	}
	page.Check("See the audit log")
	page.Uncheck("See entries and tags")
	if got := ticked(); got != "ws.read ws.audit.read" {
		t.Errorf("clearing one leaves %s", got)
	}
	page.Uncheck("See the workspace")
	if got := ticked(); got != "" {
		t.Errorf("without seeing the workspace there is %s", got)
	}
	page.ExpectStatus(http.StatusUnprocessableEntity)
	page.Fill("Name", "Nothing at all")
	page.ClickText("Create role")
	page.WaitText("Choose at least one permission.")
	page.Accessible("a role without permissions")
	page.Shoot("roles-no-permissions")
	if _, there := roles(t, n)["nothing_at_all"]; there {
		t.Error("a role without permissions was saved")
	}
}

func TestWhatAPermissionNeedsIsAddedWithoutScripts(t *testing.T) {
	n := start(t)
	page := open(t, n, adminEmail, "/roles/new", browsertest.WithoutScripts())
	page.Fill("Name", "Editor")
	page.Check("Add and edit entries")
	page.ClickText("Create role")
	page.WaitText(`Role "Editor" saved. Added because other permissions need them: See the workspace; See entries and tags.`)
	if got := roles(t, n)["editor"].Permissions; !slices.Equal(got, []string{"ws.read", "ws.directory.read", "ws.directory.write"}) {
		t.Errorf("the role has %v", got)
	}
	visitor := browse(t, n, adminEmail)
	if got := visitor.post(room(n, "/roles/editor"), "name", "Editor"); got.status != http.StatusUnprocessableEntity || !strings.Contains(got.body, "Choose at least one permission.") {
		t.Errorf("taking all permissions away answers %d", got.status)
	}
	if got := visitor.post(room(n, "/roles/editor"), "name", "Editor", "permissions", "ws.flying"); got.status != http.StatusBadRequest {
		t.Errorf("an unknown permission answers %d", got.status)
	}
}

func TestANewRoleStartsFromAnother(t *testing.T) {
	n := start(t)
	n.Admin(t).Put("/v1/workspaces/"+n.First.WorkspaceID+"/roles/night_shift", servertest.Body{
		"name": "Night shift", "color": "#c11574", "permissions": []string{"ws.read", "ws.audit.read", "ws.webhooks.read"},
	}).OK()
	page := open(t, n, adminEmail, "/roles/new")
	if got := page.Texts("#from option"); len(got) < 3 || got[1] != "Night shift" || !slices.Contains(got, "Viewer") {
		t.Errorf("a role can start from %q", got)
	}
	page.Select("Start from", "Auditor")
	page.WaitURL("from=auditor")
	page.Fill("Name", "Reviewer")
	page.Accessible("a role that starts from another")
	page.Shoot("roles-start-from")
	page.ClickText("Create role")
	page.WaitText(`Role "Reviewer" saved.`)
	want := []string{"ws.read", "ws.members.read", "ws.directory.read", "ws.audit.read", "ws.audit.export", "ws.payouts.read", "ws.accounts.read"}
	if got := roles(t, n)["reviewer"].Permissions; !slices.Equal(got, want) {
		t.Errorf("the role has %v, want %v", got, want)
	}
	page.ClickText("Edit role Night shift")
	if !page.Has(`input[value="ws.webhooks.read"]:checked`) || page.Has(`input[value="ws.webhooks.write"]`) {
		t.Error("want the permission that the role has, and no other for webhooks")
	}
}

func TestBuiltInRolesCannotBeChanged(t *testing.T) {
	n := start(t)
	visitor := browse(t, n, adminEmail)
	if got := visitor.get(room(n, "/roles/viewer/edit")); got.status != http.StatusNotFound {
		t.Errorf("a built-in role opens for editing: %d", got.status)
	}
	if got := visitor.post(room(n, "/roles"), "name", "Mine", "role", "viewer", "permissions", "ws.read"); got.status != http.StatusBadRequest ||
		!strings.Contains(got.body, "Is a built-in role, which cannot be changed.") {
		t.Errorf("want that it is built in, got %d", got.status)
	}
	if got := visitor.post(room(n, "/roles/viewer/delete")); got.status != http.StatusBadRequest {
		t.Errorf("a built-in role can be deleted: %d", got.status)
	}
}

func TestRolesAreReadOnlyWithoutThePermission(t *testing.T) {
	n := start(t)
	path := "/v1/workspaces/" + n.First.WorkspaceID + "/roles/"
	n.Admin(t).Put(path+"night", servertest.Body{"name": "Night", "permissions": []string{"ws.read"}}).OK()
	n.Member(t, "vic@example.com", "viewer")
	page := open(t, n, "vic@example.com", "/roles")
	page.Accessible("roles for a viewer")
	page.Shoot("roles-viewer")
	if page.Has(`a[href$="/roles/new"]`) || page.Has(`main form`) || page.Has(`a[href$="/edit"]`) {
		t.Error("a viewer is offered what they may not do")
	}
	vic := browse(t, n, "vic@example.com")
	refused(t, vic.get(room(n, "/roles/new")), "ws.roles.write")
	refused(t, vic.get(room(n, "/roles/night/edit")), "ws.roles.write")
	refused(t, vic.post(room(n, "/roles"), "name", "Mine", "role", "night", "permissions", "ws.read"), "ws.roles.write")
	refused(t, vic.post(room(n, "/roles/night"), "name", "Mine", "permissions", "ws.read"), "ws.roles.write")
	refused(t, vic.post(room(n, "/roles/night/delete")), "ws.roles.write")
	for action, want := range map[string]int{"iam.role.created": 1, "iam.role.updated": 1, "iam.role.deleted": 1, "iam.access.denied": 2} {
		if got := denied(t, n, action); got != want {
			t.Errorf("want %d refusals of %s on record, got %d", want, action, got)
		}
	}
}

func TestNobodyCanGrantPermissionsTheyLack(t *testing.T) {
	n := start(t)
	path := "/v1/workspaces/" + n.First.WorkspaceID + "/roles/"
	n.Admin(t).Put(path+"clerk", servertest.Body{"name": "Clerk", "permissions": []string{"ws.read", "ws.members.read", "ws.roles.write"}}).OK()
	n.Admin(t).Put(path+"night", servertest.Body{"name": "Night", "permissions": []string{"ws.read", "ws.audit.read"}}).OK()
	n.Member(t, "cleo@example.com", "clerk")
	cleo := browse(t, n, "cleo@example.com")
	form := cleo.get(room(n, "/roles/new")).body
	if !strings.Contains(form, `value="ws.roles.write"`) || strings.Contains(form, `value="ws.audit.read"`) {
		t.Error("want only permissions that the visitor holds")
	}
	if list := cleo.get(room(n, "/roles")).body; strings.Contains(list, "/roles/night/edit") || !strings.Contains(list, "includes permissions you don") {
		t.Error("a role beyond the visitor is offered for editing")
	}
	refused(t, cleo.get(room(n, "/roles/night/edit")), "ws.audit.read")
	refused(t, cleo.post(room(n, "/roles"), "name", "Mine", "permissions", "ws.audit.read"), "ws.audit.read")
}
