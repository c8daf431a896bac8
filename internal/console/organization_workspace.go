package console

import (
	"bursar/api"
	"bursar/internal/organization"
	"bursar/internal/workspace"
)

// newWorkspacePage creates a workspace. A visitor without workspaces is redirected to it.
type newWorkspacePage struct {
	Owned        []api.Organization
	Homeless     bool   // the visitor is in no workspace
	Organization string // id of the chosen one, empty for a new one
	NewName      string // of a new organization
	Name         string // of the workspace
}

func (c *Console) newWorkspacePage(v *visit) error {
	data, err := v.newWorkspaceData(v.R.URL.Query().Get("organization"))
	if err != nil {
		return err
	}
	return v.show("workspace_new", data.title(), data)
}

func (p newWorkspacePage) title() string {
	if p.Homeless {
		return "Welcome"
	}
	return "New workspace"
}

// newWorkspaceData finds the organizations in which the visitor can create a
// workspace.
func (v *visit) newWorkspaceData(chosen string) (newWorkspacePage, error) {
	list, err := read(v, v.console.Organizations.List, organization.ListInput{})
	if err != nil {
		return newWorkspacePage{}, err
	}
	data := newWorkspacePage{Homeless: len(v.workspaces) == 0}
	for _, o := range list.Rows() {
		if !v.owns(o.ID) {
			continue
		}
		if data.Owned = append(data.Owned, o); o.ID == chosen {
			data.Organization = chosen
		}
	}
	if len(data.Owned) > 0 && chosen == "" {
		data.Organization = data.Owned[0].ID
	}
	return data, nil
}

// inNew is the choice of a new organization.
const inNew = "new"

func (c *Console) createWorkspace(v *visit) error {
	id := v.field("organization")
	if id == inNew || id == "" {
		made, err := change(v, c.Organizations.Create, organization.CreateInput{OrganizationCreate: api.OrganizationCreate{Name: v.field("organization_name")}})
		if err != nil {
			return v.showNewWorkspace(err, inNew, "organization_name")
		}
		id = made.ID
		v.form.Set("once", "ws-"+v.form.Get("once"))
	}
	made, err := change(v, c.Workspaces.Create, workspace.CreateInput{WorkspaceCreate: api.WorkspaceCreate{Name: v.field("name"), OrganizationID: id}})
	if err != nil {
		return v.showNewWorkspace(err, id, "name")
	}
	return v.done(`Workspace "`+made.Name+`" created.`, workspacePath(made.ID))
}

// showNewWorkspace shows the form again. nameField is the form's field for the service's field name: that of the organization or of the
// workspace.
func (v *visit) showNewWorkspace(err error, organizationID, nameField string) error {
	p, status, ok := formProblems(err, "name")
	if !ok {
		return err
	}
	if text := p.Of("name"); text != "" {
		p.Fields = map[string]string{nameField: text} // the only field that can be wrong
	}
	data, failed := v.newWorkspaceData(organizationID)
	if failed != nil {
		return failed
	}
	data.NewName, data.Name = v.field("organization_name"), v.field("name")
	if data.Organization != "" { // it was created before the workspace failed
		data.NewName = ""
	}
	return v.showAgain(status, "workspace_new", data.title(), p, data)
}
