package cli

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/spf13/cobra"

	"bursar/api"
	"bursar/client"
	"bursar/internal/cli/term"
)

func newMembersSuspended(r *remote) *cobra.Command {
	return commandGroup(&cobra.Command{
		Use: "suspended", Short: "Decide about access that came through a compromised key",
		Long: `Members and roles that were added with a compromised API key are suspended
until an admin confirms or removes them. Report a key as compromised with
'bursar keys revoke KEY --compromised'.`,
		Example: `  bursar members suspended list
  bursar members suspended confirm sus_01jd2w8m3p5r7t9v1x3z5b7d9f`,
	}, newSuspendedList(r), newSuspendedConfirm(r), newSuspendedRemove(r))
}

func newSuspendedList(r *remote) *cobra.Command {
	return newList(r, inWorkspace, nil, &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List suspended access", Long: `List the members and roles that are suspended, oldest first.`,
		Example: `  bursar members suspended list`,
	}, list[api.SuspendedAccess]{
		noun: "suspended members and roles",
		rows: func(c *call, limit int) (iter.Seq2[api.SuspendedAccess, error], error) {
			return c.Members.Suspended(c, c.workspace.ID, client.ListParams{Limit: limit}), nil
		},
		table: &term.Table{Columns: []string{"id", "who", "kind", "roles", "key", "since"},
			Detail: []string{"key"}, Empty: "Nothing is suspended."},
		cells: func(_ *call, a api.SuspendedAccess) []string {
			return []string{a.ID, person(a.Name, a.Email), a.Kind, strings.Join(a.Roles, ", "), a.KeyID, localTime(a.SuspendedAt)}
		},
	})
}

func newSuspendedConfirm(r *remote) *cobra.Command {
	return suspensionCommand(r, &cobra.Command{
		Use: "confirm ID", Short: "Give suspended access back",
		Long: `Give suspended access back. You need every permission that it gives. You
cannot decide about your own access, or if your own access came through a
compromised key.`,
		Example: `  bursar members suspended confirm sus_01jd2w8m3p5r7t9v1x3z5b7d9f`,
	}, "Give %s the access back?", "Confirmed the access of %s.", (*client.MemberService).ConfirmSuspended)
}

func newSuspendedRemove(r *remote) *cobra.Command {
	return suspensionCommand(r, &cobra.Command{
		Use: "remove ID", Aliases: []string{"rm"}, Short: "Remove suspended access permanently",
		Long:    `Remove suspended access permanently.`,
		Example: `  bursar members suspended remove sus_01jd2w8m3p5r7t9v1x3z5b7d9f`,
	}, "Remove the access of %s permanently?", "Removed the access of %s.", (*client.MemberService).RemoveSuspended)
}

// suspensionCommand completes a command that decides on suspended access.
func suspensionCommand(r *remote, c *cobra.Command, question, done string,
	decide func(s *client.MemberService, ctx context.Context, workspaceID, id string) (*client.SuspendedAccess, error)) *cobra.Command {
	var in struct {
		ID string
		confirmation
	}
	return newCommand(r, inWorkspace, &in, c, func(c *call) error {
		who := in.ID
		for one, err := range c.Members.Suspended(c, c.workspace.ID, client.ListParams{}) {
			if err != nil {
				return fmt.Errorf("read the suspended access: %w", err)
			}
			if one.ID == in.ID {
				who = person(one.Name, one.Email)
			}
		}
		if err := c.confirm(in.confirmation, question, who); err != nil {
			return err
		}
		decided, err := decide(c.Members, c, c.workspace.ID, in.ID)
		if err != nil {
			return fmt.Errorf("decide about the suspended access: %w", err)
		}
		c.say(done, who)
		return c.done(decided)
	})
}
