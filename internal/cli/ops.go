package cli

import (
	"context"
	"fmt"
	"iter"

	"github.com/spf13/cobra"

	"bursar/api"
	"bursar/client"
	"bursar/internal/cli/term"
)

func newOps(r *remote) *cobra.Command {
	return commandGroup(&cobra.Command{
		Use:   "ops",
		Short: "Decide what operators of the server ask each other",
		Long: `Where a server has two operators, a deposit into a live account, the reset of
a person who may approve, and the appointment of an approver wait until
another operator confirms them. You must be an operator, and have logged in
within the last 15 minutes.`,
		Example: `  bursar ops deposits list
  bursar ops deposits approve opr_01jd3a1b2c3d4e5f6g7h8j9k0m`,
	}, commandGroup(&cobra.Command{
		Use: "requests", Aliases: []string{"deposits", "request", "deposit"}, Short: "List, approve and reject what waits for another operator",
		Example: `  bursar ops requests list
  bursar ops requests reject opr_01jd3a1b2c3d4e5f6g7h8j9k0m`,
	}, newOpsList(r), newOpsApprove(r), newOpsReject(r)))
}

func newOpsList(r *remote) *cobra.Command {
	return listCommand(r.terminal, &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List what waits for another operator",
		Example: `  bursar ops requests list
  bursar ops deposits list --jq '.[].id'`,
	}, list[api.OpsRequest]{
		noun: "requests",
		rows: func(ctx context.Context, limit int) (iter.Seq2[api.OpsRequest, error], error) {
			s, err := r.connect()
			if err != nil {
				return nil, err
			}
			return s.Operators.AllRequests(ctx, client.ListParams{Limit: limit}), nil
		},
		table: func(term.Format) *term.Table {
			return &term.Table{Columns: []string{"what", "requested by", "expires", "id"}, Empty: "Nothing waits for another operator."}
		},
		cells: func(f term.Format, o api.OpsRequest) []string {
			expires := localTime(o.ExpiresAt)
			if f.CSV {
				expires = exactTime(o.ExpiresAt)
			}
			what := o.Summary
			if o.EndedBecause != "" {
				what += " (ended: " + o.EndedBecause + ")"
			}
			return []string{what, o.RequestedBy, expires, o.ID}
		},
	})
}

func newOpsApprove(r *remote) *cobra.Command {
	return r.newOpsDecision(&cobra.Command{
		Use: "approve ID", Short: "Confirm what another operator asked for",
		Long: `Confirm what another operator asked for. It is shown first, and carried out
at once.`,
		Example: `  bursar ops deposits approve opr_01jd3a1b2c3d4e5f6g7h8j9k0m`,
	}, "Confirm", func(ctx context.Context, s *session, o api.OpsRequest) (*api.OpsDecision, error) {
		return s.Operators.Approve(ctx, o.ID, o.Digest)
	})
}

func newOpsReject(r *remote) *cobra.Command {
	return r.newOpsDecision(&cobra.Command{
		Use: "reject ID", Short: "End what an operator asked for",
		Example: `  bursar ops deposits reject opr_01jd3a1b2c3d4e5f6g7h8j9k0m`,
	}, "Reject", func(ctx context.Context, s *session, o api.OpsRequest) (*api.OpsDecision, error) {
		return s.Operators.Reject(ctx, o.ID)
	})
}

// newOpsDecision completes a command that shows a request and decides it.
func (r *remote) newOpsDecision(c *cobra.Command, verb string, decide func(ctx context.Context, s *session, o api.OpsRequest) (*api.OpsDecision, error)) *cobra.Command {
	var f term.Format
	var yes bool
	c.Args, c.ValidArgsFunction = cobra.ExactArgs(1), cobra.NoFileCompletions
	c.RunE = func(c *cobra.Command, args []string) error {
		s, err := r.connect()
		if err != nil {
			return err
		}
		for o, err := range s.Operators.AllRequests(c.Context(), client.ListParams{}) {
			if err != nil {
				return fmt.Errorf("list what waits: %w", err)
			}
			if o.ID != args[0] {
				continue
			}
			if err := r.terminal.Confirm(c.Context(), fmt.Sprintf("%s the %s, requested by %s?", verb, term.Printable(o.Summary), term.Printable(o.RequestedBy)), yes); err != nil {
				return err
			}
			done, err := decide(c.Context(), s, o)
			if err != nil {
				return fmt.Errorf("decide the request: %w", err)
			}
			fmt.Fprintf(r.terminal.Err, "The request is %s.\n", done.State)
			return f.Write(r.terminal, done, nothing)
		}
		return fmt.Errorf("no request %q waits", args[0])
	}
	c.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	f.Bind(c, false)
	return c
}
