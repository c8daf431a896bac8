package transfer_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
)

const bulkPath = "/v1/directory/bulk"

func undo(c *servertest.Client, a *servertest.Answer) *servertest.Answer {
	return c.Post(bulkPath+"/"+a.Text("id")+"/undo", nil)
}

// thePeople makes entries through an import.
func thePeople(t *testing.T, c *servertest.Client, n int) {
	t.Helper()
	file, _ := personFile(n)
	if got := servertest.Counts(c.Import(file)); got != fmt.Sprintf("completed %d 0 0 0", n) {
		t.Fatalf("the import is %s", got)
	}
}

func TestABulkChangesEntriesAndIsUndoneExactly(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		c := n.Admin(t)
		ada, bob := c.Entry(servertest.Body{"name": "Ada", "tags": []string{"vip"}}), c.Entry(servertest.Body{"name": "Bob"})
		eve := c.Entry(servertest.Body{"name": "Eve"})
		firm := c.Entry(servertest.Body{"type": "organization", "name": "Engines"})
		all := servertest.Body{"ids": []string{ada, bob, eve, firm}}
		tags := func(id string) string { return fmt.Sprint(c.Get("/v1/directory/" + id).OK().Object()["tags"]) }
		status := func(id string) string { return c.Get("/v1/directory/" + id).OK().Text("status") }
		with := func(name string) servertest.Body { return servertest.Body{"ids": all["ids"], "tag": name} }

		tagged := c.Bulk("tag", with("vip")).OK()
		if got := servertest.Changed(tagged); got != "completed 3 1 0" {
			t.Errorf("tag: %s", tagged.Body)
		}
		if got := n.Audited(t, bob); !slices.Equal(got, []string{"directory.entry.created", "directory.entry.updated"}) {
			t.Errorf("the log tells %v of an entry that was tagged", got)
		}
		c.Patch("/v1/directory/"+eve, servertest.Body{"tags": []string{}}).OK() // changed since
		if got := servertest.Changed(undo(c, tagged).OK()); got != "completed 2 1 0" {
			t.Errorf("undo of tag: %s", got)
		}
		if tags(ada) != "[vip]" || tags(bob) != "[]" || tags(eve) != "[]" || tags(firm) != "[]" {
			t.Errorf("after the undo the tags are %s %s %s %s", tags(ada), tags(bob), tags(eve), tags(firm))
		}
		untagged := c.Bulk("untag", with("VIP")).OK()
		if got := servertest.Changed(untagged); got != "completed 1 3 0" || tags(ada) != "[]" {
			t.Errorf("untag: %s", untagged.Body)
		}
		undone := undo(c, untagged).OK()
		if tags(ada) != "[vip]" || undone.Text("undoes") != untagged.Text("id") || undone.Text("tag") != "vip" {
			t.Errorf("undo of untag: %s", undone.Body)
		}
		if got := servertest.Changed(undo(c, undone).OK()); got != "completed 1 0 0" || tags(ada) != "[]" { // which does it again
			t.Errorf("the undo was undone: %s", got)
		}

		c.Patch("/v1/directory/"+ada, servertest.Body{"status": "inactive"}).OK()
		stopped := c.Bulk("deactivate", all).OK()
		if got := servertest.Changed(stopped); got != "completed 3 1 0" || status(firm) != "inactive" {
			t.Errorf("deactivate: %s", stopped.Body)
		}
		c.Patch("/v1/directory/"+bob, servertest.Body{"status": "active"}).OK()
		c.Patch("/v1/directory/"+eve, servertest.Body{"name": "Eva"}).OK() // changed in another respect
		c.Delete("/v1/directory/" + firm).OK()
		if got := servertest.Changed(undo(c, stopped).OK()); got != "completed 1 2 0" || status(ada) != "inactive" || status(eve) != "active" {
			t.Errorf("undo of deactivate: %s", got)
		}
		if got := servertest.Changed(undo(c, stopped).OK()); got != "completed 0 3 0" {
			t.Errorf("undo a second time: %s", got)
		}
		c.Post("/v1/directory/"+firm+"/restore", nil).OK()

		c.Patch("/v1/directory/"+eve, servertest.Body{"external_id": "E-1"}).OK()
		gone := c.Bulk("delete", all).OK()
		if got := servertest.Changed(gone); got != "completed 4 0 0" || len(c.Entries().OK().Column("id")) != 0 {
			t.Errorf("delete: %s", gone.Body)
		}
		n.Clock.Advance(time.Second)
		c.Post("/v1/directory/"+ada+"/restore", nil).OK()
		c.Delete("/v1/directory/" + ada).OK() // by hand, so it stays deleted
		taker := c.Entry(servertest.Body{"name": "Taker", "external_id": "E-1"})
		back := undo(c, gone).OK()
		if got := servertest.Changed(back); got != "completed 2 1 1" || !strings.Contains(back.Text("reason"), "external_id") {
			t.Errorf("undo of delete: %s", back.Body)
		}
		if got := c.Entries().OK().Column("id"); len(got) != 3 || !slices.Contains(got, bob) || !slices.Contains(got, firm) || !slices.Contains(got, taker) {
			t.Errorf("after the undo there are %v", got)
		}
		n.Clock.Advance(31 * 24 * time.Hour)
		if err := n.Server.Tidy(t.Context()); err != nil {
			t.Fatal(err)
		}
		undo(n.Admin(t), gone).Fails(404, "RESOURCE_NOT_FOUND")
	})
}

func TestABulkOfAFilterIsAboutWhatTheListShows(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		c := n.Admin(t)
		c.Entry(servertest.Body{"name": "Ada Lovelace", "tags": []string{"vip"}})
		c.Entry(servertest.Body{"name": "Ada Engines", "type": "organization"})
		c.Entry(servertest.Body{"name": "Bob", "tags": []string{"vip"}, "external_id": "E-1"})
		for want, filter := range map[string]servertest.Body{
			"completed 3 0 0": {},
			"completed 2 0 0": {"tag": "vip"},
			"completed 1 0 0": {"q": "ada", "type": "person"},
			"completed 0 0 0": {"tag": "nobody has it"},
		} {
			done := c.Bulk("deactivate", servertest.Body{"filter": filter}).OK()
			if got := servertest.Changed(done); got != want {
				t.Errorf("%v: %s", filter, done.Body)
			}
			undo(c, done).OK()
		}
		if got := servertest.Changed(c.Bulk("deactivate", servertest.Body{"filter": servertest.Body{"external_id": "E-1", "status": "active"}}).OK()); got != "completed 1 0 0" {
			t.Errorf("by external id: %s", got)
		}
		for field, body := range map[string]servertest.Body{
			"ids":      {"action": "delete"},
			"filter.q": {"action": "delete", "filter": servertest.Body{"q": "!!"}},
			"tag":      {"action": "tag", "filter": servertest.Body{}},
		} {
			c.Bulk("", body).Invalid(field)
		}
		c.Bulk("delete", servertest.Body{"ids": []string{}, "filter": servertest.Body{}}).Invalid("ids")
		c.Bulk("activate", servertest.Body{"filter": servertest.Body{}, "tag": "vip"}).Invalid("tag")
		c.Bulk("untag", servertest.Body{"filter": servertest.Body{}, "tag": "unknown"}).Invalid("tag")
	})
}

func TestABulkNeedsThePermissionOfEachChangeAndStaysInItsWorkspace(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		admin, member := n.Admin(t), n.Member(t, "member@example.com", "member")
		mine := admin.Entry(servertest.Body{"name": "Ada"})
		person := servertest.Body{"workspace_id": n.First.WorkspaceID, "name": "firms only", "applies_to": "organization"}
		admin.Post("/v1/directory/tags", person).OK()
		all := servertest.Body{"filter": servertest.Body{}}
		member.Bulk("delete", all).Fails(403, "FORBIDDEN")
		if got := servertest.Changed(member.Bulk("deactivate", all).OK()); got != "completed 1 0 0" {
			t.Errorf("a member deactivates: %s", got)
		}
		n.Member(t, "viewer@example.com", "viewer").Bulk("deactivate", all).Fails(403, "FORBIDDEN")
		refused := admin.Bulk("tag", servertest.Body{"ids": []string{mine}, "tag": "firms only"}).OK()
		if got := servertest.Changed(refused); got != "completed 0 0 1" || !strings.Contains(refused.Text("reason"), "applies to organization only") {
			t.Errorf("a tag that does not apply: %s", refused.Body)
		}
		gone := admin.Bulk("delete", all).OK()
		undo(member, gone).Fails(403, "FORBIDDEN")
		undo(admin, gone).OK()

		other := n.Tenant(t)
		theirs := other.Owner.Post("/v1/directory", servertest.Body{"workspace_id": other.WorkspaceID, "type": "person", "name": "Bob", "fields": servertest.Body{}}).OK().Text("id")
		n.Unchanged(t, func() {
			other.Owner.Bulk("delete", all).Fails(404, "RESOURCE_NOT_FOUND")
			undo(other.Owner, gone).Fails(404, "RESOURCE_NOT_FOUND")
			other.Owner.Get(bulkPath+"/"+gone.Text("id")).Fails(404, "RESOURCE_NOT_FOUND")
			other.Owner.Post(bulkPath+"/"+gone.Text("id")+"/cancel", nil).Fails(404, "RESOURCE_NOT_FOUND")
			admin.Get("/v1/directory/imports/"+gone.Text("id")).Fails(404, "RESOURCE_NOT_FOUND")
		})
		if got := servertest.Changed(admin.Bulk("delete", servertest.Body{"ids": []string{theirs}}).OK()); got != "completed 0 0 1" {
			t.Errorf("an entry of another tenant: %s", got)
		}
		other.Owner.Get("/v1/directory/" + theirs).OK()
		if got := admin.Get("/v1/directory/imports?workspace_id=" + n.First.WorkspaceID).OK().Column("id"); len(got) != 0 {
			t.Errorf("bulks are among the imports: %v", got)
		}
	})
}

// More than a thousand entries are a job. Its node dies in the middle; another one goes on, and no
// entry is changed twice or left out. So it is with its undo, which is a job, too.
func TestALargeBulkIsAJobThatAnotherNodeTakesOver(t *testing.T) {
	dbtest.TakesSeconds(t)
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		c := n.Admin(t)
		thePeople(t, c, 1100)
		inactive := func() int { return n.Count(t, `SELECT count(*) FROM directory_entry WHERE status = 'inactive'`) }
		job := c.Bulk("deactivate", servertest.Body{"filter": servertest.Body{}}).OK()
		if job.Text("status") != "queued" || job.Number("entries") != 1100 || inactive() != 0 {
			t.Fatalf("the bulk is %s", job.Body)
		}
		undo(c, job).Invalid("id")
		c.Entry(servertest.Body{"name": "Later"}) // did not match at that moment

		dieAmid(t, n, func() bool { return inactive() > 0 })
		n.Clock.Advance(6 * time.Second)
		work(t, n, 3)
		if got := servertest.Changed(c.Get(bulkPath + "/" + job.Text("id")).OK()); got != "completed 1100 0 0" || inactive() != 1100 {
			t.Errorf("the bulk is %s, and %d entries are inactive", got, inactive())
		}
		rows := `SELECT count(*) FROM audit_entry WHERE action = 'directory.entry.updated'`
		if got := n.Count(t, rows); got != 1100 {
			t.Errorf("the log tells of %d changes", got)
		}
		if got := n.Audited(t, job.Text("id")); !slices.Equal(got, []string{"directory.bulk.started", "directory.bulk.completed"}) {
			t.Errorf("the log tells %v of the bulk", got)
		}
		back := undo(c, job).OK()
		n.RunImports(t)
		if got := servertest.Changed(c.Get(bulkPath + "/" + back.Text("id")).OK()); back.Text("status") != "queued" || got != "completed 1100 0 0" || inactive() != 0 {
			t.Errorf("the undo is %s, and %d entries are inactive", got, inactive())
		}
	})
}

func TestALargeBulkIsCancelledAndItsTagCanDisappear(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		c := n.Admin(t)
		thePeople(t, c, 1001)
		job := c.Bulk("delete", servertest.Body{"filter": servertest.Body{}}).OK()
		for range 2 {
			if got := c.Post(bulkPath+"/"+job.Text("id")+"/cancel", nil).OK().Text("status"); got != "cancelled" {
				t.Errorf("it is %s", got)
			}
		}
		n.RunImports(t)
		if got := n.Count(t, `SELECT count(*) FROM directory_entry WHERE deleted_at IS NULL`); got != 1001 {
			t.Errorf("%d entries are left", got)
		}
		if got := n.Audited(t, job.Text("id")); !slices.Equal(got, []string{"directory.bulk.started", "directory.bulk.cancelled"}) {
			t.Errorf("the log tells %v", got)
		}
		job = c.Bulk("tag", servertest.Body{"filter": servertest.Body{}, "tag": "brief"}).OK()
		tag := c.Get("/v1/directory/tags?workspace_id=" + n.First.WorkspaceID).OK().Column("id")[0]
		c.Delete("/v1/directory/tags/" + tag).OK()
		n.RunImports(t)
		if failed := c.Get(bulkPath + "/" + job.Text("id")).OK(); servertest.Changed(failed) != "failed 0 0 0" || !strings.Contains(failed.Text("reason"), "tag brief") {
			t.Errorf("its tag was deleted: %s", failed.Body)
		}
	})
}

func TestABulkSentAgainUnderItsKeyIsTheSame(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		c := n.Admin(t)
		c.Entry(servertest.Body{"name": "Ada"})
		body := servertest.Body{"workspace_id": n.First.WorkspaceID, "action": "deactivate", "filter": servertest.Body{}}
		first := c.Do("POST", bulkPath, body, "Idempotency-Key", "once").OK()
		if again := c.Do("POST", bulkPath, body, "Idempotency-Key", "once").OK(); string(again.Body) != string(first.Body) {
			t.Errorf("%s is not %s", again.Body, first.Body)
		}
	})
}

// What is no id of an entry is refused, also where it would be several lines of the bulk's file.
func TestABulkTakesOnlyIDs(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		c := n.Admin(t)
		for _, id := range []string{strings.Repeat("\n", 32), "entry_" + strings.Repeat(" ", 26), "entry_" + strings.Repeat("A", 25) + "\n"} {
			ids := make([]string, 1000)
			for i := range ids {
				ids[i] = id
			}
			c.Bulk("activate", servertest.Body{"ids": ids}).Invalid("ids")
		}
	})
}

// A bulk takes a while, so its entries are deleted at different moments: each comes back all the same.
func TestUndoingABulkRestoresAllItDeletedHoweverLongItTook(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		c := n.Admin(t)
		thePeople(t, c, 100)
		ctx, cancel := context.WithCancel(t.Context())
		var hurry sync.WaitGroup
		hurry.Go(func() {
			for ctx.Err() == nil {
				n.Clock.Advance(10 * time.Microsecond) // so that time passes between any two steps
			}
		})
		gone := c.Bulk("delete", servertest.Body{"filter": servertest.Body{}})
		cancel()
		hurry.Wait()
		if got := servertest.Changed(gone.OK()); got != "completed 100 0 0" {
			t.Fatalf("delete: %s", gone.Body)
		}
		if got := servertest.Changed(undo(c, gone).OK()); got != "completed 100 0 0" {
			t.Errorf("undo: %s", got)
		}
	})
}

// Each entry that comes back may ask for the approval of fifty accounts, so many of them are a job.
func TestManyEntriesAreRestoredByAJob(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		c := n.Admin(t)
		thePeople(t, c, 101)
		gone := c.Bulk("delete", servertest.Body{"filter": servertest.Body{}}).OK()
		back := undo(c, gone).OK()
		if got := back.Text("status"); got != "queued" {
			t.Errorf("the undo is %s", got)
		}
		n.RunImports(t)
		if got := servertest.Changed(c.Get(bulkPath + "/" + back.Text("id")).OK()); got != "completed 101 0 0" {
			t.Errorf("the undo: %s", got)
		}
	})
}
