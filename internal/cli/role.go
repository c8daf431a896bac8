package cli

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"bursar/api"
	"bursar/client"
	"bursar/internal/cli/term"
)

func newRoles(r *remote) *cobra.Command {
	return commandGroup(&cobra.Command{
		Use:     "roles",
		Aliases: []string{"role"},
		Short:   "See roles, give them to members, define your own",
		Long: `A role is a named set of permissions. Some are built in; a workspace can define
its own. Nobody can give a permission that they do not hold.`,
		Example: `  bursar roles list
  bursar roles assign grace@example.com auditor
  bursar roles define payer --name Payer --permission ws.read --permission ws.payouts.create`,
	}, newRolesList(r), newRolesGet(r), newRolesAssign(r), newRolesRemove(r), newRolesDefine(r), newRolesDelete(r))
}

func newRolesList(r *remote) *cobra.Command {
	var f term.Format
	var rows span
	c := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List the roles of the workspace",
		Example: `  bursar roles list
  bursar roles list --jq '.[] | select(.built_in | not).key'`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := rows.check(); err != nil {
				return err
			}
			s, w, err := r.connectWorkspace(c.Context())
			if err != nil {
				return err
			}
			list, err := take(r.terminal, rows, s.Roles.All(c.Context(), w.ID, client.ListParams{Limit: rows.page()}))
			if err != nil {
				return fmt.Errorf("list the roles: %w", err)
			}
			shown := &term.Table{Columns: []string{"key", "name", "permissions", "built in"}, Empty: "There are no roles."}
			for _, role := range list {
				shown.Add(role.Key, role.Name, strconv.Itoa(len(role.Permissions)), yesNo(role.BuiltIn))
			}
			return f.WriteTable(r.terminal, list, shown)
		},
	}
	rows.bind(c)
	f.Bind(c, true)
	return r.inWorkspace(c)
}

func yesNo(value bool) string {
	if value {
		return "yes"
	}
	return "no"
}

func newRolesGet(r *remote) *cobra.Command {
	var f term.Format
	c := &cobra.Command{
		Use: "get ROLE", Short: "Show a role and its permissions",
		Example: `  bursar roles get auditor
  bursar roles get auditor --jq '.permissions[]'`,
		Args: cobra.ExactArgs(1), ValidArgsFunction: byPosition(r.completeRoles()),
		RunE: func(c *cobra.Command, args []string) error {
			s, w, err := r.connectWorkspace(c.Context())
			if err != nil {
				return err
			}
			role, err := s.findRole(c.Context(), w.ID, args[0])
			if err != nil {
				return err
			}
			return r.writeRole(f, role)
		},
	}
	f.Bind(c, false)
	return r.inWorkspace(c)
}

func (r *remote) writeRole(f term.Format, role api.Role) error {
	return f.Write(r.terminal, role, func(w io.Writer) error {
		pairs := []string{"Key", role.Key, "Name", role.Name, "Color", role.Color, "Built in", yesNo(role.BuiltIn)}
		name := "Permissions"
		for _, permission := range role.Permissions {
			pairs = append(pairs, name, permission)
			name = ""
		}
		return term.WritePairs(r.terminal, w, pairs...)
	})
}

func newRolesAssign(r *remote) *cobra.Command {
	return r.newRoleChange(&cobra.Command{
		Use: "assign MEMBER ROLE", Short: "Give a member one more role",
		Long: `Give a member one more role. The member is named by email address, name or id, the
role by key or name. A role that is held already changes nothing.`,
		Example: `  bursar roles assign grace@example.com auditor`,
	}, func(ctx context.Context, s *session, w api.Workspace, m api.Member, role api.Role) (*api.RoleAssignment, error) {
		done, err := s.Roles.Assign(ctx, w.ID, m.ID, role.Key)
		if err != nil {
			return nil, fmt.Errorf("give the role: %w", err)
		}
		fmt.Fprintf(r.terminal.Err, "%s has the role %s in %s.\n", term.Printable(person(m.Name, m.Email)), role.Key, term.Printable(w.Name))
		return done, nil
	})
}

func newRolesRemove(r *remote) *cobra.Command {
	return r.newRoleChange(&cobra.Command{
		Use: "remove MEMBER ROLE", Aliases: []string{"rm"}, Short: "Take a role from a member",
		Long: `Take a role from a member, who stays in the workspace. It takes effect on their
next request. The last admin cannot lose the role admin.`,
		Example: `  bursar roles remove grace@example.com auditor`,
	}, func(ctx context.Context, s *session, w api.Workspace, m api.Member, role api.Role) (*api.RoleAssignment, error) {
		done, err := s.Roles.Unassign(ctx, w.ID, m.ID, role.Key)
		if err != nil {
			return nil, fmt.Errorf("take the role: %w", err)
		}
		fmt.Fprintf(r.terminal.Err, "%s no longer has the role %s in %s.\n", term.Printable(person(m.Name, m.Email)), role.Key, term.Printable(w.Name))
		return done, nil
	})
}

type roleChange func(ctx context.Context, s *session, w api.Workspace, m api.Member, role api.Role) (*api.RoleAssignment, error)

// newRoleChange makes a command about a member and a role.
func (r *remote) newRoleChange(c *cobra.Command, change roleChange) *cobra.Command {
	var f term.Format
	c.Args, c.ValidArgsFunction = cobra.ExactArgs(2), byPosition(r.completeMembers(), r.completeRoles())
	c.RunE = func(c *cobra.Command, args []string) error {
		s, w, err := r.connectWorkspace(c.Context())
		if err != nil {
			return err
		}
		m, err := s.findMember(c.Context(), w.ID, args[0])
		if err != nil {
			return err
		}
		role, err := s.findRole(c.Context(), w.ID, args[1])
		if err != nil {
			return err
		}
		done, err := change(c.Context(), s, w, m, role)
		if err != nil {
			return err
		}
		return f.Write(r.terminal, done, nothing)
	}
	f.Bind(c, false)
	return r.inWorkspace(c)
}

func newRolesDefine(r *remote) *cobra.Command {
	var f term.Format
	var p client.RoleParams
	var color string
	c := &cobra.Command{
		Use: "define KEY", Short: "Make a role of the workspace, or change one",
		Long: `Make a role of the workspace, or change the one with this key: then what is not
given stays as it is, and --permission names all that the role is to hold. A
change reaches everybody who holds the role on their next request. Built-in roles
cannot be changed.

A key is a lower-case letter followed by letters, digits or underscores.`,
		Example: `  bursar roles define payer --name Payer --permission ws.read,ws.payouts.create
  bursar roles define payer --color '#0f766e'`,
		Args: cobra.ExactArgs(1), ValidArgsFunction: byPosition(r.completeRoles()),
		RunE: func(c *cobra.Command, args []string) error {
			s, w, err := r.connectWorkspace(c.Context())
			if err != nil {
				return err
			}
			all, err := s.roles(c.Context(), w.ID)
			if err != nil {
				return err
			}
			p.Color = notEmpty(color)
			at := slices.IndexFunc(all, func(role api.Role) bool { return role.Key == args[0] })
			if at >= 0 {
				p = merged(c, p, all[at])
			}
			if p.Name == "" {
				return term.Usagef("--name is required for a new role")
			}
			role, err := s.Roles.Define(c.Context(), w.ID, args[0], p)
			if err != nil {
				return fmt.Errorf("define the role: %w", err)
			}
			verb := "Made"
			if at >= 0 {
				verb = "Changed"
			}
			fmt.Fprintf(r.terminal.Err, "%s the role %s of %s.\n", verb, role.Key, term.Printable(w.Name))
			return r.writeRole(f, *role)
		},
	}
	c.Flags().StringVar(&p.Name, "name", "", "name that people read")
	c.Flags().StringVar(&color, "color", "", "color such as #0f766e")
	c.Flags().StringSliceVar(&p.Permissions, "permission", nil, "permission that the role holds; can be repeated")
	_ = c.RegisterFlagCompletionFunc("permission", r.completePermissions())
	f.Bind(c, false)
	return r.inWorkspace(c)
}

// merged keeps of a role what is not given anew.
func merged(c *cobra.Command, p client.RoleParams, old api.Role) client.RoleParams {
	if !c.Flags().Changed("name") {
		p.Name = old.Name
	}
	if !c.Flags().Changed("color") {
		p.Color = &old.Color
	}
	if !c.Flags().Changed("permission") {
		p.Permissions = old.Permissions
	}
	return p
}

func (r *remote) completePermissions() cobra.CompletionFunc {
	return r.completeHere(func(ctx context.Context, s *session, id string) ([]string, error) {
		all, err := s.roles(ctx, id)
		var words []string
		for _, role := range all {
			words = append(words, role.Permissions...)
		}
		slices.Sort(words)
		return slices.Compact(words), err
	})
}

func newRolesDelete(r *remote) *cobra.Command {
	var f term.Format
	var yes bool
	c := &cobra.Command{
		Use: "delete ROLE", Short: "Delete a role of the workspace that nobody holds",
		Example: `  bursar roles delete payer
  bursar roles delete payer --yes`,
		Args: cobra.ExactArgs(1), ValidArgsFunction: byPosition(r.completeRoles()),
		RunE: func(c *cobra.Command, args []string) error {
			s, w, err := r.connectWorkspace(c.Context())
			if err != nil {
				return err
			}
			role, err := s.findRole(c.Context(), w.ID, args[0])
			if err != nil {
				return err
			}
			if err := r.terminal.Confirm(fmt.Sprintf("Delete the role %s of %s (%s)?", role.Key, term.Printable(w.Name), strings.Join(role.Permissions, ", ")), yes); err != nil {
				return err
			}
			deleted, err := s.Roles.Delete(c.Context(), w.ID, role.Key)
			if err != nil {
				return fmt.Errorf("delete the role: %w", err)
			}
			fmt.Fprintf(r.terminal.Err, "Deleted the role %s of %s.\n", role.Key, term.Printable(w.Name))
			return f.Write(r.terminal, deleted, nothing)
		},
	}
	c.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	f.Bind(c, false)
	return r.inWorkspace(c)
}
