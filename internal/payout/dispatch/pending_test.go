package dispatch_test

import (
	"errors"
	"strings"

	"bursar/internal/db"
	"bursar/internal/ledger"
	"bursar/internal/payout"
	"bursar/internal/vault"
)

// putPending stores payouts that wait to be sent, with their money reserved, and returns their ids.
func putPending(tx *db.Tx, v *vault.Vault, a ledger.Account, workspace int64, rail string, amount int64, numbers ...string) (ids []string, err error) {
	const name = "Ada Lovelace"
	var wants []ledger.Want
	for _, number := range numbers {
		id := tx.NewID("po")
		sealed, err := v.Seal(workspace, vault.PayoutAccount(id), []byte(number))
		if err != nil {
			return nil, err
		}
		key, err := v.Index(sealed, vault.NormalNumber(number))
		if err != nil {
			return nil, err
		}
		if err := tx.Exec(`INSERT INTO payout (id, workspace_id, account_id, amount, currency, mode, description, rail, rail_asked, rail_why, institution_code, account_name, name_key,
				account_sealed, sealed_by, destination_key, status, attention, failure_code, failure_reason, failure_text, cancel_reason, maker_id, involved, approval_why, attempts,
				reserved_at, send_at, expected_at, version, created_at, updated_at, ended_at)
			VALUES ($1, $2, $3, $4, $5, $6, '', $7, '', '', $8, $9, $10, $11, $12, $13, 'pending', '', '', '', '', '', 'usr_1', '', '', 0, $14, $14, 0, 1, $14, $14, 0)`,
			id, a.WorkspaceID, a.ID, amount, a.Currency, a.Mode, rail, bpi, name, strings.ToLower(name), sealed, vault.KeyOf(sealed), key, tx.Now()); err != nil {
			return nil, err
		}
		if err := payout.Authenticate(tx, v, id); err != nil {
			return nil, err
		}
		ids, wants = append(ids, id), append(wants, ledger.Want{Reference: id, Amount: amount})
	}
	refused, err := ledger.Reserve(tx, a, wants)
	return ids, errors.Join(append(refused, err)...)
}

// find reads what tests look at of a payout; its id is empty if there is none.
func find(q db.Q, id string) (p payout.Payout, err error) {
	err = q.Each(func(r db.Rows) error {
		p = payout.Payout{ID: r.Text(0), WorkspaceID: r.Text(1), AccountID: r.Text(2), Amount: r.Int(3), Currency: r.Text(4), Mode: r.Text(5), Status: r.Text(6), Attention: r.Text(7),
			FailureCode: r.Text(8), FailureReason: r.Text(9), Involved: r.Text(10), ApprovalID: r.Text(11), RecheckID: r.Text(12), Attempts: r.Int(13), SendAt: r.Int(14), ExpectedAt: r.Int(15)}
		return nil
	}, `SELECT id, workspace_id, account_id, amount, currency, mode, status, attention, failure_code, failure_reason, involved, approval_id, recheck_id, attempts, send_at, expected_at
		FROM payout WHERE id = $1`, id)
	return p, err
}

// cancelPending cancels a payout as the service does, and says whether it still could.
func cancelPending(tx *db.Tx, id string) (bool, error) {
	p, err := find(tx.Q, id)
	if err != nil {
		return false, err
	}
	done, err := tx.Row(`UPDATE payout SET status = 'cancelled' WHERE id = $1 AND status = 'pending' RETURNING id`, id).Scan(new(string))
	if err != nil || !done {
		return false, err
	}
	return true, ledger.Release(tx, []ledger.Reserved{{AccountID: p.AccountID, WorkspaceID: p.WorkspaceID, Currency: p.Currency, Mode: p.Mode, Reference: id, Amount: p.Amount}})
}

// retryFailed makes a failed payout pending again as the service does, and says whether it could.
func retryFailed(tx *db.Tx, v *vault.Vault, id string) (bool, error) {
	p, err := find(tx.Q, id)
	if err != nil || p.Status != payout.Failed || p.Attention == payout.Contradicted {
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
	if err := tx.Exec(`UPDATE payout SET status = 'pending', reserved_at = $2, failure_code = '', failure_reason = '', failure_text = '', send_at = $2, ended_at = 0 WHERE id = $1`, id, tx.Now()); err != nil {
		return false, err
	}
	return true, payout.Authenticate(tx, v, id)
}
