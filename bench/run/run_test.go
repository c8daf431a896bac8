package run

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"bursar/bench/load"
	"bursar/bench/plan"
	"bursar/bench/report"
	"bursar/bench/subject"
)

// fake answers without a server and records the subjects to load.
type fake struct {
	loaded []string
	fails  string // the base that it fails for
}

func (f *fake) Run(_ context.Context, w load.Work) (load.Result, error) {
	if w.Duration == warmup {
		return load.Result{}, nil
	}
	f.loaded = append(f.loaded, w.Base)
	if w.Base == f.fails {
		return load.Result{}, errors.New("out of order")
	}
	return load.Result{Requests: 10, PerSecond: float64(len(f.loaded))}, nil
}

func named(name string) *subject.Subject {
	return &subject.Subject{Subject: report.Subject{Name: name, Title: strings.ToUpper(name)}}
}

func newRun(out *bytes.Buffer, g load.Generator, subjects ...*subject.Subject) *Run {
	return &Run{
		Sizes: plan.Sizes{Small: 100, Main: 200}, Repeats: 3, Subjects: subjects, Closed: g,
		Log: func(format string, args ...any) { fmt.Fprintf(out, format+"\n", args...) },
	}
}

func TestSubjectsTakeTurnsInAlternatingOrder(t *testing.T) {
	g := &fake{}
	r := newRun(&bytes.Buffer{}, g)
	var slots []*slot
	for _, name := range []string{"a", "b", "c"} {
		slots = append(slots, &slot{workload: plan.Workload{Kind: plan.WhoAmI, Callers: 1}, subject: named(name), work: load.Work{Base: name}})
	}
	for repeat := range r.Repeats {
		if err := r.round(t.Context(), slots, repeat); err != nil {
			t.Fatal(err)
		}
	}
	if got := strings.Join(g.loaded, ""); got != "abccbaabc" {
		t.Errorf("loaded in the order %s", got)
	}
	if c := slots[1].measurement(); !slices.Equal(c.Value.All, []float64{2, 5, 8}) || c.Workload != "whoami" || c.Subject != "b" {
		t.Errorf("%+v", c)
	}
}

func TestAWorkloadThatFailsIsSkippedFromThenOn(t *testing.T) {
	var out bytes.Buffer
	g := &fake{fails: "b"}
	r := newRun(&out, g)
	slots := []*slot{
		{workload: plan.Workload{Kind: plan.Read, Callers: 1}, subject: named("a"), work: load.Work{Base: "a"}},
		{workload: plan.Workload{Kind: plan.Read, Callers: 1}, subject: named("b"), work: load.Work{Base: "b"}},
	}
	for repeat := range r.Repeats {
		if err := r.round(t.Context(), slots, repeat); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(r.Skipped, []string{"Single read, B: out of order"}) || !strings.Contains(out.String(), "skipped: Single read, B: out of order") {
		t.Errorf("%q, %s", r.Skipped, out.String())
	}
	if slots[0].failed || !slots[1].failed || len(slots[0].results) != r.Repeats || slices.Index(g.loaded, "b") != slices.Index(slices.Compact(g.loaded), "b") {
		t.Errorf("loaded %v", g.loaded)
	}
}

func TestASubjectWhoseStoreCannotBeFilledIsSkipped(t *testing.T) {
	good, bad := named("good"), named("bad")
	server := &subject.Server{Size: 200}
	good.Stores = []subject.Store{{Fill: func(context.Context) (*subject.Server, error) { return server, nil }}}
	bad.Stores = append(slices.Clone(good.Stores), subject.Store{Fill: func(context.Context) (*subject.Server, error) { return nil, errors.New("no room") }})
	r := newRun(&bytes.Buffer{}, &fake{}, good, bad)
	if err := r.fill(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(r.Subjects, []*subject.Subject{good}) || !slices.Equal(r.Skipped, []string{"BAD: no room"}) {
		t.Errorf("%d subjects are left; %q", len(r.Subjects), r.Skipped)
	}
	if _, ok := good.WithEntries(200); !ok {
		t.Error("the good subject has no server")
	}
}

func TestGrowthComparesTheEndOfTheLoadWithItsStart(t *testing.T) {
	samples := slices.Repeat([]float64{100}, 50)
	if got, ok := growth(append(samples, 120, 110)); !ok || got != 1.2 {
		t.Errorf("%f, %t", got, ok)
	}
	if got, ok := growth([]float64{100, 50}); !ok || got != 0.5 {
		t.Errorf("%f, %t", got, ok)
	}
	if _, ok := growth([]float64{100}); ok {
		t.Error("computed from a single sample")
	}
}
