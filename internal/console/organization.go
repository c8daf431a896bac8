package console

import (
	"net/http"
	"slices"
	"strconv"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/approval"
	"bursar/internal/audit"
	"bursar/internal/organization"
	"bursar/internal/workspace"
)

func (c *Console) organizationRoutes() []Route {
	settings := func(v *visit) string { return v.path("organization") }
	return []Route{
		c.getIn("/organization", c.organizationPage),
		c.postIn("/organization", audit.OrganizationSettingsUpdated, c.updateOrganization),
		c.postIn("/organization/second-factor", audit.OrganizationSettingsUpdated, c.recentForm(settings, c.demandFactor)),
		c.postIn("/organization/audit-retention", audit.OrganizationSettingsUpdated, c.recentForm(settings, c.retainAudit)),
		c.postIn("/organization/workspace", audit.WorkspaceUpdated, c.updateWorkspace),
		c.postIn("/organization/owners", audit.OwnerAdded, c.recentForm(settings, c.addOwner)),
		c.postIn("/organization/owners/{userId}/remove", audit.OwnerRemoved, c.recentForm(settings, c.removeOwner)),
		c.postIn("/organization/suspended/{id}/confirm", audit.OwnerReinstated, c.recentForm(settings, c.confirmOwner)),
		c.postIn("/organization/suspended/{id}/remove", audit.OwnerRemoved, c.recentForm(settings, c.removeSuspendedOwner)),
		c.getIn("/organization/leaver", c.recentForm(settings, c.leaverPage)),
		c.postIn("/organization/leaver", audit.LeaverRemoved, c.recentForm(func(v *visit) string { return v.path("organization", "leaver") }, c.removeLeaver)),
		c.get("/workspaces/new", c.inLastWorkspace(c.newWorkspacePage)),
		c.post("/workspaces/new", audit.WorkspaceCreated, c.inLastWorkspace(c.createWorkspace)),
	}
}

// organizationPage is the organization of a workspace, and the workspace itself.
type organizationPage struct {
	api.Organization
	Owner      bool            // the visitor owns the organization
	Siblings   []api.Workspace // the visitor's workspaces in the organization
	MayDemand  bool            // the visitor has used a second factor
	Owners     []api.User
	Suspended  []api.SuspendedOwner // owners who came through a compromised API key
	Candidates []api.Member         // visible members who can become an owner
	Policy     api.ReceivingPolicy  // how the workspace protects changes of receiving methods
}

func (c *Console) organizationPage(v *visit) error {
	data, err := v.organizationData()
	if err != nil {
		return err
	}
	v.preset("organization-name", data.Name)
	v.preset("organization-slug", data.Slug)
	v.preset("workspace-name", v.workspace.Name)
	v.preset("workspace-slug", v.workspace.Slug)
	v.preset("on_duplicate", v.workspace.OnDuplicate)
	v.preset("receiving_approval", data.Policy.ReceivingApproval)
	v.presetNumber("receiving_cooling_hours", data.Policy.ReceivingCoolingHours)
	v.presetNumber("second_person_hours", data.Policy.SecondPersonHours)
	if days := data.AuditRetentionDays; days > 0 {
		v.presetNumber("audit_retention_days", &days)
	}
	return v.show("organization", "Organization", data)
}

// presetNumber presets a number that may not be set.
func (v *visit) presetNumber(name string, n *int64) {
	if n != nil {
		v.preset(name, strconv.FormatInt(*n, 10))
	}
}

func (v *visit) organizationData() (organizationPage, error) {
	id := v.workspace.OrganizationID
	org, err := read(v, v.console.Organizations.Get, organization.GetInput{ID: id})
	if err != nil {
		return organizationPage{}, err
	}
	data := organizationPage{Organization: org, Owner: v.owns(id), MayDemand: !v.Caller.OneFactor}
	for _, w := range v.workspaces {
		if w.OrganizationID == id {
			data.Siblings = append(data.Siblings, w)
		}
	}
	if v.can(access.WSRead) {
		if data.Policy, err = read(v, v.console.Approvals.Policy, approval.PolicyInput{ID: v.workspace.ID}); err != nil {
			return organizationPage{}, err
		}
	}
	owners, err := read(v, v.console.Organizations.Owners, organization.OwnersInput{ID: id})
	if err != nil {
		return organizationPage{}, err
	}
	data.Owners = owners.Rows()
	suspended, err := read(v, v.console.Organizations.SuspendedOwners, organization.OwnersInput{ID: id})
	if err != nil {
		return organizationPage{}, err
	}
	data.Suspended = suspended.Rows()
	if !data.Owner || !v.can(access.MembersRead) {
		return data, nil
	}
	members, err := v.members()
	data.Candidates = slices.DeleteFunc(members, func(m api.Member) bool {
		return isMachine(m) || m.Status != "active" || slices.ContainsFunc(data.Owners, func(o api.User) bool { return o.ID == m.ID })
	})
	return data, err
}

func (c *Console) addOwner(v *visit) error {
	_, err := submit(v, c.Organizations.AddOwner, organization.AddOwnerInput{ID: v.workspace.OrganizationID})
	return v.doneWithOwners(err, "Owner added.")
}

func (c *Console) removeOwner(v *visit) error {
	_, err := change(v, c.Organizations.RemoveOwner, organization.OwnerInput{ID: v.workspace.OrganizationID, UserID: v.R.PathValue("userId")})
	return v.doneWithOwners(err, "Owner removed.")
}

func (c *Console) confirmOwner(v *visit) error {
	_, err := change(v, c.Organizations.ConfirmOwner, v.ownerSuspension())
	return v.doneWithOwners(err, "Owner confirmed.")
}

func (c *Console) removeSuspendedOwner(v *visit) error {
	_, err := change(v, c.Organizations.RemoveSuspendedOwner, v.ownerSuspension())
	return v.doneWithOwners(err, "Owner removed.")
}

func (v *visit) ownerSuspension() organization.SuspensionInput {
	return organization.SuspensionInput{ID: v.workspace.OrganizationID, SuspensionID: v.R.PathValue("id")}
}

// doneWithOwners shows the organization, again with the problems of a form if there are any.
func (v *visit) doneWithOwners(err error, text string) error {
	if err != nil {
		return v.again(err, v.console.organizationPage)
	}
	return v.done(text, v.path("organization"))
}

// owns reports whether the visitor may change an organization. It only decides what the page offers. The service checks again.
func (v *visit) owns(organizationID string) bool {
	return v.console.Authority.RequireInOrganization(v.R.Context(), v.Caller.Actor, organizationID, access.OrgSettingsWrite) == nil
}

func (c *Console) updateOrganization(v *visit) error {
	_, err := submit(v, c.Organizations.UpdateSettings, organization.SettingsInput{
		ID: v.workspace.OrganizationID, SettingsUpdate: api.SettingsUpdate{Name: new(""), Slug: new("")},
	})
	if err != nil {
		return v.organizationAgain(err, "organization-")
	}
	return v.done("Organization saved.", v.path("organization"))
}

func (c *Console) demandFactor(v *visit) error {
	demand := v.field("demand") == "yes"
	_, err := change(v, c.Organizations.UpdateSettings, organization.SettingsInput{
		ID: v.workspace.OrganizationID, SettingsUpdate: api.SettingsUpdate{RequireSecondFactor: &demand},
	})
	if err != nil {
		return err
	}
	if demand {
		return v.done("The organization now demands a second factor.", v.path("organization"))
	}
	return v.done("The organization no longer demands a second factor.", v.path("organization"))
}

// retainAudit changes how long the organization keeps its audit log.
func (c *Console) retainAudit(v *visit) error {
	_, err := submit(v, c.Organizations.UpdateSettings, organization.SettingsInput{
		ID: v.workspace.OrganizationID, SettingsUpdate: api.SettingsUpdate{AuditRetentionDays: new(int64(0))},
	})
	if err != nil {
		return v.again(err, c.organizationPage)
	}
	return v.done("Audit log retention saved.", v.path("organization"))
}

func (c *Console) updateWorkspace(v *visit) error {
	_, err := submit(v, c.Workspaces.Update, workspace.UpdateInput{
		ID: v.workspace.ID, WorkspaceUpdate: api.WorkspaceUpdate{Name: new(""), Slug: new("")},
	})
	if err != nil {
		return v.organizationAgain(err, "workspace-")
	}
	return v.done("Workspace saved.", v.path("organization"))
}

// organizationAgain shows the page again, with the typed values and the problems of one of its two forms for a name and a slug. The prefix
// distinguishes their inputs.
func (v *visit) organizationAgain(err error, prefix string) error {
	p, status, ok := formProblems(err)
	if !ok {
		return err
	}
	if hasCode(err, api.CodeSlugTaken) {
		p, status = problem("slug", p.Text), http.StatusUnprocessableEntity
	}
	for _, name := range []string{"name", "slug"} {
		p.move(name, prefix+name)
		v.values[prefix+name] = v.form[name]
	}
	return v.againWith(status, p, v.console.organizationPage)
}
