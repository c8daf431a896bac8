package concurrent_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
)

// A stolen database, and what the server logs, tell no number of a file: not while it waits, not
// of the lines that were refused, not of what a rehearsal says.
func TestAStolenStoreRevealsNoAccountNumberOfAnImport(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		c := n.Admin(t)
		path := "/v1/directory/imports?workspace_id=" + n.First.WorkspaceID
		file := "type,name,email,method.provider,method.account_name,method.account_id\n" +
			"person,Planted Witness,,bank,Ada,PLANTED7788990011\n" +
			"person,Bob,nobody,bank,Bob,PLANTED1122334455\n" +
			"person,\"PLANTED5566778899\n"
		searched := func(when string) {
			t.Helper()
			stolen := everything(t, store, n)
			for _, number := range []string{"7788990011", "1122334455", "5566778899"} {
				for what, text := range map[string]string{"store": stolen, "log": n.Log.String()} {
					if strings.Contains(text, number) || strings.Contains(text, fmt.Sprintf("%x", number)) {
						t.Errorf("%s, the %s tells the number %s", when, what, number)
					}
				}
			}
			if ended := when != "while the file waits"; ended != strings.Contains(stolen, "Planted Witness") {
				t.Errorf("%s, the search finds what is in clear: %v", when, !ended)
			}
		}
		var ids []string
		for _, more := range []string{"&dry_run=true", ""} {
			ids = append(ids, c.Do(http.MethodPost, path+more, file, "Content-Type", "text/csv", "Idempotency-Key", "1"+more).OK().Text("id"))
		}
		searched("while the file waits")

		// The keys of before stay for as long as a part of the import needs them.
		operator := store.Vault(store.Open(t))
		if _, err := operator.Reseal(t.Context(), db.Caller{}, func(done, total int64) {}); err != nil {
			t.Fatal(err)
		}
		later := func() {
			t.Helper()
			n.Clock.Advance(49 * time.Hour)
			tidy(t, n)
			c = n.Admin(t)
		}
		later()
		n.RunImports(t)
		searched("after the import")
		later()
		for _, id := range ids {
			got := c.Get("/v1/directory/imports/" + id).OK().Object()
			if fmt.Sprint(got["status"], " ", got["created"], " ", got["refused"]) != "completed 1 2" {
				t.Errorf("the import is %v", got)
			}
			for _, number := range []string{"PLANTED1122334455", "PLANTED5566778899"} {
				if refused := string(c.Get("/v1/directory/imports/" + id + "/refused").Body); !strings.Contains(refused, number) {
					t.Errorf("%s is not among the refused lines:\n%s", number, refused)
				}
			}
		}
		if plan := string(c.Get("/v1/directory/imports/" + ids[0] + "/plan").Body); strings.Count(plan, "\n") != 3 {
			t.Errorf("the plan is %s", plan)
		}
	})
}

// A part of a file that was moved to another import is not taken for it.
func TestSealedPartsOfImportsCannotChangePlaces(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		c := n.Admin(t)
		var ids []string
		for _, name := range []string{"Ada", "Bob"} {
			ids = append(ids, c.Do(http.MethodPost, "/v1/directory/imports?workspace_id="+n.First.WorkspaceID, "type,name\nperson,"+name+"\n", "Content-Type", "text/csv").OK().Text("id"))
		}
		_, err := db.Write(t.Context(), n.DB, db.Caller{}, func(tx *db.Tx) (struct{}, audit.Event, error) {
			return struct{}{}, audit.None("a thief who can write"), tx.Exec(`UPDATE directory_import_chunk
				SET body_sealed = (SELECT body_sealed FROM directory_import_chunk WHERE import_id = $2) WHERE import_id = $1`, ids[0], ids[1])
		})
		if err != nil {
			t.Fatal(err)
		}
		n.RunImports(t)
		if failed := c.Get("/v1/directory/imports/" + ids[0]).OK(); failed.Text("status") != "failed" || !strings.Contains(failed.Text("reason"), "send the file again") {
			t.Errorf("the import is %s", failed.Body)
		}
		if names := c.Entries().OK().Column("label"); !slices.Equal(names, []string{"Bob"}) {
			t.Errorf("the directory has %v", names)
		}
	})
}

// Nor is what was refused of a file, or what a rehearsal found, taken for that of another.
func TestSealedResultsOfImportsCannotChangePlaces(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		c := n.Admin(t)
		var ids []string
		for _, name := range []string{"Ada", "Bob"} {
			file := "type,name\nperson," + name + "\nnobody," + name + "\n"
			ids = append(ids, c.Do(http.MethodPost, "/v1/directory/imports?dry_run=true&workspace_id="+n.First.WorkspaceID, file, "Content-Type", "text/csv").OK().Text("id"))
		}
		n.RunImports(t)
		for _, part := range []string{"refused", "plan"} {
			path := "/v1/directory/imports/" + ids[0] + "/" + part
			if got := string(c.Get(path).OK().Body); !strings.Contains(got, "Ada") {
				t.Errorf("the part %s of the first file is %s", part, got)
			}
			_, err := db.Write(t.Context(), n.DB, db.Caller{}, func(tx *db.Tx) (struct{}, audit.Event, error) {
				return struct{}{}, audit.None("a thief who can write"), tx.Exec(`UPDATE directory_import_chunk
					SET body_sealed = (SELECT body_sealed FROM directory_import_chunk WHERE import_id = $2 AND part = $3) WHERE import_id = $1 AND part = $3`, ids[0], ids[1], part)
			})
			if err != nil {
				t.Fatal(err)
			}
			if got := c.Get(path); got.Status == http.StatusOK || strings.Contains(string(got.Body), "Bob") {
				t.Errorf("the part %s of another file is answered %d %s", part, got.Status, got.Body)
			}
			if got := string(c.Get("/v1/directory/imports/" + ids[1] + "/" + part).OK().Body); !strings.Contains(got, "Bob") {
				t.Errorf("the part %s of the second file is %s", part, got)
			}
		}
	})
}
