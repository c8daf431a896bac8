package sqlite

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/ncruces/go-sqlite3"

	"bursar/internal/db/engine"
)

const (
	// maxGroup bounds how many writes share a commit, and so how long the first of
	// them waits for the last.
	maxGroup = 256
	// watchInterval is how often the writer checks for changes by other processes, which
	// every cache must notice within a second.
	watchInterval = 250 * time.Millisecond
)

// writer owns the only connection that writes. It runs all queued writes in one
// transaction and commits them together, so that one fsync serves them all.
type writer struct {
	conn         *conn
	vfs          *walVFS
	checkpointer *checkpointer
	failed       *syncFailure
	epoch        *engine.Epoch
	queue        chan *writeJob
	between      chan func() // runs between two groups
	quit         chan struct{}
	done         chan struct{}
	err          error // of closing, valid after done

	walPages    int   // in the WAL after the last commit, 0 if it wrote nothing
	dataVersion int64 // PRAGMA data_version: changes when another process commits
}

type writeJob struct {
	ctx  context.Context
	run  func(engine.Conn) error
	err  error
	done chan struct{}
}

func startWriter(c *conn, vfs *walVFS, ckpt *checkpointer, e *engine.Epoch) *writer {
	w := &writer{
		conn: c, vfs: vfs, checkpointer: ckpt, failed: vfs.failed, epoch: e,
		queue:   make(chan *writeJob, 2*maxGroup),
		between: make(chan func()),
		quit:    make(chan struct{}),
		done:    make(chan struct{}),
	}
	c.db.WALHook(func(_ *sqlite3.Conn, _ string, pages int) error {
		w.walPages = pages
		return nil
	})
	go w.loop()
	return w
}

func (w *writer) do(ctx context.Context, fn func(engine.Conn) error) error {
	job := &writeJob{ctx: ctx, run: fn, done: make(chan struct{})}
	select {
	case w.queue <- job:
	case <-ctx.Done():
		return fmt.Errorf("wait to write: %w", ctx.Err())
	case <-w.done:
		return engine.ErrClosed
	}
	// The writer has the job and may be running fn, which uses the caller's variables. So
	// wait for the end, even if the context is done.
	select {
	case <-job.done:
		return job.err
	case <-w.done:
		select {
		case <-job.done:
			return job.err
		default:
			return engine.ErrClosed
		}
	}
}

// pause runs fn while this process writes nothing.
func (w *writer) pause(ctx context.Context, fn func() error) error {
	done := make(chan error, 1)
	select {
	case w.between <- func() { done <- fn() }:
		return <-done
	case <-ctx.Done():
		return fmt.Errorf("wait for the writer: %w", ctx.Err())
	case <-w.done:
		return engine.ErrClosed
	}
}

func (w *writer) stop() error {
	close(w.quit)
	<-w.done
	return w.err
}

func (w *writer) loop() {
	defer close(w.done)
	defer func() {
		w.err = errors.Join(w.checkpointer.stop(), w.conn.close())
		w.vfs.close()
	}()
	w.checkDataVersion()
	watch := time.NewTicker(watchInterval)
	defer watch.Stop()
	for {
		select {
		case job := <-w.queue:
			w.commitGroup(job)
		case fn := <-w.between:
			fn()
		case <-watch.C:
			w.checkDataVersion()
		case <-w.quit:
			for len(w.queue) > 0 {
				w.commitGroup(<-w.queue)
			}
			w.checkpointer.keeper.Load().beforeEnd()
			return
		}
	}
}

// commitGroup runs the jobs without savepoints, which is fastest. If one fails after it
// has written, it rolls back and runs all of them again with a savepoint each. Then only
// the failing one is undone.
func (w *writer) commitGroup(first *writeJob) {
	if err := w.failed.get(); err != nil {
		finish([]*writeJob{first}, err)
		return
	}
	w.walPages = 0
	var group []*writeJob
	again, err := w.transact(w.arriving(first, &group), w.runPlain)
	if again {
		_, err = w.transact(slices.Values(group), w.runInSavepoint)
	}
	if err == nil {
		err = w.commit()
	}
	finish(group, err)
	w.checkpointer.afterCommit(w.conn.db, w.walPages)
}

// finish returns the result to every caller. If the group failed, all callers get that
// error, even those whose own job returned an error. That error may follow from rows of
// the group that no longer exist.
func finish(group []*writeJob, err error) {
	for _, job := range group {
		if err != nil {
			job.err = err
		}
		close(job.done)
	}
}

// arriving yields the first job and those that are queued while the group runs,
// and collects them in group.
func (w *writer) arriving(first *writeJob, group *[]*writeJob) iter.Seq[*writeJob] {
	return func(yield func(*writeJob) bool) {
		for job := first; job != nil; job = w.next(len(*group)) {
			*group = append(*group, job)
			if !yield(job) {
				return
			}
		}
	}
}

// next returns nil when it is time to commit.
func (w *writer) next(taken int) *writeJob {
	if taken == maxGroup {
		return nil
	}
	select {
	case job := <-w.queue:
		return job
	default:
		return nil
	}
}

// transact runs the group in a transaction, which it leaves open if all went well.
func (w *writer) transact(group iter.Seq[*writeJob], run func(*writeJob) (again bool)) (again bool, err error) {
	if err = w.conn.Exec("BEGIN IMMEDIATE", nil); err != nil {
		err = fmt.Errorf("begin: %w", err)
	} else {
		w.checkpointer.keeper.Load().beforeGroup()
	}
	for job := range group {
		if err != nil {
			continue // everything in the queue gets this error
		}
		if job.err = job.ctx.Err(); job.err != nil {
			continue
		}
		again = run(job)
		if w.conn.db.GetAutocommit() {
			// SQLite rolls back the whole transaction if the disk is full or fails, so
			// nothing of the group is left to commit.
			return false, fmt.Errorf("SQLite rolled back: %w", job.err)
		}
		if again {
			return true, w.rollBack()
		}
	}
	return false, err
}

func (w *writer) rollBack() error {
	if w.conn.db.GetAutocommit() { // a failed COMMIT may have rolled back already
		return nil
	}
	if err := w.conn.Exec("ROLLBACK", nil); err != nil {
		return fmt.Errorf("roll back: %w", err)
	}
	return nil
}

// commit returns after the group is on disk.
func (w *writer) commit() error {
	err := w.vfs.commit(func() error { return w.conn.Exec("COMMIT", nil) })
	if err == nil {
		return nil
	}
	if failed := w.failed.get(); failed != nil {
		err = failed
	}
	return errors.Join(fmt.Errorf("commit: %w", err), w.rollBack())
}

func (w *writer) runPlain(job *writeJob) (again bool) {
	w.conn.wrote = false
	job.err = w.run(job)
	return job.err != nil && w.conn.wrote
}

func (w *writer) run(job *writeJob) error {
	return engine.Recover(func() error { return job.run(w.conn) })
}

func (w *writer) runInSavepoint(job *writeJob) bool {
	if job.err = w.conn.Exec("SAVEPOINT job", nil); job.err != nil {
		return false
	}
	job.err = w.run(job)
	if job.err != nil {
		job.err = errors.Join(job.err, w.conn.Exec("ROLLBACK TO job", nil))
	}
	if err := w.conn.Exec("RELEASE job", nil); err != nil {
		job.err = errors.Join(job.err, err)
	}
	return false
}

// checkDataVersion invalidates cached access data if another process, such as `bursar
// admin`, has committed something.
func (w *writer) checkDataVersion() {
	version, err := w.conn.queryInt("PRAGMA data_version")
	if err != nil {
		w.epoch.Bump() // access may have changed
		return
	}
	if version != w.dataVersion {
		w.dataVersion = version
		w.epoch.Bump()
	}
}
