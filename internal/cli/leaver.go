package cli

import (
	"fmt"
	"io"
	"strings"

	"bursar/api"
	"bursar/client"
	"bursar/internal/cli/term"
)

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
