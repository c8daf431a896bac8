// Package postgres stores everything in a schema of a PostgreSQL server, which
// several nodes may share.
//
// # Connections
//
// Reads and writes borrow connections from a pool of 8 for each core. Connections
// begin read-only transactions unless Write asks for more. One further connection of
// each node listens for changes of access by other nodes.
//
// # The way of a write
//
// Statements without a result are delayed and sent together with the next query or
// COMMIT, so most writes take one round trip, BEGIN and COMMIT included. There are
// two ways to commit:
//
//   - A write that has read something or changes existing rows commits alone. It
//     holds locks, and others should not wait for them.
//   - A write that only inserts, such as a create, commits in a group with all others
//     that wait, up to 32: one round trip and one fsync of the server serve them all.
//     The first caller commits its own write at once. While as many groups are in
//     flight as there are cores (at least two), others wait; then a goroutine, the
//     leader, commits them together until nobody waits.
//
// # Invariants
//
//   - Nobody is answered before the server has confirmed COMMIT with the tag COMMIT.
//     If a statement failed earlier, the tag is ROLLBACK, which is an error here.
//   - A write of a group is sent again only if it is certain that nothing of the group
//     has happened: the server refused a statement, or nothing was sent.
//   - A write that fails is undone alone. The others of its group are sent again.
//   - While the node cannot hear of changes, the epoch is uncertain and nothing about
//     access is cached.
//
// # Failures
//
//   - Serialization failure or deadlock: the whole callback runs again, up to 10 times,
//     with a random pause.
//   - A statement of a group is refused, for example because a key is taken: its write
//     commits alone and gets its own error, and the others are sent again, up to 3
//     times; then each commits alone.
//   - A lock that waits: an insert waits for a transaction that inserts the same key, or
//     that deletes a row it refers to. A group waits 50 ms; then the write that met
//     the lock commits alone and waits there, up to the statement timeout of 30 s.
//   - No free connection: after 10 seconds the read or write fails. The time in the
//     queue of a group counts.
//   - Closed connection, or a server that stops answering: the outcome of a COMMIT is
//     unknown, so its callers get an error, and a retry with the same idempotency key
//     finds out. A group gives up after a minute.
//   - Caller has left: a write that waits for a group is skipped. Once it is sent, the
//     outcome is unknown, as with any COMMIT.
//   - Server away: reads and writes fail, and the pool connects again by itself.
//   - LISTEN connection lost: noticed in less than a second by a heartbeat. The epoch
//     is uncertain until a new connection listens, and changes then, for what was
//     missed.
//   - A panic in a callback, or when pgx encodes a value: that write, or its group,
//     fails; the next group is not affected.
//   - Closing: new writes of groups are refused, those that have started are committed.
//
// # What the mechanisms earn
//
// Creates by 64 callers, with ÷ without, in rounds that take turns on two cores:
//
//	groups of inserts                          1.71–2.09 (BenchmarkWithGroups)
//	all statements of a write in one batch     1.5
//	pgx without database/sql                   1.1–1.4
package postgres
