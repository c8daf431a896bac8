package console

import (
	"cmp"
	"net/http"
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
	Areas  []permissionArea // the permissions to choose from

	Templates []choice // roles that a new one can be copied from
}

// showRole shows the form of a role, or of a new one if the role has no key. It offers the role's permissions, and those that the visitor
// can grant and that have an effect.
func (v *visit) showRole(role api.Role, like api.Role, templates []choice) error {
	v.preset("name", role.Name)
	v.preset("color", cmp.Or(like.Color, "#475467"))
	if v.form == nil {
		v.values["permissions"] = like.Permissions
	}
	data := rolePage{New: role.Key == "", Called: role.Name, Key: role.Key, Templates: templates,
		Areas: areasOf(v.held & (usablePermissions() | permissionSet(role.Permissions)))}
	if data.New {
		return v.show("roles_edit", "New role", data)
	}
	return v.show("roles_edit", "Role "+role.Name, data)
}

func (c *Console) newRolePage(v *visit) error {
	if err := v.need(access.RolesWrite); err != nil {
		return err
	}
	roles, err := v.roles()
	if err != nil {
		return err
	}
	v.preset("from", v.R.URL.Query().Get("from"))
	var like api.Role
	var templates []choice
	for _, role := range ownFirst(v.grantable(roles)) {
		templates = append(templates, choice{Value: role.Key, Text: role.Name})
		if role.Key == v.values.Get("from") {
			like = role
		}
	}
	return v.showRole(api.Role{}, like, templates)
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
	return v.showRole(role, role, nil)
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
	key := cmp.Or(v.field("role"), strings.ReplaceAll(slug.From(v.field("name"), "role"), "-", "_"))
	if v.can(access.RolesWrite) && v.otherRole(key) {
		v.values.Set("role", key)
		return v.againWith(http.StatusUnprocessableEntity, problem("role", "A role with the key "+key+" already exists."), c.newRolePage)
	}
	return c.defineRole(v, key, c.newRolePage)
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
	if _, err := v.definedRole(key); err != nil && v.can(access.RolesWrite) {
		return err
	}
	return c.defineRole(v, key, c.rolePage)
}

// defineRole saves a role, or shows its page again. It refuses a role without permissions, which the API accepts but which is a mistake in
// the form. It adds the permissions that the chosen ones need.
func (c *Console) defineRole(v *visit, key string, page func(v *visit) error) error {
	if len(v.form["permissions"]) == 0 && v.can(access.RolesWrite) {
		return v.againWith(http.StatusUnprocessableEntity, problem("permissions", "Choose at least one permission."), page)
	}
	added := v.addNeeds()
	role, err := submit(v, c.Workspaces.DefineRole, workspace.DefineRoleInput{ID: v.workspace.ID, Role: key})
	switch {
	case waitsForApprover(err):
		return v.done("Requested. The role changes once another person approves.", v.path("roles"))
	case hasCode(err, api.CodeRecentLoginRequired):
		return v.signInFirst(v.path("roles", key, "edit"))
	case err != nil:
		return v.again(err, page)
	}
	text := "Role \"" + role.Name + "\" saved."
	if added != 0 {
		text += " Added because other permissions need them: " + describe(added) + "."
	}
	return v.done(text, v.path("roles"))
}

func (c *Console) deleteRole(v *visit) error {
	key := v.R.PathValue("role")
	name := v.roleName(key)
	_, err := change(v, c.Workspaces.DeleteRole, workspace.DeleteRoleInput{ID: v.workspace.ID, Role: key})
	if err != nil {
		return v.again(err, c.rolesPage)
	}
	return v.done("Role \""+name+"\" deleted.", v.path("roles"))
}
