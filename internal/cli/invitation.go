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
	return listCommand(r.terminal, &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List the invitations that you have not answered",
		Example: `  bursar invitations list
  bursar invitations list --jq '.[].workspace_name'`,
	}, list[api.Invitation]{
		noun: "invitations",
		rows: func(ctx context.Context, limit int) (iter.Seq2[api.Invitation, error], error) {
			s, err := r.connect()
			if err != nil {
				return nil, err
			}
			return s.Invitations.All(ctx, client.ListParams{Limit: limit}), nil
		},
		table: func(term.Format) *term.Table {
			return &term.Table{Columns: []string{"workspace", "organization", "roles", "invited by", "expires", "id"}, Empty: "You have no invitations."}
		},
		cells: func(f term.Format, i api.Invitation) []string {
			var roles []string
			for _, role := range i.Roles {
				roles = append(roles, role.Key)
			}
			expires := localTime(i.ExpiresAt)
			if f.CSV {
				expires = exactTime(i.ExpiresAt)
			}
			return []string{i.WorkspaceName, i.OrganizationName, strings.Join(roles, ", "), i.InvitedBy, expires, i.ID}
		},
	})
}

func newInvitationsAccept(r *remote) *cobra.Command {
	return r.newInvitationAnswer(&cobra.Command{
		Use: "accept INVITATION", Short: "Join a workspace",
		Long: `Accept an invitation, by its id or by the name of the workspace. You join the
workspace with the roles of the invitation.`,
		Example: `  bursar invitations accept treasury
  bursar invitations accept inv_01jd2w4a6b8c0d2e4f6g8h0j2k --json`,
	}, func(ctx context.Context, s *session, i api.Invitation) (*api.InvitationDecision, error) {
		done, err := s.Invitations.Accept(ctx, i.ID)
		if err != nil {
			return nil, fmt.Errorf("accept the invitation: %w", err)
		}
		fmt.Fprintf(s.terminal.Err, "You are a member of %s.\n", term.Printable(i.WorkspaceName))
		return done, nil
	})
}

func newInvitationsDecline(r *remote) *cobra.Command {
	return r.newInvitationAnswer(&cobra.Command{
		Use: "decline INVITATION", Short: "Decline an invitation",
		Long: `Decline an invitation, by its id or by the name of the workspace. The
workspace learns that the address declined, and nothing else about you.`,
		Example: `  bursar invitations decline treasury`,
	}, func(ctx context.Context, s *session, i api.Invitation) (*api.InvitationDecision, error) {
		done, err := s.Invitations.Decline(ctx, i.ID)
		if err != nil {
			return nil, fmt.Errorf("decline the invitation: %w", err)
		}
		fmt.Fprintf(s.terminal.Err, "Declined the invitation to %s.\n", term.Printable(i.WorkspaceName))
		return done, nil
	})
}

// newInvitationAnswer completes a command that takes an invitation.
func (r *remote) newInvitationAnswer(c *cobra.Command, answer func(ctx context.Context, s *session, i api.Invitation) (*api.InvitationDecision, error)) *cobra.Command {
	var f term.Format
	c.Args = cobra.ExactArgs(1)
	c.ValidArgsFunction = byPosition(r.complete(func(ctx context.Context, s *session) ([]string, error) {
		all, err := collect(s.Invitations.All(ctx, client.ListParams{}))
		var words []string
		for _, i := range all {
			words = append(words, i.ID+"\t"+i.WorkspaceName)
		}
		return words, err
	}))
	c.RunE = func(c *cobra.Command, args []string) error {
		s, err := r.connect()
		if err != nil {
			return err
		}
		all, err := collect(s.Invitations.All(c.Context(), client.ListParams{}))
		if err != nil {
			return fmt.Errorf("list the invitations: %w", err)
		}
		list := make([]candidate[api.Invitation], len(all))
		for n, i := range all {
			list[n] = candidate[api.Invitation]{i, i.ID, []string{i.WorkspaceName}, i.WorkspaceName + "  " + i.OrganizationName + "  " + i.ID}
		}
		i, err := pick(c.Context(), s.terminal, "invitation", args[0], list)
		if err != nil {
			return err
		}
		done, err := answer(c.Context(), s, i)
		if err != nil {
			return err
		}
		return f.Write(r.terminal, done, nothing)
	}
	f.Bind(c, false)
	return c
}
