package db_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
)

func TestAMutationWithoutAnEventIsRolledBack(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		d := store.Open(t)
		err := change(t.Context(), d, audit.Event{}, func(tx *db.Tx) error { return tx.Exec(insertSetting, "silent", "v") })
		if err == nil {
			t.Error("a mutation without an event was accepted")
		}
		if has(t, d, "silent") || auditRows(t, d) != 0 {
			t.Error("a mutation without an event left something behind")
		}
	})
}

func TestAnExemptMutationLeavesNoAuditRow(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		d := store.Open(t)
		err := change(t.Context(), d, audit.None("a test"), func(tx *db.Tx) error { return tx.Exec(insertSetting, "quiet", "v") })
		if err != nil || !has(t, d, "quiet") {
			t.Errorf("the exempt mutation failed: %v", err)
		}
		if got := auditRows(t, d); got != 0 {
			t.Errorf("an exempt mutation left %d audit rows", got)
		}
	})
}

func TestAReadCannotWrite(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		d := store.Open(t)
		for name, prepare := range map[string]func(db.Q) error{
			"plain":    func(db.Q) error { return nil },
			"snapshot": db.Q.Snapshot,
		} {
			t.Run(name, func(t *testing.T) {
				err := d.Read(t.Context(), func(q db.Q) error {
					if err := prepare(q); err != nil {
						return err
					}
					_, err := q.Row(insertSetting+` RETURNING name`, name, "v").Scan(new(string))
					return err
				})
				if err == nil {
					t.Error("a read changed something without complaint")
				}
				if has(t, d, name) {
					t.Error("what a read wrote is there")
				}
			})
		}
	})
}

func TestReadsWorkAfterARefusedChange(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		d := store.Open(t)
		for range 20 { // more than there are connections
			_ = d.Read(t.Context(), func(q db.Q) error {
				_, err := q.Row(insertSetting+` RETURNING name`, nil, "v").Scan(new(string))
				return err
			})
		}
		mustPut(t, d, "after")
		if !has(t, d, "after") {
			t.Error("reads no longer see what is written")
		}
	})
}

func TestUniqueAndForeignKeyErrorsAreDifferent(t *testing.T) {
	const insertWorkspace = `INSERT INTO workspace (id, number, organization_id, name, slug, member_version, created_at) VALUES ($1, 1, $2, $3, $4, 0, 0)`
	cases := map[string]struct {
		sql                string
		args               []any
		unique, foreignKey bool
	}{
		"primary key taken": {insertSetting, []any{"taken", "v"}, true, false},
		"composite key taken": {`INSERT INTO directory_word (workspace_number, word, entry_id) VALUES ($1, $2, $3), ($1, $2, $3)`,
			[]any{1, "x", [16]byte{}}, true, false},
		"unique index taken": {`INSERT INTO organization (id, name, slug, created_at) VALUES ($1, $3, $3, 0), ($2, $3, $3, 0)`,
			[]any{"org_1", "org_2", "same"}, true, false},
		"no such parent": {insertWorkspace, []any{"ws_1", "org_none", "n", "s"}, false, true},
		"null":           {insertSetting, []any{"null", nil}, false, false},
	}
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		d := store.Open(t)
		mustPut(t, d, "taken")
		for name, c := range cases {
			t.Run(name, func(t *testing.T) {
				err := change(t.Context(), d, happened, func(tx *db.Tx) error { return tx.Exec(c.sql, c.args...) })
				if err == nil {
					t.Fatal("nothing was violated")
				}
				if db.IsUnique(err) != c.unique || db.IsForeignKey(err) != c.foreignKey {
					t.Errorf("unique %v, foreign key %v: %v", db.IsUnique(err), db.IsForeignKey(err), err)
				}
			})
		}
	})
}

// newKey makes an idempotency key whose answers are strings.
func newKey(t testing.TB, key string) *db.IdempotencyKey {
	t.Helper()
	k, err := new(db.DB).NewIdempotencyKey(t.Context(), "usr_1", key, []byte("request"), func(out any) (int, []byte, error) { return 200, []byte(out.(string)), nil })
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestAKeyThatTwoNodesUseAtOnceWorksOnce(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		nodes := []*db.DB{store.Open(t), store.Open(t)}
		answers := make([]string, len(nodes))
		var all sync.WaitGroup
		for i, node := range nodes {
			key := newKey(t, "key")
			all.Go(func() {
				var err error
				answers[i], err = db.Write(context.Background(), node, db.Caller{IdempotencyKey: key}, func(tx *db.Tx) (string, audit.Event, error) {
					name := tx.NewID("tag")
					return name, happened, tx.Exec(insertSetting, name, "v")
				})
				var replay *db.Replay
				if errors.As(err, &replay) {
					answers[i] = string(replay.Body)
				} else if err != nil {
					t.Errorf("node %d: %v", i, err)
				}
			})
		}
		all.Wait()
		if answers[0] != answers[1] || answers[0] == "" {
			t.Errorf("the nodes answer %q", answers)
		}
		if got := count(t, nodes[0], `SELECT count(*) FROM setting`); got != 1 {
			t.Errorf("one key made %d rows", got)
		}
	})
}

// On PostgreSQL a used key is found out when the insert of a group is refused. The
// other writes of that group must not notice.
func TestAUsedKeyIsReplayedBesideOtherWrites(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		d := store.Open(t)
		insert := func(key *db.IdempotencyKey, name string) error {
			_, err := db.Write(t.Context(), d, db.Caller{IdempotencyKey: key}, func(tx *db.Tx) (string, audit.Event, error) {
				return name, happened, tx.Exec(insertSetting, name, "v")
			})
			return err
		}
		if err := insert(newKey(t, "used"), "first"); err != nil {
			t.Fatal(err)
		}
		const writers = 64
		var all sync.WaitGroup
		for i := range writers {
			used := i%8 == 3
			key := newKey(t, fmt.Sprint("new ", i))
			if used {
				key = newKey(t, "used")
			}
			all.Go(func() {
				err := insert(key, fmt.Sprint("n", i))
				var replay *db.Replay
				if used && (!errors.As(err, &replay) || string(replay.Body) != "first") {
					t.Errorf("write %d used a key again and ended with %v, want the first answer", i, err)
				}
				if !used && err != nil {
					t.Errorf("write %d: %v", i, err)
				}
			})
		}
		all.Wait()
		if got, want := count(t, d, `SELECT count(*) FROM setting`), 1+writers-writers/8; got != want {
			t.Errorf("%d rows, want %d", got, want)
		}
	})
}
