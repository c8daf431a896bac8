package db

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"bursar/api"
	"bursar/internal/audit"
	"bursar/internal/db/engine"
	"bursar/internal/fault"
)

// Caller is the account that requests a mutation, and the idempotency key of the request,
// if it has one.
type Caller struct {
	audit.Actor
	IdempotencyKey *IdempotencyKey
	// CoInitiators are other accounts that took part in the mutation, such as the sender of a file whose
	// import the caller has started. They do not count as a second person either.
	CoInitiators []string
}

// SystemCaller is the program itself, which acts on no one's request.
func SystemCaller() Caller { return Caller{Actor: audit.SystemActor("bursar")} }

// Write runs fn in a transaction and commits its changes together with the audit event (or
// events, see audit.All) that it returns. If the request has an idempotency key, the stored
// answer is part of the commit. Write returns only after all of it is on disk. fn may run
// more than once, so it must have no effects other than through tx.
//
// If the outcome of a transaction is unknown, such as when the database was killed while it
// committed, Write looks it up. If nothing was committed, it carries out the mutation again.
func Write[T any](ctx context.Context, d *DB, by Caller, fn func(tx *Tx) (T, audit.Event, error)) (T, error) {
	return write(ctx, d, by, new(trials[T]), fn)
}

// writeOnce is Write with a single attempt.
func writeOnce[T any](ctx context.Context, d *DB, by Caller, row *firstRow, fn func(tx *Tx) (T, audit.Event, error)) (T, audit.Event, error) {
	var out T
	var event audit.Event
	// A lookup costs a round trip, so assume the key is new; the unique index
	// catches reuse.
	assumeNewKey := by.IdempotencyKey != nil && d.dialect.detectReuseOnInsert
	attempt := func(c engine.Conn) error {
		tx := &Tx{Q: Q{c}, db: d}
		if !assumeNewKey {
			if err := by.IdempotencyKey.lookup(tx); err != nil {
				return err
			}
		}
		var err error
		if out, event, err = fn(tx); err != nil {
			return err
		}
		if err := tx.finish(by, out, event, row); err != nil {
			return err
		}
		return tx.writeFinished()
	}
	err := d.engine.Write(ctx, attempt)
	for retry := 0; retry < 2 && err != nil && ctx.Err() == nil && (lostKeyRace(err) || assumeNewKey && refused(err)); retry++ {
		// The request may have failed because it succeeded before, or because another node
		// has just carried it out. Look the key up this time, and replay the stored answer.
		assumeNewKey = false
		err = d.engine.Write(ctx, attempt)
	}
	return out, event, d.confirmReplay(ctx, err)
}

// finish collects the rows of a mutation for writeFinished: the answer, if the request has an
// idempotency key, and the rows of the audit log. The first of these has the id in row.
func (tx *Tx) finish(by Caller, out any, event audit.Event, row *firstRow) error {
	if err := by.IdempotencyKey.store(tx, out); err != nil {
		return err
	}
	row.written = false
	for _, one := range event.Each() {
		if one.Exempt() != "" {
			continue
		}
		id, salt := tx.db.newAuditID(), NewSalt()
		if !row.written {
			var err error
			if id, err = row.use(id, salt, one.WorkspaceID); err != nil {
				return err
			}
		}
		if err := tx.record(by.Actor, one, id, salt); err != nil {
			return err
		}
	}
	if notice := tx.db.dialect.notifyAccess; notice != "" && event.ChangesAccess() {
		return tx.Exec(notice)
	}
	return nil
}

// writeFinished writes the rows that finish has collected, for all mutations of the
// transaction together.
func (tx *Tx) writeFinished() error {
	if err := tx.InsertRows(insertAnswer, answerValues, tx.answers); err != nil {
		return fmt.Errorf("write the answers to idempotency keys: %w", err)
	}
	if err := tx.InsertRows(insertAudit, auditValues, tx.audited); err != nil {
		return fmt.Errorf("write the audit rows: %w", err)
	}
	return nil
}

// isAnswer reports whether an error is an answer to the caller and not a failure of the store.
func isAnswer(err error) bool {
	var f *fault.Fault
	var replay *Replay
	return errors.As(err, &f) || errors.As(err, &replay)
}

// refused reports whether a rule rejected the mutation: one of a service, or a constraint
// of the database. Other errors mean that the store did not work.
func refused(err error) bool {
	var f *fault.Fault
	return errors.As(err, &f) || IsUnique(err) || IsForeignKey(err)
}

// Record stores an event that belongs to no other change, such as a refusal. It also
// stores the answer to the caller, if the request has an idempotency key.
func Record(ctx context.Context, d *DB, by Caller, event audit.Event, answer any) error {
	_, err := Write(ctx, d, by, func(*Tx) (any, audit.Event, error) { return answer, event, nil })
	return err
}

const (
	insertAudit = `INSERT INTO audit_log (id, workspace_number, organization_id, actor_id_key, action_key, resource_type_key, resource_id_key, outcome_key, entry, personal, salt, key_id) VALUES `
	auditValues = `($1, (SELECT number FROM workspace WHERE id = $2), $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`
)

// maxAuditText bounds each text of an audit row, in bytes. Some texts come from refused
// requests, whose sender must not decide how large the log grows.
const maxAuditText = 1000

// capped shortens a text that is too long for an audit row and appends an ellipsis. It
// replaces control characters, which could manipulate the terminal of a person who reads
// the log.
func capped(text string) string {
	const ellipsis = "…"
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return utf8.RuneError
		}
		return r
	}, text)
	if len(text) <= maxAuditText {
		return text
	}
	end := maxAuditText - len(ellipsis)
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + ellipsis
}

// NewSalt returns a salt for the digest of the personal part of an audit row. Only the
// digest stays after an erasure, and the salt keeps anyone from guessing the text by it.
func NewSalt() [16]byte {
	var salt [16]byte
	_, _ = rand.Read(salt[:]) // it never fails
	return salt
}

func (tx *Tx) record(actor audit.Actor, e audit.Event, id auditID, salt [16]byte) error {
	if e.Empty() {
		return errors.New("a mutation returned no audit event")
	}
	if e.Actor != nil {
		e.Actor.RequestID, e.Actor.IP = actor.RequestID, actor.IP
		actor = *e.Actor
	}
	if e.Outcome == "" {
		e.Outcome = audit.Success
	}
	if e.WorkspaceID == "" && e.OrganizationID == "" {
		e.OrganizationID = actor.HomeOrgID
	}
	entry := api.AuditEntry{
		Action: string(e.Action), Outcome: string(e.Outcome), Description: capped(e.Description), Timestamp: id.at,
		ActorType: string(actor.Type), ActorID: capped(actor.ID), ActorName: capped(actor.Name), ActorEmail: capped(actor.Email),
		ResourceType: string(e.Action.Resource()), ResourceID: capped(e.ResourceID), RequestID: capped(actor.RequestID), IP: capped(actor.IP),
		Changes: e.Changes,
	}
	key := func(by audit.Filter, value string) int64 { return audit.FilterKey(by, e.WorkspaceID, value) }
	tx.audited = append(tx.audited, []any{PackID("aud", id.text), NullText(e.WorkspaceID), NullText(e.OrganizationID),
		key(audit.ByActor, entry.ActorID), key(audit.ByAction, entry.Action), key(audit.ByResourceType, entry.ResourceType),
		key(audit.ByResource, entry.ResourceID), audit.OutcomeKey(e.WorkspaceID, e.Outcome),
		string(audit.AppendEntry(make([]byte, 0, 256), entry)), string(audit.AppendPersonal(make([]byte, 0, 256), entry)), salt, PackID("key", actor.KeyID)})
	return nil
}
