package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"
)

// completionTime is the maximum time to wait for the server after Tab.
const completionTime = 2 * time.Second

// complete completes words from the server. A word may have a description after a tab. Without a server it returns no words.
func (r *remote) complete(words func(ctx context.Context, s *session) ([]string, error)) cobra.CompletionFunc {
	return func(c *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		s, err := r.connect()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, cancel := context.WithTimeout(c.Context(), completionTime)
		defer cancel()
		found, err := words(ctx, s)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return found, cobra.ShellCompDirectiveNoFileComp
	}
}

// completeHere completes words from the current workspace.
func (r *remote) completeHere(words func(ctx context.Context, s *session, workspaceID string) ([]string, error)) cobra.CompletionFunc {
	return r.complete(func(ctx context.Context, s *session) ([]string, error) {
		s.terminal.In = nil // completion must not ask questions
		w, err := r.currentWorkspace(ctx, s)
		if err != nil {
			return nil, err
		}
		return words(ctx, s, w.ID)
	})
}
