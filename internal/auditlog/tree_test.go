package auditlog_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/transparency-dev/merkle/rfc6962"

	"bursar/internal/auditlog/tree"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
)

// signing starts a server that signs its audit log.
func signing(t *testing.T, store dbtest.Store) *servertest.Node {
	t.Helper()
	return servertest.Start(t, store, servertest.AuditKey(filepath.Join(t.TempDir(), "audit.key")))
}

// checkpoint is the newest checkpoint as the server shows it to everyone.
func checkpoint(t *testing.T, n *servertest.Node) (tree.Checkpoint, string) {
	t.Helper()
	text := n.Outside(t, "/audit-log/checkpoint").OK().Body
	point, err := tree.ReadCheckpoint(text, n.Server.AuditSigner().Key().Verifier())
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return point, string(text)
}

// leaves computes the leaves of a log from its rows and heads, by SQL and the design alone.
func leaves(t *testing.T, n *servertest.Node, restart string) [][]byte {
	t.Helper()
	key := n.Server.AuditSigner().Key()
	var all [][]byte
	if restart != "" {
		all = append(all, tree.RestartLeaf([]byte(restart)))
	}
	err := n.DB.Read(t.Context(), func(q db.Q) error {
		heads := map[int64]bool{}
		if err := q.Each(func(r db.Rows) error { heads[r.Int(0)] = true; return nil }, `SELECT rows FROM audit_head`); err != nil {
			return err
		}
		type stream struct {
			tag   [32]byte
			count int64
		}
		streams := []stream{{tag: key.Tag("operator")}}
		return q.Each(func(r db.Rows) error {
			name := "operator"
			if !r.Null(3) {
				name = "workspace " + r.Text(3)
			} else if !r.Null(4) {
				name = "organization " + r.Text(4)
			}
			number := r.Int(1)
			if number == int64(len(streams)) {
				streams = append(streams, stream{tag: key.Tag(name)})
			}
			streams[number].count++
			if r.Int(2) != streams[number].count {
				t.Errorf("row %d has place %d of %s, not %d", r.Int(0), r.Int(2), name, streams[number].count)
			}
			commitment := tree.Commitment(db.UnpackID("aud", r, 5), r.Raw(6), tree.PersonalDigest(r.Raw(8), r.Raw(7)))
			all = append(all, tree.RowLeaf(number, key.Tag(name), r.Int(2), commitment))
			if heads[r.Int(0)] {
				counts := tree.NewCounts()
				for i, s := range streams {
					counts.Set(int64(i), s.tag, s.count)
				}
				all = append(all, tree.CountsLeaf(counts.Len(), counts.Root()))
			}
			return nil
		}, `SELECT p.position, p.stream, p.seq, w.id, a.organization_id, a.id, a.entry, a.personal, a.salt FROM audit_place p JOIN audit_log a ON a.id = p.audit_id
			LEFT JOIN workspace w ON w.number = a.workspace_number ORDER BY p.position`)
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// fits checks that the newest checkpoint has exactly the leaves that the rows give, and returns it.
func fits(t *testing.T, n *servertest.Node, restart string) tree.Checkpoint {
	t.Helper()
	point, _ := checkpoint(t, n)
	hashes := n.TreeHashes(t, point.Size)
	want := leaves(t, n, restart)
	for i, leaf := range want {
		if i >= len(hashes) || string(rfc6962.DefaultHasher.HashLeaf(leaf)) != string(hashes[i]) {
			t.Fatalf("leaf %d is not %q", i, leaf)
		}
	}
	if len(want) != len(hashes) || servertest.RootOf(t, hashes) != point.Root.String() {
		t.Fatalf("the tree has %d leaves and the root %s, the checkpoint has %d and %s, and there should be %d", len(hashes), servertest.RootOf(t, hashes), point.Size, point.Root, len(want))
	}
	return point
}

func TestACheckpointCommitsToEveryRow(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := signing(t, store)
		x := n.EventfulTenant(t)
		n.SequenceAudit(t)
		first := fits(t, n, "")
		for i := range 300 { // more than a tile has
			x.Owner.Do("POST", "/v1/directory/tags", body{"workspace_id": x.WorkspaceID, "name": fmt.Sprint("Tag ", i)}).OK()
		}
		n.EventfulTenant(t)
		n.SequenceAudit(t)
		second := fits(t, n, "")
		if second.Size < first.Size+301 || servertest.RootOf(t, n.TreeHashes(t, second.Size)[:first.Size]) != first.Root.String() {
			t.Errorf("the checkpoint of %d leaves does not continue the one of %d", second.Size, first.Size)
		}
	})
}
