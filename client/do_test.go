package client_test

import (
	"encoding/json"
	"strings"
	"testing"

	"bursar/api"
	"bursar/client"
	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
)

func TestDoCallsAnyPath(t *testing.T) {
	t.Parallel()
	n := servertest.Start(t, dbtest.SQLite(t))
	c, _ := admin(t, n)
	ctx := t.Context()
	for _, path := range []string{"/auth/me", "auth/me", "/v1/auth/me", "v1/auth/me"} {
		var user client.User
		r, err := c.Do(ctx, "get", path, nil, &user)
		if err != nil || r.Status != 200 || r.RequestID == "" || r.Header.Get("Content-Type") != "application/json" || user.ID != n.First.UserID {
			t.Errorf("%s: %+v, %+v, %v", path, r, user, err)
		}
	}
	text := `{"workspace_id":"` + n.First.WorkspaceID + `","type":"person","fields":{"b":1.0,"a":2}}`
	bodies := map[string]any{
		"bytes": []byte(text), "raw": json.RawMessage(text), "reader": strings.NewReader(text),
		"value": map[string]any{"workspace_id": n.First.WorkspaceID, "type": "person", "fields": map[string]any{}},
	}
	for name, body := range bodies {
		var created client.Created
		if _, err := c.Do(ctx, "POST", "/directory", body, &created); err != nil || created.ID == "" {
			t.Errorf("%s: %+v, %v", name, created, err)
		}
	}
	var entries []client.EntrySummary
	r, err := c.Do(ctx, "GET", "/directory?limit=3&workspace_id="+n.First.WorkspaceID, nil, &entries)
	if err != nil || len(entries) != 3 || !strings.Contains(string(r.Body), `"has_more":true`) {
		t.Errorf("list: %d entries, %v", len(entries), err)
	}
	if r, err := c.Do(ctx, "HEAD", "/auth/me", nil, nil); err != nil || r.Status != 200 || len(r.Body) != 0 {
		t.Errorf("HEAD: %+v, %v", r, err)
	}
}

func TestDoReturnsARefusalWithItsAnswer(t *testing.T) {
	t.Parallel()
	n := servertest.Start(t, dbtest.SQLite(t))
	c, way := admin(t, n)
	r, err := c.Do(t.Context(), "DELETE", "/directory/entry_x", nil, nil)
	e := refused(t, err)
	if r == nil || r.Status != 404 || r.RequestID != e.RequestID || !strings.Contains(string(r.Body), string(api.CodeEntryNotFound)) {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := c.Do(t.Context(), "POST", "/directory", func() {}, nil); err == nil {
		t.Error("a function was sent")
	}
	if _, err := c.Do(t.Context(), "GE T", "/auth/me", nil, nil); err == nil {
		t.Error("a method with a space was sent")
	}
	before := way.count(exchange)
	if _, err := c.Do(t.Context(), "POST", "/v1/auth/token", nil, nil); !client.IsUnauthorized(err) {
		t.Errorf("exchanging a session: %v", err)
	}
	if got := way.count(exchange) - before; got != 1 {
		t.Errorf("%d attempts, want 1", got)
	}
}

// Whatever the path, a call goes to the server of the client.
func TestDoStaysWithItsServer(t *testing.T) {
	t.Parallel()
	n := servertest.Start(t, dbtest.SQLite(t))
	c := dial(t, n.URL, client.WithToken(n.Admin(t).Token), client.WithMaxRetries(0))
	for _, path := range []string{"@example.invalid/x", "//example.invalid/x", "https://example.invalid/x", ":80/x", "/x\r\nHost: y", "%zz", ".example.invalid"} {
		if _, err := c.Do(t.Context(), "GET", path, nil, nil); err != nil && strings.Contains(err.Error(), "lookup") {
			t.Errorf("%q led elsewhere: %v", path, err)
		} else if err == nil {
			t.Errorf("%q was found", path)
		}
	}
}
