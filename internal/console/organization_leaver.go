package console

import (
	"errors"
	"net/http"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/fault"
	"bursar/internal/leaver"
)

// leaverPage is the form that asks who leaves, and the checklist of a person.
type leaverPage struct {
	Email string // as typed
	*api.Leaver
}

// Blocked reports whether the person cannot be removed yet.
func (p leaverPage) Blocked() bool { return p.LastOwner || len(p.LastAdminOf) > 0 }

func (c *Console) leaverPage(v *visit) error {
	if err := c.Authority.RequireInOrganization(v.R.Context(), v.Caller.Actor, v.workspace.OrganizationID, access.OrgSettingsWrite); err != nil {
		return err
	}
	email := v.R.URL.Query().Get("email")
	if email == "" {
		return v.show("organization_leaver", "Remove a person everywhere", leaverPage{})
	}
	list, err := read(v, c.Leavers.Remove, v.leaverInput(email, true))
	if err != nil {
		return v.showLeaver(err, email)
	}
	return v.show("organization_leaver", "Remove a person everywhere", leaverPage{email, &list})
}

func (c *Console) removeLeaver(v *visit) error {
	email := v.field("email")
	done, err := change(v, c.Leavers.Remove, v.leaverInput(email, false))
	if err != nil {
		return v.showLeaver(err, email)
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

// showLeaver shows the form again, with its problems.
func (v *visit) showLeaver(err error, email string) error {
	p, status, ok := notFoundProblem(err, "email", "No one with this address is in the organization.")
	if !ok {
		if p, status, ok = formProblems(err, "email"); !ok {
			return err
		}
	}
	return v.showAgain(status, "organization_leaver", "Remove a person everywhere", p, leaverPage{Email: email})
}

// notFoundProblem is formProblems for a field that names what was not found.
func notFoundProblem(err error, field, text string) (problems, int, bool) {
	var f *fault.Fault
	if !errors.As(err, &f) || f.Code != api.CodeNotFound {
		return problems{}, 0, false
	}
	return problems{Fields: map[string]string{field: text}, order: []string{field}}, http.StatusUnprocessableEntity, true
}
