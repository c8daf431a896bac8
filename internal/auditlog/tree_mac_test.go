package auditlog_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/tlog"

	"bursar/internal/audit"
	"bursar/internal/auditlog"
	"bursar/internal/auditlog/tree"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
)

// withoutKey are changes of the tree that someone makes who has the database and not the key.
func withoutKey() map[string]func(f *forger, newest string) {
	return map[string]func(f *forger, newest string){
		"a leaf and a head that stand for no row": func(f *forger, _ string) {
			var hashes []byte
			err := f.tx.Each(func(r db.Rows) error {
				hashes = slices.Clone(r.Raw(0))
				return nil
			}, `SELECT hashes FROM audit_tile WHERE level = 0 AND number = 0`)
			if err != nil {
				f.t.Fatal(err)
			}
			forged := tlog.RecordHash([]byte("anything"))
			hashes = append(hashes, forged[:]...)
			var tree tree.Compact
			for i := 0; i < len(hashes); i += tlog.HashSize {
				tree.Add(tlog.Hash(hashes[i : i+tlog.HashSize]))
			}
			root := tree.Root()
			f.exec(`UPDATE audit_tile SET hashes = $1 WHERE level = 0 AND number = 0`, hashes)
			f.exec(`INSERT INTO audit_head (number, size, rows, root, at) SELECT heads + 1, size + 1, rows + 1, $1, 0 FROM audit_tree`, root[:])
			f.exec(`UPDATE audit_tree SET heads = heads + 1, size = size + 1`)
		},
		"a restart": func(f *forger, newest string) {
			f.exec(`UPDATE audit_log SET personal = '["Eve","","",""]'`)
			f.exec(`DELETE FROM audit_tile`)
			f.exec(`DELETE FROM audit_head`)
			f.exec(`UPDATE audit_tree SET origin = origin || '/2', generation = 2, restart = $1, row_offset = 1, size = 0, rows = 0, heads = 0`, newest)
		},
		"a restart of a tree that says that it is old": func(f *forger, newest string) {
			f.exec(`DELETE FROM audit_tile`)
			f.exec(`DELETE FROM audit_head`)
			f.exec(`UPDATE audit_tree SET origin = origin || '/2', generation = 2, restart = $1, row_offset = 1, size = 0, rows = 0, heads = 0, mac = ''`, newest)
		},
	}
}

func TestNothingIsSignedThatWasMadeWithoutTheKey(t *testing.T) {
	t.Parallel()
	for name, forge := range withoutKey() {
		dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
			file := filepath.Join(t.TempDir(), "audit.key")
			n := servertest.Start(t, store, servertest.AuditKey(file))
			x := n.Tenant(t)
			write(t, n, x, 0)
			n.SequenceAudit(t)
			signed, text := checkpoint(t, n)
			_, err := db.Write(t.Context(), n.DB, db.Caller{}, func(tx *db.Tx) (struct{}, audit.Event, error) {
				f := &forger{t: t, tx: tx, sqlite: store.Engine == "sqlite"}
				f.disarm()
				forge(f, text)
				return struct{}{}, audit.None("a test"), nil
			})
			if err != nil {
				t.Fatal(err)
			}
			write(t, n, x, 1)
			after := servertest.Start(t, store, servertest.AuditKey(file)) // as a restart of the server
			for _, node := range []*servertest.Node{n, after} {
				node.Clock.Advance(1e10) // the lease of the other has ended
				sequencer := auditlog.NewSequencer(node.DB, node.Server.AuditSigner())
				if err := sequencer.Turn(t.Context()); err != nil && !strings.Contains(err.Error(), "does not have its key") {
					t.Errorf("%s: the tree goes on with %v", name, err)
				}
				if newest, err := node.Server.AuditSigner().Newest(t.Context()); err == nil && newest.Checkpoint != signed {
					t.Errorf("%s: %v was signed after %v", name, newest.Checkpoint, signed)
				}
			}
		})
	}
}
