// Package ledger records how much money each account has. It is a double-entry ledger of integers in
// the minor unit of their currency.
//
// # Accounts and buckets
//
// An account of a workspace (kind customer) has three buckets. It may spend what is available.
// Reserved money is for payouts that are not completed yet. Pending money was announced by a bank
// and not booked. The system has one account of each other kind for each currency and mode. It is created
// when it is first needed, and has only the bucket available:
//
//	bank      the counterpart of what the banks hold for us: normally below zero
//	clearing  money that left an account and is in no statement of the bank yet: never below zero
//	fees      charged fees: never below zero
//	suspense  unexplained money in a statement
//
// Movements in a bank's statement have happened, so suspense accepts them whatever the bank's balance.
// A charge may be paid from money that the operator keeps at the bank and never booked, and then the
// bank is above zero. No constraint forbids that, because it would only refuse real movements. All
// accounts sum to zero, and customers, clearing and fees are never below zero. So the bank is above
// zero only by as much as suspense is below it.
//
// An account is permanently sandbox or live, and no transaction has accounts of both. An active
// account can do everything. A frozen one pays nothing. It receives, and money reserved before it was
// frozen ends as usual, unless it is released. A closed account is permanently at zero and cannot be
// opened again.
//
// # Transactions
//
//	deposit    bank −X       available +X
//	announce   bank −X       pending +X       the bank has announced a deposit
//	book       pending −X    available +X     and booked it
//	reserve    available −X  reserved +X      a payout becomes pending
//	release    reserved −X   available +X     it failed, or was cancelled
//	complete   reserved −X   clearing +X      the payee has the money
//	settle     clearing −X   bank +X          the bank's statement shows it
//	return     bank −X       available +X     the bank returned it; to suspense if the account is closed
//	reopen     clearing −X   available +X     people determined that a completed payout was not paid; to suspense if the account is closed
//	transfer   available −X  available +X     between accounts of a workspace
//	suspend    bank ∓X       suspense ±X      its purpose is unknown
//
// # Invariants
//
//   - The amounts of a transaction sum to zero, in one currency and one mode.
//   - A bucket of an account is the sum of its postings, and the balance of its last one.
//   - Postings of an account are numbered from 1 without gaps, and their times never go back.
//   - No bucket of a customer is ever below zero, nor are clearing and fees: CHECK
//     constraints enforce that for every write. Triggers keep transactions and postings from
//     being changed or deleted: a correction is a new transaction.
//   - Post is the only function that writes postings.
//   - Money reserved for a payout is released or completed once. No reservation is open unless the payout is
//     pending or processing. A completed payout was completed once more than it was reopened; a reversed one was
//     also returned once. Any other payout was reopened as often as it was completed. Nothing is reopened after the
//     bank's statement has shown it. Each of these is for the payout's amount.
//
// Verify recomputes all of this. With the integrity key it also checks the code of each transaction (mac.go). It compares
// movements with the audit log (logged.go), so that rows written directly by SQL are found.
//
// # Locks
//
// Post updates each account once, whatever the number of transactions, in the order of ids. Ids of
// system accounts sort after all others, so that the rows that all transactions need are locked last
// and for the shortest time.
//
// # Failures
//
//   - The program or the store dies: a transaction of the store has all postings of a Post or none.
//   - Two transactions spend the same money concurrently: the row lock serializes them, and the second is refused.
//   - A callback of db.Write runs again: it has effects only through its tx.
//   - The clock goes back: a posting gets the time of the previous one.
//   - A sum would exceed 10^18: refused, far below the limit of 64 bits.
package ledger
