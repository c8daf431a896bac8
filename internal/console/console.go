// Package console is the part that people see: sign-in, device approval and the
// pages of a workspace, as HTML from embedded files. Its handlers call the same
// services as the API, so rules and audit cannot differ.
package console

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

	"bursar/internal/access"
	"bursar/internal/auditlog"
	"bursar/internal/directory"
	"bursar/internal/identity"
	"bursar/internal/organization"
	"bursar/internal/signin"
	"bursar/internal/web"
	"bursar/internal/workspace"
)

// Services are what the pages show and change.
type Services struct {
	Identity      *identity.Service
	Authority     *access.Authority
	Clients       *identity.Clients
	SignIn        *signin.Service
	Directory     *directory.Service
	Workspaces    *workspace.Service
	Organizations *organization.Service
	Audit         *auditlog.Service
}

// Config is what the console needs to know about the server around it.
type Config struct {
	PublicURL string
	Endpoints *web.Endpoints
	Sealer    *web.Sealer
	// Count decides whether somebody who is signed in may ask so often.
	Count func(x *web.Exchange, callerID string) error
}

// Console answers browsers.
type Console struct {
	Services
	config    Config
	endpoints *web.Endpoints
	secure    bool // served over TLS, to the browser at least
	pages     pages
	assets    assets
	foreign   *http.CrossOriginProtection
}

// New makes the console.
func New(s Services, c Config) (*Console, error) {
	public, err := url.Parse(c.PublicURL)
	if err != nil {
		return nil, fmt.Errorf("read the public URL: %w", err)
	}
	console := &Console{Services: s, config: c, endpoints: c.Endpoints, secure: public.Scheme == "https", foreign: http.NewCrossOriginProtection()}
	if err := console.foreign.AddTrustedOrigin(public.Scheme + "://" + public.Host); err != nil {
		return nil, fmt.Errorf("trust the public URL: %w", err)
	}
	if console.assets, err = loadAssets(); err != nil {
		return nil, err
	}
	console.pages, err = loadPages(console.assets)
	return console, err
}

// Route is a page or what a form on it does.
type Route struct {
	Method   string
	Path     string
	Endpoint web.Endpoint
}

// Routes are all pages.
func (c *Console) Routes() []Route {
	var all []Route
	for _, part := range [][]Route{c.assetRoutes(), c.signInRoutes(), c.deviceRoutes(), c.accountRoutes(), c.workspaceRoutes()} {
		all = append(all, part...)
	}
	return all
}

// workspaceRoutes are the pages behind the workspace switcher.
func (c *Console) workspaceRoutes() []Route {
	var all []Route
	for _, part := range [][]Route{c.homeRoutes(), c.directoryRoutes(), c.memberRoutes(), c.organizationRoutes(), c.keyRoutes(), c.auditRoutes()} {
		all = append(all, part...)
	}
	return all
}

func (c *Console) get(path string, page func(v *visit) error) Route {
	return Route{http.MethodGet, path, c.signedIn(page)}
}

func (c *Console) post(path string, do func(v *visit) error) Route {
	return Route{http.MethodPost, path, c.signedIn(do)}
}

// inWorkspace makes a page of a workspace, whose path begins with /w/{ws}.
func (c *Console) inWorkspace(page func(v *visit) error) func(v *visit) error {
	return func(v *visit) error {
		if err := v.enter(v.R.Context(), v.R.PathValue("ws")); err != nil {
			return err
		}
		return page(v)
	}
}

func (c *Console) getIn(path string, page func(v *visit) error) Route {
	return c.get("/w/{ws}"+path, c.inWorkspace(page))
}

func (c *Console) postIn(path string, do func(v *visit) error) Route {
	return c.post("/w/{ws}"+path, c.inWorkspace(do))
}

// enter finds the workspace of a page and what the visitor may do in it.
func (v *visit) enter(ctx context.Context, id string) error {
	held, err := v.console.Authority.Permissions(ctx, v.Caller.Actor, id)
	if err != nil {
		return err
	}
	v.held = held
	list, err := ask(v, v.console.Workspaces.List, web.Args{})
	if err != nil {
		return err
	}
	v.workspaces = list.Rows()
	for i := range v.workspaces {
		if v.workspaces[i].ID == id {
			v.workspace = &v.workspaces[i]
		}
	}
	if v.workspace == nil {
		return errNoPage
	}
	v.rememberWorkspace(id)
	return nil
}
