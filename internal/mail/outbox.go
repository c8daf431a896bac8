package mail

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/vault"
)

// Lane is a kind of mail with its own limit and connection, so that one kind cannot delay another.
type Lane string

const (
	Accounts    Lane = "account"    // about the recipient's own account, such as recovery
	Invitations Lane = "invitation" // requested by other users, without a limit
	Notices     Lane = "notice"     // events of the recipient's account
)

func lanes() []Lane { return []Lane{Accounts, Invitations, Notices} }

const (
	// capacity bounds how many messages of a lane are queued, including those between two attempts.
	capacity = 256
	// claimed is how many messages a node claims at a time.
	claimed = 16
	// lease is how long other nodes leave a message to the node that delivers it. renewal is how
	// often that node extends the lease. If the node dies, another one continues after this time.
	lease, renewal = 5 * time.Second, time.Second
	// maxAge is when a message is removed that was never attempted, because no node could send mail.
	// A link in it has expired, or soon will.
	maxAge = 24 * time.Hour
)

// ErrFull is returned if too many messages of a lane are queued.
var ErrFull = errors.New("the mail queue is full")

// errTaken is returned if another node has taken over a message.
var errTaken = errors.New("another node has taken the mail over")

// batch is a set of messages of a lane that a node has claimed together. Its name
// identifies the claim.
type batch struct {
	lane    Lane
	name    string
	letters []letter
}

// letter is a message of a batch.
type letter struct {
	id        string
	claim     string
	sealed    []byte
	attempts  int64 // including the current one
	createdAt int64
	message   Message
}

// Queue stores a message as part of a transaction. The message is sent if the transaction
// commits, even if the node dies at once, and otherwise not. Queue returns ErrFull if there is
// no room. A message that no mail server could accept is dropped and logged.
func (m *Mailer) Queue(tx *db.Tx, lane Lane, message Message) error {
	if m == nil {
		return errors.New("mail is not configured")
	}
	if err := message.check(); err != nil {
		m.log.Warn("mail was refused", "reason", err.Error())
		return nil
	}
	var waiting int64
	if _, err := tx.Row(`SELECT count(*) FROM (SELECT id FROM outgoing_mail WHERE lane = $1 LIMIT $2) AS waiting`, string(lane), capacity).Scan(&waiting); err != nil {
		return err
	}
	if waiting >= capacity {
		m.log.Warn("mail was not queued", "domain", domainOf(message.To), "reason", ErrFull.Error())
		return ErrFull
	}
	text, err := json.Marshal(message)
	if err != nil {
		return fmt.Errorf("encode a message: %w", err)
	}
	id := tx.NewID("mail")
	sealed, err := m.vault.Seal(0, vault.OutgoingMail(id), text)
	if err != nil {
		return err
	}
	return tx.Exec(`INSERT INTO outgoing_mail (id, lane, message_sealed, sealed_by, attempts, claim, due_at, created_at) VALUES ($1, $2, $3, $4, 0, '', $5, $5)`,
		id, string(lane), sealed, vault.KeyOf(sealed), tx.Now())
}

// claim claims the messages of a lane that are due, oldest first.
func (m *Mailer) claim(ctx context.Context, lane Lane) (batch, error) {
	var due []string
	err := m.db.Read(ctx, func(q db.Q) (err error) {
		now := m.db.Now()
		due, err = db.Collect(q, func(r db.Rows) string { return r.Text(0) },
			`SELECT id FROM outgoing_mail WHERE lane = $1 AND due_at <= $2 AND created_at > $3 ORDER BY due_at, id LIMIT $4`,
			string(lane), now, now-maxAge.Milliseconds(), claimed)
		return err
	})
	b := batch{lane: lane, name: rand.Text()}
	if err != nil || len(due) == 0 {
		return b, err
	}
	b.letters, err = change(ctx, m, func(tx *db.Tx) (taken []letter, err error) {
		for _, id := range due {
			l := letter{id: id, claim: b.name}
			mine, err := tx.Row(`UPDATE outgoing_mail SET claim = $2, due_at = $3, attempts = attempts + 1
				WHERE id = $1 AND due_at <= $4 RETURNING message_sealed, attempts, created_at`,
				id, b.name, tx.Now()+lease.Milliseconds(), tx.Now()).Scan(&l.sealed, &l.attempts, &l.createdAt)
			if err != nil {
				return nil, err
			}
			if mine {
				taken = append(taken, l)
			}
		}
		return taken, nil
	})
	return b, err
}

// open decrypts the letters of a batch. Another node may be able to decrypt a letter that this
// one cannot, because this one may not have the newest key of the vault yet.
func (m *Mailer) open(ctx context.Context, b *batch) error {
	var readable []letter
	for _, l := range b.letters {
		text, err := m.vault.Open(0, vault.OutgoingMail(l.id), l.sealed)
		if err == nil {
			err = json.Unmarshal(text, &l.message)
		}
		switch {
		case err == nil:
			readable = append(readable, l)
			continue
		case errors.Is(err, vault.ErrDamaged):
			m.log.Error("mail was not delivered", "reason", err.Error())
			err = m.remove(ctx, l)
		default:
			m.log.Warn("mail cannot be opened here and is left to other nodes", "reason", err.Error())
			err = m.exec(ctx, `UPDATE outgoing_mail SET claim = '', due_at = $3, attempts = attempts - 1 WHERE id = $1 AND claim = $2 RETURNING id`,
				l.id, l.claim, m.db.Now()+lease.Milliseconds())
		}
		if err != nil {
			return err
		}
	}
	b.letters = readable
	return nil
}

// renew extends the lease of a batch.
func (m *Mailer) renew(ctx context.Context, b batch) error {
	return m.exec(ctx, `UPDATE outgoing_mail SET due_at = $3 WHERE lane = $1 AND claim = $2 RETURNING id`, string(b.lane), b.name, m.db.Now()+lease.Milliseconds())
}

// remove deletes a message that was delivered or given up.
func (m *Mailer) remove(ctx context.Context, l letter) error {
	return m.exec(ctx, `DELETE FROM outgoing_mail WHERE id = $1 AND claim = $2 RETURNING id`, l.id, l.claim)
}

// postpone schedules a message for another attempt, by any node.
func (m *Mailer) postpone(ctx context.Context, l letter, pause time.Duration) error {
	return m.exec(ctx, `UPDATE outgoing_mail SET claim = '', due_at = $3 WHERE id = $1 AND claim = $2 RETURNING id`, l.id, l.claim, m.db.Now()+pause.Milliseconds())
}

// release returns the rest of a batch to the queue, as not attempted.
func (m *Mailer) release(ctx context.Context, b batch) error {
	return m.exec(ctx, `UPDATE outgoing_mail SET claim = '', due_at = $3, attempts = attempts - 1 WHERE lane = $1 AND claim = $2 RETURNING id`, string(b.lane), b.name, m.db.Now())
}

// exec runs a statement that returns the rows it has changed. It returns errTaken if there are none.
func (m *Mailer) exec(ctx context.Context, sql string, args ...any) error {
	_, err := change(ctx, m, func(tx *db.Tx) (struct{}, error) {
		mine, err := tx.Row(sql, args...).Scan(new(string))
		if err == nil && !mine {
			err = errTaken
		}
		return struct{}{}, err
	})
	return err
}

func change[T any](ctx context.Context, m *Mailer, fn func(tx *db.Tx) (T, error)) (T, error) {
	return db.Write(ctx, m.db, db.SystemCaller(), func(tx *db.Tx) (T, audit.Event, error) {
		out, err := fn(tx)
		return out, audit.None("a mail changes nothing that the log records"), err
	})
}

// Expire deletes mail that was not sent for a day, for example because mail is no longer configured.
func Expire(tx *db.Tx) error {
	return tx.Exec(`DELETE FROM outgoing_mail WHERE created_at <= $1`, tx.Now()-maxAge.Milliseconds())
}

// Forget deletes all mail. A restored store must not resend mail that has already arrived.
func Forget(tx *db.Tx) error { return tx.Exec(`DELETE FROM outgoing_mail`) }
