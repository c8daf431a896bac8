package cli

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"bursar/internal/cli/term"
)

// sample has an input of every kind that needs no server.
type sample struct {
	Name  string
	More  []string
	Mode  string   `flag:"mode,m" usage:"{which} of %s" words:"sandbox,live" default:"live"`
	Note  *string  `flag:"note" usage:"a note"`
	Count *int64   `flag:"count" usage:"how many"`
	Parts []string `flag:"part" usage:"a part"`
	Exact []string `flag:"exact" usage:"a text" commas:"true"`
	Why   string   `flag:"why" usage:"why" required:"true"`
	confirmation
}

// typeInputs reads a command line into inputs, as far as it goes without a server.
func typeInputs(t *testing.T, line ...string) (in sample, c *cobra.Command, err error) {
	t.Helper()
	c = &cobra.Command{Use: "do NAME [MORE…]"}
	i := &inputs{whole: &in}
	i.bind(c)
	if err := c.ParseFlags(line); err != nil {
		t.Fatal(err)
	}
	i.setArguments(c.Flags().Args())
	return in, c, i.check(c)
}

func TestInputsAreFilledFromTheCommandLine(t *testing.T) {
	in, _, err := typeInputs(t, "Ada", "b", "c", "-m", "sandbox", "--note", "", "--part", "x,y", "--exact", "x,y", "--why", "because", "-y")
	if err != nil {
		t.Fatal(err)
	}
	if in.Name != "Ada" || !slices.Equal(in.More, []string{"b", "c"}) || in.Mode != "sandbox" || in.Why != "because" || !in.Yes {
		t.Errorf("got %+v", in)
	}
	if in.Note == nil || *in.Note != "" || in.Count != nil {
		t.Errorf("a flag that is given is not nil, the others are: %v, %v", in.Note, in.Count)
	}
	if !slices.Equal(in.Parts, []string{"x", "y"}) || !slices.Equal(in.Exact, []string{"x,y"}) {
		t.Errorf("lists are %q and %q", in.Parts, in.Exact)
	}
}

func TestWrongInputsAreUsageErrors(t *testing.T) {
	for want, line := range map[string][]string{
		"--why is required": {"Ada"},
		`--mode must be sandbox or live, not "elsewhere"`: {"Ada", "--why", "because", "--mode", "elsewhere"},
	} {
		var usage term.UsageError
		if _, _, err := typeInputs(t, line...); !errors.As(err, &usage) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", line, err)
		}
	}
}

func TestTagsGiveTheHelpOfAFlag(t *testing.T) {
	_, c, _ := typeInputs(t)
	help := c.Flags().FlagUsages()
	if want := `-m, --mode which          which of sandbox, live (default "live")`; !strings.Contains(help, want) {
		t.Errorf("the help is\n%s", help)
	}
}

func TestTheUsageLineCountsTheArguments(t *testing.T) {
	for use, fits := range map[string][]int{"list": {0}, "get [ORG]": {0, 1}, "rename ACCOUNT NAME": {2}, "delete TAG…": {1, 2, 3, 4}, "add ENTRY --flag F": {1}} {
		var got []int
		for n := range 5 {
			if countArguments(use)(&cobra.Command{}, make([]string, n)) == nil {
				got = append(got, n)
			}
		}
		if !slices.Equal(got, fits) {
			t.Errorf("%s takes %v arguments, want %v", use, got, fits)
		}
	}
}
