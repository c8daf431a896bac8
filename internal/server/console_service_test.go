package server_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"bursar/api"
	"bursar/internal/db"
	"bursar/internal/fault"
	"bursar/internal/server/servertest"
	"bursar/internal/web"
)

// exporting makes of Export a method whose answer is the rows.
func exporting[In any](method func(context.Context, db.Caller, In, func(api.AuditEntry) error) error, each func(api.AuditEntry) error) web.Func[In, []api.AuditEntry] {
	return func(ctx context.Context, by db.Caller, in In) ([]api.AuditEntry, error) {
		rows := []api.AuditEntry{}
		err := method(ctx, by, in, func(r api.AuditEntry) error {
			rows = append(rows, r)
			if each != nil {
				return each(r)
			}
			return nil
		})
		return rows, err
	}
}

func TestConsoleServicesForEveryRole(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, callers := cast(t, n)
		s, ws := servertest.ServicesOf(t, n.DB, n.Vault), x.WorkspaceID
		entry := x.Entry("Ada")
		row := x.Audit("")[0]["id"].(string)
		methods := map[string]struct {
			need string
			call func(c *servertest.Client) error
		}{
			"Deleted": {"ws.directory.delete", func(c *servertest.Client) error {
				_, err := servertest.Invoke(t, s, c, s.Directory.Deleted, "workspace_id", ws)
				return err
			}},
			"TagNames": {"ws.directory.read", func(c *servertest.Client) error {
				_, err := s.Directory.TagNames(t.Context(), servertest.CallerOf(c), ws, []string{entry})
				return err
			}},
			"Counts": {"ws.directory.read", func(c *servertest.Client) error {
				_, err := s.Directory.Counts(t.Context(), servertest.CallerOf(c), ws)
				return err
			}},
			"Page": {"ws.audit.read", func(c *servertest.Client) error {
				_, err := servertest.Invoke(t, s, c, s.Audit.Page, "workspace_id", ws)
				return err
			}},
			"Page of an organization": {"org.settings.write", func(c *servertest.Client) error {
				_, err := servertest.Invoke(t, s, c, s.Audit.Page, "organization_id", x.OrganizationID)
				return err
			}},
			"Recent": {"ws.audit.read", func(c *servertest.Client) error {
				_, err := s.Audit.Recent(t.Context(), servertest.CallerOf(c), ws, 5)
				return err
			}},
			"Get": {"ws.audit.read", func(c *servertest.Client) error {
				_, err := s.Audit.Get(t.Context(), servertest.CallerOf(c), rowOf(x, row))
				return err
			}},
			"Activity30": {"ws.audit.read", func(c *servertest.Client) error {
				_, err := s.Audit.Activity30(t.Context(), servertest.CallerOf(c), ws, time.UTC)
				return err
			}},
			"Export": {"ws.audit.export", func(c *servertest.Client) error {
				_, err := servertest.Invoke(t, s, c, exporting(s.Audit.Export, nil), "workspace_id", ws, "format", "csv")
				return err
			}},
			"Export of an organization": {"org.settings.write", func(c *servertest.Client) error {
				_, err := servertest.Invoke(t, s, c, exporting(s.Audit.Export, nil), "organization_id", x.OrganizationID, "format", "csv")
				return err
			}},
		}
		x.Define("reader", "ws.audit.read")
		callers = append(callers, caller{name: "who reads the log but may not export it", client: x.Member("reader"),
			known: true, inWorkspace: true, inOrganization: true, held: []string{"ws.audit.read"}})
		for name, m := range methods {
			t.Run(name, func(t *testing.T) {
				for _, c := range callers {
					if !c.known {
						continue // has no way to a service
					}
					err := m.call(c.client)
					switch c.may(m.need) {
					case 200:
						if err != nil {
							t.Errorf("%s: %v", c.name, err)
						}
					case 404:
						if servertest.FaultCode(err) != api.CodeNotFound {
							t.Errorf("%s: want not found, got %v", c.name, err)
						}
					case 403:
						var f *fault.Fault
						if !errors.As(err, &f) || f.Code != api.CodeForbidden || f.Details != (fault.PermissionDetails{Permission: m.need}) {
							t.Errorf("%s: want a refusal for %s, got %v", c.name, m.need, err)
						}
					}
				}
			})
		}
	})
}
