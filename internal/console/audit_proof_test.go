package console_test

import (
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bursar/internal/audit"
	"bursar/internal/auditlog/tree"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
)

func TestARowIsVerifiedOnItsPage(t *testing.T) {
	t.Parallel()
	n := startOn(t, dbtest.SQLite(t), servertest.AuditKey(filepath.Join(t.TempDir(), "audit.key")))
	n.Admin(t).Entry(servertest.Body{"name": "Ada Lovelace"})
	page := open(t, n, adminEmail, "/audit")
	page.WaitText("Nothing of the audit log is signed yet.")
	page.Accessible("audit-unsigned")
	n.SequenceAudit(t)
	page.Reload()
	page.WaitText("Keep this where nobody here can change it.")
	text := page.Text("section[aria-labelledby=proof] pre")
	newest, err := n.Server.AuditSigner().Newest(t.Context())
	if err != nil || !slices.Equal(strings.Fields(text), strings.Fields(string(newest.Text))) {
		t.Errorf("the checkpoint is %q, want %q: %v", text, newest.Text, err)
	}
	var copied string
	page.Eval(`document.querySelector("[data-copy-text^='bursar-audit']").dataset.copyText`, &copied)
	if _, err := tree.ReadCheckpoint([]byte(copied), n.Server.AuditSigner().Key().Verifier()); err != nil {
		t.Errorf("what is copied is no checkpoint: %v", err)
	}
	page.Accessible("audit-proof")
	page.Shoot("audit-proof")
	page.ClickText("Copy the checkpoint")
	page.WaitText("Copied")

	row := logged(t, n)[0]
	page.Goto(n.PublicURL + room(n, "/audit/"+row.ID))
	page.ClickText("Verify")
	page.WaitText("Verified.")
	page.Accessible("audit-verified")
	page.Shoot("audit-verified")

	_, err = db.Write(t.Context(), n.DB, db.Caller{}, func(tx *db.Tx) (struct{}, audit.Event, error) {
		for _, sql := range []string{`DROP TRIGGER audit_log_keep_update`, `UPDATE audit_log SET personal = replace(personal, 'Ada', 'Eve')`} {
			if err := tx.Exec(sql); err != nil {
				return struct{}{}, audit.Event{}, err
			}
		}
		return struct{}{}, audit.None("a test"), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	page.Reload()
	page.WaitText("Failed: edited.")
	page.WaitText("Its content is not what was signed.")
	page.Accessible("audit-edited")
	page.Shoot("audit-edited")

	n.Admin(t).Entry(servertest.Body{"name": "Grace Hopper"})
	page.Goto(n.PublicURL + room(n, "/audit/"+logged(t, n)[0].ID+"?verify=1"))
	page.WaitText("Not yet sequenced.")
	page.Accessible("audit-late")
}

func TestARowOfTheOrganizationIsVerifiedByItsOwner(t *testing.T) {
	t.Parallel()
	n := startOn(t, dbtest.SQLite(t), servertest.AuditKey(filepath.Join(t.TempDir(), "audit.key")))
	n.Member(t, "auditor@example.com", "auditor")
	page := open(t, n, adminEmail, "/audit?scope=organization")
	n.SequenceAudit(t)
	page.Reload()
	var path string
	page.Eval(`document.querySelector("tr.detail a.chip").getAttribute("href")`, &path)
	page.Goto(n.PublicURL + path)
	page.ClickText("Verify")
	page.WaitText("Verified.")
	page.WaitURL("scope=organization")
	page.Accessible("audit-verified-organization")
	page.Click(".crumbs a")
	page.WaitURL("/audit?scope=organization")
	if got := browse(t, n, "auditor@example.com").get(path + "&verify=1"); got.status != http.StatusForbidden {
		t.Errorf("an auditor of the workspace gets %d", got.status)
	}
}
