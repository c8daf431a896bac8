package subject

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"bursar/internal/db"
)

// Follows reports whether the server has an audit log that can be followed.
func (s *Server) Follows() bool {
	b, ok := s.client.(*bursar)
	return ok && b.variant == ""
}

// Delays returns the 99th percentile, in milliseconds, of how long the actions of a load take
// until a follower has them and until a head that is signed covers them. With PostgreSQL the
// follower queries a second node.
func (s *Server) Delays(ctx context.Context, run func(context.Context) error) (feed, checkpoint float64, err error) {
	b := s.client.(*bursar)
	config := db.Config{Dir: b.store[1]}
	if b.store[0] == "--database-url" {
		config = db.Config{URL: b.store[1]}
	}
	d, err := db.Open(ctx, config)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	if err := b.caughtUp(ctx, d); err != nil {
		return 0, 0, err
	}
	var position, seq int64
	err = d.Read(ctx, func(q db.Q) error {
		_, err := q.Row(`SELECT (SELECT size FROM audit_sequence), max(size) FROM audit_stream`).Scan(&position, &seq)
		return err
	})
	if err != nil {
		return 0, 0, err
	}
	follower := *b
	if config.URL != "" { // where one machine is not enough, followers ask another node than writers
		node, err := follower.server()
		if err == nil {
			node.args = append(node.args, "--audit-checkpoint", b.auditKey[1]+".second", // each node has its own
				"--public-url", b.base) // in which the credentials are valid
			_, err = node.Start(ctx)
		}
		if err != nil {
			return 0, 0, fmt.Errorf("start a second node: %w", err)
		}
		defer func() { err = errors.Join(err, node.Stop()) }()
	}
	following, stop := context.WithCancel(ctx)
	defer stop()
	followed := make(chan []float64, 1)
	go func() { followed <- follower.follow(following, seq) }()
	if err := run(ctx); err != nil {
		return 0, 0, err
	}
	if err := b.caughtUp(ctx, d); err != nil {
		return 0, 0, err
	}
	stop()
	delays, err := headDelays(ctx, d, position)
	if err != nil {
		return 0, 0, err
	}
	seen := <-followed
	if len(seen) == 0 || len(delays) == 0 {
		return 0, 0, errors.New("nothing of the load was seen in the audit log")
	}
	return p99(seen), p99(delays), nil
}

// caughtUp waits until all rows are in the tree, such as those that filled the store.
func (b *bursar) caughtUp(ctx context.Context, d *db.DB) error {
	for deadline := time.Now().Add(10 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		var left int64
		err := d.Read(ctx, func(q db.Q) error {
			_, err := q.Row(`SELECT (SELECT count(*) FROM audit_log) - rows FROM audit_tree`).Scan(&left)
			return err
		})
		if err != nil || left == 0 {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%d rows of the audit log are not in its tree", left)
		}
	}
}

// follow reads the feed and returns how late each row was.
func (b *bursar) follow(ctx context.Context, after int64) (delays []float64) {
	for {
		var page struct {
			Data struct {
				After   int64
				Entries []struct{ Timestamp int64 }
			}
		}
		path := fmt.Sprintf("%s/v1/audit/feed?workspace_id=%s&after=%d&limit=1000&wait=10", b.base, b.plan.WorkspaceID, after)
		if err := call(ctx, http.DefaultClient, http.MethodGet, path, b.header(), "", &page); err != nil {
			return delays // the load is over
		}
		now := time.Now().UnixMilli()
		for _, e := range page.Data.Entries {
			delays = append(delays, float64(now-e.Timestamp))
		}
		after = page.Data.After
	}
}

// headDelays returns, for each row after a position, the delay until the first head that covers
// it. A row's id begins with its time.
func headDelays(ctx context.Context, d *db.DB, position int64) (delays []float64, err error) {
	type head struct{ rows, at int64 }
	err = d.Read(ctx, func(q db.Q) error {
		heads, err := db.Collect(q, func(r db.Rows) head { return head{r.Int(0), r.Int(1)} },
			`SELECT rows, at FROM audit_head WHERE rows > $1 ORDER BY rows`, position)
		if err != nil {
			return err
		}
		return q.Each(func(r db.Rows) error {
			for len(heads) > 0 && heads[0].rows < r.Int(0) {
				heads = heads[1:]
			}
			if len(heads) > 0 {
				delays = append(delays, float64(heads[0].at-int64(binary.BigEndian.Uint64(r.Raw(1))>>16)))
			}
			return nil
		}, `SELECT position, audit_id FROM audit_place WHERE position > $1 ORDER BY position`, position)
	})
	return delays, err
}

func p99(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)*99/100]
}
