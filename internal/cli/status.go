package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"bursar/api"
	"bursar/client"
	"bursar/internal/audit"
	"bursar/internal/cli/profile"
	"bursar/internal/cli/term"
)

func newLogout(r *remote) *cobra.Command {
	return &cobra.Command{
		Use:   "logout",
		Short: "Sign out and delete the stored credential",
		Long: `End the session on the server and delete the stored credential. A stored API
key stays valid on the server; revoke it with 'bursar keys revoke'.`,
		Example: `  bursar logout
  bursar logout --context pay.example.com`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			f, err := r.files()
			if err != nil {
				return err
			}
			name, chosen, err := r.target(f.profile)
			if err != nil {
				return err
			}
			if chosen == nil {
				return fmt.Errorf("%w to any server", errSignedOut)
			}
			held, err := f.credentials.Load(name, chosen.URL)
			if err != nil {
				return err
			}
			if held.Token != "" {
				if err := r.endSession(c, chosen.URL, held); err != nil {
					fmt.Fprintf(r.terminal.Err, "Could not end the session on the server: %s\n", explain(err))
				}
			}
			if err := f.credentials.Forget(name); err != nil {
				return err
			}
			chosen.User = ""
			if err := f.profile.Save(); err != nil {
				return err
			}
			_, err = fmt.Fprintf(r.terminal.Err, "Signed out of %s.\n", name)
			return err
		},
	}
}

func (r *remote) endSession(c *cobra.Command, url string, held profile.Credential) error {
	connection, err := newClient(url, held)
	if err != nil {
		return err
	}
	_, err = connection.Auth.Logout(c.Context())
	if client.IsUnauthorized(err) {
		return nil // the session has already ended
	}
	return err
}

func newWhoami(r *remote) *cobra.Command {
	return newCommand(r, anywhere, nil, &cobra.Command{
		Use:   "whoami",
		Short: "Show who is signed in",
		Long:  `Show who is signed in, and what the API key or machine client is limited to.`,
		Example: `  bursar whoami
  bursar whoami --jq .id`,
	}, func(c *call) error {
		me, err := c.Auth.Me(c)
		if err != nil {
			return fmt.Errorf("ask who is signed in: %w", err)
		}
		return c.writePairs(me, append([]string{"Name", me.Name, "Email", me.Email, "Id", me.ID}, limitPairs(me.Scope)...)...)
	})
}

// limitPairs returns the limits of a credential, or nil if there are none.
func limitPairs(s *api.Scope) (pairs []string) {
	if s == nil {
		return nil
	}
	if s.Permissions != nil {
		pairs = append(pairs, "Permissions", strings.Join(s.Permissions, ", "))
	}
	if s.WorkspaceIDs != nil {
		pairs = append(pairs, "Workspaces", strings.Join(s.WorkspaceIDs, ", "))
	}
	if s.Mode != audit.BothModes {
		pairs = append(pairs, "Mode", s.Mode)
	}
	if !s.Administer {
		pairs = append(pairs, "Administers", "no")
	}
	return pairs
}

// statusReport contains the server, user and workspace that commands use.
type statusReport struct {
	Context   string `json:"context,omitempty"`
	Server    string `json:"server"`
	User      string `json:"user,omitempty"`
	Email     string `json:"email,omitempty"`
	Workspace string `json:"workspace,omitempty"`
	ExpiresAt int64  `json:"expires_at,omitempty"`
}

func newStatus(r *remote) *cobra.Command {
	return newCommand(r, anywhere, nil, &cobra.Command{
		Use:   "status",
		Short: "Show the server, the user, the workspace and the session",
		Example: `  bursar status
  bursar status --json`,
	}, func(c *call) error {
		me, err := c.Auth.Me(c)
		if err != nil {
			return fmt.Errorf("ask %s who is signed in: %w", c.url, err)
		}
		id, workspace := c.describeWorkspace()
		report := statusReport{Context: c.name, Server: c.url, User: me.Name, Email: me.Email, Workspace: id, ExpiresAt: c.expiresAt}
		return c.writePairs(report, "Server", c.url, "User", called(me.User)+" <"+me.Email+">", "Workspace", workspace, "Session", c.lasts())
	})
}

// describeWorkspace returns the id of the workspace that commands use, and a text for the user. If none is chosen, commands use the only
// workspace.
func (c *call) describeWorkspace() (id, text string) {
	all, err := workspaces().all(c)
	switch {
	case err != nil:
		return "", "unknown: " + explain(err)
	case c.session.workspace != "":
		found, err := workspaces().pick(c, c.session.workspace, all)
		if err != nil {
			return "", c.session.workspace + " (not found)"
		}
		return found.ID, found.Name + " (" + found.Slug + ")"
	case len(all) == 1:
		return all[0].ID, all[0].Name + " (" + all[0].Slug + "), your only workspace"
	case len(all) == 0:
		return "", "none yet; create one with 'bursar workspaces create NAME'"
	}
	return "", "none selected; choose one with 'bursar workspaces use'"
}

// lasts describes how long the credential is valid.
func (s *session) lasts() string {
	switch {
	case s.held.APIKey != "":
		return "renewed automatically with an API key"
	case s.expiresAt == 0:
		return "a token with unknown expiry"
	}
	ends := time.UnixMilli(s.expiresAt)
	return "ends in " + time.Until(ends).Round(time.Minute).String() + ", at " + ends.Local().Format("2006-01-02 15:04 MST")
}

func newContext(r *remote) *cobra.Command {
	return commandGroup(&cobra.Command{
		Use:   "context",
		Short: "Work with several servers",
		Long: `Each server that you sign in to is a context, with its own credential and
default workspace. Commands use the current context, or the one of --context.`,
		Example: `  bursar context list
  bursar context use pay.example.com`,
	}, newContextList(r), newContextUse(r), newContextRemove(r))
}

type contextRow struct {
	Name      string `json:"name"`
	URL       string `json:"url"`
	User      string `json:"user,omitempty"`
	Workspace string `json:"workspace,omitempty"`
	Current   bool   `json:"current"`
}

func newContextList(r *remote) *cobra.Command {
	var out term.Format
	c := &cobra.Command{
		Use: "list", Short: "List the servers you have signed in to", Aliases: []string{"ls"},
		Example: `  bursar context list`,
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			f, err := r.files()
			if err != nil {
				return err
			}
			rows := &term.Table{Columns: []string{"name", "url", "user", "workspace", "current"}, Empty: "There are no contexts yet. Run 'bursar login URL'."}
			list := []contextRow{}
			for _, name := range slices.Sorted(maps.Keys(f.profile.Contexts)) {
				at := f.profile.Contexts[name]
				row := contextRow{name, at.URL, at.User, at.Workspace, name == f.profile.Current}
				mark := ""
				if row.Current {
					mark = "*"
				}
				list = append(list, row)
				rows.Add(name, at.URL, at.User, at.Workspace, mark)
			}
			return out.WriteTable(r.terminal, list, rows)
		},
	}
	out.Bind(c, true)
	return c
}

func (r *remote) contextNames(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	f, err := r.files()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return slices.Sorted(maps.Keys(f.profile.Contexts)), cobra.ShellCompDirectiveNoFileComp
}

func newContextUse(r *remote) *cobra.Command {
	return &cobra.Command{
		Use: "use NAME", Short: "Choose the server that commands use",
		Example: `  bursar context use pay.example.com`,
		Args:    cobra.ExactArgs(1), ValidArgsFunction: r.contextNames,
		RunE: func(_ *cobra.Command, args []string) error {
			return r.changeContexts(args[0], func(p *profile.Profile) string {
				p.Current = args[0]
				return "Commands now use " + p.Contexts[args[0]].URL + "."
			})
		},
	}
}

func newContextRemove(r *remote) *cobra.Command {
	return &cobra.Command{
		Use: "remove NAME", Short: "Remove a server and its credential",
		Example: `  bursar context remove pay.example.com`,
		Args:    cobra.ExactArgs(1), ValidArgsFunction: r.contextNames,
		RunE: func(_ *cobra.Command, args []string) error {
			f, err := r.files()
			if err != nil {
				return err
			}
			if f.profile.Contexts[args[0]] != nil {
				if err := f.credentials.Forget(args[0]); err != nil {
					return err
				}
			}
			return r.changeContexts(args[0], func(p *profile.Profile) string {
				delete(p.Contexts, args[0])
				if p.Current == args[0] {
					p.Current = ""
				}
				return "Removed context " + args[0] + "."
			})
		},
	}
}

func (r *remote) changeContexts(name string, change func(p *profile.Profile) string) error {
	f, err := r.files()
	if err != nil {
		return err
	}
	if f.profile.Contexts[name] == nil {
		return fmt.Errorf("there is no context %q; 'bursar context list' shows the existing ones", name)
	}
	text := change(f.profile)
	if err := f.profile.Save(); err != nil {
		return err
	}
	_, err = fmt.Fprintln(r.terminal.Err, text)
	return err
}
