package console

import (
	"net/http"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/leaver"
)

// leaverPage is the checklist of a person who leaves.
type leaverPage struct{ *api.Leaver }

// Blocked reports whether the person cannot be removed yet.
func (p leaverPage) Blocked() bool { return p.LastOwner || len(p.LastAdminOf) > 0 }

func (c *Console) leaverPage(v *visit) error {
	if err := c.Authority.RequireInOrganization(v.R.Context(), v.Caller.Actor, v.workspace.OrganizationID, access.OrgSettingsWrite); err != nil {
		return err
	}
	email := v.R.URL.Query().Get("email")
	v.preset("email", email)
	if email == "" {
		return v.showLeaver(nil)
	}
	list, err := read(v, c.Leavers.Remove, v.leaverInput(email, true))
	if err != nil {
		return v.leaverAgain(err)
	}
	return v.showLeaver(&list)
}

// showLeaver shows the form that asks who leaves, and the checklist of a person.
func (v *visit) showLeaver(list *api.Leaver) error {
	return v.show("organization_leaver", "Remove a person everywhere", leaverPage{list})
}

func (c *Console) removeLeaver(v *visit) error {
	done, err := change(v, c.Leavers.Remove, v.leaverInput(v.field("email"), false))
	if err != nil {
		return v.leaverAgain(err)
	}
	text := done.Email + " was removed from the organization and all its workspaces."
	if done.UserID == v.Caller.ID {
		return v.done(text, "/")
	}
	return v.done(text, v.path("organization"))
}

func (v *visit) leaverInput(email string, dryRun bool) leaver.RemoveInput {
	return leaver.RemoveInput{ID: v.workspace.OrganizationID, LeaverRemove: api.LeaverRemove{Email: &email, DryRun: dryRun}}
}

// leaverAgain shows the form again, with its problems.
func (v *visit) leaverAgain(err error) error {
	page := func(v *visit) error { return v.showLeaver(nil) }
	if gone(err) {
		return v.againWith(http.StatusUnprocessableEntity, problem("email", "No one with this address is in the organization."), page)
	}
	return v.again(err, page)
}
