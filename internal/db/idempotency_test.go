package db_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
)

func idempotencyKey(t *testing.T, d *db.DB, request string) *db.IdempotencyKey {
	t.Helper()
	key, err := d.NewIdempotencyKey(t.Context(), "usr_1", "key", []byte(request), func(any) (int, []byte, error) { return 200, []byte("answer"), nil })
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// An attacker who has the database and guesses the caller's key, or tries what a request may have
// said, learns nothing without the secret.
func TestAKeptAnswerNeedsTheSecret(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		d := store.Open(t)
		secret, current := map[int64][]byte{1: []byte("one"), 2: []byte("two")}, int64(1)
		d.SetAnswerSecrets(func(_ context.Context, id int64) (int64, []byte, error) {
			if id == 0 {
				id = current
			}
			if secret[id] == nil {
				return 0, nil, fmt.Errorf("no secret %d", id)
			}
			return id, secret[id], nil
		})
		if err := db.Record(t.Context(), d, db.Caller{IdempotencyKey: idempotencyKey(t, d, "request")}, audit.Event{Action: audit.TagCreated}, nil); err != nil {
			t.Fatal(err)
		}
		lookup := func(request string) error {
			return d.Read(t.Context(), func(q db.Q) error { return idempotencyKey(t, d, request).Lookup(q, d.Now()) })
		}
		current = 2 // a reseal has made another
		if err := lookup("request"); err == nil || err.Error() != "answered before" {
			t.Errorf("the answer was not replayed: %v", err)
		}
		if err := lookup("another"); err == nil || !strings.Contains(err.Error(), "different request") {
			t.Errorf("another request: %v", err)
		}
		secret[1] = []byte("guessed")
		if err := lookup("request"); err == nil || !strings.Contains(err.Error(), "open an idempotency record") {
			t.Errorf("with another secret: %v", err)
		}
		var stored string
		err := d.Read(t.Context(), func(q db.Q) error {
			_, err := q.Row(`SELECT id || answer FROM idempotency`).Scan(&stored)
			return err
		})
		digest := sha256.Sum256([]byte("bursar once request\x00usr_1\x00request"))
		if err != nil || strings.Contains(stored, hex.EncodeToString(digest[:16])) {
			t.Errorf("the fingerprint of the request stands in the store: %v %s", err, stored)
		}
	})
}
