package dispatch_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bursar/api"
	"bursar/internal/backup"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/fault"
	"bursar/internal/ledger"
	"bursar/internal/payout"
	"bursar/internal/rail"
	"bursar/internal/rail/simulator"
	"bursar/internal/web"
)

// liveOffice is an office whose first account pays by files.
type liveOffice struct {
	*bank // that of both
	*office
	*live
	store dbtest.Store
}

func openLiveOffice(t *testing.T, store dbtest.Store) *liveOffice {
	t.Helper()
	l := openLive(t, store)
	l.turn()
	return &liveOffice{l.bank, openOffice(l.bank), l, store}
}

// archive makes an archive of the store and returns a function that restores it into another store of the same engine.
func (o *liveOffice) archive(t *testing.T) (restore func() *liveOffice) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "archive")
	if _, err := backup.WriteFile(t.Context(), o.db, db.Caller{}, file, backup.Keys{Plain: true}, nil); err != nil {
		t.Fatal(err)
	}
	return func() *liveOffice {
		t.Helper()
		to := dbtest.SQLite(t)
		if o.store.Engine == "postgres" {
			to = dbtest.EmptyPostgres(t)
		}
		to.VaultKey = o.store.VaultKey
		from, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		defer from.Close()
		if _, err := backup.Restore(t.Context(), db.Caller{}, from, backup.Keys{}, backup.Place{Config: to.Config, Name: to.Engine}, nil); err != nil {
			t.Fatal(err)
		}
		b := *o.bank
		b.db = to.OpenAt(t, b.clock.Now)
		b.vault = to.Vault(b.db)
		startVault(t, b.db, b.vault)
		b.sim = simulator.New(b.db)
		l := (&live{bank: &b, folder: o.folder}).at(o.folder)
		people := *o.office
		people.bank = l.bank
		people.serve()
		return &liveOffice{l.bank, &people, l, to}
	}
}

// ask asks for a payout with an external id from an account, and returns whether it was there already.
func (o *liveOffice) ask(account ledger.Account, externalID string, cents int64, change ...func(*api.PayoutCreate)) (web.Created[api.Payout], error) {
	in := api.PayoutCreate{SourceAccountID: account.ID, Currency: "PHP", PayoutTerms: o.terms("0001", cents)}
	in.ExternalID = &externalID
	for _, one := range change {
		one(&in)
	}
	return o.payouts.Create(context.Background(), o.caller("usr_a"), payout.CreateInput{PayoutCreate: in})
}

func (o *liveOffice) pay(account ledger.Account, externalID string, cents int64) string {
	o.t.Helper()
	made, err := o.ask(account, externalID, cents)
	if err != nil {
		o.t.Fatal(err)
	}
	return made.Value.ID
}

// refuses checks that a request is refused with a code.
func (o *liveOffice) refuses(code api.Code, err error) {
	o.t.Helper()
	var f *fault.Fault
	if !errors.As(err, &f) || f.Code != code {
		o.t.Errorf("the answer is %v, want %s", err, code)
	}
}

// unknown lists the payouts that the store does not know, with their accounts.
func (o *liveOffice) unknown() (list []string) {
	o.t.Helper()
	o.read(func(q db.Q) error {
		s, err := payout.ReadStopped(q)
		for _, u := range s.Unknown {
			list = append(list, u.PayoutID+" "+u.AccountID)
		}
		return err
	})
	return list
}

func (o *liveOffice) acknowledge(ids ...string) {
	o.t.Helper()
	if _, err := payout.Acknowledge(context.Background(), o.db, o.caller("usr_a"), ids); err != nil {
		o.t.Fatal(err)
	}
}

// booksAre checks what an account has, available and reserved, what is in suspense, and that the ledger verifies.
func (o *liveOffice) booksAre(account ledger.Account, want string, suspense int64) {
	o.t.Helper()
	if got := o.balances(account); got != want {
		o.t.Errorf("the account has %s, want %s", got, want)
	}
	if got := o.count(`SELECT CAST(coalesce(sum(available), 0) AS BIGINT) FROM ledger_account WHERE kind = 'suspense'`); got != suspense {
		o.t.Errorf("%d are in suspense, want %d", got, suspense)
	}
	for _, one := range soundness {
		if !strings.Contains(one.sql, "simulated_payment") && o.count(one.sql) != 0 { // these were sent by files
			o.t.Errorf("there are %s", one.what)
		}
	}
	report, err := ledger.Verify(context.Background(), o.db, true, func(int64, int64) {})
	if err != nil || len(report.Mismatches) > 0 {
		o.t.Errorf("the ledger does not verify: %v, %v", report.Mismatches, err)
	}
}

func TestAPayoutThatARestoredStoreDoesNotKnowIsNotPaidAgain(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		o := openLiveOffice(t, store)
		restore := o.archive(t)
		id := o.pay(o.account, "salary-1", amount)
		other := o.pay(o.account, "salary-2", amount)
		o.turn()
		o.hasSent(id, other)
		before := o.balances(o.account)

		r := restore()
		if err := r.resume(false); !errors.Is(err, payout.ErrNotRead) {
			t.Errorf("resumed before the folder was read: %v", err)
		}
		r.turn()
		equal(t, "unknown", r.unknown(), []string{id + " " + o.account.ID, other + " " + o.account.ID})
		_, err := r.ask(o.account, "salary-1", amount)
		r.refuses(api.CodeRailUnavailable, err)
		for _, force := range []bool{false, true} {
			if err := r.resume(force); !errors.Is(err, payout.ErrNotAcknowledged) {
				t.Errorf("resumed before the payouts were acknowledged, forced %t: %v", force, err)
			}
		}
		r.acknowledge(id)
		if err := r.resume(false); !errors.Is(err, payout.ErrNotAcknowledged) {
			t.Errorf("resumed before the second payout was acknowledged: %v", err)
		}
		r.acknowledge(id, other) // once more, as after a crash
		if _, err := payout.Acknowledge(t.Context(), r.db, db.Caller{}, []string{"po_nonsense"}); !errors.Is(err, payout.ErrNotUnknown) {
			t.Errorf("acknowledged nonsense: %v", err)
		}
		r.is(id, "processing outcome_unknown")
		r.booksAre(o.account, before, 0)
		if err := r.resume(false); err != nil {
			t.Fatal(err)
		}
		r.turn()
		r.is(id, "processing outcome_unknown")

		again, err := r.ask(o.account, "salary-1", amount)
		if err != nil || !again.Existing || again.Value.ID != id || again.Value.ExternalID != "salary-1" {
			t.Errorf("the same request is answered %+v, %v", again, err)
		}
		_, err = r.ask(o.account, "salary-1", amount+1)
		r.refuses(api.CodeIdempotencyConflict, err)
		_, err = r.ask(r.newAccountIn(api.ModeLive, 1_000_000), "salary-1", amount)
		r.refuses(api.CodeIdempotencyConflict, err)
		if made, err := r.ask(o.account, "salary-3", amount); err != nil || made.Existing {
			t.Errorf("another request is answered %+v, %v", made, err)
		} else {
			r.turn()
			r.hasSent(id, other, made.Value.ID)
		}

		r.hear("statement", decided(id, rail.Completed, ""), settled(id), settled(other))
		r.is(id, "completed")
		r.is(other, "completed")
		r.booksAre(o.account, fmt.Sprint(100_000_000-3*amount, " ", amount), 0)
		equal(t, "told", r.told(id), []string{"acknowledged", "completed", "settled"})
	})
}

// The money of a payout came into its account after the moment of the archive, too.
func TestTheDebitOfARecoveredPayoutWithoutMoneyIsInSuspense(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		for name, c := range map[string]struct {
			notices  []func(id string) rail.Notice
			want     string
			suspense int64
		}{
			"debited":          {[]func(string) rail.Notice{settled}, "completed contradicted", -amount},
			"debited, twice":   {[]func(string) rail.Notice{settled, settled}, "completed contradicted", -amount},
			"returned":         {[]func(string) rail.Notice{settled, returned}, "reversed ACCOUNT_CLOSED AC04 contradicted", 0},
			"only completed":   {[]func(string) rail.Notice{func(id string) rail.Notice { return decided(id, rail.Completed, "") }}, "completed", 0},
			"rejected":         {[]func(string) rail.Notice{func(id string) rail.Notice { return decided(id, rail.Rejected, "AC01") }}, "failed INVALID_ACCOUNT AC01", 0},
			"nothing is known": {nil, "processing outcome_unknown", 0},
		} {
			if store.Engine == "postgres" && name != "returned" {
				continue // what is decided does not depend on the engine
			}
			t.Run(name, func(t *testing.T) {
				if store.Engine == "sqlite" {
					store = dbtest.SQLite(t)
				}
				o := openLiveOffice(t, store)
				a := o.newAccountIn(api.ModeLive, 1)
				restore := o.archive(t)
				o.write(func(tx *db.Tx) error {
					_, _, err := ledger.Deposit(tx, a, amount, api.DepositFromBank, "R1", true)
					return err
				})
				id := o.pay(a, "salary-1", amount)
				if o.is(id, "initiated"); o.approve("usr_b", id) != nil {
					t.Fatal("it is not approved")
				}
				o.turn()
				o.hasSent(id)

				r := restore()
				r.turn()
				r.acknowledge(id)
				if err := r.resume(false); err != nil {
					t.Fatal(err)
				}
				r.booksAre(a, "1 0", 0)
				for i, notice := range c.notices {
					r.hear(fmt.Sprint("message ", i), notice(id))
				}
				r.is(id, c.want)
				r.booksAre(a, "1 0", c.suspense)
			})
		}
	})
}

func TestARecoveredPayoutThatIsRejectedIsNotRetried(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		o := openLiveOffice(t, store)
		restore := o.archive(t)
		id := o.pay(o.account, "salary-1", amount)
		o.turn()
		r := restore()
		r.turn()
		r.acknowledge(id)
		if err := r.resume(false); err != nil {
			t.Fatal(err)
		}
		r.hear("statuses", decided(id, rail.Rejected, "AC01"))
		r.is(id, "failed INVALID_ACCOUNT AC01")
		r.booksAre(o.account, "100000000 0", 0)
		_, err := r.payouts.Retry(t.Context(), r.caller("usr_a"), payout.Input{ID: id})
		r.refuses(api.CodePayoutState, err)
		r.turn()
		r.hasSent(id)
	})
}

// A draft is written down while the rails are stopped, with the external id of a payout that was sent.
func TestADraftWithTheExternalIDOfARecoveredPayoutIsNotPublished(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		o := openLiveOffice(t, store)
		restore := o.archive(t)
		id := o.pay(o.account, "salary-1", amount)
		o.turn()
		r := restore()
		draft, err := r.ask(o.account, "salary-1", amount, func(in *api.PayoutCreate) { in.Status = new(api.PayoutDraft) })
		if err != nil {
			t.Fatal(err)
		}
		r.turn()
		r.acknowledge(id)
		if err := r.resume(false); err != nil {
			t.Fatal(err)
		}
		_, err = r.payouts.Publish(t.Context(), r.caller("usr_a"), payout.Input{ID: draft.Value.ID})
		r.refuses(api.CodeIdempotencyConflict, err)
		r.turn()
		r.hasSent(id)
	})
}

// A store that was restored does not know an account that was made after the moment of the archive.
func TestAPaymentFromAnUnknownAccountIsAcknowledgedAndItsDebitIsInSuspense(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		o := openLiveOffice(t, store)
		restore := o.archive(t)
		id := o.pay(o.account, "salary-1", amount)
		o.turn()
		notes, err := filepath.Glob(filepath.Join(o.folder, "sent", "*.list"))
		if err != nil || len(notes) != 1 {
			t.Fatal(notes, err)
		}
		o.must(os.WriteFile(notes[0], fmt.Appendf(nil, "%s %d PHP 1 acc_later instapay -\n", payout.EndToEndID(id, 1), amount), 0o600))

		r := restore()
		r.turn()
		equal(t, "unknown", r.unknown(), []string{id + " acc_later"})
		if err := r.resume(false); !errors.Is(err, payout.ErrNotAcknowledged) {
			t.Errorf("resumed: %v", err)
		}
		r.acknowledge(id)
		if err := r.resume(false); err != nil {
			t.Fatal(err)
		}
		if r.payout(id).ID != "" {
			t.Error("it is a payout, of no workspace")
		}
		equal(t, "told", r.told(id), []string{"acknowledged"})
		r.hear("statement", settled(id))
		r.booksAre(o.account, "100000000 0", -amount)
	})
}

// An attempt that was rejected and retried after the moment of the archive is in the record, too.
func TestARecoveredPayoutHasAllItsAttempts(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		o := openLiveOffice(t, store)
		restore := o.archive(t)
		id := o.pay(o.account, "salary-1", amount)
		o.turn()
		o.hear("statuses", decided(id, rail.Rejected, "AB01"))
		if _, err := o.payouts.Retry(t.Context(), o.caller("usr_a"), payout.Input{ID: id}); err != nil {
			t.Fatal(err)
		}
		o.turn()
		r := restore()
		r.turn()
		r.acknowledge(id)
		equal(t, "attempts", r.attempts(id), []string{"1 rejected", "2 unknown"})
		if err := r.resume(false); err != nil {
			t.Fatal(err)
		}
		r.turn()
		equal(t, "attempts", r.attempts(id), []string{"1 rejected", "2 accepted"})
		r.hear("statement", settled(id)) // of the first attempt, after all
		r.is(id, "processing contradicted")
		r.booksAre(o.account, fmt.Sprint(100_000_000-amount, " ", amount), -amount)
	})
}

// The archive is of a store whose server had not started with its rails yet, so it knows no folder.
func TestAnArchiveThatKnowsNoFolderIsNotResumedBeforeTheFolderWasRead(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		o := openLiveOffice(t, store)
		const known = `SELECT value, '' FROM setting WHERE name = 'rail_record:ourbank'`
		folder := o.lines(known)
		o.exec(`DELETE FROM setting WHERE name = 'rail_record:ourbank'`)
		restore := o.archive(t)
		o.exec(`INSERT INTO setting (name, value) VALUES ('rail_record:ourbank', $1)`, strings.TrimSpace(folder[0]))
		id := o.pay(o.account, "salary-1", amount)
		o.turn()
		if sent := o.messages(payout.EndToEndID(id, 1)); len(sent) != 1 {
			t.Fatalf("it was sent %d times", len(sent))
		}

		r := restore()
		r.turn()
		if err := r.resume(false); !errors.Is(err, payout.ErrNotRead) {
			t.Errorf("resume: %v", err)
		}
	})
}
