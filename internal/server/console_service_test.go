package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/approval"
	"bursar/internal/audit"
	"bursar/internal/auditlog"
	"bursar/internal/db"
	"bursar/internal/directory"
	"bursar/internal/fault"
	"bursar/internal/identity"
	"bursar/internal/server/servertest"
	"bursar/internal/vault"
	"bursar/internal/web"
)

// services are what the console calls, over the store of a node.
type services struct {
	db        *db.DB
	directory *directory.Service
	audit     *auditlog.Service
}

func servicesOf(t *testing.T, d *db.DB, v *vault.Vault) services {
	t.Helper()
	key, err := identity.Prepare(t.Context(), d, v)
	if err != nil {
		t.Fatal(err)
	}
	authority, cursors := access.NewAuthority(d), web.NewCursors(key)
	return services{d, directory.New(d, v, authority, cursors, approval.New(d, v, authority, cursors, nil, nil, "")), auditlog.New(d, authority, cursors, &auditlog.Signer{})}
}

// callerOf is a client as a service sees it.
func callerOf(c *servertest.Client) db.Caller {
	return db.Caller{Actor: audit.Actor{Type: audit.User, ID: c.UserID, Name: "Caller"}}
}

// invoke calls a service method by an endpoint, which binds the input from a query, in
// pairs.
func invoke[In, Out any](t *testing.T, s services, c *servertest.Client, method web.Func[In, Out], query ...string) (Out, error) {
	t.Helper()
	return serve(t, s, c, httptest.NewRequestWithContext(t.Context(), "GET", "/?"+servertest.Query(query...), nil), method)
}

// invokeOn does the same for a method that takes an id.
func invokeOn[In, Out any](t *testing.T, s services, c *servertest.Client, method web.Func[In, Out], id string) (Out, error) {
	t.Helper()
	request := httptest.NewRequestWithContext(t.Context(), "GET", "/", nil)
	request.SetPathValue("id", id)
	return serve(t, s, c, request, method)
}

// serve runs a service method behind an endpoint and returns what the method returned, or
// why it was not called.
func serve[In, Out any](t *testing.T, s services, c *servertest.Client, request *http.Request, method web.Func[In, Out]) (out Out, err error) {
	t.Helper()
	called := false
	route := web.Read(&web.Endpoints{
		DB:           s.db,
		Authenticate: func(*web.Exchange) (audit.Actor, error) { return callerOf(c).Actor, nil },
		Count:        func(*web.Exchange, string, int) error { return nil },
	}, api.Op[api.None, struct{}]{}, func(ctx context.Context, by db.Caller, in In) (struct{}, error) {
		called = true
		out, err = method(ctx, by, in)
		return struct{}{}, err
	})
	answer := httptest.NewRecorder()
	route.Endpoint(&web.Exchange{W: answer, R: request, Log: slog.New(slog.DiscardHandler)})
	if called {
		return out, err
	}
	var refused struct {
		Error struct{ Code, Message string }
	}
	if err := json.Unmarshal(answer.Body.Bytes(), &refused); err != nil {
		t.Fatal(err)
	}
	return out, fault.New(api.Code(refused.Error.Code), "%s", refused.Error.Message)
}

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

func faultCode(err error) api.Code {
	var f *fault.Fault
	if !errors.As(err, &f) {
		return ""
	}
	return f.Code
}

func TestConsoleServicesForEveryRole(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, callers := cast(t, n)
		s, ws := servicesOf(t, n.DB, n.Vault), x.WorkspaceID
		entry := x.Entry("Ada")
		row := x.Audit("")[0]["id"].(string)
		methods := map[string]struct {
			need string
			call func(c *servertest.Client) error
		}{
			"Deleted": {"ws.directory.delete", func(c *servertest.Client) error {
				_, err := invoke(t, s, c, s.directory.Deleted, "workspace_id", ws)
				return err
			}},
			"TagNames": {"ws.directory.read", func(c *servertest.Client) error {
				_, err := s.directory.TagNames(t.Context(), callerOf(c), ws, []string{entry})
				return err
			}},
			"Counts": {"ws.directory.read", func(c *servertest.Client) error {
				_, err := s.directory.Counts(t.Context(), callerOf(c), ws)
				return err
			}},
			"Page": {"ws.audit.read", func(c *servertest.Client) error {
				_, err := invoke(t, s, c, s.audit.Page, "workspace_id", ws)
				return err
			}},
			"Page of an organization": {"org.settings.write", func(c *servertest.Client) error {
				_, err := invoke(t, s, c, s.audit.Page, "organization_id", x.OrganizationID)
				return err
			}},
			"Recent": {"ws.audit.read", func(c *servertest.Client) error {
				_, err := s.audit.Recent(t.Context(), callerOf(c), ws, 5)
				return err
			}},
			"Get": {"ws.audit.read", func(c *servertest.Client) error {
				_, err := s.audit.Get(t.Context(), callerOf(c), rowOf(x, row))
				return err
			}},
			"Activity30": {"ws.audit.read", func(c *servertest.Client) error {
				_, err := s.audit.Activity30(t.Context(), callerOf(c), ws, time.UTC)
				return err
			}},
			"Export": {"ws.audit.export", func(c *servertest.Client) error {
				_, err := invoke(t, s, c, exporting(s.audit.Export, nil), "workspace_id", ws, "format", "csv")
				return err
			}},
			"Export of an organization": {"org.settings.write", func(c *servertest.Client) error {
				_, err := invoke(t, s, c, exporting(s.audit.Export, nil), "organization_id", x.OrganizationID, "format", "csv")
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
						if faultCode(err) != api.CodeNotFound {
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
