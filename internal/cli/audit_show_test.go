package cli

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
)

func TestChangesAreShownBeforeAndAfter(t *testing.T) {
	n := servertest.Start(t, dbtest.SQLite(t))
	entry := n.Admin(t).Entry(servertest.Body{"name": "Ada Lovelace"})
	at2026 := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var changes audit.Changes
	changes.Add("status", "active", "inactive")
	changes.Add("fields.phone", nil, "+63 917 555 0101")
	changes.Add("fields.no\x1bte", "one\ntwo", json.RawMessage(`""`))
	changes.Add("tags", []string{"staff"}, []string{"staff", "speaker"})
	changes.Add("fields.biography", strings.Repeat("x", 5000), nil)
	changes.Add("account_id", audit.Mask("1234567890"), audit.Mask("0987654321"))
	changes.Add("expires_at", nil, at2026.UnixMilli())
	by := db.Caller{Actor: audit.Actor{Type: audit.User, ID: "usr_gone", Name: "Grace Hopper", Email: "grace@example.com"}}
	event := audit.Event{Action: audit.EntryUpdated, WorkspaceID: n.First.WorkspaceID, ResourceID: entry, Description: "Updated person Ada Lovelace", Changes: changes}
	if err := db.Record(t.Context(), n.DB, by, event, nil); err != nil {
		t.Fatal(err)
	}
	n.SequenceAudit(t)
	out, errs, code := at(t, n, "audit", "list", "--limit", "1", "--jq", ".[].id")
	if code != exitOK {
		t.Fatal(errs)
	}
	id := strings.TrimSpace(out)

	want := []string{
		"Description    Updated person Ada Lovelace", "Outcome        success", "Action         directory.entry.updated",
		"Actor          Grace Hopper <grace@example.com>", "Actor id       usr_gone", "Resource id    " + entry, "Id             " + id, "Place          3",
		"Changes",
		"status         active → inactive",
		"fields.phone   - → +63 917 555 0101",
		`fields.note    one two → ""`,
		`tags           ["staff"] → ["staff","speaker"]`,
		"fields.biography", strings.Repeat("x", 64) + "… (5,000 bytes, SHA-256 ", ") → -",
		"account_id     •••• 7890 → •••• 4321",
		"expires_at     - → " + localTime(at2026.UnixMilli()),
	}
	out, errs, code = at(t, n, "audit", "show", id)
	for _, line := range want {
		if squeezed := strings.Join(strings.Fields(line), " "); code != exitOK || !strings.Contains(strings.Join(strings.Fields(out), " "), squeezed) {
			t.Errorf("exit code %d, without %q:\n%s%s", code, squeezed, out, errs)
		}
	}
	if out, errs, _ := at(t, n, "audit", "show", id, "--jq", `.changes[] | select(.field == "tags").after[1]`); out != "speaker\n" {
		t.Errorf("a program is told %q %s", out, errs)
	}

	s := newScreen(t, 300, "BURSAR_URL", n.URL, "BURSAR_API_KEY", n.First.APIKey, "BURSAR_CONFIG_DIR", t.TempDir(), "BURSAR_KEYRING", "off", "LANG", "C", "TERM", "xterm")
	if got := s.Shows(func() { Run(t.Context(), []string{"audit", "show", id}, s.Terminal) }); !strings.Contains(got, "active -> inactive") || !strings.Contains(got, "**** 7890 -> **** 4321") {
		t.Errorf("a terminal without UTF-8 shows %s", got)
	}

	for _, ref := range []string{entry, "ada lovelace"} {
		out, errs, code := at(t, n, "directory", "history", ref)
		lines := strings.Split(out, "\n")
		if code != exitOK || len(lines) != 3 || !strings.Contains(lines[0], "\tGrace Hopper\tUpdated person Ada Lovelace\tstatus: active → inactive; fields.phone: - → +63 917 555 0101; ") ||
			!strings.Contains(lines[1], "Created person Ada Lovelace") {
			t.Errorf("the history of %s: exit code %d\n%s%s", ref, code, out, errs)
		}
	}

	_, err := db.Write(t.Context(), n.DB, db.Caller{}, func(tx *db.Tx) (struct{}, audit.Event, error) {
		return struct{}{}, audit.None("a test"), tx.Exec(`UPDATE audit_log SET personal = NULL, salt = NULL, erased = $1 WHERE id = $2`, make([]byte, 32), db.PackID("aud", id))
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"audit show " + id, "audit list", "directory history " + entry} {
		out, errs, code := at(t, n, strings.Fields(line)...)
		if code != exitOK || !strings.Contains(out, "(erased: the names, addresses, description and changes were removed)") || strings.Contains(out, "Grace") || strings.Contains(out, "inactive") {
			t.Errorf("bursar %s: %s", line, fmt.Sprint(code, out, errs))
		}
	}
}
