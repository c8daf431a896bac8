package db_test

import (
	"testing"

	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
)

// Foreign keys of the directory hold for every writer, and the parts of an entry are deleted with it.
func TestTheDirectoryKeepsItsReferences(t *testing.T) {
	const copied = `type, status, label, label_sent, name, fields, words, created_at, updated_at`
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		d := store.Open(t)
		makeWorkspace(t, d)
		first, second := db.PackID("entry", db.FirstID("entry", 1)), db.PackID("entry", db.FirstID("entry", 2))
		exec := func(sql string, args ...any) error {
			return change(t.Context(), d, audit.None("a test"), func(tx *db.Tx) error { return tx.Exec(sql, args...) })
		}
		if err := exec(`INSERT INTO directory_common_word (workspace_number, word) VALUES (1, 'common')`); err != nil {
			t.Fatal(err)
		}
		if err := exec(`INSERT INTO directory_tag (id, workspace_id, name, name_key, applies_to, created_at)
			VALUES ('tag_1', 'ws_1', 'Tag', 'tag', 'all', 0)`); err != nil {
			t.Fatal(err)
		}
		for i, entry := range []any{first, second} {
			for _, sql := range []string{
				`INSERT INTO directory_entry (id, workspace_number, ` + copied + `) VALUES ($1, 1, 'person', 'active', '', FALSE, '', '{}', '', 0, 0)`,
				`INSERT INTO directory_word (workspace_number, word, entry_id) VALUES (1, 'word', $1)`,
				`INSERT INTO directory_entry_tag (entry_id, tag_id, live) VALUES ($1, 'tag_1', TRUE)`,
				`INSERT INTO receiving_method (id, entry_id, provider, account_name, created_at) VALUES ('rm_` + string(rune('a'+i)) + `', $1, 'bank', 'Ada', 0)`,
			} {
				if err := exec(sql, entry); err != nil {
					t.Fatal(err)
				}
			}
		}
		for sql, args := range map[string][]any{
			`INSERT INTO directory_entry (id, workspace_number, ` + copied + `)
				SELECT id, workspace_number, ` + copied + ` FROM directory_entry WHERE id = $1`: {first},
			`UPDATE directory_entry SET workspace_number = 99 WHERE id = $1`:                       {first},
			`INSERT INTO directory_word (workspace_number, word, entry_id) VALUES (1, 'word', $1)`: {first},
			`INSERT INTO directory_common_word (workspace_number, word) VALUES (1, 'common')`:      nil,
			`INSERT INTO directory_entry_tag (entry_id, tag_id, live) VALUES ($1, 'tag_1', TRUE)`:  {first},
			`UPDATE directory_entry_tag SET entry_id = $2 WHERE entry_id = $1`:                     {first, [16]byte{}},
			`UPDATE receiving_method SET entry_id = $2 WHERE entry_id = $1`:                        {first, [16]byte{}},
			`DELETE FROM workspace`: nil,
		} {
			if err := exec(sql, args...); !db.IsUnique(err) && !db.IsForeignKey(err) {
				t.Errorf("the store answers %v to %s", err, sql)
			}
		}
		if err := exec(`DELETE FROM directory_entry WHERE id = $1`, first); err != nil {
			t.Fatal(err)
		}
		for _, table := range []string{"directory_entry_tag", "receiving_method"} {
			if left := count(t, d, `SELECT count(*) FROM `+table); left != 1 {
				t.Errorf("%d rows of %s are left of 2, one of which belonged to a deleted entry", left, table)
			}
		}
	})
}
