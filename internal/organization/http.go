package organization

import (
	"fmt"

	"bursar/api"
	"bursar/internal/fault"
	"bursar/internal/slug"
	"bursar/internal/web"
)

// ListInput selects the organizations of the caller.
type ListInput struct{ web.PageParams }

// CreateInput describes a new organization.
type CreateInput struct{ api.OrganizationCreate }

// Validate checks the organization without reading the database.
func (in *CreateInput) Validate(v *fault.Violations) { check(v, &in.Name, in.Slug) }

func check(v *fault.Violations, name, short *string) {
	web.CheckOptionalText(v, "name", name, 1, 100)
	slug.Check(v, "slug", short)
}

// GetInput identifies an organization.
type GetInput struct {
	ID string `path:"id"`
}

// OwnersInput selects the owners of an organization.
type OwnersInput struct {
	ID string `path:"id"`
	web.PageParams
}

// AddOwnerInput identifies an organization and its new owner.
type AddOwnerInput struct {
	ID string `path:"id"`
	api.OwnerAdd
}

// Validate checks the user without reading the database.
func (in *AddOwnerInput) Validate(v *fault.Violations) {
	web.CheckText(v, "user_id", in.UserID, 1, 100)
}

// OwnerInput identifies an owner of an organization.
type OwnerInput struct {
	ID     string `path:"id"`
	UserID string `path:"userId"`
}

// maxRetention is a hundred years, in days.
const maxRetention = 36500

// SettingsInput identifies an organization and the change of its settings.
type SettingsInput struct {
	ID string `path:"id"`
	api.SettingsUpdate
}

// Validate checks the change without reading the database.
func (in *SettingsInput) Validate(v *fault.Violations) {
	check(v, in.Name, in.Slug)
	if days := in.AuditRetentionDays; days != nil && (*days < 0 || *days > maxRetention) {
		v.Add("audit_retention_days", fmt.Sprintf("must be from 0 to %d", maxRetention))
	}
}
