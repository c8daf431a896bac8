package sqlite

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"bursar/internal/db/engine"
)

// The benchmark switches the checkpointer off and compares creates by 64 callers
// with and without it, in short rounds that take turns, because the speed of a
// machine changes from minute to minute. It reports the median of with ÷ without:
//
//	go test ./internal/db/sqlite -run '^$' -bench With -benchtime 20x

func BenchmarkWithCheckpointer(b *testing.B) {
	without, with := open(b), open(b)
	must(b, without.Write(b.Context(), func(engine.Conn) error {
		// SQLite's default: the writer copies the WAL. It uses the hook that wakes the
		// checkpointer.
		return without.writer.conn.Exec("PRAGMA wal_autocheckpoint = 1000", nil)
	}))
	var ratios []float64
	for b.Loop() {
		slow := creates(b, without)
		ratios = append(ratios, float64(slow)/float64(creates(b, with)))
	}
	slices.Sort(ratios)
	b.ReportMetric(ratios[len(ratios)/2], "with/without")
	b.ReportMetric(ratios[0], "least")
	b.ReportMetric(ratios[len(ratios)-1], "most")
}

// creates returns how long 64 callers take for 3,200 writes. Each writes as much as
// the create of an entry: some rows that are appended, and some in random order.
func creates(b *testing.B, e *Engine) time.Duration {
	var n atomic.Int64
	value := strings.Repeat("v", 500)
	begin := time.Now()
	var all sync.WaitGroup
	for range 64 {
		all.Go(func() {
			for range 50 {
				err := e.Write(b.Context(), func(c engine.Conn) error {
					id := begin.UnixNano() + n.Add(1)
					for i := range 3 {
						if err := c.Exec("INSERT INTO pair VALUES ($1, $2)", []any{fmt.Sprint("a", id, i), value}); err != nil {
							return err
						}
						if err := c.Exec("INSERT INTO pair VALUES ($1, $2)", []any{fmt.Sprint("r", id*7919%1_000_003, id, i), ""}); err != nil {
							return err
						}
					}
					return nil
				})
				if err != nil {
					b.Error(err)
				}
			}
		})
	}
	all.Wait()
	return time.Since(begin)
}
