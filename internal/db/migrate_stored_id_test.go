package db_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
)

// A store of before names workspaces by their ids, and has ids as texts.
func fillWithTexts(tx *db.Tx) error {
	if err := each(tx, insertOrganization, "org_1"); err != nil {
		return err
	}
	if err := tx.Exec(`INSERT INTO workspace (id, number, organization_id, name, slug, member_version, created_at)
		VALUES ('ws_1', 1, 'org_1', '', 'one', 0, 0), ('ws_2', 2, 'org_1', '', 'two', 0, 0)`); err != nil {
		return err
	}
	if err := tx.Exec(`INSERT INTO directory_tag (id, workspace_id, name, name_key, applies_to, created_at) VALUES ('tag_1', 'ws_1', 'Tag', 'tag', 'all', 0)`); err != nil {
		return err
	}
	for i := range 4 {
		id, workspace, deleted := oldEntry(i), fmt.Sprint("ws_", 1+i%2), db.NullInt(int64(i/2))
		for _, statement := range []struct {
			sql  string
			args []any
		}{
			{`INSERT INTO directory_entry (id, workspace_id, type, label, label_sent, name, status, fields, words, created_at, updated_at, deleted_at)
				VALUES ($1, $2, 'person', $3, $4, 'name', 'active', '{"a":1}', ' label', 11, 12, $5)`,
				[]any{id, workspace, fmt.Sprint("Label ", i), i == 1, deleted}},
			{`INSERT INTO directory_word (workspace_id, word, entry_id) VALUES ($1, 'label', $2)`, []any{workspace, id}},
			{`INSERT INTO directory_entry_tag (entry_id, tag_id, live) VALUES ($1, 'tag_1', $2)`, []any{id, i < 2}},
			{`INSERT INTO receiving_method (id, entry_id, provider, account_name, account_id, is_default, created_at) VALUES ($1, $2, 'bank', 'name', '1', TRUE, 13)`,
				[]any{fmt.Sprint("rm_", i), id}},
			{`INSERT INTO directory_common_word (workspace_id, word) VALUES ($1, $2)`, []any{workspace, fmt.Sprint("common", i)}},
			{`INSERT INTO audit_log (id, workspace_id, organization_id, actor_id_key, action_key, resource_type_key, resource_id_key, outcome_key, entry)
				VALUES ($1, $2, $3, 21, 22, 23, 24, $4, '["did","it","","","success",1,"","","","","",""]')`,
				[]any{oldRowID(i), []any{"ws_1", "ws_2", nil, nil}[i], []any{nil, nil, "org_1", nil}[i], db.NullInt(int64(i))}},
		} {
			if err := tx.Exec(statement.sql, statement.args...); err != nil {
				return err
			}
		}
	}
	return nil
}

func oldEntry(i int) string { return db.FirstID("entry", int64(1_700_000_000_000+i)) }
func oldRowID(i int) string { return db.FirstID("aud", int64(1_700_000_000_000+i)) }

func TestAStoreKeepsEverythingWhenItsIDsArePacked(t *testing.T) {
	dbtest.EachEmpty(t, func(t *testing.T, store dbtest.Store) {
		fillBefore(t, store, "0013", fillWithTexts)
		d := store.Open(t)
		want := map[string][]string{
			"entries": {}, "words": {}, "tags": {}, "methods": {}, "methods of history": {}, "audit": {},
			"common words": {"1 common0", "1 common2", "2 common1", "2 common3"},
			"audit entries": {
				oldRowID(0) + " ws_1  did it", oldRowID(1) + " ws_2  did it", oldRowID(2) + "  org_1 did it", oldRowID(3) + "   did it",
			},
		}
		for i := range 4 {
			sent, live := i == 1, i < 2
			want["entries"] = append(want["entries"], fmt.Sprintf(`%s %d person Label %d %v name active {"a":1} label 11 12 %d`, oldEntry(i), 1+i%2, i, sent, i/2))
			want["tags"] = append(want["tags"], fmt.Sprintf("%s tag_1 %v", oldEntry(i), live))
			want["methods"] = append(want["methods"], fmt.Sprintf("%s rm_%d bank name 1 true 13", oldEntry(i), i))
			want["methods of history"] = append(want["methods of history"], fmt.Sprintf("%s rm_%d", oldEntry(i), i))
			want["audit"] = append(want["audit"], fmt.Sprintf("%s %d %s 21 22 23 24 %d", oldRowID(i), []int{1, 2, 0, 0}[i], []string{"", "", "org_1", ""}[i], i))
		}
		for _, i := range []int{0, 2, 1, 3} {
			want["words"] = append(want["words"], fmt.Sprintf("%s %d label", oldEntry(i), 1+i%2))
		}
		got := map[string][]string{}
		for name, list := range map[string]struct {
			sql string
			row func(r db.Rows) string
		}{
			"entries": {`SELECT id, workspace_number, type, label, label_sent, name, status, fields, words, created_at, updated_at, deleted_at FROM directory_entry ORDER BY id`,
				func(r db.Rows) string {
					return fmt.Sprintf("%s %d %s %s %v %s %s %s%s %d %d %d", db.UnpackID("entry", r, 0), r.Int(1), r.Text(2), r.Text(3), r.Bool(4), r.Text(5), r.Text(6),
						r.Text(7), r.Text(8), r.Int(9), r.Int(10), r.Int(11))
				}},
			"words": {`SELECT entry_id, workspace_number, word FROM directory_word ORDER BY workspace_number, word, entry_id`, func(r db.Rows) string {
				return fmt.Sprintf("%s %d %s", db.UnpackID("entry", r, 0), r.Int(1), r.Text(2))
			}},
			"tags": {`SELECT entry_id, tag_id, live FROM directory_entry_tag ORDER BY entry_id`, func(r db.Rows) string {
				return fmt.Sprintf("%s %s %v", db.UnpackID("entry", r, 0), r.Text(1), r.Bool(2))
			}},
			"methods": {`SELECT entry_id, m.id, provider, account_name, value, default_since = created_at, created_at FROM receiving_method m
				JOIN vault_unsealed u ON u.kind = 'receiving_method' AND u.id = m.id ORDER BY entry_id`, func(r db.Rows) string {
				return fmt.Sprintf("%s %s %s %s %s %v %d", db.UnpackID("entry", r, 0), r.Text(1), r.Text(2), r.Text(3), r.Text(4), r.Bool(5), r.Int(6))
			}},
			"methods of history": {`SELECT entry_id, method_id FROM entry_method_log ORDER BY entry_id`, func(r db.Rows) string {
				return db.UnpackID("entry", r, 0) + " " + r.Text(1)
			}},
			"common words": {`SELECT workspace_number, word FROM directory_common_word ORDER BY workspace_number, word`, func(r db.Rows) string {
				return fmt.Sprint(r.Int(0), " ", r.Text(1))
			}},
			"audit": {`SELECT id, workspace_number, organization_id, actor_id_key, action_key, resource_type_key, resource_id_key, outcome_key FROM audit_log ORDER BY id`,
				func(r db.Rows) string {
					return fmt.Sprintf("%s %d %s %d %d %d %d %d", db.UnpackID("aud", r, 0), r.Int(1), r.Text(2), r.Int(3), r.Int(4), r.Int(5), r.Int(6), r.Int(7))
				}},
			"audit entries": {`SELECT id, workspace_id, organization_id, action, actor_name FROM audit_entry ORDER BY id`, func(r db.Rows) string {
				return fmt.Sprintf("%s %s %s %s %s", r.Text(0), r.Text(1), r.Text(2), r.Text(3), r.Text(4))
			}},
		} {
			err := d.Read(t.Context(), func(q db.Q) (err error) {
				got[name], err = db.Collect(q, list.row, list.sql)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("want (-) and got (+):\n%s", diff)
		}
		stillHolds(t, d)
	})
}

// stillHolds checks that the database refuses after the migration what it refused before.
func stillHolds(t *testing.T, d *db.DB) {
	t.Helper()
	entry := db.PackID("entry", oldEntry(0))
	for sql, args := range map[string][]any{
		`UPDATE audit_log SET entry = '[]'`: nil,
		`DELETE FROM audit_log`:             nil,
		`INSERT INTO directory_entry (id, workspace_number, type, label, label_sent, name, status, fields, words, created_at, updated_at)
			SELECT id, workspace_number, type, label, label_sent, name, status, fields, words, created_at, updated_at FROM directory_entry WHERE id = $1`: {entry},
		`UPDATE directory_entry SET workspace_number = 99 WHERE id = $1`:                        {entry},
		`UPDATE directory_entry SET workspace_number = NULL WHERE id = $1`:                      {entry},
		`INSERT INTO directory_word (workspace_number, word, entry_id) VALUES (1, 'label', $1)`: {entry},
		`INSERT INTO directory_common_word (workspace_number, word) VALUES (1, 'common0')`:      nil,
		`INSERT INTO directory_entry_tag (entry_id, tag_id, live) VALUES ($1, 'tag_1', TRUE)`:   {entry},
		`UPDATE directory_entry_tag SET entry_id = $2 WHERE entry_id = $1`:                      {entry, [16]byte{}},
		`UPDATE receiving_method SET entry_id = $2 WHERE entry_id = $1`:                         {entry, [16]byte{}},
		`INSERT INTO audit_log SELECT * FROM audit_log WHERE workspace_number = 1`:              nil,
		`INSERT INTO audit_log SELECT * FROM audit_log WHERE organization_id = 'org_1'`:         nil,
	} {
		if err := change(t.Context(), d, audit.None("a test"), func(tx *db.Tx) error { return tx.Exec(sql, args...) }); err == nil {
			t.Errorf("after the migration the store accepted %s", sql)
		}
	}
	if err := change(t.Context(), d, audit.None("a test"), func(tx *db.Tx) error { return tx.Exec(`DELETE FROM directory_entry WHERE id = $1`, entry) }); err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{"directory_entry_tag", "receiving_method"} {
		if left := count(t, d, `SELECT count(*) FROM `+table); left != 3 {
			t.Errorf("%d rows of %s are left of 4, one of which belonged to a deleted entry", left, table)
		}
	}
}
