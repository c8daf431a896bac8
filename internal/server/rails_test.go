package server_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bursar/api"
	"bursar/internal/audit"
	"bursar/internal/config"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/ledger"
	"bursar/internal/rail"
	"bursar/internal/server/servertest"
)

// What is proclaimed each year has to be brought in by someone, whom the log reminds.
func TestTheLogWarnsWhileTheHolidaysOfTheNextYearAreMissing(t *testing.T) {
	t.Parallel()
	this := time.Now().Year()
	shipped, err := rail.LoadHolidays("")
	if err != nil {
		t.Fatal(err)
	}
	var none strings.Builder // no holiday of either year, whichever are shipped
	for date := range shipped {
		fmt.Fprintf(&none, "-%s\n", date)
	}
	for name, c := range map[string]struct {
		lines string
		warns int // the year, 0 for none
	}{
		"both are known":      {fmt.Sprintf("%d-12-25 Christmas\n%d-12-25 Christmas\n", this, this+1), 0},
		"the next is missing": {fmt.Sprintf("%d-12-25 Christmas\n", this), this + 1},
		"both are missing":    {"", this},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "holidays")
			if err := os.WriteFile(file, []byte(none.String()+c.lines), 0o600); err != nil {
				t.Fatal(err)
			}
			n := servertest.Start(t, dbtest.SQLite(t), func(s *config.Serve) { s.Holidays = file })
			var warned []string
			for line := range strings.Lines(n.Log.String()) {
				if strings.Contains(line, "holidays") {
					warned = append(warned, line)
				}
			}
			switch {
			case c.warns == 0 && len(warned) > 0:
				t.Errorf("the log warns: %s", warned)
			case c.warns != 0 && (len(warned) != 1 || !strings.Contains(warned[0], `"level":"WARN"`) || !strings.Contains(warned[0], fmt.Sprintf(`"year":%d`, c.warns))):
				t.Errorf("the log says %s", warned)
			}
		})
	}
}

// A server that was started without its rails file keeps real payouts waiting, and must say so.
func TestTheLogWarnsOfLiveAccountsWithoutARail(t *testing.T) {
	t.Parallel()
	const warning = "live accounts have money and no rail moves it"
	store := dbtest.SQLite(t)
	n := servertest.Start(t, store)
	_, err := db.Write(t.Context(), n.DB, db.Caller{}, func(tx *db.Tx) (struct{}, audit.Event, error) {
		a, err := ledger.NewAccount(tx, n.First.WorkspaceID, "Real", "PHP", api.ModeLive)
		if err == nil {
			_, _, err = ledger.Deposit(tx, a, 700, api.DepositFromOperator, "opening", true)
		}
		return struct{}{}, audit.None("a test"), err
	})
	if err != nil {
		t.Fatal(err)
	}
	if log := n.Log.String(); strings.Contains(log, warning) {
		t.Errorf("a store without live accounts: %s", log)
	}
	if log := servertest.Start(t, store).Log.String(); !strings.Contains(log, warning) || !strings.Contains(log, `"level":"WARN"`) {
		t.Errorf("a store with one: %s", log)
	}
	folder := t.TempDir()
	file := filepath.Join(t.TempDir(), "rails.json")
	text := fmt.Sprintf(`{"connectors": {"ourbank": {"kind": "iso20022", "settings": {"folder": %q, "debtor_name": "Us", "debtor_account": "001234567890",
		"debtor_bank": "BOPIPHMMXXX", "final": "ACSC"}}},
		"rails": [{"name": "instapay", "currency": "PHP", "minimum_cents": 100, "connector": "ourbank", "always": true, "members": "I"}]}`, folder)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if log := servertest.Start(t, store, func(c *config.Serve) { c.Rails = file }).Log.String(); strings.Contains(log, warning) {
		t.Errorf("with a rail for it: %s", log)
	}
}
