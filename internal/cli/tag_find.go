package cli

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"bursar/api"
	"bursar/client"
	"bursar/internal/cli/term"
)

const tagPrefix = "tag_"

// tagsFor returns the tags that apply to a type, or all tags if no type is given.
func (s *session) tagsFor(ctx context.Context, workspaceID, kind string) iter.Seq2[api.Tag, error] {
	return func(yield func(api.Tag, error) bool) {
		for t, err := range s.Tags.All(ctx, workspaceID, client.ListParams{}) {
			if (err != nil || kind == "" || t.AppliesTo == kind) && !yield(t, err) {
				return
			}
		}
	}
}

func (s *session) tags(ctx context.Context, workspaceID string) ([]api.Tag, error) {
	all, err := collect(s.tagsFor(ctx, workspaceID, ""))
	if err != nil {
		return nil, fmt.Errorf("list the tags: %w", err)
	}
	return all, nil
}

func (s *session) findTag(ctx context.Context, workspaceID, ref string) (api.Tag, error) {
	all, err := s.tags(ctx, workspaceID)
	if err != nil {
		return api.Tag{}, err
	}
	list := make([]candidate[api.Tag], len(all))
	for i, t := range all {
		list[i] = candidate[api.Tag]{t, t.ID, []string{t.Name}, term.Printable(t.Name + "  " + t.AppliesTo + "  " + t.ID)}
	}
	return pick(ctx, s.terminal, "tag", ref, list)
}

// tagNames replaces ids of tags with names, because entries list their tags by name.
func (s *session) tagNames(ctx context.Context, workspaceID string, refs []string) ([]string, error) {
	names := slices.Clone(refs)
	for i, ref := range refs {
		names[i] = strings.TrimSpace(ref)
		if strings.HasPrefix(names[i], tagPrefix) {
			t, err := s.findTag(ctx, workspaceID, names[i])
			if err != nil {
				return nil, err
			}
			names[i] = t.Name
		}
	}
	return names, nil
}

func (r *remote) completeTags() cobra.CompletionFunc {
	return r.completeHere(func(ctx context.Context, s *session, workspaceID string) ([]string, error) {
		all, err := s.tags(ctx, workspaceID)
		var words []string
		for _, t := range all {
			words = append(words, described(term.Printable(t.Name), "applies to "+t.AppliesTo))
		}
		return words, err
	})
}

// completeTag completes the first argument, or all arguments, with tags.
func (r *remote) completeTag(several bool) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 && !several {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		words, directive := r.completeTags()(c, args, begun)
		words = slices.DeleteFunc(words, func(word string) bool {
			name, _, _ := strings.Cut(word, "\t")
			return slices.Contains(args, name)
		})
		return words, directive
	}
}
