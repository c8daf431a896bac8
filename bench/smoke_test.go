package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"bursar/bench/report"
	"bursar/bench/subject"
)

// TestMain also serves the bare handler, which the benchmark runs as a process of this program.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && (os.Args[1] == subject.BareCommand || os.Args[1] == subject.BarePayoutsCommand) {
		main()
		return
	}
	os.Exit(m.Run())
}

func TestARunFromEndToEnd(t *testing.T) {
	if _, err := exec.LookPath("wrk"); err != nil && os.Getenv("CI") != "true" {
		t.Skip(err)
	}
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	var out, log bytes.Buffer
	kept := filepath.Join(t.TempDir(), "kept")
	err := execute(t.Context(), []string{"--quick", "--rows", "200,400", "--mixed", "3s", "--subjects", "bursar-sqlite|bare",
		"--only", "whoami|deep/400|audit/400|create/64|import|payout|balance|postings|mixed|size|disk", "--out", kept}, &out, &log)
	if err != nil {
		t.Fatalf("%v\n%s", err, &log)
	}
	text, err := os.ReadFile(filepath.Join(kept, "results.json"))
	if err != nil {
		t.Fatal(err)
	}
	var r report.Report
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	if len(r.Skipped) > 0 || len(r.Subjects) != 4 { // with and without the tree of the audit log, and with a backup
		t.Errorf("skipped: %q, subjects: %v", r.Skipped, r.Subjects)
	}
	for _, workload := range []string{"whoami", "create/64", "import", "import/bare", "payout/one", "payout/many", "payout/bare",
		"payout/through", "payout/cpu", "balance/200", "balance/400", "postings/200", "postings/400", "mixed/half", "deep/400", "audit/400/resource_id", "audit/400/outcome", "size/binary", "disk/entry"} {
		m, ok := r.Find(workload, "bursar-sqlite")
		if !ok || m.Errors > 0 || m.Value.Median <= 0 {
			t.Errorf("%s: %+v", workload, m)
		}
		if !strings.Contains(out.String(), m.Title) {
			t.Errorf("%s is not in the tables", m.Title)
		}
	}
	for _, name := range []string{"bench-throughput.svg", "bench-latency.svg", "bench-cost.svg", "results.md"} {
		if _, err := os.Stat(filepath.Join(kept, name)); err != nil {
			t.Error(err)
		}
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
