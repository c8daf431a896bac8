package web

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/fault"
)

// Args are what a service method is called with when the request did not come
// through the API. They are bound and checked as a request to the API is.
type Args struct {
	Path  map[string]string
	Query url.Values
	Body  map[string]any
	// Key makes the call happen at most once, as an idempotency key does.
	Key string
}

func (a Args) pathValue(name string) string     { return a.Path[name] }
func (a Args) headerValues(string) []string     { return nil }
func (a Args) queryValues() (url.Values, error) { return a.Query, nil }

// Ask calls a service method that changes nothing, for the caller of an exchange.
// A refusal leaves its audit row.
func Ask[In, Out any](s *Endpoints, x *Exchange, fn Func[In, Out], args Args) (Out, error) {
	return invoke(s, x, audit.AccessDenied, fn, args)
}

// Act calls a service method that changes something, for the caller of an
// exchange. The action names what a refused attempt is filed under.
func Act[In, Out any](s *Endpoints, x *Exchange, action audit.Action, fn Func[In, Out], args Args) (Out, error) {
	if args.Key == "" {
		return invoke(s, x, action, fn, args)
	}
	out, err := once(s, x, action, fn, args)
	var replay *db.Replay
	if !errors.As(err, &replay) {
		return out, err
	}
	return replayed[Out](replay)
}

func once[In, Out any](s *Endpoints, x *Exchange, action audit.Action, fn Func[In, Out], args Args) (out Out, err error) {
	body, err := args.body()
	if err != nil {
		return out, err
	}
	once, err := bindKey(x, action, args.Key, body)
	if err != nil {
		return out, err
	}
	done, err := s.wait(x.R.Context(), once)
	if err != nil {
		return out, err
	}
	defer done()
	if err := s.DB.Read(x.R.Context(), func(q db.Q) error { return once.Lookup(q, s.DB.Now()) }); err != nil {
		return out, err
	}
	x.Caller.IdempotencyKey = once
	defer func() { x.Caller.IdempotencyKey = nil }()
	return invoke(s, x, action, fn, args)
}

// wait claims a key as soon as a call that has it has ended: a person who sent a
// form twice is to see what the first one did.
func (s *Endpoints) wait(ctx context.Context, once *db.IdempotencyKey) (done func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for {
		if done, err = s.DB.Claim(once); err == nil {
			return done, nil
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return nil, err
		}
	}
}

// replayed reads the answer that was given to the same call before.
func replayed[Out any](r *db.Replay) (out Out, err error) {
	var answer struct {
		Data jsontext.Value `json:"data"`
	}
	if err := json.Unmarshal(r.Body, &answer); err != nil {
		return out, fmt.Errorf("read an earlier answer: %w", err)
	}
	if err := json.Unmarshal(answer.Data, &out); err != nil {
		return out, fmt.Errorf("read an earlier answer: %w", err)
	}
	return out, nil
}

func (a Args) body() ([]byte, error) {
	if a.Body == nil {
		return nil, nil
	}
	body, err := json.Marshal(a.Body, json.Deterministic(true))
	if err != nil {
		return nil, fmt.Errorf("encode the arguments of a call: %w", err)
	}
	return body, nil
}

func invoke[In, Out any](s *Endpoints, x *Exchange, action audit.Action, fn Func[In, Out], args Args) (out Out, err error) {
	body, err := args.body()
	if err != nil {
		return out, err
	}
	in, err := newBinder[In](s.now).request(args, body)
	if err != nil {
		return out, err
	}
	if out, err = fn(x.R.Context(), x.Caller, in); err != nil {
		return out, s.noteRefusal(x, action, args, err)
	}
	return out, nil
}

// noteRefusal puts a refusal on record, even if the caller hangs up.
func (s *Endpoints) noteRefusal(x *Exchange, action audit.Action, from source, err error) error {
	var f *fault.Fault
	if !errors.As(err, &f) || f.Code != fault.Forbidden {
		return err
	}
	by := db.Caller{Actor: x.Caller.Actor}
	if kept := db.Record(context.WithoutCancel(x.R.Context()), s.DB, by, refusal(x, action, from, f), nil); kept != nil {
		return kept
	}
	return err
}

// Refuse puts a refusal on record that no service method had to speak.
func Refuse(s *Endpoints, x *Exchange, f *fault.Fault) error {
	return s.noteRefusal(x, audit.AccessDenied, x, f)
}
