package report

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write the golden files anew")

// sampleReport is small, and has what is hard to show: a wide number, a single
// repeat, a subject that lacks a work, errors, and text that needs escaping.
func sampleReport() Report {
	return Report{
		Machine:   "AMD EPYC <7B13> & co, 2 cores",
		Started:   time.Date(2025, 11, 15, 8, 0, 0, 0, time.UTC),
		Took:      492,
		Generator: "wrk 4.2",
		Subjects: []Subject{
			{Name: "bursar-sqlite", Title: "Bursar on SQLite", Version: "1.0"},
			{Name: "bursar-postgres", Title: "Bursar on PostgreSQL", Version: "1.0"},
			{Name: "pocketbase", Title: "PocketBase", Version: "0.31"},
			{Name: "bare", Title: "bare handler"},
		},
		Cells: []Cell{
			load("whoami", "Who am I", "bursar-sqlite", 0, 49000, 50137, 51000),
			load("whoami", "Who am I", "pocketbase", 0, 4312),
			load("whoami", "Who am I", "bare", 0, 1060000, 1061234, 1270000),
			load("list/1000/type", "List | type, 1,000 rows", "bursar-sqlite", 1000, 15200, 15000),
			load("list/100000/type", "List | type, 100,000 rows", "bursar-sqlite", 100000, 15100, 15300),
			load("list/1000/type", "List | type, 1,000 rows", "pocketbase", 1000, 1900, 1800),
			load("list/100000/type", "List | type, 100,000 rows", "pocketbase", 100000, 310, 305),
			withErrors(load("mixed", "Mixed <load>", "bursar-sqlite", 0, 14100, 14000), 12),
			load("mixed", "Mixed <load>", "bursar-postgres", 0, 9100, 9000),
			{Work: "memory/idle", Title: "Idle", Subject: "bursar-sqlite", Unit: "MiB", Value: SpreadOf([]float64{38.2})},
		},
		Goals: []Goal{
			AtLeast("who am I against PocketBase", 10, "×", SpreadOf([]float64{11.4, 11.6, 11.9})),
			AtLeast("who am I against the bare handler", 0.8, "×", SpreadOf([]float64{0.7996})),
			AtMost("memory idle", 40, "MiB", SpreadOf([]float64{38.2})),
			AtLeast("create against Kratos", 10, "×", Spread{}),
		},
		Skipped: []string{"kratos: does not build"},
	}
}

func load(work, title, subject string, rows int, perSecond ...float64) Cell {
	value := SpreadOf(perSecond)
	p50 := 64_000 / value.Median
	return Cell{
		Work: work, Title: title, Subject: subject, Unit: "req/s", Rows: rows, Value: value,
		Latency: &Latency{P50: p50, P90: p50 * 1.5, P99: p50 * 3, P999: p50 * 8, Max: p50 * 20},
	}
}

func withErrors(c Cell, errors int64) Cell {
	c.Errors = errors
	return c
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs; look at it and run with -update. Got:\n%s", path, got)
	}
}
