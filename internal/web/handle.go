package web

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"bursar/api"
	"bursar/internal/audit"
	"bursar/internal/budget"
	"bursar/internal/db"
	"bursar/internal/fault"
)

// Endpoints contains what all endpoints share: the store, authentication and rate limits.
type Endpoints struct {
	DB *db.DB
	// Authenticate returns the caller, or an error if the credential is not valid.
	Authenticate func(x *Exchange) (audit.Actor, error)
	// Count applies the rate limit to a caller with a session.
	Count func(x *Exchange, callerID string, requests int) error
	// Admit applies the rate limit to callers without a session.
	Admit func(x *Exchange) error

	answers buffers
}

func (s *Endpoints) now() int64 { return s.DB.Now() }

// Func is a service method. The caller is a separate parameter, so that no method can
// omit it.
type Func[In, Out any] func(ctx context.Context, by db.Caller, in In) (Out, error)

// Read serves an operation with a service method that changes nothing, for callers with a session.
func Read[In, Out any](s *Endpoints, op api.Op[api.None, Out], fn Func[In, Out]) Route {
	return read(s, op, fn)
}

// List is [Read] for a method that returns a page of a list: a [Page] or a [JSONPage].
func List[In, T any, P listOf[T]](s *Endpoints, op api.Op[api.None, api.Page[T]], fn Func[In, P]) Route {
	return read(s, op, fn)
}

func read[In, Out any](s *Endpoints, op api.Operation, fn Func[In, Out]) Route {
	bind := newBinder[In](s.now).of(op)
	return routeOf(op, func(x *Exchange) {
		if !s.enter(x) {
			return
		}
		in, err := bind.request(x, nil)
		if err != nil {
			x.Fail(err)
			return
		}
		out, err := fn(x.R.Context(), x.Caller, in)
		if err != nil {
			s.refuse(x, audit.AccessDenied, err)
			return
		}
		s.answer(x, out)
	})
}

// Change serves an operation with a service method that changes something, for callers
// with a session. A refused attempt is audited under the action.
func Change[Body, In, Out any](s *Endpoints, op api.Op[Body, Out], action audit.Action, fn Func[In, Out]) Route {
	return change(s, op, action, fn)
}

// Create is [Change] for a method whose response says whether it has created something.
func Create[Body, In, Out any](s *Endpoints, op api.Op[Body, Out], action audit.Action, fn Func[In, Created[Out]]) Route {
	return change(s, op, action, fn)
}

func change[In, Out any](s *Endpoints, op api.Operation, action audit.Action, fn Func[In, Out]) Route {
	bind := newBinder[In](s.now).of(op)
	return routeOf(op, func(x *Exchange) {
		if !s.enter(x) {
			return
		}
		body, err := x.body()
		if err == nil && body != nil {
			// Reading the body may have taken long, and the session may have ended meanwhile.
			err = s.identify(x)
		}
		if err != nil {
			x.Fail(err)
			return
		}
		done, err := s.claimKey(x, action, body)
		if err != nil {
			s.refuse(x, action, err)
			return
		}
		defer done()
		in, err := bind.request(x, body)
		if large, ok := any(&in).(costly); ok && err == nil && large.Cost() > 1 {
			err = s.Count(x, x.Caller.ID, large.Cost()-1)
		}
		if err != nil {
			s.refuse(x, action, err)
			return
		}
		out, err := fn(x.R.Context(), x.Caller, in)
		if err != nil {
			s.refuse(x, action, err)
			return
		}
		s.answer(x, out)
	})
}

// costly is an input that counts as several requests.
type costly interface{ Cost() int }

// actor is an answer that identifies who has just signed in. The request log shows it.
type actor interface{ ActorID() string }

// Open serves an operation with a service method that needs no session.
func Open[Body, In, Out any](s *Endpoints, op api.Op[Body, Out], fn Func[In, Out]) Route {
	bind := newBinder[In](s.now).of(op)
	return routeOf(op, func(x *Exchange) {
		x.Caller.Actor = audit.Actor{Type: audit.System, RequestID: x.RequestID, IP: x.IP, Agent: x.R.UserAgent()}
		if err := s.Admit(x); err != nil {
			x.Fail(err)
			return
		}
		body, err := x.body()
		if err != nil {
			x.Fail(err)
			return
		}
		in, err := bind.request(x, body)
		if err != nil {
			x.Fail(err)
			return
		}
		out, err := fn(x.R.Context(), x.Caller, in)
		if err != nil {
			x.Fail(err)
			return
		}
		if known, ok := any(out).(actor); ok {
			x.Caller.ID = known.ActorID()
		}
		s.answer(x, out)
	})
}

// enter authenticates the caller and counts the request. If it returns false, it has
// already responded.
func (s *Endpoints) enter(x *Exchange) bool {
	err := s.identify(x)
	if err == nil {
		err = s.Count(x, x.Caller.ID, 1)
	}
	if err != nil {
		x.Fail(err)
	}
	return err == nil
}

func (s *Endpoints) identify(x *Exchange) error {
	actor, err := s.Authenticate(x)
	if err != nil {
		return err
	}
	actor.RequestID, actor.IP, actor.Agent = x.RequestID, x.IP, x.R.UserAgent()
	x.Caller.Actor = actor
	return nil
}

// claimKey claims the idempotency key of the request, if it has one. The transaction of
// the mutation looks up an earlier answer; so does refuse.
func (s *Endpoints) claimKey(x *Exchange, action audit.Action, body []byte) (done func(), err error) {
	nothing := func() {}
	key, err := idempotencyKey(x.R)
	if err != nil || key == "" {
		return nothing, err
	}
	bound, err := s.bindKey(x, action, key, body)
	if err != nil {
		return nothing, err
	}
	if done, err = s.DB.Claim(bound); err != nil {
		return nothing, err
	}
	x.Caller.IdempotencyKey = bound
	return done, nil
}

// refuse responds to a failed request. It writes an audit row if the caller lacks a permission or is not a member of the requested
// tenant. With an idempotency key the answer is stored, so that a retry gets the same one.
func (s *Endpoints) refuse(x *Exchange, action audit.Action, err error) {
	var replay *db.Replay
	if errors.As(err, &replay) {
		x.replay(replay)
		return
	}
	f := x.Explain(err)
	if f.Code == api.CodeUnavailable && (errors.Is(err, db.ErrUnknown) || errors.Is(err, db.ErrAway)) {
		x.Fail(f) // the store cannot store an answer either, and the caller has waited long enough
		return
	}
	if f.Code == api.CodeSecondPersonRequired {
		x.Fail(f) // the fault is stored with the request for approval
		return
	}
	event, err := s.refusal(x, action, f)
	if err != nil {
		x.Fail(err)
		return
	}
	if key := x.Caller.IdempotencyKey; key != nil && f.Temporary() { // so a retry runs again
		// The first attempt may have succeeded and only this retry been refused. Then
		// replay the answer of the first.
		earlier := s.DB.Answered(x.R.Context(), key)
		if errors.As(earlier, &replay) {
			x.replay(replay)
			return
		}
		x.Caller.IdempotencyKey = nil
	}
	if event.Exempt() == "" || x.Caller.IdempotencyKey != nil {
		kept := s.record(x, x.Caller, event, f)
		if errors.As(kept, &replay) {
			x.replay(replay)
			return
		}
		if kept != nil {
			x.Fail(kept)
			return
		}
	}
	x.Fail(f)
}

// probes limits the audit rows of a caller who requests resources of tenants that they
// are not a member of. More rows contain nothing new, and would let the caller fill the disk.
var probes = budget.Kind{Name: "probe", Burst: 50, Every: time.Minute}

// refusal returns the audit row of a caller who lacks a permission or, in the operator's
// log, of one who is not a member of the requested tenant.
func (s *Endpoints) refusal(x *Exchange, action audit.Action, f *fault.Fault) (event audit.Event, err error) {
	event = audit.None("a refused request changes nothing")
	action = cmp.Or(audit.Action(f.Action), action)
	description := "Refused " + x.Route + ": " + f.Message
	asked := cmp.Or(f.Scope.WorkspaceID, f.Scope.OrganizationID, cleanPathValue(x, "id"))
	if f.Code == api.CodeForbidden {
		asked = refusedResource(x, action, f)
	}
	// A text that is not an id may be any input of a user, including personal data. Only the
	// description can be erased.
	if asked != "" && !isID(asked, action.Resource()) {
		description += " (asked for " + asked + ")"
		asked = ""
	}
	switch {
	case f.Code == api.CodeForbidden:
		event = audit.Event{
			Action:         action,
			Outcome:        audit.Denied,
			Description:    description,
			WorkspaceID:    f.Scope.WorkspaceID,
			OrganizationID: f.Scope.OrganizationID,
			ResourceID:     asked,
		}
	case f.NotMember:
		var left bool
		err = s.DB.Read(context.WithoutCancel(x.R.Context()), func(q db.Q) (err error) {
			left, err = probes.Of(x.Caller.ID).Left(q, s.now())
			return err
		})
		if !left {
			break
		}
		nobodys := x.Caller.Actor
		nobodys.HomeOrgID = ""
		event = audit.Event{
			Action:      audit.AccessDenied,
			Outcome:     audit.Denied,
			Description: description,
			Actor:       &nobodys,
			ResourceID:  asked,
		}
	}
	return event, err
}

// record writes the audit row and the answer of a refusal, even if the caller has closed
// the connection.
func (s *Endpoints) record(x *Exchange, by db.Caller, event audit.Event, f *fault.Fault) error {
	_, err := db.Write(context.WithoutCancel(x.R.Context()), s.DB, by, func(tx *db.Tx) (*fault.Fault, audit.Event, error) {
		if !f.NotMember || event.Exempt() != "" {
			return f, event, nil
		}
		left, err := probes.Of(by.ID).Take(tx)
		if err == nil && !left {
			return f, audit.None("other requests of the caller have left enough rows"), nil
		}
		return f, event, err
	})
	return err
}

// refusedResource returns the id of the resource of a refused request. Forms for the
// settings of a tenant do not have its id in their path, but the fault contains it.
func refusedResource(x *Exchange, action audit.Action, f *fault.Fault) string {
	if f.ResourceID != "" {
		return f.ResourceID
	}
	id := cleanPathValue(x, pathName(action.Resource()))
	switch action {
	case audit.WorkspaceUpdated:
		return cmp.Or(id, f.Scope.WorkspaceID)
	case audit.OrganizationSettingsUpdated:
		return cmp.Or(id, f.Scope.OrganizationID)
	}
	return id
}

// isID reports whether a text has the form of an id, or of the key of a role.
func isID(text string, of audit.ResourceType) bool {
	prefix, rest, _ := strings.Cut(text, "_")
	plain := !strings.ContainsFunc(text, func(r rune) bool { return r != '_' && r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z') })
	return plain && (len(prefix) <= 8 && len(rest) == 26 || of == audit.Role && len(text) <= 64)
}

// pathName returns the name of the path parameter with the id of a resource.
func pathName(r audit.ResourceType) string {
	switch r {
	case audit.Member:
		return "userId"
	case audit.Role:
		return "role"
	case audit.ReceivingMethod:
		return "method_id"
	case audit.DeviceCode:
		return "" // a device code is a credential, so it is never recorded
	}
	return "id"
}

// answer sends the result of a service method.
func (s *Endpoints) answer(x *Exchange, out any) {
	if page, ok := out.(encoded); ok {
		x.send(http.StatusOK, page.finish())
		page.release()
		return
	}
	out, status := unwrap(out)
	body := s.answers.get()
	defer s.answers.put(body)
	var err error
	if *body, err = appendAnswer(*body, out); err != nil {
		x.Fail(err)
		return
	}
	x.send(status, *body)
}
