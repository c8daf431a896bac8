package report

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "rewrite the golden file")

// sample is small and has what is hard to show: a wide number, a single repeat, a subject
// without one of the workloads, errors, and text that needs escaping.
func sample() Report {
	mixed := rate("mixed/half", "Mixed <load>", "bursar-sqlite", 0, 14100, 14000)
	mixed.Errors, mixed.Latency = 12, &Latency{P50: 0.4, P90: 1.75, P99: 6.3, P999: 13, Max: 27}
	return Report{
		Machine: "AMD EPYC <7B13> & co, 2 cores", Started: time.Date(2025, 11, 15, 8, 0, 0, 0, time.UTC), Took: 492, Generator: "wrk 4.2",
		Subjects: []Subject{
			{Name: "bursar-sqlite", Title: "Bursar on SQLite", Version: "1.0"}, {Name: "bursar-postgres", Title: "Bursar on PostgreSQL", Version: "1.0"},
			{Name: "pocketbase", Title: "PocketBase", Version: "0.31"}, {Name: "bare", Title: "Bare handler"},
		},
		Measurements: []Measurement{
			rate("whoami", "Who am I", "bursar-sqlite", 0, 49000, 50137, 51000),
			rate("whoami", "Who am I", "pocketbase", 0, 4312),
			rate("whoami", "Who am I", "bare", 0, 1060000, 1061234, 1270000),
			rate("list/1000/type", "List | type, 1,000 rows", "bursar-sqlite", 1000, 15200, 15000),
			rate("list/100000/type", "List | type, 100,000 rows", "bursar-sqlite", 100000, 15100, 15300),
			rate("list/1000/type", "List | type, 1,000 rows", "pocketbase", 1000, 1900, 1800),
			mixed,
			{Workload: "memory/idle", Title: "Idle", Subject: "bursar-sqlite", Unit: "MiB", Value: SpreadOf([]float64{38.2})},
			{Workload: "disk/entry", Title: "Per entry", Subject: "pocketbase", Unit: "KiB", Value: SpreadOf([]float64{0.3828125})},
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

func rate(workload, title, subject string, rows int, perSecond ...float64) Measurement {
	return Measurement{Workload: workload, Title: title, Subject: subject, Unit: "req/s", Rows: rows, Value: SpreadOf(perSecond)}
}

func TestTablesMatchTheGoldenFile(t *testing.T) {
	got := sample().Markdown()
	path := filepath.Join("testdata", "tables.md")
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want := read(t, path); string(got) != want {
		t.Errorf("%s differs; look at it and run with -update. Got:\n%s", path, got)
	}
}

func TestChartsAreWellFormedAndNameTheirSubjects(t *testing.T) {
	for _, r := range []Report{{}, sample()} {
		throughput, err := Throughput(r, []string{"whoami", "none", "mixed/half"})
		latency, latencyErr := Latencies(r, "mixed/half")
		cost, costErr := Cost(r, []string{"plain", "type"}, 64)
		if err := errors.Join(err, latencyErr, costErr); err != nil {
			t.Fatal(err)
		}
		for name, svg := range map[string][]byte{"throughput": throughput, "latency": latency, "cost": cost} {
			decoder := xml.NewDecoder(bytes.NewReader(svg))
			for {
				if _, err := decoder.Token(); errors.Is(err, io.EOF) {
					break
				} else if err != nil {
					t.Fatalf("%s: %v\n%s", name, err, svg)
				}
			}
			if bytes.Contains(svg, []byte("NaN")) || bytes.Contains(svg, []byte("Inf")) {
				t.Errorf("%s has coordinates that are not numbers", name)
			}
			if len(r.Subjects) > 0 && !bytes.Contains(svg, []byte("Bursar on SQLite")) {
				t.Errorf("%s does not name Bursar", name)
			}
		}
	}
}

func TestReportIsTheSameAfterWritingAndReading(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results.json")
	want := sample()
	if err := want.WriteJSON(path); err != nil {
		t.Fatal(err)
	}
	var got Report
	if err := json.Unmarshal([]byte(read(t, path)), &got); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestInsertReplacesOnlyTheTextBetweenItsLines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "page.md")
	const before, after = "# Speed\n\nOf `<!-- bench -->` later.\n\n<!-- bench -->\n", "<!-- /bench -->\n\nThe end"
	write(t, path, before+"\nold\n\n"+after)
	for range 2 { // the second time changes nothing
		if err := Insert(path, []byte("\nnew\n")); err != nil {
			t.Fatal(err)
		}
		if got, want := read(t, path), before+"\nnew\n\n"+after; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if err := Insert(path, []byte("| a    | b |\n|------|--:|\n")); err != nil {
		t.Fatal(err)
	}
	if got, want := read(t, path), before+"\n| a | b |\n|---|--:|\n\n"+after; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, text := range []string{"", "\n<!-- bench -->\n", "\n<!-- /bench -->\n\n<!-- bench -->\n"} {
		write(t, path, text)
		if err := Insert(path, []byte("new")); err == nil || read(t, path) != text {
			t.Errorf("%q: %v, became %q", text, err, read(t, path))
		}
	}
}

func TestNumbersHaveThreeSignificantDigits(t *testing.T) {
	for _, test := range []struct {
		value      float64
		unit, want string
	}{
		{52137, "req/s", "52,100/s"}, {1234567, "req/s", "1,230,000/s"}, {999.6, "req/s", "1,000/s"}, {31, "req/s", "31.0/s"}, {0, "req/s", "0/s"},
		{1.2366, "ms", "1.24 ms"}, {0.8204, "ms", "820 µs"}, {2513, "ms", "2.51 s"}, {0, "ms", "0 ms"},
		{38.2, "MiB", "38.2 MiB"}, {2048, "MiB", "2.00 GiB"}, {0.5, "KiB", "512 B"}, {0.8313, "×", "0.831×"}, {-5.25, "", "-5.25"},
	} {
		if got := short(test.value, test.unit); got != test.want {
			t.Errorf("%v %s is %q, want %q", test.value, test.unit, got, test.want)
		}
	}
	for seconds, want := range map[float64]string{0.4: "0 s", 59.7: "1 min 0 s", 492: "8 min 12 s"} {
		if got := duration(seconds); got != want {
			t.Errorf("%v s is %q, want %q", seconds, got, want)
		}
	}
}

func TestSpreadIsTheMedianAndBothEnds(t *testing.T) {
	for _, test := range []struct {
		values []float64
		want   Spread
	}{
		{nil, Spread{}},
		{[]float64{9, 1, 4}, Spread{Median: 4, Min: 1, Max: 9, All: []float64{9, 1, 4}}},
		{[]float64{8, 1, 2, 4}, Spread{Median: 3, Min: 1, Max: 8, All: []float64{8, 1, 2, 4}}},
	} {
		if got := SpreadOf(test.values); !reflect.DeepEqual(got, test.want) {
			t.Errorf("got %+v, want %+v", got, test.want)
		}
	}
}

func TestRatiosAreTakenWithinARound(t *testing.T) {
	for _, test := range []struct {
		name       string
		a, b, want []float64
	}{
		{"the machine halved its speed for both", []float64{100, 50, 100}, []float64{10, 5, 10}, []float64{10, 10, 10}},
		{"the ratio of the medians would be 2", []float64{1, 2, 9}, []float64{1, 1, 3}, []float64{1, 2, 3}},
		{"the other side got no answer once", []float64{4, 6}, []float64{0, 2}, []float64{3}},
	} {
		if got := Ratio(SpreadOf(test.a), SpreadOf(test.b)); !reflect.DeepEqual(got, SpreadOf(test.want)) {
			t.Errorf("%s: got %+v, want %v", test.name, got, test.want)
		}
	}
}

func TestTheMedianDecidesWhetherAGoalIsMet(t *testing.T) {
	got := SpreadOf([]float64{1, 5, 9})
	for _, test := range []struct {
		goal  Goal
		state string
	}{
		{AtLeast("", 5, "×", got), "met"}, {AtLeast("", 6, "×", got), "missed"}, {AtMost("", 5, "ms", got), "met"}, {AtMost("", 4, "ms", got), "missed"},
		{AtLeast("", 0, "×", Spread{}), "not measured"}, {AtMost("", 4, "ms", Spread{}), "not measured"},
	} {
		if state := test.goal.state(); state != test.state || test.goal.Met != (state == "met") {
			t.Errorf("%+v is %s, want %s", test.goal, state, test.state)
		}
	}
}

func TestAGoalShowsHowNearItWasMissed(t *testing.T) {
	for got, want := range map[float64]string{0.83: "0.830×", 0.79996: "0.79996×", 0.8: "0.800×"} {
		if text := AtLeast("", 0.8, "×", SpreadOf([]float64{got})).got(); text != want {
			t.Errorf("%v is shown as %s, want %s", got, text, want)
		}
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(text), "\r\n", "\n")
}
