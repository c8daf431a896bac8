package console

import (
	"bursar/internal/audit"
	"bursar/internal/workspace"
)

func (c *Console) invitationRoutes() []Route {
	return []Route{
		c.get("/invitations", c.inLastWorkspace(c.invitationsPage)),
		c.post("/invitations/{id}/accept", audit.MemberAccepted, c.acceptInvitation),
		c.post("/invitations/{id}/decline", audit.MemberDeclined, c.declineInvitation),
	}
}

// invitationsPath is the page where a visitor answers their invitations.
const invitationsPath = "/invitations"

func (c *Console) invitationsPage(v *visit) error {
	list, err := read(v, c.Workspaces.Invitations, workspace.InvitationsInput{})
	if err != nil {
		return err
	}
	return v.show("invitations", "Invitations", list.Rows())
}

func (c *Console) acceptInvitation(v *visit) error {
	accepted, err := change(v, c.Workspaces.AcceptInvitation, v.invitationInput())
	if err != nil {
		return v.answeredBefore(err)
	}
	return v.redirect(workspacePath(accepted.WorkspaceID))
}

func (c *Console) declineInvitation(v *visit) error {
	if _, err := change(v, c.Workspaces.DeclineInvitation, v.invitationInput()); err != nil {
		return v.answeredBefore(err)
	}
	return v.done("Invitation declined.", invitationsPath)
}

// answeredBefore redirects from an invitation that has ended to the list.
func (v *visit) answeredBefore(err error) error {
	if !gone(err) {
		return err
	}
	return v.redirectWith(flash{Kind: "warn", Text: "This invitation has been answered or withdrawn, or has expired."}, invitationsPath)
}

func (v *visit) invitationInput() workspace.InvitationInput {
	return workspace.InvitationInput{ID: v.R.PathValue("id")}
}
