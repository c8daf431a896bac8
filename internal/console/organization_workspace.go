package console

import (
	"bursar/api"
	"bursar/internal/audit"
	"bursar/internal/web"
)

// newWorkspacePage makes a workspace. It is also where somebody comes who is in
// none.
type newWorkspacePage struct {
	Owned        []api.Organization
	Homeless     bool   // in no workspace
	Organization string // the chosen one, empty for a new one
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

// newWorkspaceData finds which organizations a workspace can be made in.
func (v *visit) newWorkspaceData(chosen string) (newWorkspacePage, error) {
	rooms, err := ask(v, v.console.Workspaces.List, web.Args{})
	if err != nil {
		return newWorkspacePage{}, err
	}
	list, err := ask(v, v.console.Organizations.List, web.Args{})
	if err != nil {
		return newWorkspacePage{}, err
	}
	data := newWorkspacePage{Homeless: len(rooms.Rows()) == 0}
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

// inNew is the choice of an organization that is yet to be made.
const inNew = "new"

func (c *Console) createWorkspace(v *visit) error {
	id := v.field("organization")
	if id == inNew || id == "" {
		made, err := act(v, audit.OrganizationCreated, c.Organizations.Create, web.Args{Body: map[string]any{"name": v.field("organization_name")}})
		if err != nil {
			return v.showNewWorkspace(err, inNew, "organization_name")
		}
		id = made.ID
		v.form.Set("once", "ws-"+v.form.Get("once"))
	}
	made, err := act(v, audit.WorkspaceCreated, c.Workspaces.Create, web.Args{
		Body: map[string]any{"name": v.field("name"), "organization_id": id},
	})
	if err != nil {
		return v.showNewWorkspace(err, id, "name")
	}
	return v.done(`Workspace "`+made.Name+`" created.`, workspacePath(made.ID))
}

// showNewWorkspace shows the form again. What the service calls the name is that
// of the organization or of the workspace.
func (v *visit) showNewWorkspace(err error, organizationID, nameField string) error {
	p, status, ok := mend(err, "name")
	if !ok {
		return err
	}
	if text := p.Of("name"); text != "" {
		p.Fields = map[string]string{nameField: text}
	}
	data, failed := v.newWorkspaceData(organizationID)
	if failed != nil {
		return failed
	}
	data.NewName, data.Name = v.field("organization_name"), v.field("name")
	if data.Organization != "" { // it exists by now
		data.NewName = ""
	}
	return v.showAgain(status, "workspace_new", data.title(), p, data)
}
