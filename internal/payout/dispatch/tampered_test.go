package dispatch_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"bursar/api"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/ledger"
	"bursar/internal/payout"
	"bursar/internal/payout/control"
	"bursar/internal/rail"
)

// watched returns what leaves from now on: end-to-end ids with payees.
func (b *bank) watched() *[]string {
	var sent []string
	b.line.submit = func(ctx context.Context, r *rail.Rail, list []rail.Payment) ([]rail.Outcome, error) {
		for _, p := range list {
			sent = append(sent, p.EndToEndID+" "+p.To.AccountName)
		}
		return b.sim.Submit(ctx, r, list)
	}
	return &sent
}

func (b *bank) exec(sql string, args ...any) {
	b.t.Helper()
	b.write(func(tx *db.Tx) error { return tx.Exec(sql, args...) })
}

func (o *office) tell(name string, outcome rail.Outcome) {
	o.t.Helper()
	if err := o.Store(context.Background(), name, outcome); err != nil {
		o.t.Fatal(err)
	}
}

// limit makes payouts above 0.05 exceed a limit, and dispatches with the rules of a node that knows it.
func (o *office) limit() {
	o.t.Helper()
	rules := o.serve()
	in := control.LimitInput{PayoutLimitSet: api.PayoutLimitSet{WorkspaceID: new("ws_1"), Per: "payout", AmountCents: new(int64(5))}}
	if _, err := rules.SetLimit(context.Background(), o.caller("usr_a"), in); err != nil {
		o.t.Fatal(err)
	}
	o.dispatch(rules)
}

func TestAnApprovalWhoseRequirementWasChangedInTheStoreDecidesNothing(t *testing.T) {
	for name, change := range map[string]string{
		"fewer approvals": `UPDATE approval SET needed = 1 WHERE state = 'pending'`,
		"another maker":   `UPDATE approval SET involved = ' ', maker_id = 'usr_c', maker = replace(maker, 'usr_a', 'usr_c') WHERE state = 'pending'`,
	} {
		t.Run(name, func(t *testing.T) {
			dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
				o := openOffice(openBank(t, store))
				sent := o.watched()
				id := o.pay("usr_a", 2) // which takes two others
				o.exec(change)
				for _, who := range []string{"usr_a", "usr_b"} {
					if err := o.approve(who, id); err == nil && who == "usr_a" {
						t.Error("the maker approved")
					}
				}
				o.turn()
				if len(*sent) > 0 {
					t.Errorf("sent: %q", *sent)
				}
			})
		})
	}
}

// The rail has accepted it; a row that says otherwise does not send it under another end-to-end id.
func TestAnAcceptedPayoutIsNotSentAgainByARow(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		b := openBank(t, store)
		sent := b.watched()
		id := b.pay(number("9011"))[0]
		b.turn()
		b.is(id, "processing")
		b.exec(`UPDATE payout SET status = 'pending', send_at = 1`)
		b.turn()
		if len(*sent) != 1 {
			t.Errorf("it was sent as %q", *sent)
		}
		b.isContradicted(id)
	})
}

func TestAPayoutWithADamagedNumberCanBeSeenAndResolved(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		o := openOffice(openBank(t, store))
		ids := o.bank.pay(number("0001"), number("9011"))
		o.exec(`UPDATE payout SET account_sealed = (SELECT account_sealed FROM payout p WHERE p.id = $2) WHERE id = $1`, ids[0], ids[1])
		o.turn()
		o.isContradicted(ids[0])
		if _, err := o.payouts.Get(t.Context(), o.caller("usr_a"), payout.GetInput{ID: ids[0]}); err != nil {
			t.Errorf("get: %v", err)
		}
		if err := o.approveIt("usr_b", o.asked("usr_a", ids[0], "not_paid")); err != nil { // its mode is as uncertain as its number
			t.Error(err)
		}
		o.is(ids[0], "failed PROCESSING_FAILED")
	})
}

// What the rail tells about a held payout ends the hold, and the approval that would have ended it.
func TestAHeldPayoutThatTheRailHasAfterAllIsNoLongerHeld(t *testing.T) {
	for _, state := range []rail.State{rail.Completed, rail.Rejected} {
		t.Run(string(state), func(t *testing.T) {
			dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
				o := openOffice(openBank(t, store))
				id := o.pay("usr_a", 0)
				if n, err := o.Claim(t.Context()); n != 1 || err != nil {
					t.Fatal(n, err)
				}
				name := payout.EndToEndID(id, 1)
				o.tell(name, rail.Outcome{State: rail.NotReceived, Submission: 1})
				o.limit()
				if n, err := o.Claim(t.Context()); n != 0 || err != nil {
					t.Fatal(n, err)
				}
				o.is(id, "pending recheck")
				o.tell(name, rail.Outcome{State: state, Submission: 1, Code: "AB08"})
				if now := o.payout(id); now.Attention == payout.Recheck {
					t.Errorf("it is %s, and still held", now.Status)
				}
				if n := o.count(`SELECT count(*) FROM approval WHERE kind = 'payout_recheck' AND state = 'pending'`); n != 0 {
					t.Errorf("%d approvals still wait", n)
				}
			})
		})
	}
}

// The approval of a held payout is sealed, for which a node that has just started has no key yet. It is not read within the
// transaction of the claim, where SQLite would wait for itself.
func TestANodeThatHasJustStartedHoldsAPayout(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		o := openOffice(openBank(t, store))
		id := o.pay("usr_a", 0)
		o.exec(`UPDATE vault_key SET retired_at = 1 WHERE workspace_number = 1`)
		o.limit()
		o.vault = store.Vault(o.db)
		startVault(t, o.db, o.vault)
		o.dispatch(o.serve())
		if _, err := o.Claim(t.Context()); err != nil {
			t.Fatal(err)
		}
		o.is(id, "pending recheck")
	})
}

// loseKey replaces the vault key, which seals the account numbers of all payouts so far, and starts a node that knows the new one alone.
func (b *bank) loseKey(t *testing.T, store dbtest.Store) {
	t.Helper()
	if err := os.Rename(store.VaultKey, store.VaultKey+"-away"); err != nil {
		t.Fatal(err)
	}
	b.clock.advance(time.Second)
	if _, err := store.Vault(b.db).Replace(t.Context(), db.Caller{}); err != nil {
		t.Fatal(err)
	}
	b.vault = store.Vault(b.db)
	if err := b.vault.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := payout.LoadIntegrity(t.Context(), b.db, b.vault, true); err != nil {
		t.Fatal(err)
	}
	b.connect()
}

// anotherAccount is an account with money that is reserved for a payout which its rail has.
func (b *bank) anotherAccount() ledger.Account {
	b.t.Helper()
	mine := b.account
	b.account = b.newAccount(100_000)
	b.pay(number("9011"))
	b.turn()
	other := b.account
	b.account = mine
	return other
}

func TestAPayoutWhoseVaultKeyIsLostFails(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		b := openBank(t, store)
		before := b.balances(b.account)
		id := b.pay(number("0001"))[0]
		b.loseKey(t, store)
		sent := b.watched()
		b.turn()
		b.is(id, "failed PROCESSING_FAILED")
		if after := b.balances(b.account); after != before || len(*sent) != 0 {
			t.Errorf("the account has %s, want %s; sent %q", after, before, *sent)
		}
		b.sound()
	})
}

// What a row says of a payout moves no money that the ledger does not hold for it.
func TestAChangedPayoutWhoseVaultKeyIsLostReleasesNothing(t *testing.T) {
	for name, change := range map[string]string{
		"less":               `UPDATE payout SET amount = amount - 1 WHERE id = $1 AND $2 <> ''`,
		"to another account": `UPDATE payout SET account_id = $2 WHERE id = $1`,
	} {
		t.Run(name, func(t *testing.T) {
			dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
				b := openBank(t, store)
				other := b.anotherAccount()
				id := b.pay(number("0001"))[0]
				b.exec(change, id, other.ID)
				mine, theirs := b.balances(b.account), b.balances(other)
				b.loseKey(t, store)
				b.turn()
				b.isContradicted(id)
				if b.balances(b.account) != mine || b.balances(other) != theirs {
					t.Errorf("the accounts have %s and %s, want %s and %s", b.balances(b.account), b.balances(other), mine, theirs)
				}
			})
		})
	}
}

// The row is changed after its payment was verified and sent. Once it is right again, the rail's answer counts.
func TestAnswersMoveNoMoneyOfAPayoutThatWasChangedInTheStore(t *testing.T) {
	for name, state := range map[string]rail.State{"completed": rail.Completed, "failed PROCESSING_FAILED": rail.Rejected} {
		for what, change := range map[string][2]string{
			"amount":  {`UPDATE payout SET amount = amount - 1 WHERE id = $1 AND $2 <> ''`, `UPDATE payout SET amount = amount + 1 WHERE id = $1 AND $2 <> ''`},
			"account": {`UPDATE payout SET account_id = $2 WHERE id = $1`, `UPDATE payout SET account_id = $2 WHERE id = $1`},
		} {
			t.Run(name+" with another "+what, func(t *testing.T) {
				dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
					b := openBank(t, store)
					other := b.anotherAccount()
					b.deaf()
					id := b.pay(number("0001"))[0]
					mine, theirs := b.balances(b.account), b.balances(other)
					answer := func(_ context.Context, _ *rail.Rail, list []rail.Payment) ([]rail.Outcome, error) {
						out := make([]rail.Outcome, len(list))
						for i, p := range list {
							if out[i].State = rail.Accepted; p.PayoutID == id {
								out[i].State = state
							}
						}
						return out, nil
					}
					b.line.lookUp = answer
					b.line.submit = func(ctx context.Context, r *rail.Rail, list []rail.Payment) ([]rail.Outcome, error) {
						b.exec(change[0], id, other.ID)
						return answer(ctx, r, list)
					}
					b.settle(time.Minute)
					b.is(id, "processing contradicted")
					if b.balances(b.account) != mine || b.balances(other) != theirs {
						t.Errorf("the accounts have %s and %s, want %s and %s", b.balances(b.account), b.balances(other), mine, theirs)
					}
					if n := b.Contradicted.Load(); n != 1 {
						t.Errorf("%d alarms, want 1", n)
					}
					b.exec(change[1], id, b.account.ID)
					b.settle(5 * time.Minute)
					b.is(id, name+" contradicted")
					b.booked()
				})
			})
		}
	}
}

// What a bank reports about a payout of which the row names another account goes to suspense if it has moved money.
func TestReportsMoveNoMoneyOfAPayoutThatWasChangedInTheStore(t *testing.T) {
	for name, c := range map[string]struct {
		completed bool // before the row was changed
		report    func(id string) rail.Notice
		suspense  int64
		want      string
	}{
		"a completion":                {false, func(id string) rail.Notice { return decided(id, rail.Completed, "") }, 0, "processing contradicted"},
		"a rejection":                 {false, func(id string) rail.Notice { return decided(id, rail.Rejected, "AC04") }, 0, "processing contradicted"},
		"a debit":                     {false, settled, -amount, "processing contradicted"},
		"a return":                    {false, returned, amount, "processing contradicted"},
		"a debit of a completed one":  {true, settled, 0, "completed"}, // moves none of an account
		"a return of a completed one": {true, returned, amount, "completed contradicted"},
	} {
		t.Run(name, func(t *testing.T) {
			dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
				b := openBank(t, store)
				other := b.anotherAccount()
				id := b.pay(number("9011"))[0]
				b.turn()
				if c.completed {
					b.hear("statuses", decided(id, rail.Completed, ""))
				}
				mine, theirs := b.balances(b.account), b.balances(other)
				b.exec(`UPDATE payout SET account_id = $2 WHERE id = $1`, id, other.ID)
				b.hear("statement", c.report(id))
				b.is(id, c.want)
				if b.balances(b.account) != mine || b.balances(other) != theirs {
					t.Errorf("the accounts have %s and %s, want %s and %s", b.balances(b.account), b.balances(other), mine, theirs)
				}
				if n := b.count(`SELECT CAST(coalesce(sum(available), 0) AS BIGINT) FROM ledger_account WHERE kind = 'suspense'`); n != c.suspense {
					t.Errorf("%d in suspense, want %d", n, c.suspense)
				}
			})
		})
	}
}

func TestACompletedPayoutThatWasChangedInTheStoreIsNotReopened(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		o := openOffice(openBank(t, store))
		id := stuck["completed contradicted"](o.bank)
		had := o.now(1).Available
		o.exec(`UPDATE payout SET account_id = $2 WHERE id = $1`, id, o.accounts[1].ID)
		if err := o.approveIt("usr_b", o.asked("usr_a", id, "not_paid")); codeOf(err) != api.CodePayoutState || o.now(1).Available != had {
			t.Errorf("resolved: %v; the account of the row has %d, want %d", err, o.now(1).Available, had)
		}
	})
}

// Codes of terms, votes and transactions do not depend on the keys that are replaced.
func TestAnApprovedPayoutIsSentAfterRotationAndReseal(t *testing.T) {
	for name, restarts := range map[string]bool{"by a node that runs on": false, "by a node that starts": true} {
		t.Run(name, func(t *testing.T) {
			dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
				o := openOffice(openBank(t, store))
				id := o.pay("usr_a", 1)
				if err := o.approve("usr_b", id); err != nil {
					t.Fatal(err)
				}
				admin := store.Vault(o.db)
				if _, err := admin.Rotate(t.Context(), db.Caller{}); err != nil {
					t.Fatal(err)
				}
				before := o.count(`SELECT sealed_by FROM payout WHERE id = $1`, id)
				if _, err := admin.Reseal(t.Context(), db.Caller{}, func(int64, int64) {}); err != nil {
					t.Fatal(err)
				}
				if after := o.count(`SELECT sealed_by FROM payout WHERE id = $1`, id); after == before {
					t.Errorf("its number is sealed with key %d still", after)
				}
				if restarts {
					o.vault = store.Vault(o.db)
					startVault(t, o.db, o.vault)
					o.connect()
				}
				o.turn()
				o.is(id, "completed")
				o.sound()
			})
		})
	}
}

// The rail has accepted the payment. Its row says that it was not sent, or that it failed.
func TestAPayoutThatItsRailHasIsNotEndedByARow(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		o := openLiveOffice(t, store)
		id := o.pay(o.account, "salary-1", amount)
		o.turn()
		o.is(id, "processing")
		before := o.balances(o.account)
		o.exec(`UPDATE payout SET status = 'pending' WHERE id = $1`, id)
		if _, err := o.payouts.Cancel(t.Context(), o.caller("usr_a"), payout.CancelInput{ID: id}); codeOf(err) != api.CodePayoutState {
			t.Errorf("cancel: %v", err)
		}
		o.exec(`UPDATE ledger_account SET status = 'frozen' WHERE id = $1`, o.account.ID)
		o.turn()
		o.isContradicted(id)
		if events := o.lastStep(id); !strings.Contains(events, "needs_attention") {
			t.Errorf("the audit log has %s", events)
		}
		o.exec(`UPDATE ledger_account SET status = 'active' WHERE id = $1`, o.account.ID)
		o.exec(`UPDATE payout SET status = 'failed', attention = '' WHERE id = $1`, id)
		if err := o.retry("usr_a", id); codeOf(err) != api.CodePayoutState {
			t.Errorf("retry: %v", err)
		}
		o.turn()
		if now := o.balances(o.account); now != before {
			t.Errorf("the account has %s, had %s", now, before)
		}
		if sent := o.messages(payout.EndToEndID(id, 2)); len(sent) > 0 {
			t.Error("it was sent again, under another end-to-end id")
		}
	})
}

// A live payout takes two, whatever mode its row has.
func TestALivePayoutIsNotResolvedByOneBecauseOfItsRow(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		o := openLiveOffice(t, store)
		id := o.overdue()
		o.exec(`UPDATE payout SET mode = 'sandbox' WHERE id = $1`, id)
		if _, err := o.resolve("usr_a", id, "not_paid"); codeOf(err) != api.CodeSecondPersonRequired {
			t.Errorf("resolved by one: %v", err)
		}
		o.is(id, "processing outcome_unknown")
	})
}

// The rail says that it has paid an earlier attempt of a payout that is held.
func TestAHeldPayoutThatIsContradictedIsNoLongerHeld(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		o := openOffice(openBank(t, store))
		id := o.pay("usr_a", 0)
		if n, err := o.Claim(t.Context()); n != 1 || err != nil {
			t.Fatal(n, err)
		}
		o.tell(payout.EndToEndID(id, 1), rail.Outcome{State: rail.Rejected, Code: "AB08", Submission: 1})
		if err := o.retry("usr_a", id); err != nil {
			t.Fatal(err)
		}
		o.limit()
		if n, err := o.Claim(t.Context()); n != 0 || err != nil {
			t.Fatal(n, err)
		}
		o.is(id, "pending recheck")
		o.answers(id, rail.Outcome{State: rail.Completed})
		o.is(id, "pending contradicted")
		if n := o.count(`SELECT count(*) FROM approval WHERE kind = 'payout_recheck' AND state = 'pending'`); n != 0 {
			t.Errorf("%d approvals wait to release it", n)
		}
	})
}
