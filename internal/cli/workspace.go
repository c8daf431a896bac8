package cli

import (
	"cmp"
	"errors"
	"fmt"
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

// workspaces finds workspaces by id, slug or name. Without a name it finds the current one.
func workspaces() *resource[api.Workspace] {
	return &resource[api.Workspace]{
		noun: "workspace", anywhere: true,
		list: func(c *call, _ string, p client.ListParams) iter.Seq2[api.Workspace, error] {
			return c.Workspaces.All(c, p)
		},
		item: func(w api.Workspace) item {
			return item{w.ID, []string{w.Slug, w.Name}, w.Name + "  " + w.Slug + "  " + w.ID, described(w.Slug, w.Name)}
		},
		only: func(c *call, _ string) (api.Workspace, error) { return c.here() },
	}
}

// chooseWorkspace lets the person choose one of their workspaces.
func chooseWorkspace(c *call, question string, all []api.Workspace) (api.Workspace, error) {
	if !c.terminal.Interactive() {
		return api.Workspace{}, term.Usagef("you are in several workspaces: choose one with --workspace or BURSAR_WORKSPACE")
	}
	return workspaces().choose(c, question, all)
}

func newWorkspacesList(r *remote) *cobra.Command {
	owners := map[string]string{} // names of organizations by id
	return newList(r, anywhere, nil, &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List your workspaces",
		Long: `List the workspaces that you are a member of. A star marks the default
workspace of commands.`,
		Example: `  bursar workspaces list
  bursar workspaces list --jq '.[].slug'`,
	}, list[api.Workspace]{
		noun: "workspaces",
		rows: func(c *call, limit int) (iter.Seq2[api.Workspace, error], error) {
			// Without the names, the table shows the ids of the organizations.
			if all, err := organizations().all(c); err == nil {
				for _, o := range all {
					owners[o.ID] = o.Name
				}
			}
			return c.Workspaces.All(c, client.ListParams{Limit: limit}), nil
		},
		table: &term.Table{Columns: []string{"name", "slug", "organization", "id", "default"},
			Empty: "You are not in a workspace yet. See 'bursar invitations list', or create one with 'bursar workspaces create NAME'."},
		cells: func(c *call, w api.Workspace) []string {
			mark := ""
			if c.session.workspace == w.ID || c.session.workspace == w.Slug {
				mark = "*"
			}
			return []string{w.Name, w.Slug, cmp.Or(owners[w.OrganizationID], w.OrganizationID), w.ID, mark}
		},
	})
}

func newWorkspacesGet(r *remote) *cobra.Command {
	var in struct{ Workspace api.Workspace }
	return newCommand(r, anywhere, &in, &cobra.Command{
		Use: "get [WORKSPACE]", Short: "Show a workspace",
		Long: `Show a workspace, by id, slug or name. Without one, show the current
workspace.`,
		Example: `  bursar workspaces get
  bursar workspaces get treasury --jq .id`,
	}, func(c *call) error {
		got, err := c.Workspaces.Get(c, in.Workspace.ID)
		if err != nil {
			return fmt.Errorf("get the workspace: %w", err)
		}
		return writeWorkspace(c, got)
	})
}

func writeWorkspace(c *call, w *api.Workspace) error {
	return c.writePairs(w, "Name", w.Name, "Slug", w.Slug, "Id", w.ID, "Organization", w.OrganizationID)
}

func newWorkspacesCreate(r *remote) *cobra.Command {
	var in struct {
		Name         string
		Organization api.Organization `flag:"organization" usage:"id, slug or name of the organization"`
		Slug         string           `flag:"slug" usage:"short name for URLs and commands: a-z, 0-9 and dashes"`
	}
	return newCommand(r, anywhere, &in, &cobra.Command{
		Use: "create NAME", Short: "Create a workspace",
		Long: `Create a workspace in an organization that you own. You become its first
admin. Without --slug, the slug is derived from the name. Without
--organization, your only organization is used.`,
		Example: `  bursar workspaces create Treasury
  bursar workspaces create "Payroll Europe" --organization acme --slug payroll-eu`,
	}, func(c *call) error {
		owner := in.Organization
		made, err := c.Workspaces.Create(c, client.WorkspaceCreateParams{Name: in.Name, OrganizationID: owner.ID, Slug: notEmpty(in.Slug)})
		if err != nil {
			return fmt.Errorf("create the workspace: %w", err)
		}
		c.say("Created workspace %s in %s. Switch to it with 'bursar workspaces use %s'.", made.Name, owner.Name, made.Slug)
		return writeWorkspace(c, made)
	})
}

// workspaceChange are the inputs of 'workspaces update'.
type workspaceChange struct {
	Workspace   api.Workspace
	Name        *string     `flag:"name" usage:"new name"`
	Slug        *string     `flag:"slug" usage:"new slug: a-z, 0-9 and dashes"`
	OnDuplicate onDuplicate `flag:"on-duplicate" usage:"what becomes of doubles: allow, warn or refuse"`
}

// onDuplicate is what to do with an entry that may be a duplicate.
type onDuplicate string

func (*onDuplicate) words() []string { return api.OnDuplicates() }

func (w *workspaceChange) params() client.WorkspaceUpdateParams {
	return client.WorkspaceUpdateParams{Name: w.Name, Slug: w.Slug, OnDuplicate: notEmpty(string(w.OnDuplicate))}
}

func (w *workspaceChange) check() error {
	if w.params() == (client.WorkspaceUpdateParams{}) {
		return term.Usagef("pass --name, --slug or --on-duplicate")
	}
	return nil
}

func newWorkspacesUpdate(r *remote) *cobra.Command {
	var in workspaceChange
	return newCommand(r, anywhere, &in, &cobra.Command{
		Use: "update [WORKSPACE]", Short: "Change the name, slug or settings of a workspace",
		Long: `Change the name, the slug or the settings of a workspace. A new name does not
change the slug. --on-duplicate says what becomes of new entries that may be
doubles of others, unless a request says it: allow, which is the default, warn
or refuse.`,
		Example: `  bursar workspaces update --name "Group Treasury"
  bursar workspaces update treasury --slug group-treasury
  bursar workspaces update --on-duplicate warn`,
	}, func(c *call) error {
		changed, err := c.Workspaces.Update(c, in.Workspace.ID, in.params())
		if err != nil {
			return fmt.Errorf("update the workspace: %w", err)
		}
		c.say("Updated workspace %s (%s).", changed.Name, changed.ID)
		return writeWorkspace(c, changed)
	})
}

// notEmpty returns the value of an optional parameter. It is nil, which omits the parameter, if the text is empty.
func notEmpty(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

func newWorkspacesUse(r *remote) *cobra.Command {
	var in struct{ Workspace workspaceName }
	return newTask(r, anywhere, &in, &cobra.Command{
		Use: "use [WORKSPACE]", Short: "Choose the default workspace",
		Long: `Choose the default workspace for the current context. Without an argument the
command asks, if it runs on a terminal. --workspace and BURSAR_WORKSPACE
override the default.`,
		Example: `  bursar workspaces use treasury
  bursar workspaces use`,
	}, func(c *call) error {
		if c.name == "" {
			return errors.New("BURSAR_URL names the server, so there is no context that could remember a workspace: set BURSAR_WORKSPACE")
		}
		w, err := workspaceToUse(c, string(in.Workspace))
		if err != nil {
			return err
		}
		f, err := r.files()
		if err != nil {
			return err
		}
		f.profile.Contexts[c.name].Workspace = w.ID
		if err := f.profile.Save(); err != nil {
			return err
		}
		c.say("Commands for %s now use workspace %s (%s).", c.name, w.Name, w.Slug)
		if other := r.terminal.Getenv("BURSAR_WORKSPACE"); other != "" {
			c.say("BURSAR_WORKSPACE is set and overrides this: %s.", other)
		}
		return nil
	})
}

// workspaceName names a workspace to choose, or none to be asked.
type workspaceName string

func (*workspaceName) completion(r *remote) cobra.CompletionFunc { return workspaces().completion(r) }

func workspaceToUse(c *call, name string) (api.Workspace, error) {
	if name != "" {
		return workspaces().find(c, name)
	}
	if !c.terminal.Interactive() {
		return api.Workspace{}, term.Usagef("missing WORKSPACE: this is not a terminal, so nobody can choose one")
	}
	all, err := workspaces().all(c)
	if err != nil {
		return api.Workspace{}, err
	}
	if len(all) == 0 {
		return api.Workspace{}, errNoWorkspace
	}
	return chooseWorkspace(c, "Which workspace?", all)
}

func newWorkspacesLeave(r *remote) *cobra.Command {
	var in struct {
		Workspace api.Workspace
		confirmation
	}
	return newCommand(r, anywhere, &in, &cobra.Command{
		Use: "leave [WORKSPACE]", Short: "Leave a workspace",
		Long: `Leave a workspace, by id, slug or name; without one, the current workspace.
You lose your roles there immediately, and need no permission to do so. The
last admin cannot leave.`,
		Example: `  bursar workspaces leave treasury
  bursar workspaces leave treasury --yes`,
	}, func(c *call) error {
		me, err := c.Auth.Me(c)
		if err != nil {
			return fmt.Errorf("find out who you are: %w", err)
		}
		if err := c.confirm(in.confirmation, "Leave %s?", in.Workspace.Name); err != nil {
			return err
		}
		left, err := c.Members.Remove(c, in.Workspace.ID, me.ID)
		if err != nil {
			return fmt.Errorf("leave the workspace: %w", err)
		}
		c.say("You left %s.", in.Workspace.Name)
		return c.done(left)
	})
}
