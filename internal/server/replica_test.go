package server_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
	"bursar/internal/wait"
)

func TestListsOfAReplica(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), wait.Limit())
	defer cancel()
	p := dbtest.Pair(t)
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(p.Primary.WaitForStandbys(ctx, false)) // or commits would wait for a replica that is behind
	store := dbtest.Store{
		Engine: "postgres", VaultKey: filepath.Join(t.TempDir(), "vault.key"),
		Config: db.Config{URL: p.URL(), ReadURL: p.Standby.URL("postgres", "")},
	}
	here := servertest.Start(t, store)
	x := here.Tenant(t)
	served := here.DB.Lists()
	wait.Until(t, "the replica serves lists", served.Used.Load)
	var want []string
	for i := range 30 {
		want = append(want, x.Entry(fmt.Sprintf("Entry %d", i)))
	}
	slices.Reverse(want)
	path := "/v1/directory?limit=5&workspace_id=" + x.WorkspaceID
	paused := false
	pause := func() {
		if paused = !paused; paused {
			check(p.Standby.PauseReplay(ctx))
			return
		}
		check(p.Standby.ResumeReplay(ctx))
	}

	t.Run("have cursors that the primary takes as well, and the other way round", func(t *testing.T) {
		before := [2]uint64{served.Primary.Load(), served.Replica.Load()}
		got := x.Owner.On(t).Walk(path, func([]string) {
			pause()
			if paused {
				x.Owner.On(t).Post("/v1/directory/tags", servertest.Body{"workspace_id": x.WorkspaceID, "name": fmt.Sprint("Tag ", served.Primary.Load())}).OK()
				return
			}
			wait.Until(t, "the replica serves lists again", served.Used.Load)
		})
		if !slices.Equal(got, want) {
			t.Errorf("the pages have %v, want %v", got, want)
		}
		if served.Primary.Load() == before[0] || served.Replica.Load() == before[1] {
			t.Error("one of the servers has served no page")
		}
	})
	if paused {
		pause()
	}
	wait.Until(t, "the replica serves lists again", served.Used.Load)

	t.Run("are refused at once to whom access is taken from, although the replica is behind", func(t *testing.T) {
		member := x.Member("viewer")
		member.Get(path).OK()
		pause()
		x.Owner.On(t).Delete(x.Path("/members/" + member.UserID)).OK()
		member.Get(path).Fails(404, "RESOURCE_NOT_FOUND")
		x.Owner.On(t).Get(path).OK()
		pause()
	})
}
