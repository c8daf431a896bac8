package payout

import (
	"bursar/internal/db"
	"bursar/internal/rail"
)

// sending is the state of an attempt that is stored and may have been sent. The other states are
// those of package rail.
const sending rail.State = "sending"

// attempt is one sending of a payout, a row of payout_attempt.
type attempt struct {
	ID         string     `db:"id"`
	PayoutID   string     `db:"payout_id"`
	Number     int64      `db:"number"`
	EndToEndID string     `db:"end_to_end_id"`
	Submission int64      `db:"submission"`
	State      rail.State `db:"state"`
	Code       string     `db:"code"`
	Text       string     `db:"text"`
	Reference  string     `db:"reference"`
	Accepted   int64      `db:"accepted"` // the lowest submission that the rail has acknowledged; 0: none, unidentified: one without a known number
	Resolved   string     `db:"resolved"` // what people have determined about the newest submission
	NotPaid    int64      `db:"not_paid"` // the highest submission that people have determined not to be paid; 0: none
	Node       string     `db:"node"`
	AskAt      int64      `db:"ask_at"`
	Asked      int64      `db:"asked"`
	CreatedAt  int64      `db:"created_at"`
	ClaimedAt  int64      `db:"claimed_at"` // when the newest submission was claimed
	AnsweredAt int64      `db:"answered_at"`
	SettledAt  int64      `db:"settled_at"` // when a statement of the bank has shown it; 0 before
	SettledAs  string     `db:"settled_as"` // the names of the movement there, one per line

	payout *Payout
	stored rail.State // the state in the row
	was    standing   // what the row implies
}

var (
	attemptRow      = db.Select[attempt]("a", nil)
	insertedAttempt = db.InsertInto[attempt]("payout_attempt")
	// decidedAttempt is what answers and people change of an attempt.
	decidedAttempt = db.UpdateOf[attempt]("payout_attempt", nil, "payout_id", "number", "end_to_end_id", "node", "created_at", "claimed_at").If("state")
)

// readAttempt returns an attempt whose columns begin at a position of a row.
func readAttempt(r db.Rows, at int) *attempt {
	a := attemptRow.ReadAt(r, at)
	a.stored, a.was = a.State, a.standing()
	return &a
}

// insert stores an attempt that the store does not have yet.
func (a *attempt) insert(tx *db.Tx) error {
	a.ID, a.PayoutID = tx.NewID("att"), a.payout.ID
	return insertedAttempt.Insert(tx, a)
}

// unidentified is an acknowledged submission whose number is unknown: the rail has called a later one a duplicate.
const unidentified = -1

// open reports whether the attempt has not ended.
func (a *attempt) open() bool { return isOpen(a.State) }

func isOpen(state rail.State) bool {
	return state == sending || state == rail.Accepted || state == rail.Unknown
}

// acknowledge records that the rail has received a submission.
func (a *attempt) acknowledge(submission int64) {
	if a.Accepted == 0 || submission < a.Accepted {
		a.Accepted = submission
	}
}

// findAttempts reads attempts by their end-to-end ids, with their payouts. Within a transaction, lock locks both until its end.
func findAttempts(q db.Q, endToEndIDs []any, lock func(sql string) string) (map[string]*attempt, error) {
	sql := db.NewStatement(`SELECT ` + sentRow.Columns + `, ` + attemptRow.Columns + ` FROM payout_attempt a JOIN payout ON payout.id = a.payout_id WHERE a.end_to_end_id`)
	sql.AddList(` IN (`, endToEndIDs)
	sql.Add(lock(` ORDER BY payout.id, a.number`)) // in the order of payouts, so that two transactions that lock them do not wait for each other
	found, payouts := map[string]*attempt{}, map[string]*Payout{}
	err := q.EachOf(sql, func(r db.Rows) error {
		a := readAttempt(r, sentRow.Count)
		found[a.EndToEndID] = a
		if a.payout = payouts[r.Text(0)]; a.payout == nil {
			a.payout = readSent(r)
			payouts[a.payout.ID] = a.payout
		}
		return nil
	})
	return found, err
}

// standing is what an attempt means to people who resolve its payout. It does not change when a rail is asked without result.
type standing struct {
	state                         rail.State // the state of an attempt that has ended
	submission, accepted, notPaid int64
	settled                       bool
	resolved                      string
}

func (a *attempt) standing() standing {
	s := standing{submission: a.Submission, accepted: a.Accepted, notPaid: a.NotPaid, settled: a.SettledAt != 0, resolved: a.Resolved}
	if !a.open() {
		s.state = a.State
	}
	return s
}

// waits reports whether the attempt will be submitted again because the rail has not received it.
func (a *attempt) waits() bool {
	return a.State == rail.NotReceived && a.Resolved == "" && a.payout.Status == Pending
}

// neverSent reports whether the store has no attempt of a payout that is not pending yet.
func (a *attempt) neverSent() bool {
	return a.ID == "" && (a.payout.Status == Draft || a.payout.Status == Initiated)
}

// outcome describes how the attempt has ended, for messages.
func (a *attempt) outcome() string {
	if a.Resolved != "" {
		return "resolved as " + plain(a.Resolved)
	}
	return string(a.State)
}
