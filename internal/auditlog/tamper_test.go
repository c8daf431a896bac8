package auditlog_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"bursar/internal/audit"
	"bursar/internal/auditlog"
	"bursar/internal/auditlog/tree"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
	"bursar/internal/torture"
)

// forger changes a store as someone can who has the database and drops its triggers.
type forger struct {
	t      *testing.T
	tx     *db.Tx
	random *rand.Rand
	sqlite bool
	tenant [2]int64 // streams
}

func (f *forger) exec(sql string, args ...any) {
	f.t.Helper()
	if err := f.tx.Exec(sql, args...); err != nil {
		f.t.Fatalf("%s: %v", sql, err)
	}
}

func (f *forger) number(sql string, args ...any) (n int64) {
	f.t.Helper()
	if _, err := f.tx.Row(sql, args...).Scan(&n); err != nil {
		f.t.Fatalf("%s: %v", sql, err)
	}
	return n
}

func (f *forger) disarm() {
	if f.sqlite {
		for _, name := range []string{"audit_log_keep_update", "audit_log_keep_delete", "audit_place_keep_update", "audit_place_keep_delete"} {
			f.exec(`DROP TRIGGER ` + name)
		}
		return
	}
	f.exec(`ALTER TABLE audit_log DISABLE TRIGGER USER`)
	f.exec(`ALTER TABLE audit_place DISABLE TRIGGER USER`)
}

// place is a row with its place.
type place struct {
	stream, seq, position int64
	id                    [16]byte
}

// pick chooses a row of a tenant.
func (f *forger) pick(tenant int) (p place) {
	f.t.Helper()
	stream := f.tenant[tenant]
	seq := 1 + f.random.Int64N(f.number(`SELECT size FROM audit_stream WHERE number = $1`, stream))
	err := f.tx.Each(func(r db.Rows) error {
		p = place{stream: stream, seq: seq, position: r.Int(0)}
		copy(p.id[:], r.Raw(1))
		return nil
	}, `SELECT position, audit_id FROM audit_place WHERE stream = $1 AND seq = $2`, stream, seq)
	if err != nil {
		f.t.Fatal(err)
	}
	return p
}

// exchange lets two places have each other's row.
func (f *forger) exchange(a, b place) {
	put := func(id [16]byte, at place) {
		f.exec(`UPDATE audit_place SET audit_id = $1 WHERE stream = $2 AND seq = $3`, id, at.stream, at.seq)
	}
	put([16]byte{1}, a)
	put(a.id, b)
	put(b.id, a)
}

func (p place) found(kind tree.Kind) string { return fmt.Sprintf("%s %d", kind, p.seq) }

// forgeries are ways to change a store, and what has to be found then.
func forgeries() map[string]func(f *forger) []string {
	return map[string]func(f *forger) []string{
		"nothing": func(*forger) []string { return nil },
		"edit": func(f *forger) []string {
			p := f.pick(0)
			f.exec(`UPDATE audit_log SET personal = '["Eve","","",""]' WHERE id = $1`, p.id)
			return []string{p.found(tree.Edited)}
		},
		"edit what is kept for ever": func(f *forger) []string {
			p := f.pick(0)
			f.exec(`UPDATE audit_log SET entry = replace(entry, ',17', ',18') WHERE id = $1`, p.id)
			return []string{p.found(tree.Edited)}
		},
		"one column only": func(f *forger) []string {
			p := f.pick(0)
			column := []string{"actor_id_key", "action_key", "resource_type_key", "resource_id_key"}[f.random.IntN(4)]
			f.exec(`UPDATE audit_log SET `+column+` = `+column+` / 2 + 1 WHERE id = $1`, p.id)
			return []string{p.found(tree.Edited)}
		},
		"the outcome's column": func(f *forger) []string {
			p := f.pick(0)
			f.exec(`UPDATE audit_log SET outcome_key = coalesce(outcome_key / 2, 0) + 1 WHERE id = $1`, p.id)
			return []string{p.found(tree.Edited)}
		},
		"delete": func(f *forger) []string {
			p := f.pick(0)
			f.exec(`DELETE FROM audit_log WHERE id = $1`, p.id)
			return []string{p.found(tree.Removed)}
		},
		"delete with its place": func(f *forger) []string {
			p := f.pick(0)
			for p.position == f.number(`SELECT size FROM audit_sequence`) {
				p = f.pick(0)
			}
			f.exec(`DELETE FROM audit_log WHERE id = $1`, p.id)
			f.exec(`DELETE FROM audit_place WHERE position = $1`, p.position)
			return []string{"removed", "cut off"} // the place, and the stream is shorter
		},
		"insert": func(f *forger) []string {
			p := f.pick(0)
			order := "xact"
			if f.sqlite {
				order = "rowid"
			}
			f.exec(`INSERT INTO audit_log (`+order+`, id, workspace_number, organization_id, actor_id_key, action_key, resource_type_key, resource_id_key, outcome_key, entry, personal, salt)
				SELECT -5, $1, workspace_number, organization_id, actor_id_key, action_key, resource_type_key, resource_id_key, outcome_key, entry, personal, salt
				FROM audit_log WHERE id = $2`, [16]byte{7}, p.id)
			return []string{"inserted"}
		},
		"reorder": func(f *forger) []string {
			a, b := f.pick(0), f.pick(0)
			for a == b {
				b = f.pick(0)
			}
			f.exchange(a, b)
			return []string{a.found(tree.Moved), b.found(tree.Moved)}
		},
		"cut the tail": func(f *forger) []string {
			last := f.number(`SELECT size FROM audit_sequence`)
			from := last - f.random.Int64N(10)
			f.exec(`DELETE FROM audit_log WHERE id IN (SELECT audit_id FROM audit_place WHERE position >= $1)`, from)
			f.exec(`UPDATE audit_stream SET size = size - (SELECT count(*) FROM audit_place p WHERE p.position >= $1 AND p.stream = audit_stream.number)`, from)
			f.exec(`DELETE FROM audit_place WHERE position >= $1`, from)
			return []string{"cut off"}
		},
		"swap tenants": func(f *forger) []string {
			a, b := f.pick(0), f.pick(1)
			f.exchange(a, b)
			return []string{a.found(tree.Swapped), b.found(tree.Swapped)}
		},
		"give a row to another tenant": func(f *forger) []string {
			p := f.pick(0)
			f.exec(`UPDATE audit_log SET workspace_number = (SELECT workspace_number FROM audit_stream WHERE number = $1) WHERE id = $2`, f.tenant[1], p.id)
			return []string{p.found(tree.Swapped)}
		},
		"edit a tile": func(f *forger) []string {
			number := f.random.Int64N(f.number(`SELECT count(*) FROM audit_tile WHERE level = 0`))
			var hashes []byte
			err := f.tx.Each(func(r db.Rows) error {
				hashes = slices.Clone(r.Raw(0))
				return nil
			}, `SELECT hashes FROM audit_tile WHERE level = 0 AND number = $1`, number)
			if err != nil {
				f.t.Fatal(err)
			}
			hashes[f.random.IntN(len(hashes))] ^= 1
			f.exec(`UPDATE audit_tile SET hashes = $1 WHERE level = 0 AND number = $2`, hashes, number)
			return []string{"edited"}
		},
		"edit a head": func(f *forger) []string {
			f.exec(`UPDATE audit_head SET root = $1 WHERE number = $2`, make([]byte, 32), 1+f.random.Int64N(f.number(`SELECT heads FROM audit_tree`)))
			return []string{"edited"}
		},
		"edit what a head says of its rows": func(f *forger) []string {
			f.exec(`UPDATE audit_head SET rows = rows + 1000 WHERE number = $1`, f.number(`SELECT heads FROM audit_tree`))
			return []string{"edited"}
		},
		"insert, and hide it": func(f *forger) []string {
			p, order := f.pick(0), "xact"
			if f.sqlite {
				order = "rowid"
			}
			f.exec(`INSERT INTO audit_log (`+order+`, id, workspace_number, organization_id, actor_id_key, action_key, resource_type_key, resource_id_key, outcome_key, entry, personal, salt)
				SELECT -5, $1, workspace_number, organization_id, actor_id_key, action_key, resource_type_key, resource_id_key, outcome_key, entry, personal, salt
				FROM audit_log WHERE id = $2`, [16]byte{7}, p.id)
			f.exec(`UPDATE audit_sequence SET sorts_as = -100, audit_id = $1`, [16]byte{8})
			return []string{"inserted"}
		},
		"an old checkpoint shown as new": func(f *forger) []string {
			heads := f.number(`SELECT heads FROM audit_tree`)
			f.exec(`DELETE FROM audit_head WHERE number = $1`, heads)
			f.exec(`UPDATE audit_tree SET heads = heads - 1, size = (SELECT size FROM audit_head WHERE number = $1), rows = (SELECT rows FROM audit_head WHERE number = $1)`, heads-1)
			return []string{"cut off"}
		},
	}
}

// findings returns what a report has found, as forgeries say it.
func findings(report auditlog.StoreReport) []string {
	found := []string{}
	for _, f := range report.Failures {
		text := string(f.Kind)
		if f.Seq > 0 {
			text += fmt.Sprintf(" %d", f.Seq)
		}
		found = append(found, text)
	}
	slices.Sort(found)
	return found
}

var errUndo = errors.New("the forgery is undone")

// randomStore returns a server whose store has the logs of two tenants, and its newest checkpoint.
func randomStore(t *testing.T, store dbtest.Store, random *rand.Rand) (n *servertest.Node, key, kept string, tenant [2]int64) {
	t.Helper()
	key = filepath.Join(t.TempDir(), "audit.key")
	n = servertest.Start(t, store, servertest.AuditKey(key))
	tenants := []*servertest.Tenant{n.Tenant(t), n.Tenant(t)}
	for range 2 + random.IntN(3) {
		for i := range 5 + random.IntN(60) {
			write(t, n, tenants[random.IntN(2)], i)
		}
		write(t, n, tenants[0], 0)
		write(t, n, tenants[1], 0)
		n.SequenceAudit(t)
	}
	for i, x := range tenants {
		err := n.DB.Read(t.Context(), func(q db.Q) error {
			_, err := q.Row(`SELECT s.number FROM audit_stream s JOIN workspace w ON w.number = s.workspace_number WHERE w.id = $1`, x.WorkspaceID).Scan(&tenant[i])
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	_, kept = checkpoint(t, n)
	return n, key, kept, tenant
}

func write(t *testing.T, n *servertest.Node, x *servertest.Tenant, i int) {
	t.Helper()
	if err := db.Record(t.Context(), n.DB, db.Caller{}, rowOf(x, i), nil); err != nil {
		t.Fatal(err)
	}
}

func TestEveryForgeryOfAStoreIsFound(t *testing.T) {
	t.Parallel()
	for range torture.Rounds(1, 1000) {
		dbtest.Each(t, forgeEverything)
	}
}

func forgeEverything(t *testing.T, store dbtest.Store) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	n, _, kept, tenant := randomStore(t, store, random)
	key := n.Server.AuditSigner().Key()
	for name, forge := range forgeries() {
		var report auditlog.StoreReport
		var want []string
		_, err := db.Write(t.Context(), n.DB, db.Caller{}, func(tx *db.Tx) (struct{}, audit.Event, error) {
			f := &forger{t: t, tx: tx, random: random, sqlite: store.Engine == "sqlite", tenant: tenant}
			f.disarm()
			want = forge(f)
			var err error
			report, err = auditlog.VerifyRead(tx.Q, n.DB, key, []byte(kept))
			return struct{}{}, audit.None("a test"), errors.Join(err, errUndo)
		})
		if !errors.Is(err, errUndo) || strings.Contains(err.Error(), "\n") {
			t.Fatalf("%s: %v", name, err)
		}
		found := findings(report)
		slices.Sort(want)
		if kinds := slices.Compact(slices.Clone(found)); !slices.Equal(kinds, slices.Compact(want)) {
			t.Errorf("%s: found %q, want %q: %v", name, found, want, report.Failures)
		}
	}
	// Nothing of all that is left.
	report, err := auditlog.VerifyStore(t.Context(), n.DB, key, []byte(kept))
	if err != nil || len(report.Failures) > 0 || report.Rows == 0 || report.Heads < 2 || report.Streams < 3 {
		t.Errorf("%+v %v", report, err)
	}
}

// Anyone who has the key can sign another log. They cannot make it go on from a checkpoint that
// someone has kept.
func TestAForkSignedWithTheRightKeyIsFound(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		random := rand.New(rand.NewPCG(rand.Uint64(), 0))
		n, key, kept, tenant := randomStore(t, store, random)
		_, err := db.Write(t.Context(), n.DB, db.Caller{}, func(tx *db.Tx) (struct{}, audit.Event, error) {
			f := &forger{t: t, tx: tx, random: random, sqlite: store.Engine == "sqlite", tenant: tenant}
			f.disarm()
			f.exec(`UPDATE audit_log SET personal = '["Eve","","",""]' WHERE id = $1`, f.pick(0).id)
			f.exec(`DELETE FROM audit_tile`)
			f.exec(`DELETE FROM audit_head`)
			f.exec(`UPDATE audit_tree SET size = 0, rows = 0, heads = 0, mac = ''`) // a server without a checkpoint takes it for new
			return struct{}{}, audit.None("a test"), nil
		})
		if err != nil {
			t.Fatal(err)
		}
		x := n.Tenant(t)
		for i := range 20 { // more leaves than before
			write(t, n, x, i)
		}
		other := servertest.Start(t, store, servertest.AuditKey(key), servertest.AuditCheckpoint(filepath.Join(t.TempDir(), "forged.checkpoint")))
		other.Clock.Advance(time.Minute) // after the lease of the first node, whose clock is ahead
		other.SequenceAudit(t)
		_, forged := checkpoint(t, other)
		for name, c := range map[string]struct {
			kept string
			want []string
		}{"alone": {"", []string{}}, "with its own checkpoint": {forged, []string{}}, "with the one that was kept": {kept, []string{"forked"}}} {
			report, err := auditlog.VerifyStore(t.Context(), other.DB, other.Server.AuditSigner().Key(), []byte(c.kept))
			if found := findings(report); err != nil || !slices.Equal(found, c.want) {
				t.Errorf("the fork %s: found %q, want %q: %v %v", name, found, c.want, report.Failures, err)
			}
		}
	})
}

func TestManyForgedRowsAreCutShort(t *testing.T) {
	t.Parallel()
	n := servertest.Start(t, dbtest.SQLite(t), servertest.AuditKey(filepath.Join(t.TempDir(), "audit.key")))
	x := n.Tenant(t)
	for range 3 {
		events := make([]audit.Event, 500)
		for i := range events {
			events[i] = rowOf(x, i)
		}
		if err := db.Record(t.Context(), n.DB, db.Caller{}, audit.All(events...), nil); err != nil {
			t.Fatal(err)
		}
	}
	n.SequenceAudit(t)
	var report auditlog.StoreReport
	_, err := db.Write(t.Context(), n.DB, db.Caller{}, func(tx *db.Tx) (struct{}, audit.Event, error) {
		f := &forger{t: t, tx: tx, sqlite: true}
		f.disarm()
		f.exec(`UPDATE audit_log SET personal = '["Eve","","",""]'`)
		var err error
		report, err = auditlog.VerifyRead(tx.Q, n.DB, n.Server.AuditSigner().Key(), nil)
		return struct{}{}, audit.None("a test"), errors.Join(err, errUndo)
	})
	edited := strings.Count(strings.Join(findings(report), "\n"), string(tree.Edited))
	if !errors.Is(err, errUndo) || !report.Stopped || edited != 1000 || len(report.Failures) != edited || report.Rows < 1500 {
		t.Errorf("%d rows, %d failures, of them %d edited, stopped %t: %v", report.Rows, len(report.Failures), edited, report.Stopped, err)
	}
}

// A row that was changed in the store is named by anyone who verifies an export of it.
func TestAnExportShowsWhatWasDoneToTheStore(t *testing.T) {
	signed(t, func(t *testing.T, n *servertest.Node) {
		x := n.EventfulTenant(t)
		path := "/v1/audit/proof?workspace_id=" + x.WorkspaceID
		untouched(t, verifyFile(t, n, proven(x.Owner, path), ""))
		var f *forger
		var p place
		_, err := db.Write(t.Context(), n.DB, db.Caller{}, func(tx *db.Tx) (struct{}, audit.Event, error) {
			f = &forger{t: t, tx: tx, random: rand.New(rand.NewPCG(1, 2)), sqlite: strings.Contains(t.Name(), "sqlite")}
			f.tenant[0] = f.number(`SELECT s.number FROM audit_stream s JOIN workspace w ON w.number = s.workspace_number WHERE w.id = $1`, x.WorkspaceID)
			f.disarm()
			p = f.pick(0)
			f.exec(`UPDATE audit_log SET personal = '["Eve","","",""]' WHERE id = $1`, p.id)
			return struct{}{}, audit.None("a test"), nil
		})
		if err != nil {
			t.Fatal(err)
		}
		report := verifyFile(t, n, proven(x.Owner, path), "")
		if len(report.Failures) != 1 || report.Failures[0].Kind != tree.Edited || report.Failures[0].Seq != p.seq {
			t.Errorf("row %d was edited: %v", p.seq, report.Failures)
		}
	})
}

// Anyone who has the database and not the key could make a log shorter, so that its last places are
// given once more, to other rows. The tree would go on from every checkpoint that someone has kept.
func TestPlacesThatWereSignedAreNotGivenAgain(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		for name, forgeWhileItRuns := range map[string]bool{"while it runs": true, "before it starts": false} {
			random := rand.New(rand.NewPCG(rand.Uint64(), 0))
			n, _, _, tenant := randomStore(t, another(t, store), random)
			other := n.Tenant(t)
			node := auditlog.NewSequencer(n.DB, n.Server.AuditSigner())
			n.Clock.Advance(time.Minute) // after the lease of the node before
			if forgeWhileItRuns {
				write(t, n, other, 0)
				if err := node.Turn(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			_, err := db.Write(t.Context(), n.DB, db.Caller{}, func(tx *db.Tx) (struct{}, audit.Event, error) {
				f := &forger{t: t, tx: tx, random: random, sqlite: store.Engine == "sqlite", tenant: tenant}
				f.disarm()
				size := f.number(`SELECT size FROM audit_stream WHERE number = $1`, tenant[0])
				f.exec(`DELETE FROM audit_place WHERE stream = $1 AND seq = $2`, tenant[0], size)
				f.exec(`UPDATE audit_stream SET size = $1 WHERE number = $2`, size-1, tenant[0])
				f.exec(`INSERT INTO audit_log (id, workspace_number, actor_id_key, action_key, resource_type_key, resource_id_key, entry, personal, salt)
					SELECT $1, workspace_number, actor_id_key, action_key, resource_type_key, resource_id_key, entry, personal, salt
					FROM audit_log WHERE id = $2`, [16]byte{7}, f.pick(0).id)
				return struct{}{}, audit.None("a test"), nil
			})
			if err != nil {
				t.Fatal(err)
			}
			placed := func() bool {
				return n.Count(t, `SELECT count(*) FROM audit_place WHERE audit_id = $1`, [16]byte{7}) == 1
			}
			for err == nil && !placed() { // on PostgreSQL it waits for transactions of other tests
				err = node.Turn(t.Context())
			}
			if err == nil || !strings.Contains(err.Error(), "changed in the store") {
				t.Errorf("%s: the tree goes on: %v", name, err)
			}
		}
	})
}
