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

// Lane is a kind of mail that has a bound and a connection of its own, so that one kind
// cannot keep another from being sent.
type Lane string

const (
	Accounts    Lane = "account"    // about the recipient's own account, such as recovery
	Invitations Lane = "invitation" // which others ask for, as many as they like
	Notices     Lane = "notice"     // which tell people what happened to their accounts
)

func lanes() []Lane { return []Lane{Accounts, Invitations, Notices} }

const (
	// capacity bounds how many messages of a lane wait, including those between two attempts.
	capacity = 256
	// claimed is how many messages a node takes at a time.
	claimed = 16
	// lease is how long other nodes leave a message to the node that delivers it, and renewal how
	// often that node prolongs it. If it dies, another one goes on after this time.
	lease, renewal = 5 * time.Second, time.Second
	// maxAge is when a message goes that was not even tried, because no node could send mail. A link
	// in it has expired, or soon will.
	maxAge = 24 * time.Hour
)

// ErrFull is that too many messages of a lane wait.
var ErrFull = errors.New("the mail queue is full")

// errTaken is that another node has taken over what this one was to deliver.
var errTaken = errors.New("another node has taken the mail over")

// batch is what a node has taken together from a lane. Its name is the node's claim to it.
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
	attempts  int64 // with the one that it was taken for
	createdAt int64
	message   Message
}

// Queue stores a message as part of a transaction: it is sent if what it tells of has happened,
// also if the node dies at once, and else not. It returns ErrFull if there is no room. A message
// that no mail server could take is left out, and the log says so.
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

// claim takes the messages of a lane that are due, oldest first.
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

// open reads what the letters of a batch say. What it cannot read now, another node may: this one
// may not have the newest key of the vault yet.
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

// renew keeps other nodes from a batch.
func (m *Mailer) renew(ctx context.Context, b batch) error {
	return m.exec(ctx, `UPDATE outgoing_mail SET due_at = $3 WHERE lane = $1 AND claim = $2 RETURNING id`, string(b.lane), b.name, m.db.Now()+lease.Milliseconds())
}

// remove ends a message that was delivered or given up.
func (m *Mailer) remove(ctx context.Context, l letter) error {
	return m.exec(ctx, `DELETE FROM outgoing_mail WHERE id = $1 AND claim = $2 RETURNING id`, l.id, l.claim)
}

// postpone keeps a message for another attempt, by any node.
func (m *Mailer) postpone(ctx context.Context, l letter, pause time.Duration) error {
	return m.exec(ctx, `UPDATE outgoing_mail SET claim = '', due_at = $3 WHERE id = $1 AND claim = $2 RETURNING id`, l.id, l.claim, m.db.Now()+pause.Milliseconds())
}

// release gives back what is left of a batch, as not tried.
func (m *Mailer) release(ctx context.Context, b batch) error {
	return m.exec(ctx, `UPDATE outgoing_mail SET claim = '', due_at = $3, attempts = attempts - 1 WHERE lane = $1 AND claim = $2 RETURNING id`, string(b.lane), b.name, m.db.Now())
}

// exec runs a statement that returns what it has changed, and returns errTaken if that is nothing.
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
	return db.Write(ctx, m.db, db.Caller{Actor: audit.SystemActor("bursar")}, func(tx *db.Tx) (T, audit.Event, error) {
		out, err := fn(tx)
		return out, audit.None("a mail changes nothing that the log tells of"), err
	})
}

// Expire removes mail that nobody has sent for a day, such as where mail is not configured any more.
func Expire(tx *db.Tx) error {
	return tx.Exec(`DELETE FROM outgoing_mail WHERE created_at <= $1`, tx.Now()-maxAge.Milliseconds())
}

// Forget removes all mail. A store that was restored must not send once more what has arrived.
func Forget(tx *db.Tx) error { return tx.Exec(`DELETE FROM outgoing_mail`) }
