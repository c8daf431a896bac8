package ledger_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"bursar/api"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/fault"
	"bursar/internal/ledger"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

// workspaceID is that of the workspace that every test has.
const workspaceID = "ws_1"

// open opens a store with a workspace.
func open(t *testing.T, s dbtest.Store) *db.DB {
	t.Helper()
	return openAt(t, s, nil)
}

// openAt is open with the clock of the test.
func openAt(t *testing.T, s dbtest.Store, clock func() time.Time) *db.DB {
	t.Helper()
	d := s.OpenAt(t, clock)
	mustWrite(t, d, func(tx *db.Tx) error {
		if err := tx.Exec(`INSERT INTO organization (id, name, slug, created_at) VALUES ('org_1', 'One', 'one', 0)`); err != nil {
			return err
		}
		return tx.Exec(`INSERT INTO workspace (id, number, organization_id, name, slug, member_version, created_at) VALUES ($1, 1, 'org_1', 'One', 'one', 0, 0)`, workspaceID)
	})
	return d
}

func write(t testing.TB, d *db.DB, fn func(tx *db.Tx) error) error {
	_, err := db.Write(t.Context(), d, db.Caller{}, func(tx *db.Tx) (struct{}, audit.Event, error) {
		return struct{}{}, audit.None("a test"), fn(tx)
	})
	return err
}

func mustWrite(t testing.TB, d *db.DB, fn func(tx *db.Tx) error) {
	t.Helper()
	if err := write(t, d, fn); err != nil {
		t.Fatal(err)
	}
}

// newAccount makes an account in the sandbox that has so much.
func newAccount(t testing.TB, d *db.DB, amount int64) (a ledger.Account) {
	t.Helper()
	mustWrite(t, d, func(tx *db.Tx) (err error) {
		if a, err = ledger.NewAccount(tx, workspaceID, "Payroll", "PHP", api.ModeSandbox); err != nil || amount == 0 {
			return err
		}
		_, err = ledger.Post(tx, deposit(a, amount))
		return err
	})
	return a
}

// deposit is money that comes in.
func deposit(a ledger.Account, amount int64) ledger.Transaction {
	return ledger.Transaction{Kind: ledger.KindDeposit, WorkspaceID: a.WorkspaceID, Reference: "dep_1", Moves: []ledger.Move{
		{AccountID: ledger.SystemAccount(ledger.Bank, a.Currency, a.Mode), Bucket: ledger.BucketAvailable, Amount: -amount},
		{AccountID: a.ID, Bucket: ledger.BucketAvailable, Amount: amount},
	}}
}

// find reads an account.
func find(t testing.TB, d *db.DB, id string) (a ledger.Account) {
	t.Helper()
	err := d.Read(t.Context(), func(q db.Q) (err error) {
		a, err = ledger.FindAccount(q, id)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// code is the code of a fault, "" of no error, and the text of another error.
func code(err error) api.Code {
	var f *fault.Fault
	switch {
	case err == nil:
		return ""
	case errors.As(err, &f):
		return f.Code
	}
	return api.Code(err.Error())
}

// clock is one that a test moves.
type clock struct{ minutes atomic.Int64 }

func (c *clock) now() time.Time {
	return time.Date(2026, 1, 5, 9, int(c.minutes.Load()), 0, 0, time.UTC)
}

func (c *clock) advance(minutes int64) { c.minutes.Add(minutes) }
