package console

import (
	"cmp"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/audit"
	"bursar/internal/identity"
	"bursar/internal/workspace"
)

func (c *Console) suspendedRoutes() []Route {
	list := func(v *visit) string { return v.path("members", "suspended") }
	return []Route{
		c.getIn("/members/suspended", c.suspendedPage),
		c.postIn("/members/suspended/{id}/confirm", audit.MemberReinstated, c.recentForm(list, c.confirmSuspended)),
		c.postIn("/members/suspended/{id}/remove", audit.MemberRemoved, c.removeSuspended),
		c.postIn("/keys/{id}/compromised", audit.KeyRevoked, c.reportKey),
	}
}

// suspendedRow is access that was granted with a compromised API key.
type suspendedRow struct {
	api.SuspendedAccess
	Held []api.Role
	Self bool
}

// Called returns the best single name for the person with the access.
func (r suspendedRow) Called() string { return cmp.Or(r.Name, r.Email, r.UserID) }

func (c *Console) suspendedPage(v *visit) error {
	list, err := read(v, c.Workspaces.SuspendedAccess, workspace.MembersInput{ID: v.workspace.ID})
	if err != nil {
		return err
	}
	roles, err := v.roles()
	if err != nil {
		return err
	}
	var rows []suspendedRow
	for _, one := range list.Rows() {
		row := suspendedRow{SuspendedAccess: one, Self: one.UserID == v.Caller.ID}
		for _, key := range one.Roles {
			row.Held = append(row.Held, roleCalled(roles, key))
		}
		rows = append(rows, row)
	}
	return v.show("members_suspended", "Suspended access", rows)
}

func (c *Console) confirmSuspended(v *visit) error {
	if _, err := change(v, c.Workspaces.ConfirmSuspended, v.suspensionInput()); err != nil {
		return v.decidedBefore(err)
	}
	return v.done("Access confirmed. It is in force again.", v.path("members", "suspended"))
}

func (c *Console) removeSuspended(v *visit) error {
	if _, err := change(v, c.Workspaces.RemoveSuspended, v.suspensionInput()); err != nil {
		return v.decidedBefore(err)
	}
	return v.done("Access removed.", v.path("members", "suspended"))
}

// decidedBefore redirects to the list from access that another admin has already decided.
func (v *visit) decidedBefore(err error) error {
	if !gone(err) {
		return err
	}
	return v.redirectWith(flash{Kind: "warn", Text: "Another admin has already decided about this."}, v.path("members", "suspended"))
}

func (v *visit) suspensionInput() workspace.SuspensionInput {
	return workspace.SuspensionInput{ID: v.workspace.ID, SuspensionID: v.R.PathValue("id")}
}

func (c *Console) reportKey(v *visit) error {
	report, err := change(v, c.Identity.RevokeCompromisedKey, identity.KeyInput{ID: v.R.PathValue("id")})
	if err != nil {
		return err
	}
	text := "API key revoked. Nothing else came through it."
	if int64(len(report.SuspendedOwners))+report.SuspendedCount+report.InvitationsEnded > 0 {
		text = "API key revoked. The members and roles that came through it are suspended until an admin confirms or removes them, and owners until an owner does. " +
			"Invitations made with it have ended."
	}
	if v.can(access.AuditRead) { // the log of its use
		return v.done(text, auditFilter{KeyID: report.ID}.address(v.path("audit")))
	}
	return v.done(text, v.path("keys"))
}
