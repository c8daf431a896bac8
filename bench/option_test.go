package main

import (
	"io"
	"testing"
	"time"

	"bursar/bench/plan"
)

func TestFlagsAreChecked(t *testing.T) {
	o, err := parse(nil, io.Discard)
	if err != nil || !o.complete() || o.sizes != (plan.Sizes{Small: 1000, Main: 100_000, Large: 1_000_000}) || o.repeats != 3 || o.mixed != 45*time.Second {
		t.Errorf("%+v, %v", o, err)
	}
	o, err = parse([]string{"--quick", "--repeats", "2"}, io.Discard)
	if err != nil || o.complete() || o.sizes.Large != 0 || o.repeats != 2 || o.mixed >= 45*time.Second {
		t.Errorf("%+v, %v", o, err)
	}
	for _, left := range []string{"--only=list", "--subjects=bare", "--rows=1000,2000", "--before=HEAD"} {
		if o, err := parse([]string{left}, io.Discard); err != nil || o.complete() {
			t.Errorf("%s: %v, complete: %t", left, err, o.complete())
		}
	}
	for _, wrong := range []string{"--rows=5", "--rows=2000,1000", "--rows=1000,1000", "--rows=1000,x", "--only=(", "--repeats=0", "--mixed=1s", "more"} {
		if _, err := parse([]string{wrong}, io.Discard); err == nil {
			t.Errorf("%s was accepted", wrong)
		}
	}
}
