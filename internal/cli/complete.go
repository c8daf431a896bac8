package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"bursar/internal/cli/term"
)

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
