package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/spf13/cobra"

	"bursar/api"
	"bursar/client"
	"bursar/internal/cli/term"
)

func newWorkspaces(r *remote) *cobra.Command {
	return commandGroup(&cobra.Command{
		Use:     "workspaces",
		Aliases: []string{"workspace"},
		Short:   "List, create, choose and leave workspaces",
		Long: `A workspace has its own directory, members, roles and audit log, and belongs
to an organization. Commands use the workspace of --workspace, else of
BURSAR_WORKSPACE, else of 'bursar workspaces use'.`,
		Example: `  bursar workspaces list
  bursar workspaces use treasury
  bursar workspaces create "Payroll Europe"`,
	}, newWorkspacesList(r), newWorkspacesGet(r), newWorkspacesCreate(r), newWorkspacesUpdate(r), newWorkspacesUse(r), newWorkspacesLeave(r))
}

func newWorkspacesList(r *remote) *cobra.Command {
	var s *session
	owners := map[string]string{} // names of organizations by id
	return listCommand(r.terminal, &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List your workspaces",
		Long: `List the workspaces that you are a member of. A star marks the default
workspace of commands.`,
		Example: `  bursar workspaces list
  bursar workspaces list --jq '.[].slug'`,
	}, list[api.Workspace]{
		noun: "workspaces",
		rows: func(ctx context.Context, limit int) (_ iter.Seq2[api.Workspace, error], err error) {
			if s, err = r.connect(); err != nil {
				return nil, err
			}
			// Without the names, the table shows the ids of the organizations.
			if organizations, err := s.organizations(ctx); err == nil {
				for _, o := range organizations {
					owners[o.ID] = o.Name
				}
			}
			return s.Workspaces.All(ctx, client.ListParams{Limit: limit}), nil
		},
		table: func(term.Format) *term.Table {
			return &term.Table{Columns: []string{"name", "slug", "organization", "id", "default"}, Empty: "You are not in a workspace yet. See 'bursar invitations list', or create one with 'bursar workspaces create NAME'."}
		},
		cells: func(_ term.Format, w api.Workspace) []string {
			mark := ""
			if s.workspace == w.ID || s.workspace == w.Slug {
				mark = "*"
			}
			return []string{w.Name, w.Slug, cmp.Or(owners[w.OrganizationID], w.OrganizationID), w.ID, mark}
		},
	})
}

func newWorkspacesGet(r *remote) *cobra.Command {
	var f term.Format
	c := &cobra.Command{
		Use: "get [WORKSPACE]", Short: "Show a workspace",
		Long: `Show a workspace, by id, slug or name. Without one, show the current
workspace.`,
		Example: `  bursar workspaces get
  bursar workspaces get treasury --jq .id`,
		Args: cobra.MaximumNArgs(1), ValidArgsFunction: byPosition(r.completeWorkspaces()),
		RunE: func(c *cobra.Command, args []string) error {
			s, w, err := r.connectNamedWorkspace(c, args)
			if err != nil {
				return err
			}
			got, err := s.Workspaces.Get(c.Context(), w.ID)
			if err != nil {
				return fmt.Errorf("get the workspace: %w", err)
			}
			return r.writeWorkspace(f, got)
		},
	}
	f.Bind(c, false)
	return c
}

// connectNamedWorkspace connects to the server and finds the workspace of the
// argument, or else the current one.
func (r *remote) connectNamedWorkspace(c *cobra.Command, args []string) (*session, api.Workspace, error) {
	if len(args) == 1 {
		r.workspace = args[0]
	}
	return r.connectWorkspace(c.Context())
}

func (r *remote) writeWorkspace(f term.Format, w *api.Workspace) error {
	return f.Write(r.terminal, w, func(out io.Writer) error {
		return term.WritePairs(r.terminal, out, "Name", w.Name, "Slug", w.Slug, "Id", w.ID, "Organization", w.OrganizationID)
	})
}

func newWorkspacesCreate(r *remote) *cobra.Command {
	var f term.Format
	var slug, organization string
	c := &cobra.Command{
		Use: "create NAME", Short: "Create a workspace",
		Long: `Create a workspace in an organization that you own. You become its first
admin. Without --slug, the slug is derived from the name. Without
--organization, your only organization is used.`,
		Example: `  bursar workspaces create Treasury
  bursar workspaces create "Payroll Europe" --organization acme --slug payroll-eu`,
		Args: cobra.ExactArgs(1), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, args []string) error {
			s, err := r.connect()
			if err != nil {
				return err
			}
			owner, err := s.findOrganization(c.Context(), organization, "--organization")
			if err != nil {
				return err
			}
			made, err := s.Workspaces.Create(c.Context(), client.WorkspaceCreateParams{Name: args[0], OrganizationID: owner.ID, Slug: notEmpty(slug)})
			if err != nil {
				return fmt.Errorf("create the workspace: %w", err)
			}
			fmt.Fprintf(r.terminal.Err, "Created workspace %s in %s. Switch to it with 'bursar workspaces use %s'.\n", term.Printable(made.Name), term.Printable(owner.Name), made.Slug)
			return r.writeWorkspace(f, made)
		},
	}
	c.Flags().StringVar(&organization, "organization", "", "id, slug or name of the organization")
	c.Flags().StringVar(&slug, "slug", "", "short name for URLs and commands: a-z, 0-9 and dashes")
	_ = c.RegisterFlagCompletionFunc("organization", r.completeOrganizations())
	f.Bind(c, false)
	return c
}

func newWorkspacesUpdate(r *remote) *cobra.Command {
	var f term.Format
	var name, slug, onDuplicate string
	c := &cobra.Command{
		Use: "update [WORKSPACE]", Short: "Change the name, slug or settings of a workspace",
		Long: `Change the name, the slug or the settings of a workspace. A new name does not
change the slug. --on-duplicate says what becomes of new entries that may be
doubles of others, unless a request says it: allow, which is the default, warn
or refuse.`,
		Example: `  bursar workspaces update --name "Group Treasury"
  bursar workspaces update treasury --slug group-treasury
  bursar workspaces update --on-duplicate warn`,
		Args: cobra.MaximumNArgs(1), ValidArgsFunction: byPosition(r.completeWorkspaces()),
		RunE: func(c *cobra.Command, args []string) error {
			change := client.WorkspaceUpdateParams{Name: given(c, "name", name), Slug: given(c, "slug", slug), OnDuplicate: notEmpty(onDuplicate)}
			if change == (client.WorkspaceUpdateParams{}) {
				return term.Usagef("pass --name, --slug or --on-duplicate")
			}
			if err := oneOf("on-duplicate", onDuplicate, api.OnDuplicates()); err != nil {
				return err
			}
			s, w, err := r.connectNamedWorkspace(c, args)
			if err != nil {
				return err
			}
			changed, err := s.Workspaces.Update(c.Context(), w.ID, change)
			if err != nil {
				return fmt.Errorf("update the workspace: %w", err)
			}
			fmt.Fprintf(r.terminal.Err, "Updated workspace %s (%s).\n", term.Printable(changed.Name), changed.ID)
			return r.writeWorkspace(f, changed)
		},
	}
	c.Flags().StringVar(&name, "name", "", "new name")
	c.Flags().StringVar(&slug, "slug", "", "new slug: a-z, 0-9 and dashes")
	c.Flags().StringVar(&onDuplicate, "on-duplicate", "", "what becomes of doubles: allow, warn or refuse")
	completeWords(c, "on-duplicate", api.OnDuplicates())
	f.Bind(c, false)
	return c
}

// given returns the value of a flag, or nil if it was not set.
func given(c *cobra.Command, flag, value string) *string {
	if !c.Flags().Changed(flag) {
		return nil
	}
	return &value
}

// notEmpty returns the value of an optional parameter. It is nil, which omits the parameter, if the text is empty.
func notEmpty(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

func newWorkspacesUse(r *remote) *cobra.Command {
	return &cobra.Command{
		Use: "use [WORKSPACE]", Short: "Choose the default workspace",
		Long: `Choose the default workspace for the current context. Without an argument the
command asks, if it runs on a terminal. --workspace and BURSAR_WORKSPACE
override the default.`,
		Example: `  bursar workspaces use treasury
  bursar workspaces use`,
		Args: cobra.MaximumNArgs(1), ValidArgsFunction: byPosition(r.completeWorkspaces()),
		RunE: func(c *cobra.Command, args []string) error {
			s, err := r.connect()
			if err != nil {
				return err
			}
			if s.name == "" {
				return errors.New("BURSAR_URL names the server, so there is no context that could remember a workspace: set BURSAR_WORKSPACE")
			}
			w, err := s.chooseWorkspace(c, args)
			if err != nil {
				return err
			}
			f, err := r.files()
			if err != nil {
				return err
			}
			f.profile.Contexts[s.name].Workspace = w.ID
			if err := f.profile.Save(); err != nil {
				return err
			}
			fmt.Fprintf(r.terminal.Err, "Commands for %s now use workspace %s (%s).\n", s.name, term.Printable(w.Name), w.Slug)
			if other := r.terminal.Getenv("BURSAR_WORKSPACE"); other != "" {
				fmt.Fprintf(r.terminal.Err, "BURSAR_WORKSPACE is set and overrides this: %s.\n", term.Printable(other))
			}
			return nil
		},
	}
}

func newWorkspacesLeave(r *remote) *cobra.Command {
	var f term.Format
	var yes bool
	c := &cobra.Command{
		Use: "leave [WORKSPACE]", Short: "Leave a workspace",
		Long: `Leave a workspace, by id, slug or name; without one, the current workspace.
You lose your roles there immediately, and need no permission to do so. The
last admin cannot leave.`,
		Example: `  bursar workspaces leave treasury
  bursar workspaces leave treasury --yes`,
		Args: cobra.MaximumNArgs(1), ValidArgsFunction: byPosition(r.completeWorkspaces()),
		RunE: func(c *cobra.Command, args []string) error {
			s, w, err := r.connectNamedWorkspace(c, args)
			if err != nil {
				return err
			}
			me, err := s.Auth.Me(c.Context())
			if err != nil {
				return fmt.Errorf("find out who you are: %w", err)
			}
			if err := r.terminal.Confirm(c.Context(), fmt.Sprintf("Leave %s?", term.Printable(w.Name)), yes); err != nil {
				return err
			}
			left, err := s.Members.Remove(c.Context(), w.ID, me.ID)
			if err != nil {
				return fmt.Errorf("leave the workspace: %w", err)
			}
			fmt.Fprintf(r.terminal.Err, "You left %s.\n", term.Printable(w.Name))
			return f.Write(r.terminal, left, nothing)
		},
	}
	c.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	f.Bind(c, false)
	return c
}

func (s *session) chooseWorkspace(c *cobra.Command, args []string) (api.Workspace, error) {
	if len(args) == 1 {
		return s.findWorkspace(c.Context(), args[0])
	}
	if !s.terminal.Interactive() {
		return api.Workspace{}, term.Usagef("missing WORKSPACE: this is not a terminal, so nobody can choose one")
	}
	all, err := s.workspaces(c.Context())
	if err != nil {
		return api.Workspace{}, err
	}
	if len(all) == 0 {
		return api.Workspace{}, errNoWorkspace
	}
	return s.pickWorkspace(c.Context(), "Which workspace?", all)
}
