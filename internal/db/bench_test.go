package db_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"bursar/internal/db/dbtest"
)

// BenchmarkCommit measures one write with its audit row, by one caller and by 64 who
// share commits.
func BenchmarkCommit(b *testing.B) {
	for name, store := range map[string]func(testing.TB) dbtest.Store{"sqlite": dbtest.SQLite, "postgres": dbtest.Postgres} {
		for _, callers := range []int{1, 64} {
			b.Run(fmt.Sprintf("%s/callers=%d", name, callers), func(b *testing.B) {
				d := store(b).Open(b)
				var n atomic.Int64
				b.ReportAllocs()
				one := func() {
					if err := put(b.Context(), d, fmt.Sprint("n", n.Add(1))); err != nil {
						b.Error(err)
					}
				}
				if callers == 1 {
					for b.Loop() {
						one()
					}
					return
				}
				b.SetParallelism(callers / 2)
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						one()
					}
				})
			})
		}
	}
}
