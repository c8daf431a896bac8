package console

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/slug"
	"bursar/internal/workspace"
)

// rolePage is the form of a role.
type rolePage struct {
	New    bool
	Called string // the current name, "" for a new role
	Key    string
	Name   string
	Color  string
	Areas  []permissionArea // the permissions to choose from
	Chosen []string

	From      string // the key of the role that a new one is copied from
	Templates []api.Role
}

// Has reports whether a permission is ticked.
func (p rolePage) Has(permission string) bool { return slices.Contains(p.Chosen, permission) }

// roleForm returns the form of a role, or of a new one if the role has no key. It offers the role's permissions, and those that the visitor
// can grant and that have an effect.
func (v *visit) roleForm(role api.Role) rolePage {
	return rolePage{
		New: role.Key == "", Called: role.Name, Key: role.Key, Name: role.Name, Color: cmp.Or(role.Color, "#475467"),
		Areas: areasOf(v.held & (usablePermissions() | permissionSet(role.Permissions))), Chosen: role.Permissions,
	}
}

// newRoleForm returns the form of a new role, with the roles that it can be copied from.
func (v *visit) newRoleForm() (rolePage, error) {
	data := v.roleForm(api.Role{})
	roles, err := v.roles()
	if err != nil {
		return data, err
	}
	data.Templates = ownFirst(v.grantable(roles))
	return data, nil
}

func (c *Console) newRolePage(v *visit) error {
	if err := v.need(access.RolesWrite); err != nil {
		return err
	}
	data, err := v.newRoleForm()
	if err != nil {
		return err
	}
	data.From = v.R.URL.Query().Get("from")
	for _, role := range data.Templates {
		if role.Key == data.From {
			data.Color, data.Chosen = cmp.Or(role.Color, data.Color), role.Permissions
		}
	}
	return v.show("roles_edit", "New role", data)
}

func (c *Console) rolePage(v *visit) error {
	if err := v.need(access.RolesWrite); err != nil {
		return err
	}
	role, err := v.definedRole(v.R.PathValue("role"))
	if err != nil {
		return err
	}
	if missing, lacks := v.held.Lacks(permissionSet(role.Permissions)); lacks {
		return v.need(missing)
	}
	return v.show("roles_edit", "Role "+role.Name, v.roleForm(role))
}

// definedRole finds one of the workspace's own roles.
func (v *visit) definedRole(key string) (api.Role, error) {
	roles, err := v.roles()
	if err != nil {
		return api.Role{}, err
	}
	for _, r := range roles {
		if r.Key == key && !r.BuiltIn {
			return r, nil
		}
	}
	return api.Role{}, errNoPage
}

func (c *Console) createRole(v *visit) error {
	data := v.roleForm(api.Role{})
	key := cmp.Or(v.field("role"), strings.ReplaceAll(slug.From(v.field("name"), "role"), "-", "_"))
	if v.can(access.RolesWrite) {
		var err error
		if data, err = v.newRoleForm(); err != nil {
			return err
		}
		data.Key = v.field("role")
		if v.otherRole(key) {
			data.Key = key
			taken := problems{Fields: map[string]string{"role": "A role with the key " + key + " already exists."}}
			return v.showRole(data, taken, http.StatusUnprocessableEntity)
		}
	}
	return c.defineRole(v, data, key)
}

// otherRole reports whether creating a role would overwrite a different one with the same key. Sending the same form twice is harmless.
func (v *visit) otherRole(key string) bool {
	role, err := v.definedRole(key)
	permissions, _ := access.WithNeeds(v.form["permissions"])
	return err == nil && (role.Name != v.field("name") || !strings.EqualFold(role.Color, v.field("color")) ||
		permissionSet(role.Permissions) != permissionSet(permissions))
}

func (c *Console) updateRole(v *visit) error {
	key := v.R.PathValue("role")
	role, err := v.definedRole(key)
	if err != nil && v.can(access.RolesWrite) {
		return err
	}
	return c.defineRole(v, v.roleForm(role), key)
}

// defineRole saves a role. It refuses a role without permissions, which the API accepts but which is a mistake in the form. It adds the
// permissions that the chosen ones need.
func (c *Console) defineRole(v *visit, data rolePage, key string) error {
	permissions, added := access.WithNeeds(v.form["permissions"])
	if len(permissions) == 0 && v.can(access.RolesWrite) {
		none := problems{Fields: map[string]string{"permissions": "Choose at least one permission."}}
		return v.showRole(data, none, http.StatusUnprocessableEntity)
	}
	role, err := change(v, c.Workspaces.DefineRole, workspace.DefineRoleInput{ID: v.workspace.ID, Role: key, RoleDefine: api.RoleDefine{
		Name: v.field("name"), Color: optional(v.field("color")), Permissions: permissions,
	}})
	if waitsForApprover(err) {
		return v.done("Requested. The role changes once another person approves.", v.path("roles"))
	}
	if hasCode(err, api.CodeRecentLoginRequired) {
		return v.signInFirst(v.path("roles", key, "edit"))
	}
	if p, status, ok := formProblems(err, "name", "role", "color", "permissions"); ok {
		return v.showRole(data, p, status)
	}
	if err != nil {
		return err
	}
	text := "Role \"" + role.Name + "\" saved."
	if added != 0 {
		text += " Added because other permissions need them: " + describe(added) + "."
	}
	return v.done(text, v.path("roles"))
}

// showRole shows the form again with the entered values.
func (v *visit) showRole(data rolePage, p problems, status int) error {
	data.Name, data.Color, data.Chosen = v.field("name"), v.field("color"), v.form["permissions"]
	title := "New role"
	if !data.New {
		title = "Role " + data.Called
	}
	return v.showAgain(status, "roles_edit", title, p, data)
}

func (c *Console) deleteRole(v *visit) error {
	key := v.R.PathValue("role")
	name := v.roleName(key)
	_, err := change(v, c.Workspaces.DeleteRole, workspace.DeleteRoleInput{ID: v.workspace.ID, Role: key})
	if p, status, ok := formProblems(err); ok {
		data, err := v.rolesData()
		if err != nil {
			return err
		}
		return v.showAgain(status, "roles", "Roles", p, data)
	}
	if err != nil {
		return err
	}
	return v.done("Role \""+name+"\" deleted.", v.path("roles"))
}
