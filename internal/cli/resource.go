package cli

import (
	"fmt"
	"iter"
	"reflect"
	"slices"

	"github.com/spf13/cobra"

	"bursar/api"
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
	list     func(c *call, workspaceID string) iter.Seq2[T, error]
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
	all, err := collect(n.list(c, workspaceID))
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
