package console

import (
	"bursar/api"
	"bursar/internal/organization"
	"bursar/internal/workspace"
)

// newWorkspacePage creates a workspace. A visitor without workspaces is redirected to it.
type newWorkspacePage struct {
	Owned    []choice // organizations in which the visitor can create a workspace
	Homeless bool     // the visitor is in no workspace
}

func (c *Console) newWorkspacePage(v *visit) error {
	list, err := read(v, c.Organizations.List, organization.ListInput{})
	if err != nil {
		return err
	}
	data := newWorkspacePage{Homeless: len(v.workspaces) == 0}
	for _, o := range list.Rows() {
		if v.owns(o.ID) {
			data.Owned = append(data.Owned, choice{Value: o.ID, Text: o.Name})
		}
	}
	chosen := v.R.URL.Query().Get("organization")
	switch _, owned := choose(data.Owned, chosen); {
	case owned:
		v.preset("organization", chosen)
	case chosen == "" && len(data.Owned) > 0:
		v.preset("organization", data.Owned[0].Value)
	}
	v.preset("organization", inNew)
	if data.Homeless {
		return v.show("workspace_new", "Welcome", data)
	}
	return v.show("workspace_new", "New workspace", data)
}

// inNew is the choice of a new organization.
const inNew = "new"

func (c *Console) createWorkspace(v *visit) error {
	id := v.field("organization")
	if id == inNew || id == "" {
		made, err := change(v, c.Organizations.Create, organization.CreateInput{OrganizationCreate: api.OrganizationCreate{Name: v.field("organization_name")}})
		if err != nil {
			return v.newWorkspaceAgain(err, "organization_name")
		}
		id = made.ID
		v.values.Set("organization", id) // it exists, even if the workspace fails
		v.values.Del("organization_name")
		v.form.Set("once", "ws-"+v.form.Get("once"))
	}
	made, err := change(v, c.Workspaces.Create, workspace.CreateInput{WorkspaceCreate: api.WorkspaceCreate{Name: v.field("name"), OrganizationID: id}})
	if err != nil {
		return v.newWorkspaceAgain(err, "name")
	}
	return v.done(`Workspace "`+made.Name+`" created.`, workspacePath(made.ID))
}

// newWorkspaceAgain shows the form again. nameField is the form's field for the service's field name: that of the organization or of the
// workspace.
func (v *visit) newWorkspaceAgain(err error, nameField string) error {
	p, status, ok := formProblems(err)
	if !ok {
		return err
	}
	p.move("name", nameField)
	return v.againWith(status, p, v.console.newWorkspacePage)
}
