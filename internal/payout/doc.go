// Package payout pays: it keeps payout requests from the draft to the end, and hands them to rails.
//
// # States
//
//	draft ─▶ initiated ─▶ pending ─▶ processing ─▶ completed ─▶ reversed
//	  │          │         │ ▲  ▲        │  └────▶ failed
//	  │          │         │ │  └────────┘ not received │
//	  │          │         │ └──────────────────────────┘ retry
//	  └──────────┴─────────┴─▶ cancelled
//
// A payout's money is reserved (but of some recovered ones, see below) from the moment it becomes pending until it is completed (then it is
// in clearing), failed or cancelled (then it is available again). What comes back from the bank
// after completion is a transaction of its own, and the payout is reversed.
//
// People may resolve a payout that needs attention as paid or not paid (resolve.go), which moves it further: pending, processing,
// failed and cancelled ones to completed, and pending, processing and completed ones to failed.
//
// # Attempts
//
// A payout is sent as an attempt, which has the payout's id and its own number as its end-to-end id.
//
//	sending ─▶ completed
//	   │  ├──▶ rejected
//	   │  ├──▶ accepted ─▶ any of the others   the rail has it and has not decided
//	   │  └──▶ unknown ──▶ any of the others   it may have been sent
//	   └─────▶ not_received                    a look-up answers so: the payout is pending again; or people found that it was not paid
//
// Sending, accepted and unknown are open. A processing payout has exactly one open attempt, its
// last; any other payout has none. An attempt and its payout change in one transaction, together
// with the ledger and the audit log. That transaction locks both rows first, and then looks at what
// they are: an answer that comes twice, late or out of order finds that there is nothing to do.
//
// # The dispatcher
//
// Every node has a Dispatcher. In turns it
//
//   - claims what is due: up to 500 payouts of a rail become processing in one transaction, each
//     with an attempt that is sending, its end-to-end id, the node and a lease. That is on disk
//     before anything leaves. What is due on a rail that is down is not claimed, and waits; in the
//     sandbox the same goes for a workspace that has taken down the rail or the institution.
//     What an account that was frozen meanwhile would pay fails;
//   - submits them, outside of any transaction and for no longer than submitTimeout, and stores
//     what the rail answers, all in one transaction;
//   - asks: attempts whose lease is over, and those that are unknown or accepted, are looked up,
//     later each time;
//   - takes what rails tell by themselves. Each notice is stored with its effect, by connector,
//     message and entry, so that it has that effect once; only then the message is done.
//
// ask_at of an attempt is the lease: whoever sends it or asks about it moves ask_at to where the
// lease ends, again and again while the rail has not answered, and nobody else asks before. Nodes claim different rows, because each skips those that
// another has locked.
//
// # Sent at most once
//
// There is one place that sends, and it sends only what it has claimed itself. An attempt is submitted again, under the same
// end-to-end id and with the next submission number, only after a look-up answered that no submission so far was received, or after
// people found that none was paid (attempt.notPaid) and retried the payout. A new
// end-to-end id exists only after the rail has rejected an attempt and a person has retried the payout.
//
// What connectors promise for that is in package rail: "not received" is final, so a submission that arrives later is not sent. A
// node submits soon after its claim (submitWithin) or not at all, and the connector sends nothing after sendWindow.
//
// Each answer is about one submission. An attempt that the rail has ever acknowledged, or called a duplicate, is never submitted
// again: if a look-up no longer finds it, the payout is contradicted. A rejection decides only if it is about the
// newest submission and no other one was acknowledged.
//
// # What a row may not decide alone
//
// When money is reserved, the payout gets a code over its terms (terms.go) under the integrity key of the store. Between claim and
// submission the node verifies the code, the reservation in the ledger, whose transactions have codes of their own, and the approval.
// A payout that does not match was changed in the store: its attempt ends as not sent, and it is contradicted. The check reads a
// batch of 500 in three queries. Without it, one UPDATE of a pending payout sends any amount to anyone.
//
// A payout is held at its claim if a limit per payout or a rule by amount became stricter after its money was reserved (recheck.go).
//
// # Stops
//
// People stop sending by workspace and mode (stop.go). A claim that begins after a stop was stored takes nothing of that workspace,
// and what was claimed before is not submitted if the node reads the stop in time. A stop voids a resume that waits.
//
// # After a restore
//
// A store that was restored from an archive does not know what was sent after its moment. recall.go keeps
// it from sending anything before its rails were asked. unknown.go recovers payouts that were made and sent after that moment from
// the records of connectors. A recovered payout has no payee, and is never sent. A store that was set back by other means is
// recognized by these records (record.go), and sends nothing by their connectors.
//
// # Failures
//
//   - The node dies after the claim: the attempt is sending. When its lease is over, after 8 seconds,
//     another node (or the same, started again) looks it up, and goes on if the rail has it. It is submitted
//     again only if the rail has not received it.
//   - It dies after the rail has answered: the same.
//   - The rail does not answer in time, or with an error: unknown. The money stays reserved, and the
//     rail is asked after 2 seconds, then 4, and so on up to 5 minutes. Once the rail should have answered (Rail.AnswerBy),
//     the payout needs attention (outcome_unknown), and the rail is asked still. So does one that its rail has
//     accepted and not decided by then.
//   - The rail answers that it has the payment already (duplicate): it may have been paid, so it is looked up,
//     and never submitted again.
//   - The store does not take the answer: the attempt stays sending, and its lease ends.
//   - The same answer again, from whatever side: nothing.
//   - An answer that contradicts the one that ended an attempt: it moves no money. The payout needs
//     attention (contradicted), and the audit log has both. It is not sent again: whoever retries or
//     approves it is refused, and one that waits is not claimed, so that it can be cancelled. If money
//     moved at the bank for it, a statement will show that, and it goes to suspense.
//   - People resolve a payout, and the rail or the bank reports otherwise: it is contradicted again. A debit of what was not paid
//     goes to suspense. Of two who resolve, or of people and a rail, the first locks the payout; the other finds it changed.
//   - A payment that was not received is received after all: if the payout was not claimed again, it goes on
//     with that submission. Otherwise it is a contradiction.
//   - The bank's statement shows a payment that is still processing: it is completed first, and a
//     return of it completes and then reverses it.
//   - The bank debits or returns a payment once more, as another movement by its own reference: suspense,
//     and the payout needs attention (contradicted). Without a reference it counts as a repeat.
//   - The bank books another amount for a payment than was to be paid: the same.
//   - A notice matches no payment of ours: suspense, where it moved money.
//   - A notice cannot be taken: the others of its message are, and it is tried again. The log and a
//     metric tell it.
//   - Two nodes take the same notice: the primary key of rail_notice lets one of them.
//   - The number of the account cannot be read, because its vault key is lost: nothing was sent, and
//     the payout fails.
//   - AM04 is that our own account with the bank is short: PROCESSING_FAILED for the caller, an
//     error in the log and a metric for the operator.
//
// # The hot account
//
// One account that pays thousands is the normal case (payroll). On PostgreSQL each payout of it would
// wait for the row of the account until the one before is committed. So payouts that nobody has to
// approve, and that ask for the same account at the same time, are made in one transaction (see
// db.Gather): one update of the account, and rows of the ledger inserted many at a time. If the money
// does not suffice for all, they are decided in the order in which they came, and only those are
// refused that do not fit. Batches and approvals reserve in the same way.
//
// 64 callers who change one row, gathered ÷ each in its own transaction, as BenchmarkGather measures
// it: 4.2–4.4 on PostgreSQL on a quiet machine, 1.95–2.3 on a busy one. On SQLite, whose writer groups
// commits already, it is 1.7 there, and 1.1–1.2 for whole payouts.
//
// # Invariants
//
// The model in model_test.go holds these after every step: what an account has reserved is the sum
// of its pending and processing payouts; a payout's reservation ends once; at most one attempt of a
// payout was accepted by the rail, as the simulator's own table witnesses.
package payout
