package cli

import (
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
	return newList(r, anywhere, nil, &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List what waits for another operator",
		Example: `  bursar ops requests list
  bursar ops deposits list --jq '.[].id'`,
	}, list[api.OpsRequest]{
		noun: "requests",
		rows: func(c *call, limit int) (iter.Seq2[api.OpsRequest, error], error) {
			return c.Operators.AllRequests(c, client.ListParams{Limit: limit}), nil
		},
		table: &term.Table{Columns: []string{"what", "requested by", "expires", "id"}, Empty: "Nothing waits for another operator."},
		cells: func(c *call, o api.OpsRequest) []string {
			what := o.Summary
			if o.EndedBecause != "" {
				what += " (ended: " + o.EndedBecause + ")"
			}
			return []string{what, o.RequestedBy, c.time(o.ExpiresAt), o.ID}
		},
	})
}

func newOpsApprove(r *remote) *cobra.Command {
	return newOpsDecision(r, "Confirm", &cobra.Command{
		Use: "approve ID", Short: "Confirm what another operator asked for",
		Long: `Confirm what another operator asked for. It is shown first, and carried out
at once.`,
		Example: `  bursar ops deposits approve opr_01jd3a1b2c3d4e5f6g7h8j9k0m`,
	}, func(c *call, o api.OpsRequest) (*api.OpsDecision, error) {
		return c.Operators.Approve(c, o.ID, o.Digest)
	})
}

func newOpsReject(r *remote) *cobra.Command {
	return newOpsDecision(r, "Reject", &cobra.Command{
		Use: "reject ID", Short: "End what an operator asked for",
		Example: `  bursar ops deposits reject opr_01jd3a1b2c3d4e5f6g7h8j9k0m`,
	}, func(c *call, o api.OpsRequest) (*api.OpsDecision, error) { return c.Operators.Reject(c, o.ID) })
}

// newOpsDecision completes a command that shows a request and decides it.
func newOpsDecision(r *remote, verb string, c *cobra.Command,
	decide func(c *call, o api.OpsRequest) (*api.OpsDecision, error)) *cobra.Command {
	var in struct {
		ID string
		confirmation
	}
	return newCommand(r, anywhere, &in, c, func(c *call) error {
		for o, err := range c.Operators.AllRequests(c, client.ListParams{}) {
			if err != nil {
				return fmt.Errorf("list what waits: %w", err)
			}
			if o.ID != in.ID {
				continue
			}
			if err := c.confirm(in.confirmation, "%s the %s, requested by %s?", verb, o.Summary, o.RequestedBy); err != nil {
				return err
			}
			done, err := decide(c, o)
			if err != nil {
				return fmt.Errorf("decide the request: %w", err)
			}
			c.say("The request is %s.", done.State)
			return c.done(done)
		}
		return fmt.Errorf("no request %q waits", in.ID)
	})
}
