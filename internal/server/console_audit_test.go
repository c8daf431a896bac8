package server_test

import (
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"bursar/api"
	"bursar/internal/auditlog"
	"bursar/internal/server/servertest"
)

// throughAPI reads the log page by page over HTTP. query comes in pairs.
func throughAPI(c *servertest.Client, query ...string) []api.AuditEntry {
	all := []api.AuditEntry{}
	path := "/v1/audit?limit=7&" + servertest.Query(query...)
	for next := path; ; {
		answer := c.Get(next).OK()
		all = append(all, servertest.Decoded[[]api.AuditEntry](answer)...)
		cursor, more := answer.Page()
		if !more {
			return all
		}
		next = path + "&cursor=" + url.QueryEscape(cursor)
	}
}

// selections are filters of all kinds that fit the log of a tenant, in pairs.
func selections(x *servertest.Tenant, rows []api.AuditEntry) [][]string {
	ws := []string{"workspace_id", x.WorkspaceID}
	middle := rows[len(rows)/2]
	at := strconv.FormatInt(middle.Timestamp, 10)
	all := [][]string{ws, {"organization_id", x.OrganizationID}}
	for _, filter := range [][]string{
		{"actor", middle.ActorID}, {"action", "directory.entry.created"}, {"action", "starship"}, {"resource_type", "directory_entry"},
		{"resource_id", middle.ResourceID}, {"outcome", "denied"}, {"outcome", ""}, {"from", at}, {"to", at}, {"from", at, "to", at}, {"to", "0"},
		{"outcome", "success", "action", "directory.entry.updated", "from", at},
	} {
		all = append(all, slices.Concat(ws, filter))
	}
	return all
}

func TestConsolePageIsTheListOfTheAPI(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, s := n.EventfulTenant(t), servertest.ServicesOf(t, n.DB, n.Vault)
		for _, query := range selections(x, throughAPI(x.Owner, "workspace_id", x.WorkspaceID)) {
			query := append(query, "limit", "4")
			for next := query; ; {
				page, err := servertest.Invoke(t, s, x.Owner, s.Audit.Page, next...)
				if err != nil {
					t.Fatalf("%v: %v", next, err)
				}
				answer := x.Owner.Get("/v1/audit?" + servertest.Query(next...)).OK()
				if diff := cmp.Diff(servertest.Decoded[[]api.AuditEntry](answer), page.Rows); diff != "" {
					t.Fatalf("%v: the API (-) and the page (+) differ:\n%s", next, diff)
				}
				cursor, more := answer.Page()
				if page.Cursor != cursor || page.More != more {
					t.Fatalf("%v: the page goes on with %q %v, the API with %q %v", next, page.Cursor, page.More, cursor, more)
				}
				if !more {
					break
				}
				next = append(slices.Clone(query), "cursor", cursor)
			}
		}
		for _, query := range [][]string{{}, {"workspace_id", x.WorkspaceID, "organization_id", x.OrganizationID}, {"workspace_id", x.WorkspaceID, "from", "x"}} {
			if _, err := servertest.Invoke(t, s, x.Owner, s.Audit.Page, query...); servertest.FaultCode(err) != api.CodeValidation {
				t.Errorf("%v: %v", query, err)
			}
		}
	})
}

func TestConsoleRowHasTheFormOfTheAPI(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, s := n.Tenant(t), servertest.ServicesOf(t, n.DB, n.Vault)
		x.Entry("<Ada> \u2028 \"A\"")
		rows, err := s.Audit.Recent(t.Context(), servertest.CallerOf(x.Owner), x.WorkspaceID, 1)
		if err != nil {
			t.Fatal(err)
		}
		written, err := json.Marshal(rows)
		if err != nil {
			t.Fatal(err)
		}
		var got []body
		if err := json.Unmarshal(written, &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(x.Audit("")[:1], got); diff != "" {
			t.Errorf("the API (-) and the row (+) differ:\n%s", diff)
		}
	})
}

// rowOf asks for a row of a tenant's workspace.
func rowOf(x *servertest.Tenant, id string) auditlog.GetInput {
	return auditlog.GetInput{Filters: auditlog.Filters{WorkspaceID: &x.WorkspaceID}, ID: id}
}

func TestConsoleRecentAndSingleRows(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, y, s := n.EventfulTenant(t), n.Tenant(t), servertest.ServicesOf(t, n.DB, n.Vault)
		for range 50 {
			x.Entry("More")
		}
		all := throughAPI(x.Owner, "workspace_id", x.WorkspaceID)
		for n, want := range map[int]int{-1: 0, 0: 0, 1: 1, 8: 8, 50: 50, 51: 50, 1 << 40: 50} {
			got, err := s.Audit.Recent(t.Context(), servertest.CallerOf(x.Owner), x.WorkspaceID, n)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(all[:want], got); diff != "" {
				t.Errorf("the newest %d: want (-), got (+):\n%s", n, diff)
			}
		}
		for _, row := range all {
			got, err := s.Audit.Get(t.Context(), servertest.CallerOf(x.Owner), rowOf(x, row.ID))
			if err != nil || !cmp.Equal(got, row) {
				t.Errorf("got %+v, want %+v: %v", got, row, err)
			}
		}
		ofOrganization := throughAPI(x.Owner, "organization_id", x.OrganizationID)[0].ID
		for name, c := range map[string]struct {
			z  *servertest.Tenant
			id string
		}{
			"a row of another workspace": {y, all[0].ID}, "a row of no workspace": {x, ofOrganization},
			"no row": {x, "aud_nothing"}, "no id": {x, ""},
		} {
			if _, err := s.Audit.Get(t.Context(), servertest.CallerOf(c.z.Owner), rowOf(c.z, c.id)); servertest.FaultCode(err) != api.CodeNotFound {
				t.Errorf("%s: %v", name, err)
			}
		}
		foreign, err := s.Audit.Recent(t.Context(), servertest.CallerOf(y.Owner), y.WorkspaceID, 50)
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range foreign {
			if slices.ContainsFunc(all, func(own api.AuditEntry) bool { return own.ID == row.ID }) {
				t.Errorf("another workspace shows %+v", row)
			}
		}
	})
}
