package cli

import (
	"context"
	"fmt"
	"strings"

	"bursar/api"
	"bursar/client"
	"bursar/internal/cli/term"
)

// candidate is something that a name can mean.
type candidate[T any] struct {
	value T
	id    string
	names []string // by which it is known: slug, name, email
	text  string   // how it is told from others
}

// pick finds what a person means by an id, a slug or a name. Where several fit, a
// person is asked; a script is told what there is.
func pick[T any](t Terminal, kind, ref string, all []candidate[T]) (T, error) {
	var found []candidate[T]
	for _, c := range all {
		if c.id == ref {
			return c.value, nil
		}
	}
	for _, same := range []func(a, b string) bool{func(a, b string) bool { return a == b }, strings.EqualFold} {
		for _, c := range all {
			for _, name := range c.names {
				if name != "" && same(name, ref) {
					found = append(found, c)
					break
				}
			}
		}
		if len(found) > 0 {
			break
		}
	}
	var none T
	switch len(found) {
	case 0:
		return none, fmt.Errorf("there is no %s %q that you can see", kind, ref)
	case 1:
		return found[0].value, nil
	}
	options := make([]string, len(found))
	for i, c := range found {
		options[i] = term.Printable(c.text)
	}
	if !t.Interactive() {
		return none, fmt.Errorf("%q can mean several: give the id of one\n  %s", ref, strings.Join(options, "\n  "))
	}
	i, err := t.Choose(fmt.Sprintf("%q can mean several. Which %s?", ref, kind), options)
	if err != nil {
		return none, err
	}
	return found[i].value, nil
}

func (s *session) workspaces(ctx context.Context) ([]api.Workspace, error) {
	page, err := s.Workspaces.List(ctx, client.ListParams{})
	if err != nil {
		return nil, fmt.Errorf("list the workspaces: %w", err)
	}
	return page.Items, nil
}

func workspaceCandidates(all []api.Workspace) []candidate[api.Workspace] {
	list := make([]candidate[api.Workspace], len(all))
	for i, w := range all {
		list[i] = candidate[api.Workspace]{w, w.ID, []string{w.Slug, w.Name}, w.Name + "  " + w.Slug + "  " + w.ID}
	}
	return list
}

func (s *session) findWorkspace(ctx context.Context, ref string) (api.Workspace, error) {
	all, err := s.workspaces(ctx)
	if err != nil {
		return api.Workspace{}, err
	}
	return pick(s.terminal, "workspace", ref, workspaceCandidates(all))
}

func (s *session) pickWorkspace(question string, all []api.Workspace) (api.Workspace, error) {
	if !s.terminal.Interactive() {
		return api.Workspace{}, term.Usagef("you are in several workspaces: give --workspace, or set BURSAR_WORKSPACE")
	}
	options := make([]string, len(all))
	for i, c := range workspaceCandidates(all) {
		options[i] = c.text
	}
	i, err := s.terminal.Choose(question, options)
	if err != nil {
		return api.Workspace{}, err
	}
	return all[i], nil
}

func (s *session) workspaceNames(ctx context.Context) ([]string, error) {
	all, err := s.workspaces(ctx)
	var names []string
	for _, w := range all {
		names = append(names, w.Slug+"\t"+w.Name)
	}
	return names, err
}
