package dispatch_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"bursar/internal/backup"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/payout"
	"bursar/internal/rail"
)

// The record of the connector has each payment that it has ever sent, even one that look-ups no longer find.

func (c *simConnector) Identity(context.Context) (string, error) { return c.identity, nil }
func (c *simConnector) Trust(string)                             {}
func (c *simConnector) Hold(string)                              {}

func (c *simConnector) Identify(_ context.Context, remember func(identity string) error) error {
	c.identity = "the record"
	return remember(c.identity)
}

func (c *simConnector) Recorded(_ context.Context, since int64, yield func(p rail.Recorded) error) error {
	for _, p := range c.sent {
		if p.At >= since {
			if err := yield(p); err != nil {
				return err
			}
		}
	}
	return nil
}

// note records a payment that is sent.
func (w *world) note(r *rail.Rail, p rail.Payment) {
	w.sent = append(w.sent, rail.Recorded{EndToEndID: p.EndToEndID, Submission: p.Submission, Amount: p.Amount, Currency: p.Currency, AccountID: p.AccountID, Rail: r.Name,
		ExternalHash: p.ExternalHash, At: p.Latest()})
}

// archive makes an archive of the store.
func (w *world) archive(t *testing.T) {
	t.Helper()
	w.archived = filepath.Join(t.TempDir(), "archive")
	if _, err := backup.WriteFile(t.Context(), w.db, db.Caller{}, w.archived, backup.Keys{Plain: true}, nil); err != nil {
		t.Fatal(err)
	}
	w.tell("the store is archived")
}

// restore kills all nodes and goes on with what the archive has.
func (w *world) restore(t *testing.T) {
	t.Helper()
	for _, n := range slices.Clone(w.nodes) {
		for n.paused != nil {
			w.wake(n, true)
		}
	}
	nodes := len(w.nodes)
	w.nodes = nil
	w.tell("the store is restored from the archive")
	from, err := os.Open(w.archived)
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	to := dbtest.SQLite(t)
	to.VaultKey = w.store.VaultKey
	if _, err := backup.Restore(t.Context(), db.Caller{}, from, backup.Keys{}, backup.Place{Config: to.Config, Name: "the store"}, nil); err != nil {
		t.Fatal(err)
	}
	w.store, w.archived = to, ""
	w.db = to.OpenAt(t, w.clock.Now)
	w.vault = to.Vault(w.db)
	startVault(t, w.db, w.vault)
	w.connect()
	w.serve()
	for range nodes {
		w.start()
	}
}

// operate does what an operator does while the rails are stopped: acknowledge what the store does not know, compare what is
// contradicted with the bank's statements, and resume.
func (w *world) operate() {
	w.t.Helper()
	var stopped payout.Stopped
	w.read(func(q db.Q) (err error) {
		stopped, err = payout.ReadStopped(q)
		return err
	})
	if !stopped.Stopped {
		return
	}
	for _, u := range stopped.Unknown {
		if w.chance(4) {
			continue // until the next time
		}
		if w.without.recovery {
			w.write(func(tx *db.Tx) error { return tx.Exec(`DELETE FROM unknown_payment`) })
			break
		}
		w.tell("the operator acknowledges %s", u.PayoutID)
		if _, err := payout.Acknowledge(context.Background(), w.db, db.Caller{}, []string{u.PayoutID}); err != nil {
			w.t.Fatal(err)
		}
	}
	var checked []string // no rail can be asked about these any more
	for _, p := range stopped.First {
		if w.payout(p.ID).Attention == payout.Contradicted {
			checked = append(checked, p.ID)
		}
	}
	if w.resume(false, checked...) == nil {
		w.tell("the operator resumes the rails")
	}
}
