package console_test

import (
	"slices"
	"strings"
	"testing"

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
