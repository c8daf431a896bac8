package ledger_test

import (
	"errors"
	"slices"
	"testing"

	"bursar/api"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/fault"
	"bursar/internal/ledger"
)

func reserve(t testing.TB, d *db.DB, a ledger.Account, amounts ...int64) (codes []api.Code, refused []error) {
	t.Helper()
	mustWrite(t, d, func(tx *db.Tx) (err error) {
		var wants []ledger.Want
		for _, amount := range amounts {
			wants = append(wants, ledger.Want{Reference: "po_1", Amount: amount})
		}
		codes = nil
		refused, err = ledger.Reserve(tx, a, wants)
		for _, err := range refused {
			codes = append(codes, code(err))
		}
		return err
	})
	return codes, refused
}

// of is what was reserved of an account.
func of(a ledger.Account, amount int64) []ledger.Reserved {
	return []ledger.Reserved{{AccountID: a.ID, WorkspaceID: a.WorkspaceID, Currency: a.Currency, Mode: a.Mode, Reference: "po_1", Amount: amount}}
}

func TestReserveRefusesOnlyWhatDoesNotFit(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		d := open(t, store)
		a := newAccount(t, d, 100)
		codes, refused := reserve(t, d, a, 60, 50, 30, 20, 10)
		if want := []api.Code{"", "INSUFFICIENT_FUNDS", "", "INSUFFICIENT_FUNDS", ""}; !slices.Equal(codes, want) {
			t.Errorf("the answers are %q, want %q", codes, want)
		}
		var f *fault.Fault
		if !errors.As(refused[1], &f) || f.Details != (api.FundsDetails{AvailableBalance: 40, RequestedAmount: 50}) {
			t.Errorf("the second was refused with %+v", refused[1])
		}
		if a = find(t, d, a.ID); a.Available != 0 || a.Reserved != 100 {
			t.Errorf("%d is available and %d reserved", a.Available, a.Reserved)
		}
	})
}

func TestReservedMoneyEndsWhereItShould(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		d := open(t, store)
		a := newAccount(t, d, 100)
		reserve(t, d, a, 10, 20, 30)
		mustWrite(t, d, func(tx *db.Tx) error {
			return errors.Join(ledger.Release(tx, of(a, 10)), ledger.Complete(tx, of(a, 20)), ledger.Complete(tx, of(a, 30)),
				ledger.Settle(tx, of(a, 20)), ledger.Return(tx, of(a, 20)))
		})
		if got := find(t, d, a.ID); got.Available != 70 || got.Reserved != 0 {
			t.Errorf("%d is available and %d reserved", got.Available, got.Reserved)
		}
		for kind, want := range map[ledger.AccountKind]int64{ledger.Clearing: 30, ledger.Bank: -100} {
			if got := find(t, d, ledger.SystemAccount(kind, "PHP", api.ModeSandbox)).Available; got != want {
				t.Errorf("%s has %d, want %d", kind, got, want)
			}
		}
	})
}
