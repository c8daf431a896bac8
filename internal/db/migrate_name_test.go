package db_test

import (
	"fmt"
	"strings"
	"testing"

	"bursar/internal/db"
	"bursar/internal/db/dbtest"
)

func TestEntriesOfBeforeAreFoundByNameAndPhone(t *testing.T) {
	const entries = 1500 // more than are filled at once
	dbtest.EachEmpty(t, func(t *testing.T, store dbtest.Store) {
		fillBefore(t, store, "0039", func(tx *db.Tx) error {
			for _, statement := range []string{
				`INSERT INTO organization (id, name, slug, created_at) VALUES ('org_1', '', 'org', 0)`,
				`INSERT INTO workspace (id, number, organization_id, name, slug, member_version, created_at) VALUES ('ws_1', 1, 'org_1', '', 'one', 0, 0)`,
			} {
				if err := tx.Exec(statement); err != nil {
					return err
				}
			}
			for i := range entries {
				name, label, fields := "", "", ""
				switch i % 3 {
				case 0:
					name, fields = fmt.Sprint("LOVELACE, Ádá ", i), `{"phone":"+44 (0)20 7946 0958"}`
				case 1:
					fields = fmt.Sprintf(`{"first-name":"Ada","last-name":"Lovelace %d","phone":"020 7946"}`, i)
				case 2:
					label, fields = "ada@example.com", `{"email":"ada@example.com"}`
				}
				if err := tx.Exec(`INSERT INTO directory_entry (id, workspace_number, type, label, label_sent, name, status, fields, words, label_key, created_at, updated_at)
					VALUES ($1, 1, 'person', $2, FALSE, $3, 'active', $4, '', $5, 0, 0)`, db.PackID("entry", oldEntry(i)), label, name, fields, []byte{}); err != nil {
					return err
				}
			}
			return nil
		})
		d := store.Open(t)
		got := map[string]int{}
		err := d.Read(t.Context(), func(q db.Q) error {
			return q.Each(func(r db.Rows) error {
				got[strings.TrimLeft(r.Text(0), "0123456789 ")+"|"+r.Text(1)]++
				return nil
			}, `SELECT name_key, phone_key FROM directory_entry`)
		})
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]int{"ada lovelace|+442079460958": entries / 3, "ada lovelace|0207946": entries / 3, "|": entries / 3}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("the keys are %v", got)
		}
	})
}
