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

func newOwnersSuspended(r *remote) *cobra.Command {
	return commandGroup(&cobra.Command{
		Use: "suspended", Short: "Decide about owners who came through a compromised key",
		Long: `Owners who were added through a compromised API key are suspended until
another owner confirms or removes them. Report a key as compromised with
'bursar keys revoke KEY --compromised'.`,
		Example: `  bursar orgs owners suspended list
  bursar orgs owners suspended confirm sus_01jd2w8m3p5r7t9v1x3z5b7d9f`,
	}, newOwnersSuspendedList(r), newOwnersConfirm(r), newOwnersSuspendedRemove(r))
}

func newOwnersSuspendedList(r *remote) *cobra.Command {
	var org string
	return r.organizationFlag(listCommand(r.terminal, &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List the suspended owners", Long: `List the owners who are suspended, oldest first.`,
		Example: `  bursar orgs owners suspended list`,
	}, list[api.SuspendedOwner]{
		noun: "suspended owners",
		rows: func(ctx context.Context, limit int) (iter.Seq2[api.SuspendedOwner, error], error) {
			s, err := r.connect()
			if err != nil {
				return nil, err
			}
			o, err := s.findOrganization(ctx, org, "--organization")
			if err != nil {
				return nil, err
			}
			return s.Organizations.SuspendedOwners(ctx, o.ID, client.ListParams{Limit: limit}), nil
		},
		table: func(term.Format) *term.Table {
			return &term.Table{Columns: []string{"id", "who", "key", "since"}, Detail: []string{"key"}, Empty: "No owner is suspended."}
		},
		cells: func(_ term.Format, o api.SuspendedOwner) []string {
			return []string{o.ID, person(o.Name, o.Email), o.KeyID, localTime(o.SuspendedAt)}
		},
	}), &org)
}

func newOwnersConfirm(r *remote) *cobra.Command {
	return ownerSuspensionCommand(r, &cobra.Command{
		Use: "confirm ID", Short: "Make a suspended owner an owner again",
		Long: `Make a suspended owner an owner again. You cannot decide about yourself, or if
you became an owner through a compromised key.`,
		Example: `  bursar orgs owners suspended confirm sus_01jd2w8m3p5r7t9v1x3z5b7d9f`,
	}, "Make %s an owner again?", "%s is an owner.\n", (*client.OrganizationService).ConfirmOwner)
}

func newOwnersSuspendedRemove(r *remote) *cobra.Command {
	return ownerSuspensionCommand(r, &cobra.Command{
		Use: "remove ID", Aliases: []string{"rm"}, Short: "End suspended ownership permanently",
		Long:    `End suspended ownership permanently.`,
		Example: `  bursar orgs owners suspended remove sus_01jd2w8m3p5r7t9v1x3z5b7d9f`,
	}, "End the ownership of %s permanently?", "%s is no longer an owner.\n", (*client.OrganizationService).RemoveSuspendedOwner)
}

// ownerSuspensionCommand completes a command that decides on a suspended owner.
func ownerSuspensionCommand(r *remote, c *cobra.Command, question, done string,
	decide func(s *client.OrganizationService, ctx context.Context, organizationID, id string) (*client.SuspendedOwner, error)) *cobra.Command {
	c = r.newOwnerChange(c, func(ctx context.Context, s *session, o api.Organization, id string, yes bool) (any, error) {
		who := id
		for one, err := range s.Organizations.SuspendedOwners(ctx, o.ID, client.ListParams{}) {
			if err != nil {
				return nil, fmt.Errorf("read the suspended owners: %w", err)
			}
			if one.ID == id {
				who = term.Printable(person(one.Name, one.Email))
			}
		}
		if err := s.terminal.Confirm(ctx, fmt.Sprintf(question, who), yes); err != nil {
			return nil, err
		}
		decided, err := decide(s.Organizations, ctx, o.ID, id)
		if err != nil {
			return nil, fmt.Errorf("decide about the suspended owner: %w", err)
		}
		fmt.Fprintf(s.terminal.Err, done, who)
		return decided, nil
	})
	c.ValidArgsFunction = cobra.NoFileCompletions
	return c
}
