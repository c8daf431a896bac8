package cli

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"maps"

	"github.com/spf13/cobra"

	"bursar/client"
	"bursar/internal/cli/profile"
	"bursar/internal/cli/term"
)

func newLogout(r *remote) *cobra.Command {
	return &cobra.Command{
		Use:   "logout",
		Short: "Sign out and forget the credential",
		Long: `End the session at the server and forget the credential. An API key that was kept
stays good at the server; revoke it with 'bursar keys revoke'.`,
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
				return fmt.Errorf("%w anywhere: there is nothing to do", errSignedOut)
			}
			held, err := f.credentials.Load(name, chosen.URL)
			if err != nil {
				return err
			}
			if held.Token != "" {
				if err := r.endSession(c, chosen.URL, held); err != nil {
					fmt.Fprintf(r.terminal.Err, "The session could not be ended at the server: %s\n", explain(err))
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
		return nil // it has ended already
	}
	return err
}

func newWhoami(r *remote) *cobra.Command {
	var f term.Format
	c := &cobra.Command{
		Use:   "whoami",
		Short: "Show who is signed in",
		Example: `  bursar whoami
  bursar whoami --jq .id`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			s, err := r.connect()
			if err != nil {
				return err
			}
			me, err := s.Auth.Me(c.Context())
			if err != nil {
				return fmt.Errorf("ask who is signed in: %w", err)
			}
			return f.Write(r.terminal, me, func(w io.Writer) error {
				return term.WritePairs(r.terminal, w, "Name", me.Name, "Email", me.Email, "Id", me.ID)
			})
		},
	}
	f.Bind(c, false)
	return c
}

// statusReport is where a command would go, and as whom.
type statusReport struct {
	Context   string `json:"context,omitempty"`
	Server    string `json:"server"`
	User      string `json:"user,omitempty"`
	Email     string `json:"email,omitempty"`
	Workspace string `json:"workspace,omitempty"`
	ExpiresAt int64  `json:"expires_at,omitempty"`
}

func newStatus(r *remote) *cobra.Command {
	var f term.Format
	c := &cobra.Command{
		Use:   "status",
		Short: "Show the server, who is signed in, the workspace and when the session ends",
		Example: `  bursar status
  bursar status --json`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			s, err := r.connect()
			if err != nil {
				return err
			}
			me, err := s.Auth.Me(c.Context())
			if err != nil {
				return fmt.Errorf("ask %s who is signed in: %w", s.url, err)
			}
			report := statusReport{Context: s.name, Server: s.url, User: me.Name, Email: me.Email, ExpiresAt: s.expiresAt}
			workspace := "none chosen; see 'bursar workspaces use'"
			if s.workspace != "" {
				if found, err := s.findWorkspace(c.Context(), s.workspace); err == nil {
					report.Workspace, workspace = found.ID, found.Name+" ("+found.Slug+")"
				} else {
					workspace = s.workspace + " (not found)"
				}
			}
			return f.Write(r.terminal, report, func(w io.Writer) error {
				return term.WritePairs(r.terminal, w, "Server", s.url, "User", called(*me)+" <"+me.Email+">", "Workspace", workspace, "Session", s.lasts())
			})
		},
	}
	f.Bind(c, false)
	return c
}

// lasts says how long the credential is good.
func (s *session) lasts() string {
	switch {
	case s.held.APIKey != "":
		return "by an API key, renewed by itself"
	case s.expiresAt == 0:
		return "by a token that does not say when it ends"
	}
	ends := time.UnixMilli(s.expiresAt)
	return "ends in " + time.Until(ends).Round(time.Minute).String() + ", at " + ends.Local().Format("2006-01-02 15:04 MST")
}

func newContext(r *remote) *cobra.Command {
	c := &cobra.Command{
		Use:   "context",
		Short: "Work with several servers side by side",
		Long: `Every server that you sign in to is a context, with its own credential and its own
default workspace. Commands go to the current one, or to that of --context.`,
		Example: `  bursar context list
  bursar context use pay.example.com`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newContextList(r), newContextUse(r), newContextRemove(r))
	return c
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
		Use: "list", Short: "List the servers that you have signed in to", Aliases: []string{"ls"},
		Example: `  bursar context list`,
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			f, err := r.files()
			if err != nil {
				return err
			}
			rows := &term.Table{Columns: []string{"name", "url", "user", "workspace", "current"}, Empty: "There are no contexts yet: run 'bursar login URL'."}
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
		Use: "use NAME", Short: "Choose the server that commands go to",
		Example: `  bursar context use pay.example.com`,
		Args:    cobra.ExactArgs(1), ValidArgsFunction: r.contextNames,
		RunE: func(_ *cobra.Command, args []string) error {
			return r.changeContexts(args[0], func(p *profile.Profile) string {
				p.Current = args[0]
				return "Commands now go to " + p.Contexts[args[0]].URL + "."
			})
		},
	}
}

func newContextRemove(r *remote) *cobra.Command {
	return &cobra.Command{
		Use: "remove NAME", Short: "Forget a server and its credential",
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
				return "Context " + args[0] + " is forgotten."
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
		return errors.New("there is no context " + name + ": see 'bursar context list'")
	}
	text := change(f.profile)
	if err := f.profile.Save(); err != nil {
		return err
	}
	_, err = fmt.Fprintln(r.terminal.Err, text)
	return err
}
