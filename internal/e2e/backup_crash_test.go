package e2e_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"bursar/internal/backup"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/db/sqlite"
	"bursar/internal/server/servertest"
	"bursar/internal/torture"
	"bursar/internal/wait"
)

// answered is when clients were told that their entries are stored.
type answered struct {
	mu sync.Mutex
	at map[string]time.Time // by id
}

// write creates entries until a call fails, which the death of the server makes it do.
func (a *answered) write(client *http.Client, url, token, workspace string) {
	for {
		got, err := send(client, url, token, call{method: http.MethodPost, path: "/v1/directory", key: fmt.Sprint(rand.Uint64()),
			body: servertest.Body{"workspace_id": workspace, "type": "person", "fields": servertest.Body{"last_name": "Lovelace"}}})
		if err != nil || got.status != http.StatusOK {
			return
		}
		a.mu.Lock()
		a.at[got.id] = time.Now()
		a.mu.Unlock()
	}
}

// restoreAndCheck restores the newest state of a backup. It must have every entry whose client was answered before the
// moment that the restore says it has.
func (a *answered) restoreAndCheck(t *testing.T, from string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "restored")
	var done struct{ Moment time.Time }
	got := command(t, nil, "restore", "--from", from, "--to", dir, "--json") // it shows its progress if it takes long
	if err := json.Unmarshal([]byte(got.Out), &done); err != nil || got.Code != 0 {
		t.Fatalf("restore: exit code %d, %v\n%s", got.Code, err, got.Err)
	}
	if err := sqlite.Check(t.Context(), filepath.Join(dir, sqlite.FileName)); err != nil {
		t.Fatalf("the restored store: %v", err)
	}
	d, err := db.Open(t.Context(), db.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	has := map[string]bool{}
	err = d.Read(t.Context(), func(q db.Q) error {
		ids, err := db.Collect(q, func(r db.Rows) string { return db.UnpackID("entry", r, 0) }, `SELECT id FROM directory_entry`)
		for _, id := range ids {
			has[id] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	late := 0
	for id, at := range a.at {
		if at.Before(done.Moment) && !has[id] {
			t.Errorf("%s was answered at %s, and the backup of %s does not have it", id, at, done.Moment)
		}
		if !at.Before(done.Moment) {
			late++
		}
	}
	t.Logf("%d entries, %d of them answered after the last segment", len(has), late)
}

func lineWith(text, part string) string {
	for line := range strings.Lines(text) {
		if strings.Contains(line, part) {
			return line
		}
	}
	return ""
}

func TestABackupHasWhatWasAnsweredBeforeItsLastSegmentWhenTheServerIsKilled(t *testing.T) {
	t.Parallel()
	store, to := dbtest.SQLite(t), filepath.Join(t.TempDir(), "backup")
	made := initialise(t, store)
	serve := func() *process {
		return start(t, store, "--public-url", "https://pay.example.com", "--backup", to)
	}
	p := serve()
	token := servertest.Remote(t, p.URL, made).Admin(t).Token
	wait.Until(t, "the backup has a base", func() bool { return command(t, nil, "backup", "status", "--from", to).Code == 0 })
	a := &answered{at: map[string]time.Time{}}
	client, gaps := &http.Client{Timeout: wait.Limit()}, 0
	for round := range torture.Rounds(4, 200) {
		var all sync.WaitGroup
		for range writers {
			all.Go(func() { a.write(client, p.URL, token, made.WorkspaceID) })
		}
		die := time.After(time.Duration(rand.IntN(2500)) * time.Millisecond)
		if round%3 == 2 { // beside the server
			succeed(t, "admin", "user", "link", "--email", "ada@example.com", "--data", store.Config.Dir)
		}
		<-die
		p.kill()
		all.Wait()
		gap := lineWith(p.Log.String(), "needs a new base")
		if gap == "" {
			a.restoreAndCheck(t, to)
		}
		p = serve()
		if gap != "" { // another process has started the log anew; most rounds are too short for a base
			t.Log(gap)
			gaps++
			wait.Until(t, "there is a new base", func() bool {
				return command(t, nil, "restore", "--from", to, "--to", filepath.Join(t.TempDir(), "store")).Code == 0
			})
		}
	}
	if gaps > 1+torture.Rounds(0, 10) {
		t.Errorf("%d new bases were needed", gaps)
	}
	wait.Until(t, "the backup can be restored", func() bool { return command(t, nil, "backup", "status", "--from", to).Code == 0 })
	p.terminate(t)

	// A server that stops leaves nothing behind.
	restored := db.Config{Dir: t.TempDir()}
	if got := command(t, nil, "restore", "--from", to, "--to", restored.Dir); got.Code != 0 {
		t.Fatal(got.Err)
	}
	list, err := backup.Compare(t.Context(), backup.Place{Config: store.Config, Name: "store"}, backup.Place{Config: restored, Name: "restored"}, nil)
	for _, differs := range list {
		// What a restore itself does: it ends sessions, stops the rails and says so in the audit log.
		if !slices.Contains([]string{"session", "audit_log", "setting", "epoch"}, differs.Table) {
			t.Errorf("they differ: %+v", differs)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}
