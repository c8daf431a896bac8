package db

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/ncruces/go-sqlite3"
)

const (
	// maxGroup bounds how many writes share a commit, and so how long the
	// first of them waits for the last.
	maxGroup = 256
	// manyWrites is how many are worth running the next ones before they are on disk,
	// while nobody reads: who does then waits for the disk too.
	manyWrites = 16
	// watchInterval is how often the writer looks for changes that another
	// process made. They have to be noticed within a second.
	watchInterval = 250 * time.Millisecond
)

var errClosed = errors.New("the store is closed")

// sqliteWriter owns the one connection that writes. It runs all writes that wait and
// commits them together: one fsync serves the group. After a large group it runs the
// next writes while that is on its way to the disk, and commits them when it is there.
type sqliteWriter struct {
	conn  *sqliteConn
	log   *gatherer
	fold  *folder
	air   *flights
	epoch *epoch
	queue chan *writeJob
	quit  chan struct{}
	done  chan struct{}
	err   error // of closing, valid after done

	reading func() bool // whether anybody is
	many    int         // see manyWrites
	landing sync.WaitGroup
	pages   int   // in the log after the commit of the group, 0 where it wrote nothing
	version int64 // PRAGMA data_version: changes when another process commits
}

type writeJob struct {
	ctx  context.Context
	run  func(conn) error
	err  error
	done chan struct{}
}

func startSQLiteWriter(c *sqliteConn, log *gatherer, fold *folder, e *epoch, reading func() bool) *sqliteWriter {
	w := &sqliteWriter{
		conn: c, log: log, fold: fold, air: newFlights(), epoch: e,
		reading: reading, many: manyWrites,
		queue: make(chan *writeJob, 2*maxGroup),
		quit:  make(chan struct{}),
		done:  make(chan struct{}),
	}
	c.db.WALHook(func(_ *sqlite3.Conn, _ string, pages int) error {
		w.pages = pages
		return nil
	})
	go w.loop()
	return w
}

func (w *sqliteWriter) do(ctx context.Context, fn func(conn) error) error {
	job := &writeJob{ctx: ctx, run: fn, done: make(chan struct{})}
	select {
	case w.queue <- job:
	case <-ctx.Done():
		return fmt.Errorf("wait to write: %w", ctx.Err())
	case <-w.done:
		return errClosed
	}
	// From here the job is the writer's, which may be running it right now: wait
	// for its word, however impatient the caller is.
	select {
	case <-job.done:
		return job.err
	case <-w.done:
		select {
		case <-job.done:
			return job.err
		default:
			return errClosed
		}
	}
}

func (w *sqliteWriter) stop() error {
	close(w.quit)
	<-w.done
	return w.err
}

func (w *sqliteWriter) loop() {
	defer close(w.done)
	defer func() {
		w.landing.Wait()
		w.err = errors.Join(w.fold.stop(), w.leaveLog(), w.conn.close())
		w.log.close()
	}()
	w.noticeOthers()
	watch := time.NewTicker(watchInterval)
	defer watch.Stop()
	for {
		select {
		case job := <-w.queue:
			w.commitGroup(job)
		case <-watch.C:
			w.noticeOthers()
		case <-w.quit:
			for len(w.queue) > 0 {
				w.commitGroup(<-w.queue)
			}
			return
		}
	}
}

// commitGroup runs the jobs without savepoints, which is fastest. Should one
// fail after it has written, all is undone and done again, each job behind a
// savepoint, so that the one that fails takes down only itself.
func (w *sqliteWriter) commitGroup(first *writeJob) {
	w.pages = 0
	var group []*writeJob
	again, err := w.transact(w.arriving(first, &group), w.runPlain)
	if again {
		_, err = w.transact(slices.Values(group), w.runGuarded)
	}
	var f *flight
	if err == nil {
		f, err = w.commit(len(group) >= w.many && !w.reading())
	}
	if f == nil {
		finish(group, err)
	} else {
		w.landing.Go(func() { finish(group, f.land(w.log.sync())) })
	}
	if w.log.failure() == nil {
		w.fold.after(w.conn.db, w.pages)
	}
}

// leaveLog keeps a log that could not be synced from being copied when the last
// connection closes: the next start looks which pages of it are whole.
func (w *sqliteWriter) leaveLog() error {
	if w.log.failure() == nil {
		return nil
	}
	if _, err := w.conn.db.Config(sqlite3.DBCONFIG_NO_CKPT_ON_CLOSE, true); err != nil {
		return fmt.Errorf("leave the log as it is: %w", err)
	}
	return nil
}

// finish tells everybody how it went. Where the group has failed, a job was refused for
// what may not be there: it hears the same as the others.
func finish(group []*writeJob, err error) {
	for _, job := range group {
		if err != nil {
			job.err = err
		}
		close(job.done)
	}
}

// arriving are the first job and those that come while the group before them is on
// its way to the disk.
func (w *sqliteWriter) arriving(first *writeJob, group *[]*writeJob) iter.Seq[*writeJob] {
	return func(yield func(*writeJob) bool) {
		for job := first; job != nil; job = w.next(len(*group)) {
			*group = append(*group, job)
			if !yield(job) {
				return
			}
		}
	}
}

// next is nil when it is time to commit.
func (w *sqliteWriter) next(taken int) *writeJob {
	if taken == maxGroup {
		return nil
	}
	select {
	case job := <-w.queue:
		return job
	default:
	}
	select {
	case job := <-w.queue:
		return job
	case <-w.air.last.Load().landed:
		return nil
	}
}

// transact runs the group in a transaction, which is left open where it went well.
func (w *sqliteWriter) transact(group iter.Seq[*writeJob], run func(*writeJob) (again bool)) (again bool, err error) {
	if err = w.conn.exec("BEGIN IMMEDIATE", nil); err != nil {
		err = fmt.Errorf("begin: %w", err)
	}
	for job := range group {
		if err != nil {
			continue // all that have come hear of it
		}
		if job.err = job.ctx.Err(); job.err != nil {
			continue
		}
		again = run(job)
		if w.conn.db.GetAutocommit() {
			// SQLite gives up the whole transaction when the disk is full or
			// fails: nothing of the group is left to commit.
			return false, fmt.Errorf("the transaction was given up: %w", job.err)
		}
		if again {
			return true, w.rollBack()
		}
	}
	return false, err
}

func (w *sqliteWriter) rollBack() error {
	if w.conn.db.GetAutocommit() { // a commit that fails may have rolled back
		return nil
	}
	if err := w.conn.exec("ROLLBACK", nil); err != nil {
		return fmt.Errorf("roll back: %w", err)
	}
	return nil
}

// commit returns once the group is on disk, or with a flight where that is put off.
func (w *sqliteWriter) commit(putOff bool) (*flight, error) {
	if err := w.air.await(context.Background()); err != nil {
		return nil, errors.Join(err, w.rollBack())
	}
	var f *flight
	if putOff {
		f = w.air.begin()
	}
	owed, err := w.log.during(putOff, func() error { return w.conn.exec("COMMIT", nil) })
	if err != nil {
		err = errors.Join(fmt.Errorf("commit: %w", err), w.rollBack())
	}
	if f != nil && !owed { // also where it failed: nobody has seen it
		_ = f.land(nil)
		f = nil
	}
	return f, err
}

func (w *sqliteWriter) runPlain(job *writeJob) (again bool) {
	w.conn.wrote = false
	job.err = guarded(job.run, w.conn)
	return job.err != nil && w.conn.wrote
}

func (w *sqliteWriter) runGuarded(job *writeJob) bool {
	if job.err = w.conn.exec("SAVEPOINT job", nil); job.err != nil {
		return false
	}
	job.err = guarded(job.run, w.conn)
	if job.err != nil {
		job.err = errors.Join(job.err, w.conn.exec("ROLLBACK TO job", nil))
	}
	if err := w.conn.exec("RELEASE job", nil); err != nil {
		job.err = errors.Join(job.err, err)
	}
	return false
}

// guarded turns a panic into an error: the writer serves everybody and must not
// die of one job.
func guarded(run func(conn) error, c conn) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic in a write: %v\n%s", r, debug.Stack())
		}
	}()
	return run(c)
}

// noticeOthers makes everybody forget what they remember about access when
// another process, such as `bursar admin`, has committed something.
func (w *sqliteWriter) noticeOthers() {
	var version int64
	if _, err := (Q{w.conn}).Row("PRAGMA data_version").Scan(&version); err != nil {
		w.epoch.bump() // not knowing counts as changed
		return
	}
	if version != w.version {
		w.version = version
		w.epoch.bump()
	}
}
