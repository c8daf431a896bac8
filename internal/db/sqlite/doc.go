// Package sqlite stores everything in one SQLite file.
//
// # Connections
//
// Readers share a few connections that cannot write, and see the last commit. One
// goroutine, the writer, owns the only connection that writes. Callers queue their
// writes; the writer runs all that are queued in one transaction (a group) and
// commits them with one fsync. The checkpointer copies the write-ahead log (WAL) to
// the database on a separate connection. Other processes, such as `bursar admin`,
// may use the same file at the same time, but a second server may not.
//
// # The way of a write
//
//	queued → run in the group → COMMIT: pages to the WAL, fsync → visible → answered
//
// A write that fails before it has changed anything just leaves the group. If it
// fails later, the group is rolled back and run again with a savepoint for each
// write, and only the one that fails is undone. Savepoints from the start would cost
// 8 to 40% of the throughput, and such failures are rare.
//
// # Invariants
//
//   - No caller is answered, and no reader sees a write, before the commit is on disk:
//     SQLite publishes a commit after its fsync (synchronous = FULL).
//   - If a group fails, all of its callers get the error, even those whose own write
//     was refused: the refusal may follow from rows that do not exist now.
//   - After the first failed fsync, of the WAL or of the database, this process
//     commits nothing and copies nothing any more.
//   - The WAL is deleted or written from its start only after all of it was copied to
//     the database and the database was synced.
//   - Once a caller has queued a write it waits for the result, even if its context
//     ends, because the callback may be running.
//
// # Failures
//
//   - Full disk, or a failed write: SQLite rolls the group back, all of its callers
//     get an error, and reads continue. Later groups succeed once there is room.
//   - Failed fsync: the kernel may have dropped the data, reports that once, and lets
//     the next fsync succeed. So the commit is rolled back, its pages in the WAL are
//     made unreadable (the page cache still has them, and the next start would take
//     them for committed), and all later writes fail until the program is restarted.
//     Reads continue, because everything they see was synced before. After a reboot the
//     failed commit may be there if the disk got it after all.
//   - Failed fsync of the database during a checkpoint: the same. The WAL stays, and
//     the next start copies all of it again.
//   - kill -9: the next start finds every complete commit in the WAL. It syncs the WAL
//     before it reads, since the last commit may be in the page cache alone.
//   - Power loss: the WAL ends with the last complete commit, which includes
//     everything that was answered.
//   - Another process holds the lock: a connection waits 10 seconds, then the group
//     fails. Another process commits: PRAGMA data_version shows it within 250 ms, and
//     the epoch changes.
//   - A reader that stays open for long: the checkpointer cannot copy pages that are
//     newer than the reader, and the WAL grows until the reader ends.
//   - A panic in a write: that write fails like any other.
//   - Closing: queued writes are committed first. The last connection copies the WAL.
//
// # What the checkpointer gains
//
// Creates by 64 callers, with ÷ without, in rounds that take turns on two cores: 1.53 (median; rounds from
// 0.75 to 3.06 on a busy machine). The benchmark in bench_test.go measures it.
//
// Tried, and not worth their code: an fsync that is put off until the next group has run (median 1.05), one system call for
// adjacent pages of the WAL (0.99–1.15), and not binding values that are bound already (1.06–1.08 of the CPU time).
package sqlite
