package run

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"bursar/bench/load"
	"bursar/bench/plan"
	"bursar/bench/progress"
	"bursar/bench/report"
	"bursar/bench/subject"
)

// script answers as it is told to, and notes who was asked.
type script struct {
	asked []string
	fails string // the base that it fails for
}

func (s *script) Name() string { return "script" }

func (s *script) Run(_ context.Context, w load.Work) (load.Result, error) {
	s.asked = append(s.asked, w.Base)
	if w.Base == s.fails {
		return load.Result{}, errors.New("out of order")
	}
	return load.Result{Requests: 10, PerSecond: float64(len(s.asked)), P50: time.Millisecond}, nil
}

func named(name string) *subject.Subject {
	return &subject.Subject{Subject: report.Subject{Name: name, Title: strings.ToUpper(name)}}
}

func newRun(out *bytes.Buffer, g load.Generator, subjects ...*subject.Subject) *Run {
	return &Run{
		Options:  Options{Sizes: plan.Sizes{Small: 100, Main: 200}, Seconds: 1, Repeats: 3},
		Subjects: subjects, Progress: progress.New(out, 0), Closed: g, Turns: g,
	}
}

func TestSubjectsTakeTurns(t *testing.T) {
	g := &script{}
	r := newRun(&bytes.Buffer{}, g)
	var slots []*slot
	for _, name := range []string{"a", "b", "c"} {
		slots = append(slots, &slot{work: plan.Work{Kind: plan.WhoAmI, Callers: 1}, subject: named(name), task: subject.Task{Base: name}})
	}
	for repeat := range r.Repeats {
		if err := r.round(t.Context(), slots, repeat); err != nil {
			t.Fatal(err)
		}
	}
	if got := strings.Join(g.asked, ""); got != "abccbaabc" {
		t.Errorf("asked in the order %s", got)
	}
	if c := slots[1].cell(); !slices.Equal(c.Value.All, []float64{2, 5, 8}) || c.Work != "whoami" || c.Subject != "b" || c.Latency.P50 != 1 {
		t.Errorf("%+v", c)
	}
}

func TestAWorkThatFailsIsSkipped(t *testing.T) {
	var out bytes.Buffer
	g := &script{fails: "b"}
	r := newRun(&out, g)
	slots := []*slot{
		{work: plan.Work{Kind: plan.Read, Callers: 1}, subject: named("a"), task: subject.Task{Base: "a"}},
		{work: plan.Work{Kind: plan.Read, Callers: 1}, subject: named("b"), task: subject.Task{Base: "b"}},
	}
	for repeat := range r.Repeats {
		if err := r.round(t.Context(), slots, repeat); err != nil {
			t.Fatal(err)
		}
	}
	_, skipped := r.Results()
	if !slices.Equal(skipped, []string{"Single read, B: out of order"}) || !strings.Contains(out.String(), "skipped: Single read, B: out of order") {
		t.Errorf("%q, %s", skipped, out.String())
	}
	if slots[0].failed || !slots[1].failed || len(slots[0].results) != r.Repeats || slices.Index(g.asked, "b") != slices.Index(slices.Compact(g.asked), "b") {
		t.Errorf("asked %v", g.asked)
	}
}

func TestASubjectWithoutItsStoreIsSkipped(t *testing.T) {
	good, bad := named("good"), named("bad")
	server := &subject.Server{Size: 200}
	good.Jobs = []subject.Job{{Do: func(context.Context) (*subject.Server, error) { return server, nil }}}
	bad.Jobs = append(slices.Clone(good.Jobs), subject.Job{Do: func(context.Context) (*subject.Server, error) { return nil, errors.New("no room") }})
	r := newRun(&bytes.Buffer{}, &script{}, good, bad)
	if err := r.fill(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, skipped := r.Results(); !slices.Equal(r.Subjects, []*subject.Subject{good}) || !slices.Equal(skipped, []string{"BAD: no room"}) {
		t.Errorf("%d subjects are left; %q", len(r.Subjects), skipped)
	}
	if _, ok := good.Of(200); !ok {
		t.Error("the store of the good one is gone")
	}
}

func TestGrowth(t *testing.T) {
	samples := slices.Repeat([]float64{100}, 50)
	if got, ok := growth(append(samples, 120, 110)); !ok || got != 1.2 {
		t.Errorf("%f, %t", got, ok)
	}
	if got, ok := growth([]float64{100, 50}); !ok || got != 0.5 {
		t.Errorf("%f, %t", got, ok)
	}
	if _, ok := growth([]float64{100}); ok {
		t.Error("told from a single sample")
	}
}
