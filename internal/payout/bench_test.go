package payout_test

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
)

// BenchmarkCreate has 64 callers make payouts that no one has to approve, all from one account or
// each from an account of its own. It calls the handler itself, without a network between.
func BenchmarkCreate(b *testing.B) {
	for name, store := range map[string]func(testing.TB) dbtest.Store{"sqlite": dbtest.SQLite, "postgres": dbtest.Postgres} {
		for _, accounts := range []int{1, 64} {
			b.Run(fmt.Sprintf("%s/accounts=%d", name, accounts), func(b *testing.B) {
				n := servertest.Start(b, store(b))
				x := n.Tenant(b)
				ids := make([]string, accounts)
				for i := range ids {
					ids[i] = x.Account(1 << 40)
				}
				var caller atomic.Int64
				b.ReportAllocs()
				b.SetParallelism(32)
				b.ResetTimer()
				b.RunParallel(func(pb *testing.PB) {
					account := ids[int(caller.Add(1))%accounts]
					for pb.Next() {
						text, err := json.Marshal(request(account, 100, body{"external_id": rand.Text()}))
						if err != nil {
							b.Fatal(err)
						}
						r := httptest.NewRequest("POST", payouts, bytes.NewReader(text))
						r.Header.Set("Authorization", "Bearer "+x.Owner.Token)
						w := httptest.NewRecorder()
						if n.Server.ServeHTTP(w, r); w.Code != http.StatusCreated {
							b.Fatalf("%d %s", w.Code, w.Body)
						}
					}
				})
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "payouts/s")
			})
		}
	}
}
