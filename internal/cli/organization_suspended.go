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
	var in struct {
		ofOrganization
	}
	return newList(r, anywhere, &in, &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List the suspended owners", Long: `List the owners who are suspended, oldest first.`,
		Example: `  bursar orgs owners suspended list`,
	}, list[api.SuspendedOwner]{
		noun: "suspended owners",
		rows: func(c *call, limit int) (iter.Seq2[api.SuspendedOwner, error], error) {
			return c.Organizations.SuspendedOwners(c, in.Organization.ID, client.ListParams{Limit: limit}), nil
		},
		table: &term.Table{Columns: []string{"id", "who", "key", "since"}, Detail: []string{"key"}, Empty: "No owner is suspended."},
		cells: func(_ *call, o api.SuspendedOwner) []string {
			return []string{o.ID, person(o.Name, o.Email), o.KeyID, localTime(o.SuspendedAt)}
		},
	})
}

func newOwnersConfirm(r *remote) *cobra.Command {
	return ownerSuspensionCommand(r, &cobra.Command{
		Use: "confirm ID", Short: "Make a suspended owner an owner again",
		Long: `Make a suspended owner an owner again. You cannot decide about yourself, or if
you became an owner through a compromised key.`,
		Example: `  bursar orgs owners suspended confirm sus_01jd2w8m3p5r7t9v1x3z5b7d9f`,
	}, "Make %s an owner again?", "%s is an owner.", (*client.OrganizationService).ConfirmOwner)
}

func newOwnersSuspendedRemove(r *remote) *cobra.Command {
	return ownerSuspensionCommand(r, &cobra.Command{
		Use: "remove ID", Aliases: []string{"rm"}, Short: "End suspended ownership permanently",
		Long:    `End suspended ownership permanently.`,
		Example: `  bursar orgs owners suspended remove sus_01jd2w8m3p5r7t9v1x3z5b7d9f`,
	}, "End the ownership of %s permanently?", "%s is no longer an owner.", (*client.OrganizationService).RemoveSuspendedOwner)
}

// ownerSuspensionCommand completes a command that decides on a suspended owner.
func ownerSuspensionCommand(r *remote, c *cobra.Command, question, done string,
	decide func(s *client.OrganizationService, ctx context.Context, organizationID, id string) (*client.SuspendedOwner, error)) *cobra.Command {
	var in struct {
		ID string
		ofOrganization
		confirmation
	}
	return newCommand(r, anywhere, &in, c, func(c *call) error {
		who := in.ID
		for one, err := range c.Organizations.SuspendedOwners(c, in.Organization.ID, client.ListParams{}) {
			if err != nil {
				return fmt.Errorf("read the suspended owners: %w", err)
			}
			if one.ID == in.ID {
				who = person(one.Name, one.Email)
			}
		}
		if err := c.confirm(in.confirmation, question, who); err != nil {
			return err
		}
		decided, err := decide(c.Organizations, c, in.Organization.ID, in.ID)
		if err != nil {
			return fmt.Errorf("decide about the suspended owner: %w", err)
		}
		c.say(done, who)
		return c.done(decided)
	})
}
