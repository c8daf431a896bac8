package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"bursar/client"
	"bursar/internal/cli/term"
)

func newMembers(r *remote) *cobra.Command {
	return commandGroup(&cobra.Command{
		Use:     "members",
		Aliases: []string{"member"},
		Short:   "See, add and remove the members of a workspace",
		Long: `The members of a workspace are those who may work in it. What they may do, their
roles say: see 'bursar roles'.`,
		Example: `  bursar members list
  bursar members add grace@example.com --role viewer
  bursar members remove grace@example.com`,
	}, newMembersList(r), newMembersAdd(r), newMembersRemove(r))
}

func newMembersList(r *remote) *cobra.Command {
	var f term.Format
	var rows span
	c := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List the members and their roles",
		Long: `List everybody in the workspace with the roles they hold, those included who are
invited and have not completed their account.`,
		Example: `  bursar members list
  bursar members list --jq '.[] | select(.status == "invited").email'
  bursar members list --all --csv > members.csv`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := rows.check(); err != nil {
				return err
			}
			s, w, err := r.connectWorkspace(c.Context())
			if err != nil {
				return err
			}
			list, err := take(r.terminal, rows, s.Members.All(c.Context(), w.ID, client.ListParams{Limit: rows.page()}))
			if err != nil {
				return fmt.Errorf("list the members: %w", err)
			}
			shown := &term.Table{Columns: []string{"name", "email", "roles", "status", "id"}, Empty: "Nobody is in this workspace."}
			for _, m := range list {
				shown.Add(m.Name, m.Email, strings.Join(m.Roles, ", "), m.Status, m.ID)
			}
			return f.WriteTable(r.terminal, list, shown)
		},
	}
	rows.bind(c)
	f.Bind(c, true)
	return r.inWorkspace(c)
}

func newMembersAdd(r *remote) *cobra.Command {
	var f term.Format
	var role string
	c := &cobra.Command{
		Use: "add EMAIL", Short: "Add or invite somebody",
		Long: `Add somebody to the workspace, with a role. Whoever has an account joins at once.
Whoever has none is invited: the command writes the link by which they complete
their account, which is shown this once, works once, and is good for 7 days.
Whoever is a member already gets the role in addition.`,
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
				return fmt.Errorf("add %s: %w", args[0], err)
			}
			if added.InvitationURL == "" {
				fmt.Fprintf(r.terminal.Err, "%s is in %s with the role %s.\n", term.Printable(added.Email), term.Printable(w.Name), added.Role)
			} else {
				fmt.Fprintf(r.terminal.Err, "Invited %s to %s with the role %s. Send them this link: it is shown this once, works once, and is good for 7 days.\n", term.Printable(added.Email), term.Printable(w.Name), added.Role)
			}
			return f.Write(r.terminal, added, func(out io.Writer) error {
				if added.InvitationURL == "" {
					return nil
				}
				_, err := fmt.Fprintln(out, added.InvitationURL)
				return err
			})
		},
	}
	c.Flags().StringVar(&role, "role", "", "key or name of the role that they get (required)")
	_ = c.RegisterFlagCompletionFunc("role", r.completeRoles())
	f.Bind(c, false)
	return r.inWorkspace(c)
}

func newMembersRemove(r *remote) *cobra.Command {
	var f term.Format
	var yes bool
	c := &cobra.Command{
		Use: "remove MEMBER", Aliases: []string{"rm"}, Short: "Take somebody out of the workspace",
		Long: `Take somebody out of the workspace, with every role they hold there. It takes
effect on their next request. A workspace keeps at least one admin.`,
		Example: `  bursar members remove grace@example.com
  bursar members remove "Grace Hopper" --yes`,
		Args: cobra.ExactArgs(1), ValidArgsFunction: byPosition(r.completeMembers()),
		RunE: func(c *cobra.Command, args []string) error {
			s, w, err := r.connectWorkspace(c.Context())
			if err != nil {
				return err
			}
			m, err := s.findMember(c.Context(), w.ID, args[0])
			if err != nil {
				return err
			}
			who := term.Printable(person(m.Name, m.Email))
			if err := r.terminal.Confirm(fmt.Sprintf("Remove %s from %s?", who, term.Printable(w.Name)), yes); err != nil {
				return err
			}
			removed, err := s.Members.Remove(c.Context(), w.ID, m.ID)
			if err != nil {
				return fmt.Errorf("remove the member: %w", err)
			}
			fmt.Fprintf(r.terminal.Err, "Removed %s from %s.\n", who, term.Printable(w.Name))
			return f.Write(r.terminal, removed, nothing)
		},
	}
	c.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	f.Bind(c, false)
	return r.inWorkspace(c)
}

// nothing is what people read of a change that stderr has told of.
func nothing(io.Writer) error { return nil }
