// Package backup copies stores: into an archive and back, and from one engine to the other.
//
// # The stream
//
// All copies use one stream format, which does not depend on the engine. A stream is a line that names
// the format, a header (JSON), each table (its columns as JSON, then its rows), and a manifest (JSON).
// The list of tables comes from the schema of the store itself, so that a new table is copied
// automatically. Rows are in the format of engine.AppendRow, columns sorted by name. Tables come in the
// order of references, unless tables refer to each other. References are checked after all rows are
// loaded.
//
// An archive is the stream, compressed with gzip and encrypted with age, since it holds secrets.
// A move sends the stream from one store to the other.
//
// # Digests
//
// The digest of a table is the sum of the SHA-256 of its rows, as a number of 256 bits. A sum does not
// depend on the order of the rows, so they need not be sorted. PostgreSQL would spend longer on sorting
// than on reading them. The digest excludes the numbers by which an engine sorts the audit log. The order
// of the log is in audit_place.
//
// # Marks
//
// A store that is being filled has the mark incomplete, and one that was moved the mark moved. No command
// opens a store with a mark, except for those of this package.
//
//   - A restore marks the empty target and loads all rows in one transaction. Before it commits, it
//     compares the digests of all tables with the manifest. A second transaction ends sessions, stops the
//     rails, drops queued mail and clears the mark.
//   - A move marks the empty target, too. Then it holds a transaction that locks the source against
//     changes. It loads the target, compares the digests, commits the target, marks the source as moved,
//     commits the source, and clears the mark of the target.
//
// All checks that can refuse a move come before the first change. The source is opened without migrations
// and its mark is read before the target is opened. The target gets its schema only if it has none.
//
// # Failures of a move
//
//   - Before the source is committed: the source is unchanged. The target is incomplete, and empty or
//     full. Running the move again fills it, or finds that it is equal.
//   - After the source is committed, before the mark of the target is cleared: no server can open either
//     store. Running the move again compares them again and clears the mark.
//   - Another process changes the source meanwhile: its write waits, and fails after ten seconds (SQLite)
//     or thirty (PostgreSQL). Servers are kept away by their lock. After the move the source refuses
//     every audit row, so that a process that still has it open can change nothing.
//
// # After a restore
//
// Events after the moment of the archive are missing in the store, although they happened at banks. See
// internal/payout/recall.go for how payouts are kept from being paid twice.
package backup
