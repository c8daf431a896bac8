package ledger

import (
	"fmt"

	"bursar/api"
	"bursar/internal/db"
)

// booked is a payout with its transactions in the ledger.
type booked struct {
	id, status, account, currency, mode string
	workspaceID                         string
	amount                              int64
	reserved                            bool   // false for a payout that was recovered after a restore without its money: see internal/payout/unknown.go
	last                                string // transaction
	counts                              map[Kind]int
	authenticated                       map[Kind]int // those with a code of the key
}

// checkPayouts compares the next payouts with their transactions in the ledger, and returns the id of the
// last one. A payout and the ledger change in one transaction of the store, so the caller must have a snapshot.
func checkPayouts(q db.Q, i *db.Integrity, after string) (last string, read int, found []Mismatch, err error) {
	list, err := db.Collect(q, func(r db.Rows) *booked {
		return &booked{id: r.Text(0), status: r.Text(1), amount: r.Int(2), account: r.Text(3), workspaceID: r.Text(4), currency: r.Text(5), mode: r.Text(6), reserved: r.Bool(7),
			counts: map[Kind]int{}, authenticated: map[Kind]int{}}
	}, `SELECT id, status, amount, account_id, workspace_id, currency, mode, reserved_at > 0 OR account_sealed IS NOT NULL FROM payout WHERE id > $1 ORDER BY id LIMIT $2`, after, verifyChunk)
	if err != nil || len(list) == 0 {
		return after, 0, nil, err
	}
	payouts := make(map[string]*booked, len(list))
	for _, p := range list {
		payouts[p.id] = p
	}
	last = list[len(list)-1].id
	// Each of these transactions has one posting with a positive amount. A subquery finds it, because PostgreSQL
	// would scan the whole table for a join of so many rows.
	err = q.Each(func(r db.Rows) error {
		p, kind := payouts[r.Text(0)], Kind(r.Text(2))
		if p == nil || kind == KindSuspend { // it belongs to no payout, even if it names one
			return nil
		}
		p.last = r.Text(1)
		p.counts[kind]++
		if i.Names(r.Raw(5)) {
			p.authenticated[kind]++
		}
		if amount := r.Int(4); amount != p.amount {
			found = append(found, p.mismatch("the payout is for %d, but this %s moves %d", p.amount, kind, amount))
		}
		switch account := r.Text(3); {
		case account == p.account:
		case kind == KindReserve:
			found = append(found, p.mismatch("the payout is paid from this account, but its money was reserved in %s", account))
		case kind == KindReopen && account != SystemAccount(Suspense, p.currency, p.mode):
			found = append(found, p.mismatch("the payout is paid from this account, but its money went back to %s", account))
		}
		return nil
	}, `SELECT t.reference, t.id, t.kind, (SELECT p.account_id FROM ledger_posting p WHERE p.transaction_id = t.id AND p.amount > 0 LIMIT 1),
			(SELECT p.amount FROM ledger_posting p WHERE p.transaction_id = t.id AND p.amount > 0 LIMIT 1), t.mac
		FROM ledger_transaction t WHERE t.reference >= $1 AND t.reference <= $2 ORDER BY t.reference, t.id`, list[0].id, last)
	if err != nil {
		return after, 0, nil, err
	}
	var subjects []subject
	for _, p := range list {
		subjects = append(subjects, subject{p.workspaceID, p.id})
	}
	var rows map[string][]api.AuditEntry
	if i != nil {
		if rows, err = loggedRows(q, subjects); err != nil {
			return after, 0, nil, err
		}
	}
	for _, p := range list {
		if i != nil {
			found = append(found, p.checkLogged(rows[p.id])...)
		}
		if !p.fits() {
			n := p.counts
			found = append(found, p.mismatch(`the payout is %s, but its transactions are `+
				`%d × reserve, %d × release, %d × complete, %d × reopen, %d × settle and %d × return`,
				p.status, n[KindReserve], n[KindRelease], n[KindComplete], n[KindReopen], n[KindSettle], n[KindReturn]))
		}
	}
	return last, len(list), found, nil
}

// mismatch names a payout, its account and its last transaction so far.
func (p *booked) mismatch(format string, args ...any) Mismatch {
	return Mismatch{TransactionID: p.last, AccountID: p.account, Problem: "payout " + p.id + ": " + fmt.Sprintf(format, args...)}
}

// fits reports whether the ledger has the transactions that the state of the payout implies. A payout that was retried has reserved its
// money several times. Between these its money was released, or completed and reopened.
func (p *booked) fits() bool {
	var held, paid, back int
	switch p.status {
	case api.PayoutDraft, api.PayoutInitiated, api.PayoutFailed, api.PayoutCancelled:
	case api.PayoutPending, api.PayoutProcessing:
		held = 1
	case api.PayoutCompleted:
		paid = 1
	case api.PayoutReversed:
		paid, back = 1, 1
	default:
		return false
	}
	if !p.reserved {
		held, paid, back = 0, 0, 0
	}
	n := p.counts
	return n[KindReserve]-n[KindRelease]-n[KindComplete] == held && n[KindComplete]-n[KindReopen] == paid &&
		n[KindReturn] == back && n[KindSettle] <= paid
}
