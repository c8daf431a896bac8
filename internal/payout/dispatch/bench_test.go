package dispatch_test

import (
	"testing"

	"bursar/internal/db/dbtest"
)

// BenchmarkDispatch is what it takes to bring a payout that waits to its end and into the bank's
// statement.
func BenchmarkDispatch(b *testing.B) {
	for name, store := range map[string]func(testing.TB) dbtest.Store{"sqlite": dbtest.SQLite, "postgres": dbtest.Postgres} {
		b.Run(name, func(b *testing.B) {
			bank := openBank(b, store(b))
			numbers := make([]string, b.N)
			for i := range numbers {
				numbers[i] = number("0001")
			}
			bank.account = bank.newAccount(int64(b.N) * amount)
			bank.pay(numbers...)
			b.ReportAllocs()
			for b.ResetTimer(); ; {
				worked, err := bank.Turn(b.Context())
				if err != nil {
					b.Fatal(err)
				}
				if !worked {
					break
				}
			}
			b.StopTimer()
			if n := bank.count(`SELECT count(*) FROM payout WHERE status = 'completed'`); n != int64(b.N) {
				b.Errorf("%d of %d are completed", n, b.N)
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "payouts/s")
		})
	}
}
