package console

import (
	"bursar/internal/approval"
)

// vacancies lists where the last second person has left, or one person has added an approver. It covers the visitor's workspace and, for an
// owner, its organization.
func (v *visit) vacancies() ([]approval.Vacancy, error) {
	return v.console.Approvals.Vacancies(v.R.Context(), v.Caller, v.workspace.ID)
}

// extendSecondPerson extends how long a workspace of the organization requires a second person.
func (c *Console) extendSecondPerson(v *visit) error {
	id := v.field("workspace_id")
	if id == "" {
		id = v.workspace.ID
	}
	done, err := change(v, c.Approvals.Extend, approval.ExtendInput{ID: id})
	if err != nil {
		return err
	}
	text := "Extended by 72 hours."
	if !done.Extended {
		text = "There is nothing to extend."
	}
	return v.done(text, v.path("approvals"))
}
