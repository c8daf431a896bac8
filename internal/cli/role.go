package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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

func newRolesList(r *remote) *cobra.Command {
	return r.inWorkspace(listCommand(r.terminal, &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List the roles of the workspace",
		Example: `  bursar roles list
  bursar roles list --jq '.[] | select(.built_in | not).key'`,
	}, list[api.Role]{
		noun: "roles",
		rows: func(ctx context.Context, limit int) (iter.Seq2[api.Role, error], error) {
			s, w, err := r.connectWorkspace(ctx)
			if err != nil {
				return nil, err
			}
			return s.Roles.All(ctx, w.ID, client.ListParams{Limit: limit}), nil
		},
		table: func(term.Format) *term.Table {
			return &term.Table{Columns: []string{"key", "name", "permissions", "built in"}, Empty: "There are no roles."}
		},
		cells: func(_ term.Format, role api.Role) []string {
			return []string{role.Key, role.Name, strconv.Itoa(len(role.Permissions)), yesNo(role.BuiltIn)}
		},
	}))
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
		Use: "assign MEMBER ROLE", Short: "Assign a role to a member",
		Long: `Assign an additional role to a member. MEMBER is an email address, name or id;
ROLE is a key or name. Nothing changes if the member already has the role.`,
		Example: `  bursar roles assign grace@example.com auditor`,
	}, func(ctx context.Context, s *session, w api.Workspace, m api.Member, role api.Role) (*api.RoleAssignment, error) {
		done, err := s.Roles.Assign(ctx, w.ID, m.ID, role.Key)
		if err != nil {
			return nil, explainGrant(fmt.Errorf("assign the role: %w", err))
		}
		fmt.Fprintf(r.terminal.Err, "%s has the role %s in %s.\n", term.Printable(person(m.Name, m.Email)), role.Key, term.Printable(w.Name))
		return done, nil
	})
}

func newRolesRemove(r *remote) *cobra.Command {
	return r.newRoleChange(&cobra.Command{
		Use: "remove MEMBER ROLE", Aliases: []string{"rm"}, Short: "Remove a role from a member",
		Long: `Remove a role from a member, who stays in the workspace. It takes effect on
their next request. The last admin cannot lose the admin role.`,
		Example: `  bursar roles remove grace@example.com auditor`,
	}, func(ctx context.Context, s *session, w api.Workspace, m api.Member, role api.Role) (*api.RoleAssignment, error) {
		done, err := s.Roles.Unassign(ctx, w.ID, m.ID, role.Key)
		if err != nil {
			return nil, fmt.Errorf("remove the role: %w", err)
		}
		fmt.Fprintf(r.terminal.Err, "%s no longer has the role %s in %s.\n", term.Printable(person(m.Name, m.Email)), role.Key, term.Printable(w.Name))
		r.reportStranded(done.ApprovalsWaiting)
		return done, nil
	})
}

type roleChange func(ctx context.Context, s *session, w api.Workspace, m api.Member, role api.Role) (*api.RoleAssignment, error)

// newRoleChange completes a command that takes a member and a role.
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
			var added access.Set
			if at < 0 || c.Flags().Changed("permission") {
				// The API accepts a role without permissions, but on the command line it is a mistake.
				if len(p.Permissions) == 0 {
					return term.Usagef("a role needs at least one permission: pass --permission")
				}
				p.Permissions, added = access.WithNeeds(p.Permissions)
			}
			role, err := s.Roles.Define(c.Context(), w.ID, args[0], p)
			if err != nil {
				return explainGrant(fmt.Errorf("define the role: %w", err))
			}
			verb := "Created"
			if at >= 0 {
				verb = "Updated"
			}
			fmt.Fprintf(r.terminal.Err, "%s role %s of %s.\n", verb, role.Key, term.Printable(w.Name))
			if added != 0 {
				fmt.Fprintf(r.terminal.Err, "Also added because other permissions need them: %s.\n", strings.ReplaceAll(added.String(), " ", ", "))
			}
			return r.writeRole(f, *role)
		},
	}
	c.Flags().StringVar(&p.Name, "name", "", "display name")
	c.Flags().StringVar(&color, "color", "", "color such as #0f766e")
	c.Flags().StringSliceVar(&p.Permissions, "permission", nil, "permission of the role; can be repeated")
	_ = c.RegisterFlagCompletionFunc("permission", r.completePermissions())
	f.Bind(c, false)
	return r.inWorkspace(c)
}

// merged keeps the properties of a role whose flags were not set.
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
		Use: "delete ROLE", Short: "Delete a role that nobody has",
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
			if err := r.terminal.Confirm(c.Context(), fmt.Sprintf("Delete the role %s of %s (%s)?", role.Key, term.Printable(w.Name), strings.Join(role.Permissions, ", ")), yes); err != nil {
				return err
			}
			deleted, err := s.Roles.Delete(c.Context(), w.ID, role.Key)
			if err != nil {
				return fmt.Errorf("delete the role: %w", err)
			}
			fmt.Fprintf(r.terminal.Err, "Deleted role %s of %s.\n", role.Key, term.Printable(w.Name))
			return f.Write(r.terminal, deleted, nothing)
		},
	}
	c.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	f.Bind(c, false)
	return r.inWorkspace(c)
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
