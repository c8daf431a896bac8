package client_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"bursar/api"
	"bursar/client"
	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
)

// refused is the *client.Error that a call must have failed with.
func refused(t testing.TB, err error) *client.Error {
	t.Helper()
	var e *client.Error
	if !errors.As(err, &e) {
		t.Fatalf("not a *client.Error: %v", err)
	}
	return e
}

func TestRefusalsAreTyped(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, s dbtest.Store) {
		n := servertest.Start(t, s)
		c, _ := admin(t, n)
		ctx := t.Context()

		_, err := c.Directory.Create(ctx, client.EntryCreateParams{WorkspaceID: n.First.WorkspaceID, Type: "starship", Fields: client.Fields{client.TextField("email", "no")}})
		e := refused(t, err)
		var fields []string
		for _, f := range e.Fields() {
			fields = append(fields, f.Field)
			if f.Constraint == "" {
				t.Errorf("no constraint: %+v", f)
			}
		}
		slices.Sort(fields)
		if e.Code != api.CodeValidation || e.Status != 400 || e.RequestID == "" || !slices.Equal(fields, []string{"fields.email", "type"}) {
			t.Errorf("a validation error: %+v %v", e, fields)
		}
		if !strings.Contains(err.Error(), e.RequestID) || !strings.Contains(err.Error(), string(api.CodeValidation)) {
			t.Errorf("the text says too little: %s", err)
		}

		viewer := dial(t, n.URL, client.WithToken(n.Member(t, servertest.NewEmail(), "viewer").Token))
		_, err = viewer.Audit.List(ctx, client.AuditListParams{WorkspaceID: n.First.WorkspaceID})
		if e := refused(t, err); !client.IsForbidden(err) || e.Code != api.CodeForbidden || e.Permission() != "ws.audit.read" || e.Fields() != nil {
			t.Errorf("a missing permission: %+v", e)
		}

		_, err = c.Directory.Get(ctx, "entry_01jd2q4s6t8v0w2x4y6z8a0b2c")
		if e := refused(t, err); !client.IsNotFound(err) || e.Code != api.CodeEntryNotFound || e.Permission() != "" {
			t.Errorf("a missing entry: %+v", e)
		}
		_, err = c.Workspaces.Get(ctx, "ws/../?x=#")
		if e := refused(t, err); !client.IsNotFound(err) || e.Code != api.CodeNotFound {
			t.Errorf("a missing workspace: %+v", e)
		}

		_, err = dial(t, n.URL).Auth.Me(ctx)
		if e := refused(t, err); !client.IsUnauthorized(err) || e.Code != api.CodeUnauthorized {
			t.Errorf("a stranger: %+v", e)
		}
		_, err = dial(t, n.URL, client.WithClientSecret("cli_x", "secret")).Auth.Me(ctx)
		if e := refused(t, err); !client.IsUnauthorized(err) || e.Code != api.CodeInvalidCredentials {
			t.Errorf("a wrong secret: %+v", e)
		}

		_, err = c.Organizations.UpdateSettings(ctx, n.First.OrganizationID, client.OrganizationUpdateParams{Slug: client.String("x")})
		if e := refused(t, err); e.Code != api.CodeValidation {
			t.Errorf("a bad slug: %+v", e)
		}
		_, err = c.Roles.Unassign(ctx, n.First.WorkspaceID, n.First.UserID, "admin")
		if e := refused(t, err); e.Code != api.CodeLastAdmin || e.Status != 422 {
			t.Errorf("the last admin: %+v", e)
		}
	})
}

func TestRateLimitsReportHowLongToWait(t *testing.T) {
	t.Parallel()
	n := servertest.Start(t, dbtest.SQLite(t), servertest.RateLimit("1/s"))
	c := dial(t, n.URL, client.WithToken(n.Admin(t).Token), client.WithMaxRetries(0))
	for range 10 {
		if _, err := c.Auth.Me(t.Context()); err != nil {
			if e := refused(t, err); !client.IsRateLimited(err) || e.RetryAfter <= 0 || e.Code != api.CodeRateLimited {
				t.Errorf("%+v", e)
			}
			return
		}
	}
	t.Error("no limit was met")
}

func TestAMissingIDIsNotSent(t *testing.T) {
	t.Parallel()
	n := servertest.Start(t, dbtest.SQLite(t))
	c, way := admin(t, n)
	for _, id := range []string{"", ".", ".."} {
		if _, err := c.Directory.Delete(t.Context(), id); err == nil || errors.As(err, new(*client.Error)) {
			t.Errorf("deleting %q: %v", id, err)
		}
		if _, err := c.Members.List(t.Context(), id, client.ListParams{}); err == nil {
			t.Errorf("members of %q: no error", id)
		}
	}
	if sent := way.sent(); len(sent) != 0 {
		t.Errorf("sent %v", sent)
	}
}

// An answer that is not Bursar's own, such as a proxy's page, is told in short.
func TestForeignAnswersBecomeErrors(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 500)
	for name, c := range map[string]struct {
		status  int
		kind    string
		body    string
		message string
	}{
		"a proxy's page":   {502, "text/html", "<html><head><title>502 Bad &amp; Gateway</title></head><body>…</body></html>", "Bad Gateway: 502 Bad & Gateway"},
		"a page untitled":  {404, "text/html", "<html></html>", "Not Found"},
		"plain text":       {403, "text/plain", " no \n\n way\x00 ", "Forbidden: no way"},
		"nothing":          {401, "text/plain", "", "Unauthorized"},
		"a portal's page":  {200, "text/html", "<title>Wi-Fi</title>", "this is not an answer of Bursar: check the base URL: Wi-Fi"},
		"foreign JSON":     {200, "application/json", `{"hello":1}`, `this is not an answer of Bursar: check the base URL: {"hello":1}`},
		"half an answer":   {200, "application/json", `{"ok":true,"data":{"id"`, `this is not an answer of Bursar: check the base URL: {"ok":true,"data":{"id"`},
		"foreign error":    {400, "application/json", `{"error":"bad"}`, `Bad Request: {"error":"bad"}`},
		"a long text":      {404, "text/plain", long, "Not Found: " + strings.Repeat("é", 100) + "…"},
		"an unknown state": {599, "text/plain", "?", "unknown status: ?"},
	} {
		t.Run(name, func(t *testing.T) {
			proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", c.kind)
				w.Header().Set("X-Request-Id", "proxy-1")
				w.WriteHeader(c.status)
				io.WriteString(w, c.body)
			}))
			defer proxy.Close()
			_, err := dial(t, proxy.URL, client.WithMaxRetries(0)).Auth.Me(t.Context())
			e := refused(t, err)
			if e.Status != c.status || e.Code != "" || e.Message != c.message || e.RequestID != "proxy-1" || e.Fields() != nil || e.Permission() != "" {
				t.Errorf("got %+v, want %q", e, c.message)
			}
		})
	}
}
