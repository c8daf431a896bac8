package dispatch_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/payout"
	"bursar/internal/rail"
	"bursar/internal/rail/iso20022"
)

// hear lets the bank tell something in a message of its own.
func (b *bank) hear(message string, notices ...rail.Notice) {
	b.t.Helper()
	b.tell(message, true, notices...)
}

// tell lets the bank tell what it has booked, or only announced.
func (b *bank) tell(message string, booked bool, notices ...rail.Notice) {
	b.t.Helper()
	for i := range notices {
		n := &notices[i]
		n.MessageID, n.Currency, n.Booked = message, "PHP", booked
		if n.EntryID == "" {
			n.EntryID = string(n.Kind) + n.EndToEndID
		}
	}
	told := false
	b.line.receive = func() []rail.Message {
		if told {
			return nil
		}
		told = true
		return []rail.Message{{ID: message, Notices: notices}}
	}
	b.turn()
}

func decided(id string, state rail.State, code string) rail.Notice {
	return rail.Notice{Kind: rail.Decided, EndToEndID: payout.EndToEndID(id, 1), Outcome: rail.Outcome{State: state, Code: code}}
}

func settled(id string) rail.Notice {
	return rail.Notice{Kind: rail.Settled, EndToEndID: payout.EndToEndID(id, 1), Amount: -amount}
}

func returned(id string) rail.Notice {
	return rail.Notice{Kind: rail.Returned, EndToEndID: payout.EndToEndID(id, 1), Amount: amount, Outcome: rail.Outcome{Code: "AC04"}}
}

func TestNoticesOfARail(t *testing.T) {
	type message []func(id string) rail.Notice
	tell := func(state rail.State, code string) func(string) rail.Notice {
		return func(id string) rail.Notice { return decided(id, state, code) }
	}
	completed, rejected := tell(rail.Completed, ""), tell(rail.Rejected, "AC01")
	for name, c := range map[string]struct {
		messages []message
		want     string
		moved    string // what the ledger did after the reservation
	}{
		"decided":                       {[]message{{completed}}, "completed", "complete"},
		"decided twice":                 {[]message{{completed, settled}, {completed}, {completed}}, "completed", "complete settle"},
		"refused twice":                 {[]message{{rejected}, {rejected}}, "failed INVALID_ACCOUNT AC01", "release"},
		"settled before it is decided":  {[]message{{settled}, {completed}}, "completed", "complete settle"},
		"settled twice":                 {[]message{{completed}, {settled}, {settled}}, "completed", "complete settle"},
		"returned":                      {[]message{{completed}, {settled}, {returned}}, "reversed ACCOUNT_CLOSED AC04", "complete settle return"},
		"returned twice":                {[]message{{completed, settled}, {returned}, {returned}}, "reversed ACCOUNT_CLOSED AC04", "complete settle return"},
		"returned twice in one message": {[]message{{completed, settled, returned, returned}}, "reversed ACCOUNT_CLOSED AC04", "complete settle return"},
		"returned before all":           {[]message{{returned}, {completed}, {settled}}, "reversed ACCOUNT_CLOSED AC04", "complete return settle"},
		"backwards in one message":      {[]message{{returned, settled, completed}}, "reversed ACCOUNT_CLOSED AC04", "complete settle return"},
		"refused and then paid":         {[]message{{rejected}, {completed}}, "failed INVALID_ACCOUNT AC01 contradicted", "release"},
		"refused and yet settled":       {[]message{{rejected}, {settled}}, "failed INVALID_ACCOUNT AC01 contradicted", "release suspend"},
		"paid and then refused":         {[]message{{completed}, {rejected}}, "completed contradicted", "complete"},
		"accepted after it is decided":  {[]message{{completed}, {tell(rail.Accepted, "")}}, "completed", "complete"},
	} {
		t.Run(name, func(t *testing.T) {
			dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
				b := openBank(t, store)
				id := b.pay(number("9011"))[0]
				b.turn()
				for i, m := range c.messages {
					var notices []rail.Notice
					for j, notice := range m {
						n := notice(id)
						n.EntryID = string(rune('a' + j))
						notices = append(notices, n)
					}
					b.hear("message "+string(rune('a'+i)), notices...)
				}
				b.is(id, c.want)
				moved := b.lines(`SELECT kind, '' FROM ledger_transaction WHERE reference = $1 AND kind <> 'reserve' ORDER BY id`, id)
				if got := strings.Join(strings.Fields(strings.Join(moved, " ")), " "); got != c.moved {
					t.Errorf("the ledger did %q, want %q", got, c.moved)
				}
				if n := b.count(`SELECT count(*) FROM ledger_account a WHERE a.kind = 'customer' AND a.reserved <> 0`); n != 0 {
					t.Error("money is still reserved")
				}
			})
		})
	}
}

func TestTheFirstReferenceOfAPaymentIsKept(t *testing.T) {
	type message func(id string) rail.Notice
	named := func(reference string, tell message) message {
		return func(id string) rail.Notice {
			n := tell(id)
			n.Outcome.Reference = reference
			return n
		}
	}
	completed := func(id string) rail.Notice { return decided(id, rail.Completed, "") }
	for name, messages := range map[string][]message{
		"by the decision":                      {named("BANK-1", completed), settled},
		"by the decision, after the statement": {settled, named("BANK-1", completed)},
		"by the statement":                     {named("BANK-1", settled), completed},
		"by the statement, after the decision": {completed, named("BANK-1", settled)},
		"not by the return":                    {named("BANK-2", returned), named("BANK-1", settled)},
	} {
		t.Run(name, func(t *testing.T) {
			b := openBank(t, dbtest.SQLite(t))
			id := b.pay(number("9012"))[0] // its answer times out, so it has no reference
			b.turn()
			for i, m := range messages {
				b.hear("message "+string(rune('a'+i)), m(id))
			}
			if got := b.references(id); got != "BANK-1" {
				t.Errorf("the reference is %q, want BANK-1", got)
			}
		})
	}
}

func TestANoticeBeforeTheAnswerIsStoredNamesThePayment(t *testing.T) {
	b := openBank(t, dbtest.SQLite(t))
	second := b.node()
	heard := ""
	b.line.submit = func(ctx context.Context, r *rail.Rail, list []rail.Payment) ([]rail.Outcome, error) {
		out, err := b.line.Connector.Submit(ctx, r, list)
		second.turn()
		heard = second.references(list[0].PayoutID)
		return out, err
	}
	id := b.pay(number("0001"))[0]
	b.turn()
	b.is(id, "completed")
	if want := "SIM" + payout.EndToEndID(id, 1); heard != want || b.references(id) != want {
		t.Errorf("the reference was %q by the statement and is %q by the answer, want %q", heard, b.references(id), want)
	}
}

// references returns what the bank calls the attempts of a payout.
func (b *bank) references(id string) string {
	b.t.Helper()
	return strings.TrimSpace(strings.Join(b.lines(`SELECT reference, '' FROM payout_attempt WHERE payout_id = $1 ORDER BY number`, id), " "))
}

// The bank debited one payment twice. Someone has to ask it about the second debit.
func TestASecondDebitOfAPaymentGoesToSuspense(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		b := openBank(t, store)
		id := b.pay(number("9011"))[0]
		b.turn()
		first, second := settled(id), settled(id)
		first.EntryID, first.Movement = "BANK1/12345/BOOK", "entry BANK1"
		second.EntryID, second.Movement = "BANK2/12345/BOOK", "entry BANK2"
		b.hear("account", decided(id, rail.Completed, ""), first)
		b.is(id, "completed")
		for range 2 { // a statement after the notification has the same names
			b.hear("account", first, second)
		}
		b.is(id, "completed contradicted")
		if n := b.count(`SELECT available FROM ledger_account WHERE id = 'sys_suspense_PHP_sandbox'`); n != -amount {
			t.Errorf("%d are in suspense", n)
		}
		if n := b.count(`SELECT count(*) FROM audit_log WHERE CAST(entry AS TEXT) LIKE '%money.suspense.added%'`); n != 1 {
			t.Errorf("the log tells %d times that money is in suspense", n)
		}
	})
}

// A notification and the statement after it may name a debit in different ways, or one of them not at all.
func TestADebitReportedInTwoWaysIsBookedOnce(t *testing.T) {
	for name, movements := range map[string][]string{
		"without a reference, and then with one": {"", "entry BANK1"},
		"with one, and then without":             {"entry BANK1", ""},
		"by the payment, and then by the entry":  {"transaction T1", "entry BANK1"},
		"three times":                            {"", "transaction T1", "entry BANK1", "transaction T1"},
	} {
		t.Run(name, func(t *testing.T) {
			b := openBank(t, dbtest.SQLite(t))
			id := b.pay(number("9011"))[0]
			b.turn()
			b.hear("status", decided(id, rail.Completed, ""))
			for i, movement := range movements {
				n := settled(id)
				n.EntryID, n.Movement = fmt.Sprint(i), movement
				b.hear("account", n)
			}
			b.is(id, "completed")
			if n := b.count(`SELECT available FROM ledger_account WHERE id = 'sys_suspense_PHP_sandbox'`); n != 0 {
				t.Errorf("%d are in suspense", n)
			}
		})
	}
}

func TestASecondDebitIsFoundIfTheFirstWasNamedLater(t *testing.T) {
	b := openBank(t, dbtest.SQLite(t))
	id := b.pay(number("9011"))[0]
	b.turn()
	b.hear("status", decided(id, rail.Completed, ""))
	for i, movement := range []string{"", "entry BANK1", "entry BANK2"} {
		n := settled(id)
		n.EntryID, n.Movement = fmt.Sprint(i), movement
		b.hear("account", n)
	}
	b.is(id, "completed contradicted")
}

func TestAMovementOfAnotherAmountGoesToSuspenseAndNeedsAttention(t *testing.T) {
	type notices []func(id string) rail.Notice
	completed := func(id string) rail.Notice { return decided(id, rail.Completed, "") }
	withFee := func(id string) rail.Notice {
		n := settled(id)
		n.EntryID, n.Amount = "with a fee", n.Amount-10
		return n
	}
	lessFee := func(id string) rail.Notice {
		n := returned(id)
		n.EntryID, n.Amount = "less a fee", n.Amount-10
		return n
	}
	for name, c := range map[string]struct {
		notices   notices
		want      string
		suspended int64
	}{
		"a debit with the bank's fee":            {notices{withFee}, "processing contradicted", -amount - 10},
		"a debit with a fee, after the decision": {notices{completed, withFee}, "completed contradicted", -amount - 10},
		"a return less the bank's fee":           {notices{completed, settled, lessFee}, "completed contradicted", amount - 10},
		"a second return, of another amount":     {notices{completed, settled, returned, lessFee}, "reversed ACCOUNT_CLOSED AC04 contradicted", amount - 10},
		"a second debit, with a fee":             {notices{completed, settled, withFee}, "completed contradicted", -amount - 10},
	} {
		t.Run(name, func(t *testing.T) {
			b := openBank(t, dbtest.SQLite(t))
			id := b.pay(number("9011"))[0]
			b.turn()
			for i, notice := range c.notices {
				b.hear(fmt.Sprintf("message %d", i), notice(id))
			}
			b.is(id, c.want)
			if n := b.count(`SELECT available FROM ledger_account WHERE id = 'sys_suspense_PHP_sandbox'`); n != c.suspended {
				t.Errorf("%d are in suspense, want %d", n, c.suspended)
			}
		})
	}
}

// Money came in twice, and the account gets it once: the rest is for someone to ask the bank about.
func TestASecondReturnOfAPaymentGoesToSuspense(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		b := openBank(t, store)
		id := b.pay(number("9011"))[0]
		b.turn()
		first, second := returned(id), returned(id)
		first.EntryID, first.Outcome.Reference = "BANK1/12345/BOOK", "BANK1"
		second.EntryID, second.Outcome.Reference = "BANK2/12345/BOOK", "BANK2"
		b.hear("account", decided(id, rail.Completed, ""), settled(id), first)
		b.is(id, "reversed ACCOUNT_CLOSED AC04")
		for range 2 { // a statement after the notification has the same names
			b.hear("account", first, second)
		}
		b.is(id, "reversed ACCOUNT_CLOSED AC04 contradicted")
		if got := b.balances(b.account); got != "100000000 0" {
			t.Errorf("the account has %s", got)
		}
		if n := b.count(`SELECT available FROM ledger_account WHERE id = 'sys_suspense_PHP_sandbox'`); n != amount {
			t.Errorf("%d are in suspense", n)
		}
		if n := b.count(`SELECT count(*) FROM audit_log WHERE CAST(entry AS TEXT) LIKE '%money.suspense.added%'`); n != 1 {
			t.Errorf("the log tells %d times that money is in suspense", n)
		}
	})
}

func TestAReturnThatIsNotifiedWithoutAReferenceAndStatedWithOneIsTakenOnce(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		b := openBank(t, store)
		id := b.pay(number("9011"))[0]
		b.turn()
		notified, stated := returned(id), returned(id)
		stated.EntryID, stated.Outcome.Reference = "BANK1/12345/BOOK", "BANK1"
		b.hear("notification 1", decided(id, rail.Completed, ""), settled(id), notified)
		b.hear("account", stated)
		b.is(id, "reversed ACCOUNT_CLOSED AC04")
		if n := b.count(`SELECT available FROM ledger_account WHERE id = 'sys_suspense_PHP_sandbox'`); n != 0 {
			t.Errorf("%d are in suspense", n)
		}
	})
}

func TestTheSameMessageIsTakenOnce(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		b := openBank(t, store)
		unmatched := rail.Notice{Kind: rail.Unmatched, EntryID: "1", Amount: 700, Text: "a gift"}
		for range 3 {
			b.hear("statement 1", unmatched)
		}
		b.node().hear("statement 1", unmatched)
		if n := b.count(`SELECT available FROM ledger_account WHERE kind = 'suspense'`); n != 700 {
			t.Errorf("%d in suspense, want 700", n)
		}
	})
}

func TestWhatMatchesNothingGoesToSuspense(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		b := openBank(t, store)
		id := b.pay(number("9011"))[0]
		b.turn()
		part := returned(id)
		part.Amount--
		b.hear("statement 1",
			rail.Notice{Kind: rail.Unmatched, EntryID: "1", Amount: 700},
			rail.Notice{Kind: rail.Unmatched, EntryID: "2", Amount: -200},
			settled("po_whosesoever"),
			rail.Notice{Kind: rail.Deposited, EntryID: "3", AccountID: "acc_none", Amount: 50},
			decided("po_whosesoever", rail.Completed, ""),
			part,
		)
		if n := b.count(`SELECT available FROM ledger_account WHERE kind = 'suspense'`); n != 700-200-amount+50+amount-1 {
			t.Errorf("%d in suspense", n)
		}
		if n := b.Suspended.Load(); n != 5 {
			t.Errorf("%d notices were counted, want 5", n)
		}
		if n := b.count(`SELECT count(*) FROM audit_log WHERE entry LIKE '%money.suspense.added%'`); n != 5 {
			t.Errorf("the audit log has %d of them, want 5", n)
		}
		b.is(id, "processing contradicted")
		b.sound()
	})
}

// A bank writes the same word wherever it has no reference. What it says in two statements of one amount are two
// movements, and what it says again in the same statement is one.
func TestMovementsWithoutAReferenceCountEachInTheirStatement(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		b := openBank(t, store)
		ids := b.pay(number("9011"), number("9012"))
		b.turn()
		folder := t.TempDir()
		files, err := iso20022.New("ourbank", iso20022.Settings{Folder: folder, DebtorName: "Us", DebtorAccount: "001234567890", DebtorBank: "BOPIPHMMXXX", Final: "ACSC", Clock: b.clock.Now})
		if err != nil {
			t.Fatal(err)
		}
		entry := func(direction, cents, details string) string {
			return `<Ntry><Amt Ccy="PHP">` + cents + `</Amt><CdtDbtInd>` + direction + `</CdtDbtInd><Sts><Cd>BOOK</Cd></Sts><AcctSvcrRef>NONREF</AcctSvcrRef><NtryDtls><TxDtls>` + details + `</TxDtls></NtryDtls></Ntry>`
		}
		for i, id := range append(ids, ids[1]) { // the last statement comes twice
			message := fmt.Sprint("S", min(i, 1))
			text := `<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.08"><BkToCstmrStmt><GrpHdr><MsgId>` + message + `</MsgId></GrpHdr><Stmt><Acct><Id><Othr><Id>001234567890</Id></Othr></Id></Acct>` +
				entry("DBIT", "123.45", `<Refs><AcctSvcrRef>NONREF</AcctSvcrRef><EndToEndId>`+payout.EndToEndID(id, 1)+`</EndToEndId></Refs>`) +
				entry("CRDT", "7.00", `<Refs><EndToEndId>NOTPROVIDED</EndToEndId></Refs><RmtInf><Ustrd>`+b.account.ID+`</Ustrd></RmtInf>`) + `</Stmt></BkToCstmrStmt></Document>`
			if err := os.WriteFile(filepath.Join(folder, "in", "statement.xml"), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			messages, err := files.Receive(t.Context())
			if err != nil || len(messages) != 1 {
				t.Fatalf("heard %v, %v", messages, err)
			}
			b.line.receive = func() (told []rail.Message) {
				told, messages = messages, nil
				return told
			}
			b.turn()
		}
		for _, id := range ids {
			b.is(id, "completed")
			if got := b.references(id); strings.Contains(got, "NONREF") {
				t.Errorf("the bank's reference of a payment is %q", got)
			}
		}
		if n := b.count(`SELECT count(*) FROM ledger_deposit WHERE source = 'bank'`); n != 2 {
			t.Errorf("there are %d deposits, want 2", n)
		}
	})
}

// What the bank shows has happened, also if the books do not have that much: here all of it went to charges that
// are paid from money of the operator. It must not keep a payment that was made from being known as made.
func TestADebitOfMoreThanTheBooksHaveGoesToSuspense(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		b := openBank(t, store)
		id := b.pay(number("9011"))[0]
		b.turn()
		b.hear("statement 1", rail.Notice{Kind: rail.Unmatched, EntryID: "1", Amount: -100_000_000, Text: "charges"})
		b.hear("statement 2", rail.Notice{Kind: rail.Unmatched, EntryID: "2", Amount: -1, Text: "charges"}, settled(id))
		b.is(id, "completed")
		if n := b.count(`SELECT available FROM ledger_account WHERE kind = 'suspense'`); n != -100_000_001 {
			t.Errorf("%d in suspense", n)
		}
		if n := b.Untaken.Load(); n != 0 {
			t.Errorf("%d notices were not taken", n)
		}
	})
}

// A rail has a payment that it had not received. It was not submitted again, so the answer counts.
func TestAPaymentThatWasNotReceivedMayArriveLate(t *testing.T) {
	for late, want := range map[rail.State]string{rail.Accepted: "processing", rail.Completed: "completed", rail.Rejected: "failed PROCESSING_FAILED"} {
		t.Run(string(late), func(t *testing.T) {
			dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
				b := openBank(t, store)
				id := b.pay(number("9011"))[0]
				b.line.submit = func(context.Context, *rail.Rail, []rail.Payment) ([]rail.Outcome, error) { return nil, nil }
				b.turn()
				b.clock.advance(3 * time.Second)
				if _, err := b.Turn(t.Context()); err != nil { // it asks last, so that nothing is sent in this turn
					t.Fatal(err)
				}
				b.is(id, "pending")
				b.write(func(tx *db.Tx) error { return rail.SetSimulated(tx, "ws_1", "instapay", rail.Down, "so that it waits") })
				b.hear("late", decided(id, late, ""))
				b.is(id, want)
			})
		})
	}
}

func TestAFrozenAccountPaysNothingThatWaits(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		b := openBank(t, store)
		before := b.balances(b.account)
		id := b.pay(number("0001"))[0]
		b.write(func(tx *db.Tx) error {
			return tx.Exec(`UPDATE ledger_account SET status = 'frozen' WHERE id = $1`, b.account.ID)
		})
		b.turn()
		b.is(id, "failed ACCOUNT_FROZEN")
		equal(t, "attempts", b.attempts(id), []string{})
		equal(t, "the audit log", b.told(id), []string{"failed"})
		if after := b.balances(b.account); after != before {
			t.Errorf("the account has %s, want %s", after, before)
		}
		b.sound()
	})
}

func TestWhatIsDownIsWaitedFor(t *testing.T) {
	for _, service := range []string{"instapay", "simulator", "BOPIPHMMXXX"} {
		t.Run(service, func(t *testing.T) {
			dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
				b := openBank(t, store)
				set := func(s rail.Status) {
					b.write(func(tx *db.Tx) error { return rail.SetSimulated(tx, "ws_1", service, s, "") })
				}
				set(rail.Down)
				id := b.pay(number("0001"))[0]
				b.settle(time.Hour)
				b.is(id, "pending")
				set(rail.Degraded)
				b.turn()
				b.is(id, "completed")
				b.sound()
			})
		})
	}
}

// A rail that went down after the claim has taken nothing.
func TestWhatMeetsARailThatIsDownIsSentLater(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		b := openBank(t, store)
		id := b.pay(number("0001"))[0]
		set := func(s rail.Status) {
			b.write(func(tx *db.Tx) error { return rail.SetSimulated(tx, "ws_1", "instapay", s, "") })
		}
		b.line.submit = func(ctx context.Context, r *rail.Rail, list []rail.Payment) ([]rail.Outcome, error) {
			set(rail.Down)
			return b.sim.Submit(ctx, r, list)
		}
		b.settle(time.Minute)
		b.is(id, "pending")
		b.line.submit = nil
		set(rail.Up)
		b.turn()
		b.is(id, "completed")
		equal(t, "attempts", b.attempts(id), []string{"1 completed, submission 2"})
		b.sound()
	})
}
