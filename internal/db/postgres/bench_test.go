package postgres_test

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// BenchmarkWithGroups compares inserts by 64 callers with and without group commit,
// in short rounds that take turns, because the speed of a machine changes from
// minute to minute. It reports the median of with ÷ without:
//
//	go test ./internal/db/postgres -run '^$' -bench With -benchtime 20x
func BenchmarkWithGroups(b *testing.B) {
	with, without := open(b), open(b)
	without.DisableGroups()
	var ratios []float64
	for b.Loop() {
		slow := inserts(b, without)
		ratios = append(ratios, float64(slow)/float64(inserts(b, with)))
	}
	slices.Sort(ratios)
	b.ReportMetric(ratios[len(ratios)/2], "with/without")
	b.ReportMetric(ratios[0], "least")
	b.ReportMetric(ratios[len(ratios)-1], "most")
}

// inserts returns how long 64 callers take for 1,280 writes.
func inserts(b *testing.B, d *database) time.Duration {
	var n atomic.Int64
	begin := time.Now()
	var all sync.WaitGroup
	for range 64 {
		all.Go(func() {
			for range 20 {
				if err := d.insert(b.Context(), fmt.Sprint(begin.UnixNano()+n.Add(1))); err != nil {
					b.Error(err)
				}
			}
		})
	}
	all.Wait()
	return time.Since(begin)
}
