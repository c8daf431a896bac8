// Package ledger says who has how much money. It is a double-entry ledger of integers in the minor
// unit of their currency.
//
// # Accounts and buckets
//
// An account of a workspace (kind customer) has three buckets: available, which it may spend;
// reserved, which is promised to payouts that are on their way; and pending, which a bank has
// announced and not booked. The system has one account of each other kind for each currency and
// mode, made when it is first needed, with the bucket available alone:
//
//	bank      what the banks hold for us, as the other side of it: below zero, as a rule
//	clearing  what left an account and no statement of the bank has shown yet: never below zero
//	fees      what was charged: never below zero
//	suspense  what a statement shows and nobody can explain
//
// What a bank's statement shows has happened, so suspense takes it whatever the bank's balance: a
// charge may be paid from money that the operator keeps at the bank and never booked, and then the bank
// is above zero. No constraint forbids that, because it would only ever refuse what really
// happened: all accounts sum to zero, and customers, clearing and fees are never below zero, so the bank is
// above zero only by as much as suspense is below it.
//
// An account is sandbox or live for ever, and no transaction has accounts of both. An active account
// does everything. A frozen one pays nothing: it receives, and what was promised before it was
// frozen ends as it would have, unless somebody releases it. A closed one is at zero and stays so;
// nothing opens it again.
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
//	return     bank −X       available +X     the bank sent it back; to suspense if the account is closed
//	reopen     clearing −X   available +X     people found that a completed payout was not paid; to suspense if the account is closed
//	transfer   available −X  available +X     between accounts of a workspace
//	suspend    bank ∓X       suspense ±X      nobody knows what it is for
//
// # Invariants
//
//   - The amounts of a transaction sum to zero, in one currency and one mode.
//   - A bucket of an account is the sum of its postings, and the balance of its last one.
//   - Postings of an account are numbered from 1 without gaps, and their times never go back.
//   - No bucket of a customer is ever below zero, nor are clearing and fees: CHECK
//     constraints say so, whoever writes. Triggers keep transactions and postings from being
//     changed or deleted: a correction is a new transaction.
//   - Post is the only function that writes postings.
//   - What is reserved for a payout is released or completed once: nothing is open unless the payout is
//     pending or processing, a completed one was completed once more than it was reopened, a reversed one returned once as well,
//     and any other was reopened as often as it was completed. Nothing is reopened after the bank's statement has shown it.
//     Each of these is for the payout's amount.
//
// Verify recomputes all of this. With the integrity key it also checks the code of each transaction (mac.go) and compares what
// moved with the audit log (logged.go), so that rows which were written by SQL are found.
//
// # Locks
//
// Post updates each account once, whatever the number of transactions, in the order of ids. Ids of
// system accounts sort after all others, so that the rows which everybody needs are locked last and
// for the shortest time.
//
// # Failures
//
//   - The program or the store dies: a transaction of the store has all postings of a Post or none.
//   - Two spend the same money at once: the row lock puts them in order, and the second is refused.
//   - A callback of db.Write runs again: nothing has an effect but through its tx.
//   - The clock goes back: postings have the time of the one before.
//   - A sum would leave 10^18: refused, far below where 64 bits end.
package ledger
