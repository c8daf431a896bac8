package server_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"bursar/api"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/server/servertest"
)

func TestConsoleExportIsWhatTheAPILists(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, y, s := n.EventfulTenant(t), n.EventfulTenant(t), servertest.ServicesOf(t, n.DB, n.Vault)
		for _, query := range selections(x, throughAPI(x.Owner, "workspace_id", x.WorkspaceID)) {
			for _, format := range []string{"csv", "ndjson"} {
				want := throughAPI(x.Owner, query...)
				got, err := servertest.Invoke(t, s, x.Owner, exporting(s.Audit.Export, nil), append(query, "format", format)...)
				if err != nil {
					t.Fatalf("%v: %v", query, err)
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%v: the API (-) and the export (+) differ:\n%s", query, diff)
				}
			}
		}
		if got := y.Audit("&action=audit.exported"); len(got) != 0 {
			t.Errorf("another workspace tells of %v", got)
		}
	})
}

func TestConsoleExportChecksItsInput(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, s := n.Tenant(t), servertest.ServicesOf(t, n.DB, n.Vault)
		ws := []string{"workspace_id", x.WorkspaceID}
		for _, query := range [][]string{
			append(ws, "format", "xlsx"), append(ws, "format", ""), {"format", "csv"}, append(ws, "format", "csv", "organization_id", x.OrganizationID),
			append(ws, "format", "csv", "from", "x"), append(ws, "format", "csv", "action", "a\nb"), append(ws, "format", "csv", "actor", fmt.Sprintf("%201d", 1)),
		} {
			leaves(t, n, func() {
				if _, err := servertest.Invoke(t, s, x.Owner, exporting(s.Audit.Export, nil), query...); servertest.FaultCode(err) != api.CodeValidation {
					t.Errorf("%v: %v", query, err)
				}
			})
		}
	})
}

func TestConsoleExportIsOnRecordBeforeItsFirstRow(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, s := n.EventfulTenant(t), servertest.ServicesOf(t, n.DB, n.Vault)
		entry := x.Entry("Ada")
		exports := func() []body { return x.Audit("&action=audit.exported") }
		before := len(exports())
		var during []int
		rows, err := servertest.Invoke(t, s, x.Owner, exporting(s.Audit.Export, func(api.AuditEntry) error {
			during = append(during, len(exports())-before)
			return nil
		}), "workspace_id", x.WorkspaceID, "format", "csv", "resource_id", entry, "from", "1000", "to", "253402300799999")
		if err != nil || !slices.Equal(during, []int{1}) || len(rows) != 1 {
			t.Fatalf("%d rows were exported, with %v rows on record: %v", len(rows), during, err)
		}
		got := exports()
		if len(got) != before+1 {
			t.Fatalf("%d rows on record, want one", len(got)-before)
		}
		for field, want := range map[string]string{
			"resource_type": "audit", "resource_id": x.WorkspaceID, "outcome": "success", "actor_id": x.Owner.UserID, "actor_name": "Caller",
			"description": "Exported the audit log as CSV (resource " + entry + ", from 1970-01-01T00:00:01.000Z to 9999-12-31T23:59:59.999Z)",
		} {
			if got[0][field] != want {
				t.Errorf("%s is %v, want %s", field, got[0][field], want)
			}
		}
		for want, query := range map[string][]string{
			"Exported the audit log as NDJSON":                                               {"format", "ndjson"},
			"Exported the audit log as CSV (to 1970-01-01T00:00:00.000Z)":                    {"format", "csv", "to", "0"},
			"Exported the audit log as CSV (actor none, action a.b.c)":                       {"format", "csv", "actor", "", "action", "a.b.c"},
			"Exported the audit log as CSV (resource type api_key, outcome denied)":          {"format", "csv", "resource_type", "api_key", "outcome", "denied"},
			"Exported the audit log as CSV (outcome failure, from 1970-01-01T00:00:00.005Z)": {"format", "csv", "from", "5", "outcome", "failure"},
		} {
			leaves(t, n, func() {
				if _, err := servertest.Invoke(t, s, x.Owner, exporting(s.Audit.Export, nil), append(query, "workspace_id", x.WorkspaceID)...); err != nil {
					t.Fatal(err)
				}
			}, storedRow{"audit.exported", "success", "audit"})
			if got := exports()[0]["description"]; got != want {
				t.Errorf("%v is described as %q, want %q", query, got, want)
			}
		}

		t.Run("also where the receiver goes away", func(t *testing.T) {
			gone := errors.New("gone")
			leaves(t, n, func() {
				rows, err := servertest.Invoke(t, s, x.Owner, exporting(s.Audit.Export, func(api.AuditEntry) error { return gone }), "workspace_id", x.WorkspaceID, "format", "csv")
				if !errors.Is(err, gone) || len(rows) != 1 {
					t.Errorf("%d rows, %v", len(rows), err)
				}
			}, storedRow{"audit.exported", "success", "audit"})
		})
		t.Run("and nobody who is refused gets a row", func(t *testing.T) {
			viewer := x.Member("viewer")
			leaves(t, n, func() {
				rows, err := servertest.Invoke(t, s, viewer, exporting(s.Audit.Export, nil), "workspace_id", x.WorkspaceID, "format", "csv")
				if servertest.FaultCode(err) != api.CodeForbidden || len(rows) != 0 {
					t.Errorf("%d rows, %v", len(rows), err)
				}
			}, storedRow{"iam.access.denied", "denied", ""}) // which the endpoint records
		})
		t.Run("an organization's own is filed with it", func(t *testing.T) {
			if _, err := servertest.Invoke(t, s, x.Owner, exporting(s.Audit.Export, nil), "organization_id", x.OrganizationID, "format", "csv"); err != nil {
				t.Fatal(err)
			}
			newest := x.Owner.On(t).Get(x.OrganizationAuditPath()).OK().List()[0]
			if newest["action"] != "audit.exported" || newest["resource_id"] != x.OrganizationID {
				t.Errorf("the newest row is %v", newest)
			}
		})
	})
}

// happen adds rows to the log of a workspace.
func happen(t *testing.T, d *db.DB, workspaceID string, outcomes ...audit.Outcome) {
	t.Helper()
	for _, outcome := range outcomes {
		event := audit.Event{Action: audit.EntryUpdated, Outcome: outcome, WorkspaceID: workspaceID, ResourceID: "entry_1", Description: "Happened"}
		if err := db.Record(t.Context(), d, db.Caller{}, event, nil); err != nil {
			t.Fatal(err)
		}
	}
}

func TestConsoleExportOfManyRowsWhileMoreArrive(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		s := servertest.ServicesOf(t, n.DB, n.Vault)
		for _, many := range []int{499, 500, 501, 1000} {
			x := n.Tenant(t)
			happen(t, n.DB, x.WorkspaceID, slices.Repeat([]audit.Outcome{audit.Success}, many-x.AuditCount())...)
			var want []string
			for _, row := range throughAPI(x.Owner, "workspace_id", x.WorkspaceID) {
				want = append(want, row.ID)
			}
			var got []string
			_, err := servertest.Invoke(t, s, x.Owner, exporting(s.Audit.Export, func(r api.AuditEntry) error {
				got = append(got, r.ID)
				if len(got)%100 == 1 {
					happen(t, n.DB, x.WorkspaceID, audit.Success, audit.Denied)
				}
				return nil
			}), "workspace_id", x.WorkspaceID, "format", "ndjson")
			if err != nil || len(want) != many || !slices.Equal(got, want) {
				t.Errorf("%d rows were exported, want %d of %d: %v", len(got), len(want), many, err)
			}
		}
	})
}

// More exports than there are connections wait for their receivers at once, and
// the store still answers.
func TestConsoleExportHoldsNothingWhileItsReceiverIsSlow(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		const receivers = 64
		x, s := n.Tenant(t), servertest.ServicesOf(t, n.DB, n.Vault)
		arrived, goOn := make(chan error, 2*receivers), make(chan struct{})
		var all sync.WaitGroup
		var rows atomic.Int64
		for range receivers {
			all.Go(func() {
				first := sync.OnceFunc(func() {
					rows.Add(1)
					arrived <- nil
					<-goOn
				})
				_, err := servertest.Invoke(t, s, x.Owner, exporting(s.Audit.Export, func(api.AuditEntry) error { first(); return nil }),
					"workspace_id", x.WorkspaceID, "format", "csv")
				arrived <- err
			})
		}
		for range receivers {
			if err := <-arrived; err != nil {
				t.Error(err)
			}
		}
		if n := rows.Load(); n != receivers {
			t.Errorf("%d receivers have their first row, want %d", n, receivers)
		}
		x.Entry("Meanwhile")
		x.Owner.Get(x.AuditPath()).OK()
		close(goOn)
		all.Wait()
	})
}

func TestConsoleExportEndsWithItsContext(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, s := n.Tenant(t), servertest.ServicesOf(t, n.DB, n.Vault)
		happen(t, n.DB, x.WorkspaceID, slices.Repeat([]audit.Outcome{audit.Success}, 501)...)
		ctx, cancel := context.WithCancel(t.Context())
		seen := 0
		err := bound(ctx, t, s, x.Owner, s.Audit.Export, func(api.AuditEntry) error {
			if seen++; seen == 500 {
				cancel()
			}
			return nil
		}, "workspace_id", x.WorkspaceID, "format", "csv")
		if !errors.Is(err, context.Canceled) || seen != 500 {
			t.Errorf("after %d rows: %v", seen, err)
		}
	})
}

// bound exports with a context of its own.
func bound[In any](ctx context.Context, t *testing.T, s servertest.Services, c *servertest.Client,
	export func(context.Context, db.Caller, In, func(api.AuditEntry) error) error, each func(api.AuditEntry) error, query ...string) error {
	t.Helper()
	_, err := servertest.Invoke(t, s, c, func(_ context.Context, by db.Caller, in In) (struct{}, error) {
		return struct{}{}, export(ctx, by, in, each)
	}, query...)
	return err
}
