package db_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"bursar/internal/db"
	"bursar/internal/db/dbtest"
)

func TestTraceGetsWhatReadAndWriteSend(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		var mu sync.Mutex
		var sent []string
		store.Config.Trace = func(sql string, args []any) {
			mu.Lock()
			defer mu.Unlock()
			sent = append(sent, fmt.Sprint(sql, args))
		}
		d := store.Open(t)
		const insert, ask = `INSERT INTO setting (name, value) VALUES ($1, $2)`, `SELECT value FROM setting WHERE name = $1`
		err := change(t.Context(), d, happened, func(tx *db.Tx) error { return tx.Exec(insert, "name", "value") })
		if err != nil {
			t.Fatal(err)
		}
		var value string
		err = d.Read(t.Context(), func(q db.Q) error {
			_, err := q.Row(ask, "name").Scan(&value)
			return err
		})
		if err != nil || value != "value" {
			t.Fatalf("read %q: %v", value, err)
		}
		for _, want := range []string{fmt.Sprint(insert, []any{"name", "value"}), fmt.Sprint(ask, []any{"name"})} {
			if !slices.Contains(sent, want) {
				t.Errorf("the trace has no %q, but %q", want, sent)
			}
		}
	})
}
