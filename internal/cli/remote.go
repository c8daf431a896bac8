package cli

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"bursar/api"
	"bursar/client"
	"bursar/internal/cli/profile"
	"bursar/internal/cli/term"
)

// remote is the server and the workspace of a command.
type remote struct {
	terminal    Terminal
	contextName string // --context
	workspace   string // --workspace
	variable    string // holds the credential in use; empty if a login stored it
}

var (
	errSignedOut   = errors.New("you are not signed in")
	errNoWorkspace = errors.New("you are not in a workspace yet: see 'bursar invitations list', or create one with 'bursar workspaces create NAME'")
)

// session is a connection to a server.
type session struct {
	*client.Client
	terminal  Terminal
	url       string
	name      string // of the context; empty if variables name the server
	workspace string // id or name of the default workspace
	expiresAt int64
	held      profile.Credential
}

// files contains the settings of the command line.
type files struct {
	profile     *profile.Profile
	credentials profile.CredentialStore
}

func (r *remote) files() (files, error) {
	dir, err := profile.Dir(r.terminal.Env)
	if err != nil {
		return files{}, err
	}
	p, err := profile.Load(dir)
	return files{p, profile.OpenCredentials(dir, r.terminal.Env)}, err
}

// connect returns a session with the chosen server, with the credential stored for it.
func (r *remote) connect() (*session, error) {
	f, err := r.files()
	if err != nil {
		return nil, err
	}
	s := &session{terminal: r.terminal}
	name, chosen, err := r.target(f.profile)
	if err != nil {
		return nil, err
	}
	held := r.environment()
	url := r.terminal.Getenv("BURSAR_URL")
	switch {
	case r.contextName != "":
	case url != "":
		s.url = profile.ServerURL(url)
		name, _ = f.profile.Find(s.url)
		chosen = f.profile.Contexts[name]
	case !held.Empty():
		return nil, fmt.Errorf("%w: %s is set without BURSAR_URL, and it goes only to the server that BURSAR_URL names: set BURSAR_URL as well, or unset %s to use what 'bursar login' has stored", errSignedOut, r.variable, r.variable)
	case chosen == nil:
		return nil, fmt.Errorf("%w: run 'bursar login URL', or set BURSAR_URL and BURSAR_API_KEY", errSignedOut)
	}
	if chosen != nil {
		s.url, s.name = chosen.URL, name
		s.workspace = chosen.Workspace
	}
	if r.contextName == "" {
		s.workspace = cmp.Or(r.terminal.Getenv("BURSAR_WORKSPACE"), s.workspace)
	}
	if held.Empty() {
		if held, err = f.credentials.Load(s.name, s.url); err != nil {
			return nil, err
		}
	}
	s.expiresAt, s.held = held.ExpiresAt, held
	if held.Empty() {
		return nil, fmt.Errorf("%w to %s: run 'bursar login %s'", errSignedOut, s.url, s.url)
	}
	if held.APIKey == "" && held.ExpiresAt != 0 && time.Now().UnixMilli() >= held.ExpiresAt {
		return nil, fmt.Errorf("%w to %s: the session has expired; run 'bursar login %s'", errSignedOut, s.url, s.url)
	}
	s.Client, err = newClient(s.url, held)
	return s, err
}

// environment returns the credential of the environment. With --context it returns none, because the credential may belong to another
// server.
func (r *remote) environment() profile.Credential {
	if r.contextName != "" {
		return profile.Credential{}
	}
	held := profile.Credential{APIKey: r.terminal.Getenv("BURSAR_API_KEY"), Token: r.terminal.Getenv("BURSAR_TOKEN")}
	switch {
	case held.APIKey != "":
		r.variable = "BURSAR_API_KEY"
	case held.Token != "":
		r.variable = "BURSAR_TOKEN"
	}
	return held
}

// explainCredential names the variable whose credential the server does not accept. Signing in would not help, because the variable takes precedence.
func (r *remote) explainCredential(err error) error {
	if r.variable == "" || !client.IsUnauthorized(err) {
		return err
	}
	return withHint(err, "The server does not accept "+r.variable+": set the variable to a valid credential, or unset it and run 'bursar login'.")
}

// target returns the context of --context, or else the current one. It returns nil if there is none.
func (r *remote) target(p *profile.Profile) (string, *profile.Context, error) {
	name := r.contextName
	if name == "" {
		return p.Current, p.Contexts[p.Current], nil
	}
	chosen, ok := p.Contexts[name]
	if !ok {
		return "", nil, fmt.Errorf("there is no context %q; 'bursar context list' shows the existing ones", name)
	}
	return name, chosen, nil
}

func newClient(url string, c profile.Credential, options ...client.Option) (*client.Client, error) {
	options = append(options, client.WithUserAgent("bursar/"+version))
	switch {
	case c.APIKey != "":
		options = append(options, client.WithAPIKey(c.APIKey))
	case c.Token != "":
		options = append(options, client.WithToken(c.Token))
	}
	made, err := client.New(url, options...)
	if err != nil {
		return nil, term.Usage(err)
	}
	return made, nil
}

// bindWorkspace adds the flag that chooses the workspace.
func (r *remote) bindWorkspace(c *cobra.Command) {
	c.Flags().StringVarP(&r.workspace, "workspace", "w", "", "id, slug or name of the workspace; default BURSAR_WORKSPACE, else the one of 'bursar workspaces use'")
	completeFlag(c, "workspace", workspaces().completion(r))
}

// chosenWorkspace returns the chosen workspace. Its id is empty if none is chosen.
func (c *call) chosenWorkspace() (api.Workspace, error) {
	ref := cmp.Or(c.r.workspace, c.session.workspace)
	if ref == "" {
		return api.Workspace{}, nil
	}
	return workspaces().find(c, ref)
}

// currentWorkspace returns the workspace that a command works in.
func (c *call) currentWorkspace() (api.Workspace, error) {
	if w, err := c.chosenWorkspace(); err != nil || w.ID != "" {
		return w, err
	}
	all, err := workspaces().all(c)
	switch {
	case err != nil:
		return api.Workspace{}, err
	case len(all) == 0:
		return api.Workspace{}, errNoWorkspace
	case len(all) == 1:
		return all[0], nil
	}
	hint := "'bursar workspaces use NAME' remembers one"
	if c.name == "" { // there is no context to store it in
		hint = "set BURSAR_WORKSPACE to skip this question"
	}
	return chooseWorkspace(c, "Which workspace? ("+hint+")", all)
}
