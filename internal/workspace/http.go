package workspace

import (
	"regexp"

	"bursar/internal/access"
	"bursar/internal/fault"
	"bursar/internal/slug"
	"bursar/internal/web"
)

type listInput struct{ web.PageParams }

type oneInput struct {
	ID string `path:"id"`
}

type createInput struct {
	Name           string  `json:"name" required:"true"`
	OrganizationID string  `json:"organization_id" required:"true"`
	Slug           *string `json:"slug"`
}

func (in *createInput) Validate(v *fault.Violations) {
	web.CheckText(v, "name", in.Name, 1, 100)
	web.CheckText(v, "organization_id", in.OrganizationID, 1, 100)
	slug.Check(v, "slug", in.Slug)
}

type updateInput struct {
	ID   string  `path:"id"`
	Name *string `json:"name"`
	Slug *string `json:"slug"`
}

func (in *updateInput) Validate(v *fault.Violations) {
	web.CheckOptionalText(v, "name", in.Name, 1, 100)
	slug.Check(v, "slug", in.Slug)
}

type membersInput struct {
	ID string `path:"id"`
	web.PageParams
}

type addMemberInput struct {
	ID    string `path:"id"`
	Email string `json:"email" required:"true"`
	Role  string `json:"role" required:"true"`
}

func (in *addMemberInput) Validate(v *fault.Violations) {
	web.CheckEmail(v, "email", in.Email)
	web.CheckText(v, "role", in.Role, 1, 48)
}

type memberInput struct {
	ID     string `path:"id"`
	UserID string `path:"userId"`
}

type assignInput struct {
	ID     string `path:"id"`
	UserID string `json:"user_id" required:"true"`
	Role   string `json:"role" required:"true"`
}

func (in *assignInput) Validate(v *fault.Violations) {
	web.CheckText(v, "user_id", in.UserID, 1, 100)
	web.CheckText(v, "role", in.Role, 1, 48)
}

type unassignInput struct {
	ID     string `path:"id"`
	UserID string `path:"userId"`
	Role   string `path:"role"`
}

var (
	roleForm  = regexp.MustCompile(`^[a-z][a-z0-9_]{1,47}$`)
	colorForm = regexp.MustCompile(`^#[0-9a-fA-F]{6}$`)
)

const maxPermissions = 64

type defineRoleInput struct {
	ID          string   `path:"id"`
	Role        string   `path:"role"`
	Name        string   `json:"name" required:"true"`
	Color       *string  `json:"color"`
	Permissions []string `json:"permissions" required:"true"`

	set access.Set
}

func (in *defineRoleInput) Validate(v *fault.Violations) {
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

type deleteRoleInput struct {
	ID   string `path:"id"`
	Role string `path:"role"`
}

func (in *deleteRoleInput) Validate(v *fault.Violations) {
	if _, builtIn := access.BuiltInRole(in.Role); builtIn {
		v.Add("role", builtInRule)
	}
}
