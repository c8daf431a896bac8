package plan

import (
	"slices"
	"testing"
)

func TestNamesAndTitlesAreUnique(t *testing.T) {
	names, titles := map[string]bool{}, map[string]bool{}
	for _, group := range Groups(Sizes{Small: 1000, Main: 100_000, Large: 1_000_000}) {
		for _, w := range group.Workloads {
			if names[w.Name()] || titles[w.Title()] || w.Callers < 1 {
				t.Errorf("%+v: %s, %s", w, w.Name(), w.Title())
			}
			names[w.Name()], titles[w.Title()] = true, true
		}
	}
	for _, name := range []string{
		"whoami", "list/100000", "list/1000/plain", "list/100000/type", "list/1000000/tag", "deep/100000", "deep/100000/plain", "deep/1000000/status", "audit/1000000",
		"audit/1000000/resource_id", "create/1", "create/64", "update", "read", "token", "payout/one", "payout/many", "payout/bare",
		"sized/read/1000", "sized/create/1000000", "balance/1000", "balance/1000000", "postings/1000", "postings/1000000",
	} {
		if !names[name] {
			t.Errorf("%s is not in the plan", name)
		}
	}
}

func TestWritesComeAfterReads(t *testing.T) {
	var kinds []Kind
	for _, group := range Groups(Sizes{Small: 1000, Main: 100_000}) {
		for _, w := range group.Workloads {
			kinds = append(kinds, w.Kind)
		}
	}
	for _, write := range []Kind{Create, Update, Token, Payout} {
		for _, read := range []Kind{WhoAmI, List, Deep, Audit, Read, Balance, Postings} {
			if slices.Contains(kinds[slices.Index(kinds, write):], read) {
				t.Errorf("%s comes after %s", read, write)
			}
		}
	}
}

func TestWithoutALargeStoreNoWorkloadNeedsOne(t *testing.T) {
	for _, group := range Groups(Sizes{Small: 1000, Main: 100_000}) {
		for _, w := range group.Workloads {
			if w.Store > 100_000 {
				t.Error(w.Name())
			}
		}
	}
}

func TestDeepPagesLieWithinTheirList(t *testing.T) {
	for want, w := range map[int]Workload{
		90_000: {Kind: Deep, Store: 1_000_000, Filter: "tag"},
		270:    {Kind: Deep, Store: 300},
		135:    {Kind: Deep, Store: 300, Filter: "tag"},
		0:      {Kind: List, Store: 300},
	} {
		if w.Before() != want {
			t.Errorf("%s: %d rows before it, want %d", w.Name(), w.Before(), want)
		}
	}
}

func TestNumberGroupsThousands(t *testing.T) {
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 1_234_567: "1,234,567"} {
		if got := Number(n); got != want {
			t.Errorf("%d: %s", n, got)
		}
	}
}
