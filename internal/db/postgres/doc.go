// Package postgres stores everything in a schema of a PostgreSQL server, which
// several nodes may share.
//
// # Connections
//
// Reads and writes borrow connections from a pool of 8 for each core. Connections begin
// read-only transactions unless Write needs more. If the URL names several hosts,
// connections go to the primary. One further connection of each node listens for changes of
// access by other nodes.
//
// # The way of a write
//
// Statements without a result are delayed and sent together with the next query or
// COMMIT, so most writes take one round trip, BEGIN and COMMIT included. There are
// two ways to commit:
//
//   - A write that has read something or changes existing rows commits alone. It
//     holds locks, and others should not wait for them.
//   - A write that only inserts, such as a create, commits in a group with all others that
//     wait, up to 32. One round trip and one fsync of the server serve them all. The first
//     caller commits its own write at once. While as many groups are in flight as there are
//     cores (at least two), others wait. Then a goroutine, the leader, commits them together
//     until none waits.
//
// # The way of a list
//
// A standby may serve lists (UseReplica). A list first reads the flushed position of the primary.
// It then waits, 20 ms at most, until the standby has replayed the log up to there. All
// commits that were answered before the list began, by any node, are in that part of the log.
// One query to the primary, for a single number, serves all lists that wait. Writes do no
// extra work. After any failure, the primary serves the list instead, and all lists until the
// standby is healthy. Each node checks that twice a second.
//
// All other reads, above all those that decide about access, go to the primary.
//
// # Invariants
//
//   - A list has everything that was answered before it began, whichever server serves it.
//   - No write is answered before the server has confirmed COMMIT with the tag COMMIT. If a
//     statement failed earlier, the tag is ROLLBACK, which is an error here.
//   - A write of a group is sent again only if it is certain that nothing of the group
//     has happened: the server refused a statement, or nothing was sent.
//   - A write that fails is undone alone. The others of its group are sent again.
//   - While the node cannot receive notifications of changes, the epoch is uncertain and
//     nothing about access is cached. It is certain for 900 ms after the last successful
//     check of the connection.
//
// # Failures
//
//   - Serialization failure or deadlock: the whole callback runs again, up to 10 times,
//     with a random pause.
//   - A statement of a group is refused, for example because a key is taken: its write
//     commits alone and gets its own error. The others are sent again, up to 3 times; then
//     each commits alone.
//   - A lock wait: an insert waits for a transaction that inserts the same key, or that
//     deletes a row it refers to. A group waits 50 ms; then the write that met the lock
//     commits alone and waits there, up to the statement timeout of 30 s.
//   - No free connection, or no primary: after 10 seconds, or when its caller's deadline has
//     passed, the read or write fails with engine.ErrAway, and nothing has happened. The time
//     in the queue of a group counts.
//   - Connection lost before COMMIT was sent: nothing has happened. The whole callback
//     runs again on another connection, until ten seconds are over. A query that only
//     reads is sent again if its first row had not come.
//   - Connection lost after COMMIT was sent, or a server that stops answering: the outcome is
//     unknown, and the error is engine.ErrUnknown. Package db determines it by the audit row
//     of the write. A group gives up after a minute.
//   - The server stops waiting for its synchronous standby (its administrator cancels the
//     wait, or the statement timeout does): it answers COMMIT with a warning. That is
//     engine.ErrUnknown as well, because the transaction is lost if the standby is promoted.
//   - The server shuts down, or is no longer the primary (0A000, 25006, 57P01 to 57P03): the
//     connection is closed and the pool emptied, because all its connections are to the same server.
//   - Caller has left: a write that waits for a group is skipped. Once it is sent, the
//     outcome is unknown, as with any COMMIT.
//   - LISTEN connection lost: noticed in less than a second by a heartbeat. The epoch is
//     uncertain until a new connection listens. Then it changes, because notifications may
//     have been missed.
//   - The process stops for a while, or does not get to run, or the machine sleeps: once it
//     continues, the epoch is uncertain until the next check. Requests that wait do not meet
//     cached access.
//   - A panic in a callback, or when pgx encodes a value: that write, or its group,
//     fails; the next group is not affected.
//   - A standby that is away, or behind by more than 20 ms: the primary serves lists. A list under way
//     when its connection breaks runs again there.
//   - A standby that is promoted, or has another history than the primary after a failover:
//     its timeline differs from that of the primary, and it serves nothing.
//   - A standby of another store: it is refused when a connection is made, by the identifier
//     of its server, its database and its schema.
//   - Commits that are answered before they are on disk (synchronous_commit = off): the
//     position on disk does not include them, so the primary serves all lists.
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
