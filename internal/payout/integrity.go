package payout

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"

	"bursar/internal/access"
	"bursar/internal/approval"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/ledger"
	"bursar/internal/vault"
)

// integrityName is the name of the store's secret that authenticates the ledger and the terms of payouts.
const integrityName = "integrity_key"

// ErrNoIntegrity is the error for a store whose integrity key is gone, though its ledger has transactions.
var ErrNoIntegrity = errors.New("the store has lost its integrity key, though its ledger has transactions: " +
	"someone may have deleted it. Restore a backup, or run 'bursar admin ledger reauthenticate' to accept the ledger as it is")

// LoadIntegrity enables the store to authenticate the ledger and payouts. It creates the key in a store that has none. If the ledger has
// transactions, their key is gone, and a new one is created only with accept, which is an operator's decision. Then the ledger is recorded
// as it is, and payouts whose money is reserved get their codes.
func LoadIntegrity(ctx context.Context, d *db.DB, v *vault.Vault, accept bool) error {
	found, err := FindIntegrity(ctx, d, v)
	if err == nil && !found {
		if err = makeIntegrity(ctx, d, v, accept); err == nil {
			_, err = FindIntegrity(ctx, d, v) // another node may have been faster
		}
	}
	return err
}

// FindIntegrity enables the store to authenticate the ledger and payouts, and reports whether it has a key for that.
func FindIntegrity(ctx context.Context, d *db.DB, v *vault.Vault) (bool, error) {
	secret, err := v.StoredSecret(ctx, integrityName)
	if err != nil || secret == nil {
		return false, err
	}
	var i db.Integrity
	if err := json.Unmarshal(secret, &i); err != nil || len(i.Key) < 32 {
		return false, errors.New("the integrity key of the store is malformed")
	}
	d.SetIntegrity(i)
	return true, nil
}

func makeIntegrity(ctx context.Context, d *db.DB, v *vault.Vault, accept bool) error {
	if err := readyOpen(ctx, d, v); err != nil {
		return fmt.Errorf("ready the vault for open payouts: %w", err)
	}
	_, err := db.Write(ctx, d, db.SystemCaller(), func(tx *db.Tx) (struct{}, audit.Event, error) {
		none := audit.None("another node has made the key, or the ledger is empty")
		known, err := ledger.HasTransactions(tx.Q)
		if err != nil {
			return struct{}{}, none, err
		}
		if known && !accept {
			return struct{}{}, none, ErrNoIntegrity
		}
		i := db.NewIntegrity(tx.Now())
		if err := ledger.Authenticate(tx.Q, i); err != nil {
			return struct{}{}, none, err
		}
		secret, err := json.Marshal(i)
		if err != nil {
			return struct{}{}, none, fmt.Errorf("write the integrity key: %w", err)
		}
		first, err := v.InsertSecret(tx, integrityName, secret)
		if err != nil || !first {
			return struct{}{}, none, err
		}
		if err := approval.AuthenticateVotes(tx, i); err != nil {
			return struct{}{}, none, err
		}
		payouts, err := authenticateOpen(tx, v, i)
		if err != nil || !known {
			return struct{}{}, none, err
		}
		event := audit.Event{Action: audit.IntegrityKeyMade, Description: fmt.Sprintf("Made the key that authenticates the ledger, with %d transactions and %d open payouts", i.Count, payouts)}
		event.Changes.Add("transactions", nil, i.Count)
		event.Changes.Add("payouts", nil, payouts)
		event.OrganizationID, err = access.AuditOrganization(tx.Q, "")
		return struct{}{}, event, err
	})
	if err != nil {
		err = fmt.Errorf("make the key that authenticates the ledger: %w", err)
	}
	return err
}

// authenticateOpen gives a code to payouts whose money is reserved. One whose account number is lost gets none: it fails when it
// is sent.
func authenticateOpen(tx *db.Tx, v *vault.Vault, i *db.Integrity) (n int64, err error) {
	err = eachOpen(tx.Q, func(p *Payout) error {
		authenticated, err := authenticate(tx, v, i, p)
		if authenticated {
			n++
		}
		return err
	})
	return n, err
}

// readyOpen readies the vault for the workspaces of payouts whose money is reserved. Within a transaction it cannot make the data
// keys that replace lost ones.
func readyOpen(ctx context.Context, d *db.DB, v *vault.Vault) error {
	workspaces := map[int64]bool{}
	err := d.Read(ctx, func(q db.Q) error {
		return eachOpen(q, func(p *Payout) error {
			workspaces[p.WorkspaceNumber] = true
			return nil
		})
	})
	for workspace := range workspaces {
		if err == nil {
			err = v.Ready(ctx, workspace)
		}
	}
	return err
}

// eachOpen calls fn with each payout whose money is reserved.
func eachOpen(q db.Q, fn func(p *Payout) error) error {
	for after := ""; ; {
		list, err := db.Collect(q, readSent, `SELECT `+sentRow.Columns+` FROM payout WHERE id > $1 AND status IN ('pending', 'processing') ORDER BY id LIMIT $2`, after, SendingBatch)
		if err != nil {
			return err
		}
		for _, p := range list {
			if err := fn(p); err != nil {
				return err
			}
		}
		if len(list) < SendingBatch {
			return nil
		}
		after = list[len(list)-1].ID
	}
}

// authenticate gives a payout the code of its terms. It reports whether the account number could be read.
func authenticate(tx *db.Tx, v *vault.Vault, i *db.Integrity, p *Payout) (bool, error) {
	to, err := number(v, *p)
	if err != nil || to == audit.LostNumber {
		return false, err
	}
	pays, err := p.turn(tx.Q)
	if err != nil {
		return false, err
	}
	return true, tx.Exec(`UPDATE payout SET terms_mac = $2 WHERE id = $1`, p.ID, p.termsCode(i, to, pays))
}

// Authenticate gives a waiting payout its code under the current key. It is for tests that reserve money without the service.
func Authenticate(tx *db.Tx, v *vault.Vault, id string) error {
	list, err := db.Collect(tx.Q, readSent, `SELECT `+sentRow.Columns+` FROM payout WHERE id = $1`, id)
	for _, p := range list {
		if err == nil {
			_, err = authenticate(tx, v, tx.Integrity(), p)
		}
	}
	return err
}
