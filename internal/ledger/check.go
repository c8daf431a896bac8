package ledger

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/work"
)

const (
	checkPause = time.Second      // between two steps, each of which reads verifyChunk rows
	checkStore = time.Minute      // how often the progress is stored
	checkEvery = time.Hour        // from one beginning to the next
	checkLease = 3 * time.Minute  // after which another node continues
	checkName  = "ledger_checked" // the setting that contains the progress
)

// Check verifies the ledger repeatedly in small steps, while the server runs. One node does so at a time. Its progress is in the store, and
// another node continues from there. One check is left out because it needs too much memory: whether the money with which a payout ended
// was reserved for it before.
type Check struct {
	db     *db.DB
	holder string

	mu     sync.Mutex
	state  checkState
	stored string
}

// checkState is the progress of a check.
type checkState struct {
	Walker       walker `json:"walker"`
	Accounts     bool   `json:"accounts"` // all of them were checked
	Transaction  string `json:"transaction"`
	Transactions bool   `json:"transactions"` // all of them were checked
	Payout       string `json:"payout"`
	// Earlier are the transactions without a code so far, under the key made at Since. If the ledger was reauthenticated meanwhile, the key
	// is another one, and they are not compared.
	Earlier earlier `json:"earlier"`
	Since   int64   `json:"since"`
	Began   int64   `json:"began"`
	Ended   bool    `json:"ended"`
	Found   int     `json:"found"`  // mismatches
	Before  int     `json:"before"` // mismatches of the previous check
	Holder  string  `json:"holder"`
	Until   int64   `json:"until"`
}

// NewCheck returns the check of a node.
func NewCheck(d *db.DB) *Check { return &Check{db: d, holder: rand.Text()} }

// Mismatches returns the number of mismatches found by the current check or the previous one, whichever is larger.
func (c *Check) Mismatches() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return max(c.state.Found, c.state.Before)
}

// Run checks until the context ends.
func (c *Check) Run(ctx context.Context, log *slog.Logger) {
	work.Every(ctx, checkPause, func() {
		if _, err := c.Turn(ctx, log); err != nil && ctx.Err() == nil {
			log.Warn("the ledger could not be checked, which will be retried", "error", err.Error())
		}
	})
}

// Turn performs one step, and reports whether another one is due immediately.
func (c *Check) Turn(ctx context.Context, log *slog.Logger) (more bool, err error) {
	c.mu.Lock()
	state := c.state
	c.mu.Unlock()
	now := c.db.Now()
	if state.Holder != c.holder || state.Until-now < (checkLease-checkStore).Milliseconds() {
		if state, err = c.store(ctx, state); err != nil || state.Holder != c.holder {
			return false, err
		}
	}
	if state.Ended && now < state.Began+checkEvery.Milliseconds() {
		return false, nil
	}
	if state.Ended || state.Began == 0 {
		state = checkState{Began: now, Before: state.Found, Holder: state.Holder, Until: state.Until}
		if i := c.db.Integrity(); i != nil {
			state.Since = i.Since
		}
	}
	var found []Mismatch
	err = c.db.Read(ctx, func(q db.Q) (err error) {
		if err = q.Snapshot(); err == nil {
			found, err = state.step(q, c.db.Integrity())
		}
		return err
	})
	if err != nil {
		return false, err
	}
	for _, m := range found {
		log.Error("the ledger contradicts itself", "transaction_id", m.TransactionID, "account_id", m.AccountID, "mismatch", m.String())
	}
	state.Found += len(found)
	c.mu.Lock()
	c.state = state
	c.mu.Unlock()
	if state.Ended {
		_, err = c.store(ctx, state)
	}
	return !state.Ended, err
}

// step verifies some postings, some transactions or some payouts.
func (s *checkState) step(q db.Q, i *db.Integrity) (found []Mismatch, err error) {
	var read int
	switch {
	case s.Transactions:
		s.Payout, read, found, err = checkPayouts(q, i, s.Payout)
		s.Ended = read < verifyChunk
		return found, err
	case s.Accounts:
		some, err := checkTransactions(q, i, s.Transaction)
		if err != nil {
			return nil, err
		}
		s.Transaction, s.Transactions = some.last, some.read < verifyChunk
		s.Earlier.add(i, some.earlier)
		if s.Transactions && i != nil && s.Since == i.Since {
			some.found = append(some.found, s.Earlier.compare(i)...)
		}
		return some.found, nil
	}
	if s.Walker.Account == "" {
		more, err := s.Walker.begin(q)
		s.Accounts = !more
		if err != nil || !more {
			return nil, err
		}
	}
	for budget := verifyChunk; budget > 0; { // small accounts share a step
		rows, some, err := s.Walker.step(q)
		if found = append(found, some...); err != nil || rows == verifyChunk {
			return found, err
		}
		budget -= rows + 10
		more, err := s.Walker.begin(q)
		if s.Accounts = !more; err != nil || !more {
			return found, err
		}
	}
	return found, nil
}

// store stores the progress of the check, and takes or renews the lease. If another node has the lease, or has continued, the state is the
// one that node has stored.
func (c *Check) store(ctx context.Context, state checkState) (checkState, error) {
	by := db.SystemCaller()
	next, err := db.Write(ctx, c.db, by, func(tx *db.Tx) (checkState, audit.Event, error) {
		event := audit.None("a check changes nothing")
		var text string
		if _, err := tx.Row(`SELECT value FROM setting WHERE name = $1`, checkName).Scan(&text); err != nil {
			return state, event, err
		}
		next := state
		if text != c.stored || next.Holder != c.holder { // another node has stored it
			next = checkState{}
			if text != "" {
				if err := json.Unmarshal([]byte(text), &next); err != nil {
					return state, event, fmt.Errorf("read how far the ledger is checked: %w", err)
				}
			}
			if next.Holder != c.holder && next.Until > tx.Now() {
				return next, event, nil
			}
		}
		next.Holder, next.Until = c.holder, tx.Now()+checkLease.Milliseconds()
		value, err := json.Marshal(next)
		if err != nil {
			return state, event, err
		}
		swapped, err := tx.Row(`INSERT INTO setting (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = $2 WHERE setting.value = $3 RETURNING name`,
			checkName, string(value), text).Scan(new(string))
		if err == nil && !swapped {
			next.Holder = ""
		}
		return next, event, err
	})
	if err != nil {
		return state, err
	}
	value, err := json.Marshal(next)
	c.mu.Lock()
	c.state, c.stored = next, string(value)
	c.mu.Unlock()
	return next, err
}
