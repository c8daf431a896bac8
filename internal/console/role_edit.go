package console

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/audit"
	"bursar/internal/slug"
	"bursar/internal/web"
)

// rolePage is the form of a role.
type rolePage struct {
	New   bool
	Key   string
	Name  string
	Color string
	Areas []permissionArea // the permissions that the visitor can grant

	Chosen []string
}

// Has says whether a permission is ticked.
func (p rolePage) Has(permission string) bool { return slices.Contains(p.Chosen, permission) }

func (v *visit) roleForm(key string) rolePage {
	return rolePage{New: key == "", Key: key, Color: "#475467", Areas: v.heldAreas()}
}

// heldAreas lists the permissions that the visitor has.
func (v *visit) heldAreas() []permissionArea {
	var areas []permissionArea
	for _, area := range permissionAreas() {
		area.Permissions = slices.DeleteFunc(area.Permissions, func(p permission) bool { return !v.can(access.Permission(p.Key)) })
		if len(area.Permissions) > 0 {
			areas = append(areas, area)
		}
	}
	return areas
}

func (c *Console) newRolePage(v *visit) error {
	if err := v.need(access.RolesWrite); err != nil {
		return err
	}
	return v.show("roles_edit", "New role", v.roleForm(""))
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
	data := v.roleForm(role.Key)
	data.Name, data.Color, data.Chosen = role.Name, role.Color, role.Permissions
	return v.show("roles_edit", "Role "+role.Name, data)
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
	data := v.roleForm("")
	key := cmp.Or(v.field("role"), strings.ReplaceAll(slug.From(v.field("name"), "role"), "-", "_"))
	if v.can(access.RolesWrite) && v.otherRole(key) {
		data.Key = key
		taken := problems{Fields: map[string]string{"role": "A role with the key " + key + " already exists."}}
		return v.showRole(data, taken, http.StatusUnprocessableEntity)
	}
	return c.defineRole(v, data, audit.RoleCreated, key)
}

// otherRole says whether creating a role would overwrite a different one that has
// the same key. Sending the same form twice is harmless.
func (v *visit) otherRole(key string) bool {
	role, err := v.definedRole(key)
	return err == nil && (role.Name != v.field("name") || !strings.EqualFold(role.Color, v.field("color")) ||
		permissionSet(role.Permissions) != permissionSet(v.form["permissions"]))
}

func (c *Console) updateRole(v *visit) error {
	key := v.R.PathValue("role")
	if _, err := v.definedRole(key); err != nil && v.can(access.RolesWrite) {
		return err
	}
	return c.defineRole(v, v.roleForm(key), audit.RoleUpdated, key)
}

func (c *Console) defineRole(v *visit, data rolePage, action audit.Action, key string) error {
	data.Key = key
	body := map[string]any{"name": v.field("name"), "permissions": append([]string{}, v.form["permissions"]...)}
	optional(body, "color", v.field("color"))
	role, err := act(v, action, c.Workspaces.DefineRole, web.Args{Path: map[string]string{"id": v.workspace.ID, "role": key}, Body: body})
	if p, status, ok := formProblems(err, "role", "name", "color", "permissions"); ok {
		return v.showRole(data, p, status)
	}
	if err != nil {
		return err
	}
	return v.done("Role \""+role.Name+"\" saved.", v.path("roles"))
}

// showRole shows the form again with what the person entered.
func (v *visit) showRole(data rolePage, p problems, status int) error {
	data.Name, data.Color, data.Chosen = v.field("name"), v.field("color"), v.form["permissions"]
	title := "New role"
	if !data.New {
		title = "Role " + data.Key
	}
	return v.showAgain(status, "roles_edit", title, p, data)
}

func (c *Console) deleteRole(v *visit) error {
	key := v.R.PathValue("role")
	name := v.roleName(key)
	_, err := act(v, audit.RoleDeleted, c.Workspaces.DeleteRole, web.Args{Path: map[string]string{"id": v.workspace.ID, "role": key}})
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
