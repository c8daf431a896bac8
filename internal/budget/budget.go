// Package budget limits attempts at sensitive operations, such as guessing a password or
// a code, or having mail sent. Its budgets are in the store, so they survive a restart
// and apply to all nodes together. Package limit, which counts every request, keeps its
// buckets in memory.
package budget

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"time"

	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/fault"
)

// Kind is the purpose of a budget. Kinds have different names, so that no key of one can
// use up the budget of another.
type Kind struct {
	Name  string
	Burst int           // attempts at once
	Every time.Duration // the time in which one attempt is regained
}

// Use is one attempt against the budget of a key, such as an address.
type Use struct {
	kind Kind
	key  string
}

// Of returns an attempt against the budget of a key.
func (k Kind) Of(key string) Use { return Use{k, key} }

// id returns an id that has the same length for all keys and does not reveal the key,
// such as an address.
func (u Use) id() string {
	sum := sha256.Sum256([]byte(u.kind.Name + "\n" + u.key))
	return hex.EncodeToString(sum[:16])
}

// last returns the latest full_at at which a budget still has an attempt left.
func (u Use) last(now int64) int64 {
	return now + int64(u.kind.Burst-1)*u.kind.Every.Milliseconds()
}

// Budgets are the budgets of a store. A nil *Budgets has no limit.
type Budgets struct{ db *db.DB }

// New returns the budgets of a store.
func New(d *db.DB) *Budgets { return &Budgets{d} }

// Spend uses up attempts, or returns a fault with the time to wait and uses up none.
func (b *Budgets) Spend(ctx context.Context, uses ...Use) error {
	// A flood of refused attempts must not delay other writers.
	if err := b.Check(ctx, uses...); err != nil || b == nil {
		return err
	}
	_, err := db.Write(ctx, b.db, db.Caller{}, func(tx *db.Tx) (struct{}, audit.Event, error) {
		return struct{}{}, audit.None("what an attempt leads to is recorded"), b.Take(tx, uses...)
	})
	return err
}

// Check is Spend without using up anything.
func (b *Budgets) Check(ctx context.Context, uses ...Use) error {
	if b == nil {
		return nil
	}
	return b.db.Read(ctx, func(q db.Q) error { return b.Peek(q, uses...) })
}

// Peek is Check as a part of a Read.
func (b *Budgets) Peek(q db.Q, uses ...Use) error {
	if b == nil {
		return nil
	}
	now := b.db.Now()
	for _, u := range uses {
		wait, err := u.wait(q, now)
		if err != nil {
			return err
		}
		if wait > 0 {
			return fault.Limited(wait)
		}
	}
	return nil
}

// Left reports whether an attempt is left, without using it up.
func (u Use) Left(q db.Q, now int64) (bool, error) {
	wait, err := u.wait(q, now)
	return wait <= 0, err
}

// Take uses up an attempt, and reports whether one was left.
func (u Use) Take(tx *db.Tx) (bool, error) { return u.take(tx, tx.Now()) }

func (u Use) wait(q db.Q, now int64) (time.Duration, error) {
	var fullAt int64
	_, err := q.Row(`SELECT full_at FROM budget WHERE id = $1`, u.id()).Scan(&fullAt)
	return time.Duration(fullAt-u.last(now)) * time.Millisecond, err
}

// Take is Spend as a part of a Write. If the Write fails, nothing is used up.
func (b *Budgets) Take(tx *db.Tx, uses ...Use) error {
	if b == nil {
		return nil
	}
	for _, u := range uses {
		now := tx.Now()
		taken, err := u.take(tx, now)
		if err != nil {
			return err
		}
		if !taken {
			wait, err := u.wait(tx.Q, now)
			if err != nil {
				return err
			}
			return fault.Limited(max(wait, time.Millisecond))
		}
	}
	return nil
}

func (u Use) take(tx *db.Tx, now int64) (bool, error) {
	every := u.kind.Every.Milliseconds()
	return tx.Row(`INSERT INTO budget (id, full_at) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE
		SET full_at = CASE WHEN budget.full_at > $3 THEN budget.full_at ELSE $3 END + $4 WHERE budget.full_at <= $5 RETURNING id`,
		u.id(), now+every, now, every, u.last(now)).Scan(new(string))
}

// Once uses up something that is valid a single time, such as a challenge, and reports
// whether it was still unused. It is recorded for the lifetime.
func Once(tx *db.Tx, name, key string, life time.Duration) (bool, error) {
	return Kind{name, 1, life}.Of(key).Take(tx)
}

// Expire deletes the budgets that are full again.
func Expire(tx *db.Tx) error { return tx.Exec(`DELETE FROM budget WHERE full_at <= $1`, tx.Now()) }
