// Package report turns measurements into a table, a JSON file and charts.
package report

import "time"

// Report is everything that one run found out.
type Report struct {
	Machine string    `json:"machine"` // processor, cores, memory, system, Go
	Started time.Time `json:"started"`
	Took    float64   `json:"took_seconds"`
	// Generator is what made the load.
	Generator string    `json:"generator"`
	Subjects  []Subject `json:"subjects"`
	Cells     []Cell    `json:"cells"`
	Goals     []Goal    `json:"goals"`
	Skipped   []string  `json:"skipped,omitempty"` // a line for each subject or work left out, and why
}

// Subject is a program that was measured. In charts a name that begins with
// "bursar" is drawn strong, one that begins with "bare" is a yardstick and grey.
type Subject struct {
	Name    string `json:"name"`  // "bursar-sqlite"
	Title   string `json:"title"` // "Bursar on SQLite"
	Version string `json:"version"`
}

// Cell is what one subject did of one work. A cell of load has its requests per
// second as Value, and Latency; one of another kind (memory, time, bytes) has
// Value alone.
type Cell struct {
	Work    string `json:"work"`  // "list/100000/type"
	Title   string `json:"title"` // "List of 25 by type, 100,000 rows"
	Subject string `json:"subject"`
	Unit    string `json:"unit"` // "req/s", "ms", "MiB", "bytes"

	Value   Spread   `json:"value"`
	Latency *Latency `json:"latency,omitempty"`
	Errors  int64    `json:"errors"`
	Rows    int      `json:"rows,omitempty"` // how many rows the list is of, for the chart of cost against rows
}

// Spread is the middle of repeated measurements and how far they lie apart.
type Spread struct {
	Median float64   `json:"median"`
	Min    float64   `json:"min"`
	Max    float64   `json:"max"`
	All    []float64 `json:"all"`
}

// Latency is in milliseconds: the median over the repeats of each percentile.
type Latency struct {
	P50  float64 `json:"p50"`
	P90  float64 `json:"p90"`
	P99  float64 `json:"p99"`
	P999 float64 `json:"p999"`
	Max  float64 `json:"max"`
}

// Goal is a ratio or a bound that a run is to show.
type Goal struct {
	Text   string  `json:"text"` // "GET /auth/me against the bare handler"
	Kind   string  `json:"kind"` // "at least" or "at most"
	Want   float64 `json:"want"`
	Unit   string  `json:"unit"` // "×", "ms", "MiB"
	Got    Spread  `json:"got"`
	Met    bool    `json:"met"`
	Absent string  `json:"absent,omitempty"` // why it could not be measured
}
