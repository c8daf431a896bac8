package payout

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"bursar/internal/audit"
	"bursar/internal/db"
)

// StopRails stops all rails of a store that was restored, until ResumeRails. It returns how many payouts must be looked up.
func StopRails(tx *db.Tx, why string) (recalled int64, err error) {
	for _, statement := range []struct {
		sql  string
		args []any
	}{
		{writeSetting, []any{stoppedSetting, why}},
		{`DELETE FROM setting WHERE name = $1`, []any{recordsReadSetting}},
		{`DELETE FROM unknown_payment WHERE acknowledged_at = 0`, nil},
		// Payouts that wait since an earlier restore still do, even cancelled ones.
		{`INSERT INTO payout_recall (payout_id) SELECT id FROM payout WHERE status IN ('draft', 'initiated', 'pending', 'processing', 'failed')
			ON CONFLICT (payout_id) DO NOTHING`, nil},
		// Rail answers in the archive are older than its moment.
		{`UPDATE payout_attempt SET state = 'unknown', ask_at = 0, asked = 0 WHERE state IN ('sending', 'accepted', 'unknown')`, nil},
	} {
		if err := tx.Exec(statement.sql, statement.args...); err != nil {
			return 0, err
		}
	}
	_, err = tx.Row(`SELECT count(*) FROM payout_recall`).Scan(&recalled)
	return recalled, err
}

// Stopped describes whether the rails of a store are stopped.
type Stopped struct {
	Stopped bool   `json:"stopped"`
	Why     string `json:"why,omitempty"`
	Left    int64  `json:"not_looked_up"` // payouts that no rail has answered for yet
	Open    int64  `json:"open_attempts"`
	// First contains the first of the remaining payouts.
	First []Recalled `json:"first_not_looked_up,omitempty"`
	// Read reports whether a server has compared the payments sent by the rails with the store. Unknown contains the payouts that the store
	// does not know and that were not acknowledged yet.
	Read    bool             `json:"records_read"`
	Unknown []UnknownPayment `json:"unknown,omitempty"`
}

// Recalled is a payout that no rail has answered for yet.
type Recalled struct {
	ID     string `json:"id"`
	Status string `json:"status"`
	Rail   string `json:"rail,omitempty"` // empty if none was chosen yet
}

// maxShown bounds Stopped.First.
const maxShown = 20

// ReadStopped reads whether the rails are stopped.
func ReadStopped(q db.Q) (s Stopped, err error) {
	if s.Stopped, err = q.Row(readSetting, stoppedSetting).Scan(&s.Why); err != nil {
		return s, err
	}
	if _, err = q.Row(`SELECT count(*) FROM payout_recall`).Scan(&s.Left); err != nil {
		return s, err
	}
	if _, err = q.Row(`SELECT count(*) FROM payout_attempt WHERE state IN ('sending', 'accepted', 'unknown')`).Scan(&s.Open); err != nil {
		return s, err
	}
	s.First, err = db.Collect(q, func(r db.Rows) Recalled { return Recalled{r.Text(0), r.Text(1), r.Text(2)} },
		`SELECT p.id, p.status, p.rail FROM payout_recall r JOIN payout p ON p.id = r.payout_id ORDER BY r.payout_id LIMIT $1`, maxShown)
	if err == nil && s.Stopped {
		if s.Read, err = recordsRead(q); err == nil {
			s.Unknown, err = ReadUnknown(q)
		}
	}
	return s, err
}

// ErrNotLookedUp is the error if some payouts may have been paid.
var ErrNotLookedUp = errors.New("not every payout was looked up at its rail, and some may have been paid")

// ErrNotWaiting is the error for a payout id that does not have to be looked up.
var ErrNotWaiting = errors.New("no payout of this id waits to be looked up")

// ResumeRails lets rails send again. Unless it is forced, every payout was looked up before, or is among those that the operator has
// compared with the statements of the bank. A server must also have read what the rails have sent. Each payment that the store does not
// know must be acknowledged before, even if it is forced.
func ResumeRails(ctx context.Context, d *db.DB, by db.Caller, checked []string, force bool) (Stopped, error) {
	return db.Write(ctx, d, by, func(tx *db.Tx) (Stopped, audit.Event, error) {
		if _, err := tx.Row(tx.ForUpdate(readSetting), stoppedSetting).Scan(new(string)); err != nil { // no server stores an unknown payment from here on
			return Stopped{}, audit.Event{}, err
		}
		was, err := ReadStopped(tx.Q)
		if err != nil {
			return was, audit.Event{}, err
		}
		if !was.Stopped {
			return was, audit.None("the rails were not stopped"), nil
		}
		for _, id := range checked {
			waits, err := tx.Row(`DELETE FROM payout_recall WHERE payout_id = $1 RETURNING payout_id`, id).Scan(new(string))
			if err == nil && !waits {
				err = fmt.Errorf("%w: %s", ErrNotWaiting, id)
			}
			if err != nil {
				return was, audit.Event{}, err
			}
			was.Left--
		}
		switch {
		case was.Left > 0 && !force:
			return was, audit.Event{}, fmt.Errorf("%w: %d left", ErrNotLookedUp, was.Left)
		case !was.Read && !force:
			return was, audit.Event{}, ErrNotRead
		case len(was.Unknown) > 0: // only the record knows that they were sent
			return was, audit.Event{}, ErrNotAcknowledged
		}
		if err := tx.Exec(`DELETE FROM setting WHERE name = $1`, stoppedSetting); err != nil {
			return was, audit.Event{}, err
		}
		event := audit.Event{Action: audit.RailsResumed, Description: fmt.Sprintf("Let the rails send again (%s); %d payouts were not looked up", was.Why, was.Left)}
		if len(checked) > 0 {
			event.Description += "; compared with the bank by hand: " + strings.Join(checked, ", ")
		}
		if was.Read { // the store knows everything that the records list, or its payouts need attention
			if err := tx.Exec(`UPDATE setting SET value = $1 WHERE name >= $2 AND name < $3`, comparedBy(tx.Now()), comparedSetting, comparedSetting+"~"); err != nil {
				return was, audit.Event{}, err
			}
		}
		return was, event, tx.Exec(`DELETE FROM payout_recall`)
	})
}

// Stopped reports whether the rails are stopped, and whether there are still payouts that can be looked up at this time.
func (s *Sending) Stopped(ctx context.Context) (stopped, asking bool, err error) {
	err = s.db.Read(ctx, func(q db.Q) error {
		if stopped, err = q.Row(readSetting, stoppedSetting).Scan(new(string)); err != nil || !stopped {
			return err
		}
		asking, err = q.Row(`SELECT r.payout_id FROM payout_recall r JOIN payout p ON p.id = r.payout_id WHERE p.status <> 'processing' LIMIT 1`).Scan(new(string))
		return err
	})
	return stopped, asking, err
}
