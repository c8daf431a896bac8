package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"
)

// completionTime bounds how long a shell waits for the server after Tab.
const completionTime = 2 * time.Second

// complete makes a shell complete words from the server. Each may have a
// description behind a tab. Without a server there is nothing to complete.
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

// completeHere completes from the workspace that the command works in.
func (r *remote) completeHere(words func(ctx context.Context, s *session, workspaceID string) ([]string, error)) cobra.CompletionFunc {
	return r.complete(func(ctx context.Context, s *session) ([]string, error) {
		s.terminal.In = nil // nobody is asked in the middle of a word
		w, err := r.currentWorkspace(ctx, s)
		if err != nil {
			return nil, err
		}
		return words(ctx, s, w.ID)
	})
}
