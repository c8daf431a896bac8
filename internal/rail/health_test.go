package rail_test

import (
	"errors"
	"testing"
	"time"

	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/fault"
	"bursar/internal/rail"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

func TestAStatusKeepsTheTimeOfItsChange(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		now := int64(1000)
		d := store.OpenAt(t, func() time.Time { return time.UnixMilli(now) })
		set := func(sandbox bool, service string, status rail.Status, reason string) {
			_, err := db.Write(t.Context(), d, db.Caller{}, func(tx *db.Tx) (struct{}, audit.Event, error) {
				return struct{}{}, audit.None("a test"), rail.SetStatus(tx, sandbox, service, status, reason)
			})
			if err != nil {
				t.Fatal(err)
			}
			now += 1000
		}
		set(true, "instapay", rail.Down, "maintenance")
		set(true, "instapay", rail.Down, "still maintenance")
		set(false, "BOPIPHMMXXX", rail.Degraded, "slow")
		err := d.Read(t.Context(), func(q db.Q) error {
			all, err := rail.Statuses(q, true)
			if got := all.Of("instapay"); got != (rail.ServiceStatus{Status: rail.Down, Reason: "still maintenance", Since: 1000}) || !all.Down("instapay") {
				t.Errorf("it is %+v", got)
			}
			if got := all.Of("BOPIPHMMXXX"); got != (rail.ServiceStatus{Status: rail.Up}) {
				t.Errorf("a service of the other mode is %+v", got)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		set(true, "instapay", rail.Up, "")
		err = d.Read(t.Context(), func(q db.Q) error {
			all, err := rail.Statuses(q, true)
			if got := all.Of("instapay"); got != (rail.ServiceStatus{Status: rail.Up, Since: 4000}) || all.Down("instapay") {
				t.Errorf("it is %+v", got)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

func TestWhatIsDownIsToldByItsCode(t *testing.T) {
	t.Parallel()
	instapay := shipped(t).Named("instapay", true)
	for service, want := range map[string]fault.Code{"instapay": fault.RailUnavailable, "simulator": fault.RailUnavailable, "BOPIPHMMXXX": fault.BankUnavailable, "pesonet": "", "GXCHPHM2XXX": ""} {
		for _, status := range []rail.Status{rail.Up, rail.Degraded, rail.Down} {
			err := rail.Services{service: {Status: status, Since: 7}}.Check(instapay, "BOPIPHMMXXX")
			if status != rail.Down && err != nil || status == rail.Down && code(err) != want {
				t.Errorf("with %s %s: %v", service, status, err)
			}
			var f *fault.Fault
			if errors.As(err, &f) && f.Details != (rail.ServiceDetails{Service: service, Since: 7}) {
				t.Errorf("the details are %+v", f.Details)
			}
		}
	}
}
