package control

import (
	"errors"
	"fmt"
	"slices"

	"bursar/api"
	"bursar/internal/db"
	"bursar/internal/fault"
)

// A rule by sum applies to the payouts of a day in Manila that together are above its amount. They are all to one payee, or all of one
// requester with their keys and machine clients. A payout is counted when it is requested, by the counters that limits have. It is removed
// if it is cancelled, rejected or fails on that day. Payouts that bring a sum above the amount need the approvals of the rule, whatever
// happened to earlier ones.

// bySum reports whether a rule applies to the sum of a day, and not to single payouts.
func (u rule) bySum() bool { return u.Per == api.LimitPerDay }

// sumOf returns a rule by sum as the limit that counts for it.
func sumOf(u rule) limit {
	return limit{PayoutLimit: api.PayoutLimit{ID: u.ID, Mode: u.Mode, AccountID: u.AccountID, Rail: u.Rail, Each: u.Each, Per: u.Per,
		AmountCents: *u.AboveCents, CreatedAt: u.activeAt}}
}

// requested returns what a payout adds to the sums of the day when it was requested.
func (p Spending) requested() Spending {
	p.At = p.RequestedAt
	return p
}

// WouldExceed returns the rules by sum that would apply to a payout at this time, and stores nothing. With count it counts the payout in
// used, so that the payouts of one request are compared together.
func (s *Service) WouldExceed(q db.Q, p Spending, used Used, count bool) (rules []string, err error) {
	all, err := s.usesOf(q, p, guard.bySum)
	if err != nil {
		return nil, err
	}
	for _, u := range all {
		had, known := used[u.counter]
		if !known {
			if had, err = u.counted(q); err != nil {
				return nil, err
			}
		}
		if sum := had.amount + p.Amount; sum > u.AmountCents && !slices.Contains(rules, u.ID) {
			rules = append(rules, u.ID)
		}
		if count {
			had = counted{had.amount + p.Amount, had.count + 1}
		}
		used[u.counter] = had
	}
	return rules, nil
}

// ErrSumsMoved is why a payout is checked again: other payouts requested meanwhile brought a sum above the amount of a rule.
var ErrSumsMoved = errors.New("other payouts of the day were requested meanwhile")

// CountSums adds a payout to the sums of its day, in the transaction that stores it. exceeds are the rules that applied to it when it was
// checked: if another one does, it returns ErrSumsMoved and counts nothing.
func (s *Service) CountSums(tx *db.Tx, p Spending, exceeds []string) error {
	all, err := s.usesOf(tx.Q, p.requested(), guard.bySum)
	if err != nil {
		return err
	}
	moved := false
	for _, u := range all {
		sum, err := u.add(tx, p.Amount)
		if err != nil {
			return err
		}
		moved = moved || sum > u.AmountCents && !slices.Contains(exceeds, u.ID)
	}
	if !moved {
		return nil
	}
	for _, u := range all {
		if err := u.giveBack(tx, p.Amount); err != nil {
			return err
		}
	}
	return fmt.Errorf("%w: %w", ErrSumsMoved, &fault.Fault{Code: api.CodeUnavailable,
		Message: "others are requesting payouts of the same payee or requester at this moment: try again"})
}

// DiscountSums removes a payout that is cancelled, rejected or failed from the sums of its day, if that is today.
func (s *Service) DiscountSums(tx *db.Tx, p Spending) error {
	return s.uncount(tx, p.requested(), guard.bySum)
}

// batchSum identifies a sum of a batch: what it pays on a rail to one payee. Without a rail the sum is of all rails, and without a payee of
// all payees.
type batchSum struct{ rail, payee string }

// addTo adds a payout to the sums of its batch, including those by payee if a rule needs them.
func (p Reserved) addTo(sums map[batchSum]int64, byPayee bool) {
	payees := []string{""}
	if byPayee {
		payees = append(payees, string(p.Key))
		if p.EntryID != "" {
			payees = append(payees, p.EntryID)
		}
	}
	for _, payee := range payees {
		sums[batchSum{p.Rail, payee}] += p.Amount
		sums[batchSum{"", payee}] += p.Amount
	}
}

// alone returns the part of a sum that a payout and its batch make up: the minimum that the rule counts.
func (c *comparison) alone(u rule, p Reserved) int64 {
	if u.Each == api.EachMaker {
		return max(p.Amount, c.sums[batchSum{u.Rail, ""}])
	}
	sum := max(p.Amount, c.sums[batchSum{u.Rail, string(p.Key)}])
	if p.EntryID != "" {
		sum = max(sum, c.sums[batchSum{u.Rail, p.EntryID}])
	}
	return sum
}
