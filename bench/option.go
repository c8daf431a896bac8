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

// options is what can be asked for on the command line.
type options struct {
	seconds  int
	repeats  int
	minute   time.Duration
	within   time.Duration
	rows     string
	only     string
	subjects string
	noPeers  bool
	quick    bool
	out      string
	docs     bool
	strict   bool

	sizes           plan.Sizes
	works, programs *regexp.Regexp // nil: all
}

const usage = `Measure Bursar against the physical limit and against what a user would pick instead.

Every subject gets fresh data and runs on loopback. Works that are compared take
turns: each is measured once, then once more in reverse, and so on. The
table goes to standard output. A whole run also writes bench/results.json and
docs/images/bench-*.svg; one that leaves anything out writes only where --out says.

`

func parse(args []string, log io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(log)
	flags.IntVar(&o.seconds, "seconds", 1, "whole `seconds` of each measurement")
	flags.IntVar(&o.repeats, "repeats", 3, "how many `times` each is measured")
	flags.DurationVar(&o.minute, "minute", time.Minute, "`duration` of the mixed load")
	flags.DurationVar(&o.within, "within", 9*time.Minute+30*time.Second, "`duration` after which a run is to end: on a slow machine repeats are left out, unless --repeats is given")
	flags.StringVar(&o.rows, "rows", "1000,100000,1000000", "`sizes` of the stores, small to large; two of them leave the large one out")
	flags.StringVar(&o.only, "only", "", "measure only works whose name matches this `regexp`, as ^list/100000")
	flags.StringVar(&o.subjects, "subjects", "", "measure only subjects whose name matches this `regexp`, as sqlite|bare")
	flags.BoolVar(&o.noPeers, "no-peers", false, "leave PocketBase and Kratos out")
	flags.BoolVar(&o.quick, "quick", false, "a look in about a minute: --repeats 1 --minute 6s --rows 1000,100000")
	flags.StringVar(&o.out, "out", "", "`folder` to write results.json, results.md and the charts to")
	flags.BoolVar(&o.docs, "docs", false, "also put the tables into docs/performance.md, between its lines <!-- bench --> and <!-- /bench -->")
	flags.BoolVar(&o.strict, "strict", false, "fail where a goal is missed, or could not be measured in a whole run")
	flags.Usage = func() {
		fmt.Fprint(log, usage)
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("%q is not understood", flags.Arg(0))
	}
	given := map[string]bool{}
	flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
	if o.quick {
		o.hurry(given)
	}
	if given["repeats"] && !given["within"] {
		o.within = 0
	}
	return o, o.check()
}

func (o *options) hurry(given map[string]bool) {
	if !given["repeats"] {
		o.repeats = 1
	}
	if !given["minute"] {
		o.minute = 6 * time.Second
	}
	if !given["rows"] {
		o.rows = "1000,100000"
	}
}

func (o *options) check() (err error) {
	if o.seconds < 1 || o.repeats < 1 || o.minute < 3*time.Second {
		return errors.New("--seconds and --repeats have to be at least 1, --minute at least 3s")
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
	if o.docs && !o.whole() {
		return errors.New("--docs is for a whole run: it takes nothing that leaves something out")
	}
	return nil
}

// whole says whether nothing is left out, so that results are worth keeping.
func (o *options) whole() bool {
	return o.works == nil && o.programs == nil && !o.noPeers && !o.quick && o.sizes.Large > 0
}

func parseRows(text string) (plan.Sizes, error) {
	var sizes []int
	for part := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(strings.ReplaceAll(strings.TrimSpace(part), "_", ""))
		if err != nil || n < 100 {
			return plan.Sizes{}, fmt.Errorf("--rows: %q is no number of at least 100", part)
		}
		sizes = append(sizes, n)
	}
	if len(sizes) < 2 || len(sizes) > 3 || !slices.IsSorted(sizes) || len(slices.Compact(slices.Clone(sizes))) < len(sizes) {
		return plan.Sizes{}, fmt.Errorf("--rows: %q is not two or three numbers, each larger than the last", text)
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
