package cli

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"bursar/api"
	"bursar/client"
	"bursar/internal/cli/term"
)

func newWorkspaces(r *remote) *cobra.Command {
	return commandGroup(&cobra.Command{
		Use:     "workspaces",
		Aliases: []string{"workspace"},
		Short:   "See, make and choose workspaces",
		Long: `A workspace is where work is done: it has its own directory, members, roles and
audit log, and belongs to an organization. Commands work in the workspace of
--workspace, else of BURSAR_WORKSPACE, else of 'bursar workspaces use'.`,
		Example: `  bursar workspaces list
  bursar workspaces use treasury
  bursar workspaces create "Payroll Europe"`,
	}, newWorkspacesList(r), newWorkspacesGet(r), newWorkspacesCreate(r), newWorkspacesUpdate(r), newWorkspacesUse(r))
}

func newWorkspacesList(r *remote) *cobra.Command {
	var f term.Format
	var rows span
	c := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List the workspaces that you are in",
		Long: `List the workspaces that you are in. The one that commands work in by default is
marked.`,
		Example: `  bursar workspaces list
  bursar workspaces list --jq '.[].slug'`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := rows.check(); err != nil {
				return err
			}
			s, err := r.connect()
			if err != nil {
				return err
			}
			list, err := take(r.terminal, rows, s.Workspaces.All(c.Context(), client.ListParams{Limit: rows.page()}))
			if err != nil {
				return fmt.Errorf("list the workspaces: %w", err)
			}
			owners := map[string]string{}
			if organizations, err := s.organizations(c.Context()); err == nil {
				for _, o := range organizations {
					owners[o.ID] = o.Name
				}
			}
			shown := &term.Table{Columns: []string{"name", "slug", "organization", "id", "default"}, Empty: "You are in no workspace yet: make one with 'bursar workspaces create NAME'."}
			for _, w := range list {
				mark, owner := "", owners[w.OrganizationID]
				if s.workspace == w.ID || s.workspace == w.Slug {
					mark = "*"
				}
				if owner == "" {
					owner = w.OrganizationID
				}
				shown.Add(w.Name, w.Slug, owner, w.ID, mark)
			}
			return f.WriteTable(r.terminal, list, shown)
		},
	}
	rows.bind(c)
	f.Bind(c, true)
	return c
}

func newWorkspacesGet(r *remote) *cobra.Command {
	var f term.Format
	c := &cobra.Command{
		Use: "get [WORKSPACE]", Short: "Show a workspace",
		Long: `Show a workspace, by id, slug or name; else the one that commands work in.`,
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

// workOn finds the workspace that is named, else the one that commands work in.
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
		Use: "create NAME", Short: "Make a workspace",
		Long: `Make a workspace in an organization that you own. You are its first admin. Without
--slug one is made of the name; without --organization it is the only one you
are in.`,
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
				return fmt.Errorf("make the workspace: %w", err)
			}
			fmt.Fprintf(r.terminal.Err, "Made the workspace %s in %s. Work in it with 'bursar workspaces use %s'.\n", term.Printable(made.Name), term.Printable(owner.Name), made.Slug)
			return r.writeWorkspace(f, made)
		},
	}
	c.Flags().StringVar(&organization, "organization", "", "id, slug or name of the organization")
	c.Flags().StringVar(&slug, "slug", "", "short name for addresses and commands: a-z, 0-9 and dashes")
	_ = c.RegisterFlagCompletionFunc("organization", r.completeOrganizations())
	f.Bind(c, false)
	return c
}

func newWorkspacesUpdate(r *remote) *cobra.Command {
	var f term.Format
	var name, slug string
	c := &cobra.Command{
		Use: "update [WORKSPACE]", Short: "Change the name or the slug of a workspace",
		Long: `Change the name, the slug or both of a workspace; what is not given stays. A new
name leaves the slug as it is.`,
		Example: `  bursar workspaces update --name "Group Treasury"
  bursar workspaces update treasury --slug group-treasury`,
		Args: cobra.MaximumNArgs(1), ValidArgsFunction: byPosition(r.completeWorkspaces()),
		RunE: func(c *cobra.Command, args []string) error {
			change := client.WorkspaceUpdateParams{Name: given(c, "name", name), Slug: given(c, "slug", slug)}
			if change.Name == nil && change.Slug == nil {
				return term.Usagef("give --name, --slug or both")
			}
			s, w, err := r.connectNamedWorkspace(c, args)
			if err != nil {
				return err
			}
			changed, err := s.Workspaces.Update(c.Context(), w.ID, change)
			if err != nil {
				return fmt.Errorf("change the workspace: %w", err)
			}
			fmt.Fprintf(r.terminal.Err, "Changed the workspace %s (%s).\n", term.Printable(changed.Name), changed.ID)
			return r.writeWorkspace(f, changed)
		},
	}
	c.Flags().StringVar(&name, "name", "", "new name")
	c.Flags().StringVar(&slug, "slug", "", "new slug: a-z, 0-9 and dashes")
	f.Bind(c, false)
	return c
}

// given is what a flag was set to, nil where it was not.
func given(c *cobra.Command, flag, value string) *string {
	if !c.Flags().Changed(flag) {
		return nil
	}
	return &value
}

// notEmpty is the value of an optional parameter: nil, which leaves it out, if the
// text is empty.
func notEmpty(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

func newWorkspacesUse(r *remote) *cobra.Command {
	return &cobra.Command{
		Use: "use [WORKSPACE]", Short: "Choose the workspace that commands work in",
		Long: `Choose the workspace that commands work in, for the server of the current context.
Without a name, a terminal asks. --workspace and BURSAR_WORKSPACE count more.`,
		Example: `  bursar workspaces use treasury
  bursar workspaces use`,
		Args: cobra.MaximumNArgs(1), ValidArgsFunction: byPosition(r.completeWorkspaces()),
		RunE: func(c *cobra.Command, args []string) error {
			s, err := r.connect()
			if err != nil {
				return err
			}
			if s.name == "" {
				return errors.New("BURSAR_URL says which server it is, so there is no context to remember a workspace for: set BURSAR_WORKSPACE")
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
			fmt.Fprintf(r.terminal.Err, "Commands for %s now work in %s (%s).\n", s.name, term.Printable(w.Name), w.Slug)
			if other := r.terminal.Getenv("BURSAR_WORKSPACE"); other != "" {
				fmt.Fprintf(r.terminal.Err, "But BURSAR_WORKSPACE is set and counts more: %s.\n", term.Printable(other))
			}
			return nil
		},
	}
}

func (s *session) chooseWorkspace(c *cobra.Command, args []string) (api.Workspace, error) {
	if len(args) == 1 {
		return s.findWorkspace(c.Context(), args[0])
	}
	if !s.terminal.Interactive() {
		return api.Workspace{}, term.Usagef("name the workspace: nobody can be asked here")
	}
	all, err := s.workspaces(c.Context())
	if err != nil {
		return api.Workspace{}, err
	}
	if len(all) == 0 {
		return api.Workspace{}, errors.New("you are in no workspace yet: make one with 'bursar workspaces create NAME'")
	}
	return s.pickWorkspace("Which workspace?", all)
}
