package cli

import (
	"context"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"bursar/api"
	"bursar/client"
	"bursar/internal/cli/term"
)

// nouns are what a name on the command line can be found as, by the type of an input.
var nouns = map[reflect.Type]noun{
	reflect.TypeFor[api.Account]():       accounts(),
	reflect.TypeFor[api.APIKey]():        keys(),
	reflect.TypeFor[api.ApprovalRule]():  rules(),
	reflect.TypeFor[api.Entry]():         entries(),
	reflect.TypeFor[deletedEntry]():      deletedEntriesByName(),
	reflect.TypeFor[api.Invitation]():    invitations(),
	reflect.TypeFor[api.MachineClient](): machineClients(),
	reflect.TypeFor[api.Member]():        members(),
	reflect.TypeFor[api.Organization]():  organizations(),
	reflect.TypeFor[api.Payout]():        payouts(),
	reflect.TypeFor[api.PayoutLimit]():   limits(),
	reflect.TypeFor[api.Role]():          roles(),
	reflect.TypeFor[api.Tag]():           tags(),
	reflect.TypeFor[api.Workspace]():     workspaces(),
}

// noun is a resource of any type.
type noun interface {
	// fill finds what refs name, and sets a field to it: a T, a *T, which stays nil without a name, or a []T.
	fill(c *call, field any, name string, refs []string) error
	completion(r *remote) cobra.CompletionFunc
}

// resource is a noun of the command line: how its items are listed, found by a name and completed.
type resource[T any] struct {
	noun     string
	anywhere bool // the items belong to no workspace; else list gets its id
	list     func(c *call, workspaceID string, p client.ListParams) iter.Seq2[T, error]
	item     func(T) item
	// direct finds an item without the list, or reports that the list is needed. It may be nil.
	direct func(c *call, ref string) (one T, found bool, err error)
	// missing returns what an id stands for that is not in the list. It may be nil.
	missing func(ref string) (T, bool)
	// only returns the item that is meant without a name. The name of the input is for errors. It may be nil.
	only func(c *call, name string) (T, error)
	// words completes what the list does not. It may be nil.
	words func(c *call, args []string, begun string) ([]string, error)
}

// item is how people name one item of a resource.
type item struct {
	id    string
	names []string // its slug, name or email address
	line  string   // distinguishes it from the others
	word  string   // completes it, with a description after a tab
}

// all reads the whole list.
func (n *resource[T]) all(c *call) ([]T, error) {
	workspaceID := ""
	if !n.anywhere {
		w, err := c.here()
		if err != nil {
			return nil, err
		}
		workspaceID = w.ID
	}
	all, err := collect(n.list(c, workspaceID, client.ListParams{}))
	if err != nil {
		return nil, fmt.Errorf("list the %ss: %w", n.noun, err)
	}
	return all, nil
}

// find finds an item by its id, shortened id or name.
func (n *resource[T]) find(c *call, ref string) (T, error) { return n.findNamed(c, ref, "") }

func (n *resource[T]) findNamed(c *call, ref, name string) (one T, err error) {
	if n.direct != nil {
		if one, found, err := n.direct(c, ref); found || err != nil {
			return one, err
		}
	}
	if ref == "" && n.only != nil {
		return n.only(c, name)
	}
	all, err := n.all(c)
	if err != nil {
		return one, err
	}
	if n.missing != nil && !slices.ContainsFunc(all, func(one T) bool { return n.item(one).id == ref }) {
		if one, ok := n.missing(ref); ok {
			return one, nil
		}
	}
	return n.pick(c, ref, all)
}

// pick finds an item of a list by its id, shortened id or name.
func (n *resource[T]) pick(c *call, ref string, all []T) (T, error) {
	list := make([]candidate[T], len(all))
	for i, one := range all {
		about := n.item(one)
		list[i] = candidate[T]{one, about.id, about.names, about.line}
	}
	return pick(c, c.terminal, n.noun, ref, list)
}

// lines returns the lines that distinguish items.
func (n *resource[T]) lines(all []T) []string {
	lines := make([]string, len(all))
	for i, one := range all {
		lines[i] = term.Printable(n.item(one).line)
	}
	return lines
}

// choose lets the person choose one of several items.
func (n *resource[T]) choose(c *call, question string, all []T) (one T, err error) {
	i, err := c.terminal.Choose(c, question, n.lines(all))
	if err != nil {
		return one, err
	}
	return all[i], nil
}

func (n *resource[T]) fill(c *call, field any, name string, refs []string) (err error) {
	switch to := field.(type) {
	case *T:
		*to, err = n.findNamed(c, refs[0], name)
	case **T:
		if refs[0] != "" {
			*to = new(T)
			**to, err = n.findNamed(c, refs[0], name)
		}
	case *[]T:
		for _, ref := range refs {
			one, err := n.findNamed(c, ref, name)
			if err != nil {
				return err
			}
			same := func(other T) bool { return n.item(other).id == n.item(one).id }
			if !slices.ContainsFunc(*to, same) {
				*to = append(*to, one)
			}
		}
	}
	return err
}

// completion completes names of the items.
func (n *resource[T]) completion(r *remote) cobra.CompletionFunc {
	return r.completeWith(func(c *call, args []string, begun string) ([]string, error) {
		if n.words != nil {
			return n.words(c, args, begun)
		}
		all, err := n.all(c)
		words := make([]string, len(all))
		for i, one := range all {
			words[i] = n.item(one).word
		}
		return words, err
	})
}

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

// completionTime is the maximum time to wait for the server after Tab.
const completionTime = 2 * time.Second

// completeWith completes words from the server. A word may have a description after a tab. Without a server it returns no words.
func (r *remote) completeWith(words func(c *call, args []string, begun string) ([]string, error)) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		s, err := r.connect()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		s.terminal.In = nil // completion must not ask questions
		ctx, cancel := context.WithTimeout(c.Context(), completionTime)
		defer cancel()
		found, err := words(r.call(ctx, s), args, begun)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return found, cobra.ShellCompDirectiveNoFileComp
	}
}

// byPosition completes each argument with the function at its position.
func byPosition(words ...cobra.CompletionFunc) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) >= len(words) {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return words[len(args)](c, args, begun)
	}
}

// described returns a completion with its description.
func described(word, meaning string) string { return word + "\t" + term.Printable(meaning) }
