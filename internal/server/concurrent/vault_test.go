package concurrent_test

import (
	"bytes"
	"context"
	"encoding/base32"
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"

	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/identity"
	"bursar/internal/server/servertest"
	"bursar/internal/signin"
	"bursar/internal/vault"
)

// numbersOf are the account numbers of an entry by method, as the API tells them.
func numbersOf(c *servertest.Client, entry string) map[string]string {
	found := map[string]string{}
	for _, method := range c.Get("/v1/directory/" + entry).OK().Object()["receiving_methods"].([]any) {
		m := method.(map[string]any)
		found[m["id"].(string)] = m["account_id"].(string)
	}
	return found
}

// everything reads all rows of the store as text and all bytes of SQLite's files.
func everything(t *testing.T, store dbtest.Store, n *servertest.Node) string {
	t.Helper()
	var all strings.Builder
	if store.Engine == "sqlite" {
		files, err := filepath.Glob(filepath.Join(store.Config.Dir, "bursar.db*"))
		if err != nil || len(files) < 2 {
			t.Fatalf("the store has the files %v, %v", files, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			all.Write(text)
		}
		return all.String()
	}
	err := n.DB.Read(t.Context(), func(q db.Q) error {
		tables, err := db.Collect(q, func(r db.Rows) string { return r.Text(0) }, `SELECT tablename::text FROM pg_tables WHERE schemaname = current_schema()`)
		for _, table := range tables {
			if err == nil {
				err = q.Each(func(r db.Rows) error {
					all.WriteString(r.Text(0) + "\n")
					return nil
				}, `SELECT t::text FROM "`+table+`" t`)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

// A stolen database, and what the server logs, tell no account number: not in the methods, not
// in answers that are kept for repeated requests, not in the audit log.
func TestAStolenStoreRevealsNoAccountNumber(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		admin := n.Admin(t)
		entry := admin.Entry(servertest.Body{"fields": servertest.Body{"email": "planted-witness@example.com"}})
		path := "/v1/directory/" + entry + "/receiving-methods"
		// A key that anyone could guess, and a body whose every other part is known.
		method := admin.Do(http.MethodPost, path, servertest.Account("PLANTED7788990011"), "Idempotency-Key", "1").OK().Text("id")
		again := admin.Do(http.MethodPost, path, servertest.Account("PLANTED7788990011"), "Idempotency-Key", "1").OK().Text("id")
		if again != method {
			t.Errorf("a repeated request made %s and %s", method, again)
		}
		method = admin.Do(http.MethodPatch, path+"/"+method, servertest.Body{"account_id": "PLANTED1122334455"}, "Idempotency-Key", "2").OK().Text("id")
		if got := numbersOf(admin, entry); got[method] != "PLANTED1122334455" {
			t.Errorf("the numbers are %v", got)
		}
		stolen := everything(t, store, n)
		if !strings.Contains(stolen, "planted-witness@example.com") {
			t.Fatal("the search does not find what is in clear")
		}
		for _, number := range []string{"7788990011", "1122334455"} {
			for what, text := range map[string]string{"store": stolen, "log": n.Log.String()} {
				// PostgreSQL shows bytes as hexadecimal digits.
				if strings.Contains(text, number) || strings.Contains(text, fmt.Sprintf("%x", number)) {
					t.Errorf("the %s tells the number %s", what, number)
				}
			}
		}
	})
}

// Neither are the secrets there by which a thief could make codes of a second factor, or sign tokens.
func TestAStolenStoreRevealsNoAuthenticatorSecretAndNoSigningSeed(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		n := servertest.Start(t, store)
		door, err := signin.New(n.DB, n.Vault, identity.NewLinks(n.PublicURL, nil), signin.Config{PublicURL: n.PublicURL, LimitsOff: true, HashMemory: 64})
		must(err)
		me := db.Caller{Actor: audit.Actor{Type: audit.User, ID: n.First.UserID, Email: "planted-witness@example.com", LoggedInAt: n.DB.Now()}}
		app, err := door.NewTOTP(me)
		must(err)
		code, err := totp.GenerateCode(app.Secret(), n.Clock.Now())
		must(err)
		_, err = door.EnableTOTP(t.Context(), me, app.Secret(), code)
		must(err)
		var id string
		var sealed []byte
		must(n.DB.Read(t.Context(), func(q db.Q) error {
			_, err := q.Row(`SELECT id, seed_sealed FROM signing_key`).Scan(&id, &sealed)
			return err
		}))
		seed, err := n.Vault.Open(0, vault.SigningSeed(id), sealed)
		must(err)

		stolen := everything(t, store, n)
		if !strings.Contains(stolen, id) || !strings.Contains(stolen, "planted-witness@example.com") {
			t.Fatal("the search does not find what is in clear")
		}
		for name, secret := range map[string]struct {
			text   string
			decode func(string) ([]byte, error)
		}{
			"the secret of the authenticator app": {app.Secret(), base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString},
			"the seed of the signing key":         {string(seed), base64.StdEncoding.DecodeString},
		} {
			raw, err := secret.decode(secret.text)
			must(err)
			for _, form := range []string{secret.text, string(raw), fmt.Sprintf("%x", secret.text), fmt.Sprintf("%x", raw)} {
				if strings.Contains(stolen, form) || strings.Contains(n.Log.String(), form) {
					t.Errorf("%s is in the store or in the log as %q", name, form)
				}
			}
		}
	})
}

func TestSealedNumbersCannotChangePlaces(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		admin := n.Admin(t)
		one, other := admin.Entry(nil), admin.Entry(nil)
		a, b := admin.AddMethod(one, servertest.Account("PH0000000001")), admin.AddMethod(other, servertest.Account("PH0000000002"))
		_, err := db.Write(t.Context(), n.DB, db.Caller{}, func(tx *db.Tx) (struct{}, audit.Event, error) {
			// A thief who can write makes the money of one payee go to the other.
			return struct{}{}, audit.None("a test"), tx.Exec(`UPDATE receiving_method SET account_sealed = (SELECT account_sealed FROM receiving_method WHERE id = $2) WHERE id = $1`, a, b)
		})
		if err != nil {
			t.Fatal(err)
		}
		if answer := admin.Get("/v1/directory/" + one); answer.Status != http.StatusInternalServerError {
			t.Errorf("a number of another row was shown: %d %s", answer.Status, answer.Body)
		}
		if got := numbersOf(admin, other); got[b] != "PH0000000002" {
			t.Errorf("the other entry has %v", got)
		}
	})
}

// Numbers are changed, added and read while everything is sealed again, on another node too.
func TestResealWhileServing(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		admin := n.Admin(t)
		entry := admin.Entry(nil)
		want := map[string]string{}
		var ids []string
		for i := range 40 {
			number := fmt.Sprintf("PH%010d", i)
			id := admin.AddMethod(entry, servertest.Account(number))
			want[id] = number
			ids = append(ids, id)
		}
		before := lastKey(t, n)
		operator := store.Vault(store.Open(t)) // as bursar admin has it
		for round := range 3 {
			ctx, done := context.WithCancel(t.Context())
			var writer sync.WaitGroup
			writer.Go(func() {
				for i := 0; ctx.Err() == nil || i < 20; i++ {
					id, number := ids[i%len(ids)], fmt.Sprintf("CHANGED%d%08d", round, i)
					made := admin.Do(http.MethodPatch, "/v1/directory/"+entry+"/receiving-methods/"+id, servertest.Body{"account_id": number}).OK()
					delete(want, id)
					ids[i%len(ids)] = made.Text("id")
					want[ids[i%len(ids)]] = number
				}
			})
			_, err := operator.Reseal(t.Context(), db.Caller{}, func(done, total int64) {})
			done()
			writer.Wait()
			if err != nil {
				t.Fatal(err)
			}
		}
		if _, err := operator.Reseal(t.Context(), db.Caller{}, func(done, total int64) {}); err != nil {
			t.Fatal(err)
		}
		if got := numbersOf(admin, entry); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("the numbers are %v, want %v", got, want)
		}
		status, err := operator.Status(t.Context())
		if err != nil || status.Waiting != 0 || status.Resealing || status.Sealed["receiving_method"] != int64(n.Count(t, `SELECT count(*) FROM receiving_method`)) {
			t.Errorf("status %+v, %v", status, err)
		}
		if old := n.Count(t, fmt.Sprintf(`SELECT count(*) FROM receiving_method WHERE sealed_by <= %d`, before)); old != 0 {
			t.Errorf("%d numbers are sealed with the first key", old)
		}
		var key []byte
		err = n.DB.Read(t.Context(), func(q db.Q) error {
			_, err := q.Row(`SELECT account_key FROM receiving_method WHERE id = $1`, ids[0]).Scan(&key)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		found, err := operator.Lookups(t.Context(), 1, vault.NormalNumber(want[ids[0]]))
		if err != nil || !slices.ContainsFunc(found, func(b []byte) bool { return bytes.Equal(b, key) }) {
			t.Errorf("the number is not found by its index, %v", err)
		}

		// Retired keys go after two days, and nothing else does.
		keys := n.Count(t, `SELECT count(*) FROM vault_key WHERE retired_at IS NOT NULL`)
		tidy(t, n)
		if left := n.Count(t, `SELECT count(*) FROM vault_key WHERE retired_at IS NOT NULL`); keys == 0 || left != keys {
			t.Errorf("of %d retired keys, %d are left at once", keys, left)
		}
		n.Clock.Advance(49 * time.Hour)
		tidy(t, n)
		if left := n.Count(t, `SELECT count(*) FROM vault_key WHERE retired_at IS NOT NULL`); left != 0 {
			t.Errorf("%d retired keys are left", left)
		}
		if got := numbersOf(n.Admin(t), entry); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("after the old keys are gone, the numbers are %v, want %v", got, want)
		}
	})
}

func tidy(t *testing.T, n *servertest.Node) {
	t.Helper()
	if err := n.Server.Tidy(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func lastKey(t *testing.T, n *servertest.Node) int64 {
	t.Helper()
	return int64(n.Count(t, `SELECT last_id FROM vault_counter`))
}

// A key that something is sealed with cannot be deleted, whoever tries.
func TestTheStoreKeepsTheKeysThatAreNeeded(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		admin := n.Admin(t)
		admin.AddMethod(admin.Entry(nil), servertest.Account("PH0000000001"))
		_, err := db.Write(t.Context(), n.DB, db.Caller{}, func(tx *db.Tx) (struct{}, audit.Event, error) {
			return struct{}{}, audit.None("a test"), tx.Exec(`DELETE FROM vault_key WHERE workspace_number = 1`)
		})
		if !db.IsForeignKey(err) {
			t.Errorf("the key was deleted: %v", err)
		}
	})
}

// A node that has just started knows no data key. More requests than the store has
// connections need one at the same time, and each of them gets it.
func TestManyReadersOfANodeThatHasJustStarted(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		first := servertest.Start(t, store)
		admin := first.Admin(t)
		entry := admin.Entry(nil)
		admin.AddMethod(entry, servertest.Account("PH0000000001"))
		cold := servertest.Start(t, store).Holder(t, admin.Token)
		var all sync.WaitGroup
		for range 64 {
			all.Go(func() {
				if answer := cold.Get("/v1/directory/" + entry); answer.Status != http.StatusOK || !bytes.Contains(answer.Body, []byte("PH0000000001")) {
					t.Errorf("the answer is %d %s", answer.Status, answer.Body)
				}
			})
		}
		all.Wait()
	})
}
