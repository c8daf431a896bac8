package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
	"bursar/internal/wait"
)

// credit is an entry of a statement: money that came in, with what the payer wrote.
func credit(reference, amount, text string) string {
	return `<Ntry><Amt Ccy="PHP">` + amount + `</Amt><CdtDbtInd>CRDT</CdtDbtInd><Sts><Cd>BOOK</Cd></Sts><AcctSvcrRef>` + reference +
		`</AcctSvcrRef><NtryDtls><TxDtls><RmtInf><Ustrd>` + text + `</Ustrd></RmtInf></TxDtls></NtryDtls></Ntry>`
}

// A bank puts a statement into its folder: what names a live account is a deposit of it, and what names
// no one is in suspense, where the operator sees it.
func TestADepositInABanksFileReachesItsAccountAndAStrayOneIsInSuspense(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		made := initialise(t, store)
		folder, file := t.TempDir(), filepath.Join(t.TempDir(), "rails.json")
		rails := fmt.Sprintf(`{"connectors": {"ourbank": {"kind": "iso20022", "settings": {"folder": %q, "debtor_name": "Us", "debtor_account": "001234567890",
			"debtor_bank": "BOPIPHMMXXX", "final": "ACSC"}}},
			"rails": [{"name": "instapay", "currency": "PHP", "minimum_cents": 100, "connector": "ourbank", "always": true, "members": "I"}]}`, folder)
		if err := os.WriteFile(file, []byte(rails), 0o600); err != nil {
			t.Fatal(err)
		}
		p := start(t, store, "--rails", file)
		admin := servertest.Remote(t, p.URL, made).Admin(t)
		account := admin.Post("/v2/accounts", servertest.Body{"workspace_id": made.WorkspaceID, "name": "Real", "mode": "live"}).Created().Text("id")
		statement := `<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.08"><BkToCstmrStmt><GrpHdr><MsgId>M1</MsgId></GrpHdr><Stmt>` +
			`<Acct><Id><Othr><Id>001234567890</Id></Othr></Id></Acct>` + credit("R1", "1250.50", "For "+account) + credit("R2", "77.00", "Thank you") +
			`</Stmt></BkToCstmrStmt></Document>`
		hidden := filepath.Join(folder, "in", ".statement.xml")
		if err := os.WriteFile(hidden, []byte(statement), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(hidden, filepath.Join(folder, "in", "statement.xml")); err != nil {
			t.Fatal(err)
		}
		wait.Until(t, "the deposit is in the account", func() bool { return admin.Balances(account) == [3]int64{125_050, 0, 0} })
		if got := admin.Get("/v2/deposits?workspace_id=" + made.WorkspaceID + "&account_id=" + account).OK().List(); len(got) != 1 || got[0]["source"] != "bank" || got[0]["reference"] != "R1" {
			t.Errorf("the deposits are %v", got)
		}
		if got := succeed(t, append([]string{"admin", "ledger", "suspense"}, at(store)...)...); !strings.Contains(got, "Live     PHP 77.00") || !strings.Contains(got, "Sandbox  PHP 0.00") {
			t.Errorf("in suspense is %s", got)
		}
	})
}
