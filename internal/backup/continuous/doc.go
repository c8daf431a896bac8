// Package continuous copies what an embedded store commits to a folder or an object store, all the time, and makes the
// store of any moment from it again.
//
// # Segments
//
// Once a second the shipper cuts a segment: the pages that were committed since the last one, each in its last version, in
// the LTX form of github.com/superfly/ltx. Segments have numbers without gaps. A base has all pages; it and the
// segments after it make the store as it was after each of them. The names of the objects are those of Litestream,
// whose restore reads what is not encrypted.
//
//	ltx/0/MIN-MAX.ltx     seconds, kept for a day
//	ltx/1/…               minutes, kept for a week
//	ltx/2/…               hours, kept for a month
//	ltx/3/…               days, kept for a year
//	ltx/9/1-MAX.ltx       bases, one a week; after a month the first of each month stays
//	owner.json            the store whose backup this is, up to when everything is here, and a token that changes every minute
//	verified.json         what `bursar backup verify` found last
//	….sha256              beside each segment in a folder, its SHA-256; an object store has it in the metadata
//
// With recipients each segment is encrypted with age, and its name ends in .age. The server has no key that reads them.
//
// # The way of a commit
//
//	commit → write-ahead log, fsync → cut into the queue, fsync → target → merged into minutes, hours, days
//
// The queue is a folder beside the store. A segment stays there until the target has it and it was merged, because the
// server may not be able to read it back. The shipper reads the log as files, by internal/db/sqlite/log.go:
// it takes no lock, and the writer waits for it in one case, when the log is about to be started anew and has pages
// that were not cut. That is once in some ten thousand pages, and then there are few.
//
// # Invariants
//
//   - A segment has whole commits, which are on disk at home: no restore shows what the store could lose.
//   - The time of a segment is from before the log was looked at, so it has all commits that were answered before that time.
//   - Numbers are only continued by whoever knows that no page is missing: commits are counted, and the index of
//     the log has a count of its own. If they differ, a number is left out, so that no restore goes over the gap,
//     and a new base is made.
//   - An object is there whole or not at all, and no object is written twice with other pages.
//
// # Failures
//
//   - kill -9, power loss: the next start finds in the newest segment of the queue where the log goes on. When the log is
//     started anew, the queue notes after which segment, and what the new log is called. A proper shutdown ends
//     the log, and notes the size and time of the database file instead.
//   - Another process has changed the store: its commits are in the same log. If it also started the log anew, or the
//     store was changed while no server ran: a new base.
//   - An old copy of the data folder was put back, or two copies write to one target: owner.json has a token that only the one that
//     wrote last knows. An old copy makes a new base; a server whose token was replaced stops shipping and says so.
//   - The target was emptied, or its disk is not mounted: owner.json is gone. Nothing is written until it is back, so that the
//     disk of the store does not take the place of the other. A server that starts begins anew, but does not make
//     a folder that it had written to; if the earlier backup comes back then, it goes on with that one.
//   - The target does not answer: segments wait in the queue. When they are larger than the database, they are dropped, and
//     a base is made when the target answers.
//   - The disk of the store is full: nothing is cut. What the log keeps is cut later; otherwise a new base.
//   - A segment is missing or damaged: restore takes others that have the same pages, such as those that it was merged from or an
//     older base. If there are none, it names the segment, leaves nothing behind, and says up to when it can restore. The server
//     makes a new base when it misses one, and when verified.json names a damaged one that the newest base needs or is.
//     A verification reads every object and compares its SHA-256. A restore goes by the checksums of the pages alone: a page
//     that matches its checksum is right, even if a bit of the object was flipped that does not change it.
//
// # A base
//
// It is a copy of the database file, made beside the writes and slowly, so it has pages of different moments, and some
// that were written while they were read. The segments that were cut meanwhile have all of these pages, and are merged
// into it. The same is done every week. Making a base of the last one and the segments since would spare
// the server from reading its own file, but it would have to read the target, which it cannot where that is encrypted.
//
// # After a restore
//
// See internal/backup: sessions are ended and the rails are stopped before the restored file gets its name.
package continuous
