package auditlog

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/keyfile"
	"bursar/internal/mail"
	"bursar/internal/work"
)

const (
	publishInterval = time.Second
	mailInterval    = 24 * time.Hour
)

// Run publishes the newest checkpoint until the context ends, and once more then: to the
// file outside the store, by mail, and to the witnesses.
func (s *Signer) Run(ctx context.Context) {
	if s.key == nil {
		return
	}
	var others sync.WaitGroup
	defer others.Wait()
	for _, w := range s.witnesses {
		others.Go(func() { w.run(ctx, s) })
	}
	failing := ""
	work.Every(ctx, publishInterval, func() {
		err := s.Publish(ctx)
		reason := fmt.Sprint(err)
		if err != nil && ctx.Err() == nil && reason != failing {
			s.log.Error("the audit log is not signed or its checkpoint is not kept, which will be retried", "error", reason)
		}
		failing = reason
	})
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := s.Publish(last); err != nil {
		s.log.Warn("the last checkpoint of the audit log was not kept", "error", err.Error())
	}
}

// Publish signs the newest head, stores the checkpoint in the file, and mails it once a day.
func (s *Signer) Publish(ctx context.Context) error {
	s.publishing.Lock()
	defer s.publishing.Unlock()
	newest, err := s.Newest(ctx)
	if errors.Is(err, ErrUnsigned) {
		return nil
	}
	if err != nil {
		if ctx.Err() == nil {
			s.health.fail("sign")
		}
		return err
	}
	if newest.Checkpoint != s.stored {
		if err := keyfile.Replace(s.file, newest.Text); err != nil {
			s.health.fail("file")
			return fmt.Errorf("keep the checkpoint outside of the store: %w", err)
		}
		s.stored = newest.Checkpoint
		for _, w := range s.witnesses {
			w.grown.Send()
		}
	}
	return s.post(ctx, newest)
}

// post mails the checkpoint if none was mailed for a day, by this node or another.
func (s *Signer) post(ctx context.Context, newest Signed) error {
	if s.mailTo == "" || !s.mailer.Configured() {
		return nil
	}
	now := s.db.Now()
	var last int64
	err := s.db.Read(ctx, func(q db.Q) error {
		_, err := q.Row(`SELECT mailed_at FROM audit_tree`).Scan(&last)
		return err
	})
	if err != nil || now-last < mailInterval.Milliseconds() {
		return err
	}
	message := mail.Checkpoint{To: s.mailTo, Text: string(newest.Text), At: time.UnixMilli(newest.At)}.Message()
	_, err = db.Write(ctx, s.db, db.SystemCaller(), func(tx *db.Tx) (struct{}, audit.Event, error) {
		first, err := tx.Row(`UPDATE audit_tree SET mailed_at = $1 WHERE mailed_at = $2 RETURNING mailed_at`, now, last).Scan(new(int64))
		if err == nil && first { // and no other node was first
			err = s.mailer.Queue(tx, mail.Notices, message)
		}
		return struct{}{}, audit.None("a mail about the log is no change that the log tells of"), err
	})
	if err != nil && ctx.Err() == nil {
		s.health.fail("mail")
	}
	return err
}

// Checkpoint returns the newest checkpoint with the signatures of the witnesses that have
// signed it.
func (s *Signer) Checkpoint(ctx context.Context) ([]byte, error) {
	newest, err := s.Newest(ctx)
	if err != nil {
		return nil, err
	}
	text := newest.Text[:len(newest.Text):len(newest.Text)]
	for _, w := range s.witnesses {
		text = append(text, w.signature(newest.Checkpoint)...)
	}
	return text, nil
}
