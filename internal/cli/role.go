package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"bursar/api"
	"bursar/client"
	"bursar/internal/access"
	"bursar/internal/cli/term"
)

func newRoles(r *remote) *cobra.Command {
	return commandGroup(&cobra.Command{
		Use:     "roles",
		Aliases: []string{"role"},
		Short:   "List, assign and define roles",
		Long: `A role is a named set of permissions. Some are built in; a workspace can
define its own. Nobody can grant a permission that they do not have, or change
a role or a member that has one.`,
		Example: `  bursar roles list
  bursar roles assign grace@example.com auditor
  bursar roles define payer --name Payer --permission ws.read --permission ws.payouts.create`,
	}, newRolesList(r), newRolesGet(r), newRolesAssign(r), newRolesRemove(r), newRolesDefine(r), newRolesDelete(r))
}

// roles finds roles by key or name.
func roles() *resource[api.Role] {
	return &resource[api.Role]{
		noun: "role",
		list: func(c *call, at string, p client.ListParams) iter.Seq2[api.Role, error] { return c.Roles.All(c, at, p) },
		item: func(role api.Role) item {
			return item{role.Key, []string{role.Name}, role.Key + "  " + role.Name, described(role.Key, role.Name)}
		},
	}
}

func newRolesList(r *remote) *cobra.Command {
	return roles().newList(r, &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List the roles of the workspace",
		Example: `  bursar roles list
  bursar roles list --jq '.[] | select(.built_in | not).key'`,
	}, &term.Table{Columns: []string{"key", "name", "permissions", "built in"},
		Empty: "There are no roles."}, func(_ *call, role api.Role) []string {
		return []string{role.Key, role.Name, strconv.Itoa(len(role.Permissions)), yesNo(role.BuiltIn)}
	})
}

func yesNo(value bool) string {
	if value {
		return "yes"
	}
	return "no"
}

func newRolesGet(r *remote) *cobra.Command {
	var in struct{ Role api.Role }
	return newCommand(r, inWorkspace, &in, &cobra.Command{
		Use: "get ROLE", Short: "Show a role and its permissions",
		Example: `  bursar roles get auditor
  bursar roles get auditor --jq '.permissions[]'`,
	}, func(c *call) error {
		return writeRole(c, in.Role)
	})
}

func writeRole(c *call, role api.Role) error {
	pairs := []string{"Key", role.Key, "Name", role.Name, "Color", role.Color, "Built in", yesNo(role.BuiltIn)}
	name := "Permissions"
	for _, permission := range role.Permissions {
		pairs = append(pairs, name, permission)
		name = ""
	}
	return c.writePairs(role, pairs...)
}

func newRolesAssign(r *remote) *cobra.Command {
	var in struct {
		Member api.Member
		Role   api.Role
	}
	return newCommand(r, inWorkspace, &in, &cobra.Command{
		Use: "assign MEMBER ROLE", Short: "Assign a role to a member",
		Long: `Assign an additional role to a member. MEMBER is an email address, name or id;
ROLE is a key or name. Nothing changes if the member already has the role.`,
		Example: `  bursar roles assign grace@example.com auditor`,
	}, func(c *call) error {
		done, err := c.Roles.Assign(c, c.workspace.ID, in.Member.ID, in.Role.Key)
		if err != nil {
			return explainGrant(fmt.Errorf("assign the role: %w", err))
		}
		c.say("%s has the role %s in %s.", person(in.Member.Name, in.Member.Email), in.Role.Key, c.workspace.Name)
		return c.done(done)
	})
}

func newRolesRemove(r *remote) *cobra.Command {
	var in struct {
		Member api.Member
		Role   api.Role
	}
	return newCommand(r, inWorkspace, &in, &cobra.Command{
		Use: "remove MEMBER ROLE", Aliases: []string{"rm"}, Short: "Remove a role from a member",
		Long: `Remove a role from a member, who stays in the workspace. It takes effect on
their next request. The last admin cannot lose the admin role.`,
		Example: `  bursar roles remove grace@example.com auditor`,
	}, func(c *call) error {
		done, err := c.Roles.Unassign(c, c.workspace.ID, in.Member.ID, in.Role.Key)
		if err != nil {
			return fmt.Errorf("remove the role: %w", err)
		}
		c.say("%s no longer has the role %s in %s.", person(in.Member.Name, in.Member.Email), in.Role.Key, c.workspace.Name)
		c.sayStranded(done.ApprovalsWaiting)
		return c.done(done)
	})
}

func newRolesDefine(r *remote) *cobra.Command {
	var in struct {
		Key         roleKey
		Name        string          `flag:"name" usage:"display name"`
		Color       string          `flag:"color" usage:"color such as #0f766e"`
		Permissions usedPermissions `flag:"permission" usage:"permission of the role; can be repeated"`
	}
	return newCommand(r, inWorkspace, &in, &cobra.Command{
		Use: "define KEY", Short: "Create or change a role of the workspace",
		Long: `Create a role of the workspace, or change the role with this key. When you
change a role, omitted flags keep their value, and --permission replaces all
permissions of the role. Permissions that the given ones need, such as
ws.directory.read for ws.directory.write, are added. A change takes effect on
the next request of everybody who has the role. Built-in roles cannot be
changed.

A key is a lower-case letter followed by letters, digits or underscores.`,
		Example: `  bursar roles define payer --name Payer --permission ws.read,ws.payouts.create
  bursar roles define payer --color '#0f766e'`,
	}, func(c *call) error {
		all, err := roles().all(c)
		if err != nil {
			return err
		}
		p := client.RoleParams{Name: in.Name, Color: notEmpty(in.Color), Permissions: in.Permissions}
		at := slices.IndexFunc(all, func(role api.Role) bool { return role.Key == string(in.Key) })
		if at >= 0 {
			p = merged(c, p, all[at])
		}
		if p.Name == "" {
			return term.Usagef("--name is required for a new role")
		}
		var added access.Set
		if at < 0 || c.given("permission") {
			// The API accepts a role without permissions, but on the command line it is a mistake.
			if len(p.Permissions) == 0 {
				return term.Usagef("a role needs at least one permission: pass --permission")
			}
			p.Permissions, added = access.WithNeeds(p.Permissions)
		}
		role, err := c.Roles.Define(c, c.workspace.ID, string(in.Key), p)
		if err != nil {
			return explainGrant(fmt.Errorf("define the role: %w", err))
		}
		verb := "Created"
		if at >= 0 {
			verb = "Updated"
		}
		c.say("%s role %s of %s.", verb, role.Key, c.workspace.Name)
		if added != 0 {
			c.say("Also added because other permissions need them: %s.", strings.ReplaceAll(added.String(), " ", ", "))
		}
		return writeRole(c, *role)
	})
}

// merged keeps the properties of a role whose flags were not set.
func merged(c *call, p client.RoleParams, old api.Role) client.RoleParams {
	if !c.given("name") {
		p.Name = old.Name
	}
	if !c.given("color") {
		p.Color = &old.Color
	}
	if !c.given("permission") {
		p.Permissions = old.Permissions
	}
	return p
}

// roleKey is the key of a role, which may be a new one.
type roleKey string

func (*roleKey) completion(r *remote) cobra.CompletionFunc { return roles().completion(r) }

// usedPermissions are permissions, which are completed with those that a role of the workspace has.
type usedPermissions []string

func (*usedPermissions) completion(r *remote) cobra.CompletionFunc {
	return r.completeWith(func(c *call, _ []string, _ string) ([]string, error) {
		all, err := roles().all(c)
		var words []string
		for _, role := range all {
			words = append(words, role.Permissions...)
		}
		slices.Sort(words)
		return slices.Compact(words), err
	})
}

func newRolesDelete(r *remote) *cobra.Command {
	var in struct {
		Role api.Role
		confirmation
	}
	return newCommand(r, inWorkspace, &in, &cobra.Command{
		Use: "delete ROLE", Short: "Delete a role that nobody has",
		Example: `  bursar roles delete payer
  bursar roles delete payer --yes`,
	}, func(c *call) error {
		role := in.Role
		if err := c.confirm(in.confirmation, "Delete the role %s of %s (%s)?", role.Key, c.workspace.Name,
			strings.Join(role.Permissions, ", ")); err != nil {
			return err
		}
		deleted, err := c.Roles.Delete(c, c.workspace.ID, role.Key)
		if err != nil {
			return fmt.Errorf("delete the role: %w", err)
		}
		c.say("Deleted role %s of %s.", role.Key, c.workspace.Name)
		return c.done(deleted)
	})
}

// explainGrant adds the id of the approval to an error that a grant waits for another person.
func explainGrant(err error) error {
	var refused *client.Error
	if !errors.As(err, &refused) || refused.Code != api.CodeSecondPersonRequired {
		return err
	}
	var details api.SecondPersonDetails
	if json.Unmarshal(refused.Details, &details) != nil {
		return err
	}
	return withHint(err, "Another person approves it with 'bursar approvals approve "+details.ApprovalID+"'.")
}
