package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"bursar/api"
	"bursar/client"
	"bursar/internal/cli/profile"
	"bursar/internal/cli/term"
	"bursar/internal/fault"
)

// remote is a command's way to a server: which one, as whom, in which workspace.
type remote struct {
	terminal    Terminal
	contextName string // --context
	workspace   string // --workspace
}

var errSignedOut = errors.New("you are not signed in")

// session is a connection to a server.
type session struct {
	*client.Client
	terminal  Terminal
	url       string
	name      string // of the context; empty where variables say everything
	workspace string // id or name of the default workspace
	expiresAt int64
	held      profile.Credential
}

// files are what the command line remembers.
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

// connect opens the way to the chosen server as whoever is signed in there.
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
	if url := r.terminal.Getenv("BURSAR_URL"); url != "" && r.contextName == "" {
		s.url = profile.ServerURL(url)
		name, _ = f.profile.Find(s.url)
		chosen = f.profile.Contexts[name]
	} else if chosen == nil {
		return nil, fmt.Errorf("%w: run 'bursar login URL', or set BURSAR_URL and BURSAR_API_KEY", errSignedOut)
	}
	if chosen != nil {
		s.url, s.name = chosen.URL, name
		s.workspace = chosen.Workspace
	}
	// --context names a server: what the environment says of another must not go there.
	var held profile.Credential
	if r.contextName == "" {
		held = profile.Credential{APIKey: r.terminal.Getenv("BURSAR_API_KEY"), Token: r.terminal.Getenv("BURSAR_TOKEN")}
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
		return nil, fmt.Errorf("%w to %s any more, the session has expired: run 'bursar login %s'", errSignedOut, s.url, s.url)
	}
	s.Client, err = newClient(s.url, held)
	return s, err
}

// target is the context that is asked for, or the current one; nil where there is
// none.
func (r *remote) target(p *profile.Profile) (string, *profile.Context, error) {
	name := r.contextName
	if name == "" {
		return p.Current, p.Contexts[p.Current], nil
	}
	chosen, ok := p.Contexts[name]
	if !ok {
		return "", nil, fmt.Errorf("there is no context %s: see 'bursar context list'", name)
	}
	return name, chosen, nil
}

func newClient(url string, c profile.Credential, options ...client.Option) (*client.Client, error) {
	options = append(options, client.WithUserAgent("bursar/"+version()))
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

// inWorkspace adds the flag by which a command is told its workspace.
func (r *remote) inWorkspace(c *cobra.Command) *cobra.Command {
	c.Flags().StringVarP(&r.workspace, "workspace", "w", "", "id, slug or name of the workspace; else that of 'bursar workspaces use' or BURSAR_WORKSPACE")
	_ = c.RegisterFlagCompletionFunc("workspace", r.complete(func(ctx context.Context, s *session) ([]string, error) { return s.workspaceNames(ctx) }))
	return c
}

// here is the workspace that a command works in.
func (r *remote) currentWorkspace(ctx context.Context, s *session) (api.Workspace, error) {
	ref := r.workspace
	if ref == "" {
		ref = s.workspace
	}
	if ref != "" {
		return s.findWorkspace(ctx, ref)
	}
	all, err := s.workspaces(ctx)
	switch {
	case err != nil:
		return api.Workspace{}, err
	case len(all) == 0:
		return api.Workspace{}, errors.New("you are in no workspace yet: ask to be invited, or make one with 'bursar workspaces create'")
	case len(all) == 1:
		return all[0], nil
	}
	return s.pickWorkspace("Which workspace? ('bursar workspaces use NAME' remembers one)", all)
}

// explain says what failed, why, and what to do next.
func explain(err error) string {
	if errors.Is(err, context.Canceled) {
		return "stopped"
	}
	var refused *client.Error
	if !errors.As(err, &refused) {
		text := strings.ReplaceAll(plainText(err), "bursar: ", "")
		var network *net.OpError
		if errors.As(err, &network) {
			text += "\nIs the server running, and is the address right? See 'bursar context list'."
		}
		return text
	}
	text := strings.TrimSuffix(err.Error(), refused.Error())
	text += refused.Message
	for _, field := range refused.Fields() {
		if !strings.Contains(refused.Message, field.Field+" "+field.Constraint) {
			text += "\n  " + field.Field + " " + field.Constraint
		}
	}
	if next := nextStep(refused); next != "" {
		text += "\n" + next
	}
	if refused.RequestID != "" {
		text += "\nRequest id: " + refused.RequestID
	}
	return text
}

func nextStep(e *client.Error) string {
	switch {
	case client.IsUnauthorized(e):
		return "Your session has ended or the key is not good: run 'bursar login'."
	case e.Permission() != "":
		return "You need the permission " + e.Permission() + " here: an admin of the workspace can give you a role that holds it."
	case e.Status == 429:
		return "Wait a moment and try again."
	case e.Status >= 500:
		return "The server failed. Try again; if it stays so, tell whoever runs it the request id."
	}
	return ""
}

// plainText is an error without the code that only programs care for.
func plainText(err error) string {
	var f *fault.Fault
	if errors.As(err, &f) {
		return f.Message
	}
	return err.Error()
}
