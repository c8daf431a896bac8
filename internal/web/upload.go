package web

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"mime"
	"net/http"
	"time"

	"bursar/api"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/fault"
)

const (
	// arrivalTime is how long each piece of an upload may take to arrive. The server's read
	// timeout is for small bodies and would end a long upload.
	arrivalTime = 30 * time.Second
	// arrivalPiece is the size of such a piece.
	arrivalPiece = 64 << 10
	// workTime is how long the work on a part of a file may take after it has arrived.
	workTime = 5 * time.Minute
)

// Upload is a body that is read while it arrives.
type Upload struct {
	x       *Exchange
	from    io.Reader
	most    int64
	read    int64
	allowed int64 // how much may be read before the current deadline
	sum     hash.Hash
	end     func(sum []byte) (db.Caller, error)
	count   func(requests int) error // nil if the form was counted
}

// NewUpload returns an upload of a request body that from reads, with a maximum size in bytes.
// When all of it has arrived, end authenticates the caller again.
func NewUpload(x *Exchange, from io.Reader, most int64, end func(sum []byte) (db.Caller, error)) *Upload {
	return &Upload{x: x, from: from, most: most, sum: sha256.New(), end: end}
}

// Read reads the data that has arrived. It extends the deadline as more arrives.
func (u *Upload) Read(p []byte) (int, error) {
	if u.read >= u.allowed {
		u.allowed = u.read + arrivalPiece
		if err := u.extend(arrivalTime); err != nil {
			return 0, err
		}
	}
	p = p[:min(int64(len(p)), u.allowed-u.read)]
	n, err := u.from.Read(p)
	u.read += int64(n)
	u.sum.Write(p[:n])
	switch {
	case u.read > u.most:
		return 0, fault.New(api.CodeBodyTooLarge, "the file is larger than %d MiB", u.most>>20)
	case err != nil && !errors.Is(err, io.EOF):
		return n, fault.Invalid("body", "could not be read to its end")
	}
	return n, err
}

func (u *Upload) extend(arrival time.Duration) error {
	control, now := http.NewResponseController(u.x.W), time.Now()
	if err := errors.Join(control.SetReadDeadline(now.Add(arrival)), control.SetWriteDeadline(now.Add(2*arrival))); err != nil {
		return fmt.Errorf("give an upload more time: %w", err)
	}
	return nil
}

// Extend gives the method more time to work on a part of the file. When the read deadline of a request passes, its context is canceled,
// also if all of it was read.
func (u *Upload) Extend() error { return u.extend(workTime) }

// Count counts the upload as several more requests for the rate limit.
func (u *Upload) Count(requests int) error {
	if u.count == nil || requests < 1 {
		return nil
	}
	return u.count(requests)
}

// End authenticates the caller again, since the session may have ended meanwhile. It
// binds the idempotency key to the data: the same file sent again gets the same answer.
func (u *Upload) End() (db.Caller, error) { return u.end(u.sum.Sum(nil)) }

// endUpload is End for an upload that is the whole body of a request.
func (s *Endpoints) endUpload(x *Exchange, action audit.Action, sum []byte) (db.Caller, error) {
	if err := s.identify(x); err != nil {
		return x.Caller, err
	}
	key, err := idempotencyKey(x.R)
	if err != nil || key == "" {
		return x.Caller, err
	}
	x.Caller.IdempotencyKey, err = s.bindKey(x, action, key, fmt.Appendf(sum, "?%s", x.R.URL.RawQuery))
	return x.Caller, err
}

// answered returns the answer to an earlier request with the same idempotency key as an error, or
// a conflict if that request sent another file. A file that is sent again is not stored, so it
// does not count against a quota.
func (u *Upload) answered(s *Endpoints, key *db.IdempotencyKey) error {
	lookup := func(key *db.IdempotencyKey) error {
		return s.DB.Answered(u.x.R.Context(), key)
	}
	used := lookup(key) // it does not cover the file yet
	var conflict *fault.Fault
	if !errors.As(used, &conflict) {
		return used
	}
	if _, err := io.Copy(io.Discard, u); err != nil {
		return err
	}
	by, err := u.End()
	if err == nil {
		err = lookup(by.IdempotencyKey)
	}
	if err == nil {
		err = used // it has just expired
	}
	return err
}

// Receive serves an operation with a service method that accepts a file with a maximum size in
// bytes, for callers with a session. A refused attempt is audited under the action.
func Receive[In, Out any](s *Endpoints, op api.Op[api.File, Out], action audit.Action, most int64,
	fn func(ctx context.Context, by db.Caller, in In, body *Upload) (Out, error)) Route {
	return receive(s, op, action, most, fn)
}

// CreateFrom is [Receive] for a method whose response says whether it has created something.
func CreateFrom[In, Out any](s *Endpoints, op api.Op[api.File, Out], action audit.Action, most int64,
	fn func(ctx context.Context, by db.Caller, in In, body *Upload) (Created[Out], error)) Route {
	return receive(s, op, action, most, fn)
}

func receive[In, Out any](s *Endpoints, op api.Operation, action audit.Action, most int64,
	fn func(ctx context.Context, by db.Caller, in In, body *Upload) (Out, error)) Route {
	bind := newBinder[In](s.now).of(op)
	return routeOf(op, func(x *Exchange) {
		if !s.enter(x) {
			return
		}
		if x.R.ContentLength > most {
			x.Fail(fault.New(api.CodeBodyTooLarge, "the file is larger than %d MiB", most>>20))
			return
		}
		done, err := s.claimKey(x, action, nil)
		key := x.Caller.IdempotencyKey
		x.Caller.IdempotencyKey = nil // it cannot be bound until the file has arrived
		if err != nil {
			s.refuse(x, action, err)
			return
		}
		defer done()
		in, err := bind.request(x, nil)
		body := NewUpload(x, x.R.Body, most, func(sum []byte) (db.Caller, error) { return s.endUpload(x, action, sum) })
		body.count = func(requests int) error { return s.Count(x, x.Caller.ID, requests) }
		if err == nil && key != nil {
			err = body.answered(s, key)
		}
		if err != nil {
			s.refuse(x, action, err)
			return
		}
		out, err := fn(x.R.Context(), x.Caller, in, body)
		if err != nil {
			s.refuse(x, action, err)
			return
		}
		s.answer(x, out)
	})
}

// OrFile serves an operation that accepts CSV and NDJSON as a file, and any other body in another way.
func OrFile(other, file Route) Route {
	return Route{other.Method, other.Path, func(x *Exchange) {
		switch kind, _, _ := mime.ParseMediaType(x.R.Header.Get("Content-Type")); kind {
		case "text/csv", "application/x-ndjson":
			file.Endpoint(x)
		default:
			other.Endpoint(x)
		}
	}}
}
