// Package backup copies stores: into an archive and back, and from one engine to the other.
//
// # The stream
//
// All copies are one stream, which does not depend on the engine: a line that names the form, a header
// (JSON), each table (its columns as JSON, then its rows), and a manifest (JSON). The list of tables comes
// from the schema of the store itself, so that a new table is copied without anybody thinking of it. Rows
// are in the form of engine.AppendRow, columns by name. Tables come in the order of references, as far as
// tables do not refer to each other; references are checked after all rows are there.
//
// An archive is the stream, compressed with gzip and encrypted with age, since it holds secrets.
// A move sends the stream from one store to the other.
//
// # Digests
//
// The digest of a table is the sum of the SHA-256 of its rows, as a number of 256 bits. A sum does not
// depend on the order of the rows, and so nobody has to sort them: PostgreSQL would spend longer on that
// than on reading them. Numbers by which an engine sorts the audit log are not part of it; the
// order of the log is in audit_place.
//
// # Marks
//
// A store that is being filled has the mark incomplete, and one that was moved the mark moved. No command
// opens a store with a mark, except for those of this package.
//
//   - A restore marks the empty target, loads all rows in one transaction, which compares the digests of
//     all tables with the manifest before it commits, and then, in another one, ends sessions, stops the rails,
//     drops mail that waits and takes the mark away.
//   - A move marks the empty target, too. Then it holds a transaction of the source in which nobody can
//     change anything. It loads the target, compares the digests, commits the target, marks the source as
//     moved, commits the source, and takes the mark from the target.
//
// Nothing that a move may be refused for is looked at after a change: the source is opened as it is, and its mark
// read, before the target is opened, and the target gets its schema only if it has none.
//
// # Failures of a move
//
//   - Before the source is committed: the source is as it was. The target is incomplete, and empty or full.
//     Running the move again fills it, or finds that it is equal.
//   - After the source is committed, before the mark of the target is gone: nobody serves either. Running
//     the move again compares them once more and takes the mark away.
//   - Somebody changes the source meanwhile: they wait, and after ten seconds (SQLite) or thirty
//     (PostgreSQL) they fail. Servers are kept away by their lock. After the move the source takes no audit
//     row, so that whoever has it open still can change nothing.
//
// # After a restore
//
// What happened after the moment of the archive is not in the store, though it happened at banks. See
// internal/payout/recall.go for how payouts are kept from being paid twice.
package backup
