package db_test

import (
	"strings"
	"testing"

	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
)

func idempotencyKey(t *testing.T, request string) *db.IdempotencyKey {
	t.Helper()
	key, err := db.NewIdempotencyKey("usr_1", "key", []byte(request), func(any) (int, []byte, error) { return 200, []byte("answer"), nil })
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func TestARecordOfBeforeTheUpgradeIsStillReplayed(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		old := store.Open(t)
		by := db.Caller{IdempotencyKey: idempotencyKey(t, "request")}
		if err := db.Record(t.Context(), old, by, audit.Event{Action: audit.TagCreated}, nil); err != nil {
			t.Fatal(err)
		}
		for _, sql := range []string{
			// Records were longer: of the same digests, all digits were stored.
			`UPDATE idempotency SET id = id || '` + strings.Repeat("0", 32) + `', fingerprint = fingerprint || '` + strings.Repeat("f", 32) + `'`,
			`DELETE FROM schema_migration WHERE name = '0011_idempotency_digest'`,
		} {
			if err := change(t.Context(), old, audit.None("a test"), func(tx *db.Tx) error { return tx.Exec(sql) }); err != nil {
				t.Fatal(err)
			}
		}
		migrated := store.Open(t)
		for request, want := range map[string]string{"request": "answered before", "another": "different request"} {
			err := migrated.Read(t.Context(), func(q db.Q) error {
				return idempotencyKey(t, request).Lookup(q, migrated.Now())
			})
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", request, err, want)
			}
		}
	})
}
