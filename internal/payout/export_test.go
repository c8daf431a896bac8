package payout

import (
	"context"
	"math"
	"time"

	"github.com/maypok86/otter/v2"

	"bursar/internal/db"
	"bursar/internal/ledger"
	"bursar/internal/rail"
	"bursar/internal/vault"
)

// SetSkew lets the clock of the node be ahead of the database's, or behind it.
func (d *Dispatcher) SetSkew(skew time.Duration) {
	d.MeasureSkew(func() time.Duration { return skew })
}

// MeasureSkew replaces how the node compares its clock with the database's.
func (d *Dispatcher) MeasureSkew(measure func() time.Duration) {
	d.skewAt, d.measureSkew = 0, func(context.Context) (time.Duration, error) { return measure(), nil }
}

// RenewNoLeases keeps the node from prolonging leases, which it does by the time of the machine.
func (d *Dispatcher) RenewNoLeases() { d.renewEvery = math.MaxInt64 }

// PayoutOf is the inverse of EndToEndID.
func PayoutOf(endToEndID string) (payoutID string, attempt int64, ok bool) {
	return payoutOf(endToEndID)
}

// Claim claims what is due, and returns how much it was.
func (d *Dispatcher) Claim(ctx context.Context) (claimed int, err error) {
	for _, r := range d.rails.All() {
		list, err := d.claim(ctx, r)
		if err != nil {
			return claimed, err
		}
		claimed += len(list)
	}
	return claimed, nil
}

// Store applies the answer of a rail.
func (d *Dispatcher) Store(ctx context.Context, endToEndID string, o rail.Outcome) error {
	return d.store(ctx, []answer{{endToEndID: endToEndID, outcome: o}})
}

// Take stores what a connector reports.
func (d *Dispatcher) Take(ctx context.Context, from rail.Connector, n rail.Notice) error {
	return d.take(ctx, from, []rail.Notice{n})
}

// NoRules are the rules of a store that has no approvals.
func NoRules(d *db.DB) *Rules {
	return &Rules{db: d, guards: otter.Must(&otter.Options[string, guard]{MaximumSize: maxGuards})}
}

// PutPending stores payouts that wait to be sent, with their money reserved, and returns their ids.
func PutPending(tx *db.Tx, v *vault.Vault, a ledger.Account, workspace int64, rail string, amount int64, numbers ...string) (ids []string, err error) {
	s := &Service{vault: v}
	var wants []ledger.Want
	for _, number := range numbers {
		p := Payout{
			ID: tx.NewID("po"), WorkspaceID: a.WorkspaceID, AccountID: a.ID, Amount: amount, Currency: a.Currency, Mode: a.Mode, Rail: rail,
			Institution: "BOPIPHMMXXX", AccountName: "Ada Lovelace", Status: Pending, MakerID: "usr_1", SendAt: tx.Now(), ReservedAt: tx.Now(), CreatedAt: tx.Now(), workspace: workspace,
		}
		p.termsMAC = p.termsCode(tx.Integrity(), number, turn{attempt: 1})
		if err := s.insert(tx, &p, number); err != nil {
			return nil, err
		}
		ids, wants = append(ids, p.ID), append(wants, ledger.Want{Reference: p.ID, Amount: amount})
	}
	refused, err := ledger.Reserve(tx, a, wants)
	for _, no := range refused {
		if err == nil {
			err = no
		}
	}
	return ids, err
}

// CancelPending cancels a payout as the service does, and says whether it still could.
func CancelPending(tx *db.Tx, id string) (bool, error) {
	p, err := find(tx.Q, id)
	if err != nil {
		return false, err
	}
	done, err := tx.Row(`UPDATE payout SET status = 'cancelled' WHERE id = $1 AND status = 'pending' RETURNING id`, id).Scan(new(string))
	if err != nil || !done {
		return false, err
	}
	return true, ledger.Release(tx, []ledger.Reserved{p.reserved()})
}

// RetryFailed makes a failed payout pending again as the service does, and says whether it could.
func RetryFailed(tx *db.Tx, v *vault.Vault, id string) (bool, error) {
	p, err := find(tx.Q, id)
	if err != nil || p.Status != Failed || p.Attention == Contradicted {
		return false, err
	}
	a, err := ledger.FindAccount(tx.Q, p.AccountID)
	if err != nil {
		return false, err
	}
	refused, err := ledger.Reserve(tx, a, []ledger.Want{{Reference: id, Amount: p.Amount}})
	if err != nil || refused[0] != nil {
		return false, err
	}
	number, err := number(v, p)
	if err != nil {
		return false, err
	}
	pays, err := p.turn(tx.Q)
	if err != nil {
		return false, err
	}
	p.ReservedAt = tx.Now()
	return true, tx.Exec(`UPDATE payout SET status = 'pending', reserved_at = $2, terms_mac = $3, failure_code = '', failure_reason = '', failure_text = '', send_at = $2, ended_at = 0 WHERE id = $1`, id, p.ReservedAt, p.termsCode(tx.Integrity(), number, pays))
}

// Find reads a payout.
func Find(q db.Q, id string) (Payout, error) { return find(q, id) }

// MaxCommands is how many commands of a screening run at once.
const MaxCommands = maxCommands

// Screened are rules that only screen.
func Screened(s Screening) *Rules {
	return &Rules{screening: s, commands: make(chan struct{}, maxCommands)}
}
