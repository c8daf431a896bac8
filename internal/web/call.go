package web

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/fault"
	"bursar/internal/work"
)

// Call calls a service method for the user of the console. It checks the input as the API
// checks a bound one.
func Call[In, Out any](s *Endpoints, x *Exchange, fn Func[In, Out], in In) (out Out, err error) {
	var v fault.Violations
	validate(&in, &v, s.now)
	if err := v.Err(); err != nil {
		return out, err
	}
	return fn(x.R.Context(), x.Caller, in)
}

// CallOnce is Call for a form that may be sent twice, for example by a double click. The
// key makes it happen once, and the second call returns the result of the first. It waits
// if the first one is still running. request is the content of the form: the same key
// with another request is refused.
func CallOnce[In, Out any](s *Endpoints, x *Exchange, key string, request []byte, fn Func[In, Out], in In) (out Out, err error) {
	// A handler may call several methods for one form. Their stored answers must have
	// different fingerprints.
	bound, err := s.bindKey(x, "", key, fmt.Appendf(request, "\n%T", in))
	if err != nil {
		return out, err
	}
	done, err := s.waitForKey(x.R.Context(), bound)
	if err != nil {
		return out, err
	}
	defer done()
	err = s.DB.Answered(x.R.Context(), bound)
	if err == nil {
		x.Caller.IdempotencyKey = bound
		defer func() { x.Caller.IdempotencyKey = nil }()
		out, err = Call(s, x, fn, in)
	}
	var replay *db.Replay
	if errors.As(err, &replay) {
		return replayed[Out](replay)
	}
	return out, err
}

// waitForKey claims a key as soon as the call that holds it ends.
func (s *Endpoints) waitForKey(ctx context.Context, key *db.IdempotencyKey) (done func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for {
		if done, err = s.DB.Claim(key); err == nil {
			return done, nil
		}
		if work.Sleep(ctx, 20*time.Millisecond) != nil {
			return nil, err
		}
	}
}

// replayed decodes the stored answer for a key.
func replayed[Out any](r *db.Replay) (out Out, err error) {
	var answer struct {
		Data  jsontext.Value `json:"data"`
		Error problem        `json:"error"`
	}
	if err := json.Unmarshal(r.Body, &answer); err != nil {
		return out, fmt.Errorf("read a stored answer: %w", err)
	}
	if answer.Error.Code != "" { // see Outcome
		return out, &fault.Fault{Code: answer.Error.Code, Message: answer.Error.Message, Details: answer.Error.Details}
	}
	if err := json.Unmarshal(answer.Data, &out); err != nil {
		return out, fmt.Errorf("read a stored answer: %w", err)
	}
	return out, nil
}

// RecordRefusal writes the audit row of a caller who lacks a permission or is not a
// member of the requested tenant. It returns the error to show: err, or the error of
// writing the row. Other errors leave no row.
func (s *Endpoints) RecordRefusal(x *Exchange, action audit.Action, err error) error {
	var f *fault.Fault
	if !errors.As(err, &f) {
		return err
	}
	event, failed := s.refusal(x, action, f)
	if failed == nil && event.Exempt() == "" {
		failed = s.record(x, db.Caller{Actor: x.Caller.Actor}, event, f)
	}
	if failed != nil {
		return failed
	}
	return err
}
