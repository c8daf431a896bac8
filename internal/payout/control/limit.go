package control

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"bursar/api"
	"bursar/internal/db"
	"bursar/internal/fault"
)

// Spending contains what a payout counts as for the limits of its workspace.
type Spending struct {
	WorkspaceID, AccountID, EntryID string
	Makers                          []string // all who had a part in requesting it
	// Key represents the destination account number, as receiving methods store it. So paying a payee through another entry, or through
	// none, does not avoid a limit of the payee.
	Key            []byte
	Rail           string
	Mode, Currency string
	Amount         int64
	At             int64 // when it was counted for limits by day, in Unix milliseconds
	RequestedAt    int64 // when it was counted for rules by sum; 0 if it never was

	payees []string // EntryID, all entries that have the number, and those merged into them
}

// TakeLimits counts a payout, in the transaction that reserves its money. It returns a fault LIMIT_EXCEEDED if the payout exceeds a limit.
// Then nothing is counted, so that the transaction can go on with other payouts.
func (s *Service) TakeLimits(tx *db.Tx, p Spending) error {
	g, err := s.guard(tx.Q, p.WorkspaceID)
	if err != nil {
		return err
	}
	if err := p.findPayees(tx.Q, g.limits); err != nil {
		return err
	}
	return takeLimits(tx, g.limits, p)
}

// counter identifies what a limit counts: see the table payout_counted.
type counter struct {
	guardID        string
	day            int64
	of             string
	mode, currency string
}

// counted is how much of a limit is used.
type counted struct{ amount, count int64 }

// Used counts the payouts of one request.
type Used map[counter]counted

// CheckLimits returns the fault that TakeLimits would return for a payout now, and stores nothing. It
// counts in used instead, so that the payouts of one request are checked together.
func (s *Service) CheckLimits(q db.Q, p Spending, used Used) error {
	g, err := s.guard(q, p.WorkspaceID)
	if err != nil || len(g.limits) == 0 {
		return err
	}
	if err := p.findPayees(q, g.limits); err != nil {
		return err
	}
	matching := matchingLimits(g.limits, p)
	if err := perPayout(matching, p); err != nil {
		return err
	}
	all := uses(matching, p)
	for _, u := range all {
		had, known := used[u.counter]
		if !known {
			if had, err = u.counted(q); err != nil {
				return err
			}
			used[u.counter] = had
		}
		if had.amount+p.Amount > u.AmountCents || u.Count > 0 && had.count >= u.Count {
			return exceededBy(u.limit, had, p)
		}
	}
	for _, u := range all {
		had := used[u.counter]
		used[u.counter] = counted{had.amount + p.Amount, had.count + 1}
	}
	return nil
}

// perPayout returns a fault if a payout is above a limit for single payouts.
func perPayout(limits []limit, p Spending) error {
	for _, l := range limits {
		if l.Per == api.LimitPerPayout && p.Amount > l.AmountCents {
			return exceeded(l, l.AmountCents, nil, p)
		}
	}
	return nil
}

func takeLimits(tx *db.Tx, limits []limit, p Spending) error {
	matching := matchingLimits(limits, p)
	if err := perPayout(matching, p); err != nil {
		return err
	}
	var taken []use
	for _, u := range uses(matching, p) {
		ok, err := u.take(tx, p.Amount)
		if err == nil && !ok {
			err = u.refusal(tx, p)
			ok = err == nil // the limit is gone
		} else if ok {
			taken = append(taken, u)
		}
		if !ok {
			for _, u := range taken {
				if failed := u.giveBack(tx, p.Amount); failed != nil {
					return failed
				}
			}
			return err
		}
	}
	return nil
}

// GiveBackLimits undoes TakeLimits for a payout that failed or was cancelled on the day it was counted.
func (s *Service) GiveBackLimits(tx *db.Tx, p Spending) error { return s.uncount(tx, p, guard.byLimit) }

// GiveBack removes a payout that failed or was cancelled from the counters of limits and rules.
func (s *Service) GiveBack(tx *db.Tx, p Spending) error {
	if err := s.GiveBackLimits(tx, p); err != nil {
		return err
	}
	return s.DiscountSums(tx, p)
}

// CountPaid counts a payout that was paid after all: for limits, even above them, and again for the sums of its day.
func (s *Service) CountPaid(tx *db.Tx, p Spending) error {
	if err := s.add(tx, p, guard.byLimit); err != nil || p.RequestedAt == 0 { // the store learned of it after a restore
		return err
	}
	return s.add(tx, p.requested(), guard.bySum)
}

// byLimit and bySum are what counts payouts: limits by day, and rules by sum.
func (g guard) byLimit() []limit { return g.limits }
func (g guard) bySum() []limit   { return g.sums }

// usesOf returns the counters that a payout adds to.
func (s *Service) usesOf(q db.Q, p Spending, counts func(guard) []limit) ([]use, error) {
	g, err := s.guard(q, p.WorkspaceID)
	if err == nil {
		err = p.findPayees(q, counts(g))
	}
	return uses(matchingLimits(counts(g), p), p), err
}

// add adds a payout to its counters, whatever they allow.
func (s *Service) add(tx *db.Tx, p Spending, counts func(guard) []limit) error {
	all, err := s.usesOf(tx.Q, p, counts)
	for _, u := range all {
		if err == nil {
			_, err = u.add(tx, p.Amount)
		}
	}
	return err
}

// uncount removes a payout from its counters, if they are of today.
func (s *Service) uncount(tx *db.Tx, p Spending, counts func(guard) []limit) error {
	if day(p.At) != day(tx.Now()) {
		return nil
	}
	all, err := s.usesOf(tx.Q, p, counts)
	for _, u := range all {
		if err == nil && u.CreatedAt < p.At { // otherwise it has not counted the payout
			err = u.giveBack(tx, p.Amount)
		}
	}
	return err
}

// maxPayees bounds how many entries with one number are read.
const maxPayees = 100

// findPayees finds all entries that have the paid number, if there are limits of payees. So paying the number through another entry, or
// through none, counts for these payees. A method that was not payable when the payout was counted is left out, so that GiveBackLimits undoes no
// more than TakeLimits did. Entries that were merged into a payee before are payees, too, because what they were paid that day still counts.
func (p *Spending) findPayees(q db.Q, limits []limit) (err error) {
	p.payees = nil
	byPayee := len(p.Key) > 0 && slices.ContainsFunc(limits, func(l limit) bool { return l.EntryID != "" || l.Each == api.EachPayee })
	if byPayee {
		p.payees, err = db.Collect(q, func(r db.Rows) string { return db.UnpackID("entry", r, 0) }, `SELECT DISTINCT entry_id FROM receiving_method
			WHERE account_key = $1 AND status = 'active' AND payable_at <= $2 ORDER BY entry_id LIMIT $3`, p.Key, p.At, maxPayees)
	}
	if p.EntryID != "" && !slices.Contains(p.payees, p.EntryID) {
		p.payees = append(p.payees, p.EntryID)
	}
	for i := 0; err == nil && byPayee && i < len(p.payees) && len(p.payees) < maxPayees; i++ {
		err = q.Each(func(r db.Rows) error {
			if id := db.UnpackID("entry", r, 0); !slices.Contains(p.payees, id) {
				p.payees = append(p.payees, id)
			}
			return nil
		}, `SELECT id FROM directory_entry WHERE merged_into = $1 AND deleted_at <= $2 ORDER BY id LIMIT $3`, db.PackID("entry", p.payees[i]), p.At, maxPayees)
	}
	return err
}

// day returns the number of the day in Manila, which has no daylight-saving time.
func day(at int64) int64 {
	return (at + (8 * time.Hour).Milliseconds()) / (24 * time.Hour).Milliseconds()
}

// limit is a row of the table payout_limit.
type limit struct {
	api.PayoutLimit
	version int64
}

func matchingLimits(all []limit, p Spending) []limit {
	var list []limit
	for _, l := range all {
		if inMode(l.Mode, p.Mode) && (l.AccountID == "" || l.AccountID == p.AccountID) && (l.MakerID == "" || slices.Contains(p.Makers, l.MakerID)) &&
			(l.EntryID == "" || slices.Contains(p.payees, l.EntryID)) && (l.Rail == "" || l.Rail == p.Rail) {
			list = append(list, l)
		}
	}
	return list
}

// use is a counter of a limit.
type use struct {
	limit
	counter
}

// uses returns the counters of a payout. They are locked in this order: by limit, then by the object that they count for.
func uses(limits []limit, p Spending) []use {
	var list []use
	for _, l := range limits {
		if l.Per != api.LimitPerDay {
			continue
		}
		of := []string{""}
		switch l.Each {
		case api.EachAccount:
			of[0] = p.AccountID
		case api.EachMaker:
			of = slices.Sorted(slices.Values(p.Makers))
		case api.EachPayee:
			of = slices.DeleteFunc(append([]string{hex.EncodeToString(p.Key)}, p.payees...), func(id string) bool { return id == "" })
			slices.Sort(of)
		}
		for _, id := range of {
			list = append(list, use{l, counter{l.ID, day(p.At), id, p.Mode, p.Currency}})
		}
	}
	return list
}

// add counts an amount and returns the new sum. It locks the row.
func (c counter) add(tx *db.Tx, amount int64) (sum int64, err error) {
	_, err = tx.Row(`INSERT INTO payout_counted (guard_id, day, of_id, mode, currency, amount, count) VALUES ($1, $2, $3, $4, $5, $6, 1)
		ON CONFLICT (guard_id, day, of_id, mode, currency) DO UPDATE SET amount = payout_counted.amount + $6, count = payout_counted.count + 1
		RETURNING amount`, c.guardID, c.day, c.of, c.mode, c.currency, amount).Scan(&sum)
	return sum, err
}

// take counts an amount if the limit allows it. It locks the row, so concurrent callers count no more than the limit allows.
func (u use) take(tx *db.Tx, amount int64) (bool, error) {
	if err := tx.Exec(`INSERT INTO payout_counted (guard_id, day, of_id, mode, currency, amount, count) VALUES ($1, $2, $3, $4, $5, 0, 0)
		ON CONFLICT (guard_id, day, of_id, mode, currency) DO NOTHING`, u.guardID, u.day, u.of, u.mode, u.currency); err != nil {
		return false, err
	}
	return tx.Row(`UPDATE payout_counted SET amount = amount + $6, count = count + 1
		WHERE guard_id = $1 AND day = $2 AND of_id = $3 AND mode = $4 AND currency = $5 AND EXISTS (
			SELECT 1 FROM payout_limit l WHERE l.id = $1 AND payout_counted.amount + $6 <= l.amount AND (l.count = 0 OR payout_counted.count < l.count))
		RETURNING guard_id`, u.guardID, u.day, u.of, u.mode, u.currency, amount).Scan(new(string))
}

func (c counter) giveBack(tx *db.Tx, amount int64) error {
	return tx.Exec(`UPDATE payout_counted SET amount = CASE WHEN amount > $6 THEN amount - $6 ELSE 0 END, count = CASE WHEN count > 1 THEN count - 1 ELSE 0 END
		WHERE guard_id = $1 AND day = $2 AND of_id = $3 AND mode = $4 AND currency = $5`, c.guardID, c.day, c.of, c.mode, c.currency, amount)
}

// refusal returns a fault with the limit that does not allow a payout and how much of it is left. It returns nil if the limit was removed
// meanwhile.
func (u use) refusal(tx *db.Tx, p Spending) error {
	l, err := findLimit(tx.Q, u.ID)
	if err != nil || l.ID == "" {
		return err
	}
	l.Currency = u.limit.Currency
	had, err := u.counted(tx.Q)
	if err != nil {
		return err
	}
	return exceededBy(l, had, p)
}

// counted reads how much is counted.
func (c counter) counted(q db.Q) (had counted, err error) {
	_, err = q.Row(`SELECT amount, count FROM payout_counted WHERE guard_id = $1 AND day = $2 AND of_id = $3 AND mode = $4 AND currency = $5`,
		c.guardID, c.day, c.of, c.mode, c.currency).Scan(&had.amount, &had.count)
	return had, err
}

// exceededBy is the fault for a payout that no longer fits into a limit by day.
func exceededBy(l limit, had counted, p Spending) error {
	var left *int64
	if l.Count > 0 {
		left = new(max(l.Count-had.count, 0))
	}
	return exceeded(l, max(l.AmountCents-had.amount, 0), left, p)
}

func exceeded(l limit, left int64, leftCount *int64, p Spending) error {
	f := fault.New(api.CodeLimitExceeded, "this passes a limit of the workspace: %s", limitText(l.PayoutLimit))
	f.Details = api.LimitDetails{LimitID: l.ID, Per: l.Per, AmountCents: l.AmountCents, RemainingCents: left,
		Count: l.Count, RemainingCount: leftCount, RequestedAmount: p.Amount}
	return f
}

// limitText describes what a limit allows.
func limitText(l api.PayoutLimit) string {
	var b strings.Builder
	b.WriteString("at most " + centsText(l.AmountCents, l.Currency))
	if l.Count > 0 {
		fmt.Fprintf(&b, " and %d payouts", l.Count)
	}
	if l.Per == api.LimitPerDay {
		b.WriteString(" a day")
	} else {
		b.WriteString(" by one payout")
	}
	if l.Each != "" {
		b.WriteString(" for each " + l.Each)
	}
	b.WriteString(modeText(l.Mode))
	for _, of := range [][2]string{{" from the account ", l.AccountID}, {" by the maker ", l.MakerID}, {" to the payee ", l.EntryID}, {" by ", l.Rail}} {
		if of[1] != "" {
			b.WriteString(of[0] + of[1])
		}
	}
	return b.String()
}

const limitColumns = `id, workspace_id, account_id, maker_id, entry_id, rail, each_of, per, amount, count, version, approval_id, created_at, mode`

func readLimit(r db.Rows) limit {
	return limit{api.PayoutLimit{ID: r.Text(0), WorkspaceID: r.Text(1), AccountID: r.Text(2), MakerID: r.Text(3), EntryID: r.Text(4), Rail: r.Text(5),
		Each: r.Text(6), Per: r.Text(7), AmountCents: r.Int(8), Count: r.Int(9), ApprovalID: r.Text(11), CreatedAt: r.Int(12), Mode: r.Text(13), Currency: r.Text(14)}, r.Int(10)}
}

// limitsOf lists the limits of a workspace that apply in a mode, or all of them.
func (s *Service) limitsOf(q db.Q, workspaceID, mode, after string, take int) ([]limit, error) {
	list, err := db.Collect(q, readLimit, `SELECT `+limitColumns+`, `+accountCurrency+` FROM payout_limit
		WHERE workspace_id = $1 AND id > $2 AND ($3 = '' OR mode = $3 OR mode = 'both') ORDER BY id LIMIT $4`, workspaceID, after, mode, take)
	for i := range list {
		list[i].Currency = s.meant(list[i].Currency, list[i].Rail)
	}
	return list, err
}

// findLimit reads a limit; its id is empty if there is none.
func findLimit(q db.Q, id string) (limit, error) {
	return db.First(q, readLimit, `SELECT `+limitColumns+`, `+accountCurrency+` FROM payout_limit WHERE id = $1`, id)
}

// ExpireUsed deletes the counters of past days.
func ExpireUsed(tx *db.Tx) error {
	return tx.Exec(`DELETE FROM payout_counted WHERE day < $1`, day(tx.Now())-keepUsed)
}
