// Package report turns measurements into tables, a JSON file and charts.
package report

import (
	"math"
	"slices"
	"time"
)

// Report is everything that one run measured.
type Report struct {
	Machine      string        `json:"machine"` // processor, cores, memory, system, Go version
	Started      time.Time     `json:"started"`
	Took         float64       `json:"took_seconds"`
	Generator    string        `json:"generator"` // what made the load
	Subjects     []Subject     `json:"subjects"`
	Measurements []Measurement `json:"measurements"`
	Goals        []Goal        `json:"goals"`
	Skipped      []string      `json:"skipped,omitempty"` // what was left out, and why
}

// Subject is a program that was measured.
type Subject struct {
	Name    string `json:"name"`  // "bursar-sqlite"
	Title   string `json:"title"` // "Bursar on SQLite"
	Version string `json:"version"`
}

// Measurement is what one subject did under one workload: requests per second with the unit
// "req/s", else memory, time or bytes.
type Measurement struct {
	Workload string   `json:"workload"` // "list/100000/type"
	Title    string   `json:"title"`    // "List of 25 by type, 100,000 rows"
	Subject  string   `json:"subject"`
	Unit     string   `json:"unit"` // "req/s", "ms", "MiB", "KiB", "×"
	Value    Spread   `json:"value"`
	Latency  *Latency `json:"latency,omitempty"` // of open loops
	Errors   int64    `json:"errors"`
	Rows     int      `json:"rows,omitempty"` // rows in the store, where the workload depends on it
}

// Latency is in milliseconds: the median over the repeats of each percentile.
type Latency struct {
	P50  float64 `json:"p50"`
	P90  float64 `json:"p90"`
	P99  float64 `json:"p99"`
	P999 float64 `json:"p999"`
	Max  float64 `json:"max"`
}

func (l Latency) all() []float64 { return []float64{l.P50, l.P90, l.P99, l.P999, l.Max} }

// Find returns the measurement of a workload and a subject.
func (r Report) Find(workload, subject string) (Measurement, bool) {
	for _, m := range r.Measurements {
		if m.Workload == workload && m.Subject == subject {
			return m, true
		}
	}
	return Measurement{}, false
}

// Spread is the median of repeated measurements and how far they lie apart.
type Spread struct {
	Median float64   `json:"median"`
	Min    float64   `json:"min"`
	Max    float64   `json:"max"`
	All    []float64 `json:"all"` // in the order in which they were measured
}

// SpreadOf sums up repeated measurements.
func SpreadOf(values []float64) Spread {
	if len(values) == 0 {
		return Spread{}
	}
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	median := sorted[middle]
	if len(sorted)%2 == 0 {
		median = (sorted[middle-1] + sorted[middle]) / 2
	}
	return Spread{Median: median, Min: sorted[0], Max: sorted[len(sorted)-1], All: slices.Clone(values)}
}

// Ratio divides each repeat of a by the repeat of b in the same round, so that whatever slowed
// the machine down for a while slowed both. Rounds in which b is zero do not count.
func Ratio(a, b Spread) Spread {
	var ratios []float64
	for i := range min(len(a.All), len(b.All)) {
		if b.All[i] != 0 {
			ratios = append(ratios, a.All[i]/b.All[i])
		}
	}
	return SpreadOf(ratios)
}

// deviation is the distance of the farthest repeat from the median, in percent of the median.
// A single repeat has none.
func (s Spread) deviation() (percent float64, ok bool) {
	if len(s.All) < 2 || s.Median == 0 {
		return 0, false
	}
	return 100 * max(s.Max-s.Median, s.Median-s.Min) / math.Abs(s.Median), true
}
