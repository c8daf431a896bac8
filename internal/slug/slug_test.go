package slug_test

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"bursar/api"
	"bursar/internal/fault"
	"bursar/internal/slug"
)

func check(text string) bool {
	var v fault.Violations
	slug.Check(&v, "slug", &text)
	return v.Err() == nil
}

func TestFormOfASlug(t *testing.T) {
	for text, good := range map[string]bool{
		"ab": true, "a-b": true, "12": true, "--": true, strings.Repeat("a", 48): true,
		"": false, "a": false, strings.Repeat("a", 49): false, "Ab": false, "a b": false, "a_b": false, "é1": false, "ab\n": false, "a\x00b": false, "a/b": false,
	} {
		if check(text) != good {
			t.Errorf("%q is good: %v", text, !good)
		}
	}
	var v fault.Violations
	if slug.Check(&v, "slug", nil); v.Err() != nil {
		t.Errorf("no slug at all: %v", v.Err())
	}
}

func TestSlugOfAName(t *testing.T) {
	for name, want := range map[string]string{
		"Acme Trading": "acme-trading", "ACME": "acme", "  Acme,  Inc. ": "acme-inc", "a--b": "a-b", "-x y-": "x-y", "Åcme 2": "cme-2", "R&D": "r-d",
		"": "fallback", "!": "fallback", "A": "fallback", "李小龍": "fallback", "é1": "fallback", "\xff\xfeab": "ab",
		strings.Repeat("a", 60):              strings.Repeat("a", 48),
		strings.Repeat("a", 47) + " b":       strings.Repeat("a", 47),
		strings.Repeat("ab ", 30):            strings.Repeat("ab-", 15) + "ab",
		"x" + strings.Repeat("!", 100) + "y": "x-y",
	} {
		if got := slug.From(name, "fallback"); got != want {
			t.Errorf("%q gives %q, want %q", name, got, want)
		}
	}
}

func FuzzFrom(f *testing.F) {
	for _, seed := range []string{"Acme Trading", "", "李小龍", "\xff", strings.Repeat("a ", 50), "İstanbul", "\u212Aelvin"} {
		f.Add(seed)
	}
	tight := regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	f.Fuzz(func(t *testing.T, name string) {
		got := slug.From(name, "fallback")
		if !check(got) || !tight.MatchString(got) {
			t.Fatalf("%q gives %q", name, got)
		}
		if again := slug.From(got, "fallback"); again != got {
			t.Fatalf("%q gives %q, and that %q", name, got, again)
		}
	})
}

func TestCandidatesAreNumberedUntilOneIsFree(t *testing.T) {
	for _, base := range []string{"acme", strings.Repeat("a", 48)} {
		var tried []string
		err := slug.Candidates(base, func(s string) (bool, error) {
			tried = append(tried, s)
			return len(tried) == 12, nil
		})
		if err != nil || len(tried) != 12 {
			t.Fatalf("tried %v: %v", tried, err)
		}
		seen := map[string]bool{}
		for i, s := range tried {
			if suffix := fmt.Sprintf("-%d", i+1); !check(s) || seen[s] || (i > 0 && !strings.HasSuffix(s, suffix)) {
				t.Errorf("candidate %d is %q", i, s)
			}
			seen[s] = true
		}
		if tried[0] != base {
			t.Errorf("the first candidate is %q, want %q", tried[0], base)
		}
	}
}

func TestCandidatesEndWithAnError(t *testing.T) {
	broken := errors.New("broken")
	if err := slug.Candidates("acme", func(string) (bool, error) { return false, broken }); err != broken {
		t.Errorf("an error became %v", err)
	}
	tries := 0
	err := slug.Candidates("acme", func(string) (bool, error) { tries++; return false, nil })
	var f *fault.Fault
	if !errors.As(err, &f) || f.Code != api.CodeSlugTaken || tries > 10_000 {
		t.Errorf("after %d tries: %v", tries, err)
	}
}
