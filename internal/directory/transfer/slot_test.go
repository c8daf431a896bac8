package transfer_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
)

// longFile has more lines than an import has time for in one turn.
const longFile = 450

// sendPersons uploads a file of persons into a workspace and returns the id of the import.
func sendPersons(x *servertest.Tenant, workspaceID string, lines int) string {
	file, _ := personFile(lines)
	return x.Owner.Do("POST", "/v1/directory/imports?workspace_id="+workspaceID, sparse(file), "Content-Type", "text/csv").OK().Text("id")
}

// workspaces returns the workspaces of a tenant, of which it has so many.
func workspaces(x *servertest.Tenant, count int) []string {
	ids := []string{x.WorkspaceID}
	for i := 1; i < count; i++ {
		ids = append(ids, x.Owner.Post("/v1/workspaces", servertest.Body{"name": fmt.Sprint("Payroll ", i), "organization_id": x.OrganizationID}).OK().Text("id"))
	}
	return ids
}

// work runs the imports of all tenants on so many slots of one node until none is left.
func work(t *testing.T, n *servertest.Node, slots int) {
	t.Helper()
	worker := n.Worker()
	for _, err := range servertest.SideBySide(slots, func(int) error {
		for {
			worked, err := worker.ImportTurn(t.Context())
			if open := n.Count(t, `SELECT count(*) FROM directory_import WHERE ended_at = 0`); err != nil || !worked && open == 0 {
				return err
			}
		}
	}) {
		if err != nil {
			t.Fatal(err)
		}
	}
}

func ended(x *servertest.Tenant, id string) int64 {
	return x.Owner.Get("/v1/directory/imports/" + id).OK().Number("ended_at")
}

// Three files of many lines in workspaces of one tenant do not keep the file of another tenant waiting.
func TestATenantDoesNotWaitForTheImportsOfAnother(t *testing.T) {
	dbtest.TakesSeconds(t)
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		busy, other := n.Tenant(t), n.Tenant(t)
		var many []string
		for _, workspace := range workspaces(busy, 3) {
			many = append(many, sendPersons(busy, workspace, longFile))
		}
		one := sendPersons(other, other.WorkspaceID, 1)
		work(t, n, 2)
		for _, id := range many {
			if first, last := ended(other, one), ended(busy, id); first == 0 || first >= last {
				t.Errorf("the file of one line was imported at %d, and one of %d lines at %d", first, longFile, last)
			}
		}
		if got := n.Count(t, `SELECT count(*) FROM directory_entry`); got != 3*longFile+1 {
			t.Errorf("there are %d entries", got)
		}
	})
}

// A small file waits for a turn of a huge one in another workspace of its organization, and not for its end.
func TestAnImportYieldsItsSlot(t *testing.T) {
	dbtest.TakesSeconds(t)
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		in := workspaces(x, 2)
		huge, small := sendPersons(x, in[0], longFile), sendPersons(x, in[1], 1)
		work(t, n, 1)
		if ended(x, small) >= ended(x, huge) {
			t.Error("the small file was imported after the huge one")
		}
	})
}

// slotsTaken counts the imports that hold a lease. It reads the clock after the leases, because an import whose turn is over
// has a lease until the moment of its last transaction.
func slotsTaken(t *testing.T, n *servertest.Node) (taken int) {
	t.Helper()
	var leases []int64
	if err := n.DB.Read(t.Context(), func(q db.Q) (err error) {
		leases, err = db.Collect(q, func(r db.Rows) int64 { return r.Int(0) }, `SELECT lease_until FROM directory_import WHERE status = 'running'`)
		return err
	}); err != nil {
		t.Error(err)
	}
	now := n.Clock.Now().UnixMilli()
	for _, lease := range leases {
		if lease > now {
			taken++
		}
	}
	return taken
}

// However many slots all nodes have, an organization has one of them.
func TestAnOrganizationHasOneImportSlot(t *testing.T) {
	dbtest.TakesSeconds(t)
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		for _, workspace := range workspaces(x, 4) {
			sendPersons(x, workspace, 100)
		}
		var most atomic.Int64
		done := make(chan struct{})
		go func() {
			defer close(done)
			for n.Count(t, `SELECT count(*) FROM directory_import WHERE ended_at = 0`) > 0 {
				most.Store(max(most.Load(), int64(slotsTaken(t, n))))
			}
		}()
		work(t, n, 4)
		<-done
		if most.Load() != 1 {
			t.Errorf("%d imports ran at once", most.Load())
		}
	})
}

// A slot that was away for longer than its lease does not go on beside the slot that another import of its organization has got since.
func TestASlotEndsWithItsLeaseIfAnotherImportGetsIt(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		in := workspaces(x, 2)
		away, next := sendPersons(x, in[0], 1), sendPersons(x, in[1], 1)
		if _, err := db.Write(t.Context(), n.DB, db.Caller{}, func(tx *db.Tx) (struct{}, audit.Event, error) {
			err := tx.Exec(`UPDATE directory_import SET status = 'running', node = 'away', lease_until = $2 WHERE id = $1`, away, tx.Now()+1)
			if err == nil {
				err = tx.Exec(`INSERT INTO directory_import_turn (organization_id, import_id, taken_at) VALUES ($1, $2, $3)`, x.OrganizationID, away, tx.Now())
			}
			return struct{}{}, audit.None("a test"), err
		}); err != nil {
			t.Fatal(err)
		}
		n.Clock.Advance(time.Second)
		worker := n.Worker()
		if _, err := worker.ImportTurn(t.Context()); err != nil || ended(x, next) == 0 {
			t.Fatalf("the other import has not run: %v", err)
		}
		if n.Count(t, `SELECT count(*) FROM directory_import WHERE id = $1 AND node = 'away'`, away) != 0 {
			t.Error("the slot may go on")
		}
		work(t, n, 1)
		if ended(x, away) == 0 {
			t.Error("its import was not taken over")
		}
	})
}
