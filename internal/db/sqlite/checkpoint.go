package sqlite

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/ncruces/go-sqlite3"
)

const (
	// checkpointAfter is how many pages the WAL has when the checkpointer starts
	// to copy them to the database.
	checkpointAfter = 12000
	// checkpointRest is how few pages may be left for the writer to copy while all writes
	// wait for it.
	checkpointRest = 1000
	// checkpointNow is how many pages the WAL has when the writer copies them itself,
	// because the checkpointer cannot keep up.
	checkpointNow = 2 * checkpointAfter
)

// checkpointer copies the WAL to the database on a separate connection, so that no
// commit waits for it. The writer then copies the few pages that were written meanwhile.
// SQLite resets the WAL only after all of it was copied, and would let it grow otherwise.
type checkpointer struct {
	path   string
	failed *syncFailure
	wake   chan struct{}
	done   chan struct{}
	err    error // of closing, valid after done

	keeper     atomic.Pointer[keeper] // nil if the log has no reader
	running    atomic.Bool
	mostlyDone atomic.Bool // all but checkpointRest pages of this WAL are copied
}

func startCheckpointer(path string, failed *syncFailure) *checkpointer {
	c := &checkpointer{path: path, failed: failed, wake: make(chan struct{}, 1), done: make(chan struct{})}
	go c.loop()
	return c
}

func (c *checkpointer) stop() error {
	close(c.wake)
	<-c.done
	return c.err
}

// loop opens its connection when there is something to copy, because most processes never
// write enough for that.
func (c *checkpointer) loop() {
	defer close(c.done)
	var own *conn
	for range c.wake {
		var err error
		if own == nil {
			own, err = openConn(context.Background(), c.path, "PRAGMA cache_size = -64;")
		}
		rest := 0
		if err == nil {
			rest, err = c.checkpoint(own.db, sqlite3.CHECKPOINT_PASSIVE)
		}
		c.keeper.Load().beforeEnd() // little is left to read when the writer resets the WAL
		// After an error, or while a reader of old pages is in the way, the next commit
		// wakes the checkpointer again, until the WAL has checkpointNow pages.
		c.mostlyDone.Store(err == nil && rest < checkpointRest)
		c.running.Store(false)
	}
	if own != nil {
		c.err = own.close()
	}
}

// checkpoint copies as much as readers of old pages allow, or everything in a mode that
// waits for them. It returns how many pages are left.
func (c *checkpointer) checkpoint(db *sqlite3.Conn, mode sqlite3.CheckpointMode) (rest int, err error) {
	if err := c.failed.get(); err != nil {
		return 0, err // a later successful copy would count pages as safe that may be lost
	}
	length, copied, err := db.WALCheckpoint("main", mode)
	if errors.Is(err, sqlite3.IOERR_FSYNC) {
		// An earlier checkpoint may have copied pages without a sync. SQLite would not
		// copy them again, although they may be lost now; only the next start does.
		c.failed.set(err)
	}
	return length - copied, err
}

// afterCommit is called by the writer with the number of pages in the WAL, or 0 if
// the group wrote nothing.
func (c *checkpointer) afterCommit(writer *sqlite3.Conn, pages int) {
	switch {
	case pages == 0 || c.running.Load():
	case pages < checkpointAfter:
		c.mostlyDone.Store(false) // the WAL was reset
	case c.mostlyDone.Swap(false) || pages >= checkpointNow:
		_, _ = c.checkpoint(writer, sqlite3.CHECKPOINT_PASSIVE) // an error leaves the rest to a later commit
	default:
		c.running.Store(true)
		c.wake <- struct{}{} // has room: the checkpointer is not running
	}
}
