package workspace

import (
	"regexp"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/fault"
	"bursar/internal/slug"
	"bursar/internal/web"
)

// ListInput selects the workspaces of the caller.
type ListInput struct{ web.PageParams }

// GetInput identifies a workspace.
type GetInput struct {
	ID string `path:"id"`
}

// CreateInput describes a new workspace.
type CreateInput struct{ api.WorkspaceCreate }

// Validate checks the workspace without reading the database.
func (in *CreateInput) Validate(v *fault.Violations) {
	web.CheckText(v, "name", in.Name, 1, 100)
	web.CheckText(v, "organization_id", in.OrganizationID, 1, 100)
	slug.Check(v, "slug", in.Slug)
}

// UpdateInput identifies a workspace and its change.
type UpdateInput struct {
	ID string `path:"id"`
	api.WorkspaceUpdate
}

// Validate checks the change without reading the database.
func (in *UpdateInput) Validate(v *fault.Violations) {
	web.CheckOptionalText(v, "name", in.Name, 1, 100)
	slug.Check(v, "slug", in.Slug)
	web.CheckOneOf(v, "on_duplicate", in.OnDuplicate, api.OnDuplicates()...)
}

// MembersInput selects the members or the roles of a workspace.
type MembersInput struct {
	ID string `path:"id"`
	web.PageParams
}

// AddMemberInput identifies a workspace and its new member.
type AddMemberInput struct {
	ID string `path:"id"`
	api.MemberAdd
}

// Validate checks the address and the role without reading the database.
func (in *AddMemberInput) Validate(v *fault.Violations) {
	web.CheckEmail(v, "email", in.Email)
	web.CheckText(v, "role", in.Role, 1, 48)
}

// MemberInput identifies a member of a workspace, by the id of the user or of the invitation.
type MemberInput struct {
	ID     string `path:"id"`
	UserID string `path:"userId"`
}

// InvitationsInput selects the invitations of the caller.
type InvitationsInput struct{ web.PageParams }

// InvitationInput identifies an invitation of the caller.
type InvitationInput struct {
	ID string `path:"id"`
}

// AssignInput identifies a workspace, a member and the role to assign.
type AssignInput struct {
	ID string `path:"id"`
	api.RoleAssign
}

// Validate checks the member and the role without reading the database.
func (in *AssignInput) Validate(v *fault.Violations) {
	web.CheckText(v, "user_id", in.UserID, 1, 100)
	web.CheckText(v, "role", in.Role, 1, 48)
}

// UnassignInput identifies a role of a member.
type UnassignInput struct {
	ID     string `path:"id"`
	UserID string `path:"userId"`
	Role   string `path:"role"`
}

var (
	roleForm  = regexp.MustCompile(`^[a-z][a-z0-9_]{1,47}$`)
	colorForm = regexp.MustCompile(`^#[0-9a-fA-F]{6}$`)
)

const maxPermissions = 64

// DefineRoleInput identifies a role of a workspace and describes it.
type DefineRoleInput struct {
	ID   string `path:"id"`
	Role string `path:"role"`
	api.RoleDefine

	set access.Set
}

// Validate checks the role without reading the database.
func (in *DefineRoleInput) Validate(v *fault.Violations) {
	web.CheckMatch(v, "role", &in.Role, roleForm, "must be 2 to 48 of a-z, 0-9 and _, beginning with a letter")
	if _, builtIn := access.BuiltInRole(in.Role); builtIn {
		v.Add("role", builtInRule)
	}
	web.CheckText(v, "name", in.Name, 1, 100)
	web.CheckMatch(v, "color", in.Color, colorForm, "must be a color such as #175cd3")
	if len(in.Permissions) > maxPermissions {
		v.Add("permissions", "must have at most 64 elements")
		return
	}
	for _, name := range in.Permissions {
		one := access.SetOf(access.Permission(name))
		if one == 0 {
			v.Add("permissions", "must be names of workspace permissions")
		}
		in.set |= one
	}
}

const builtInRule = "is a built-in role, which cannot be changed"

// DeleteRoleInput identifies a role of a workspace.
type DeleteRoleInput struct {
	ID   string `path:"id"`
	Role string `path:"role"`
}

// Validate refuses built-in roles.
func (in *DeleteRoleInput) Validate(v *fault.Violations) {
	if _, builtIn := access.BuiltInRole(in.Role); builtIn {
		v.Add("role", builtInRule)
	}
}
