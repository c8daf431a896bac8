package postgres

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"bursar/internal/db/engine"
	"bursar/internal/work"
)

const (
	// replicaPatience is how long a list waits for the replica to replay earlier commits. A
	// replica nearby takes a few milliseconds.
	replicaPatience = 20 * time.Millisecond
	// replicaPoll is how often the list checks the replica meanwhile.
	replicaPoll = time.Millisecond
	// replicaCheck is how often a node checks whether the replica can serve lists.
	replicaCheck = 500 * time.Millisecond
	// positionTimeout bounds how long a list waits for the primary's position. After that the
	// primary serves the list, which waits for it longer.
	positionTimeout = time.Second
)

// replica is a standby that serves lists. Each list reads the flushed position of the primary, and
// the replica whether it has replayed that. Everything that was answered before the list began, by
// any node, is in the log up to there. So writes need not record anything, and a client may write at
// one node and list at another.
type replica struct {
	of     *Engine // the primary
	pool   *Engine // only its pool is used
	lists  *engine.Lists
	report func(error) // called with nil when the replica starts to serve lists, and with the reason when it stops

	stop context.CancelFunc
	done chan struct{}

	mu     sync.Mutex
	next   *asking // the next query for the primary's position; nil if no list waits
	asking bool    // a goroutine is querying it
}

// UseReplica lets a standby at another address serve lists. It may be unavailable: the primary
// serves them meanwhile.
func (e *Engine) UseReplica(ctx context.Context, url string, lists *engine.Lists, report func(error)) error {
	r := &replica{of: e, pool: &Engine{}, lists: lists, report: report, done: make(chan struct{})}
	config, err := r.pool.configure(url)
	if err != nil {
		return fmt.Errorf("use a replica: %w", err)
	}
	store, err := identify(ctx, e.pool)
	if err != nil {
		return err
	}
	config.AfterConnect = func(ctx context.Context, c *pgx.Conn) error {
		other, err := identify(ctx, c)
		if err == nil && other != store {
			err = errors.New("it is no copy of the store: server, database and search_path have to be the same")
		}
		return err
	}
	if r.pool.pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return fmt.Errorf("use a replica: %w", err)
	}
	r.pool.ready.Store(r.pool.pool)
	watching, stop := context.WithCancel(context.Background())
	r.stop = stop
	e.replica = r
	go r.watch(watching)
	return nil
}

// identity is a value that all copies of one store have in common, and other stores do not.
const identity = `SELECT concat_ws(' ', (SELECT system_identifier FROM pg_control_system()), current_database(), current_schema())`

func identify(ctx context.Context, c interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}) (store string, err error) {
	if err := c.QueryRow(ctx, identity).Scan(&store); err != nil {
		return "", fmt.Errorf("identify the store: %w", err)
	}
	return store, nil
}

func (r *replica) close() {
	r.stop()
	<-r.done
	r.pool.pool.Close()
}

// watch regularly checks whether the replica can serve lists, so that no list waits for one that cannot.
func (r *replica) watch(ctx context.Context) {
	defer close(r.done)
	tick := time.NewTicker(replicaCheck)
	defer tick.Stop()
	for reported, served := false, false; ; {
		err := r.try(ctx, func(engine.Conn) error { return nil })
		if ctx.Err() != nil {
			return
		}
		r.lists.Used.Store(err == nil)
		if r.report != nil && (!reported || served != (err == nil)) {
			r.report(err)
		}
		reported, served = true, err == nil
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// List implements engine.Engine.
func (e *Engine) List(ctx context.Context, fn func(engine.Conn) error) error {
	r := e.replica
	if r == nil {
		return e.Read(ctx, fn)
	}
	if r.lists.Used.Load() && r.try(ctx, fn) == nil {
		r.lists.Replica.Add(1)
		return nil
	}
	// Whatever the error was, even "not found", the primary decides.
	r.lists.Primary.Add(1)
	return e.Read(ctx, fn)
}

// try runs fn on the replica, if it has all earlier commits. After an error it is unknown how far
// fn got.
func (r *replica) try(ctx context.Context, fn func(engine.Conn) error) error {
	at, err := r.position(ctx)
	if err != nil {
		return err
	}
	unfit := false
	err = r.pool.Read(ctx, func(q engine.Conn) error {
		c := q.(*conn)
		c.reads = false          // nothing is sent again on another connection, which may be to another server
		c.deadline = time.Time{} // no long wait, because the primary is available
		if err := r.await(c, at); err != nil {
			unfit = true
			return err
		}
		err := fn(q)
		unfit = c.lost(err)
		return err
	})
	if unfit && ctx.Err() == nil {
		r.lists.Used.Store(false) // until watch finds it healthy
	}
	return err
}

// behind is the query for how many bytes of the log up to a position the server has not replayed. It
// is NULL for a server that is no longer a standby, and for one on another timeline. After a failover
// such a server may have replayed more than the new primary has, but not the same. A standby may
// report its change to the new timeline only at its next restartpoint.
const behind = `SELECT CASE WHEN pg_is_in_recovery() AND (SELECT min_recovery_end_timeline FROM pg_control_recovery()) = $2
	THEN greatest(0, pg_wal_lsn_diff($1::pg_lsn, pg_last_wal_replay_lsn()))::bigint END`

// await waits until the replica has replayed the log of the primary up to a position.
func (r *replica) await(c *conn, at position) error {
	if err := c.connect(); err != nil {
		return err
	}
	for deadline := time.Now().Add(replicaPatience); ; {
		var lag *int64
		if err := c.db.QueryRow(c.ctx, behind, at.lsn, at.timeline).Scan(&lag); err != nil {
			return fmt.Errorf("ask the replica how far it is: %w", err)
		}
		if lag == nil {
			r.pool.reset() // if the URL names several hosts, the next connections are to one that is a standby
			return errors.New("the replica is no standby of the primary")
		}
		r.lists.Lag.Store(*lag)
		switch {
		case *lag == 0:
			return nil
		case time.Now().After(deadline):
			return fmt.Errorf("the replica is %d bytes behind", *lag)
		}
		if err := work.Sleep(c.ctx, replicaPoll); err != nil {
			return err
		}
	}
}

// position is how far the log of the primary is on disk. No commit is answered before it is there.
type position struct {
	lsn      string
	timeline int32
}

// asking is a query for the position, and the lists that wait for its result.
type asking struct {
	done chan struct{}
	at   position
	err  error
}

// position returns the position of the primary, with one query for all waiting lists. The query is sent
// after each of them has begun.
func (r *replica) position(ctx context.Context) (position, error) {
	r.mu.Lock()
	if r.next == nil {
		r.next = &asking{done: make(chan struct{})}
	}
	mine := r.next
	if !r.asking {
		r.asking = true
		go r.ask()
	}
	r.mu.Unlock()
	select {
	case <-mine.done:
		return mine.at, mine.err
	case <-ctx.Done():
		return position{}, ctx.Err()
	}
}

// ask queries until no list waits.
func (r *replica) ask() {
	for {
		r.mu.Lock()
		mine := r.next
		r.next = nil
		r.asking = mine != nil
		r.mu.Unlock()
		if mine == nil {
			return
		}
		mine.at, mine.err = r.of.position()
		close(mine.done)
	}
}

// onDisk returns no row if commits are answered before they are on disk.
const onDisk = `SELECT lsn::text, ('x' || left(pg_walfile_name(lsn), 8))::bit(32)::int
	FROM pg_current_wal_flush_lsn() AS lsn WHERE current_setting('synchronous_commit') <> 'off'`

func (e *Engine) position() (at position, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), positionTimeout)
	defer cancel()
	pooled, err := e.acquire(ctx, time.Now().Add(positionTimeout))
	if err != nil {
		return position{}, err
	}
	defer release(ctx, pooled)
	if err := pooled.QueryRow(ctx, onDisk).Scan(&at.lsn, &at.timeline); err != nil {
		return position{}, fmt.Errorf("ask the primary how far its log is on disk: %w", err)
	}
	return at, nil
}
