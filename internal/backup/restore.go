package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/identity"
	"bursar/internal/mail"
	"bursar/internal/payout"
)

// Restored is the result of a restore.
type Restored struct {
	Manifest
	Sessions int64 `json:"sessions_ended"`
	Payouts  int64 `json:"payouts_to_look_up"`
}

// Restore fills an empty store with an archive. It ends all sessions and stops the rails, because the archive
// lacks all later events.
func Restore(ctx context.Context, by db.Caller, from io.Reader, keys Keys, to Place, progress func(rows int64)) (done Restored, err error) {
	s, err := openArchive(from, keys)
	if err != nil {
		return done, err
	}
	known, err := to.Config.LastMigration()
	if err != nil {
		return done, err
	}
	if s.Schema > known {
		return done, fmt.Errorf("the archive has migration %s, which this program does not know: use a newer bursar", s.Schema)
	}
	if done.Manifest, err = s.fill(ctx, to, progress); err != nil {
		return done, err
	}
	d, err := to.open(ctx) // also migrates the schema of an earlier program
	if err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	return finish(ctx, d, by, done, "an archive of "+time.UnixMilli(s.At).UTC().Format(time.DateTime+" UTC"))
}

// Recovered does to a database that went back in time by other means what Restore does to a store. from
// names those means.
func Recovered(ctx context.Context, by db.Caller, at Place, from string) (done Restored, err error) {
	at.Config.Exclusive = true
	d, err := db.Open(ctx, at.Config)
	if err != nil {
		return done, fmt.Errorf("open %s: %w", at.Name, err)
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	return finish(ctx, d, by, done, from)
}

// finish ends all sessions, stops the rails, drops old queued mail and clears the mark of a restored store.
func finish(ctx context.Context, d *db.DB, by db.Caller, done Restored, from string) (Restored, error) {
	return db.Write(ctx, d, by, func(tx *db.Tx) (Restored, audit.Event, error) {
		var err error
		if done.Sessions, err = identity.EndAll(tx); err != nil {
			return done, audit.Event{}, fmt.Errorf("end the sessions: %w", err)
		}
		if done.Payouts, err = payout.StopRails(tx, "restored from "+from); err != nil {
			return done, audit.Event{}, fmt.Errorf("stop the rails: %w", err)
		}
		if err := mail.Forget(tx); err != nil {
			return done, audit.Event{}, fmt.Errorf("drop the mail of then: %w", err)
		}
		event := audit.Event{Action: audit.StoreRestored, Description: fmt.Sprintf(
			"Restored the store from %s: ended %d sessions and stopped the rails; %d payouts are looked up", from, done.Sessions, done.Payouts)}
		return done, event, tx.ClearMark()
	})
}

// fill loads the rows into an empty store of the same schema.
func (s *stream) fill(ctx context.Context, to Place, progress func(rows int64)) (m Manifest, err error) {
	to.Config.Schema = s.Schema
	d, err := to.openTarget(ctx)
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	isEmpty, err := claim(ctx, d, "a restore", false)
	if err != nil {
		return m, err
	}
	if !isEmpty {
		return m, fmt.Errorf("an interrupted restore has filled the target, and not ended sessions yet: %w", errFull)
	}
	err = d.Exclusive(ctx, func(b *db.Bulk) (err error) {
		m, err = load(b, d, s, progress)
		return err
	})
	return m, err
}
