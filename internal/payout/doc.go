// Package payout stores payout requests from the draft to the end. Package dispatch submits them to rails; it reaches them as Sending.
//
// # States
//
//	draft ─▶ initiated ─▶ pending ─▶ processing ─▶ completed ─▶ reversed
//	  │          │         │ ▲  ▲        │  └────▶ failed
//	  │          │         │ │  └────────┘ not received │
//	  │          │         │ └──────────────────────────┘ retry
//	  └──────────┴─────────┴─▶ cancelled
//
// A payout's money is reserved from the moment it becomes pending until it is completed, failed or cancelled. Then it is in clearing or,
// if the payout was not completed, available again. Some recovered payouts are an exception, see below. Money that the bank returns after
// completion is a transaction of its own, and the payout is reversed.
//
// People may resolve a payout that needs attention as paid or not paid (resolve.go). Resolved as paid, pending, processing, failed and
// cancelled payouts become completed. Resolved as not paid, pending, processing and completed ones become failed.
//
// # Attempts
//
// A payout is sent as an attempt. Its end-to-end id consists of the payout's id and the number of the attempt.
//
//	sending ─▶ completed
//	   │  ├──▶ rejected
//	   │  ├──▶ accepted ─▶ any of the others   the rail has received it and has not decided
//	   │  └──▶ unknown ──▶ any of the others   it may have been sent
//	   └─────▶ not_received                    by a look-up: the payout is pending again; or people determined that it was not paid
//
// Sending, accepted and unknown are open. A processing payout has exactly one open attempt, its
// last; any other payout has none. An attempt and its payout change in one transaction, together
// with the ledger and the audit log. That transaction locks both rows before it reads them. So a
// duplicate, late or out-of-order answer changes nothing.
//
// # Sent at most once
//
// Only package dispatch sends, and a node sends only what it has claimed itself. An attempt is submitted again, under the same
// end-to-end id and with the next submission number, in two cases only. Either a look-up answered that no submission so far was received, or people determined that
// none was paid (attempt.notPaid) and retried the payout. A new end-to-end id exists only after the rail has rejected an attempt and a
// person has retried the payout.
//
// Package rail describes what connectors guarantee for that: "not received" is final, so a submission that arrives later is not sent. A
// node submits soon after its claim (SubmitWithin) or not at all, and the connector sends nothing after sendWindow.
//
// Each answer is about one submission. An attempt that the rail has ever acknowledged, or called a duplicate, is never submitted
// again. If a look-up no longer finds it, the payout is contradicted. A rejection decides only if it is about the
// newest submission and no other one was acknowledged.
//
// # What a row alone does not decide
//
// When money is reserved, the payout gets a code over its terms (terms.go) under the integrity key of the store. Between claim and
// submission the node verifies the code, the approval, and the reservation in the ledger, whose transactions have codes of their own.
// A payout that does not match was changed in the store: its attempt ends as not sent, and it is contradicted. The check reads a
// batch of 500 in three queries. Without it, one UPDATE of a pending payout would send any amount to anyone.
//
// A payout is held at its claim if a limit per payout or a rule by amount became stricter after its money was reserved, or if its request or
// a vote for it came through a compromised API key (recheck.go).
//
// # Stops
//
// People stop sending by workspace and mode (stop.go). A claim that begins after a stop was stored claims nothing of that workspace.
// Payouts claimed before are not submitted if the node reads the stop in time. A stop voids a resume that waits.
//
// # After a restore
//
// A store that was restored from an archive does not know what was sent after the moment of the archive. recall.go keeps
// it from sending anything before its payouts were looked up. unknown.go recovers payouts that were made and sent after that moment from
// the records of connectors. A recovered payout has no payee, and is never sent. A store that was set back by other means is
// recognized by these records (record.go), and sends nothing by their connectors.
//
// # Failures
//
//   - The node dies after the claim: the attempt is sending. When its lease expires, after 8 seconds,
//     another node (or the same, started again) looks it up, and goes on if the rail has it. It is submitted
//     again only if the rail has not received it.
//   - It dies after the rail has answered: the same.
//   - The rail does not answer in time, or returns an error: unknown. The money stays reserved, and the
//     rail is asked after 2 seconds, then 4, and so on up to 5 minutes. Once the rail should have answered (Rail.AnswerBy),
//     the payout needs attention (outcome_unknown), and the rail is still asked. So does a payout that its rail has
//     accepted and not decided by then.
//   - The rail answers that it has the payment already (duplicate): it may have been paid, so it is looked up,
//     and never submitted again.
//   - The answer cannot be stored: the attempt stays sending, and its lease expires.
//   - The same answer again, from any source: no effect.
//   - An answer contradicts the one that ended an attempt: it moves no money. The payout needs attention
//     (contradicted), and the audit log has both answers. It is not sent again: retries and approvals are
//     refused, and a pending one is not claimed, so that it can be cancelled. If money moved at the bank
//     for it, a statement will show that, and it goes to suspense.
//   - People resolve a payout, and the rail or the bank reports otherwise: it is contradicted again. A debit of a payout resolved as
//     not paid goes to suspense. If two people resolve it, or people and a rail, the first locks the payout; the other finds it changed.
//   - A payment that was not received is received after all: if the payout was not claimed again, it goes on
//     with that submission. Otherwise it is a contradiction.
//   - The bank's statement shows a payment that is still processing: it is completed first, and a
//     return of it completes and then reverses it.
//   - The bank debits or returns a payment once more, as another movement by its own reference: suspense,
//     and the payout needs attention (contradicted). Without a reference it counts as a duplicate.
//   - The bank books a different amount for a payment than was to be paid: the same.
//   - A notice matches no payment of ours: suspense, if it moved money.
//   - A notice cannot be processed: the others of its message are, and it is retried. The log and a
//     metric report it.
//   - Two nodes process the same notice: the primary key of rail_notice admits only one of them.
//   - The account number cannot be read, because its vault key is lost: nothing was sent, and
//     the payout fails.
//   - Our own account with the bank is short (rail.Reason.FloatShort). The caller gets PROCESSING_FAILED, the operator an
//     error in the log and a metric.
//
// # The hot account
//
// One account that pays thousands is the normal case (payroll). On PostgreSQL each payout of it would
// wait for the row of the account until the previous one is committed. So payouts that need no approval
// and are of the same account are created in one transaction if they are requested at the same time (see
// db.Coalescer). It has one update of the account, and inserts many rows of the ledger at a time. If the
// money does not suffice for all, they are decided in the order of their requests. Only those that do
// not fit are refused. Batches and approvals reserve in the same way.
//
// BenchmarkGather measures the throughput of 64 callers who change one row, gathered ÷ each in its own
// transaction. On PostgreSQL it is 4.2–4.4 on a quiet machine, and 1.95–2.3 on a busy one. On SQLite,
// whose writer groups commits already, it is 1.7 there, and 1.1–1.2 for whole payouts.
//
// # Invariants
//
// The model in dispatch/model_test.go checks these after every step:
//
//   - The money that an account has reserved is the sum of its pending and processing payouts.
//   - A payout's reservation ends once.
//   - At most one attempt of a payout was accepted by the rail, according to the simulator's own table.
package payout
