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

// Caller is who asks for a mutation, and the idempotency key of the request, if
// it has one.
type Caller struct {
	audit.Actor
	IdempotencyKey *IdempotencyKey
	// Behind are other accounts that had a part in what is written, such as that of the sender of a
	// file whose import the caller has started. They are no second person for it either.
	Behind []string
}

// Write runs fn in a transaction and commits its changes together with the
// audit event (or events, see audit.All) that it returns and, if the request has an idempotency key, the
// stored answer. Write returns only after all of it is on disk. fn may run more
// than once, so it must have no effects other than through tx.
func Write[T any](ctx context.Context, d *DB, by Caller, fn func(tx *Tx) (T, audit.Event, error)) (T, error) {
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
		return tx.finish(by, out, event)
	}
	if by.Type != audit.System {
		d.writes.Add(1)
	}
	err := d.engine.Write(ctx, attempt)
	for retry := 0; retry < 2 && err != nil && ctx.Err() == nil && (lostKeyRace(err) || assumeNewKey && refused(err)); retry++ {
		// The request may have failed because it succeeded before, or because another
		// node has just carried it out. Look the key up this time, and replay that answer.
		assumeNewKey = false
		err = d.engine.Write(ctx, attempt)
	}
	if err != nil {
		var none T
		return none, err
	}
	if event.ChangesAccess() {
		d.epoch.Bump()
	}
	return out, nil
}

// finish writes what belongs to every mutation: the answer, if the request has an idempotency key,
// and the rows of the audit log.
func (tx *Tx) finish(by Caller, out any, event audit.Event) error {
	if err := by.IdempotencyKey.store(tx, out); err != nil {
		return err
	}
	for _, one := range event.Each() {
		if err := tx.record(by.Actor, one); err != nil {
			return err
		}
	}
	return nil
}

// isAnswer reports whether an error is what a caller is told, and no failure of the store.
func isAnswer(err error) bool {
	var f *fault.Fault
	var replay *Replay
	return errors.As(err, &f) || errors.As(err, &replay)
}

// refused reports whether a rule rejected the mutation: one of a service, or a
// constraint of the database. Other errors say that the store did not work.
func refused(err error) bool {
	var f *fault.Fault
	return errors.As(err, &f) || IsUnique(err) || IsForeignKey(err)
}

// Record stores an event that belongs to no other change, such as a refusal, and
// the answer that the caller gets, if the request has an idempotency key.
func Record(ctx context.Context, d *DB, by Caller, event audit.Event, answer any) error {
	_, err := Write(ctx, d, by, func(*Tx) (any, audit.Event, error) { return answer, event, nil })
	return err
}

const insertAudit = `INSERT INTO audit_log (id, workspace_number, organization_id, actor_id_key, action_key, resource_type_key, resource_id_key, outcome_key, entry, personal, salt)
	VALUES ($1, (SELECT number FROM workspace WHERE id = $2), $3, $4, $5, $6, $7, $8, $9, $10, $11)`

// maxAuditText bounds each text of an audit row, in bytes. Some of them come from
// requests that were refused, whose sender must not decide how large the log grows.
const maxAuditText = 1000

// capped returns a text that is too long for an audit row with an ellipsis at its end. It
// replaces control characters, with which whoever made up the text could write what they
// like on the terminal of whoever reads the log.
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

// NewSalt returns what keeps anybody from guessing the personal part of an audit row by its
// digest, which is all that stays of it when it is erased.
func NewSalt() [16]byte {
	var salt [16]byte
	_, _ = rand.Read(salt[:]) // it never fails
	return salt
}

func (tx *Tx) record(actor audit.Actor, e audit.Event) error {
	if e.Empty() {
		return errors.New("a mutation returned no audit event")
	}
	if e.Exempt() != "" {
		return nil
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
	// The row has the time that is in its id. A span of time is therefore a span of
	// ids, and needs no index of its own.
	id, at := tx.db.ids.next("aud")
	entry := api.AuditEntry{
		Action: string(e.Action), Outcome: string(e.Outcome), Description: capped(e.Description), Timestamp: at,
		ActorType: string(actor.Type), ActorID: capped(actor.ID), ActorName: capped(actor.Name), ActorEmail: capped(actor.Email),
		ResourceType: string(e.Action.Resource()), ResourceID: capped(e.ResourceID), RequestID: capped(actor.RequestID), IP: capped(actor.IP),
		Changes: e.Changes,
	}
	key := func(by audit.Filter, value string) int64 { return audit.FilterKey(by, e.WorkspaceID, value) }
	if err := tx.Exec(insertAudit, PackID("aud", id), NullText(e.WorkspaceID), NullText(e.OrganizationID),
		key(audit.ByActor, entry.ActorID), key(audit.ByAction, entry.Action), key(audit.ByResourceType, entry.ResourceType),
		key(audit.ByResource, entry.ResourceID), audit.OutcomeKey(e.WorkspaceID, e.Outcome),
		string(audit.AppendEntry(make([]byte, 0, 256), entry)), string(audit.AppendPersonal(make([]byte, 0, 256), entry)), NewSalt()); err != nil {
		return fmt.Errorf("write the audit row: %w", err)
	}
	if notice := tx.db.dialect.notifyAccess; notice != "" && e.ChangesAccess() {
		return tx.Exec(notice)
	}
	return nil
}
