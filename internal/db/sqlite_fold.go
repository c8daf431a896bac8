package db

import (
	"context"
	"sync/atomic"

	"github.com/ncruces/go-sqlite3"
)

const (
	// foldAfter is how many pages the log has when they begin to be copied to the
	// database.
	foldAfter = 12000
	// foldRest is how many are few enough for the writer to copy, while all wait.
	foldRest = 1000
	// foldNow is how many the writer copies itself, should copying not keep up.
	foldNow = 2 * foldAfter
)

// folder copies the log into the database beside the writes: who waits for a commit
// does not wait for that. What was written meanwhile is little, and the writer
// copies it itself: a log that is copied to its end begins anew, and does not grow.
type folder struct {
	path string
	wake chan struct{}
	done chan struct{}
	err  error // of closing, valid after done

	copying atomic.Bool
	copied  atomic.Bool // most of the log, since it began
}

func startFolder(path string) *folder {
	f := &folder{path: path, wake: make(chan struct{}, 1), done: make(chan struct{})}
	go f.loop()
	return f
}

func (f *folder) stop() error {
	close(f.wake)
	<-f.done
	return f.err
}

// loop opens its connection when there is something to do: most processes never
// write that much.
func (f *folder) loop() {
	defer close(f.done)
	var c *sqliteConn
	for range f.wake {
		var err error
		if c == nil {
			c, err = openSQLiteConn(context.Background(), f.path, "PRAGMA cache_size = -64;")
		}
		length, copied := 0, 0
		if err == nil {
			length, copied, err = c.db.WALCheckpoint("main", sqlite3.CHECKPOINT_PASSIVE)
		}
		// Where it failed, or a reader of older pages kept most of it back, it is tried
		// again, until the log is so long that the writer does all of it.
		f.copied.Store(err == nil && length-copied < foldRest)
		f.copying.Store(false)
	}
	if c != nil {
		f.err = c.close()
	}
}

// after is called by the writer when a group is answered, with how long the log is
// by what the group has written; 0 where it has written nothing.
func (f *folder) after(writer *sqlite3.Conn, pages int) {
	switch {
	case pages == 0 || f.copying.Load():
	case pages < foldAfter:
		f.copied.Store(false) // the log began anew
	case f.copied.Swap(false) || pages >= foldNow:
		// The rest. Readers of older pages may keep some of it for the next time.
		_, _, _ = writer.WALCheckpoint("main", sqlite3.CHECKPOINT_PASSIVE)
	default:
		f.copying.Store(true)
		f.wake <- struct{}{} // which is empty: nothing is being copied
	}
}
