package cli

import (
	"context"

	"github.com/spf13/cobra"

	"bursar/client"
	"bursar/internal/cli/term"
)

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

func (s *session) memberWords(ctx context.Context, workspaceID string) ([]string, error) {
	all, err := s.members(ctx, workspaceID)
	words := make([]string, len(all))
	for i, m := range all {
		words[i] = described(m.Email, m.Name)
	}
	return words, err
}

func (s *session) roleWords(ctx context.Context, workspaceID string) ([]string, error) {
	all, err := s.roles(ctx, workspaceID)
	words := make([]string, len(all))
	for i, role := range all {
		words[i] = described(role.Key, role.Name)
	}
	return words, err
}

func (s *session) organizationWords(ctx context.Context) ([]string, error) {
	all, err := s.organizations(ctx)
	words := make([]string, len(all))
	for i, o := range all {
		words[i] = described(o.Slug, o.Name)
	}
	return words, err
}

func (s *session) keyWords(ctx context.Context) ([]string, error) {
	all, err := collect(s.Keys.All(ctx, client.ListParams{}))
	words := make([]string, len(all))
	for i, k := range all {
		words[i] = described(k.ID, k.Name)
	}
	return words, err
}

func (r *remote) completeMembers() cobra.CompletionFunc {
	return r.completeHere(func(ctx context.Context, s *session, id string) ([]string, error) { return s.memberWords(ctx, id) })
}

func (r *remote) completeRoles() cobra.CompletionFunc {
	return r.completeHere(func(ctx context.Context, s *session, id string) ([]string, error) { return s.roleWords(ctx, id) })
}

func (r *remote) completeOrganizations() cobra.CompletionFunc {
	return r.complete(func(ctx context.Context, s *session) ([]string, error) { return s.organizationWords(ctx) })
}

func (r *remote) completeKeys() cobra.CompletionFunc {
	return r.complete(func(ctx context.Context, s *session) ([]string, error) { return s.keyWords(ctx) })
}

func (r *remote) completeWorkspaces() cobra.CompletionFunc {
	return r.complete(func(ctx context.Context, s *session) ([]string, error) { return s.workspaceNames(ctx) })
}
