package simulator

import (
	"context"
	"fmt"

	"bursar/internal/db"
	"bursar/internal/rail"
)

// Reports of the bank about a payment that are still due. Decided: it is decided and, if it is completed, debited from our account.
// Settled: only the latter, because the answer contained the former. Returned: it was returned.
const (
	noticeDecided  = "decided"
	noticeSettled  = "settled"
	noticeReturned = "returned"
)

// service is a service in the sandbox of a workspace.
type service struct{ workspaceID, name string }

// downFor returns the services that are down in the sandboxes of the workspaces of payments.
func downFor(q db.Q, list []rail.Payment) (map[service]bool, error) {
	var workspaces []any
	seen, down := map[string]bool{}, map[service]bool{}
	for _, p := range list {
		if !seen[p.WorkspaceID] {
			seen[p.WorkspaceID] = true
			workspaces = append(workspaces, p.WorkspaceID)
		}
	}
	for piece := range db.Pieces(workspaces) {
		sql := db.NewStatement(`SELECT workspace_id, service FROM simulated_service WHERE status = 'down' AND workspace_id IN (`, piece...)
		sql.Add(`)`)
		err := q.EachOf(sql, func(r db.Rows) error {
			down[service{r.Text(0), r.Text(1)}] = true
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return down, nil
}

// insert stores payments and returns the ids of those that are new, or that replace the tombstone of an earlier submission.
func insert(tx *db.Tx, rows [][]any) (map[string]bool, error) {
	inserted := map[string]bool{}
	for piece := range db.Pieces(rows) {
		sql := db.NewStatement(`INSERT INTO simulated_payment (end_to_end_id, payout_id, rail, amount, currency, digits, state, code, return_code, taken_at, tell, due_at, submission) VALUES (`, piece[0]...)
		for _, row := range piece[1:] {
			sql.Add(`), (`, row...)
		}
		sql.Add(`) ON CONFLICT (end_to_end_id) DO UPDATE SET rail = excluded.rail, amount = excluded.amount, currency = excluded.currency, digits = excluded.digits, state = excluded.state,
			code = excluded.code, return_code = excluded.return_code, taken_at = excluded.taken_at, tell = excluded.tell, due_at = excluded.due_at, submission = excluded.submission
			WHERE simulated_payment.state = 'not_received' AND simulated_payment.submission < excluded.submission RETURNING end_to_end_id`)
		err := tx.EachOf(sql, func(r db.Rows) error {
			inserted[r.Text(0)] = true
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return inserted, nil
}

// find returns the stored payments of a list that are wanted.
func find(q db.Q, list []rail.Payment, wanted func(id string) bool) (map[string]taken, error) {
	var ids []any
	for _, p := range list {
		if wanted(p.EndToEndID) {
			ids = append(ids, p.EndToEndID)
		}
	}
	known := map[string]taken{}
	for piece := range db.Pieces(ids) {
		sql := db.NewStatement(`SELECT end_to_end_id, digits, state, code, submission FROM simulated_payment WHERE end_to_end_id IN (`, piece...)
		sql.Add(`)`)
		err := q.EachOf(sql, func(r db.Rows) error {
			known[r.Text(0)] = taken{r.Text(1), rail.State(r.Text(2)), r.Text(3), int(r.Int(4))}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return known, nil
}

// writeTombstones writes tombstones, so that Submit does not accept these submissions later. A payment that has arrived meanwhile gets none.
func writeTombstones(tx *db.Tx, r *rail.Rail, missing []rail.Payment) error {
	var rows [][]any
	for _, p := range missing {
		rows = append(rows, []any{p.EndToEndID, p.PayoutID, r.Name, p.Amount, p.Currency, "", string(rail.NotReceived), "", "", tx.Now(), nil, nil, p.Submission})
	}
	_, err := insert(tx, rows)
	return err
}

// drop makes tombstones of payments that are not completed and that people have determined not to be paid, so that a later submission
// replaces them.
func drop(tx *db.Tx, later []rail.Payment) error {
	for _, p := range later {
		if p.NotPaid == 0 {
			continue
		}
		if err := tx.Exec(`UPDATE simulated_payment SET state = 'not_received', tell = NULL, due_at = NULL
			WHERE end_to_end_id = $1 AND submission <= $2 AND submission < $3 AND state <> 'completed'`, p.EndToEndID, p.NotPaid, p.Submission); err != nil {
			return err
		}
	}
	return nil
}

// lookedUp stores the answers of look-ups about payments that had timed out.
func lookedUp(tx *db.Tx, ids []string) error {
	for _, id := range ids {
		if err := tx.Exec(`UPDATE simulated_payment SET state = 'completed', tell = 'settled', due_at = $2 WHERE end_to_end_id = $1 AND state = 'unknown'`, id, tx.Now()); err != nil {
			return err
		}
		if err := tx.Exec(`UPDATE simulated_payment SET state = 'not_received' WHERE end_to_end_id = $1 AND state = 'lost'`, id); err != nil {
			return err
		}
	}
	return nil
}

// decide ends the wait of a payment.
func decide(tx *db.Tx, id string, state rail.State, code string) (bool, error) {
	return tx.Row(`UPDATE simulated_payment SET state = $2, code = $3, tell = 'decided', due_at = $4 WHERE end_to_end_id = $1 AND state IN ('accepted', 'unknown') RETURNING end_to_end_id`,
		id, string(state), code, tx.Now()).Scan(new(string))
}

// sendBack returns a completed payment. If the bank has yet to report that it is completed, it reports that first.
func sendBack(tx *db.Tx, id, code string) (bool, error) {
	done, err := tx.Row(`UPDATE simulated_payment SET return_code = $2, tell = COALESCE(tell, 'returned'), due_at = COALESCE(due_at, $3)
		WHERE end_to_end_id = $1 AND state = 'completed' AND return_code = '' RETURNING end_to_end_id`, id, code, tx.Now()).Scan(new(string))
	return done, err
}

// noticesAtOnce bounds how many payments a message reports.
const noticesAtOnce = 512

// Receive implements rail.Connector.
func (s *Simulator) Receive(ctx context.Context) ([]rail.Message, error) {
	var all []rail.Notice
	err := s.db.Read(ctx, func(q db.Q) error {
		sql := db.NewStatement(`SELECT end_to_end_id, tell, state, code, return_code, amount, currency, submission FROM simulated_payment WHERE due_at <= `, s.db.Now())
		sql.Add(` ORDER BY due_at, end_to_end_id`)
		sql.Limit(noticesAtOnce)
		return q.EachOf(sql, func(r db.Rows) error {
			all = append(all, notices(r)...)
			return nil
		})
	})
	if err != nil || len(all) == 0 {
		return nil, err
	}
	return []rail.Message{{ID: Name, Notices: all}}, nil
}

// notices returns the notices that are due for a row. They are named by the payment, not by the message, which contains more payments when
// it is requested again.
func notices(r db.Rows) []rail.Notice {
	id, notice, state, amount, submission := r.Text(0), r.Text(1), rail.State(r.Text(2)), r.Int(5), int(r.Int(7))
	entry := "/" + id
	if submission > 1 { // an earlier one may have been reported
		entry += fmt.Sprint("/", submission)
	}
	n := func(kind rail.NoticeKind, amount int64, o rail.Outcome) rail.Notice {
		return rail.Notice{
			MessageID: Name, EntryID: string(kind) + entry, Kind: kind, EndToEndID: id, Outcome: o,
			Amount: amount, Currency: r.Text(6), Booked: true,
		}
	}
	decided := outcome(id, state, r.Text(3), submission)
	switch {
	case notice == noticeReturned:
		return []rail.Notice{n(rail.Returned, amount, rail.Outcome{State: state, Code: r.Text(4), Text: "returned by the simulator", Reference: "SIMR" + id})}
	case notice == noticeSettled:
		return []rail.Notice{n(rail.Settled, -amount, decided)}
	case state == rail.Completed:
		return []rail.Notice{n(rail.Decided, -amount, decided), n(rail.Settled, -amount, decided)}
	}
	return []rail.Notice{n(rail.Decided, 0, decided)}
}

// Done implements rail.Connector.
func (s *Simulator) Done(ctx context.Context, m rail.Message) error {
	var decided, returned []any
	for _, n := range m.Notices {
		if n.Kind == rail.Returned {
			returned = append(returned, n.EndToEndID)
		} else {
			decided = append(decided, n.EndToEndID)
		}
	}
	_, err := write(ctx, s.db, func(tx *db.Tx) (struct{}, error) {
		for piece := range db.Pieces(decided) {
			sql := db.NewStatement(`UPDATE simulated_payment SET tell = CASE WHEN return_code = '' THEN NULL ELSE 'returned' END,
				due_at = CASE WHEN return_code = '' THEN NULL ELSE taken_at + `)
			sql.Add(``, int64(returnsAfter))
			sql.Add(` END WHERE tell IN ('decided', 'settled') AND end_to_end_id IN (`, piece...)
			sql.Add(`)`)
			if err := tx.ExecOf(sql); err != nil {
				return struct{}{}, err
			}
		}
		for piece := range db.Pieces(returned) {
			sql := db.NewStatement(`UPDATE simulated_payment SET tell = NULL, due_at = NULL WHERE tell = 'returned' AND end_to_end_id IN (`, piece...)
			sql.Add(`)`)
			if err := tx.ExecOf(sql); err != nil {
				return struct{}{}, err
			}
		}
		return struct{}{}, nil
	})
	return err
}
