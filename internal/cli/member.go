package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"

	"github.com/spf13/cobra"

	"bursar/api"
	"bursar/client"
	"bursar/internal/cli/term"
)

func newMembers(r *remote) *cobra.Command {
	return commandGroup(&cobra.Command{
		Use:     "members",
		Aliases: []string{"member"},
		Short:   "List, add and remove the members of a workspace",
		Long: `Members can work in a workspace. Their roles decide what they can do: see
'bursar roles'.`,
		Example: `  bursar members list
  bursar members add grace@example.com --role viewer
  bursar members remove grace@example.com`,
	}, newMembersList(r), newMembersAdd(r), newMembersRemove(r), newMembersSuspended(r))
}

func newMembersList(r *remote) *cobra.Command {
	return r.inWorkspace(listCommand(r.terminal, &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List the members and their roles",
		Long: `List the members of the workspace and their roles, including people who are
invited and have not accepted yet: those have the id of the invitation, which
other commands take as well.`,
		Example: `  bursar members list
  bursar members list --jq '.[] | select(.status == "invited").email'
  bursar members list --all --csv > members.csv`,
	}, list[api.Member]{
		noun: "members",
		rows: func(ctx context.Context, limit int) (iter.Seq2[api.Member, error], error) {
			s, w, err := r.connectWorkspace(ctx)
			if err != nil {
				return nil, err
			}
			return s.Members.All(ctx, w.ID, client.ListParams{Limit: limit}), nil
		},
		table: func(term.Format) *term.Table {
			return &term.Table{Columns: []string{"name", "email", "roles", "status", "id"}, Empty: "This workspace has no members."}
		},
		cells: func(_ term.Format, m api.Member) []string {
			return []string{m.Name, m.Email, strings.Join(m.Roles, ", "), m.Status, m.ID}
		},
	}))
}

func newMembersAdd(r *remote) *cobra.Command {
	var f term.Format
	var role string
	c := &cobra.Command{
		Use: "add EMAIL", Short: "Add or invite a member",
		Long: `Add somebody to the workspace with a role. People who belong to the
organization, with a verified address, join immediately. Anybody else is
invited and joins when they accept. If the server sends mail, it sends them a
link; otherwise the command prints the link, once. A link works once and
expires after 7 days. Somebody who already is a member or invited gets the
additional role.`,
		Example: `  bursar members add grace@example.com --role viewer
  bursar members add grace@example.com --role directory_manager --workspace payroll`,
		Args: cobra.ExactArgs(1), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, args []string) error {
			if err := require(c, "role"); err != nil {
				return err
			}
			s, w, err := r.connectWorkspace(c.Context())
			if err != nil {
				return err
			}
			held, err := s.findRole(c.Context(), w.ID, role)
			if err != nil {
				return err
			}
			added, err := s.Members.Add(c.Context(), w.ID, client.MemberAddParams{Email: args[0], Role: held.Key})
			if err != nil {
				return explainGrant(fmt.Errorf("add %s: %w", args[0], err))
			}
			text := "%s is a member of %s with the role %s.\n"
			switch {
			case added.InvitationURL != "":
				text = "Invited %s to %s with the role %s. Send them this link. It is shown only once, works once and expires after 7 days.\n"
			case strings.HasPrefix(added.UserID, "inv_"):
				text = "%s is invited to %s with the role %s. They join when they accept.\n"
			}
			fmt.Fprintf(r.terminal.Err, text, term.Printable(added.Email), term.Printable(w.Name), added.Role)
			return f.Write(r.terminal, added, func(out io.Writer) error {
				if added.InvitationURL == "" {
					return nil
				}
				_, err := fmt.Fprintln(out, added.InvitationURL)
				return err
			})
		},
	}
	c.Flags().StringVar(&role, "role", "", "key or name of their role (required)")
	_ = c.RegisterFlagCompletionFunc("role", r.completeRoles())
	f.Bind(c, false)
	return r.inWorkspace(c)
}

func newMembersRemove(r *remote) *cobra.Command {
	var f term.Format
	var yes, rotate bool
	var leaver leaverFlags
	c := &cobra.Command{
		Use: "remove MEMBER", Aliases: []string{"rm"}, Short: "Remove a member from the workspace",
		Long: `Remove a member and all their roles from the workspace, or withdraw an
invitation. It takes effect on their next request. You need every permission
that the member has. The last admin cannot be removed. To leave yourself, use
'bursar workspaces leave'.

Machine clients keep working when the person who was shown their secret is
removed. The command names them and offers to rotate their secrets; the new
ones are printed, each after the id of its client.

With --everywhere, a person leaves the organization: their memberships in all
its workspaces end, their ownership, open invitations to them and by them, the
secrets of machine clients that they were shown, and API keys that are limited
to its workspaces. The command first lists all of it, what waits for the
person, and who can take over. Only an owner can do this. It is refused as a
whole if a workspace would be left without an admin.`,
		Example: `  bursar members remove grace@example.com
  bursar members remove grace@example.com --rotate-clients
  bursar members remove --everywhere grace@example.com --dry-run
  bursar members remove "Grace Hopper" --yes`,
		Args: cobra.ExactArgs(1), ValidArgsFunction: byPosition(r.completeMembers()),
		RunE: func(c *cobra.Command, args []string) error {
			if leaver.everywhere {
				return r.removeEverywhere(c, f, leaver, args[0], yes)
			}
			s, w, err := r.connectWorkspace(c.Context())
			if err != nil {
				return err
			}
			m, err := s.findMember(c.Context(), w.ID, args[0])
			if err != nil {
				return err
			}
			who := term.Printable(person(m.Name, m.Email))
			known, err := s.clientsKnownTo(c.Context(), w.ID, m.ID)
			if err != nil {
				return err
			}
			if len(known) > 0 {
				fmt.Fprintf(r.terminal.Err, "%s knows the secrets of these machine clients, which keep working:\n", who)
				for _, m := range known {
					fmt.Fprintf(r.terminal.Err, "  %s  %s\n", term.Printable(m.Name), m.ID)
				}
			}
			if err := r.terminal.Confirm(c.Context(), fmt.Sprintf("Remove %s from %s?", who, term.Printable(w.Name)), yes); err != nil {
				return err
			}
			removed, err := s.Members.Remove(c.Context(), w.ID, m.ID)
			if err != nil {
				return fmt.Errorf("remove the member: %w", err)
			}
			fmt.Fprintf(r.terminal.Err, "Removed %s from %s.\n", who, term.Printable(w.Name))
			r.reportStranded(removed.ApprovalsWaiting)
			// The member is removed first, so they cannot rotate a secret back. New secrets are written even if another rotation fails,
			// because they are shown only here.
			done := memberRemoved{MemberRemoved: removed}
			done.RotatedClients, err = r.rotateKnown(c.Context(), s, w.ID, known, rotate, yes)
			return errors.Join(err, f.Write(r.terminal, done, func(out io.Writer) error {
				for _, made := range done.RotatedClients {
					if _, err := fmt.Fprintln(out, made.ID, made.Secret); err != nil {
						return err
					}
				}
				return nil
			}))
		},
	}
	c.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	c.Flags().BoolVar(&rotate, "rotate-clients", false, "rotate the machine clients whose secret the member knows")
	leaver.bind(r, c)
	f.Bind(c, false)
	return r.inWorkspace(c)
}

// reportStranded prints how many pending approvals no one who is left can decide.
func (r *remote) reportStranded(approvals int) {
	if approvals > 0 {
		fmt.Fprintf(r.terminal.Err, "Pending approvals that no one who is left can decide: %d.\n", approvals)
	}
}

// memberRemoved is the result of removing a member, with the new secrets of the machine clients that were rotated for it.
type memberRemoved struct {
	*api.MemberRemoved
	RotatedClients []*api.NewMachineClient `json:"rotated_clients,omitzero"`
}

// rotateKnown rotates the machine clients whose secrets a removed member knows: all if the flag is set, or else those that the user
// confirms.
func (r *remote) rotateKnown(ctx context.Context, s *session, workspaceID string, known []api.MachineClient, all, yes bool) (made []*api.NewMachineClient, err error) {
	for _, m := range known {
		if !all {
			if yes || !r.terminal.Interactive() {
				fmt.Fprintf(r.terminal.Err, "To give %s a new secret, run 'bursar clients rotate %s'.\n", term.Printable(m.Name), m.ID)
				continue
			}
			err := r.terminal.Confirm(ctx, fmt.Sprintf("Give %s (%s) a new secret? Anything using the old one will stop working immediately.", term.Printable(m.Name), m.ID), false)
			if errors.Is(err, term.ErrDeclined) {
				continue
			}
			if err != nil {
				return made, err
			}
		}
		next, err := s.rotateClient(ctx, workspaceID, m)
		if err != nil {
			return made, err
		}
		made = append(made, next)
	}
	return made, nil
}

// nothing writes no text, because a message on standard error has described the change.
func nothing(io.Writer) error { return nil }
