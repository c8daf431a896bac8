package server_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"bursar/api"
	"bursar/internal/config"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/payout"
	"bursar/internal/server/servertest"
)

// metricsOf serves the metrics of a node, and returns a function that reads them.
func metricsOf(t *testing.T, n *servertest.Node) (read func() map[string]float64) {
	t.Helper()
	stop, err := n.Server.ServeMetrics("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	var address string
	for line := range strings.Lines(n.Log.String()) {
		var said struct{ Msg, Address string }
		if json.Unmarshal([]byte(line), &said) == nil && said.Msg == "serving metrics" {
			address = said.Address
		}
	}
	return func() map[string]float64 {
		t.Helper()
		answer, err := http.Get("http://" + address + "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		found := map[string]float64{}
		for line := range strings.Lines(string(text)) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
			if number, err := strconv.ParseFloat(value, 64); err == nil && strings.HasPrefix(name, "bursar_") {
				found[name] = number
			}
		}
		return found
	}
}

// What an operator has to look at about payouts is at /metrics, and a connector whose folder is not trusted is down.
func TestMetricsAndHealthShowWhatKeepsPayoutsFromBeingSent(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		folder, file := t.TempDir(), filepath.Join(t.TempDir(), "rails.json")
		rails := fmt.Sprintf(`{"connectors": {"ourbank": {"kind": "iso20022", "settings": {"folder": %q, "debtor_name": "Us", "debtor_account": "001234567890",
			"debtor_bank": "BOPIPHMMXXX", "final": "ACSC"}}},
			"rails": [{"name": "instapay", "currency": "PHP", "minimum_cents": 100, "connector": "ourbank", "always": true, "members": "I"}]}`, folder)
		if err := os.WriteFile(file, []byte(rails), 0o600); err != nil {
			t.Fatal(err)
		}
		n := servertest.Start(t, store, func(c *config.Serve) { c.Rails = file })
		x, metrics := n.FirstTenant(t), metricsOf(t, n)
		shows := func(when string, want map[string]float64) {
			t.Helper()
			n.RunPayouts(t)
			got := metrics()
			for name, value := range want {
				if now, ok := got[name]; !ok || now != value {
					t.Errorf("%s, %s is %v, want %v", when, name, now, value)
				}
			}
		}
		health := func(when, status, reason string) {
			t.Helper()
			for _, service := range []string{"instapay", "ourbank"} {
				if got := servertest.Decoded[api.ServiceHealth](x.Owner.Get("/v2/payout-requests/health/" + service)); got.Status != status || got.Reason != reason {
					t.Errorf("%s, %s is %s: %q", when, service, got.Status, got.Reason)
				}
			}
		}
		stopped := func(stops float64) map[string]float64 { return map[string]float64{"bursar_payout_stops": stops} }
		conflicts := func(count float64) map[string]float64 {
			return map[string]float64{"bursar_rail_record_conflicts_total": count}
		}

		shows("at first", map[string]float64{"bursar_payout_stops": 0, "bursar_rail_record_conflicts_total": 0, "bursar_payouts_contradicted_total": 0,
			"bursar_suspense_notices_total": 0, "bursar_clock_skew_seconds": 0})
		health("at first", "up", "")

		x.Owner.Post(x.Path("/payout-stop"), servertest.Body{"reason": "a drill"}).OK()
		shows("after a stop of both modes", stopped(2))
		x.Owner.Post(x.Path("/payout-resume"), servertest.Body{"mode": "sandbox"}).OK()
		shows("after one has resumed", stopped(1))
		x.Owner.Post(x.Path("/payout-resume"), servertest.Body{}).OK()
		shows("after both have resumed", stopped(0))

		account := x.LiveAccount()
		x.Deposit(account, 1_000)
		id := x.Owner.Post("/v2/payout-requests", servertest.Body{"source_account_id": account, "amount_cents": 1_000, "currency": "PHP",
			"settlement_account": servertest.Body{"bank_account_name": "Juan dela Cruz", "bank_account_number": "1234567890", "bank_code": "BOPIPHMMXXX"}}).Created().Text("id")
		shows("after a payout is sent", conflicts(0))
		statement := `<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.08"><BkToCstmrStmt><GrpHdr><MsgId>M1</MsgId></GrpHdr><Stmt>` +
			`<Acct><Id><Othr><Id>001234567890</Id></Othr></Id></Acct><Ntry><Amt Ccy="PHP">10.50</Amt><CdtDbtInd>DBIT</CdtDbtInd><Sts><Cd>BOOK</Cd></Sts>` +
			`<AcctSvcrRef>R1</AcctSvcrRef><NtryDtls><TxDtls><Refs><EndToEndId>` + payout.EndToEndID(id, 1) + `</EndToEndId></Refs></TxDtls></NtryDtls></Ntry></Stmt></BkToCstmrStmt></Document>`
		if err := os.WriteFile(filepath.Join(folder, "in", "statement.xml"), []byte(statement), 0o600); err != nil {
			t.Fatal(err)
		}
		shows("after the bank has debited another amount", map[string]float64{"bursar_payouts_contradicted_total": 1, "bursar_suspense_notices_total": 1})

		identity := filepath.Join(folder, "sent", "identity")
		if err := os.WriteFile(identity, []byte("ANOTHER\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		shows("with another folder", conflicts(1))
		health("with another folder", "down", "the folder is not the one that the store knows")
		if _, _, err := payout.AdoptRecord(t.Context(), n.DB, db.Caller{}, "ourbank", "", true); err != nil {
			t.Fatal(err)
		}
		shows("after the folder is adopted", conflicts(1))
		health("after the folder is adopted", "up", "")
	})
}

func TestMetricsAreDocumented(t *testing.T) {
	t.Parallel()
	n := servertest.Start(t, dbtest.SQLite(t))
	n.Admin(t).Get("/v1/auth/me").OK()
	text, err := os.ReadFile("../../docs/operating.md")
	if err != nil {
		t.Fatal(err)
	}
	for metric := range metricsOf(t, n)() {
		name, _, _ := strings.Cut(metric, "{")
		for _, part := range []string{"_bucket", "_sum", "_count"} { // of a histogram
			name = strings.TrimSuffix(name, part)
		}
		if !strings.Contains(string(text), "`"+name) {
			t.Errorf("docs/operating.md does not list %s", name)
		}
	}
}
