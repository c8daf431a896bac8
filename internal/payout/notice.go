package payout

import (
	"cmp"
	"context"
	"fmt"

	"bursar/api"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/ledger"
	"bursar/internal/payout/control"
	"bursar/internal/rail"
)

// Take processes notices: it stores them with their effects.
func (s *Sending) Take(ctx context.Context, from rail.Connector, list []rail.Notice) error {
	t, err := db.Write(ctx, s.db, db.SystemCaller(), func(tx *db.Tx) (*taking, audit.Event, error) {
		t := &taking{change: newChange(s.now(), s), tx: tx, rules: s.rules, from: from, mode: mode(from.Sandbox())}
		err := t.all(list)
		return t, t.event(), err
	})
	if err == nil {
		s.alarm(t.change)
		s.Suspended.Add(uint64(t.suspended))
	}
	return err
}

// taking is the processing of notices in one transaction.
type taking struct {
	*change
	tx        *db.Tx
	rules     *control.Service
	from      rail.Connector
	mode      string
	found     map[string]*attempt
	suspended int
}

func (t *taking) all(list []rail.Notice) error {
	// The attempts are locked first: another node that processes the same notices waits here, and then finds them processed.
	var ids []any
	for _, n := range list {
		if n.EndToEndID != "" {
			ids = append(ids, n.EndToEndID)
		}
	}
	var err error
	if len(ids) > 0 {
		if t.found, err = findAttempts(t.tx.Q, ids, t.tx.ForUpdate); err != nil {
			return err
		}
	}
	var moving []*attempt
	for _, n := range list {
		a := t.found[n.EndToEndID]
		// A settled notice moves no money of an account, unless it completes the payout.
		if a != nil && (n.Kind == rail.Returned || n.Kind == rail.Decided && decisive(n.Outcome) || n.Kind == rail.Settled && a.State != rail.Completed) {
			moving = append(moving, a)
		}
	}
	if err := t.compare(t.tx, moving); err != nil {
		return err
	}
	taken, err := t.taken(list)
	if err != nil {
		return err
	}
	for _, n := range list {
		key := noticeKey{n.MessageID, n.EntryID}
		if taken[key] {
			continue
		}
		taken[key] = true
		if err := t.one(n); err != nil {
			return fmt.Errorf("entry %s: %w", n.EntryID, err)
		}
	}
	return t.store(t.tx, t.rules)
}

type noticeKey struct{ message, entry string }

// taken reports which notices were processed before.
func (t *taking) taken(list []rail.Notice) (map[noticeKey]bool, error) {
	entries := map[string][]any{}
	for _, n := range list {
		entries[n.MessageID] = append(entries[n.MessageID], n.EntryID)
	}
	taken := map[noticeKey]bool{}
	for message, some := range entries {
		sql := db.NewStatement(`SELECT entry_id FROM rail_notice WHERE connector = `, t.from.Name())
		sql.Add(` AND message_id = `, message)
		sql.AddList(` AND entry_id IN (`, some)
		err := t.tx.EachOf(sql, func(r db.Rows) error {
			taken[noticeKey{message, r.Text(0)}] = true
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return taken, nil
}

// one processes a notice that was not processed before.
func (t *taking) one(n rail.Notice) error {
	a := t.found[n.EndToEndID]
	if a != nil && a.payout.Mode != t.mode {
		a = nil // a notice of the sandbox is not about a live payment
	}
	var payoutID string
	explained := false
	if a != nil {
		payoutID = a.payout.ID
	}
	var err error
	switch {
	case n.Kind == rail.Decided:
		explained = true // a decision alone moves no money
		if a != nil {
			t.decide(a, n.Outcome)
		}
	case !n.Booked && n.Kind != rail.Deposited:
		explained = true // the bank has announced the movement and may still decide otherwise
	case n.Kind == rail.Settled && a != nil:
		explained = t.settled(a, n)
	case n.Kind == rail.Returned && a != nil:
		explained, err = t.cameBack(a, n)
	case n.Kind == rail.Deposited:
		explained, err = t.deposited(n)
	}
	if err == nil && !explained {
		err = t.suspend(n, payoutID)
	}
	if err != nil {
		return err
	}
	return t.tx.Exec(`INSERT INTO rail_notice (connector, message_id, entry_id, kind, payout_id, taken_at) VALUES ($1, $2, $3, $4, $5, $6)`,
		t.from.Name(), n.MessageID, n.EntryID, string(n.Kind), db.NullText(payoutID), t.now)
}

// cameBack processes a return. A second one is another movement if the bank has given its own reference to both. If the first was named by
// its message, because the bank gave no reference there, it may be the same.
func (t *taking) cameBack(a *attempt, n rail.Notice) (explained bool, err error) {
	if a.payout.Status == Reversed && n.Outcome.Reference != "" {
		named, err := t.tx.Row(`SELECT entry_id FROM rail_notice WHERE payout_id = $1 AND kind = 'returned' AND connector = $2 AND message_id = $3 LIMIT 1`,
			a.payout.ID, t.from.Name(), n.MessageID).Scan(new(string))
		if err != nil {
			return false, err
		}
		if !named {
			n.Outcome.Reference = ""
		}
	}
	return t.returned(a, n), nil
}

// suspend puts unexplained money in suspense.
func (t *taking) suspend(n rail.Notice, payoutID string) error {
	if n.Amount == 0 || !n.Booked {
		return nil // no money has moved
	}
	t.suspended++
	what := fmt.Sprintf("%s, entry %s of %s by %s: %s", n.Kind, n.EntryID, n.MessageID, t.from.Name(), n.Text)
	id, err := ledger.Suspend(t.tx, n.Currency, t.mode, n.Amount, cmp.Or(payoutID, n.EndToEndID, n.MessageID), what)
	t.events = append(t.events, audit.Event{
		Action: audit.MoneySuspended, ResourceID: id, Description: "Nobody can explain " + api.FormatAmount(n.Amount, n.Currency) + ": " + what,
	})
	return err
}

// deposited credits received money to its account. It reports whether there is one.
func (t *taking) deposited(n rail.Notice) (bool, error) {
	a, err := ledger.FindAccount(t.tx.Q, n.AccountID)
	if err != nil || a.Kind != ledger.Customer || a.Mode != t.mode || a.Currency != n.Currency || a.Status == api.AccountClosed || n.Amount <= 0 {
		return false, err
	}
	if !n.Booked && n.Outcome.Reference != "" {
		if known, err := ledger.HasDeposit(t.tx.Q, a, n.Amount, n.Outcome.Reference); err != nil || known {
			return true, err // late: the bank has announced or booked it before
		}
	}
	_, event, err := ledger.Deposit(t.tx, a, n.Amount, api.DepositFromBank, cmp.Or(n.Outcome.Reference, n.EndToEndID, n.EntryID), n.Booked)
	t.events = append(t.events, event)
	return true, err
}
