package console

import (
	"net/url"
	"strconv"
	"strings"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/workspace"
)

func (c *Console) invite(v *visit) error {
	added, err := submit(v, c.Workspaces.AddMember, workspace.AddMemberInput{ID: v.workspace.ID})
	if err != nil {
		return v.showGrant(err)
	}
	role := v.roleName(added.Role)
	switch {
	case added.InvitationURL != "":
		return v.tellInvitation(added)
	case !strings.HasPrefix(added.UserID, "inv_"):
		return v.done(added.Email+" is now a member with the role "+role+".", v.membersPath())
	case c.SignIn.Recovers(): // the message does not reveal whether they were already invited
		return v.done(added.Email+" is invited with the role "+role+". The invitation was sent to this address.", v.membersPath())
	}
	return v.done(added.Email+" was already invited. The invitation now includes the role "+role+".", v.membersPath())
}

func (c *Console) reinvite(v *visit) error {
	again, err := change(v, c.Workspaces.Reinvite, v.memberInput())
	if err != nil {
		return v.showGrant(err)
	}
	if again.InvitationURL == "" {
		return v.done("A new invitation was sent to "+again.Email+".", v.membersPath())
	}
	return v.tellInvitation(again)
}

// showGrant shows the problems of a grant, or that it waits for another person. A visitor whose sign-in is too old signs in again and
// returns to the members.
func (v *visit) showGrant(err error) error {
	if waitsForApprover(err) {
		return v.done("Requested. The role is granted once another person approves.", v.membersPath())
	}
	if hasCode(err, api.CodeRecentLoginRequired) {
		return v.signInFirst(v.membersPath())
	}
	return v.again(err, v.console.membersPage)
}

// tellInvitation shows the link of an invitation, once.
func (v *visit) tellInvitation(m api.MemberAdded) error {
	note := "Send it to them yourself. It's shown only once, works once and expires in 7 days."
	return v.redirectWith(flash{
		Kind: "good", Text: m.Email + " has been invited.",
		Secret: &secret{Label: "Invitation link for " + m.Email, Value: m.InvitationURL, Note: note},
	}, v.membersPath())
}

func (c *Console) assignRole(v *visit) error {
	given, err := submit(v, c.Workspaces.Assign, workspace.AssignInput{ID: v.workspace.ID, RoleAssign: api.RoleAssign{UserID: v.R.PathValue("userId")}})
	if err != nil {
		return v.showGrant(err)
	}
	return v.done(`Role "`+v.roleName(given.Role)+`" added.`, v.membersPath())
}

func (c *Console) removeRole(v *visit) error {
	role := v.R.PathValue("role")
	name := v.roleName(role)
	in := workspace.UnassignInput{ID: v.workspace.ID, UserID: v.R.PathValue("userId"), Role: role}
	removed, err := change(v, c.Workspaces.Unassign, in)
	if err != nil {
		return v.again(err, c.membersPage)
	}
	return v.leaveMembers(`Role "` + name + `" removed.` + stranded(removed.ApprovalsWaiting))
}

func (c *Console) removeMember(v *visit) error {
	removed, err := change(v, c.Workspaces.RemoveMember, v.memberInput())
	if err != nil {
		return v.again(err, c.membersPage)
	}
	id := removed.UserID
	if id == v.Caller.ID {
		return v.done("You left "+v.workspace.Name+".", "/")
	}
	if v.can(access.KeysRead) {
		clients, err := v.clients()
		if err != nil {
			return err
		}
		if known := knownTo(clients, id); len(known) > 0 {
			text := nounFor(len(known), "a machine client, which keeps working until you rotate it.", "machine clients, which keep working until you rotate them.")
			return v.redirectWith(flash{Kind: "warn", Text: "Member removed." + stranded(removed.ApprovalsWaiting) + " They know the secret of " + text}, v.path("keys")+"#clients")
		}
	}
	return v.done("Member removed."+stranded(removed.ApprovalsWaiting), v.membersPath())
}

// stranded describes the approvals that no remaining member can decide.
func stranded(n int) string {
	if n == 0 {
		return ""
	}
	return " " + nounFor(n, "1 approval waits", strconv.Itoa(n)+" approvals wait") + ": no one who is left can decide."
}

// leaveMembers redirects to the members, or to the home page if the visitor may no longer see them.
func (v *visit) leaveMembers(text string) error {
	held, err := v.console.Authority.Permissions(v.R.Context(), v.Caller.Actor, v.workspace.ID)
	if err != nil {
		return err
	}
	if !held.Has(access.MembersRead) {
		return v.done(text, v.path())
	}
	return v.done(text, v.membersPath())
}

// memberInput returns the member that a form is about.
func (v *visit) memberInput() workspace.MemberInput {
	return workspace.MemberInput{ID: v.workspace.ID, UserID: v.R.PathValue("userId")}
}

// membersPath returns the address of the member list, with its filter at the time a form was sent from it.
func (v *visit) membersPath() string {
	path := v.path("members")
	from, err := url.Parse(v.R.Referer())
	if err != nil || from.EscapedPath() != path || from.RawQuery == "" {
		return path
	}
	return path + "?" + from.RawQuery
}
