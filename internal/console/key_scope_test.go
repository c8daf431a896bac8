package console_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
)

// scopeNamed returns what the API shows of the scope of the admin's key with a name.
func scopeNamed(t *testing.T, n *servertest.Node, name string) servertest.Body {
	t.Helper()
	scope := servertest.Body{}
	for _, row := range n.Admin(t).Get("/v1/api-keys").OK().List() {
		if row["name"] != name {
			continue
		}
		for _, field := range []string{"permissions", "workspace_ids", "mode", "administer"} {
			if value, ok := row[field]; ok {
				scope[field] = value
			}
		}
	}
	return scope
}

func TestAKeyIsLimitedInTheForm(t *testing.T) {
	n := start(t)
	page := open(t, n, adminEmail, "/keys/new")
	page.Fill("Name", "Reports")
	page.Select("Money", "Live only")
	page.Click(`input[name=workspace_ids][value="` + n.First.WorkspaceID + `"]`)
	page.ClickText("Limit permissions")
	page.Click(`input[name=permissions][value="ws.payouts.read"]`)
	page.Accessible("limits of a key")
	page.Shoot("keys-limits")
	page.ClickText("Create API key")
	page.WaitText(`API key "Reports" created.`)
	page.WaitText("Live only")
	page.WaitText("2 permissions")
	page.Accessible("a limited key")
	page.Shoot("keys-limited")
	want := servertest.Body{"permissions": []any{"ws.read", "ws.payouts.read"}, "workspace_ids": []any{n.First.WorkspaceID}, "mode": "live", "administer": false}
	if diff := cmp.Diff(want, scopeNamed(t, n, "Reports")); diff != "" {
		t.Errorf("want (-), got (+):\n%s", diff)
	}
}

func TestKeysAndClientsAdministerOnlyIfThatIsTicked(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := startOn(t, store)
		admin := browse(t, n, adminEmail)
		admin.post(room(n, "/keys"), "name", "plain", "expires", "never", "mode", "both")
		admin.post(room(n, "/keys"), "name", "strong", "expires", "never", "mode", "both", "administer", "yes")
		for name, administers := range map[string]bool{"plain": false, "strong": true} {
			if diff := cmp.Diff(servertest.Body{"mode": "both", "administer": administers}, scopeNamed(t, n, name)); diff != "" {
				t.Errorf("%s: want (-), got (+):\n%s", name, diff)
			}
		}
		admin.post(room(n, "/clients"), "name", "Robot", "role", "member", "mode", "sandbox", "permissions", "ws.directory.read")
		for _, row := range n.Admin(t).Get("/v1/workspaces/" + n.First.WorkspaceID + "/clients").OK().List() {
			want := []any{"ws.read", "ws.directory.read"}
			if diff := cmp.Diff(want, row["permissions"]); diff != "" || row["mode"] != "sandbox" || row["administer"] != false {
				t.Errorf("the client is %v\n%s", row, diff)
			}
		}
		if list := admin.get(room(n, "/keys")).body; strings.Count(list, "Sandbox only") == 0 || strings.Count(list, "Can administer") == 0 {
			t.Error("the list does not show the limits")
		}
		t.Run("a form that is wrong keeps what was typed", func(t *testing.T) {
			wrong := admin.post(room(n, "/keys"), "name", "", "expires", "30", "mode", "live", "permissions", "ws.read", "administer", "yes")
			if wrong.status != http.StatusBadRequest || strings.Count(wrong.body, " checked") != 2 || !strings.Contains(wrong.body, `value="live" selected`) {
				t.Errorf("%d\n%s", wrong.status, wrong.body)
			}
		})
	})
}
