package payout

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/vault"
)

// insertSealed stores new payouts whose account numbers are already sealed. They are sorted by external id, so that two nodes that insert
// the same ones do not wait for each other.
func insertSealed(tx *db.Tx, list ...*Payout) error {
	slices.SortStableFunc(list, func(a, b *Payout) int { return strings.Compare(a.ExternalID, b.ExternalID) })
	now := tx.Now()
	for _, p := range list {
		p.CreatedAt, p.UpdatedAt = cmp.Or(p.CreatedAt, now), now
	}
	return insertedRow.Insert(tx, list...)
}

// isNew reports whether the store does not have the payout yet.
func (d *draft) isNew() bool { return d.UpdatedAt == 0 }

// store stores new payouts, and those that the caller has locked and changed.
func store(tx *db.Tx, list ...*draft) error {
	var added []*Payout
	for _, d := range list {
		if d.isNew() {
			added = append(added, &d.Payout)
		} else if err := d.update(tx); err != nil {
			return err
		}
	}
	return insertSealed(tx, added...)
}

func (d *draft) update(tx *db.Tx) error {
	d.UpdatedAt = tx.Now()
	return changedRow.Update(tx, d.ID, &d.Payout)
}

// lock reads a payout and locks it until the transaction ends.
func lock(tx *db.Tx, id string) (Payout, error) {
	if _, err := tx.Row(`UPDATE payout SET updated_at = updated_at WHERE id = $1 RETURNING id`, id).Scan(new(string)); err != nil {
		return Payout{}, err
	}
	return Find(tx.Q, id)
}

// lockBatch locks a batch until the transaction ends. Transactions that change one of its payouts lock the batch before the payout. So if
// two cancel the last ones at the same time, the second sees that.
func lockBatch(tx *db.Tx, id string) error {
	_, err := tx.Row(`UPDATE payout_batch SET refused = refused WHERE id = $1 RETURNING id`, id).Scan(new(string))
	return err
}

// cancel cancels a payout that is in a given state, and ends its hold. It reports whether the payout was in that state.
func cancel(tx *db.Tx, id, from, reason string) (bool, error) {
	return tx.Row(`UPDATE payout SET status = 'cancelled', cancel_reason = $3, send_at = 0, expected_at = 0, updated_at = $4, ended_at = $4,
			attention = CASE WHEN attention = 'recheck' THEN '' ELSE attention END
		WHERE id = $1 AND status = $2 RETURNING id`, id, from, reason, tx.Now()).Scan(new(string))
}

// seal seals the destination account number of a payout, and computes the key that finds it.
func (s *Service) seal(p *Payout, number string) (err error) {
	if p.Sealed, err = s.vault.Seal(p.WorkspaceNumber, vault.PayoutAccount(p.ID), []byte(number)); err == nil {
		p.DestinationKey, err = s.vault.Index(p.Sealed, vault.NormalNumber(number))
	}
	return err
}

// number is openNumber, except that it also treats a number damaged in the store as lost, so that people can end the payout.
func number(v *vault.Vault, p Payout) (string, error) {
	text, err := openNumber(v, p)
	if errors.Is(err, vault.ErrDamaged) {
		return audit.LostNumber, nil
	}
	return text, err
}

// openNumber opens the destination account number of a payout. It may read a key from the store, so call it after db.Read, or in a
// transaction for which the vault is ready.
func openNumber(v *vault.Vault, p Payout) (string, error) {
	if p.recovered() {
		return "", nil
	}
	text, err := v.Open(p.WorkspaceNumber, vault.PayoutAccount(p.ID), p.Sealed)
	if errors.Is(err, vault.ErrLost) {
		return audit.LostNumber, nil
	}
	if err != nil {
		return "", fmt.Errorf("the account number of %s: %w", p.ID, err)
	}
	return string(text), nil
}

// nameKey returns the form of a payee's name used for search.
func nameKey(name string) string { return strings.ToLower(name) }
