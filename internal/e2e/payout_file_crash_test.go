package e2e_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/payout"
	"bursar/internal/server/servertest"
	"bursar/internal/torture"
	"bursar/internal/wait"
)

// Two nodes on PostgreSQL pay by files. One of them is killed, or stopped for longer than its leases and goes on, over and over. Each
// payout is in one file, once, and the bank's statement of these files settles all of them.
func TestEachPayoutIsInOneFileWhenNodesAreKilledAndStopped(t *testing.T) {
	t.Parallel()
	store, _ := ownPostgres(t)
	seed := rand.Uint64()
	t.Logf("the seed is %d", seed)
	folder := t.TempDir()
	d := &payday{store: store, made: initialise(t, store), random: rand.New(rand.NewPCG(seed, 0)), ends: []string{"0001"}, flags: []string{"--rails", railsFile(t, folder)},
		client: &http.Client{Timeout: 2 * time.Second}} // a node that is stopped answers nothing
	d.start(t, 2)
	for range 3 {
		id := d.admin(t).Post("/v2/accounts", servertest.Body{"workspace_id": d.made.WorkspaceID, "name": "Payroll", "mode": "live"}).Created().Text("id")
		succeed(t, append([]string{"admin", "ledger", "deposit", id, fmt.Sprint(deposited / 100), "--note", "the bank's statement", "--reference", "statement of " + id}, at(store)...)...)
		d.accounts = append(d.accounts, id)
	}
	count, kills, stops := torture.Rounds(240, 10_000), 0, 0
	began := time.Now()
	d.torment(t, count, torture.Rounds(3, 40), func() {
		node := d.random.IntN(2)
		if d.random.IntN(2) == 0 {
			kills++
			d.restart(t, node)
			return
		}
		stops++
		d.nodes[node].signal(t, syscall.SIGSTOP)
		// Longer than a lease, and in the long form longer than anything may be sent after its claim.
		<-time.After(time.Duration(d.random.IntN(torture.Rounds(10, 50))) * time.Second)
		d.nodes[node].signal(t, syscall.SIGCONT)
	})
	t.Logf("%d payouts were answered in %s, with %d nodes killed and %d stopped", d.told.Load(), time.Since(began).Round(time.Second), kills, stops)
	d.settleFiles(t, folder)
	for _, p := range d.nodes {
		p.terminate(t)
	}
}

// settleFiles kills all nodes once more, lets everything be sent, and lets the bank book what is in its files.
func (d *payday) settleFiles(t *testing.T, folder string) {
	t.Helper()
	for _, p := range d.nodes {
		p.kill()
	}
	d.db = d.store.Open(t)
	_, err := db.Write(t.Context(), d.db, db.Caller{}, func(tx *db.Tx) (struct{}, audit.Event, error) { // their leases may as well be over
		return struct{}{}, audit.None("a test"), tx.Exec(`UPDATE payout_attempt SET ask_at = 0 WHERE state IN ('sending', 'unknown')`)
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range d.nodes {
		d.restart(t, i)
	}
	wait.UntilWithin(t, 10, "all payouts were sent", func() bool {
		// One statement, so that a payout that the bank has not received is not missed between two.
		return d.count(t, `SELECT count(*) FROM payout p LEFT JOIN payout_attempt a ON a.payout_id = p.id
			WHERE p.status <> 'processing' OR p.attention <> '' OR a.id IS NULL OR a.state IN ('sending', 'unknown')`) == 0
	})
	answered := map[string]bool{}
	d.ids.Range(func(_, id any) bool {
		answered[payout.EndToEndID(id.(string), 1)] = true
		return true
	})
	messages, entries := map[string]string{}, strings.Builder{} // the message that has a payment
	for _, p := range inFiles(t, folder) {
		if messages[p.id] != "" {
			t.Errorf("%s is in %s and in %s", p.id, messages[p.id], p.message)
		}
		if messages[p.id] = p.message; !answered[p.id] {
			t.Errorf("%s in %s is no payout that was answered", p.id, p.message)
		}
		delete(answered, p.id)
		fmt.Fprintf(&entries, `<Ntry><Amt Ccy="PHP">%s</Amt><CdtDbtInd>DBIT</CdtDbtInd><Sts><Cd>BOOK</Cd></Sts><AcctSvcrRef>R%s</AcctSvcrRef>`+
			`<NtryDtls><TxDtls><Refs><EndToEndId>%s</EndToEndId></Refs></TxDtls></NtryDtls></Ntry>`, p.amount, p.id, p.id)
	}
	for id := range answered {
		t.Errorf("%s was answered and is in no file", id)
	}
	submitted := d.count(t, `SELECT count(*) FROM payout_attempt WHERE submission > 1`)
	files := slices.Compact(slices.Sorted(maps.Values(messages)))
	t.Logf("%d payments are in %d files; %d of them were submitted again after a look-up", len(messages), len(files), submitted)

	statement := `<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.08"><BkToCstmrStmt><GrpHdr><MsgId>S1</MsgId></GrpHdr><Stmt>` +
		`<Acct><Id><Othr><Id>001234567890</Id></Othr></Id></Acct>` + entries.String() + `</Stmt></BkToCstmrStmt></Document>`
	hidden := filepath.Join(folder, "in", ".statement.xml")
	if err := os.WriteFile(hidden, []byte(statement), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(hidden, filepath.Join(folder, "in", "statement.xml")); err != nil {
		t.Fatal(err)
	}
	wait.UntilWithin(t, 10, "all payouts are settled", func() bool {
		return d.count(t, `SELECT count(*) FROM payout_attempt WHERE settled_at = 0`) == 0
	})
	for sql, what := range map[string]string{
		`SELECT count(*) FROM payout WHERE status <> 'completed' OR attention <> ''`:                                                                                            "payouts that are not completed",
		`SELECT count(*) FROM payout_attempt WHERE number > 1`:                                                                                                                  "attempts under another end-to-end id",
		`SELECT CAST(coalesce(sum(abs(available)), 0) AS BIGINT) FROM ledger_account WHERE kind IN ('clearing', 'suspense')`:                                                    "are left in clearing or suspense",
		`SELECT CAST(coalesce(sum(reserved), 0) AS BIGINT) FROM ledger_account`:                                                                                                 "are still reserved",
		fmt.Sprintf(`SELECT CAST(%d - sum(available) - (SELECT sum(amount) FROM payout) AS BIGINT) FROM ledger_account WHERE kind = 'customer' AND mode = 'live'`, 3*deposited): "are missing in the accounts",
	} {
		if n := d.count(t, sql); n != 0 {
			t.Errorf("%d %s", n, what)
		}
	}
	t.Log(strings.TrimSpace(succeed(t, append([]string{"admin", "ledger", "verify"}, at(d.store)...)...)))
}

// railsFile writes a rails file with a bank that has a folder.
func railsFile(t *testing.T, folder string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "rails.json")
	text := fmt.Sprintf(`{"connectors": {"ourbank": {"kind": "iso20022", "settings": {"folder": %q, "debtor_name": "Us", "debtor_account": "001234567890",
		"debtor_bank": "BOPIPHMMXXX", "final": "ACSC"}}},
		"rails": [{"name": "instapay", "currency": "PHP", "minimum_cents": 100, "connector": "ourbank", "always": true, "members": "I"}]}`, folder)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// filed is a payment in a file of a bank's folder.
type filed struct{ message, id, amount string }

// inFiles returns the payments that the bank finds in its folder.
func inFiles(t *testing.T, folder string) (list []filed) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(folder, "out", "*.xml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, piece := range strings.Split(string(text), "<CdtTrfTxInf>")[1:] {
			list = append(list, filed{between(string(text), "<MsgId>", "<"), between(piece, "<EndToEndId>", "<"), between(piece, `<InstdAmt Ccy="PHP">`, "<")})
		}
	}
	return list
}

// between returns what stands between two texts.
func between(text, begin, end string) string {
	_, rest, _ := strings.Cut(text, begin)
	found, _, _ := strings.Cut(rest, end)
	return found
}
