package auditlog_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"bursar/internal/audit"
	"bursar/internal/auditlog"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
)

// feed reads the log of a tenant after a place, by pages of a size, and returns the rows and
// where it ended.
func feed(x *servertest.Tenant, after int64, query string) (rows []body, end int64) {
	for {
		page := x.Owner.Get(fmt.Sprintf("/v1/audit/feed?workspace_id=%s&after=%d%s", x.WorkspaceID, after, query)).OK().Object()
		for _, row := range page["entries"].([]any) {
			rows = append(rows, row.(body))
		}
		after = int64(page["after"].(float64))
		if !page["has_more"].(bool) {
			return rows, after
		}
	}
}

func ids(rows []body) (ids []string) {
	for _, row := range rows {
		ids = append(ids, row["id"].(string))
	}
	return ids
}

// stored returns the ids of all rows of a workspace in their order.
func stored(t *testing.T, n *servertest.Node, workspaceID string) (ids []string) {
	t.Helper()
	err := n.DB.Read(t.Context(), func(q db.Q) (err error) {
		ids, err = db.Collect(q, func(r db.Rows) string { return db.UnpackID("aud", r, 0) },
			`SELECT id FROM audit_log WHERE workspace_number = (SELECT number FROM workspace WHERE id = $1) ORDER BY id`, workspaceID)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

// places fails the test unless the rows have the places after one, without a gap.
func places(t *testing.T, rows []body, after int64) {
	t.Helper()
	for i, row := range rows {
		if got := int64(row["seq"].(float64)); got != after+int64(i)+1 {
			t.Fatalf("row %d after %d has the place %d", i, after, got)
		}
	}
}

func TestTheFeedHasEveryRowOnceInOrder(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.EventfulTenant(t)
		n.SequenceAudit(t)
		listed := x.Audit("")
		slices.Reverse(listed)
		rows, end := feed(x, 0, "&limit=3")
		places(t, rows, 0)
		if diff := cmp.Diff(listed, rows); diff != "" {
			t.Errorf("the list (-) and the feed (+) differ:\n%s", diff)
		}
		x.Owner.Do("POST", "/v1/directory/tags", body{"workspace_id": x.WorkspaceID, "name": "Later"}).OK()
		if rows, _ := feed(x, end, ""); len(rows) != 0 {
			t.Errorf("rows without a place are in the feed: %v", rows)
		}
		n.SequenceAudit(t)
		rows, _ = feed(x, end, "")
		places(t, rows, end)
		if len(rows) != 1 || rows[0]["action"] != "directory.tag.created" {
			t.Errorf("the feed goes on with %v", rows)
		}
	})
}

func TestTheFeedTakesTheFiltersOfTheList(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.EventfulTenant(t)
		n.SequenceAudit(t)
		for _, filter := range []string{"&outcome=denied", "&outcome=success", "&action=directory.entry.created", "&actor=" + x.Owner.UserID, "&resource_type=member"} {
			listed := x.Audit(filter)
			slices.Reverse(listed)
			rows, _ := feed(x, 0, filter)
			if diff := cmp.Diff(ids(listed), ids(rows)); diff != "" {
				t.Errorf("%s: the list (-) and the feed (+) differ:\n%s", filter, diff)
			}
		}
	})
}

func TestTheFeedIsForThoseWhoMayReadTheLog(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, other := n.Tenant(t), n.Tenant(t)
		n.SequenceAudit(t)
		other.Owner.Get("/v1/audit/feed?workspace_id="+x.WorkspaceID).Fails(404, "RESOURCE_NOT_FOUND")
		x.Owner.Get("/v1/audit/feed").Invalid("workspace_id")
		x.Owner.Get("/v1/audit/feed?after=-1&limit=0&wait=31&workspace_id="+x.WorkspaceID).Invalid("after", "limit", "wait")
		_, end := feed(x, 0, "")
		x.Owner.Get(fmt.Sprintf("/v1/audit/feed?after=%d&workspace_id=%s", end, x.WorkspaceID)).OK()
		x.Owner.Get(fmt.Sprintf("/v1/audit/feed?after=%d&wait=30&workspace_id=%s", end+1, x.WorkspaceID)).Invalid("after")
	})
}

// Several nodes sequence at once while others write: no place is given twice or left out, and
// a reader who follows sees each row once.
func TestAFollowerSeesEachRowOnceWhileManyWrite(t *testing.T) {
	dbtest.TakesSeconds(t)
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		x := n.Tenant(t)
		const writers, each = 16, 25
		done, stop := context.WithCancel(t.Context())
		var sequencing, writing sync.WaitGroup
		for range 3 {
			node := auditlog.NewSequencer(n.DB, n.Server.AuditSigner())
			sequencing.Go(func() {
				for done.Err() == nil {
					if err := node.Turn(context.WithoutCancel(done)); err != nil {
						t.Errorf("sequence: %v", err)
						return
					}
				}
			})
		}
		for w := range writers {
			writing.Go(func() {
				for i := range each {
					x.Owner.Do("POST", "/v1/directory", body{"workspace_id": x.WorkspaceID, "type": "person", "fields": body{}, "name": strconv.Itoa(w*each + i)}).OK()
				}
			})
		}
		go func() { writing.Wait(); stop() }()
		var followed []body
		var after int64
		for done.Err() == nil {
			var rows []body
			rows, after = feed(x, after, "&limit=7")
			followed = append(followed, rows...)
		}
		sequencing.Wait()
		n.SequenceAudit(t)
		rows, _ := feed(x, after, "")
		followed = append(followed, rows...)
		places(t, followed, 0)
		want, got := stored(t, n, x.WorkspaceID), ids(followed)
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("listed (-), followed (+):\n%s", diff)
		}
	})
}

// Only on PostgreSQL can a transaction commit after one that began later: SQLite has one
// writer.
func TestARowThatCommitsLateIsNotPassedOver(t *testing.T) {
	n := servertest.Start(t, dbtest.Postgres(t))
	x := n.Tenant(t)
	n.SequenceAudit(t)
	_, end := feed(x, 0, "")
	begun, commit, committed := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		_, err := db.Write(t.Context(), n.DB, db.Caller{Actor: audit.SystemActor("late")}, func(tx *db.Tx) (struct{}, audit.Event, error) {
			_, err := tx.Row(`UPDATE workspace SET name = name WHERE id = $1 RETURNING name`, x.WorkspaceID).Scan(new(string))
			close(begun)
			<-commit
			return struct{}{}, audit.Event{Action: audit.WorkspaceUpdated, WorkspaceID: x.WorkspaceID}, err
		})
		committed <- err
	}()
	<-begun
	x.Owner.Do("POST", "/v1/directory/tags", body{"workspace_id": x.WorkspaceID, "name": "Early"}).OK()
	n.TurnAudit(t, func() bool { return true })
	if rows, _ := feed(x, end, ""); len(rows) != 0 {
		t.Errorf("a row has a place before an older transaction has ended: %v", rows)
	}
	close(commit)
	if err := <-committed; err != nil {
		t.Fatal(err)
	}
	n.SequenceAudit(t)
	rows, _ := feed(x, end, "")
	places(t, rows, end)
	if len(rows) != 2 || rows[0]["action"] != "iam.workspace.updated" || rows[1]["action"] != "directory.tag.created" {
		t.Errorf("the feed goes on with %v", rows)
	}
}

// VACUUM may number the rows of SQLite again, and the transactions of another PostgreSQL server,
// into which a store was restored, have lower numbers.
func TestSequenceNumbersContinueIfTheEngineRestartsItsCounter(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		n.SequenceAudit(t)
		_, end := feed(x, 0, "")
		_, err := db.Write(t.Context(), n.DB, db.Caller{}, func(tx *db.Tx) (struct{}, audit.Event, error) {
			return struct{}{}, audit.None("a step of a test"), tx.Exec(`UPDATE audit_sequence SET sorts_as = sorts_as + 1000000000`)
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"Before it is noticed", "After"} {
			x.Owner.Do("POST", "/v1/directory/tags", body{"workspace_id": x.WorkspaceID, "name": name}).OK()
			n.SequenceAudit(t)
		}
		rows, _ := feed(x, end, "")
		places(t, rows, end)
		if len(rows) != 2 || rows[0]["description"] != "Created tag Before it is noticed" || rows[1]["description"] != "Created tag After" {
			t.Errorf("the feed goes on with %v", rows)
		}
	})
}

// follow asks for rows after a place with a request that waits, and returns its answer when
// it is there.
func follow(x *servertest.Tenant, after int64) <-chan *servertest.Answer {
	answer := make(chan *servertest.Answer, 1)
	go func() {
		answer <- x.Owner.Get(fmt.Sprintf("/v1/audit/feed?workspace_id=%s&after=%d&wait=30", x.WorkspaceID, after))
	}()
	return answer
}

func TestTheFeedWaitsForRows(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		n.RunBackground(t)
		x := n.Tenant(t)
		n.SequenceAudit(t)
		_, end := feed(x, 0, "")
		answer := follow(x, end)
		x.Owner.Do("POST", "/v1/directory/tags", body{"workspace_id": x.WorkspaceID, "name": "Awaited"}).OK()
		rows := (<-answer).OK().Object()["entries"].([]any)
		for len(rows) == 0 { // the change of access that made the tenant is noticed late
			rows = (<-follow(x, end)).OK().Object()["entries"].([]any)
		}
		if len(rows) != 1 || rows[0].(body)["action"] != "directory.tag.created" {
			t.Errorf("the feed has %v", rows)
		}
	})
}

func TestAStoppingServerEndsLongPolls(t *testing.T) {
	n := servertest.Start(t, dbtest.SQLite(t))
	n.RunBackground(t)
	x := n.Tenant(t)
	n.SequenceAudit(t)
	_, end := feed(x, 0, "")
	answer := follow(x, end)
	n.Server.Drain()
	if page := (<-answer).OK().Object(); len(page["entries"].([]any)) != 0 {
		t.Errorf("the feed has %v", page)
	}
}

func TestAFollowerWhoLostAccessIsShownNothingMore(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		n.RunBackground(t)
		x := n.Tenant(t)
		auditor := x.Member("auditor")
		n.SequenceAudit(t)
		_, end := feed(x, 0, "")
		answer := make(chan *servertest.Answer, 1)
		go func() {
			answer <- auditor.Get(fmt.Sprintf("/v1/audit/feed?workspace_id=%s&after=%d&wait=30", x.WorkspaceID, end))
		}()
		x.Owner.Delete(x.Path("/members/" + auditor.UserID)).OK()
		x.Owner.Do("POST", "/v1/directory/tags", body{"workspace_id": x.WorkspaceID, "name": "Secret"}).OK()
		if got := <-answer; got.Status == 200 && len(got.Object()["entries"].([]any)) != 0 {
			t.Errorf("the feed shows %s", got.Body)
		}
	})
}
