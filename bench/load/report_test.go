package load

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
)

// correct does to measured latencies what wrk 4.1 does.
func correct(counts map[int64]int64, interval int64) {
	longest := slices.Max(slices.Collect(maps.Keys(counts)))
	for n := 2 * interval; n <= longest; n++ {
		for m := n - interval; counts[n] > 0 && m > interval; m -= interval {
			counts[m] += counts[n]
		}
	}
}

func TestInventedLatenciesAreTakenOut(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		const connections = 8
		measured := map[int64]int64{}
		requests := 100 + random.Int64N(1000)
		for range requests {
			measured[20+random.Int64N(1+random.Int64N(3000))]++
		}
		r := report{Requests: requests, Micros: 1_000 + random.Int64N(100_000)}
		corrected := maps.Clone(measured)
		correct(corrected, r.Micros/(requests/connections))
		for value, count := range corrected {
			r.Latencies = append(r.Latencies, [2]int64{value, count})
		}
		got, err := r.asMeasured(connections)
		if err != nil {
			t.Fatal(err)
		}
		maps.DeleteFunc(got, func(_, count int64) bool { return count == 0 })
		if !maps.Equal(got, measured) {
			t.Fatalf("got %v, measured %v", got, measured)
		}
	}
}

func TestLatenciesThatDoNotAddUpAreRefused(t *testing.T) {
	r := report{Requests: 10, Micros: 1000, Known: true, Latencies: [][2]int64{{5, 7}}}
	if _, err := r.result(1); err == nil {
		t.Error("7 latencies are believed for 10 answers")
	}
}
