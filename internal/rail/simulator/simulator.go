// Package simulator is a bank inside the program: the connector of the sandbox's rails. It moves no money.
//
// The result of a payment follows from the last four digits of the account number, which docs/rails.md lists. Tests can also call Settle,
// Reject and Return. The table simulated_payment is the bank's own record. A payment in it is not accepted again, and survives a restart. A
// payment that the simulator has not completed is replaced by a later submission if people have determined that it was not paid. One that
// it has completed is a duplicate. A row with the state not_received is a tombstone: that submission and earlier ones are no longer
// accepted. It uses the clock of the store.
package simulator

import (
	"cmp"
	"context"
	"time"

	"bursar/internal/accountnumber"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/rail"
)

// Name is the name of the connector.
const Name = "simulator"

// Simulator is the connector.
type Simulator struct {
	db      *db.DB
	between func() // is called between the steps of Submit and LookUp; tests pause and crash there
}

var _ rail.Connector = (*Simulator)(nil)

// New returns the simulator of a store.
func New(d *db.DB) *Simulator { return &Simulator{d, func() {}} }

// Name implements rail.Connector.
func (s *Simulator) Name() string { return Name }

// Sandbox implements rail.Connector.
func (s *Simulator) Sandbox() bool { return true }

// Health implements rail.Connector. It is always up: services are down only in the sandbox of a workspace, and Submit checks that.
func (s *Simulator) Health(context.Context) (rail.Status, string) { return rail.Up, "" }

// lost is the state of a payment to 9013 until it is looked up; after that the payment counts as not received.
const lost rail.State = "lost"

// returnsAfter is how long after it was received a payment to 9014 is returned.
const returnsAfter = 1000 // milliseconds

// usualReason is why payments are rejected or returned for which no other reason was given: the bank does not say.
const usualReason = "MS03"

// script is the behavior that the last four digits of an account number select.
type script struct {
	state      rail.State
	code       string // of a rejection
	returnCode string // of a return
}

var scripts = map[string]script{
	"9001": {state: rail.Rejected, code: "AC01"},
	"9002": {state: rail.Rejected, code: "AC04"},
	"9003": {state: rail.Rejected, code: "AC06"},
	"9004": {state: rail.Rejected, code: "AB08"},
	"9005": {state: rail.Rejected, code: "AB01"},
	"9006": {state: rail.Rejected, code: "AM04"},
	"9011": {state: rail.Accepted},
	"9012": {state: rail.Unknown},
	"9013": {state: lost},
	"9014": {state: rail.Completed, returnCode: usualReason},
}

// digits returns the last four digits of an account number if they select a script, otherwise "".
func digits(number string) string {
	number = accountnumber.Compact(number)
	if last := number[max(len(number)-4, 0):]; scripts[last].state != "" {
		return last
	}
	return ""
}

// Check implements rail.Connector. A number that selects a script passes whatever the form of its institution is, so that every outcome can
// be tried at every institution.
func (s *Simulator) Check(_ *rail.Rail, p rail.Payment) error {
	if rail.IsNumber(p.To.AccountNumber) && digits(p.To.AccountNumber) != "" {
		return nil
	}
	return rail.CheckNumber(p.To)
}

// taken is a payment as the simulator has stored it.
type taken struct {
	digits     string
	state      rail.State
	code       string
	submission int
}

// before reports whether people have determined that the stored submission was not paid, and the payment is a later one, or has no number.
func (t taken) before(p rail.Payment) bool {
	return t.submission <= p.NotPaid && (p.Submission == 0 || t.submission < p.Submission)
}

// first returns the answer that was given when the payment was sent.
func (t taken) first() rail.State {
	switch {
	case t.digits == "9011" || t.digits == "9012":
		return scripts[t.digits].state
	case t.state == lost:
		return rail.Unknown
	case t.code != "":
		return rail.Rejected
	}
	return rail.Completed
}

func outcome(id string, state rail.State, code string, submission int) rail.Outcome {
	o := rail.Outcome{State: state, Reference: "SIM" + id, Submission: submission}
	switch state {
	case rail.Rejected:
		o.Code, o.Text = code, "rejected by the simulator"
	case rail.Unknown:
		o.Reference, o.Text = "", "no answer in time"
	case rail.NotReceived:
		o.Reference = ""
	}
	return o
}

// Submit implements rail.Connector. A payment that the simulator knows gets the same answer as the first time, and changes nothing. If the
// rail or the simulator is down in the sandbox of its workspace, it is not received. The outcome is unknown to the sender, as with a real
// rail, and a look-up answers that it was not received.
func (s *Simulator) Submit(ctx context.Context, r *rail.Rail, list []rail.Payment) ([]rail.Outcome, error) {
	s.between()
	defer s.between()
	return write(ctx, s.db, func(tx *db.Tx) ([]rail.Outcome, error) {
		out := make([]rail.Outcome, len(list))
		down, err := downFor(tx.Q, list)
		if err != nil {
			return nil, err
		}
		fresh := map[string]taken{}
		var rows [][]any
		var unpaid []rail.Payment
		for i, p := range list {
			if down[service{p.WorkspaceID, r.Name}] || down[service{p.WorkspaceID, Name}] {
				out[i] = outcome(p.EndToEndID, rail.Unknown, "", p.Submission)
				continue
			}
			if p.Expired(time.UnixMilli(tx.Now())) {
				continue // unless it was received before
			}
			t := taken{digits: digits(p.To.AccountNumber), state: rail.Completed, submission: p.Submission}
			var returnCode string
			if plan, ok := scripts[t.digits]; ok {
				t.state, t.code, returnCode = plan.state, plan.code, plan.returnCode
			}
			if down[service{p.WorkspaceID, p.To.Institution}] {
				t, returnCode = taken{state: rail.Rejected, code: "AB08", submission: p.Submission}, ""
			}
			if t.state == lost && p.Submission > 1 {
				t.state = rail.Completed // it is lost only once
			}
			var notice, due any
			if t.state == rail.Completed {
				notice, due = noticeSettled, tx.Now()
			}
			if _, twice := fresh[p.EndToEndID]; twice {
				continue
			}
			if p.NotPaid > 0 {
				unpaid = append(unpaid, p)
			}
			rows = append(rows, []any{p.EndToEndID, p.PayoutID, r.Name, p.Amount, p.Currency, t.digits, string(t.state), t.code, returnCode, tx.Now(), notice, due, p.Submission})
			fresh[p.EndToEndID] = t
		}
		if err := drop(tx, unpaid); err != nil {
			return nil, err
		}
		inserted, err := insert(tx, rows)
		if err != nil {
			return nil, err
		}
		s.between()
		known, err := find(tx.Q, list, func(id string) bool { return !inserted[id] })
		if err != nil {
			return nil, err
		}
		for i, p := range list {
			if out[i].State != "" {
				continue
			}
			t, taken := known[p.EndToEndID]
			if !taken {
				t, taken = fresh[p.EndToEndID]
			}
			switch {
			case taken && t.state == rail.Completed && t.before(p):
				out[i] = outcome(p.EndToEndID, rail.Rejected, "AM05", p.Submission)
			case !taken || t.state == rail.NotReceived || t.before(p):
				out[i] = outcome(p.EndToEndID, rail.Unknown, "", p.Submission)
			default:
				out[i] = outcome(p.EndToEndID, t.first(), t.code, t.submission)
			}
		}
		return out, nil
	})
}

// LookUp implements rail.Connector. Its answer about a payment that had timed out or was not received does not change later.
func (s *Simulator) LookUp(ctx context.Context, r *rail.Rail, list []rail.Payment) (out []rail.Outcome, err error) {
	var timedOut []string
	var missing []rail.Payment
	s.between()
	defer s.between()
	err = s.db.Read(ctx, func(q db.Q) error {
		out, timedOut, missing, err = lookUp(q, list)
		return err
	})
	if err != nil || len(timedOut) == 0 && len(missing) == 0 {
		return out, err
	}
	s.between()
	return write(ctx, s.db, func(tx *db.Tx) ([]rail.Outcome, error) {
		if err := lookedUp(tx, timedOut); err != nil {
			return nil, err
		}
		if err := drop(tx, missing); err != nil {
			return nil, err
		}
		if err := writeTombstones(tx, r, missing); err != nil {
			return nil, err
		}
		s.between()
		out, _, _, err := lookUp(tx.Q, list)
		return out, err
	})
}

// lookUp returns the outcomes of payments, which of them had timed out, and which need a tombstone.
func lookUp(q db.Q, list []rail.Payment) (out []rail.Outcome, timedOut []string, missing []rail.Payment, err error) {
	known, err := find(q, list, func(string) bool { return true })
	for _, p := range list {
		t, ok := known[p.EndToEndID]
		switch {
		case !ok || t.state == rail.NotReceived || t.before(p) && t.state != rail.Completed:
			if p.Submission > t.submission {
				missing = append(missing, p)
			}
			t.state, t.submission = rail.NotReceived, max(t.submission, p.Submission)
			known[p.EndToEndID] = t
		case t.state == rail.Unknown || t.state == lost:
			timedOut = append(timedOut, p.EndToEndID)
		}
		out = append(out, outcome(p.EndToEndID, t.state, t.code, t.submission))
	}
	return out, timedOut, missing, err
}

// Settle completes a payment that waits for a call. It reports whether there was one.
func (s *Simulator) Settle(tx *db.Tx, endToEndID string) (bool, error) {
	return decide(tx, endToEndID, rail.Completed, "")
}

// Reject rejects a payment that waits for a call, for a reason of ISO 20022 or usualReason. It reports whether there was one.
func (s *Simulator) Reject(tx *db.Tx, endToEndID, reason string) (bool, error) {
	return decide(tx, endToEndID, rail.Rejected, cmp.Or(reason, usualReason))
}

// Return returns a completed payment, for a reason of ISO 20022 or usualReason. It reports whether there was one that was not returned before.
func (s *Simulator) Return(tx *db.Tx, endToEndID, reason string) (bool, error) {
	return sendBack(tx, endToEndID, cmp.Or(reason, usualReason))
}

// write changes the bank's side, which is no action of any caller.
func write[T any](ctx context.Context, d *db.DB, fn func(tx *db.Tx) (T, error)) (T, error) {
	return db.Write(ctx, d, db.Caller{Actor: audit.SystemActor("the simulator")}, func(tx *db.Tx) (T, audit.Event, error) {
		out, err := fn(tx)
		return out, audit.None("it stands for a bank, whose doings are audited where Bursar hears of them"), err
	})
}
