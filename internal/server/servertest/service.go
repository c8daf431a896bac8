package servertest

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/approval"
	"bursar/internal/audit"
	"bursar/internal/auditlog"
	"bursar/internal/db"
	"bursar/internal/directory"
	"bursar/internal/fault"
	"bursar/internal/identity"
	"bursar/internal/vault"
	"bursar/internal/web"
)

// Services are what the console calls, over a store.
type Services struct {
	DB        *db.DB
	Directory *directory.Service
	Audit     *auditlog.Service
}

// ServicesOf returns services over the store of a node.
func ServicesOf(t testing.TB, d *db.DB, v *vault.Vault) Services {
	t.Helper()
	key, err := identity.Prepare(t.Context(), d, v)
	if err != nil {
		t.Fatal(err)
	}
	authority, cursors := access.NewAuthority(d), web.NewCursors(key)
	approvals := approval.New(d, v, authority, cursors, nil, nil, "")
	return Services{d, directory.New(d, v, authority, cursors, approvals), auditlog.New(d, authority, cursors, &auditlog.Signer{})}
}

// CallerOf returns a client as a service sees it.
func CallerOf(c *Client) db.Caller {
	return db.Caller{Actor: audit.Actor{Type: audit.User, ID: c.UserID, Name: "Caller"}}
}

// Invoke calls a service method by an endpoint, which binds the input from a query, given as names and values.
func Invoke[In, Out any](t testing.TB, s Services, c *Client, method web.Func[In, Out], query ...string) (Out, error) {
	t.Helper()
	return serve(t, s, c, httptest.NewRequestWithContext(t.Context(), "GET", "/?"+Query(query...), nil), method)
}

// InvokeOn does the same for a method that takes an id.
func InvokeOn[In, Out any](t testing.TB, s Services, c *Client, method web.Func[In, Out], id string) (Out, error) {
	t.Helper()
	request := httptest.NewRequestWithContext(t.Context(), "GET", "/", nil)
	request.SetPathValue("id", id)
	return serve(t, s, c, request, method)
}

// serve runs a service method behind an endpoint and returns what the method returned, or why it was not called.
func serve[In, Out any](t testing.TB, s Services, c *Client, request *http.Request, method web.Func[In, Out]) (out Out, err error) {
	t.Helper()
	called := false
	route := web.Read(&web.Endpoints{
		DB:           s.DB,
		Authenticate: func(*web.Exchange) (audit.Actor, error) { return CallerOf(c).Actor, nil },
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

// FaultCode returns the code of a fault, or "" for any other error.
func FaultCode(err error) api.Code {
	var f *fault.Fault
	if !errors.As(err, &f) {
		return ""
	}
	return f.Code
}
