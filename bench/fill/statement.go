package fill

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"bursar/internal/db"
)

// Statement is an account whose postings are multiplied. It has a deposit, and a payout that was
// cancelled: four postings that leave the account as it was, so that copies of them do, too.
type Statement struct {
	AccountID string
	PayoutID  string
	Postings  int   // to have at least
	Before    int64 // Unix milliseconds; the ids of copies are of a time before it, which no other statement has
}

// Copies is how often the payout is copied. Each takes two milliseconds before Before.
func (s Statement) Copies() int { return s.Postings / 4 }

// Statements fill a store that has the accounts.
type Statements []Statement

func (list Statements) into(ctx context.Context, to store) error {
	for _, s := range list {
		if err := s.into(ctx, to); err != nil {
			return fmt.Errorf("fill the statement of %s: %w", s.AccountID, err)
		}
	}
	// The copies do not have authentication codes of their own, and are accepted as they are with a new key.
	return to.change(ctx, `DELETE FROM vault_secret WHERE name = 'integrity_key'`)
}

func (s Statement) into(ctx context.Context, to store) error {
	columns, postings, err := to.read(ctx, "ledger_posting", Condition{"account_id = $1 AND number > 1 ORDER BY number", []any{s.AccountID}})
	if err != nil {
		return err
	}
	heads, transactions, err := to.read(ctx, "ledger_transaction", Condition{"reference = $1 ORDER BY id", []any{s.PayoutID}})
	if err != nil {
		return err
	}
	if len(postings) != 4 || len(transactions) != 2 {
		return fmt.Errorf("the payout has %d postings of %d transactions", len(postings), len(transactions))
	}
	id, of, at := slices.Index(heads, "id"), slices.Index(columns, "transaction_id"), slices.Index(columns, "created_at")
	last, ok := postings[3][at].(int64)
	if !ok {
		return errors.New("the postings have no time")
	}
	first := func(i int) int64 { return s.Before - int64(2*(s.Copies()-i)) }
	copies := func(columns []string, values []any, vary map[string]func(int) any) Row {
		return newRow(columns, values, Vary{At: func(int) int64 { return last }, Columns: vary}) // times of an account do not go back
	}
	transaction := func(k int) func(int) any { return func(i int) any { return db.FirstID("txn", first(i)+int64(k)) } }
	var rows []Row
	for k, values := range transactions {
		rows = append(rows, copies(heads, values, map[string]func(int) any{
			"id":        transaction(k),
			"reference": func(i int) any { return db.FirstID("po", first(i)) },
		}))
	}
	err = to.write(ctx, "ledger_transaction", heads, 2*s.Copies(), func(i int) []any { return rows[i%2].Values(i / 2) })
	if err != nil {
		return err
	}
	rows = nil
	for k, values := range postings {
		which := slices.IndexFunc(transactions, func(t []any) bool { return t[id] == values[of] })
		rows = append(rows, copies(columns, values, map[string]func(int) any{
			"number":         func(i int) any { return int64(6 + 4*i + k) }, // after the deposit and the payout
			"transaction_id": transaction(which),
		}))
	}
	err = to.write(ctx, "ledger_posting", columns, 4*s.Copies(), func(i int) []any { return rows[i%4].Values(i / 4) })
	if err != nil {
		return err
	}
	return to.change(ctx, `UPDATE ledger_account SET postings = postings + $1 WHERE id = $2`, int64(4*s.Copies()), s.AccountID)
}
