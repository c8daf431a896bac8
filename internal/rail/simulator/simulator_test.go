package simulator_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/rail"
	"bursar/internal/rail/simulator"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

// sandbox is a simulator whose clock the test moves.
type sandbox struct {
	*simulator.Simulator
	t    *testing.T
	db   *db.DB
	rail *rail.Rail
	now  *int64
}

func open(t *testing.T, store dbtest.Store) sandbox {
	t.Helper()
	now := int64(1_800_000_000_000)
	d := store.OpenAt(t, func() time.Time { return time.UnixMilli(now) })
	s := simulator.New(d)
	box := sandbox{s, t, d, &rail.Rail{Name: "instapay", Title: "InstaPay", Currency: "PHP", Minimum: 100, Connector: s, Members: "I"}, &now}
	box.change(func(tx *db.Tx) (bool, error) {
		if err := tx.Exec(`INSERT INTO organization (id, name, slug, created_at) VALUES ('org_1', 'One', 'one', 0)`); err != nil {
			return false, err
		}
		return true, tx.Exec(`INSERT INTO workspace (id, number, organization_id, name, slug, member_version, created_at) VALUES ('ws_1', 1, 'org_1', 'One', 'one', 0, 0)`)
	})
	return box
}

func payment(id, number string) rail.Payment {
	return rail.Payment{
		EndToEndID: id, PayoutID: "po_" + id, Attempt: 1, Submission: 1, WorkspaceID: "ws_1", AccountID: "acc_1", Amount: 12345, Currency: "PHP",
		To: rail.Destination{Institution: "BOPIPHMMXXX", AccountNumber: number, AccountName: "Ada"},
	}
}

func (s sandbox) submit(list ...rail.Payment) []rail.Outcome {
	s.t.Helper()
	out, err := s.Submit(s.t.Context(), s.rail, list)
	if err != nil || len(out) != len(list) {
		s.t.Fatalf("submit: %v, %v", out, err)
	}
	return out
}

func (s sandbox) lookUp(list ...rail.Payment) []rail.Outcome {
	s.t.Helper()
	out, err := s.LookUp(s.t.Context(), s.rail, list)
	if err != nil || len(out) != len(list) {
		s.t.Fatalf("look up: %v, %v", out, err)
	}
	return out
}

// receive takes everything that is due, and returns it as "kind id code amount".
func (s sandbox) receive() []string {
	s.t.Helper()
	list := []string{}
	for {
		messages, err := s.Receive(s.t.Context())
		if err != nil {
			s.t.Fatal(err)
		}
		if len(messages) == 0 {
			return list
		}
		for _, m := range messages {
			for _, n := range m.Notices {
				list = append(list, strings.Join(strings.Fields(fmt.Sprint(n.Kind, " ", n.EndToEndID, " ", n.Outcome.Code, " ", n.Amount)), " "))
			}
			if err := s.Done(s.t.Context(), m); err != nil {
				s.t.Fatal(err)
			}
		}
	}
}

func (s sandbox) change(fn func(tx *db.Tx) (bool, error)) bool {
	s.t.Helper()
	done, err := db.Write(s.t.Context(), s.db, db.Caller{}, func(tx *db.Tx) (bool, audit.Event, error) {
		done, err := fn(tx)
		return done, audit.None("a test"), err
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return done
}

func (s sandbox) set(service string, status rail.Status) {
	s.t.Helper()
	s.change(func(tx *db.Tx) (bool, error) { return true, rail.SetSimulated(tx, "ws_1", service, status, "a test") })
}

func (s sandbox) expect(what string, got []rail.Outcome, want ...string) {
	s.t.Helper()
	var list []string
	for _, o := range got {
		list = append(list, strings.TrimSpace(string(o.State)+" "+o.Code))
	}
	if !slices.Equal(list, want) {
		s.t.Errorf("%s: got %q, want %q", what, list, want)
	}
}

func (s sandbox) hear(what string, want ...string) {
	s.t.Helper()
	if got := s.receive(); !slices.Equal(got, append([]string{}, want...)) {
		s.t.Errorf("%s: heard %q, want %q", what, got, want)
	}
}

func TestTheLastDigitsDecide(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		s := open(t, store)
		var list []rail.Payment
		for _, digits := range []string{"0000", "9001", "9002", "9003", "9004", "9005", "9006", "9011", "9012", "9013", "9014", "9007"} {
			list = append(list, payment("E"+digits, "12-3456 "+digits))
		}
		s.expect("sent", s.submit(list...), "completed", "rejected AC01", "rejected AC04", "rejected AC06", "rejected AB08", "rejected AB01",
			"rejected AM04", "accepted", "unknown", "unknown", "completed", "completed")
		s.hear("at once", "settled E0000 -12345", "settled E9007 -12345", "settled E9014 -12345")
		*s.now += 999
		s.hear("too early")
		*s.now++
		s.hear("a moment later", "returned E9014 MS03 12345")
		s.hear("repeated")

		s.expect("looked up", s.lookUp(list...), "completed", "rejected AC01", "rejected AC04", "rejected AC06", "rejected AB08", "rejected AB01",
			"rejected AM04", "accepted", "completed", "not_received", "completed", "completed")
		s.hear("after the look-up", "settled E9012 -12345")
		list[9].Submission++
		s.expect("sent again", s.submit(list[9]), "completed")
		s.hear("after that", "settled E9013 -12345")
		s.expect("looked up again", s.lookUp(list[8], list[9]), "completed", "completed")

		second := payment("E9013second", "1234569013")
		second.Submission = 2
		s.expect("another submission", s.submit(second), "completed")
	})
}

func TestNothingIsTakenTwice(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		s := open(t, store)
		list := []rail.Payment{payment("A", "1234560000"), payment("B", "1234569001"), payment("C", "1234569011"), payment("D", "1234569012"), payment("E", "1234569013")}
		first := []string{"completed", "rejected AC01", "accepted", "unknown", "unknown"}
		s.expect("the first time", s.submit(list...), first...)
		s.hear("the first time", "settled A -12345")
		for range 3 {
			changed := slices.Clone(list)
			changed[0].Amount, changed[0].To.AccountNumber = 1, "1234569001"
			s.expect("again", s.submit(changed...), first...)
		}
		s.hear("again")
		s.expect("looked up", s.lookUp(list...), "completed", "rejected AC01", "accepted", "completed", "not_received")
		s.expect("after the look-up", s.submit(list[3]), "unknown")
		s.hear("after the look-up", "settled D -12345")

		// It survives a restart.
		s.Simulator = simulator.New(store.Open(t))
		s.expect("after a restart", s.submit(list[:3]...), first[:3]...)

		// However many send the same at once, it is settled once.
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				out, err := s.Submit(t.Context(), s.rail, []rail.Payment{payment("F", "1"), payment("G", "2")})
				if err != nil || out[0].State != rail.Completed || out[1].State != rail.Completed {
					t.Errorf("at once: %v, %v", out, err)
				}
			})
		}
		all.Wait()
		*s.now += 10_000
		s.hear("at once", "settled F -12345", "settled G -12345")
	})
}

// What the bank has completed stays so, whatever people have found: its duplicate check is the last one.
func TestACompletedPaymentIsNotPaidAgainAfterPeopleFoundItNotPaid(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		s := open(t, store)
		list := []rail.Payment{payment("A", "1234560000"), payment("B", "1234569011"), payment("C", "1234569001")}
		s.submit(list...)
		s.hear("the first time", "settled A -12345")
		for i := range list {
			list[i].Submission, list[i].NotPaid = 2, 1
		}
		for range 2 {
			s.expect("submitted again", s.submit(list...), "rejected AM05", "accepted", "rejected AC01")
		}
		s.change(func(tx *db.Tx) (bool, error) { return s.Settle(tx, "B") })
		s.hear("after that", "decided B -12345", "settled B -12345")
	})
}

func TestWhatWaitsIsDriven(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		s := open(t, store)
		s.submit(payment("A", "9011"), payment("B", "9011"), payment("C", "0000"))
		s.receive()
		settle := func(id string) bool {
			return s.change(func(tx *db.Tx) (bool, error) { return s.Settle(tx, id) })
		}
		reject := func(id string) bool {
			return s.change(func(tx *db.Tx) (bool, error) { return s.Reject(tx, id, "AC04") })
		}
		giveBack := func(id string) bool {
			return s.change(func(tx *db.Tx) (bool, error) { return s.Return(tx, id, "AC06") })
		}
		if giveBack("A") || settle("unknown") || settle("C") || reject("C") {
			t.Error("what does not wait was driven")
		}
		if !settle("A") || settle("A") || reject("A") || !reject("B") || reject("B") || settle("B") || giveBack("B") {
			t.Error("a payment is decided once")
		}
		if !giveBack("A") || giveBack("A") || !giveBack("C") {
			t.Error("a payment is returned once")
		}
		*s.now += 1000
		s.hear("driven", "decided A -12345", "settled A -12345", "decided B AC04 0", "returned C AC06 12345", "returned A AC06 12345")
		s.expect("looked up", s.lookUp(payment("A", ""), payment("B", ""), payment("C", "")), "completed", "rejected AC04", "completed")
	})
}

func TestWhatIsDownTakesNothing(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		s := open(t, store)
		for _, service := range []string{"instapay", simulator.Name} {
			s.set(service, rail.Down)
			p := payment("by"+service, "1234560000")
			s.expect(service+" is down", s.submit(p), "unknown")
			s.expect("looked up", s.lookUp(p), "not_received")
			s.set(service, rail.Degraded)
			p.Submission++
			s.expect(service+" is up", s.submit(p), "completed")
			s.set(service, rail.Up)
		}
		s.receive()
		s.set("BOPIPHMMXXX", rail.Down)
		list := []rail.Payment{payment("bank", "1234560000"), payment("bank9012", "1234569012")}
		s.expect("the bank is down", s.submit(list...), "rejected AB08", "rejected AB08")
		s.set("BOPIPHMMXXX", rail.Up)
		s.expect("a rejection stays one", s.submit(list...), "rejected AB08", "rejected AB08")
		s.hear("nothing was paid")
	})
}

func TestWhatIsDownInAWorkspaceTakesWhatOthersSend(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		s := open(t, store)
		for service, want := range map[string]string{"instapay": "unknown", simulator.Name: "unknown", "BOPIPHMMXXX": "rejected AB08"} {
			s.set(service, rail.Down)
			list := []rail.Payment{payment("A"+service, "1234560000"), payment("B"+service, "1234560000"), payment("C"+service, "1234560000")}
			list[0].WorkspaceID, list[2].WorkspaceID = "ws_2", "ws_3"
			s.expect(service+" is down", s.submit(list...), "completed", want, "completed")
			s.hear(service+" is down", "settled A"+service+" -12345", "settled C"+service+" -12345")
			s.set(service, rail.Up)
		}
	})
}

// Until it is done, a message comes again, and its notices have the same names.
func TestAMessageIsDeliveredAgainUntilItIsDone(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		s := open(t, store)
		names := func() (list []string, all []rail.Message) {
			all, err := s.Receive(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range all {
				for _, n := range m.Notices {
					list = append(list, n.MessageID+" "+n.EntryID)
				}
			}
			return list, all
		}
		s.submit(payment("A", "1"))
		first, old := names()
		s.submit(payment("B", "1"))
		second, _ := names()
		if len(first) != 1 || len(second) != 2 || second[0] != first[0] {
			t.Errorf("heard %q, then %q", first, second)
		}
		for _, m := range old {
			if err := s.Done(t.Context(), m); err != nil {
				t.Fatal(err)
			}
		}
		if third, _ := names(); len(third) != 1 || third[0] != second[1] {
			t.Errorf("heard %q at last", third)
		}
	})
}

func TestManyPaymentsAreTakenAtOnce(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		s := open(t, store)
		var list []rail.Payment
		for i := range 1500 {
			list = append(list, payment(fmt.Sprintf("E%04d", i), "1234560000"))
		}
		for _, o := range s.submit(list...) {
			if o.State != rail.Completed {
				t.Fatalf("got %+v", o)
			}
		}
		if heard := s.receive(); len(heard) != len(list) {
			t.Errorf("heard of %d", len(heard))
		}
	})
}

func TestAccountNumbersAreNotStored(t *testing.T) {
	t.Parallel()
	store := dbtest.SQLite(t)
	s := open(t, store)
	s.submit(payment("A", "5551234569014"), payment("B", "5551234567777"))
	err := filepath.WalkDir(store.Config.Dir, func(name string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(name)
		for _, secret := range []string{"5551234569014", "5551234567777", "7777"} {
			if strings.Contains(string(text), secret) {
				t.Errorf("%s has %s", name, secret)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func BenchmarkSubmit(b *testing.B) {
	d := dbtest.SQLite(b).Open(b)
	s := simulator.New(d)
	r := &rail.Rail{Name: "instapay", Currency: "PHP", Connector: s}
	n := 0
	for b.Loop() {
		var list []rail.Payment
		for range 256 {
			n++
			list = append(list, payment(fmt.Sprintf("E%012d", n), "1234560000"))
		}
		if _, err := s.Submit(b.Context(), r, list); err != nil {
			b.Fatal(err)
		}
		for {
			messages, err := s.Receive(b.Context())
			if err != nil {
				b.Fatal(err)
			}
			if len(messages) == 0 {
				break
			}
			if err := s.Done(b.Context(), messages[0]); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "payments/s")
}
