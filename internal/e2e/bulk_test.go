package e2e_test

import (
	"fmt"
	"strings"
	"testing"

	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
	"bursar/internal/torture"
	"bursar/internal/wait"
)

// Killed at any moment, the server goes on with a bulk, and changes no entry twice and leaves none out.
func TestAKilledServerGoesOnWithABulk(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		const many = 2000
		made := initialise(t, store)
		p := start(t, store)
		// One session for the whole test: while people write, and a sign-in is a write, a bulk lets them go first.
		admin := servertest.Remote(t, p.URL, made).Admin(t)
		var file strings.Builder
		file.WriteString("type,name\n")
		for i := range many {
			fmt.Fprintf(&file, "person,Person %d\n", i)
		}
		path := "/v1/directory/imports?workspace_id=" + made.WorkspaceID
		id := admin.Do("POST", path, file.String(), "Content-Type", "text/csv").OK().Text("id")
		wait.Until(t, "the entries exist", func() bool { return admin.Get("/v1/directory/imports/"+id).OK().Text("status") == "completed" })

		job := admin.Post("/v1/directory/bulk", servertest.Body{"workspace_id": made.WorkspaceID, "action": "deactivate", "filter": servertest.Body{}}).OK().Text("id")
		bulk := func() *servertest.Answer { return admin.Get("/v1/directory/bulk/" + job).OK() }
		defer func() {
			if t.Failed() {
				t.Logf("the bulk: %s\nthe server: %s", bulk().Body, p.Log.String())
			}
		}()
		rounds := torture.Rounds(2, 20)
		for n := range rounds {
			wait.Until(t, "some are changed", func() bool { return bulk().Number("changed") >= int64(1+n*many/(rounds+1)) })
			p.kill()
			p = start(t, store, "--listen", strings.TrimPrefix(p.URL, "http://"))
		}
		wait.Until(t, "the bulk has ended", func() bool { return bulk().Number("changed") == many && bulk().Text("status") == "completed" })
		if got := len(everyRow(admin, "/v1/directory?status=inactive&limit=100&workspace_id="+made.WorkspaceID)); got != many {
			t.Errorf("%d entries are inactive", got)
		}
		if got := len(everyRow(admin, "/v1/audit?action=directory.entry.updated&limit=100&workspace_id="+made.WorkspaceID)); got != many {
			t.Errorf("the log tells of %d changes", got)
		}
	})
}
