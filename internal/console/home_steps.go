package console

import (
	"slices"
	"strings"
	"time"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/identity"
)

// step is one of the tasks that set up a workspace.
type step struct {
	Title, Text, Path, Label string
	Done                     bool
}

// firstSteps lists the tasks that set up a workspace, for a visitor who may set it up. It is empty once all are done or the visitor has
// dismissed the list.
func (v *visit) firstSteps(payees, members int, keys []api.APIKey) []step {
	if slices.Contains(v.dismissedSteps(), v.workspace.ID) {
		return nil
	}
	var steps []step
	if v.can(access.DirectoryRead) && v.can(access.DirectoryWrite) {
		steps = append(steps, step{
			Title: "Add a payee", Text: "Someone you pay: a person or an organization.",
			Path: v.path("directory", "new"), Label: "Add", Done: payees > 0,
		})
	}
	if v.can(access.MembersRead) && v.can(access.MembersWrite) {
		steps = append(steps, step{
			Title: "Invite a colleague", Text: "Choose a role that covers what they need to do.",
			Path: v.path("members"), Label: "Invite", Done: members > 1,
		})
	}
	if len(steps) == 0 {
		return nil
	}
	steps = append(steps, step{
		Title: "Create an API key", Text: "For scripts and programs that act on your behalf.",
		Path: v.path("keys", "new"), Label: "Create", Done: slices.ContainsFunc(keys, madeByPerson),
	})
	if !slices.ContainsFunc(steps, func(s step) bool { return !s.Done }) {
		return nil
	}
	return steps
}

// madeByPerson reports whether a person created the key, and not the setup of the store.
func madeByPerson(key api.APIKey) bool { return key.Name != identity.SetupKeyName }

const (
	// stepsCookie contains the workspaces whose first steps were dismissed in this browser, separated by dots. It only affects the look of
	// a page, so the server does not store it.
	stepsCookie = "bursar_steps"
	// maxDismissed is the maximum number of workspaces in that cookie. The oldest workspace is dropped.
	maxDismissed = 20
)

func (v *visit) dismissedSteps() []string {
	return strings.FieldsFunc(v.cookie(stepsCookie), func(r rune) bool { return r == '.' })
}

// dismissSteps hides the first steps of the workspace in this browser.
func (c *Console) dismissSteps(v *visit) error {
	ids := append(slices.DeleteFunc(v.dismissedSteps(), func(id string) bool { return id == v.workspace.ID }), v.workspace.ID)
	ids = ids[max(0, len(ids)-maxDismissed):]
	v.setCookie(stepsCookie, strings.Join(ids, "."), 365*24*time.Hour)
	return v.redirect(v.path())
}
