package transfer_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
)

func personFile(lines int) (file string, names []string) {
	var text strings.Builder
	text.WriteString("type,name\n")
	for i := range lines {
		names = append(names, fmt.Sprintf("Person %05d", i))
		text.WriteString("person," + names[i] + "\n")
	}
	return text.String(), names
}

// sparse returns a file with so many empty lines that a transaction ends after some fifty persons, by the bytes that it has read.
func sparse(file string) string {
	return strings.ReplaceAll(file, "\n", strings.Repeat("\n", 20_000))
}

// exactly demands that the directory has these entries, and the log a row for each.
func exactly(t *testing.T, n *servertest.Node, names []string) {
	t.Helper()
	got, err := list(t, n, `SELECT name FROM directory_entry ORDER BY name`)
	if err != nil || !slices.Equal(got, names) {
		t.Errorf("the directory has %d entries of %d lines, or others: %v", len(got), len(names), err)
	}
	if rows := n.Count(t, `SELECT count(*) FROM audit_entry WHERE action = 'directory.entry.created'`); rows != len(names) {
		t.Errorf("the log tells of %d entries", rows)
	}
}

func list(t *testing.T, n *servertest.Node, sql string) (all []string, err error) {
	t.Helper()
	err = n.DB.Read(t.Context(), func(q db.Q) (err error) {
		all, err = db.Collect(q, func(r db.Rows) string { return r.Text(0) }, sql)
		return err
	})
	return all, err
}

// dieAmid lets a node work on a job until that has begun, and ends the node before the job has ended.
func dieAmid(t *testing.T, n *servertest.Node, begun func() bool) {
	t.Helper()
	ctx, die := context.WithCancel(t.Context())
	dead := make(chan error, 1)
	go func() {
		_, err := n.Worker().ImportTurn(ctx)
		dead <- err
	}()
	for !begun() {
		if t.Context().Err() != nil {
			t.Fatal("the job does not begin")
		}
	}
	die()
	if err := <-dead; err == nil {
		t.Fatal("the job has ended before its node died")
	}
}

// A node that dies leaves its import to another one as soon as its lease has ended, and not before.
func TestAnotherNodeTakesAnImportOver(t *testing.T) {
	dbtest.TakesSeconds(t)
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		c := n.Admin(t)
		file, names := personFile(600)
		id := c.Do("POST", "/v1/directory/imports?workspace_id="+n.First.WorkspaceID, sparse(file), "Content-Type", "text/csv").OK().Text("id")
		lines := func() int64 { return c.Get("/v1/directory/imports/" + id).OK().Number("lines") }

		dieAmid(t, n, func() bool { return lines() > 0 })
		done := lines()
		other := n.Worker()
		if worked, err := other.ImportTurn(t.Context()); worked || err != nil {
			t.Errorf("the import was taken from a node that holds it: %v", err)
		}
		n.Clock.Advance(6 * time.Second)
		if worked, err := other.ImportTurn(t.Context()); !worked || err != nil {
			t.Errorf("the import was not taken over: %v", err)
		}
		work(t, n, 1)
		if got := servertest.Counts(c.Get("/v1/directory/imports/" + id).OK()); got != "completed 600 0 0 0" {
			t.Errorf("after %d lines on the first node, the import is %s", done, got)
		}
		exactly(t, n, names)
	})
}

// Several nodes that look for imports at once work on each alone, and on those of one workspace
// in their order.
func TestSeveralNodesWorkOnEachImportOnce(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		c := n.Admin(t)
		file, names := personFile(100)
		path := "/v1/directory/imports?match=external_id&workspace_id=" + n.First.WorkspaceID
		for _, file := range []string{sparse(file), "type,name,external_id\nperson,First,X\n", "type,name,external_id\nperson,Second,X\n"} {
			c.Do("POST", path, file, "Content-Type", "text/csv").OK()
		}
		for _, err := range servertest.SideBySide(6, func(int) error {
			node := n.Worker()
			for {
				worked, err := node.ImportTurn(t.Context())
				if open := n.Count(t, `SELECT count(*) FROM directory_import WHERE ended_at = 0`); err != nil || !worked && open == 0 {
					return err
				}
			}
		}) {
			if err != nil {
				t.Error(err)
			}
		}
		both, err := list(t, n, `SELECT name FROM directory_entry WHERE external_id = 'X'`)
		if err != nil || !slices.Equal(both, []string{"Second"}) {
			t.Errorf("two files about one entry have made %v, %v", both, err)
		}
		exactly(t, n, append(names, "Second"))
	})
}

// A transaction that takes longer than the lease lets another slot of the same node claim the import.
func TestSlotsOfANodeThatIsSlowerThanItsLeaseImportEachLineOnce(t *testing.T) {
	dbtest.TakesSeconds(t)
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		c := n.Admin(t)
		file, names := personFile(300)
		id := c.Do("POST", "/v1/directory/imports?workspace_id="+n.First.WorkspaceID, sparse(file), "Content-Type", "text/csv").OK().Text("id")
		node := n.Worker()
		var turns atomic.Int64
		for _, err := range servertest.SideBySide(2, func(int) error {
			for {
				if turns.Add(1) < 40 {
					n.Clock.Advance(6 * time.Second)
				}
				worked, err := node.ImportTurn(t.Context())
				if open := n.Count(t, `SELECT count(*) FROM directory_import WHERE ended_at = 0`); err != nil || !worked && open == 0 {
					return err
				}
			}
		}) {
			if err != nil {
				t.Error(err)
			}
		}
		if got := servertest.Counts(c.Get("/v1/directory/imports/" + id).OK()); got != "completed 300 0 0 0" {
			t.Errorf("the import is %s", got)
		}
		exactly(t, n, names)
	})
}

// Lines are known by the numbers of accounts also while all numbers are sealed again.
func TestAnImportKnowsAccountsDuringAReseal(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		c := n.Admin(t)
		var file strings.Builder
		file.WriteString("type,name,method.provider,method.account_name,method.account_id\n")
		for i := range 300 {
			fmt.Fprintf(&file, "person,Person %d,bank,P,DE%02d 0000-%05d\n", i, i%97, i)
		}
		if got := servertest.Counts(c.Import(file.String(), "match", "account")); got != "completed 300 0 0 0" {
			t.Fatalf("the import is %s", got)
		}
		operator := store.Vault(store.Open(t)) // as bursar admin has it
		respaced := strings.NewReplacer(" 0000-", "0000 ", "DE", "de").Replace(file.String())
		respaced = strings.Replace(respaced, "type,name,", "type,fields.nobody,", 1)
		for range 5 {
			id := c.Do("POST", "/v1/directory/imports?match=account&on_match=skip&workspace_id="+n.First.WorkspaceID, respaced, "Content-Type", "text/csv").OK().Text("id")
			resealed := make(chan error, 1)
			go func() {
				_, err := operator.Reseal(t.Context(), db.Caller{}, func(done, total int64) {})
				resealed <- err
			}()
			n.RunImports(t)
			if err := <-resealed; err != nil {
				t.Fatal(err)
			}
			if got := servertest.Counts(c.Get("/v1/directory/imports/" + id).OK()); got != "completed 0 0 300 0" {
				t.Errorf("during a reseal the import is %s", got)
			}
		}
	})
}
