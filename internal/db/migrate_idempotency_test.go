package db_test

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"

	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
)

// oldDigest is part of a record of before.
func oldDigest(use, text string) []byte {
	sum := sha256.Sum256([]byte("bursar once " + use + "\x00usr_1\x00" + text))
	return sum[:]
}

// oldAnswer is an answer as the program sealed it before: with the caller's key alone.
func oldAnswer(t *testing.T, text string) string {
	t.Helper()
	block, err := aes.NewCipher(oldDigest("seal", "key"))
	if err != nil {
		t.Fatal(err)
	}
	seal, err := cipher.NewGCM(block)
	if err != nil {
		t.Fatal(err)
	}
	nonce := make([]byte, seal.NonceSize())
	return base64.StdEncoding.EncodeToString(seal.Seal(nonce, nonce, []byte(text), []byte(hex.EncodeToString(oldDigest("id", "key")))))
}

func TestARecordOfBeforeTheUpgradeIsStillReplayed(t *testing.T) {
	dbtest.EachEmpty(t, func(t *testing.T, store dbtest.Store) {
		fillBefore(t, store, "0011", func(tx *db.Tx) error {
			return tx.Exec(`INSERT INTO idempotency (id, fingerprint, status, answer, created_at) VALUES ($1, $2, 200, $3, $4)`,
				hex.EncodeToString(oldDigest("id", "key")), hex.EncodeToString(oldDigest("request", "request")), oldAnswer(t, "answer"), tx.Now())
		})
		migrated := store.Open(t)
		migrated.KeepAnswersWith(store.Vault(migrated).Secret)
		for request, want := range map[string]string{"request": "answered before", "another": "different request"} {
			err := migrated.Read(t.Context(), func(q db.Q) error { return idempotencyKey(t, migrated, request).Lookup(q, migrated.Now()) })
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", request, err, want)
			}
			var replay *db.Replay
			if errors.As(err, &replay) && string(replay.Body) != "answer" {
				t.Errorf("the answer was %q", replay.Body)
			}
		}
	})
}

func idempotencyKey(t *testing.T, d *db.DB, request string) *db.IdempotencyKey {
	t.Helper()
	key, err := d.NewIdempotencyKey(t.Context(), "usr_1", "key", []byte(request), func(any) (int, []byte, error) { return 200, []byte("answer"), nil })
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// Whoever has the database and guesses the caller's key, or tries what a request may have
// said, learns nothing without the secret.
func TestAKeptAnswerNeedsTheSecret(t *testing.T) {
	dbtest.EachEmpty(t, func(t *testing.T, store dbtest.Store) {
		d := store.Open(t)
		secret, current := map[int64][]byte{1: []byte("one"), 2: []byte("two")}, int64(1)
		d.KeepAnswersWith(func(_ context.Context, id int64) (int64, []byte, error) {
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
			_, err := q.Row(`SELECT fingerprint || answer FROM idempotency`).Scan(&stored)
			return err
		})
		if digest := hex.EncodeToString(oldDigest("request", "request"))[:32]; err != nil || strings.Contains(stored, digest) {
			t.Errorf("the fingerprint of the request stands in the store: %v %s", err, stored)
		}
	})
}
