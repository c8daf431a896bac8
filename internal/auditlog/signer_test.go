package auditlog_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bursar/internal/audit"
	"bursar/internal/auditlog"
	"bursar/internal/auditlog/tree"
	"bursar/internal/config"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/mail/smtptest"
	"bursar/internal/server/servertest"
	"bursar/internal/wait"
)

// change changes the store behind the back of the program.
func change(t *testing.T, n *servertest.Node, sql string, args ...any) {
	t.Helper()
	_, err := db.Write(t.Context(), n.DB, db.Caller{}, func(tx *db.Tx) (struct{}, audit.Event, error) {
		return struct{}{}, audit.None("a step of a test"), tx.Exec(sql, args...)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// publish keeps the newest checkpoint outside of the store, as the background work does.
func publish(t *testing.T, n *servertest.Node) error {
	t.Helper()
	return n.Server.AuditSigner().Publish(t.Context())
}

// another returns another empty store on the same engine.
func another(t *testing.T, store dbtest.Store) dbtest.Store {
	t.Helper()
	if store.Engine == "sqlite" {
		return dbtest.SQLite(t)
	}
	return dbtest.Postgres(t)
}

// A backup that is older than the last checkpoint has the same key and less of the log. A new
// store with the key and the checkpoint of another one looks just so.
func TestAStoreThatIsBehindIsNotSignedUntilItIsRestarted(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		file := filepath.Join(t.TempDir(), "audit.key")
		full := servertest.Start(t, store, servertest.AuditKey(file))
		full.EventfulTenant(t)
		full.SequenceAudit(t)
		if err := publish(t, full); err != nil {
			t.Fatal(err)
		}
		kept, text := checkpoint(t, full)

		n := servertest.Start(t, another(t, store), servertest.AuditKey(file))
		n.SequenceAudit(t)
		n.Outside(t, "/audit-log/checkpoint").Fails(503, "UNAVAILABLE")
		if err := publish(t, n); err == nil || !strings.Contains(err.Error(), "the store has lost a part of the audit log") {
			t.Errorf("publishing says %v", err)
		}
		if !strings.Contains(n.Log.String(), "bursar audit restart") {
			t.Errorf("the log of the server says %s", n.Log)
		}
		if still, err := os.ReadFile(auditlog.CheckpointFile(file)); err != nil || string(still) != text {
			t.Fatalf("the checkpoint outside of the store is %s now (%v)", still, err)
		}

		old, err := auditlog.Restart(t.Context(), n.DB, db.Caller{Actor: audit.SystemActor("test")}, file, auditlog.CheckpointFile(file))
		if err != nil || old != kept {
			t.Fatalf("restart after %v: %v", old, err)
		}
		if err := publish(t, n); err != nil { // the server that runs notices
			t.Fatal(err)
		}
		n.SequenceAudit(t)
		point := fits(t, n, text)
		if point.Origin != kept.Origin+"/2" {
			t.Errorf("the new log is %s", point.Origin)
		}
		if n.Count(t, `SELECT count(*) FROM audit_entry WHERE action = 'audit.restarted' AND workspace_id IS NULL`) != 1 {
			t.Error("the restart is not in the log")
		}
		if err := publish(t, n); err != nil {
			t.Fatal(err)
		}
		if _, err := auditlog.Restart(t.Context(), n.DB, db.Caller{}, file, auditlog.CheckpointFile(file)); err == nil || !strings.Contains(err.Error(), "nothing to restart") {
			t.Errorf("a restart without need says %v", err)
		}
		// The first store has not seen the restart, so it is the one that is behind now.
		if again := servertest.Start(t, store, servertest.AuditKey(file)); again.Server.AuditSigner().Broken() == nil {
			t.Error("the log of before the restart is signed")
		}
	})
}

func TestAnotherLogOfTheSameKeyIsNotSigned(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		file := filepath.Join(t.TempDir(), "audit.key")
		first := servertest.Start(t, store, servertest.AuditKey(file))
		first.SequenceAudit(t)
		if err := publish(t, first); err != nil {
			t.Fatal(err)
		}
		// The second one learns of the checkpoint of the first when its own log is longer.
		elsewhere := filepath.Join(t.TempDir(), "audit.checkpoint")
		apart := func(c *config.Serve) { c.Audit.Checkpoint = elsewhere }
		forked := another(t, store)
		second := servertest.Start(t, forked, servertest.AuditKey(file), apart)
		second.EventfulTenant(t)
		second.SequenceAudit(t)
		fits(t, second, "")
		third := servertest.Start(t, forked, servertest.AuditKey(file))
		third.Outside(t, "/audit-log/checkpoint").Fails(503, "UNAVAILABLE")
		if err := publish(t, third); err == nil || !strings.Contains(err.Error(), "another audit log than the one that was signed") {
			t.Errorf("publishing says %v", err)
		}
	})
}

// What was changed in the store is not signed, by a server that runs as by one that starts.
func TestAChangedTreeIsNotSigned(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		for name, sql := range map[string]string{
			"a tile": `UPDATE audit_tile SET hashes = (SELECT root FROM audit_head WHERE number = 1) WHERE level = 0`,
			"a head": `UPDATE audit_head SET root = (SELECT root FROM audit_head WHERE number = 1) WHERE number = (SELECT max(number) FROM audit_head)`,
		} {
			t.Run(name, func(t *testing.T) {
				fresh := another(t, store)
				file := filepath.Join(t.TempDir(), "audit.key")
				n := servertest.Start(t, fresh, servertest.AuditKey(file))
				n.SequenceAudit(t)
				x := n.Tenant(t)
				n.SequenceAudit(t)
				if err := publish(t, n); err != nil {
					t.Fatal(err)
				}
				before, _ := checkpoint(t, n)
				change(t, n, sql)
				x.Owner.Do("POST", "/v1/directory/tags", body{"workspace_id": x.WorkspaceID, "name": "After"}).OK()
				for name, node := range map[string]*servertest.Node{"one that runs": n, "one that starts": servertest.Start(t, fresh, servertest.AuditKey(file))} {
					node.Clock.Advance(time.Minute) // longer than the lease of the other
					turned := auditlog.NewSequencer(node.DB, node.Server.AuditSigner()).Turn(t.Context())
					if after, err := node.Server.AuditSigner().Newest(t.Context()); err == nil && after.Checkpoint != before {
						t.Errorf("%s goes on (%v) and signs %v", name, turned, after.Checkpoint)
					}
				}
			})
		}
	})
}

func TestANodeWithoutTheKeyServesAndDoesNotSign(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		n.Tenant(t)
		n.SequenceAudit(t)
		n.Outside(t, "/audit-log/checkpoint").Fails(404, "RESOURCE_NOT_FOUND")
		if !strings.Contains(n.Log.String(), "not signed by this node") {
			t.Errorf("the log says %s", n.Log)
		}
	})
}

// A key that comes late finds a log with rows.
func TestTheTreeCatchesUpWhenAKeyComes(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		early := servertest.Start(t, store)
		x := early.EventfulTenant(t)
		for range 2 * db.AuditBatch {
			if err := db.Record(t.Context(), early.DB, db.Caller{Actor: audit.SystemActor("test")}, audit.Event{Action: audit.TagCreated, WorkspaceID: x.WorkspaceID}, nil); err != nil {
				t.Fatal(err)
			}
		}
		early.SequenceAudit(t)
		late := signing(t, store)
		late.Clock.Advance(time.Minute) // longer than the lease of the other
		late.SequenceAudit(t)
		fits(t, late, "")
	})
}

func TestTheKeyMustBeThatOfTheStoreAndForItsOwnerAlone(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		own, others := filepath.Join(t.TempDir(), "audit.key"), filepath.Join(t.TempDir(), "audit.key")
		d := store.Open(t)
		if _, err := auditlog.NewSigner(t.Context(), d, auditlog.SignerConfig{KeyFile: own}, slog.Default()); err == nil {
			t.Error("a key that is not there signs")
		}
		key, err := auditlog.InitKey(t.Context(), d, own)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := auditlog.InitKey(t.Context(), d, own); err != nil || again.Verifier() != key.Verifier() {
			t.Errorf("the second time, the key is %v (%v)", again, err)
		}
		if _, err := auditlog.InitKey(t.Context(), d, others); err == nil || !strings.Contains(err.Error(), key.Verifier()) {
			t.Errorf("a second key for the store: %v", err)
		}
		if _, err := auditlog.InitKey(t.Context(), another(t, store).Open(t), others); err != nil {
			t.Fatal(err)
		}
		if _, err := auditlog.NewSigner(t.Context(), d, auditlog.SignerConfig{KeyFile: others}, slog.Default()); err == nil || !strings.Contains(err.Error(), "is not the key of this store") {
			t.Errorf("the key of another store: %v", err)
		}
		if err := os.Chmod(own, 0o640); err != nil {
			t.Fatal(err)
		}
		if _, err := auditlog.NewSigner(t.Context(), d, auditlog.SignerConfig{KeyFile: own}, slog.Default()); err == nil || !strings.Contains(err.Error(), "chmod 600") {
			t.Errorf("a key that others can read: %v", err)
		}
	})
}

func TestTheCheckpointIsMailedOnceADay(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		box := smtptest.Start(t, smtptest.Options{})
		file := filepath.Join(t.TempDir(), "audit.key")
		mailing := func(c *config.Serve) {
			c.SMTPURL, c.MailFrom, c.Audit.Mail = box.URL, "Bursar <bursar@example.com>", "auditor@example.com"
		}
		nodes := []*servertest.Node{servertest.Start(t, store, servertest.AuditKey(file), mailing), servertest.Start(t, store, servertest.AuditKey(file), mailing)}
		for _, n := range nodes {
			n.RunBackground(t)
		}
		nodes[0].SequenceAudit(t)
		day := func(mails int) {
			for range 3 {
				for _, n := range nodes {
					if err := publish(t, n); err != nil {
						t.Fatal(err)
					}
				}
			}
			box.Wait(t, mails)
			// A delivery that is not noted yet when the clocks jump would look abandoned to the other node, which repeats it.
			wait.Until(t, "the delivery is noted", func() bool { return nodes[0].Count(t, `SELECT count(*) FROM outgoing_mail`) == 0 })
		}
		day(1)
		for _, n := range nodes {
			n.Clock.Advance(24 * time.Hour)
		}
		day(2)
		got := box.Received()
		if len(got) != 2 || got[1].To[0] != "auditor@example.com" {
			t.Fatalf("received %v", got)
		}
		text := strings.ReplaceAll(got[1].Text, "\r\n", "\n")
		_, text, _ = strings.Cut(text, "cut off.\n\n")
		text, _, _ = strings.Cut(text, "\n\nSave it")
		if _, err := tree.ReadCheckpoint([]byte(text), nodes[0].Server.AuditSigner().Key().Verifier()); err != nil {
			t.Errorf("%v: %s", err, got[1].Text)
		}
	})
}

func TestTilesAreAsOthersReadThem(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := signing(t, store)
		for range 300 {
			if err := db.Record(context.Background(), n.DB, db.Caller{Actor: audit.SystemActor("test")}, audit.Event{Action: audit.TagCreated}, nil); err != nil {
				t.Fatal(err)
			}
		}
		n.SequenceAudit(t)
		full, part := n.Outside(t, "/audit-log/tile/0/000").OK(), n.Outside(t, "/audit-log/tile/0/001.p/7").OK()
		if len(full.Body) != 256*32 || !strings.Contains(full.Header.Get("Cache-Control"), "immutable") {
			t.Errorf("a full tile has %d bytes and %v", len(full.Body), full.Header)
		}
		if len(part.Body) != 7*32 || strings.Contains(part.Header.Get("Cache-Control"), "immutable") {
			t.Errorf("a part has %d bytes and %v", len(part.Body), part.Header)
		}
		if above := n.Outside(t, "/audit-log/tile/1/000.p/1").OK().Body; len(above) != 32 {
			t.Errorf("the tile above has %d bytes", len(above))
		}
		if got := n.Outside(t, "/audit-log/checkpoint").OK().Header.Get("Content-Type"); got != "text/plain; charset=utf-8" {
			t.Errorf("the checkpoint is %s", got)
		}
		for _, path := range []string{"0/001", "0/001.p/256", "0/001.p/0", "0/001.p/200", "0/1", "0/x000/001", "0/002", "1/000", "9/000", "-1/000", "data/000", "entries/000", "0/x001/x234/067", "0/x001/x234/067.p/8", "0/a/b/c/d/e/f"} {
			n.Outside(t, "/audit-log/tile/"+path).Fails(404, "RESOURCE_NOT_FOUND")
		}
	})
}
