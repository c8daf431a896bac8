// Package dispatch submits payouts to rails, looks up those whose outcome is unknown, and processes what rails report. Package payout
// describes the states of payouts and attempts, and why a payment is sent at most once.
//
// Every node has a Dispatcher. It repeats these steps, the first two in a goroutine per rail, the last in one per connector:
//
//   - Claim: up to 500 due payouts of a rail become processing in one transaction. Each gets an
//     attempt that is sending, with its end-to-end id, the node and a lease. That is on disk before
//     anything is sent. Payouts due on a rail that is down are not claimed, and wait. In the
//     sandbox the same goes for a workspace in which the rail or the institution is
//     down. Payouts of an account that was frozen meanwhile fail.
//   - Submit: the claimed payouts are submitted, outside any transaction and for no longer than
//     payout.SubmitTimeout. The rail's answers are stored, all in one transaction.
//   - Ask: attempts whose lease has expired, and those that are unknown or accepted, are looked up,
//     with a growing delay.
//   - Receive: notices that rails send unasked are processed. Each is stored with its effect, by
//     connector, message and entry, so that it has that effect once. Only then the message is done.
//
// ask_at of an attempt is the lease. The node that sends it or looks it up moves ask_at to the end of the
// lease, repeatedly while the rail has not answered. No other node looks it up before that. Nodes claim
// different rows, because each skips those that another has locked.
//
// The goroutines share only what a node knows about clocks (Skew), the records of connectors (record.go) and the numbers for the operator
// (payout.Alarms). All else is in the store, which they reach as payout.Sending.
package dispatch
