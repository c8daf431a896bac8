package simulator_test

import (
	"testing"
	"time"

	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/rail"
	"bursar/internal/rail/railtest"
	"bursar/internal/rail/simulator"
)

func TestTheConnectorKeepsItsPromises(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		s := open(t, store)
		railtest.Run(t, func(t *testing.T) railtest.Bank {
			s.t = t
			s.change(func(tx *db.Tx) (bool, error) { return true, tx.Exec(`DELETE FROM simulated_payment`) })
			return simulated{s}
		})
	})
}

// simulated is the bank inside of a store.
type simulated struct{ sandbox }

func (s simulated) Connect() (rail.Connector, *rail.Rail) {
	node, r := simulator.New(s.db), *s.rail
	r.Connector = node
	return node, &r
}

func (s simulated) Payment(endToEndID string) rail.Payment { return payment(endToEndID, "1234569011") }

func (s simulated) Received(endToEndID string) (count int) {
	s.t.Helper()
	err := s.db.Read(s.t.Context(), func(q db.Q) error {
		_, err := q.Row(`SELECT count(*) FROM simulated_payment WHERE end_to_end_id = $1 AND state <> 'not_received'`, endToEndID).Scan(&count)
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return count
}

func (s simulated) Complete(endToEndID string) {
	s.change(func(tx *db.Tx) (bool, error) { return s.Settle(tx, endToEndID) })
}

func (s simulated) Between(c rail.Connector, fn func()) { c.(*simulator.Simulator).Between(fn) }

func (s simulated) Now() time.Time { return time.UnixMilli(*s.now) }
