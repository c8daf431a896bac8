package e2e_test

import (
	"fmt"
	"testing"

	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
	"bursar/internal/torture"
)

const (
	writers      = 6
	betweenCrash = 60 // answered writes
)

func TestNothingAnsweredIsLostWhenTheServerIsKilled(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		l := newLoad(initialise(t, store), writers)
		p := startNode(t, store)
		l.token = servertest.Remote(t, p.URL, l.made).Admin(t).Token
		for range torture.Rounds(5, 200) {
			end := l.begin(t, p.URL, false)
			l.awaitTold(t, betweenCrash)
			p.kill()
			end()
			p = startNode(t, store)
			l.check(t, p)
		}
		p.terminate(t)
	})
}

func TestNothingAnsweredIsLostWhenTheDatabaseIsKilled(t *testing.T) {
	t.Parallel()
	store, cluster := ownPostgres(t)
	l := newLoad(initialise(t, store), writers)
	p := start(t, store)
	l.token = servertest.Remote(t, p.URL, l.made).Admin(t).Token
	for range torture.Rounds(3, 100) {
		end := l.begin(t, p.URL, true)
		l.awaitTold(t, betweenCrash)
		if err := cluster.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := cluster.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
		l.awaitTold(t, betweenCrash) // by itself, without a restart of the server
		end()
		l.check(t, p)
	}
	p.terminate(t)
}

// check holds the store against what the writers were told, and the audit log
// against the store.
func (l *load) check(t *testing.T, p *process) {
	t.Helper()
	for _, w := range l.writers {
		for _, c := range w.fresh {
			l.replay(t, p.URL, w, c)
		}
		w.fresh = nil
	}
	client := servertest.Remote(t, p.URL, l.made).Holder(t, l.token)
	workspace := "workspace_id=" + l.made.WorkspaceID + "&limit=100"
	entries, keys := map[string]servertest.Body{}, map[string]string{}
	for _, entry := range everyRow(client, "/v1/directory?"+workspace) {
		id, fields := entry["id"].(string), entry["fields"].(servertest.Body)
		key := fields["key"].(string)
		if keys[key] != "" {
			t.Errorf("key %s made two entries: %s and %s", key, keys[key], id)
		}
		entries[id], keys[key] = fields, id
	}
	created := count(everyRow(client, "/v1/audit?action=directory.entry.created&"+workspace))
	updated := count(everyRow(client, "/v1/audit?action=directory.entry.updated&"+workspace))
	for id := range entries {
		if created[id] != 1 {
			t.Errorf("entry %s has %d audit rows of its creation", id, created[id])
		}
	}
	for id := range created {
		if entries[id] == nil {
			t.Errorf("the audit log speaks of entry %s, which is not there", id)
		}
	}
	for _, w := range l.writers {
		w.check(t, keys, entries, updated)
	}
}

// count says how many rows speak of each resource.
func count(rows []servertest.Body) map[string]int {
	n := map[string]int{}
	for _, row := range rows {
		n[row["resource_id"].(string)]++
	}
	return n
}

// check holds the store against what one writer was told.
func (w *writer) check(t *testing.T, keys map[string]string, entries map[string]servertest.Body, updated map[string]int) {
	t.Helper()
	for key, id := range w.entries {
		if keys[key] != id {
			t.Errorf("the entry of key %s was answered as %s and is %q now", key, id, keys[key])
		}
	}
	if w.own == "" {
		return
	}
	version := 0
	if number, ok := entries[w.own]["version"].(float64); ok {
		version = int(number)
	}
	unanswered := 0
	if w.open != nil {
		unanswered = 1
	}
	if version < w.version || version > w.version+unanswered {
		t.Errorf("entry %s has version %d; %d was answered", w.own, version, w.version)
	}
	if updated[w.own] != version {
		t.Errorf("entry %s was updated %d times and has %d audit rows of it", w.own, version, updated[w.own])
	}
}

// replay makes an answered call again.
func (l *load) replay(t *testing.T, url string, w *writer, c call) {
	t.Helper()
	got, err := send(l.client, url, l.token, c)
	want := w.own
	if id := w.entries[c.key]; id != "" {
		want = id
	}
	if err != nil || got.status != 200 || !got.replayed || got.id != want {
		t.Errorf("retrying %s %s with key %s: want %s again, got %s", c.method, c.path, c.key, want, fmt.Sprint(got, err))
	}
}
