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

// members finds members by email address, name or id. The id of an invitation stays valid after it is accepted, when the list no longer
// shows it.
func members() *resource[api.Member] {
	return &resource[api.Member]{
		noun: "member",
		list: func(c *call, at string, p client.ListParams) iter.Seq2[api.Member, error] {
			return c.Members.All(c, at, p)
		},
		item: func(m api.Member) item {
			return item{m.ID, []string{m.Email, m.Name}, person(m.Name, m.Email) + "  " + m.ID, described(m.Email, m.Name)}
		},
		missing: func(ref string) (api.Member, bool) {
			return api.Member{ID: ref, Name: ref}, strings.HasPrefix(ref, "inv_")
		},
	}
}

func newMembersList(r *remote) *cobra.Command {
	return members().newList(r, &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List the members and their roles",
		Long: `List the members of the workspace and their roles, including people who are
invited and have not accepted yet: those have the id of the invitation, which
other commands take as well.`,
		Example: `  bursar members list
  bursar members list --jq '.[] | select(.status == "invited").email'
  bursar members list --all --csv > members.csv`,
	}, &term.Table{Columns: []string{"name", "email", "roles", "status", "id"},
		Empty: "This workspace has no members."}, func(_ *call, m api.Member) []string {
		return []string{m.Name, m.Email, strings.Join(m.Roles, ", "), m.Status, m.ID}
	})
}

func newMembersAdd(r *remote) *cobra.Command {
	var in struct {
		Email string
		Role  api.Role `flag:"role" usage:"key or name of their role (required)" required:"true"`
	}
	return newCommand(r, inWorkspace, &in, &cobra.Command{
		Use: "add EMAIL", Short: "Add or invite a member",
		Long: `Add somebody to the workspace with a role. People who belong to the
organization, with a verified address, join immediately. Anybody else is
invited and joins when they accept. If the server sends mail, it sends them a
link; otherwise the command prints the link, once. A link works once and
expires after 7 days. Somebody who already is a member or invited gets the
additional role.`,
		Example: `  bursar members add grace@example.com --role viewer
  bursar members add grace@example.com --role directory_manager --workspace payroll`,
	}, func(c *call) error {
		added, err := c.Members.Add(c, c.workspace.ID, client.MemberAddParams{Email: in.Email, Role: in.Role.Key})
		if err != nil {
			return explainGrant(fmt.Errorf("add %s: %w", in.Email, err))
		}
		text := "%s is a member of %s with the role %s."
		switch {
		case added.InvitationURL != "":
			text = "Invited %s to %s with the role %s. Send them this link. It is shown only once, works once and expires after 7 days."
		case strings.HasPrefix(added.UserID, "inv_"):
			text = "%s is invited to %s with the role %s. They join when they accept."
		}
		c.say(text, added.Email, c.workspace.Name, added.Role)
		if added.InvitationURL == "" {
			return c.done(added)
		}
		return c.writeLine(added, added.InvitationURL)
	})
}

func newMembersRemove(r *remote) *cobra.Command {
	var in struct {
		Member        memberName
		RotateClients bool `flag:"rotate-clients" usage:"rotate the machine clients whose secret the member knows"`
		leaverFlags
		confirmation
	}
	return newCommand(r, workspaceIfNeeded, &in, &cobra.Command{
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
	}, func(c *call) error {
		if in.Everywhere {
			return removeEverywhere(c, in.leaverFlags, string(in.Member), in.confirmation)
		}
		m, err := members().find(c, string(in.Member))
		if err != nil {
			return err
		}
		who := person(m.Name, m.Email)
		known, err := clientsKnownTo(c, m.ID)
		if err != nil {
			return err
		}
		if len(known) > 0 {
			c.say("%s knows the secrets of these machine clients, which keep working:", who)
			for _, m := range known {
				c.say("  %s  %s", m.Name, m.ID)
			}
		}
		if err := c.confirm(in.confirmation, "Remove %s from %s?", who, c.workspace.Name); err != nil {
			return err
		}
		removed, err := c.Members.Remove(c, c.workspace.ID, m.ID)
		if err != nil {
			return fmt.Errorf("remove the member: %w", err)
		}
		c.say("Removed %s from %s.", who, c.workspace.Name)
		c.sayStranded(removed.ApprovalsWaiting)
		// The member is removed first, so they cannot rotate a secret back. New secrets are written even if another rotation fails,
		// because they are shown only here.
		done := memberRemoved{MemberRemoved: removed}
		done.RotatedClients, err = rotateKnown(c, known, in.RotateClients, in.confirmation)
		return errors.Join(err, c.write(done, func(out io.Writer) error {
			for _, made := range done.RotatedClients {
				if _, err := fmt.Fprintln(out, made.ID, made.Secret); err != nil {
					return err
				}
			}
			return nil
		}))
	})
}

// memberName names a member, or with --everywhere a person.
type memberName string

func (*memberName) completion(r *remote) cobra.CompletionFunc { return members().completion(r) }

// sayStranded prints how many pending approvals no one who is left can decide.
func (c *call) sayStranded(approvals int) {
	if approvals > 0 {
		c.say("Pending approvals that no one who is left can decide: %d.", approvals)
	}
}

// memberRemoved is the result of removing a member, with the new secrets of the machine clients that were rotated for it.
type memberRemoved struct {
	*api.MemberRemoved
	RotatedClients []*api.NewMachineClient `json:"rotated_clients,omitzero"`
}

// rotateKnown rotates the machine clients whose secrets a removed member knows: all if the flag is set, or else those that the user
// confirms.
func rotateKnown(c *call, known []api.MachineClient, all bool, with confirmation) (made []*api.NewMachineClient, err error) {
	for _, m := range known {
		if !all {
			if with.Yes || !c.terminal.Interactive() {
				c.say("To give %s a new secret, run 'bursar clients rotate %s'.", m.Name, m.ID)
				continue
			}
			err := c.confirm(confirmation{}, newSecretQuestion, m.Name, m.ID)
			if errors.Is(err, term.ErrDeclined) {
				continue
			}
			if err != nil {
				return made, err
			}
		}
		next, err := rotateClient(c, m)
		if err != nil {
			return made, err
		}
		made = append(made, next)
	}
	return made, nil
}

// nothing writes no text, because a message on standard error has described the change.
func nothing(io.Writer) error { return nil }

// person returns a name and an email address, as far as known.
func person(name, email string) string {
	switch {
	case name == "":
		return email
	case email == "":
		return name
	}
	return name + " <" + email + ">"
}

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

// leaverFlags are the flags of 'members remove --everywhere'.
type leaverFlags struct {
	Everywhere   bool             `flag:"everywhere" usage:"remove a person from the organization and all its workspaces"`
	DryRun       bool             `flag:"dry-run" usage:"with --everywhere: show what would end, and change nothing"`
	Organization organizationName `flag:"organization" usage:"id, slug or name of the organization; by default your only one"`
}

// removeEverywhere shows a person's access to an organization, and removes it.
func removeEverywhere(c *call, l leaverFlags, ref string, with confirmation) error {
	o, err := organizations().findNamed(c, string(l.Organization), "--organization")
	if err != nil {
		return err
	}
	p := client.LeaverRemoveParams{Email: &ref, DryRun: true}
	if strings.HasPrefix(ref, "usr_") {
		p.Email, p.UserID = nil, &ref
	}
	planned, err := c.Organizations.RemoveLeaver(c, o.ID, p)
	if err != nil {
		return fmt.Errorf("look up %s: %w", ref, err)
	}
	text := describeLeaver(*planned)
	if l.DryRun {
		return c.write(planned, func(out io.Writer) error {
			_, err := fmt.Fprint(out, text)
			return err
		})
	}
	fmt.Fprint(c.terminal.Err, text)
	who := person(planned.Name, planned.Email)
	if err := c.confirm(with, "Remove %s from %s and all its workspaces?", who, o.Name); err != nil {
		return err
	}
	p.DryRun = false
	done, err := c.Organizations.RemoveLeaver(c, o.ID, p)
	if err != nil {
		return fmt.Errorf("remove %s: %w", ref, err)
	}
	c.say("Removed %s from %s and all its workspaces.", who, o.Name)
	return c.done(done)
}

// describeLeaver formats the checklist for a terminal.
func describeLeaver(l api.Leaver) string {
	var b strings.Builder
	line := func(format string, args ...any) {
		for i, arg := range args {
			if text, ok := arg.(string); ok {
				args[i] = term.Printable(text)
			}
		}
		fmt.Fprintf(&b, format+"\n", args...)
	}
	if l.Owner {
		line("Ownership of the organization")
	}
	for _, m := range l.Memberships {
		if m.Status == "invited" {
			line("Invitation to %s", m.WorkspaceName)
		} else {
			line("Membership in %s  (%s)", m.WorkspaceName, strings.Join(m.Roles, ", "))
		}
	}
	for _, i := range l.Invitations {
		line("Invitation of %s to %s, which they made", i.Email, i.WorkspaceName)
	}
	for _, m := range l.Clients {
		line("Secret of the machine client %s in %s  %s", m.Name, m.WorkspaceName, m.ID)
	}
	for _, k := range l.APIKeys {
		line("API key %s  %s", k.Name, k.ID)
	}
	words := map[string]string{
		api.TaskRequest: "Approval they asked for", api.TaskDecision: "Approval that needs them",
		api.TaskDraft: "Payout draft", api.TaskClient: "Machine client they made or know",
	}
	if len(l.Tasks) > 0 {
		line("\nWaiting for them:")
	}
	for _, t := range l.Tasks {
		var people []string
		for _, u := range t.TakeOver {
			people = append(people, u.Email)
		}
		takeOver := "no one else can take over"
		if len(people) > 0 {
			takeOver = "can take over: " + strings.Join(people, ", ")
		}
		line("  %s in %s  %s  %s", words[t.Kind], t.WorkspaceName, t.ID, takeOver)
	}
	if l.MoreTasks {
		line("  and more")
	}
	for _, w := range l.LastAdminOf {
		line("\nThey are the last admin of %s: make another member an admin first.", w.WorkspaceName)
	}
	if l.LastOwner {
		line("\nThey are the last owner of the organization: add another owner first.")
	}
	return b.String()
}
