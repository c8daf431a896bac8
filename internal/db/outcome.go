package db

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"bursar/internal/audit"
	"bursar/internal/db/engine"
	"bursar/internal/work"
)

var (
	// ErrAway is returned by a read or write if the store cannot be reached for too long. None of it
	// has happened.
	ErrAway = engine.ErrAway
	// ErrUnknown is returned by a write whose outcome is unknown and could not be determined in time.
	ErrUnknown = engine.ErrUnknown
)

// outcomeTimeout bounds how long the outcome of a write is looked up.
const outcomeTimeout = 10 * time.Second

// outcomePause is how long to wait before the next lookup.
const outcomePause = 100 * time.Millisecond

// auditID is the id of an audit row. The row's time is part of its id, so a span of time is a
// span of ids and needs no separate index.
type auditID struct {
	text string
	at   int64
}

func (d *DB) newAuditID() auditID {
	id, at := d.ids.next("aud")
	return auditID{id, at}
}

// firstRow is the first audit row of a mutation. All attempts at the mutation use the same id for
// it, so that at most one of them can be committed. Each attempt has its own salt, which
// identifies the committed one.
type firstRow struct {
	id        auditID
	workspace string   // to which the row belongs; ids are unique within a workspace, and among rows without one
	salt      [16]byte // of the latest attempt
	written   bool     // the latest attempt has such a row
}

// use makes it the row of another attempt. Only the first attempt takes the id from the argument.
func (r *firstRow) use(id auditID, salt [16]byte, workspace string) (auditID, error) {
	switch {
	case r.id.text == "":
		r.id, r.workspace = id, workspace
	case r.workspace != workspace:
		return id, fmt.Errorf("%w: another attempt was about another workspace", ErrUnknown)
	}
	r.salt, r.written = salt, true
	return r.id, nil
}

// trials are the attempts at a mutation whose outcome is unknown.
type trials[T any] struct {
	row firstRow
	all []trial[T]
}

type trial[T any] struct {
	salt  [16]byte
	out   T
	event audit.Event
}

func (t *trials[T]) add(out T, event audit.Event) {
	t.all = append(t.all, trial[T]{t.row.salt, out, event})
}

// find returns the attempt that was committed, or nil if none was.
func (t *trials[T]) find(ctx context.Context, d *DB) (*trial[T], error) {
	if len(t.all) == 0 {
		return nil, nil
	}
	var salt []byte
	err := d.engine.Write(ctx, func(c engine.Conn) error {
		salt = nil
		tx := Tx{Q: Q{c}, db: d}
		list, err := Collect(tx.Q, func(r Rows) []byte { return bytes.Clone(r.Raw(0)) },
			`SELECT salt FROM audit_log WHERE workspace_number = (SELECT number FROM workspace WHERE id = $2) AND id = $1
				UNION ALL SELECT salt FROM audit_log WHERE coalesce(workspace_number, 0) = 0 AND id = $1`, PackID("aud", t.row.id.text), t.row.workspace)
		if err != nil || len(list) == 0 {
			return err
		}
		salt = list[0]
		// A commit on this server counts only once its standby has it as well. The commit of this
		// transaction waits for that, if it writes anything.
		return tx.Exec(d.dialect.awaitStandby)
	})
	if err != nil || salt == nil {
		return nil, err
	}
	for i, one := range t.all {
		if bytes.Equal(one.salt[:], salt) {
			return &t.all[i], nil
		}
	}
	return nil, fmt.Errorf("the audit row %s is of no attempt at the mutation", t.row.id.text)
}

// write is Write for a mutation that may already have been attempted.
func write[T any](ctx context.Context, d *DB, by Caller, t *trials[T], fn func(tx *Tx) (T, audit.Event, error)) (T, error) {
	var none T
	if by.Type != audit.System {
		d.writes.Add(1)
	}
	bounded := false
	for {
		if len(t.all) > 0 && !bounded {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, outcomeTimeout)
			defer cancel()
			bounded = true
		}
		found, err := t.find(ctx, d)
		switch {
		case found != nil:
			return found.out, d.committed(found.event)
		case errors.Is(err, ErrUnknown) && ctx.Err() == nil:
			_ = work.Sleep(ctx, outcomePause) // the commit of find was not confirmed
			continue
		case err != nil:
			return none, unresolved(err)
		}
		out, event, err := writeOnce(ctx, d, by, &t.row, fn)
		switch {
		case err == nil:
			return out, d.committed(event)
		case errors.Is(err, ErrUnknown) && t.row.written && ctx.Err() == nil:
			t.add(out, event)
			continue
		case len(t.all) == 0:
			return none, err
		}
		var replay *Replay
		if errors.As(err, &replay) {
			return none, err
		}
		// An earlier attempt may have been committed meanwhile and cause this failure. Even if it was
		// not, it may still be, so the failure is not an answer.
		found, lost := t.find(ctx, d)
		if found != nil {
			return found.out, d.committed(found.event)
		}
		return none, unresolved(errors.Join(err, lost))
	}
}

// committed updates this node after a commit.
func (d *DB) committed(event audit.Event) error {
	if event.ChangesAccess() {
		d.epoch.Bump()
	}
	return nil
}

// unresolved hides the cause of err. A caller that finds a unique violation in it would assume that
// nothing has happened, and try again.
func unresolved(err error) error {
	return fmt.Errorf("%w, and it could not be found out: %v", ErrUnknown, err)
}
