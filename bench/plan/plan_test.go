package plan

import (
	"slices"
	"testing"
)

func TestNamesTellWorksApart(t *testing.T) {
	met := map[string]bool{}
	titles := map[string]bool{}
	for _, group := range Groups(Sizes{Small: 1000, Main: 100_000, Large: 1_000_000}) {
		for _, w := range group.Works {
			if met[w.Name()] || titles[w.Title()] || w.Callers < 1 {
				t.Errorf("%+v: %s, %s", w, w.Name(), w.Title())
			}
			met[w.Name()], titles[w.Title()] = true, true
		}
	}
	for _, name := range []string{
		"whoami", "list/100000", "list/1000/plain", "list/100000/type", "list/1000000/tag", "deep/100000", "deep/100000/plain", "deep/1000000/status", "audit/1000000",
		"audit/1000000/resource_id", "create/1", "create/64", "update", "read", "token",
	} {
		if !met[name] {
			t.Errorf("%s is not in the plan", name)
		}
	}
}

func TestWritesComeAfterReads(t *testing.T) {
	var kinds []Kind
	for _, group := range Groups(Sizes{Small: 1000, Main: 100_000}) {
		for _, w := range group.Works {
			kinds = append(kinds, w.Kind)
		}
	}
	for _, kind := range []Kind{Create, Update, Token} {
		first := slices.Index(kinds, kind)
		for _, read := range []Kind{WhoAmI, List, Deep, Audit, Read} {
			if slices.Contains(kinds[first:], read) {
				t.Errorf("%s comes after %s", read, kind)
			}
		}
	}
}

func TestNoLargeStoreIsAskedForWhereThereIsNone(t *testing.T) {
	for _, group := range Groups(Sizes{Small: 1000, Main: 100_000}) {
		for _, w := range group.Works {
			if w.Store != 1000 && w.Store != 100_000 {
				t.Errorf("%s", w.Name())
			}
		}
	}
}

func TestDeepPagesLieWithinTheirList(t *testing.T) {
	for want, w := range map[int]Work{
		90_000: {Kind: Deep, Store: 1_000_000, Filter: "tag"},
		270:    {Kind: Deep, Store: 300},
		135:    {Kind: Deep, Store: 300, Filter: "tag"},
		0:      {Kind: List, Store: 300},
	} {
		if w.Before() != want {
			t.Errorf("%s: %d rows before it, not %d", w.Name(), w.Before(), want)
		}
	}
}

func TestNumber(t *testing.T) {
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 1_234_567: "1,234,567"} {
		if got := Number(n); got != want {
			t.Errorf("%d: %s", n, got)
		}
	}
}
