package console

import (
	"net/url"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/audit"
	"bursar/internal/web"
)

func (c *Console) invite(v *visit) error {
	added, err := act(v, audit.MemberAdded, c.Workspaces.AddMember, web.Args{
		Path: map[string]string{"id": v.workspace.ID},
		Body: map[string]any{"email": v.field("email"), "role": v.field("role")},
	})
	if err != nil {
		return v.showMembers(err, "email", "role")
	}
	if added.InvitationURL == "" {
		return v.done(added.Email+" joined the workspace as "+v.roleName(added.Role)+".", v.membersPath())
	}
	return v.tellInvitation(added)
}

func (c *Console) reinvite(v *visit) error {
	again, err := act(v, audit.MemberInvited, c.Workspaces.Reinvite, web.Args{Path: v.memberPath()})
	if err != nil {
		return v.showMembers(err)
	}
	return v.tellInvitation(again)
}

// tellInvitation shows the link of an invitation, once.
func (v *visit) tellInvitation(m api.MemberAdded) error {
	note := "Send it to them yourself. It's shown only once, works once and expires in 7 days."
	if v.console.SignIn.Recovers() {
		note = "We've also emailed a link to " + m.Email + ". This one is shown only once, works once and expires in 7 days."
	}
	if err := v.tell(flash{
		Kind: "good", Text: m.Email + " has been invited.",
		Secret: &secret{Label: "Invitation link for " + m.Email, Value: m.InvitationURL, Note: note},
	}); err != nil {
		return err
	}
	return v.redirect(v.membersPath())
}

func (c *Console) assignRole(v *visit) error {
	given, err := act(v, audit.MemberRoleAssigned, c.Workspaces.Assign, web.Args{
		Path: map[string]string{"id": v.workspace.ID},
		Body: map[string]any{"user_id": v.R.PathValue("id"), "role": v.field("role")},
	})
	if err != nil {
		return v.showMembers(err)
	}
	return v.done(`Role "`+v.roleName(given.Role)+`" added.`, v.membersPath())
}

func (c *Console) removeRole(v *visit) error {
	path := v.memberPath()
	path["role"] = v.R.PathValue("role")
	name := v.roleName(path["role"])
	if _, err := act(v, audit.MemberRoleRemoved, c.Workspaces.Unassign, web.Args{Path: path}); err != nil {
		return v.showMembers(err)
	}
	return v.leaveMembers(`Role "` + name + `" removed.`)
}

func (c *Console) removeMember(v *visit) error {
	if _, err := act(v, audit.MemberRemoved, c.Workspaces.RemoveMember, web.Args{Path: v.memberPath()}); err != nil {
		return v.showMembers(err)
	}
	if v.R.PathValue("id") == v.Caller.ID {
		return v.done("You left "+v.workspace.Name+".", "/")
	}
	return v.done("Member removed.", v.membersPath())
}

// leaveMembers goes back to the members, or to the home page if the visitor may no
// longer see them.
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

// memberPath is the path parameters of the member that a form is about.
func (v *visit) memberPath() map[string]string {
	return map[string]string{"id": v.workspace.ID, "userId": v.R.PathValue("id")}
}

// membersPath is the address of the member list, with the filter that it had when a
// form was sent from it.
func (v *visit) membersPath() string {
	path := v.path("members")
	from, err := url.Parse(v.R.Referer())
	if err != nil || from.EscapedPath() != path || from.RawQuery == "" {
		return path
	}
	return path + "?" + from.RawQuery
}
