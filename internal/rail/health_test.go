package rail_test

import (
	"testing"
	"time"

	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/rail"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

func TestAStatusIsOfOneWorkspaceAndKeepsTheTimeOfItsChange(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		now := int64(1000)
		d := store.OpenAt(t, func() time.Time { return time.UnixMilli(now) })
		write := func(fn func(tx *db.Tx) error) {
			t.Helper()
			_, err := db.Write(t.Context(), d, db.Caller{}, func(tx *db.Tx) (struct{}, audit.Event, error) {
				return struct{}{}, audit.None("a test"), fn(tx)
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		write(func(tx *db.Tx) error {
			if err := tx.Exec(`INSERT INTO organization (id, name, slug, created_at) VALUES ('org_1', 'One', 'one', 0)`); err != nil {
				return err
			}
			return tx.Exec(`INSERT INTO workspace (id, number, organization_id, name, slug, member_version, created_at)
				VALUES ('ws_1', 1, 'org_1', 'One', 'one', 0, 0), ('ws_2', 2, 'org_1', 'Two', 'two', 0, 0)`)
		})
		set := func(workspace, service string, status rail.Status, reason string) {
			t.Helper()
			write(func(tx *db.Tx) error { return rail.SetSimulated(tx, workspace, service, status, reason) })
			now += 1000
		}
		is := func(workspace, service string, want rail.ServiceStatus) {
			t.Helper()
			err := d.Read(t.Context(), func(q db.Q) error {
				all, err := rail.Simulated(q, workspace)
				if got := all.Of(service); got != want || all.Down(service) != (want.Status == rail.Down) {
					t.Errorf("%s of %s is %+v, want %+v", service, workspace, got, want)
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		set("ws_1", "instapay", rail.Down, "maintenance")
		set("ws_1", "instapay", rail.Down, "still maintenance")
		set("ws_2", "BOPIPHMMXXX", rail.Degraded, "slow")
		is("ws_1", "instapay", rail.ServiceStatus{Status: rail.Down, Reason: "still maintenance", Since: 1000})
		is("ws_2", "instapay", rail.ServiceStatus{Status: rail.Up})
		is("ws_1", "BOPIPHMMXXX", rail.ServiceStatus{Status: rail.Up})
		set("ws_1", "instapay", rail.Up, "")
		is("ws_1", "instapay", rail.ServiceStatus{Status: rail.Up, Since: 4000})
	})
}
