// Package console serves the web pages: sign-in, device approval and the pages of a
// workspace. Its handlers call the same services as the API, so that both follow the
// same rules and write the same audit log.
package console

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/approval"
	"bursar/internal/audit"
	"bursar/internal/auditlog"
	"bursar/internal/backup/continuous"
	"bursar/internal/directory"
	"bursar/internal/directory/transfer"
	"bursar/internal/identity"
	"bursar/internal/leaver"
	"bursar/internal/ledger"
	"bursar/internal/operator"
	"bursar/internal/organization"
	"bursar/internal/payout"
	"bursar/internal/payout/control"
	"bursar/internal/rail"
	"bursar/internal/signin"
	"bursar/internal/web"
	"bursar/internal/workspace"
)

// Services contains the services that the pages call.
type Services struct {
	Identity      *identity.Service
	Authority     *access.Authority
	Clients       *identity.Clients
	SignIn        *signin.Service
	Directory     *directory.Service
	Transfer      *transfer.Service
	Approvals     *approval.Service
	Workspaces    *workspace.Service
	Organizations *organization.Service
	Leavers       *leaver.Service
	Operators     *operator.Service
	Audit         *auditlog.Service
	Ledger        *ledger.Service
	Payouts       *payout.Service
	Rules         *control.Service
	Sandbox       *payout.Sandbox
	Rails         *rail.Rails
}

// Config contains what the console needs from the server.
type Config struct {
	PublicURL string
	Endpoints *web.Endpoints
	Sealer    *web.Sealer
	// Count applies the rate limit of a signed-in caller.
	Count func(x *web.Exchange, callerID string) error
}

// Console serves the pages.
type Console struct {
	Services
	config    Config
	endpoints *web.Endpoints
	secure    bool // browsers use TLS, perhaps through a proxy
	pages     pages
	assets    assets
	foreign   *http.CrossOriginProtection
	backup    func() continuous.Status // nil if the server makes no backup
}

// ShowBackup lets the home page show the state of the store's backup.
func (c *Console) ShowBackup(status func() continuous.Status) { c.backup = status }

// New loads templates and static files.
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

// Route is a page, or the target of a form.
type Route struct {
	Method   string
	Path     string
	Endpoint web.Endpoint
}

// Routes returns all routes of the console.
func (c *Console) Routes() []Route {
	var all []Route
	for _, part := range [][]Route{c.assetRoutes(), c.signInRoutes(), c.deviceRoutes(), c.profileRoutes(), c.invitationRoutes(), c.opsRoutes(), c.workspaceRoutes()} {
		all = append(all, part...)
	}
	return all
}

// workspaceRoutes returns the routes of a workspace's pages.
func (c *Console) workspaceRoutes() []Route {
	var all []Route
	for _, part := range [][]Route{c.homeRoutes(), c.directoryRoutes(), c.importRoutes(), c.accountRoutes(), c.transferRoutes(), c.payRoutes(), c.manyRoutes(), c.payoutRoutes(), c.ruleRoutes(), c.approvalRoutes(), c.memberRoutes(), c.suspendedRoutes(), c.organizationRoutes(), c.keyRoutes(), c.auditRoutes(), c.searchRoutes()} {
		all = append(all, part...)
	}
	return all
}

func (c *Console) get(path string, page func(v *visit) error) Route {
	return Route{http.MethodGet, path, c.signedIn(c.withFactor(page))}
}

// post returns a route for a form. A visitor who lacks the permission leaves an audit row with the action.
func (c *Console) post(path string, action audit.Action, do func(v *visit) error) Route {
	return Route{http.MethodPost, path, c.signedIn(c.withFactor(func(v *visit) error {
		v.action = action
		return do(v)
	}))}
}

// inWorkspace runs a page in the workspace of its path, /w/{ws}….
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

func (c *Console) postIn(path string, action audit.Action, do func(v *visit) error) Route {
	return c.post("/w/{ws}"+path, action, c.inWorkspace(do))
}

// inLastWorkspace runs a page that belongs to no workspace, such as the profile. The visitor's last workspace stays in the navigation,
// unless they have yet to use a second factor.
func (c *Console) inLastWorkspace(page func(v *visit) error) func(v *visit) error {
	return func(v *visit) error {
		if err := v.enterLast(v.R.Context()); err != nil && !lacksFactor(err) {
			return err
		}
		return page(v)
	}
}

// enter makes a workspace the current one and reads the visitor's permissions in it.
func (v *visit) enter(ctx context.Context, id string) error {
	held, err := v.console.Authority.Permissions(ctx, v.Caller.Actor, id)
	if err != nil {
		return err
	}
	if err := v.listWorkspaces(); err != nil {
		return err
	}
	for i := range v.workspaces {
		if v.workspaces[i].ID == id {
			v.workspace, v.held = &v.workspaces[i], held
			v.rememberWorkspace(id)
			return v.countWaiting(ctx)
		}
	}
	return errNoPage
}

// enterLast enters the visitor's last workspace, or else their first. A visitor without workspaces enters none.
func (v *visit) enterLast(ctx context.Context) error {
	if err := v.listWorkspaces(); err != nil {
		return err
	}
	last := lastWorkspace(v.workspaces, v.cookie(workspaceCookie))
	if last == nil {
		return nil
	}
	held, err := v.console.Authority.Permissions(ctx, v.Caller.Actor, last.ID)
	for i := 0; lacksFactor(err) && i < len(v.workspaces); i++ {
		last = &v.workspaces[i]
		held, err = v.console.Authority.Permissions(ctx, v.Caller.Actor, last.ID)
	}
	if err != nil {
		return err
	}
	v.workspace, v.held = last, held
	return v.countWaiting(ctx)
}

// countWaiting counts the pending items for the visitor in the workspace.
func (v *visit) countWaiting(ctx context.Context) (err error) {
	v.waiting, err = v.console.Approvals.Waiting(ctx, v.Caller, v.workspace.ID)
	return err
}

func (v *visit) listWorkspaces() error {
	list, err := read(v, v.console.Workspaces.List, workspace.ListInput{})
	if err != nil {
		return err
	}
	v.workspaces = list.Rows()
	v.invitations, err = v.console.Workspaces.InvitationCount(v.R.Context(), v.Caller)
	return err
}

// lastWorkspace returns the remembered workspace, or else the first. It returns nil if there is none.
func lastWorkspace(all []api.Workspace, remembered string) *api.Workspace {
	for i := range all {
		if all[i].ID == remembered {
			return &all[i]
		}
	}
	if len(all) == 0 {
		return nil
	}
	return &all[0]
}
