// Package work runs what a node does in the background: loops that stop, signals that wake them, and the renewal of leases.
//
// # Loops
//
// Loop is for work that is stored, such as a queue. It repeats its step at once while there is work, and otherwise after an
// interval or a signal. The store guarantees that work is found, and a signal only makes that sooner: one that is lost, or
// sent on another node, delays work by an interval. After a failure the loop waits, too, so that a store or a server that is
// down is polled once an interval. Every is for work that is due at fixed times.
//
// Neither begins a step after its context has ended, and both return when the running step has. A failure that follows from the
// end is not logged. Grace gives a step time to complete what cannot be repeated, such as a message that a mail server has half
// received.
//
// # Leases
//
// This package has no SQL. A lease is columns of the row that it protects: a time, and the node or claim that holds it. A
// package claims its rows with an UPDATE that returns them if the time has passed, so the database decides which node gets them.
//
//	row                        time         holder        lasts  renewed
//	an import or bulk          lease_until  node          5 s    by each of its transactions
//	a decision about one       lease_until  claim         5 s    by each of its transactions
//	outgoing mail              due_at       claim         5 s    every second, by Renew
//	an attempt of a payout     ask_at       node          8 s    every 2 seconds, by Renew
//	the sequence of the log    lease_until  lease_holder  2 s    by each batch
//	the check of the ledger    until        holder        3 min  every minute
//
// A lease saves work. No result depends on it:
//
//   - The node dies, or loses the store: the lease expires, and another node continues from what is stored.
//   - The node is slow, or a renewal fails, and another node claims the row: the first one's next statement names its claim, or
//     the state that it knows, and changes no row. Its transaction rolls back, and it leaves the row alone. Mail may be
//     delivered twice, with the same Message-ID. The answer of a rail is stored, regardless of the node that polled, and a
//     payment that may have been sent is only looked up.
//   - The clocks of nodes differ: leases are shorter or longer by the difference. Payouts use the clock of the database, see
//     package payout/dispatch.
package work
