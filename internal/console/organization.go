package console

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"strconv"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/approval"
	"bursar/internal/audit"
	"bursar/internal/fault"
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
	Organization namedForm
	Workspace    namedForm
	Owner        bool            // the visitor owns the organization
	Siblings     []api.Workspace // the visitor's workspaces in the organization
	ID           string          // id of the organization
	Demands      bool            // the organization requires a second factor
	MayDemand    bool            // the visitor has used a second factor
	Retention    int64           // days after which the audit log is erased, 0 for never
	Days         string          // the same in its field, or the typed value
	Owners       []api.User
	Suspended    []api.SuspendedOwner // owners who came through a compromised API key
	Candidates   []api.Member         // visible members who can become an owner
	Policy       policyForm
}

// policyForm is how the workspace protects changes of receiving methods.
type policyForm struct {
	api.ReceivingPolicy
	Typed string // the hours in their field, empty if not set
	// TypedDemand is the number of hours that the demand outlives the last second person.
	TypedDemand string
}

// namedForm is a form for a name and a slug, and in a workspace for the handling of duplicates.
type namedForm struct{ Name, Slug, OnDuplicate string }

func (c *Console) organizationPage(v *visit) error {
	data, err := v.organizationData()
	if err != nil {
		return err
	}
	return v.show("organization", "Organization", data)
}

func (v *visit) organizationData() (organizationPage, error) {
	id := v.workspace.OrganizationID
	org, err := read(v, v.console.Organizations.Get, organization.GetInput{ID: id})
	if err != nil {
		return organizationPage{}, err
	}
	data := organizationPage{
		ID: id, Owner: v.owns(id), Demands: org.RequireSecondFactor, MayDemand: !v.Caller.OneFactor,
		Retention:    org.AuditRetentionDays,
		Organization: namedForm{Name: org.Name, Slug: org.Slug},
		Workspace:    namedForm{v.workspace.Name, v.workspace.Slug, v.workspace.OnDuplicate},
	}
	if data.Retention > 0 {
		data.Days = strconv.FormatInt(data.Retention, 10)
	}
	for _, w := range v.workspaces {
		if w.OrganizationID == id {
			data.Siblings = append(data.Siblings, w)
		}
	}
	if v.can(access.WSRead) {
		if data.Policy.ReceivingPolicy, err = read(v, v.console.Approvals.Policy, approval.PolicyInput{ID: v.workspace.ID}); err != nil {
			return organizationPage{}, err
		}
		if hours := data.Policy.SecondPersonHours; hours != nil {
			data.Policy.TypedDemand = strconv.FormatInt(*hours, 10)
		}
		if hours := data.Policy.ReceivingCoolingHours; hours != nil { // otherwise saving the form would set an unset value
			data.Policy.Typed = strconv.FormatInt(*hours, 10)
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
	_, err := change(v, c.Organizations.AddOwner, organization.AddOwnerInput{
		ID: v.workspace.OrganizationID, OwnerAdd: api.OwnerAdd{UserID: v.field("user_id")},
	})
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

// doneWithOwners shows the organization again, with the problems of a form.
func (v *visit) doneWithOwners(err error, text string) error {
	if err == nil {
		return v.done(text, v.path("organization"))
	}
	p, status, ok := formProblems(err, "user_id")
	if !ok {
		return err
	}
	data, failed := v.organizationData()
	if failed != nil {
		return failed
	}
	return v.showAgain(status, "organization", "Organization", p, data)
}

// owns reports whether the visitor may change an organization. It only decides what the page offers. The service checks again.
func (v *visit) owns(organizationID string) bool {
	return v.console.Authority.RequireInOrganization(v.R.Context(), v.Caller.Actor, organizationID, access.OrgSettingsWrite) == nil
}

func (c *Console) updateOrganization(v *visit) error {
	_, err := change(v, c.Organizations.UpdateSettings, organization.SettingsInput{
		ID: v.workspace.OrganizationID, SettingsUpdate: api.SettingsUpdate{Name: new(v.field("name")), Slug: new(v.field("slug"))},
	})
	if err != nil {
		return v.showOrganization(err, "organization-", func(p *organizationPage) *namedForm { return &p.Organization })
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
	typed := v.field("audit_retention_days")
	n, err := strconv.ParseInt(cmp.Or(typed, "0"), 10, 64)
	if err != nil {
		err = fault.Invalid("audit_retention_days", "must be a number of days")
	} else {
		_, err = change(v, c.Organizations.UpdateSettings, organization.SettingsInput{
			ID: v.workspace.OrganizationID, SettingsUpdate: api.SettingsUpdate{AuditRetentionDays: &n},
		})
	}
	if err == nil {
		return v.done("Audit log retention saved.", v.path("organization"))
	}
	p, status, ok := formProblems(err, "audit_retention_days")
	if !ok {
		return err
	}
	data, failed := v.organizationData()
	if failed != nil {
		return failed
	}
	data.Days = typed
	return v.showAgain(status, "organization", "Organization", p, data)
}

func (c *Console) updateWorkspace(v *visit) error {
	_, err := change(v, c.Workspaces.Update, workspace.UpdateInput{
		ID:              v.workspace.ID,
		WorkspaceUpdate: api.WorkspaceUpdate{Name: new(v.field("name")), Slug: new(v.field("slug")), OnDuplicate: optional(v.field("on_duplicate"))},
	})
	if err != nil {
		return v.showOrganization(err, "workspace-", func(p *organizationPage) *namedForm { return &p.Workspace })
	}
	return v.done("Workspace saved.", v.path("organization"))
}

// showOrganization shows the page again, with the typed values and the problems of one of its two forms. The prefix distinguishes the
// forms' fields.
func (v *visit) showOrganization(err error, prefix string, which func(*organizationPage) *namedForm) error {
	p, status, ok := slugProblems(err)
	if !ok {
		return err
	}
	data, failed := v.organizationData()
	if failed != nil {
		return failed
	}
	*which(&data) = namedForm{v.field("name"), v.field("slug"), v.field("on_duplicate")}
	return v.showAgain(status, "organization", "Organization", p.prefixed(prefix), data)
}

// slugProblems is formProblems for a form with a name and a slug. A taken slug is a problem of its field.
func slugProblems(err error) (problems, int, bool) {
	var f *fault.Fault
	if errors.As(err, &f) && f.Code == api.CodeSlugTaken {
		return problems{Fields: map[string]string{"slug": sentence(f.Message)}}, http.StatusUnprocessableEntity, true
	}
	return formProblems(err, "name", "slug")
}
