// Package continuous copies the commits of an embedded store to a folder or an object store as they happen, and restores
// the store as of any moment.
//
// # Segments
//
// Once a second the shipper cuts a segment: the pages that were committed since the last one, each in its last version, in
// the LTX form of github.com/superfly/ltx. Segments have numbers without gaps. A base has all pages. The base and the
// segments after it restore the store as it was after each of them. The names of the objects are those of Litestream, which
// can restore unencrypted ones.
//
//	ltx/0/MIN-MAX.ltx     seconds, kept for a day
//	ltx/1/…               minutes, kept for a week
//	ltx/2/…               hours, kept for a month
//	ltx/3/…               days, kept for a year
//	ltx/9/1-MAX.ltx       bases, one a week; after a month the first of each month stays
//	owner.json            the store whose backup this is, until when the backup is complete, and a token that changes every minute
//	verified.json         the last result of `bursar backup verify`
//	….sha256              beside each segment in a folder, its SHA-256; an object store has it in the metadata
//
// With recipients each segment is encrypted with age, and its name ends in .age. The server has no key that decrypts them.
//
// # The way of a commit
//
//	commit → write-ahead log, fsync → cut into the queue, fsync → target → merged into minutes, hours, days
//
// The queue is a folder beside the store. A segment stays there until the target has it and it was merged, because the
// server may not be able to read it back. The shipper reads the write-ahead log (WAL) as files, by
// internal/db/sqlite/log.go, and takes no lock. The writer waits for it in one case: when the WAL is about to be reset and
// has pages that were not cut. That is once in some ten thousand pages, and then there are few.
//
// # Invariants
//
//   - A segment has whole commits, which are on the disk of the store. So a restore never contains a commit that the store
//     could lose.
//   - The time of a segment is taken before the WAL is read, so the segment has all commits that were answered before that
//     time.
//   - Numbers continue only if it is certain that no page is missing. Commits are counted, and the index of the WAL has a
//     own count. If they differ, a number is left out, so that no restore crosses the gap, and a new base is made.
//   - An object is complete or does not exist, and no object is written twice with different pages.
//
// # Failures
//
//   - kill -9, power loss: the next start finds in the newest segment of the queue where to continue in the WAL. When the
//     WAL is reset, the queue records after which segment, and the salt of the new WAL. A proper shutdown ends the WAL, and
//     records the size and time of the database file instead.
//   - Another process has changed the store: its commits are in the same WAL. If it also reset the WAL, or the store was
//     changed while no server ran: a new base.
//   - An old copy of the data folder was restored, or two copies write to one target: only the copy that wrote last knows
//     the token in owner.json. An old copy makes a new base. A server whose token was replaced stops shipping and reports
//     that.
//   - The target was emptied, or its disk is not mounted: owner.json is gone. Nothing is written until it is back, so that
//     no backup is written to the disk of the store by mistake. A server that starts begins a new backup, but does not
//     create a folder that it had written to. If the earlier backup returns then, the server continues that one.
//   - The target does not answer: segments wait in the queue. When they are larger than the database, they are dropped. A
//     base is made when the target answers.
//   - The disk of the store is full: nothing is cut. Commits that stay in the WAL are cut later; otherwise a new base is
//     made.
//   - A segment is missing or damaged: restore uses other segments that have the same pages, such as those that it was
//     merged from or an older base. If there are none, it names the segment, leaves nothing behind, and reports until when
//     it can restore. The server makes a new base when a segment is missing. It also does so when verified.json names a
//     damaged segment that is the newest base or is needed by it. A verification reads every object and compares its
//     SHA-256. A restore checks only the checksums of the pages. A page that matches its checksum is correct, even if a
//     flipped bit of the object does not change it.
//
// # A base
//
// A base is a copy of the database file, made slowly during writes. So it has pages of different moments, and some
// that were written while they were read. The segments that were cut meanwhile have all of these pages, and are merged into
// it. A base is made every week. Merging the last base with the segments since would avoid reading the database file. But
// it would have to read the target, which the server cannot do if that is encrypted.
//
// # After a restore
//
// See internal/backup: sessions are ended and the rails are stopped before the restored file gets its name.
package continuous
