package cli

import (
	"fmt"
	"iter"
	"strings"

	"github.com/spf13/cobra"

	"bursar/api"
	"bursar/client"
	"bursar/internal/cli/term"
)

func newInvitations(r *remote) *cobra.Command {
	return commandGroup(&cobra.Command{
		Use:     "invitations",
		Aliases: []string{"invitation"},
		Short:   "List, accept and decline your invitations to workspaces",
		Long: `Somebody who invites you to a workspace gives you access only when you accept.
The list has the invitations to your email address, if it is verified: by a
link that was mailed to it, by single sign-on or by an operator. Otherwise,
accept each invitation by its own link in a browser.`,
		Example: `  bursar invitations list
  bursar invitations accept treasury
  bursar invitations decline inv_01jd2w4a6b8c0d2e4f6g8h0j2k`,
	}, newInvitationsList(r), newInvitationsAccept(r), newInvitationsDecline(r))
}

func newInvitationsList(r *remote) *cobra.Command {
	return invitations().newList(r, &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List the invitations that you have not answered",
		Example: `  bursar invitations list
  bursar invitations list --jq '.[].workspace_name'`,
	}, &term.Table{Columns: []string{"workspace", "organization", "roles", "invited by", "expires", "id"},
		Empty: "You have no invitations."}, func(c *call, i api.Invitation) []string {
		var roles []string
		for _, role := range i.Roles {
			roles = append(roles, role.Key)
		}
		return []string{i.WorkspaceName, i.OrganizationName, strings.Join(roles, ", "), i.InvitedBy, c.time(i.ExpiresAt), i.ID}
	})
}

func newInvitationsAccept(r *remote) *cobra.Command {
	var in struct{ Invitation api.Invitation }
	return newCommand(r, anywhere, &in, &cobra.Command{
		Use: "accept INVITATION", Short: "Join a workspace",
		Long: `Accept an invitation, by its id or by the name of the workspace. You join the
workspace with the roles of the invitation.`,
		Example: `  bursar invitations accept treasury
  bursar invitations accept inv_01jd2w4a6b8c0d2e4f6g8h0j2k --json`,
	}, func(c *call) error {
		done, err := c.Invitations.Accept(c, in.Invitation.ID)
		if err != nil {
			return fmt.Errorf("accept the invitation: %w", err)
		}
		c.say("You are a member of %s.", in.Invitation.WorkspaceName)
		return c.done(done)
	})
}

func newInvitationsDecline(r *remote) *cobra.Command {
	var in struct{ Invitation api.Invitation }
	return newCommand(r, anywhere, &in, &cobra.Command{
		Use: "decline INVITATION", Short: "Decline an invitation",
		Long: `Decline an invitation, by its id or by the name of the workspace. The
workspace learns that the address declined, and nothing else about you.`,
		Example: `  bursar invitations decline treasury`,
	}, func(c *call) error {
		done, err := c.Invitations.Decline(c, in.Invitation.ID)
		if err != nil {
			return fmt.Errorf("decline the invitation: %w", err)
		}
		c.say("Declined the invitation to %s.", in.Invitation.WorkspaceName)
		return c.done(done)
	})
}

// invitations finds invitations of the user by id or by the name of the workspace.
func invitations() *resource[api.Invitation] {
	return &resource[api.Invitation]{
		noun: "invitation", anywhere: true,
		list: func(c *call, _ string, p client.ListParams) iter.Seq2[api.Invitation, error] {
			return c.Invitations.All(c, p)
		},
		item: func(i api.Invitation) item {
			return item{i.ID, []string{i.WorkspaceName}, i.WorkspaceName + "  " + i.OrganizationName + "  " + i.ID,
				described(i.ID, i.WorkspaceName)}
		},
	}
}
