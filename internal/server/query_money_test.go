package server_test

import (
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"

	"bursar/api"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/ledger"
)

// money gives workspaces accounts, of which the first one has half of all postings.
func (c *town) money() {
	const bank = "sys_bank_XTS_sandbox"
	accounts, many := c.ids("acc", c.many.others), c.many.payouts
	c.ledger = accounts[0]
	of := func(i int) string {
		if i%2 == 0 {
			return accounts[0]
		}
		return accounts[1+mixed(i)%(len(accounts)-1)]
	}
	count := map[string]int{}
	numbers := make([]int, many) // of the posting of the account, by transaction
	for i := range many {
		count[of(i)]++
		numbers[i] = count[of(i)]
	}
	const columns = "id, workspace_id, kind, name, currency, mode, status, available, reserved, pending, postings, version, created_at, updated_at"
	c.insert("ledger_account", columns, len(accounts)+1, func(i int) []any {
		if i == len(accounts) {
			return []any{bank, nil, "bank", "bank", "XTS", "sandbox", "active", -many, 0, 0, many, 1, c.now, c.now}
		}
		id := accounts[i]
		workspace := c.spread(i)
		if workspace == 0 && i > 1600 { // which has room for those that the walk opens
			workspace = 3 + i%17
		}
		return []any{id, c.workspaces[workspace], "customer", "Account", "XTS", "sandbox", "active", count[id], 0, 0, count[id], 1, c.now, c.now}
	})
	ofAccount, ofBank := c.book(bank)
	transactions, deposits := c.ids("txn", many), c.ids("dep", many)
	c.deposit = deposits[0]
	c.insert("ledger_transaction", "id, workspace_id, kind, reference, description, created_at", many, func(i int) []any {
		return []any{transactions[i], nil, "deposit", deposits[i], "", c.past(i, many)}
	})
	c.insert("ledger_posting", "account_id, number, transaction_id, bucket, amount, balance, created_at", 2*many, func(i int) []any {
		if i%2 == 0 {
			number := numbers[i/2]
			if of(i/2) == c.ledger {
				number += ofAccount
			}
			return []any{of(i / 2), number, transactions[i/2], "available", 1, numbers[i/2], c.past(i/2, many)}
		}
		return []any{bank, ofBank + i/2 + 1, transactions[i/2], "available", -1, -100*many - (i/2 + 1), c.past(i/2, many)}
	})
	c.insert("ledger_deposit", "id, workspace_id, account_id, amount, source, reference, status, created_at, booked_at", many, func(i int) []any {
		id := of(i)
		workspace := c.workspaces[0]
		for j, other := range accounts {
			if other == id {
				workspace = c.workspaces[c.spread(j)]
			}
		}
		return []any{deposits[i], workspace, id, 1, "bank", fmt.Sprint("ref-", i/2), "booked", c.past(i, many), c.now}
	})
}

// book gives the payouts of a filled store what the ledger has of them, before all else that it has. They
// are of 100 each, from the first account. It returns how many postings the account and the bank have then.
func (c *town) book(bank string) (ofAccount, ofBank int) {
	const clearing = "sys_clearing_XTS_sandbox"
	many := c.many.payouts
	at := c.past(0, many) - 1
	c.change(`INSERT INTO ledger_account (id, workspace_id, kind, name, currency, mode, status, available, reserved, pending, postings, version, created_at, updated_at)
		VALUES ($1, NULL, 'clearing', 'clearing', 'XTS', 'sandbox', 'active', 0, 0, 0, 0, 1, $2, $2)`, clearing, at)
	type balance struct{ postings, available, reserved int }
	balances := map[string]*balance{c.ledger: {}, bank: {}, clearing: {}}
	var transactions, postings [][]any
	post := func(transaction, account, bucket string, amount int) {
		b := balances[account]
		b.postings++
		sum := &b.available
		if bucket == "reserved" {
			sum = &b.reserved
		}
		*sum += amount
		postings = append(postings, []any{account, b.postings, transaction, bucket, amount, *sum, at})
	}
	move := func(id, kind, reference, from, fromBucket, to, toBucket string, amount int) {
		transactions = append(transactions, []any{id, nil, kind, reference, "", at})
		post(id, from, fromBucket, -amount)
		post(id, to, toBucket, amount)
	}
	move(db.FirstID("txn", at), "deposit", db.FirstID("dep", at), bank, "available", c.ledger, "available", 100*many)
	for i, id := range c.ids("po", many) {
		move("txn"+id[2:len(id)-1]+"1", "reserve", id, c.ledger, "available", c.ledger, "reserved", 100)
		if is, _ := status(i); is == "completed" {
			move("txn"+id[2:len(id)-1]+"2", "complete", id, c.ledger, "reserved", clearing, "available", 100)
		}
	}
	c.insert("ledger_transaction", "id, workspace_id, kind, reference, description, created_at", len(transactions), func(i int) []any { return transactions[i] })
	c.insert("ledger_posting", "account_id, number, transaction_id, bucket, amount, balance, created_at", len(postings), func(i int) []any { return postings[i] })
	for id, b := range balances {
		c.change(`UPDATE ledger_account SET available = available + $2, reserved = reserved + $3, postings = postings + $4 WHERE id = $1`, id, b.available, b.reserved, b.postings)
	}
	return balances[c.ledger].postings, balances[bank].postings
}

// money moves some through all that can become of it, and reads all lists.
func (w *tour) money() {
	x := w.town.large
	half := w.town.past(1, 2)
	for _, id := range []string{w.town.ledger, x.Account(100)} {
		for _, filter := range [][2]string{
			{"", ""}, {"bucket", "available"}, {"bucket", "reserved"}, {"bucket", "pending"}, {"reference", "dep_none"}, {"reference", w.town.deposit}, {"since", strconv.FormatInt(half, 10)}, {"until", strconv.FormatInt(half, 10)},
		} {
			w.list(x.Owner, "/v2/accounts/"+id+"/postings", "half of all", filter[0], filter[1])
			w.list(x.Owner, "/v2/accounts/"+id+"/postings", "half of all", "reference", w.town.deposit, filter[0], filter[1])
		}
		w.list(x.Owner, "/v2/deposits", "half of all", "workspace_id", x.WorkspaceID, "account_id", id)
	}
	w.list(x.Owner, "/v2/deposits", "half of all", "workspace_id", x.WorkspaceID)
	w.list(x.Owner, "/v2/accounts", "half of all", "workspace_id", x.WorkspaceID, "limit", "25")
	w.begin("a machine client with its secret")
	newRobot(w.t, x, "viewer").do("GET", "/v2/accounts", nil).OK()

	write := func(name string, fn func(tx *db.Tx) error) {
		w.t.Helper()
		w.begin(name)
		_, err := db.Write(w.t.Context(), w.node.DB, db.Caller{}, func(tx *db.Tx) (struct{}, audit.Event, error) {
			return struct{}{}, audit.None("as payouts do"), fn(tx)
		})
		w.must(err)
	}
	id := x.Account(1000)
	a := ledger.Account{ID: id, WorkspaceID: x.WorkspaceID, Currency: "PHP", Mode: api.ModeSandbox}
	some := []ledger.Reserved{{AccountID: id, WorkspaceID: x.WorkspaceID, Currency: "PHP", Mode: api.ModeSandbox, Reference: "po_1", Amount: 10}}
	for _, amount := range []int64{10, 2000} {
		write("money is reserved", func(tx *db.Tx) error {
			_, err := ledger.Reserve(tx, a, []ledger.Want{{Reference: "po_1", Amount: 10}, {Reference: "po_2", Amount: amount}})
			return err
		})
	}
	write("money is released", func(tx *db.Tx) error { return ledger.Release(tx, some) })
	write("money is paid", func(tx *db.Tx) error { return ledger.Complete(tx, some) })
	write("a payout is settled", func(tx *db.Tx) error { return ledger.Settle(tx, some) })
	write("a payout is returned", func(tx *db.Tx) error { return ledger.Return(tx, some) })
	write("money that nobody knows", func(tx *db.Tx) error {
		_, err := ledger.Suspend(tx, "PHP", api.ModeSandbox, 5, "NTRY", "")
		return err
	})
	for _, booked := range []bool{false, true} {
		write("a deposit", func(tx *db.Tx) error {
			_, _, err := ledger.Deposit(tx, a, 10, api.DepositFromBank, "REF", booked)
			return err
		})
	}
	w.begin("whether anything is live")
	w.must(w.node.DB.Read(w.t.Context(), func(q db.Q) error {
		_, err := ledger.HasLive(q)
		return err
	}))
	w.begin("the ledger is verified")
	report, err := ledger.Verify(w.t.Context(), w.node.DB, true, func(done, total int64) {})
	w.must(err)
	report.Mismatches = slices.DeleteFunc(report.Mismatches, func(m ledger.Mismatch) bool {
		return strings.Contains(m.Problem, "the audit log") || strings.Contains(m.Problem, "which the store does not have") // the walk leaves no rows
	})
	if len(report.Mismatches) > 0 {
		w.t.Errorf("the ledger does not verify: %v", report.Mismatches)
	}
	w.begin("the ledger is checked in the background")
	check := ledger.NewCheck(w.node.DB)
	for more := true; more; {
		more, err = check.Turn(w.t.Context(), slog.New(slog.DiscardHandler))
		w.must(err)
	}
}
