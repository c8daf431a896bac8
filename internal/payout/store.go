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

const (
	insertPayout = `INSERT INTO payout (id, workspace_id, account_id, amount, currency, mode, external_id, description, rail, rail_asked, rail_why,
			entry_id, method_id, institution_code, account_name, name_key, account_sealed, sealed_by, destination_key, batch_id, status, attention,
			failure_code, failure_reason, failure_text, cancel_reason, maker_id, involved, approval_id, approval_why, attempts, reserved_at, send_at, expected_at, version,
			created_at, updated_at, ended_at, terms_mac, approvals_needed, counted_at, key_id) VALUES `
	payoutRow = `($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, '', '', '', '', '', $22, $23, $24, $25, 0,
			$26, $27, $28, 1, $29, $29, 0, $30, $31, $32, $33)`
)

// insertSealed stores new payouts whose account numbers are already sealed. They are sorted by external id, so that two nodes that insert
// the same ones do not wait for each other.
func insertSealed(tx *db.Tx, list ...*Payout) error {
	slices.SortStableFunc(list, func(a, b *Payout) int { return strings.Compare(a.ExternalID, b.ExternalID) })
	rows, now := make([][]any, len(list)), tx.Now()
	for i, p := range list {
		p.CreatedAt, p.UpdatedAt = cmp.Or(p.CreatedAt, now), now
		rows[i] = []any{p.ID, p.WorkspaceID, p.AccountID, p.Amount, p.Currency, p.Mode, db.NullText(p.ExternalID), p.Description, p.Rail, p.RailAsked, p.RailWhy,
			db.NullText(p.EntryID), db.NullText(p.MethodID), p.Institution, p.AccountName, nameKey(p.AccountName), p.sealed, vault.KeyOf(p.sealed), p.key,
			db.NullText(p.Batch), p.Status, p.MakerID, p.Involved, db.NullText(p.ApprovalID), p.ApprovalWhy, p.ReservedAt, p.SendAt, p.ExpectedAt, p.CreatedAt,
			p.termsMAC, p.ApprovalsNeeded, p.CountedAt, db.NullText(p.KeyID)}
	}
	return tx.InsertRows(insertPayout, payoutRow, rows)
}

// first returns the first row of a list, or the zero value.
func first[T any](list []T, err error) (one T, _ error) {
	if len(list) > 0 {
		one = list[0]
	}
	return one, err
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
	return tx.Exec(`UPDATE payout SET amount = $2, description = $3, rail = $4, rail_asked = $5, rail_why = $6, entry_id = $7, method_id = $8,
			institution_code = $9, account_name = $10, name_key = $11, account_sealed = $12, sealed_by = $13, destination_key = $14, status = $15,
			failure_code = $16, failure_reason = $17, failure_text = $18, involved = $19, approval_id = $20, approval_why = $21, send_at = $22,
			expected_at = $23, version = $24, updated_at = $25, ended_at = $26, reserved_at = $27, terms_mac = $28, approvals_needed = $29, overrides = $30, counted_at = $31,
			key_id = $32
		WHERE id = $1`,
		d.ID, d.Amount, d.Description, d.Rail, d.RailAsked, d.RailWhy, db.NullText(d.EntryID), db.NullText(d.MethodID), d.Institution, d.AccountName,
		nameKey(d.AccountName), d.sealed, vault.KeyOf(d.sealed), d.key, d.Status, d.FailureCode, d.FailureReason, d.FailureText, d.Involved,
		db.NullText(d.ApprovalID), d.ApprovalWhy, d.SendAt, d.ExpectedAt, d.Version, d.UpdatedAt, d.EndedAt, d.ReservedAt, d.termsMAC, d.ApprovalsNeeded, d.Overrides, d.CountedAt,
		db.NullText(d.KeyID))
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
	if p.sealed, err = s.vault.Seal(p.workspace, vault.PayoutAccount(p.ID), []byte(number)); err == nil {
		p.key, err = s.vault.Index(p.sealed, vault.NormalNumber(number))
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
	text, err := v.Open(p.workspace, vault.PayoutAccount(p.ID), p.sealed)
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
