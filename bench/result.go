package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"bursar/bench/plan"
	"bursar/bench/report"
)

// write leaves results.json in one folder and the charts in another.
func write(r report.Report, data, charts string, page bool) error {
	for _, dir := range []string{data, charts} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("write the results: %w", err)
		}
	}
	if err := r.WriteJSON(filepath.Join(data, "results.json")); err != nil {
		return err
	}
	files := map[string][]byte{
		filepath.Join(charts, "bench-throughput.svg"): report.Throughput(r, operations(r)),
		filepath.Join(charts, "bench-latency.svg"):    report.Latencies(r, []string{plan.MixedHalf}),
		filepath.Join(charts, "bench-cost.svg"):       report.Cost(r, []string{"list/plain", "list/type", "list/status", "list/tag"}),
	}
	if page {
		text, err := markdown(r)
		if err != nil {
			return err
		}
		files[filepath.Join(data, "results.md")] = text
	}
	for path, text := range files {
		if err := os.WriteFile(path, text, 0o644); err != nil {
			return fmt.Errorf("write the results: %w", err)
		}
	}
	return nil
}

// operations are the works of the chart of throughput: one of each kind.
func operations(r report.Report) []string {
	sizes := map[plan.Kind]int{}
	for _, c := range r.Cells {
		for _, kind := range []plan.Kind{plan.List, plan.Audit} {
			// PocketBase has the main size alone, so its list is the one to show. Without
			// it the first of Bursar's is that of the main size too.
			if c.Work == (plan.Work{Kind: kind, Store: c.Rows}).Name() && (c.Subject == "pocketbase" || sizes[kind] == 0) {
				sizes[kind] = c.Rows
			}
		}
	}
	var out []string
	for _, w := range []plan.Work{
		{Kind: plan.WhoAmI},
		{Kind: plan.List, Store: sizes[plan.List]},
		{Kind: plan.Read},
		{Kind: plan.Create, Callers: 1},
		{Kind: plan.Create, Callers: plan.Callers},
		{Kind: plan.Update},
		{Kind: plan.Audit, Store: sizes[plan.Audit]},
		{Kind: plan.Token},
	} {
		out = append(out, w.Name())
	}
	return out
}

func markdown(r report.Report) ([]byte, error) {
	var out bytes.Buffer
	err := r.Markdown(&out)
	return out.Bytes(), err
}
