package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/audit"
	"bursar/internal/cli/term"
)

// scopeFlags contains the flags that limit a new credential.
type scopeFlags struct {
	permissions, workspaces []string
	mode                    string
	administer              bool
}

func (s *scopeFlags) bind(c *cobra.Command) {
	c.Flags().StringSliceVar(&s.permissions, "permission", nil, "permission that it is limited to; can be repeated (default all)")
	bindMode(c, &s.mode)
	_ = c.RegisterFlagCompletionFunc("permission", cobra.FixedCompletions(access.BuiltInRoles()[0].Permissions.Names(), cobra.ShellCompDirectiveNoFileComp))
}

// bindWorkspaces adds the flag for the workspaces of the scope. what is the word for one workspace.
func (s *scopeFlags) bindWorkspaces(c *cobra.Command, what string) {
	c.Flags().StringSliceVar(&s.workspaces, "workspace", nil, what+" that it is limited to; can be repeated (default all)")
}

func bindMode(c *cobra.Command, mode *string) {
	c.Flags().StringVar(mode, "mode", audit.BothModes, "money that it is good for: sandbox, live or both")
	_ = c.RegisterFlagCompletionFunc("mode", cobra.FixedCompletions(modes(), cobra.ShellCompDirectiveNoFileComp))
}

func checkMode(mode string) error {
	if !slices.Contains(modes(), mode) {
		return term.Usagef("--mode: must be sandbox, live or both")
	}
	return nil
}

func modes() []string { return []string{audit.SandboxMode, audit.LiveMode, audit.BothModes} }

// check returns an error unless the flags describe a scope. It adds the permissions that the given ones need.
func (s *scopeFlags) check() error {
	if err := checkMode(s.mode); err != nil {
		return err
	}
	for _, name := range s.permissions {
		if access.SetOf(access.Permission(name)) == 0 {
			return term.Usagef("--permission: %q is not a permission", name)
		}
	}
	if len(s.permissions) > 0 {
		s.permissions, _ = access.WithNeeds(s.permissions)
	}
	return nil
}

// scope returns the scope of the flags, whose form check has checked. Workspaces are ids.
func (s *scopeFlags) scope() audit.Scope {
	out := audit.Scope{Permissions: s.permissions, WorkspaceIDs: s.workspaces, Administer: s.administer}
	if s.mode != audit.BothModes {
		out.Mode = s.mode
	}
	return out
}

// request returns the scope for a request. Workspaces may be names.
func (s *scopeFlags) request(c *call) (api.ScopeRequest, error) {
	out := api.ScopeRequest{Permissions: s.permissions, Administer: s.administer}
	if s.mode != audit.BothModes {
		out.Mode = &s.mode
	}
	for _, ref := range s.workspaces {
		w, err := workspaces().find(c, ref)
		if err != nil {
			return out, err
		}
		out.WorkspaceIDs = append(out.WorkspaceIDs, w.ID)
	}
	return out, nil
}

// scopeText returns a short description of a credential's limits.
func scopeText(s api.Scope) string {
	var parts []string
	if s.Mode != audit.BothModes {
		parts = append(parts, s.Mode)
	}
	if s.Permissions != nil {
		parts = append(parts, counted(len(s.Permissions), "permission", "permissions"))
	}
	if s.WorkspaceIDs != nil {
		parts = append(parts, counted(len(s.WorkspaceIDs), "workspace", "workspaces"))
	}
	if s.Administer {
		parts = append(parts, "administers")
	}
	if len(parts) == 0 {
		return "no limits"
	}
	return strings.Join(parts, ", ")
}
