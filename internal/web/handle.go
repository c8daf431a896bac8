package web

import (
	"context"
	"errors"
	"net/http"

	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/fault"
)

// Endpoints is what all endpoints share: the store, authentication and rate limits.
type Endpoints struct {
	DB *db.DB
	// Authenticate finds out who calls, and whether they may call so often.
	Authenticate func(x *Exchange) (audit.Actor, error)
	// Admit decides whether a stranger may call so often.
	Admit func(x *Exchange) error

	answers buffers
}

func (s *Endpoints) now() int64 { return s.DB.Now() }

// Func is a service method: who asks comes before what is asked.
type Func[In, Out any] func(ctx context.Context, by db.Caller, in In) (Out, error)

// Read makes an endpoint that changes nothing, for a caller with a session.
func Read[In, Out any](s *Endpoints, fn Func[In, Out]) Endpoint {
	bind := newBinder[In](s.now)
	return func(x *Exchange) {
		if !s.identify(x) {
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
	}
}

// Change makes an endpoint that changes something, for a caller with a session.
// The action names what a refused attempt is filed under.
func Change[In, Out any](s *Endpoints, action audit.Action, fn Func[In, Out]) Endpoint {
	bind := newBinder[In](s.now)
	return func(x *Exchange) {
		if !s.identify(x) {
			return
		}
		body, err := x.body()
		if err != nil {
			x.Fail(err)
			return
		}
		done, err := s.once(x, action, body)
		if err != nil {
			s.refuse(x, action, err)
			return
		}
		defer done()
		in, err := bind.request(x, body)
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
	}
}

// actor is an answer that tells who the stranger turned out to be, for the log.
type actor interface{ ActorID() string }

// Open makes an endpoint for strangers.
func Open[In, Out any](s *Endpoints, fn Func[In, Out]) Endpoint {
	bind := newBinder[In](s.now)
	return func(x *Exchange) {
		x.Caller.Actor = audit.Actor{Type: audit.System, RequestID: x.RequestID, IP: x.IP}
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
	}
}

func (s *Endpoints) identify(x *Exchange) bool {
	actor, err := s.Authenticate(x)
	if err != nil {
		x.Fail(err)
		return false
	}
	actor.RequestID, actor.IP = x.RequestID, x.IP
	x.Caller.Actor = actor
	return true
}

// once prepares for an idempotency key, if there is one. Whether there is an earlier
// answer is asked in the transaction of the mutation, or when it is refused.
func (s *Endpoints) once(x *Exchange, action audit.Action, body []byte) (done func(), err error) {
	nothing := func() {}
	key, err := idempotencyKey(x.R)
	if err != nil || key == "" {
		return nothing, err
	}
	once, err := onceFor(x, action, key, body)
	if err != nil {
		return nothing, err
	}
	if done, err = s.DB.Claim(once); err != nil {
		return nothing, err
	}
	x.Caller.IdempotencyKey = once
	return done, nil
}

// refuse answers a request that did not succeed. A refusal leaves an audit row;
// with an idempotency key the answer is kept, so that a retry hears the same.
func (s *Endpoints) refuse(x *Exchange, action audit.Action, err error) {
	var replay *db.Replay
	if errors.As(err, &replay) {
		x.replay(replay)
		return
	}
	f := x.Explain(err)
	event := audit.None("a refused request changes nothing")
	if f.Code == fault.Forbidden {
		event = refusal(x, action, x, f)
	}
	if once := x.Caller.IdempotencyKey; once != nil && !worthKeeping(f) {
		// It may be that only the retry of something done met what stands in its way now.
		earlier := s.DB.Read(x.R.Context(), func(q db.Q) error { return once.Lookup(q, s.DB.Now()) })
		if errors.As(earlier, &replay) {
			x.replay(replay)
			return
		}
		x.Caller.IdempotencyKey = nil
	}
	if event.Exempt() == "" || x.Caller.IdempotencyKey != nil {
		// The refusal must be on record even if the caller hangs up.
		kept := db.Record(context.WithoutCancel(x.R.Context()), s.DB, x.Caller, event, f)
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

// worthKeeping says whether a retry should hear the same answer again. What
// failed on our side, or by bad timing, deserves a second try.
func worthKeeping(f *fault.Fault) bool {
	status := f.Code.Status()
	return status < 500 && status != http.StatusTooManyRequests && f.Code != fault.IdempotencyConflict
}

func refusal(x *Exchange, action audit.Action, from source, f *fault.Fault) audit.Event {
	return audit.Event{
		Action:         action,
		Outcome:        audit.Denied,
		Description:    "Refused " + x.Route + ": " + f.Message,
		WorkspaceID:    f.Scope.WorkspaceID,
		OrganizationID: f.Scope.OrganizationID,
		ResourceID:     from.pathValue(pathName(action.Resource())),
	}
}

// pathName is what paths call a resource.
func pathName(r audit.ResourceType) string {
	switch r {
	case audit.Member:
		return "userId"
	case audit.Role:
		return "role"
	case audit.ReceivingMethod:
		return "method_id"
	case audit.DeviceCode:
		return "" // a code is as good as a key
	}
	return "id"
}

// answer writes a success.
func (s *Endpoints) answer(x *Exchange, out any) {
	if page, ok := out.(*JSONPage); ok {
		x.send(http.StatusOK, page.finish())
		page.release()
		return
	}
	body := s.answers.get()
	defer s.answers.put(body)
	var err error
	if *body, err = appendAnswer(*body, out); err != nil {
		x.Fail(err)
		return
	}
	x.send(http.StatusOK, *body)
}
