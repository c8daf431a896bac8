package auditlog_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
)

func TestAuditOfAnOrganization(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)

		t.Run("it holds what belongs to no workspace", func(t *testing.T) {
			key := x.Owner.On(t).Post("/v1/api-keys", body{"name": "CI"}).OK().Text("id")
			x.Entry("Elsewhere")
			rows := x.Owner.On(t).Get(x.OrganizationAuditPath()).OK()
			if got := rows.Column("resource_id"); !slices.Contains(got, key) || !slices.Contains(got, x.OrganizationID) {
				t.Errorf("it lists %v, without key %s or organization %s", got, key, x.OrganizationID)
			}
			if got := rows.Column("action"); slices.Contains(got, "directory.entry.created") || slices.Contains(got, "iam.workspace.created") {
				t.Errorf("it lists %v, which belong to the workspace", got)
			}
			for _, row := range x.Audit("") {
				if row["resource_id"] == key {
					t.Errorf("the workspace lists %v", row)
				}
			}
		})

		t.Run("who left the last workspace is no longer in it", func(t *testing.T) {
			email := servertest.NewEmail()
			invitation := x.Add(email, "viewer")
			user := n.User(t, email) // which began with the invitation
			user.Join(invitation)
			inside := user.Post("/v1/api-keys", body{"name": "Inside"}).OK().Text("id")
			x.Owner.On(t).Delete(x.Path("/members/" + user.UserID)).OK()
			outside := user.Post("/v1/api-keys", body{"name": "Outside"}).OK().Text("id")
			rows := x.Owner.On(t).Get(x.OrganizationAuditPath() + "&limit=100").OK().Column("resource_id")
			if !slices.Contains(rows, inside) || slices.Contains(rows, outside) {
				t.Errorf("of key %s (inside) and %s (outside) it lists %v", inside, outside, rows)
			}
			if own := user.Get("/v1/auth/activity").OK().Column("resource_id"); !slices.Contains(own, outside) {
				t.Errorf("their own activity is %v, without %s", own, outside)
			}
		})

		t.Run("an owner alone reads it", func(t *testing.T) {
			refused := x.Member("admin").On(t).Get(x.OrganizationAuditPath()).Fails(403, "FORBIDDEN")
			if got := refused.Detail("permission"); got != "org.settings.write" {
				t.Errorf("the missing permission is %q", got)
			}
			n.User(t, servertest.NewEmail()).Get(x.OrganizationAuditPath()).Fails(404, "RESOURCE_NOT_FOUND")
		})

		t.Run("an owner who left the workspace reads nothing of it", func(t *testing.T) {
			y := n.Tenant(t)
			y.Member("admin").Delete(y.Path("/members/" + y.Owner.UserID)).OK()
			y.Owner.Get(y.OrganizationAuditPath()).OK()
			y.Owner.Get(y.AuditPath()).Fails(404, "RESOURCE_NOT_FOUND")
		})

		t.Run("exactly one of workspace and organization is asked for", func(t *testing.T) {
			c := x.Owner.On(t)
			c.Get("/v1/audit").Invalid("workspace_id")
			c.Get("/v1/audit?workspace_id=").Invalid("workspace_id")
			c.Get(x.AuditPath() + "&organization_id=" + x.OrganizationID).Invalid("organization_id")
			c.Get(x.AuditPath()+"&workspace_id="+x.WorkspaceID).Fails(400, "VALIDATION_ERROR")
		})
	})
}

func TestAuditIsOneTenantsOwn(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, y := n.EventfulTenant(t), n.Tenant(t)
		y.Owner.Get(x.AuditPath()).Fails(404, "RESOURCE_NOT_FOUND")
		y.Owner.Get(x.OrganizationAuditPath()).Fails(404, "RESOURCE_NOT_FOUND")
		entry := x.Entry("Ours")
		for _, path := range []string{y.AuditPath(), y.OrganizationAuditPath(), "/v1/auth/activity?limit=100"} {
			for _, row := range y.Owner.Get(path).OK().List() {
				asked := row["action"] == "iam.access.denied" && row["actor_id"] == y.Owner.UserID // with an id of the caller's choice
				if text := fmt.Sprint(row); !asked && (strings.Contains(text, x.Owner.UserID) || strings.Contains(text, x.WorkspaceID)) {
					t.Errorf("%s tells of others: %s", path, text)
				}
			}
		}
		if got := y.Audit("&resource_id=" + entry); len(got) != 0 {
			t.Errorf("a filter reaches the rows of others: %v", got)
		}
	})
}

func TestRefusalsAreAudited(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		viewer := x.Member("viewer")
		entry := x.Entry("Guarded")
		workspaceLog := func(t *testing.T) []body { return x.Audit("") }
		organizationLog := func(t *testing.T) []body { return x.Owner.On(t).Get(x.OrganizationAuditPath()).OK().List() }
		cases := map[string]struct {
			method, path string
			body         any
			action       string
			resource     string
			log          func(t *testing.T) []body
		}{
			"a mutation is filed under its action": {"PATCH", "/v1/directory/" + entry, body{"status": "inactive"},
				"directory.entry.updated", entry, workspaceLog},
			"a mutation of members":        {"DELETE", x.Path("/members/" + x.Owner.UserID), nil, "iam.member.removed", x.Owner.UserID, workspaceLog},
			"an id that no store can hold": {"DELETE", x.Path("/members/a%00b%ff"), nil, "iam.member.removed", "", workspaceLog},
			"a read is filed as refused access": {"GET", x.AuditPath(), nil,
				"iam.access.denied", "", workspaceLog},
			"a mutation of the organization": {"PATCH", x.OrganizationPath("/settings"), body{"name": "Mine"},
				"iam.organization.settings_updated", x.OrganizationID, organizationLog},
			"a new workspace": {"POST", "/v1/workspaces", body{"name": "Mine", "organization_id": x.OrganizationID},
				"iam.workspace.created", "", organizationLog},
			"a read of the organization": {"GET", x.OrganizationAuditPath(), nil,
				"iam.access.denied", "", organizationLog},
		}
		for name, c := range cases {
			t.Run(name, func(t *testing.T) {
				before := len(c.log(t))
				answer := viewer.On(t).Do(c.method, c.path, c.body).Fails(403, "FORBIDDEN")
				rows := c.log(t)
				if len(rows) != before+1 {
					t.Fatalf("%d rows were added, want 1", len(rows)-before)
				}
				got := rows[0]
				if got["outcome"] != "denied" || got["action"] != c.action || got["actor_id"] != viewer.UserID || got["resource_id"] != c.resource ||
					got["request_id"] != answer.Header.Get("X-Request-Id") || !strings.Contains(got["description"].(string), answer.Detail("permission")) {
					t.Errorf("the row is %v", got)
				}
			})
		}

		t.Run("a stranger who is told 404 leaves nothing in the log", func(t *testing.T) {
			stranger := n.User(t, servertest.NewEmail())
			before := len(x.Audit(""))
			stranger.Get(x.AuditPath()).Fails(404, "RESOURCE_NOT_FOUND")
			stranger.Patch(x.Path(""), body{"name": "Mine"}).Fails(404, "RESOURCE_NOT_FOUND")
			if added := len(x.Audit("")) - before; added != 0 {
				t.Errorf("%d rows were added", added)
			}
		})
	})
}

func TestAuditRowsOutliveTheirResource(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		admin, ws := n.Admin(t), n.First.WorkspaceID
		path := "/v1/workspaces/" + ws
		user := n.Member(t, servertest.NewEmail(), "member")
		name := user.Get("/v1/auth/me").OK().Text("name")
		entry := user.Post("/v1/directory", body{"workspace_id": ws, "type": "person", "fields": body{}}).OK().Text("id")
		admin.Put(path+"/roles/brief", body{"name": "Brief", "permissions": []string{}}).OK()
		admin.Delete(path + "/roles/brief").OK()
		admin.Delete("/v1/directory/" + entry).OK()
		admin.Delete(path + "/members/" + user.UserID).OK()
		n.Clock.Advance(31 * 24 * time.Hour)
		if err := n.Server.Tidy(t.Context()); err != nil {
			t.Fatal(err)
		}
		if left := n.Count(t, `SELECT count(*) FROM directory_entry WHERE id = $1`, db.PackID("entry", entry)); left != 0 {
			t.Fatal("the entry was not purged")
		}
		admin = n.Admin(t)
		for resource, want := range map[string][]string{
			entry:       {"directory.entry.purged", "directory.entry.deleted", "directory.entry.created"},
			"brief":     {"iam.role.deleted", "iam.role.created"},
			user.UserID: {"iam.member.removed", "iam.member.accepted"},
		} {
			rows := admin.Get("/v1/audit?workspace_id=" + ws + "&resource_id=" + resource).OK()
			if got := rows.Column("action"); !slices.Equal(got, want) {
				t.Errorf("rows of %s are %v, want %v", resource, got, want)
			}
		}
		made := admin.Get("/v1/audit?workspace_id=" + ws + "&action=directory.entry.created").OK()
		if got := made.Column("actor_name"); !slices.Equal(got, []string{name}) {
			t.Errorf("the actor is %v, want %s", got, name)
		}
	})
}

func TestAuditRowsCannotBeChanged(t *testing.T) {
	attempts := map[string][]string{
		"both": {
			`UPDATE audit_log SET entry = '["nothing.happened"]'`,
			`UPDATE audit_log SET workspace_number = 0`,
			`DELETE FROM audit_log`,
			`INSERT INTO audit_log SELECT * FROM audit_log WHERE 1 = 1 ON CONFLICT (workspace_number, id) WHERE workspace_number IS NOT NULL
				DO UPDATE SET entry = '["nothing.happened"]'`,
		},
		"sqlite": {
			`INSERT OR REPLACE INTO audit_log SELECT id, workspace_number, organization_id, actor_id_key, action_key, resource_type_key,
				resource_id_key, outcome_key, '["nothing.happened"]' FROM audit_log WHERE workspace_number IS NOT NULL`,
			`UPDATE OR REPLACE audit_log SET workspace_number = 0`,
		},
		"postgres": {`TRUNCATE audit_log`},
	}
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		x := n.EventfulTenant(t)
		want := x.Owner.Get(x.AuditPath() + "&limit=100").OK()
		for _, attempt := range append(attempts["both"], attempts[store.Engine]...) {
			_, err := db.Write(t.Context(), n.DB, db.Caller{}, func(tx *db.Tx) (struct{}, audit.Event, error) {
				return struct{}{}, audit.None("a test tries to change rows"), tx.Exec(attempt)
			})
			if err == nil {
				t.Errorf("the store accepted: %s", attempt)
			}
			if got := x.Owner.Get(x.AuditPath() + "&limit=100").OK(); string(got.Body) != string(want.Body) {
				t.Fatalf("rows changed by: %s", attempt)
			}
		}
	})
}
