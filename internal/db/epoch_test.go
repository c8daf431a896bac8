package db_test

import (
	"context"
	"errors"
	"testing"

	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/db/dbtest/pgcluster"
)

// blind says that nothing is remembered: every look at the epoch is a new one.
func blind(d *db.DB) bool {
	first, second := d.Epoch(), d.Epoch()
	return first != second
}

func awaitHearing(t *testing.T, d *db.DB) {
	t.Helper()
	eventually(t, "the node hears of changes", func() bool { return !blind(d) })
}

func nothing(*db.Tx) error { return nil }

func TestEpochChangesWithAccess(t *testing.T) {
	access := []audit.Action{
		audit.MemberAdded, audit.MemberRemoved, audit.MemberRoleAssigned, audit.MemberRoleRemoved,
		audit.RoleCreated, audit.RoleUpdated, audit.RoleDeleted,
		audit.WorkspaceCreated, audit.OrganizationCreated, audit.UserDisabled, audit.UserEnabled,
		audit.SessionRevoked, audit.KeyRevoked, audit.ClientRevoked, audit.SigningKeyRotated,
	}
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		d := store.Open(t)
		awaitHearing(t, d)
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

// On PostgreSQL the node hears of its own earlier changes too, so that staying
// the same can only be seen on SQLite.
func TestEpochStaysWhereAccessDoes(t *testing.T) {
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

func TestEpochStaysWhenAChangeOfAccessFails(t *testing.T) {
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

func TestEpochChangesWithAccessOnAnotherNode(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		d, other := store.Open(t), store.Open(t)
		awaitHearing(t, d)
		before := d.Epoch()
		if err := change(t.Context(), other, audit.Event{Action: audit.MemberRemoved}, nothing); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the node notices a change on another", func() bool { return d.Epoch() != before })
	})
}

func TestNothingIsRememberedWhilePostgreSQLIsAway(t *testing.T) {
	cluster, err := pgcluster.Start(t.Context(), "", pgcluster.Options{Durable: true})
	dbtest.Started(t, err)
	t.Cleanup(func() {
		if err := cluster.Stop(); err != nil {
			t.Errorf("stop PostgreSQL: %v", err)
		}
	})
	url, _, err := cluster.NewSchema(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	d := dbtest.Store{Engine: "postgres", Config: db.Config{URL: url}}.Open(t)
	mustPut(t, d, "before")
	awaitHearing(t, d)
	before := d.Epoch()

	if err := cluster.Kill(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the node knows that it hears nothing", func() bool { return blind(d) })
	if err := d.Ping(t.Context()); err == nil {
		t.Error("a store that is away answers")
	}
	if err := put(t.Context(), d, "during"); err == nil {
		t.Error("a store that is away takes a write")
	}

	if err := cluster.Restart(context.Background()); err != nil {
		t.Fatal(err)
	}
	awaitHearing(t, d)
	if d.Epoch() <= before {
		t.Error("the epoch is the one from before the outage")
	}
	eventually(t, "the store takes writes again", func() bool { return put(t.Context(), d, "after") == nil })
	if !has(t, d, "before") {
		t.Error("what was written before is gone")
	}
}
