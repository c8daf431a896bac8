package db_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"bursar/internal/audit"
	"bursar/internal/db"
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

// BenchmarkKeyOfRow measures what it costs to store the API key of the caller with an audit row: writes with a key and
// without take turns.
func BenchmarkKeyOfRow(b *testing.B) {
	for name, store := range map[string]func(testing.TB) dbtest.Store{"sqlite": dbtest.SQLite, "postgres": dbtest.Postgres} {
		b.Run(name, func(b *testing.B) {
			d := store(b).Open(b)
			key := db.FirstID("key", 1)
			var took [2]time.Duration
			for i := 0; b.Loop(); i++ {
				by := db.Caller{Actor: audit.Actor{Type: audit.APIKey, ID: "usr_1"}}
				with := (i + 1) / 2 % 2 // 0 1 1 0: what follows what must not count
				if with == 1 {
					by.KeyID = key
				}
				start := time.Now()
				_, err := db.Write(b.Context(), d, by, func(tx *db.Tx) (any, audit.Event, error) {
					return nil, happened, tx.Exec(insertSetting, fmt.Sprint("n", i), "v")
				})
				if err != nil {
					b.Fatal(err)
				}
				took[with] += time.Since(start)
			}
			b.ReportMetric(float64(took[0].Nanoseconds())/float64(b.N/2+1), "ns/without")
			b.ReportMetric(float64(took[1].Nanoseconds())/float64(b.N/2+1), "ns/with")
		})
	}
}
