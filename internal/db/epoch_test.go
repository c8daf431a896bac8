package db_test

import (
	"errors"
	"testing"
	"time"

	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/wait"
)

// awaitListening waits until the node hears of changes on other nodes. Before that,
// every look at the epoch gives a new number.
func awaitListening(t *testing.T, d *db.DB) {
	t.Helper()
	wait.Until(t, "the node listens", func() bool {
		first, second := d.Epoch(), d.Epoch()
		return first == second
	})
}

func nothing(*db.Tx) error { return nil }

func TestTheEpochChangesWithAccess(t *testing.T) {
	access := []audit.Action{
		audit.MemberAdded, audit.MemberRemoved, audit.MemberRoleAssigned, audit.MemberRoleRemoved,
		audit.RoleCreated, audit.RoleUpdated, audit.RoleDeleted,
		audit.WorkspaceCreated, audit.OrganizationCreated, audit.UserDisabled, audit.UserEnabled,
		audit.SessionRevoked, audit.KeyRevoked, audit.ClientRevoked, audit.SigningKeyRotated,
	}
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		d := store.Open(t)
		awaitListening(t, d)
		for _, action := range access {
			before := d.Epoch()
			if err := change(t.Context(), d, audit.Event{Action: action}, nothing); err != nil {
				t.Fatal(err)
			}
			if d.Epoch() == before {
				t.Errorf("%s changes access, and the epoch stayed", action)
			}
		}
	})
}

// A node on PostgreSQL can be notified of its own earlier changes at any time, so only SQLite
// shows that the epoch stays the same.
func TestTheEpochStaysIfAccessDoesNotChange(t *testing.T) {
	d := dbtest.SQLite(t).Open(t)
	for name, event := range map[string]audit.Event{
		"an entry":           {Action: audit.EntryCreated},
		"a session":          {Action: audit.SessionCreated},
		"a refused change":   {Action: audit.MemberRemoved, Outcome: audit.Denied},
		"a refused read":     {Action: audit.AccessDenied, Outcome: audit.Denied},
		"an exempt mutation": audit.None("a test"),
	} {
		before := d.Epoch()
		if err := change(t.Context(), d, event, nothing); err != nil {
			t.Fatal(err)
		}
		if d.Epoch() != before {
			t.Errorf("%s changed the epoch", name)
		}
	}
}

func TestTheEpochStaysIfAChangeOfAccessFails(t *testing.T) {
	d := dbtest.SQLite(t).Open(t)
	before := d.Epoch()
	err := change(t.Context(), d, audit.Event{Action: audit.MemberRemoved}, func(*db.Tx) error { return errOnPurpose })
	if !errors.Is(err, errOnPurpose) {
		t.Fatal(err)
	}
	if d.Epoch() != before {
		t.Error("a change that did not happen changed the epoch")
	}
}

func TestTheEpochChangesWithAccessOnAnotherNode(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		d, other := store.Open(t), store.Open(t)
		awaitListening(t, d)
		before := d.Epoch()
		if err := change(t.Context(), other, audit.Event{Action: audit.MemberRemoved}, nothing); err != nil {
			t.Fatal(err)
		}
		wait.Until(t, "the node notices a change on another", func() bool { return d.Epoch() != before })
	})
}

// A check of the connection may take nearly as long as the pause between two of them. If the node
// read the store for each request meanwhile, a busy server would have twice as much to do.
func TestTheEpochStaysWhileTheServerIsSlow(t *testing.T) {
	proxy := newCutProxy(t, dbtest.Postgres(t).Config.URL)
	d, err := db.Open(t.Context(), db.Config{URL: proxy.url})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	proxy.late.Store(int64(320 * time.Millisecond))
	since := time.Now()
	wait.Until(t, "the epoch stays during several checks", func() bool {
		if first, second := d.Epoch(), d.Epoch(); first != second {
			since = time.Now()
		}
		return time.Since(since) > 2*time.Second
	})
}
