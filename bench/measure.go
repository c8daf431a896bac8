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

	"golang.org/x/term"

	"bursar/bench/build"
	"bursar/bench/goal"
	"bursar/bench/load"
	"bursar/bench/progress"
	"bursar/bench/report"
	"bursar/bench/run"
)

// measure does a run and leaves nothing behind but its results.
func measure(ctx context.Context, o options, out, log io.Writer) (err error) {
	root, err := build.Root(".")
	if err != nil {
		return err
	}
	temp, err := os.MkdirTemp("", "bursar-bench-")
	if err != nil {
		return fmt.Errorf("make a folder for the stores: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()

	team := &team{options: o, root: root, dir: temp, progress: progress.New(log, columns(log))}
	defer func() { err = errors.Join(err, team.dismiss()) }()
	if err := team.gather(ctx); err != nil {
		return err
	}
	r := report.Report{Machine: machine(), Started: time.Now()}
	numbers := &load.Numbers{}
	all := &run.Run{
		Options:  run.Options{Sizes: o.sizes, Seconds: o.seconds, Repeats: o.repeats, Minute: o.minute, Within: o.within, Only: o.works},
		Subjects: team.subjects, Progress: team.progress,
		Closed: load.Pick(numbers), Turns: load.NewClosed(numbers), Open: load.NewOpen(numbers),
	}
	defer all.Stop()
	r.Generator = all.Closed.Name() + ", quick turns by " + all.Turns.Name() + ", mixed load by " + all.Open.Name()
	if err := all.All(ctx); err != nil {
		return err
	}
	cells, skipped := all.Results()
	r.Cells, r.Skipped = cells, append(team.skipped, skipped...)
	for _, s := range all.Subjects {
		r.Subjects = append(r.Subjects, s.Subject)
	}
	r.Took = time.Since(r.Started).Seconds()
	r.Goals = goal.Goals(r, o.sizes)
	err = o.publishable(skipped)
	if err == nil {
		err = o.keep(r, root)
	}
	if err = errors.Join(err, r.Table(out, columns(out))); err != nil {
		return err
	}
	return o.judge(r)
}

// columns is the width of a terminal, and 0 of anything else.
func columns(w io.Writer) int {
	file, ok := w.(*os.File)
	if !ok {
		return 0
	}
	width, _, err := term.GetSize(int(file.Fd()))
	if err != nil {
		return 0
	}
	return width
}

// publishable refuses to put a run in which Bursar itself failed in the place of one
// in which it did not.
func (o *options) publishable(skipped []string) error {
	for _, line := range skipped {
		if o.out == "" && (o.whole() || o.docs) && strings.Contains(line, "Bursar on ") {
			return fmt.Errorf("the results are not kept: %s", line)
		}
	}
	return nil
}

// judge fails where goals are to be met and are not, or not known to be in a run that
// leaves nothing out.
func (o *options) judge(r report.Report) error {
	missed, absent := 0, 0
	for _, g := range r.Goals {
		switch {
		case g.Absent != "":
			absent++
		case !g.Met:
			missed++
		}
	}
	if o.strict && (missed > 0 || absent > 0 && o.whole()) {
		return fmt.Errorf("%d goals are missed, %d could not be measured", missed, absent)
	}
	return nil
}

// keep writes the files of a run.
func (o *options) keep(r report.Report, root string) error {
	data, charts := o.out, o.out
	if o.out == "" {
		data, charts = filepath.Join(root, "bench"), filepath.Join(root, "docs", "images")
	}
	if o.out != "" || o.whole() {
		if err := write(r, data, charts, o.out != ""); err != nil {
			return err
		}
	}
	if !o.docs {
		return nil
	}
	text, err := markdown(r)
	if err != nil {
		return err
	}
	return report.Insert(filepath.Join(root, "docs", "performance.md"), text)
}
