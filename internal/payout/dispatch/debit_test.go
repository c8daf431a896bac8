package dispatch_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bursar/api"
	"bursar/internal/db/dbtest"
	"bursar/internal/payout"
)

// states lets the bank show entries of the account in a file.
func (l *live) states(message string, entries ...string) {
	l.t.Helper()
	text := `<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.08"><BkToCstmrStmt><GrpHdr><MsgId>` + message +
		`</MsgId></GrpHdr><Stmt><Acct><Id><Othr><Id>001234567890</Id></Othr></Id></Acct>` + strings.Join(entries, "") + `</Stmt></BkToCstmrStmt></Document>`
	l.must(os.WriteFile(filepath.Join(l.folder, "in", message+".xml"), []byte(text), 0o600))
	l.turn()
	if _, err := os.Stat(filepath.Join(l.folder, "done", message+".xml")); err != nil {
		l.t.Errorf("the file was not taken: %v", err)
	}
}

// debit is an entry with its details.
func debit(cents int64, reference, details string) string {
	if reference != "" {
		reference = `<AcctSvcrRef>` + reference + `</AcctSvcrRef>`
	}
	return fmt.Sprintf(`<Ntry><Amt Ccy="PHP">%d.%02d</Amt><CdtDbtInd>DBIT</CdtDbtInd><Sts><Cd>BOOK</Cd></Sts>%s<NtryDtls>%s</NtryDtls></Ntry>`,
		cents/100, cents%100, reference, details)
}

// sumOf are the details of an entry for a whole message.
func sumOf(message string) string { return `<Btch><PmtInfId>` + message + `</PmtInfId></Btch>` }

// itemized are the details of an entry for these payouts, each with a reference of its own.
func itemized(prefix string, ids ...string) (details string) {
	for i, id := range ids {
		details += fmt.Sprintf(`<TxDtls><Refs><AcctSvcrRef>%s%d</AcctSvcrRef><EndToEndId>%s</EndToEndId></Refs><Amt Ccy="PHP">%d.%02d</Amt></TxDtls>`,
			prefix, i, payout.EndToEndID(id, 1), amount/100, amount%100)
	}
	return details
}

func (l *live) inSuspense() int64 {
	l.t.Helper()
	return l.count(`SELECT CAST(coalesce(sum(available), 0) AS BIGINT) FROM ledger_account WHERE kind = 'suspense'`)
}

func TestAMessageThatIsDebitedTwiceAsOneSumNeedsAttention(t *testing.T) {
	for name, c := range map[string]struct {
		entries  func(message string, ids []string) []string
		twice    bool
		suspense int64
	}{
		"under another reference": {func(message string, _ []string) []string {
			return []string{debit(2*amount, "R1", sumOf(message)), debit(2*amount, "R2", sumOf(message))}
		}, true, -2 * amount},
		"told twice": {func(message string, _ []string) []string {
			return []string{debit(2*amount, "R1", sumOf(message)), debit(2*amount, "R1", sumOf(message))}
		}, false, 0},
		"itemized in one of two files": {func(message string, ids []string) []string {
			return []string{debit(2*amount, "R1", sumOf(message)), debit(2*amount, "R1", itemized("T", ids...))}
		}, false, 0},
		"told twice without a reference": {func(message string, _ []string) []string {
			return []string{debit(2*amount, "", sumOf(message)), debit(2*amount, "", sumOf(message))}
		}, false, 0},
		"itemized without references of their own, in two entries": {func(_ string, ids []string) []string {
			details := strings.NewReplacer(`<AcctSvcrRef>T0</AcctSvcrRef>`, "", `<AcctSvcrRef>T1</AcctSvcrRef>`, "").Replace(itemized("T", ids...))
			return []string{debit(2*amount, "R1", details), debit(2*amount, "R2", details)}
		}, true, -2 * amount},
	} {
		t.Run(name, func(t *testing.T) {
			dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
				l := openLive(t, store)
				l.turn()
				ids := l.pay(number("0001"), number("0002"))
				l.turn()
				messages := l.messages(payout.EndToEndID(ids[0], 1))
				for i, entry := range c.entries(messages[0], ids) {
					l.states(fmt.Sprint("S", i), entry)
				}
				want := "completed"
				if c.twice {
					want = "completed contradicted"
				}
				l.is(ids[0], want)
				l.is(ids[1], want)
				if got := l.inSuspense(); got != c.suspense {
					t.Errorf("%d are in suspense, want %d", got, c.suspense)
				}
			})
		})
	}
}

// A payment that people found not to be paid went out in a second message. The bank executes both, and books each as a sum.
func TestTwoSubmissionsThatAreBookedAsSumsAreTwoDebits(t *testing.T) {
	for name, references := range map[string][2]string{"with references": {"R1", "R2"}, "without references": {"", ""}} {
		t.Run(name, func(t *testing.T) {
			both := openLiveOffice(t, dbtest.SQLite(t))
			l, o := both.live, both.office
			id := l.overdue()
			if err := o.approveIt("usr_b", o.asked("usr_a", id, api.ResolveNotPaid)); err != nil {
				t.Fatal(err)
			}
			if err := o.retry("usr_a", id); err != nil {
				t.Fatal(err)
			}
			l.turn()
			messages := l.messages(payout.EndToEndID(id, 1))
			if len(messages) != 2 {
				t.Fatalf("sent in %q", messages)
			}
			l.states("S1", debit(amount, references[0], sumOf(messages[0])))
			l.is(id, "completed contradicted")
			if got := l.inSuspense(); got != 0 {
				t.Errorf("%d are in suspense after the first debit", got)
			}
			l.states("S2", debit(amount, references[1], sumOf(messages[1])))
			if got := l.inSuspense(); got != -amount {
				t.Errorf("%d are in suspense, want %d", got, -amount)
			}
		})
	}
}

// Whatever kind of reference the bank gave first, a second one of the same kind is another debit.
func TestASecondDebitIsFoundByEachKindOfReference(t *testing.T) {
	for _, movements := range [][]string{
		{"transaction T1", "entry B1", "entry B2"},
		{"transaction T1", "entry B1", "transaction T2"},
		{"", "batch R1", "entry B1", "batch R2"},
	} {
		b := openBank(t, dbtest.SQLite(t))
		id := b.pay(number("9011"))[0]
		b.turn()
		for i, movement := range movements {
			if b.is(id, map[bool]string{true: "processing", false: "completed"}[i == 0]); t.Failed() {
				t.Fatalf("before the movement %d of %q", i, movements)
			}
			n := settled(id)
			n.EntryID, n.Movement = fmt.Sprint(i), movement
			b.hear("account", n)
		}
		b.is(id, "completed contradicted")
		if n := b.count(`SELECT available FROM ledger_account WHERE id = 'sys_suspense_PHP_sandbox'`); n != -amount {
			t.Errorf("%d are in suspense", n)
		}
	}
}
