package console_test

import (
	"net/http"
	"testing"

	"bursar/internal/browsertest"
)

// wrongKey sends the form for an API key with two mistakes.
func wrongKey(page *browsertest.Page) {
	page.ExpectStatus(http.StatusBadRequest)
	page.Eval(`document.querySelector("main form").noValidate = true`, nil)
	page.Fill("Allowed networks (optional)", "everywhere")
	page.ClickText("Create API key")
	page.WaitText("Please fix the highlighted fields: Name, Allowed networks")
}

func TestFirstWrongFieldGetsTheFocus(t *testing.T) {
	t.Parallel()
	n := start(t)
	for name, options := range map[string][]browsertest.Option{"with scripts": nil, "without scripts": {browsertest.WithoutScripts()}} {
		t.Run(name, func(t *testing.T) {
			page := open(t, n, adminEmail, "/keys/new", options...)
			wrongKey(page)
			page.WaitFocus("name")
			page.ClickText("Allowed networks")
			page.Press("Tab") // following the link changes where the next Tab starts
			page.Accessible("a form with problems")
		})
	}
}

func TestSummaryNamesTheFieldsOfTheRightForm(t *testing.T) {
	t.Parallel()
	n := start(t)
	page := open(t, n, adminEmail, "/organization")
	page.ExpectStatus(http.StatusBadRequest)
	page.Eval(`document.querySelectorAll("main form").forEach((form) => { form.noValidate = true; })`, nil)
	page.Fill("Workspace name", " ")
	page.Fill("Workspace slug", "No Slug")
	page.ClickText("Save workspace")
	page.WaitText("Please fix the highlighted fields: Workspace name, Workspace slug")
	page.WaitFocus("workspace-name")
	if page.Has("#organization-name[aria-invalid]") {
		t.Error("the other form is marked as wrong")
	}
	page.Accessible("organization with problems")
	page.Shoot("organization-wrong")
}

func TestFieldsAppearWithTheirChoice(t *testing.T) {
	t.Parallel()
	n := start(t)
	for name, options := range map[string][]browsertest.Option{"with scripts": nil, "without scripts": {browsertest.WithoutScripts()}} {
		t.Run(name, func(t *testing.T) {
			page := open(t, n, adminEmail, "/keys/new", options...)
			page.WaitGone("Last day")
			page.Select("Expires", "On a date")
			page.WaitText("Last day")
			page.Goto(n.PublicURL + "/workspaces/new")
			page.WaitGone("Organization name")
			page.Select("Organization", "A new organization")
			page.WaitText("Organization name")
		})
	}
}
