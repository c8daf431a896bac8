package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"bursar/bench/goal"
	"bursar/bench/load"
	"bursar/bench/plan"
	"bursar/bench/report"
	"bursar/bench/run"
	"bursar/bench/subject"
)

// measure does a run and leaves nothing behind but its results.
func measure(ctx context.Context, o options, out, log io.Writer) (err error) {
	runs := &load.Runs{}
	wrk, err := load.NewWrk(runs)
	if err != nil {
		return err
	}
	root, err := subject.Root(".")
	if err != nil {
		return err
	}
	temp, err := os.MkdirTemp("", "bursar-bench-")
	if err != nil {
		return fmt.Errorf("make a folder for the stores: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	started := time.Now()
	say := func(format string, args ...any) {
		since := time.Since(started).Round(time.Second)
		fmt.Fprintf(log, "%d:%02d  %s\n", since/time.Minute, since%time.Minute/time.Second, fmt.Sprintf(format, args...))
	}
	setup, subjects, skipped, err := o.prepare(ctx, root, temp, say)
	if setup.Postgres != nil {
		defer func() { err = errors.Join(err, setup.Postgres.Stop()) }()
	}
	if err != nil {
		return err
	}
	all := &run.Run{
		Sizes: o.sizes, Repeats: o.repeats, Mixed: o.mixed, Settle: o.settle, Only: o.works,
		Subjects: subjects, Log: say, Closed: wrk, Open: load.NewOpen(runs), Runs: runs,
	}
	defer all.Stop()
	if err := all.All(ctx); err != nil {
		return err
	}
	r := report.Report{
		Machine: machine(), Started: started, Took: time.Since(started).Seconds(), Generator: "wrk " + wrk.Version + " (closed loops) and vegeta (mixed load)",
		Measurements: all.Measurements, Skipped: append(skipped, all.Skipped...),
	}
	for _, s := range all.Subjects {
		r.Subjects = append(r.Subjects, s.Subject)
	}
	r.Goals = goal.Goals(r, o.sizes)
	err = o.publish(r, root)
	_, writeErr := out.Write(r.Markdown())
	return errors.Join(err, writeErr)
}

// publish writes the files of a run. A run in which Bursar failed does not replace published results.
func (o *options) publish(r report.Report, root string) error {
	switch {
	case o.out != "":
		if err := write(r, o.out, o.out, o.sizes); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(o.out, "results.md"), r.Markdown(), 0o644); err != nil {
			return fmt.Errorf("write the tables: %w", err)
		}
	case o.complete():
		for _, line := range r.Skipped {
			if strings.Contains(line, "Bursar on ") || strings.HasPrefix(line, "bursar-") {
				return fmt.Errorf("the results are not published: %s", line)
			}
		}
		if err := write(r, filepath.Join(root, "bench"), filepath.Join(root, "docs", "images"), o.sizes); err != nil {
			return err
		}
	}
	if !o.docs {
		return nil
	}
	return report.Insert(filepath.Join(root, "docs", "performance.md"), r.Markdown())
}

// write writes results.json to one folder and the charts to another.
func write(r report.Report, data, charts string, sizes plan.Sizes) error {
	for _, dir := range []string{data, charts} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("write the results: %w", err)
		}
	}
	if err := r.WriteJSON(filepath.Join(data, "results.json")); err != nil {
		return err
	}
	throughput, err := report.Throughput(r, charted(sizes))
	latency, latencyErr := report.Latencies(r, plan.MixedHalf)
	cost, costErr := report.Cost(r, plan.Filters(), plan.Callers)
	if err := errors.Join(err, latencyErr, costErr); err != nil {
		return err
	}
	for name, svg := range map[string][]byte{"throughput": throughput, "latency": latency, "cost": cost} {
		if err := os.WriteFile(filepath.Join(charts, "bench-"+name+".svg"), svg, 0o644); err != nil {
			return fmt.Errorf("write the charts: %w", err)
		}
	}
	return nil
}

// charted are the workloads in the chart of throughput, one of each kind.
func charted(sizes plan.Sizes) (out []string) {
	for _, w := range []plan.Workload{
		{Kind: plan.WhoAmI}, {Kind: plan.List, Store: sizes.Main}, {Kind: plan.Read}, {Kind: plan.Create, Callers: 1},
		{Kind: plan.Create, Callers: plan.Callers}, {Kind: plan.Update}, {Kind: plan.Audit, Store: sizes.Largest()}, {Kind: plan.Token},
	} {
		out = append(out, w.Name())
	}
	return out
}
