package e2e_test

import (
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
	"bursar/internal/torture"
	"bursar/internal/wait"
)

// Payouts were sent after a store was archived, and the operator who acknowledges them after its restore is killed over and over. No
// payout is lost or sent again.
func TestPayoutsThatWereSentAfterAnArchiveAreAcknowledgedOnce(t *testing.T) {
	t.Parallel()
	store, restored := dbtest.SQLite(t), dbtest.SQLite(t)
	made, folder := initialise(t, store), t.TempDir()
	flags := []string{"--rails", railsFile(t, folder)}
	p := startNode(t, store, flags...)
	admin := servertest.Remote(t, p.URL, made).Admin(t)
	account := admin.Post("/v2/accounts", servertest.Body{"workspace_id": made.WorkspaceID, "name": "Payroll", "mode": "live"}).Created().Text("id")
	succeed(t, append([]string{"admin", "ledger", "deposit", account, "1000", "--note", "the bank's statement", "--reference", "statement of " + account}, at(store)...)...)
	archive := filepath.Join(t.TempDir(), "archive")
	succeed(t, append([]string{"backup", "--to", archive, "--plain"}, at(store)...)...)
	count := torture.Rounds(40, 400)
	ids := map[string]string{} // by external id
	for i := range count {
		body := salary(account, i, 100)
		ids[body["external_id"].(string)] = admin.Post("/v2/payout-requests", body).Created().Text("id")
	}
	wait.Until(t, "the payouts are sent", func() bool { return len(inFiles(t, folder)) == count })
	p.terminate(t)

	succeed(t, append([]string{"restore", "--from", archive}, at(restored)...)...)
	p = startNode(t, restored, flags...)
	refused := func() result {
		return command(t, nil, append([]string{"admin", "rails", "resume"}, at(restored)...)...)
	}
	wait.Until(t, "the folder is read", func() bool {
		got := refused()
		return got.Code == 1 && strings.Contains(got.Err, "rails have sent payments that the store does not know")
	})
	if got := refused().Err; strings.Count(got, "PHP 1.00") != count || !strings.Contains(got, ids["salary-0"]) || !strings.Contains(got, "--acknowledge-all") {
		t.Errorf("the refusal is %s", got)
	}
	kills := 0
	for delay := 20 * time.Millisecond; ; delay += 15 * time.Millisecond {
		resume := exec.Command(program, append([]string{"admin", "rails", "resume", "--acknowledge-all"}, at(restored)...)...)
		resume.Env = environment(nil)
		if err := resume.Start(); err != nil {
			t.Fatal(err)
		}
		killer := time.AfterFunc(delay, func() { _ = resume.Process.Kill() })
		err := resume.Wait()
		if killer.Stop(); err == nil {
			break
		}
		kills++
	}
	t.Logf("the operator was killed %d times", kills)

	admin = servertest.Remote(t, p.URL, made).Admin(t)
	for i := range count {
		body := salary(account, i, 100)
		if got := admin.Post("/v2/payout-requests", body); got.Status != http.StatusOK || got.Text("id") != ids[body["external_id"].(string)] || got.Text("status") != "processing" {
			t.Errorf("%s is answered %d: %v", body["external_id"], got.Status, got)
		}
	}
	admin.Post("/v2/payout-requests", salary(account, 0, 101)).Fails(http.StatusConflict, "IDEMPOTENCY_CONFLICT")
	if got, want := admin.Balances(account), [3]int64{100_000 - int64(count)*100, int64(count) * 100, 0}; got != want {
		t.Errorf("the account has %v, want %v", got, want)
	}
	if sent := inFiles(t, folder); len(sent) != count {
		t.Errorf("%d payments were sent, want %d", len(sent), count)
	}
	p.terminate(t)
	succeed(t, append([]string{"admin", "ledger", "verify"}, at(restored)...)...)
}

// salary is a payout with an external id.
func salary(account string, i, cents int) servertest.Body {
	return servertest.Body{"source_account_id": account, "amount_cents": cents, "currency": "PHP", "external_id": fmt.Sprint("salary-", i), "settlement_account": servertest.Body{
		"bank_account_name": "Juan dela Cruz", "bank_account_number": fmt.Sprintf("%010d", 1_000_000_000+i), "bank_code": "BOPIPHMMXXX"}}
}
