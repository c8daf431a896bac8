// Package web turns service methods into HTTP endpoints. It binds requests to inputs,
// encodes answers in envelopes, and handles what all endpoints have in common:
// authentication, idempotency, audit of refusals and pages of lists.
package web

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"time"

	"bursar/api"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/fault"
)

// maxBody is the largest request body in bytes.
const maxBody = 1 << 20

// Exchange is one request and its answer.
type Exchange struct {
	W         http.ResponseWriter
	R         *http.Request
	RequestID string
	IP        string
	Route     string // the pattern and not the path, which contains ids
	Caller    db.Caller
	Status    int

	Log *slog.Logger
}

// Endpoint answers the requests of one route.
type Endpoint func(x *Exchange)

// Route is a method and a path with its endpoint.
type Route struct {
	Method, Path string
	Endpoint     Endpoint
}

func routeOf(op api.Operation, endpoint Endpoint) Route {
	return Route{op.Method(), op.Path(), endpoint}
}

// SetHeader sets a response header. Its name must be in canonical form.
func (x *Exchange) SetHeader(name, value string) { x.W.Header()[name] = []string{value} }

// send writes the whole answer.
func (x *Exchange) send(status int, body []byte) {
	x.SetHeader("Content-Type", "application/json")
	x.SetHeader("Cache-Control", "no-store")
	x.SetHeader("Content-Length", strconv.Itoa(len(body)))
	x.Status = status
	x.W.WriteHeader(status)
	if x.R.Method != http.MethodHead {
		_, _ = x.W.Write(body) // fails only if the client has closed the connection
	}
}

// Fail sends an error. An error that is not a fault is logged, and its text is not sent.
func (x *Exchange) Fail(err error) {
	f := x.Explain(err)
	if f.RetryAfter > 0 {
		seconds := max(1, int64((f.RetryAfter+time.Second-1)/time.Second))
		x.SetHeader("Retry-After", strconv.FormatInt(seconds, 10))
	}
	switch f.Code {
	case api.CodeUnauthorized:
		x.SetHeader("Www-Authenticate", `Bearer realm="bursar"`)
	case api.CodeInvalidCredentials:
		x.SetHeader("Www-Authenticate", `Basic realm="bursar"`)
	}
	x.send(f.Code.Info().Status, appendFault(nil, f))
}

// Explain returns the fault in an error. Any other error is logged and becomes a fault
// with only the request id.
func (x *Exchange) Explain(err error) *fault.Fault {
	var f *fault.Fault
	if errors.As(err, &f) && !errors.Is(err, db.ErrUnknown) {
		return f
	}
	if errors.Is(err, context.Canceled) && x.R.Context().Err() != nil {
		x.Log.Info("client went away", "request_id", x.RequestID, "route", x.Route)
	} else {
		x.Log.Error("unexpected failure", "request_id", x.RequestID, "route", x.Route, "error", err.Error())
	}
	switch {
	case errors.Is(err, db.ErrUnknown):
		return &fault.Fault{Code: api.CodeUnavailable, RetryAfter: retryStore, Details: api.OutcomeDetails{Outcome: "unknown"},
			Message: "the database went away, and whether this has happened is unknown; try again with the same idempotency key"}
	case errors.Is(err, db.ErrAway):
		return &fault.Fault{Code: api.CodeUnavailable, RetryAfter: retryStore,
			Message: "the database cannot be reached; try again"}
	}
	return fault.New(api.CodeInternal, "an internal error occurred; give the request id %s when you report it", x.RequestID)
}

// retryStore is when to retry after the database could not be reached. The request has already
// waited for it.
const retryStore = time.Second

// body reads the whole body, which may be empty. That of a GET is ignored.
func (x *Exchange) body() ([]byte, error) {
	if x.R.Body == nil || x.R.ContentLength == 0 || x.R.Method == http.MethodGet || x.R.Method == http.MethodHead {
		return nil, nil
	}
	tooLarge := fault.New(api.CodeBodyTooLarge, "the body is larger than %d bytes", maxBody)
	if x.R.ContentLength > maxBody {
		return nil, tooLarge
	}
	data, err := io.ReadAll(http.MaxBytesReader(x.W, x.R.Body, maxBody))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, tooLarge
	case err != nil:
		return nil, fault.Invalid("body", "could not be read to its end")
	}
	return data, nil
}

// replayHeader marks an answer that was stored for an idempotency key.
const replayHeader = "Idempotent-Replayed"

func (x *Exchange) replay(r *db.Replay) {
	x.SetHeader(replayHeader, "true")
	x.send(r.Status, r.Body)
}

func idempotencyKey(r *http.Request) (string, error) {
	values := append(r.Header.Values("Idempotency-Key"), r.Header.Values("X-Idempotency-Key")...)
	if len(values) == 0 {
		return "", nil
	}
	key := values[0]
	for _, other := range values[1:] {
		if other != key {
			return "", fault.Invalid("Idempotency-Key", "must be given once")
		}
	}
	if len(key) < 1 || len(key) > 255 {
		return "", fault.Invalid("Idempotency-Key", "must be 1 to 255 visible ASCII characters")
	}
	for _, c := range []byte(key) {
		if c < '!' || c > '~' {
			return "", fault.Invalid("Idempotency-Key", "must be 1 to 255 visible ASCII characters")
		}
	}
	return key, nil
}

// bindKey binds an idempotency key to the caller and the request. All logout requests of a
// caller are identical, so those are bound to the session. A credential with limits gets no
// stored answer to a request of a credential that may do more.
func (s *Endpoints) bindKey(x *Exchange, action audit.Action, key string, body []byte) (*db.IdempotencyKey, error) {
	scope := x.Caller.ID
	if x.Caller.Scope.Limited() {
		scope += " " + x.Caller.Scope.String()
	}
	if action == audit.SessionRevoked {
		scope = x.Caller.SessionID
	}
	request := slices.Concat([]byte(x.R.Method), []byte(" "), []byte(x.R.URL.EscapedPath()), []byte("\n"), body)
	return s.DB.NewIdempotencyKey(x.R.Context(), scope, key, request, func(out any) (int, []byte, error) {
		if o, ok := out.(Outcome); ok {
			answer, f := o.Kept()
			if out = answer; f != nil {
				out = f
			}
		}
		if f, ok := out.(*fault.Fault); ok {
			return f.Code.Info().Status, appendFault(nil, f), nil
		}
		out, status := unwrap(out)
		answer, err := appendAnswer(nil, out)
		if m, ok := out.(Maskable); ok && err == nil {
			var masked []byte
			masked, err = appendAnswer(nil, m.Masked())
			answer = db.WithFull(masked, answer)
		}
		return status, answer, err
	})
}
