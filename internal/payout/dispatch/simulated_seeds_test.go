package dispatch_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"bursar/internal/torture"
)

// keptSeeds run each time, because they have found something. After a change of the world or of the dispatcher a seed tells another
// story: then what it has found needs a test of its own, if it has none, and the seed can go.
var keptSeeds = []struct {
	seed uint64
	why  string
}{
	{14102000671847402883, "a payout that is cancelled while its rail has to be asked, before the store is archived and restored again"},
	{17885838242425212532, "rails of a store without live money that are resumed before their record was read"},
}

const seedVariable = "BURSAR_SEED"

func TestNoPayoutIsExecutedTwiceWhateverTheSeed(t *testing.T) {
	try := func(seed uint64, why string) bool {
		return t.Run(fmt.Sprint(seed), func(t *testing.T) { // each closes and removes its stores at its end
			story, wrong := runWorld(t, seed, func(*world) {})
			if len(wrong) > 0 {
				t.Errorf("%s\n%s\n%s=%d go test -count=1 -run '^TestNoPayoutIsExecutedTwiceWhateverTheSeed$' ./internal/payout/dispatch\n%s",
					why, strings.Join(wrong, "\n"), seedVariable, seed, strings.Join(story, "\n"))
			} else if why == seedVariable {
				t.Logf("nothing is wrong\n%s", strings.Join(story, "\n"))
			}
		})
	}
	if text := os.Getenv(seedVariable); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		try(seed, seedVariable)
		return
	}
	for _, kept := range keptSeeds {
		try(kept.seed, kept.why)
	}
	// make test runs the same seeds each time, so that what fails is due to a change. make torture draws new ones.
	more, next := torture.Within(12*time.Second, 3*time.Hour), func(round int) uint64 { return uint64(round) }
	if torture.Rounds(0, 1) > 0 {
		next = func(int) uint64 { return rand.Uint64() }
	}
	for round := 0; round < 4 || more(); round++ {
		if !try(next(round), "an unknown seed") {
			return
		}
	}
}

// A seed is worth something: it tells the same story each time.
func TestASeedDeterminesTheRun(t *testing.T) {
	for seed := range uint64(4) {
		var stories [2][]string
		for i := range stories {
			t.Run(fmt.Sprint(seed), func(t *testing.T) { stories[i], _ = runWorld(t, seed, func(w *world) { w.restores = seed%2 == 0 }) })
		}
		one, two := stories[0], stories[1]
		for i := range min(len(one), len(two)) {
			if one[i] != two[i] {
				t.Fatalf("seed %d, line %d:\n%s\n%s", seed, i, one[i], two[i])
			}
		}
		if len(one) != len(two) || len(one) < 20 {
			t.Errorf("seed %d tells stories of %d and %d lines", seed, len(one), len(two))
		}
	}
}

// The simulation is worth something: without what keeps payouts from being executed twice, it finds that they are. Without
// tombstones or the age alone, it finds payments that are sent after they were reported or found not to be paid. As they have the
// same end-to-end id as the next submission, a second payment takes one more fault: a lost record, or a retry before the bank has paid.
func TestTheSimulationFindsPayoutsThatAreExecutedTwice(t *testing.T) {
	const twice = "executed 2 times"
	for _, c := range []struct {
		name    string
		without without
		refuses bool   // the bank refuses duplicates of an end-to-end id
		kept    uint64 // the first seed that finds it
		found   string
	}{
		{"a store that forgets what the bank has accepted", without{memory: true}, false, 9, twice},
		{"that, and new ids, at a bank that refuses duplicates", without{memory: true, sameID: true}, true, 9, twice},
		{"a connector without tombstones", without{tombstones: true}, false, 42, "was sent while it was pending"},
		{"that, and new ids, at a bank that refuses duplicates", without{tombstones: true, sameID: true}, true, 123, twice},
		{"a connector that does not check the age of a claim", without{age: true}, false, 111, "was sent while it was failed"},
		{"payouts that are not recovered after a restore", without{recovery: true}, false, 0, "was executed and is forgotten"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for i := range uint64(300) {
				seed, found := c.kept+i, false
				t.Run(fmt.Sprint(seed), func(t *testing.T) {
					_, wrong := runWorld(t, seed, func(w *world) {
						w.without, w.refusesDuplicates, w.restores = c.without, c.refuses, c.without.recovery
					})
					found = slices.ContainsFunc(wrong, func(text string) bool { return strings.Contains(text, c.found) })
				})
				if found {
					t.Logf("seed %d finds it", seed)
					return
				}
			}
			t.Error("it has found nothing")
		})
	}
}
