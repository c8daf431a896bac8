package console

import (
	"slices"
	"strings"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/audit"
	"bursar/internal/workspace"
)

func (c *Console) roleRoutes() []Route {
	return []Route{
		c.getIn("/roles", c.rolesPage),
		c.getIn("/roles/new", c.newRolePage),
		c.postIn("/roles", audit.RoleCreated, c.createRole),
		c.getIn("/roles/{role}/edit", c.rolePage),
		c.postIn("/roles/{role}", audit.RoleUpdated, c.updateRole),
		c.postIn("/roles/{role}/delete", audit.RoleDeleted, c.deleteRole),
	}
}

// rolesPage is the data of the page with the matrix of roles and permissions.
type rolesPage struct {
	Areas   []permissionArea
	Columns []roleColumn // the workspace's own roles first
	Defined []roleColumn // the workspace's own roles
}

// Width returns the number of columns of the matrix, including the permission names.
func (p rolesPage) Width() int { return len(p.Columns) + 1 }

// roleColumn is a role and the number of members who have it.
type roleColumn struct {
	api.Role
	Holders  int
	Editable bool // the visitor may define roles and has all permissions of this one
}

// Allows reports whether the role has a permission.
func (r roleColumn) Allows(permission string) bool { return slices.Contains(r.Permissions, permission) }

// FirstWord returns the first word of the name, which stays on one line with the role's dot. The other words may wrap below.
func (r roleColumn) FirstWord() string { first, _, _ := strings.Cut(r.Name, " "); return first }

// OtherWords returns the rest of the name.
func (r roleColumn) OtherWords() string { _, rest, _ := strings.Cut(r.Name, " "); return rest }

func (c *Console) rolesPage(v *visit) error {
	roles, err := v.roles()
	if err != nil {
		return err
	}
	members, err := v.members()
	if err != nil {
		return err
	}
	var data rolesPage
	var inUse access.Set // permissions of the workspace's own roles
	for _, role := range ownFirst(roles) {
		column := roleColumn{Role: role, Editable: v.can(access.RolesWrite) && v.canGrant(role)}
		for _, m := range members {
			if slices.Contains(m.Roles, role.Key) {
				column.Holders++
			}
		}
		data.Columns = append(data.Columns, column)
		if !role.BuiltIn {
			data.Defined = append(data.Defined, column)
			inUse |= permissionSet(role.Permissions)
		}
	}
	data.Areas = areasOf(usablePermissions() | inUse)
	return v.show("roles", "Roles", data)
}

// roles lists all roles of the workspace.
func (v *visit) roles() ([]api.Role, error) {
	list, err := read(v, v.console.Workspaces.Roles, workspace.MembersInput{ID: v.workspace.ID})
	return list.Rows(), err
}

// ownFirst sorts the workspace's own roles before the built-in ones.
func ownFirst(roles []api.Role) []api.Role {
	var own, builtIn []api.Role
	for _, role := range roles {
		if role.BuiltIn {
			builtIn = append(builtIn, role)
		} else {
			own = append(own, role)
		}
	}
	return append(own, builtIn...)
}

// canGrant reports whether the visitor has all permissions of a role. A visitor cannot grant permissions that they do not have.
func (v *visit) canGrant(r api.Role) bool {
	_, lacks := v.held.Lacks(permissionSet(r.Permissions))
	return !lacks
}

// grantable lists the roles that the visitor can assign.
func (v *visit) grantable(roles []api.Role) []api.Role {
	return slices.DeleteFunc(slices.Clone(roles), func(r api.Role) bool { return !v.canGrant(r) })
}

func permissionSet(names []string) access.Set {
	var set access.Set
	for _, name := range names {
		set |= access.SetOf(access.Permission(name))
	}
	return set
}

// roleCalled finds a role by its key.
func roleCalled(roles []api.Role, key string) api.Role {
	for _, r := range roles {
		if r.Key == key {
			return r
		}
	}
	return api.Role{Key: key, Name: key}
}

// roleName returns the name of a role, or its key if the visitor may not read roles.
func (v *visit) roleName(key string) string {
	if role, ok := access.BuiltInRole(key); ok {
		return role.Name
	}
	if !v.can(access.MembersRead) {
		return key
	}
	roles, err := v.roles()
	if err != nil {
		return key
	}
	return roleCalled(roles, key).Name
}

// roleChoices lists roles to choose from.
func roleChoices(roles []api.Role) (list []choice) {
	for _, r := range roles {
		list = append(list, choice{Value: r.Key, Text: r.Name})
	}
	return list
}
