package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"bursar/internal/cli/term"
)

// candidate is something that a name on the command line can refer to.
type candidate[T any] struct {
	value T
	id    string
	names []string // its slug, name or email address
	text  string   // a line that distinguishes it from the others
}

// pick finds the candidate with the given id, shortened id, slug or name. If several match, it asks the person. A script gets an error that
// lists them.
func pick[T any](ctx context.Context, t Terminal, kind, ref string, all []candidate[T]) (T, error) {
	for _, c := range all {
		if c.id == ref {
			return c.value, nil
		}
	}
	found := matching(all, ref)
	var none T
	switch len(found) {
	case 0:
		return none, fmt.Errorf("no %s %q found", kind, ref)
	case 1:
		return found[0].value, nil
	}
	options := make([]string, len(found))
	for i, c := range found {
		options[i] = term.Printable(c.text)
	}
	if !t.Interactive() {
		return none, fmt.Errorf("%q is ambiguous: use the id of one of these\n  %s", ref, strings.Join(options, "\n  "))
	}
	i, err := t.Choose(ctx, fmt.Sprintf("%q is ambiguous. Which %s?", ref, kind), options)
	if err != nil {
		return none, err
	}
	return found[i].value, nil
}

// matching returns the candidates with a name. An exact match is better than one that differs in case.
func matching[T any](all []candidate[T], ref string) (found []candidate[T]) {
	exact := func(a, b string) bool { return a == b }
	for _, same := range []func(a, b string) bool{exact, strings.EqualFold} {
		for _, c := range all {
			fits := func(name string) bool { return name != "" && same(name, ref) }
			if slices.ContainsFunc(c.names, fits) || term.ShortIDMatches(ref, c.id) {
				found = append(found, c)
			}
		}
		if len(found) > 0 {
			break
		}
	}
	return found
}
