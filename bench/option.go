package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"bursar/bench/plan"
)

// options are the flags of the command line.
type options struct {
	repeats  int
	mixed    time.Duration
	settle   time.Duration
	rows     string
	only     string
	subjects string
	before   string
	quick    bool
	out      string
	docs     bool

	sizes           plan.Sizes
	works, programs *regexp.Regexp // nil matches everything
}

const usage = `Measure Bursar beside the least that a Go server can do and beside programs that could be
used in its place.

Every subject gets fresh stores and runs on loopback. wrk sends the load of closed loops, in
which each connection waits for its answer; vegeta sends the mixed load at a fixed rate.
Workloads that are compared take turns: each is measured once, then again in reverse
order, and so on. Ratios are taken within such a round. The tables go to standard output.

A complete run takes about ten minutes and also writes bench/results.json and
docs/images/bench-*.svg. A run that leaves anything out writes files only to --out.

Flags:
`

func parse(args []string, log io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(log)
	flags.IntVar(&o.repeats, "repeats", 3, "number of `times` that each workload is measured")
	flags.DurationVar(&o.mixed, "mixed", 45*time.Second, "`duration` of the mixed load on Bursar on SQLite; the others take less")
	flags.DurationVar(&o.settle, "settle", 2*time.Second, "`duration` from the start of the servers to the first measurement; a filled audit log is sequenced meanwhile, some minutes for ten million rows")
	flags.StringVar(&o.rows, "rows", "1000,100000,1000000", "`sizes` of the stores, small to large; with two, the large one is left out")
	flags.StringVar(&o.only, "only", "", "measure only workloads whose name matches this `regexp`, such as ^list/100000")
	flags.StringVar(&o.subjects, "subjects", "", "measure only subjects whose name matches this `regexp`, such as ^bursar|^bare")
	flags.StringVar(&o.before, "before", "", "also measure payouts of Bursar as it was at this `commit`")
	flags.BoolVar(&o.quick, "quick", false, "take about two minutes: --repeats 1 --mixed 6s --rows 1000,100000")
	flags.StringVar(&o.out, "out", "", "`folder` for results.json, results.md and the charts")
	flags.BoolVar(&o.docs, "docs", false, "also write the tables into docs/performance.md, between its lines <!-- bench --> and <!-- /bench -->")
	flags.Usage = func() {
		fmt.Fprint(log, usage)
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("unknown argument %q", flags.Arg(0))
	}
	given := map[string]bool{}
	flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
	if o.quick {
		o.shorten(given)
	}
	return o, o.check()
}

func (o *options) shorten(given map[string]bool) {
	if !given["repeats"] {
		o.repeats = 1
	}
	if !given["mixed"] {
		o.mixed = 6 * time.Second
	}
	if !given["rows"] {
		o.rows = "1000,100000"
	}
}

func (o *options) check() (err error) {
	if o.repeats < 1 || o.mixed < 3*time.Second {
		return errors.New("--repeats must be at least 1, --mixed at least 3s")
	}
	if o.sizes, err = parseRows(o.rows); err != nil {
		return err
	}
	if o.works, err = expression("--only", o.only); err != nil {
		return err
	}
	if o.programs, err = expression("--subjects", o.subjects); err != nil {
		return err
	}
	if o.docs && !o.complete() {
		return errors.New("--docs needs a complete run: leave out --only, --subjects, --before, --quick and a shorter --rows")
	}
	return nil
}

// complete reports whether nothing is left out or added, so that the results can be published.
func (o *options) complete() bool {
	return o.works == nil && o.programs == nil && o.before == "" && !o.quick && o.sizes.Large > 0
}

func parseRows(text string) (plan.Sizes, error) {
	var sizes []int
	for part := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(strings.ReplaceAll(strings.TrimSpace(part), "_", ""))
		if err != nil || n < 100 {
			return plan.Sizes{}, fmt.Errorf("--rows: %q is not a number of at least 100", part)
		}
		sizes = append(sizes, n)
	}
	if len(sizes) < 2 || len(sizes) > 3 || !slices.IsSorted(sizes) || len(slices.Compact(slices.Clone(sizes))) < len(sizes) {
		return plan.Sizes{}, fmt.Errorf("--rows: %q must be two or three numbers, each larger than the one before", text)
	}
	s := plan.Sizes{Small: sizes[0], Main: sizes[1]}
	if len(sizes) == 3 {
		s.Large = sizes[2]
	}
	return s, nil
}

func expression(name, text string) (*regexp.Regexp, error) {
	if text == "" {
		return nil, nil
	}
	r, err := regexp.Compile(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return r, nil
}
