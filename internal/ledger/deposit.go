package ledger

import (
	"fmt"

	"bursar/api"
	"bursar/internal/audit"
	"bursar/internal/db"
)

// Deposit credits money to an account: to pending while a bank has only announced it, and to available once it is booked. A booked deposit
// with the reference and the amount of an announced one is the same deposit. An account that is closed refuses with ACCOUNT_CLOSED: such
// money is for Suspend.
func Deposit(tx *db.Tx, a Account, amount int64, source, reference string, booked bool) (api.Deposit, audit.Event, error) {
	if amount <= 0 || amount > MaxAmount {
		return api.Deposit{}, audit.Event{}, fmt.Errorf("a deposit of %d", amount)
	}
	if booked && reference != "" {
		if d, err := bookAnnounced(tx, a, amount, reference); err != nil || d.ID != "" {
			return d, depositEvent(a, d, "Booked"), err
		}
	}
	d := api.Deposit{
		ID: tx.NewID("dep"), WorkspaceID: a.WorkspaceID, AccountID: a.ID, Amount: amount, Currency: a.Currency, Source: source, Reference: reference,
		Status: api.DepositPending, CreatedAt: tx.Now(),
	}
	kind, bucket, verb := KindAnnounce, BucketPending, "Announced"
	if booked {
		kind, bucket, verb = KindDeposit, BucketAvailable, "Booked"
		d.Status, d.BookedAt = api.DepositBooked, d.CreatedAt
	}
	_, err := Post(tx, Transaction{kind, a.WorkspaceID, d.ID, reference, []Move{
		{SystemAccount(Bank, a.Currency, a.Mode), BucketAvailable, -amount}, {a.ID, bucket, amount},
	}})
	if err != nil {
		return api.Deposit{}, audit.Event{}, err
	}
	return d, depositEvent(a, d, verb), tx.Exec(`INSERT INTO ledger_deposit (id, workspace_id, account_id, amount, source, reference, status, created_at, booked_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`, d.ID, d.WorkspaceID, d.AccountID, d.Amount, d.Source, d.Reference, d.Status, d.CreatedAt, db.NullInt(d.BookedAt))
}

// bookAnnounced books a deposit that was announced; its id is "" if there is none.
func bookAnnounced(tx *db.Tx, a Account, amount int64, reference string) (d api.Deposit, err error) {
	err = tx.Each(func(r db.Rows) error {
		d = readDeposit(r)
		return nil
	}, `SELECT `+depositColumns+` FROM ledger_deposit d JOIN ledger_account a ON a.id = d.account_id
		WHERE d.account_id = $1 AND d.reference = $2 AND d.amount = $3 AND d.status = 'pending' ORDER BY d.id LIMIT 1`, a.ID, reference, amount)
	if err != nil || d.ID == "" {
		return d, err
	}
	d.Status, d.BookedAt = api.DepositBooked, tx.Now()
	// If two transactions book it concurrently, they wait for each other here. The second finds another deposit, or none.
	booked, err := tx.Row(`UPDATE ledger_deposit SET status = $2, booked_at = $3 WHERE id = $1 AND status = 'pending' RETURNING id`, d.ID, d.Status, d.BookedAt).Scan(new(string))
	if err != nil {
		return d, err
	}
	if !booked {
		return bookAnnounced(tx, a, amount, reference)
	}
	_, err = Post(tx, Transaction{KindBook, a.WorkspaceID, d.ID, reference, []Move{{a.ID, BucketPending, -amount}, {a.ID, BucketAvailable, amount}}})
	return d, err
}

// HasDeposit reports whether a deposit of an account was announced or booked with a reference.
func HasDeposit(q db.Q, a Account, amount int64, reference string) (bool, error) {
	return q.Row(`SELECT id FROM ledger_deposit WHERE account_id = $1 AND reference = $2 AND amount = $3 LIMIT 1`, a.ID, reference, amount).Scan(new(string))
}

func depositEvent(a Account, d api.Deposit, verb string) audit.Event {
	event := audit.Event{
		Action: audit.DepositAnnounced, WorkspaceID: a.WorkspaceID, ResourceID: d.ID,
		Description: verb + " a deposit of " + api.FormatAmount(d.Amount, a.Currency) + " to account " + a.Name,
	}
	if d.Status == api.DepositBooked {
		event.Action = audit.DepositBooked
	}
	event.Changes.Add("account_id", nil, a.ID)
	event.Changes.Add("amount_cents", nil, d.Amount)
	event.Changes.Add("source", nil, d.Source)
	event.Changes.Add("reference", nil, d.Reference)
	return event
}

// Suspend books unexplained money that a bank's statement shows: received or, if the amount is negative, paid. It belongs to no workspace.
func Suspend(tx *db.Tx, currency, mode string, amount int64, reference, description string) (transactionID string, err error) {
	ids, err := Post(tx, Transaction{KindSuspend, "", reference, description, []Move{
		{SystemAccount(Bank, currency, mode), BucketAvailable, -amount}, {SystemAccount(Suspense, currency, mode), BucketAvailable, amount},
	}})
	if err != nil {
		return "", err
	}
	return ids[0], nil
}
