package auditlog_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"bursar/internal/audit"
	"bursar/internal/auditlog"
	"bursar/internal/config"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
)

const day = 24 * time.Hour

// retain erases what is too old on several nodes at once.
func retain(t *testing.T, n *servertest.Node, minDays int) {
	t.Helper()
	var nodes sync.WaitGroup
	for range 3 {
		nodes.Go(func() {
			if err := auditlog.NewRetention(n.DB, minDays).Turn(t.Context()); err != nil {
				t.Errorf("erase what is too old: %v", err)
			}
		})
	}
	nodes.Wait()
}

// erasures returns what the log of a workspace says was erased, oldest first.
func erasures(rows []body) (told []string) {
	for _, row := range rows {
		if row["action"] == "audit.erased" {
			told = append(told, row["resource_id"].(string))
		}
	}
	return told
}

// whole returns the rows of a workspace that are not erased.
func whole(rows []body) []body {
	return slices.DeleteFunc(slices.Clone(rows), func(row body) bool { return row["erased"] == true })
}

func TestWhatIsTooOldIsErased(t *testing.T) {
	dbtest.TakesSeconds(t)
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		x, other := n.FirstTenant(t), n.Tenant(t)
		plant(x)
		x.Owner.Patch(x.OrganizationPath("/settings"), body{"audit_retention_days": 365}).OK()
		second := x.Owner.Post("/v1/workspaces", body{"name": "Second", "organization_id": x.OrganizationID}).OK().Text("id")
		const many = 1050
		for i := range many {
			event := audit.Event{Action: audit.EntryUpdated, WorkspaceID: x.WorkspaceID, ResourceID: "entry_1", Description: fmt.Sprint(planted, " ", i)}
			if err := db.Record(t.Context(), n.DB, db.Caller{Actor: audit.Actor{ID: "usr_planted", Name: planted}}, event, nil); err != nil {
				t.Fatal(err)
			}
		}
		n.SequenceAudit(t)
		n.Unchanged(t, func() { retain(t, n, 365) })
		old, last := feed(x, 0, "&limit=1000")
		if len(whole(old)) != len(old) {
			t.Fatal("rows are erased at once")
		}

		n.Clock.Advance(366 * day)
		x = n.FirstTenant(t)
		young := x.Owner.Post("/v1/directory", body{"workspace_id": x.WorkspaceID, "type": "person", "fields": body{}, "label": "Young"}).OK().Text("id")
		n.SequenceAudit(t)
		retain(t, n, 365)
		n.SequenceAudit(t)
		rows, _ := feed(x, 0, "&limit=1000")
		places(t, rows, 0)
		if diff := cmp.Diff(ids(old), ids(rows[:last])); diff != "" {
			t.Errorf("the feed before (-) and after (+):\n%s", diff)
		}
		left := whole(rows)
		if len(left) != 4 || left[0]["resource_id"] != young {
			t.Errorf("these rows are whole: %v", left)
		}
		if diff := cmp.Diff([]string{"seq 1-500", "seq 501-1000", fmt.Sprintf("seq 1001-%d", last)}, erasures(rows)); diff != "" {
			t.Errorf("the log should say (-), but says (+):\n%s", diff)
		}
		if inStore(t, n, store, planted) {
			t.Error("the store still has what was erased")
		}
		if found := x.Audit("&actor=usr_planted"); len(found) != 100 || found[0]["erased"] != true {
			t.Errorf("%d rows of the actor are found", len(found))
		}
		count := func(of string, id string) (all, erased int) {
			all = n.Count(t, `SELECT count(*) FROM audit_log WHERE `+of+` = $1`, id)
			return all, n.Count(t, `SELECT count(*) FROM audit_log WHERE erased IS NOT NULL AND `+of+` = $1`, id)
		}
		const number = `(SELECT w.id FROM workspace w WHERE w.number = workspace_number)`
		if all, erased := count(number, second); erased == 0 || erased != all-1 {
			t.Errorf("of the second workspace's %d rows %d are erased", all, erased)
		}
		if all, erased := count("organization_id", x.OrganizationID); erased < 3 || all == erased {
			t.Errorf("of the organization's %d rows %d are erased", all, erased)
		}
		if _, erased := count(number, other.WorkspaceID); erased != 0 {
			t.Errorf("%d rows of another organization are erased", erased)
		}
		n.Unchanged(t, func() { retain(t, n, 365) })

		// What says that rows were erased stays, and is not looked at again.
		n.Clock.Advance(400 * day)
		x = n.FirstTenant(t)
		retain(t, n, 365)
		n.SequenceAudit(t)
		rows, _ = feed(x, 0, "&limit=1000")
		for _, row := range rows {
			if told := row["action"] == "audit.erased"; told == (row["erased"] == true) {
				t.Errorf("the row %v", row)
			}
		}
		if told := erasures(rows); len(told) != 4 || told[3] != fmt.Sprintf("seq %d-%d", last+1, last+4) {
			t.Errorf("the log says that these were erased: %v", told)
		}
	})
}

func TestAnOperatorWhoAllowsLessNoMoreIsObeyed(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		less := func(c *config.Serve) { c.AuditRetentionMinDays = 30 }
		n := servertest.Start(t, store, less)
		x := n.FirstTenant(t)
		x.Owner.Patch(x.OrganizationPath("/settings"), body{"audit_retention_days": 30}).OK()
		n.Clock.Advance(32 * day)
		n.SequenceAudit(t)
		n.Unchanged(t, func() { retain(t, n, 365) })
		retain(t, n, 30)
		if told := n.Dump(t, "audit_log"); !strings.Contains(told, "audit entries that are older than 30 days") {
			t.Error("nothing was erased")
		}
	})
}
