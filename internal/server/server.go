// Package server combines the services into one HTTP handler. It contains every route,
// the steps that all requests have in common, and the background work.
package server

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"bursar/api/openapi"
	"bursar/internal/access"
	"bursar/internal/approval"
	"bursar/internal/auditlog"
	"bursar/internal/backup/continuous"
	"bursar/internal/budget"
	"bursar/internal/config"
	"bursar/internal/console"
	"bursar/internal/db"
	"bursar/internal/directory"
	"bursar/internal/directory/transfer"
	"bursar/internal/identity"
	"bursar/internal/leaver"
	"bursar/internal/ledger"
	"bursar/internal/mail"
	"bursar/internal/operator"
	"bursar/internal/organization"
	"bursar/internal/payout"
	"bursar/internal/payout/control"
	"bursar/internal/payout/dispatch"
	"bursar/internal/rail/simulator"
	"bursar/internal/reference"
	"bursar/internal/signin"
	"bursar/internal/vault"
	"bursar/internal/web"
	"bursar/internal/workspace"
)

// Server is the HTTP handler of the whole program.
type Server struct {
	db            *db.DB
	vault         *vault.Vault
	log           *Log
	identity      *identity.Service
	clients       *identity.Clients
	approvals     *approval.Service
	rules         *control.Service
	directory     *directory.Service
	transfer      *transfer.Service
	workspaces    *workspace.Service
	organizations *organization.Service
	leavers       *leaver.Service
	operators     *operator.Service
	audit         *auditlog.Service
	ledger        *ledger.Service
	payouts       *payout.Service
	dispatcher    *dispatch.Dispatcher
	sandbox       *payout.Sandbox
	books         *ledger.Check
	retention     *auditlog.Retention
	signin        *signin.Service
	console       *console.Console
	mail          *mail.Mailer
	reference     *reference.Reference
	contractJSON  func() ([]byte, error) // computed once, because the conversion is slow

	limits   limits
	proxies  []netip.Prefix
	metrics  *metrics
	router   *router
	draining atomic.Bool
	strict   bool // browsers must use TLS

	encryption encryption
}

// New connects the services to an open store.
func New(ctx context.Context, d *db.DB, v *vault.Vault, c config.Serve, log *Log) (*Server, error) {
	d.SetAnswerSecrets(v.Secret)
	cursorKey, err := identity.Prepare(ctx, d, v)
	if err != nil {
		return nil, fmt.Errorf("prepare the store: %w", err)
	}
	if err := payout.LoadIntegrity(ctx, d, v, false); err != nil {
		return nil, err
	}
	rate, err := c.Rate()
	if err != nil {
		return nil, err
	}
	proxies, err := c.Proxies()
	if err != nil {
		return nil, err
	}
	cursors := web.NewCursors(cursorKey)
	authority := access.NewAuthority(d)
	mailer, err := mailerFor(c, d, v, log.Logger)
	if err != nil {
		return nil, err
	}
	encryption, err := newEncryption(c, log.Logger)
	if err != nil {
		return nil, err
	}
	signer, err := auditlog.NewSigner(ctx, d, auditlog.SignerConfig{
		KeyFile: c.Audit.Key, CheckpointFile: c.Audit.Checkpoint, Mail: c.Audit.Mail, Mailer: mailer, Witnesses: c.Audit.Witnesses,
	}, log.Logger)
	if err != nil {
		return nil, err
	}
	links := identity.NewLinks(c.PublicURL, mailer)
	var budgets *budget.Budgets
	if !rate.Off {
		budgets = budget.New(d)
		links.Limit(budgets)
	}
	notices := identity.NewNotices(c.PublicURL, mailer, budgets)
	failures := identity.NewFailures(d, budgets)
	books := ledger.NewCheck(d)
	approvals := approval.New(d, v, authority, cursors, mailer, budgets, c.PublicURL)
	rails, err := railsFor(ctx, c, d, log.Logger)
	if err != nil {
		return nil, err
	}
	payees := directory.New(d, v, authority, cursors, approvals)
	rules := control.New(d, v, authority, cursors, approvals, rails, control.Screening{Command: c.ScreeningCommand, URL: c.ScreeningURL})
	dispatcher := dispatch.New(d, v, rails, rules, approvals, log.Logger)
	payouts := payout.New(d, v, authority, cursors, approvals, payees, rails, rules, dispatcher.Wake)
	s := &Server{
		db:    d,
		vault: v,
		log:   log,
		identity: identity.New(d, v, cursors, identity.Config{
			PublicURL: c.PublicURL,
			DeviceTTL: c.DeviceSessionTTL,
			KeyTTL:    c.KeySessionTTL,
			WebTTL:    c.WebSessionTTL,
			WebIdle:   c.WebSessionIdle,
			LimitsOff: rate.Off,
			Notices:   notices,
			Failures:  failures,
		}),
		clients:       identity.NewClients(d, authority, cursors),
		approvals:     approvals,
		rules:         rules,
		directory:     payees,
		transfer:      transfer.New(d, v, authority, cursors, approvals, payees),
		workspaces:    workspace.New(d, authority, cursors, links, approvals),
		organizations: organization.New(d, authority, cursors, c.AuditRetentionMinDays),
		leavers:       leaver.New(d, authority, approvals),
		audit:         auditlog.New(d, authority, cursors, signer),
		ledger:        ledger.New(d, v, authority, cursors, approvals, ledger.Config{LiveAllowed: rails.HasLive(), Currencies: currencies(rails), Guard: rules.GuardTransfer}),
		payouts:       payouts,
		dispatcher:    dispatcher,
		sandbox:       payout.NewSandbox(payouts, simulator.New(d), dispatcher.Receive),
		retention:     auditlog.NewRetention(d, c.AuditRetentionMinDays),
		reference:     reference.New(openapi.JSON),
		contractJSON:  sync.OnceValues(openapi.JSON),
		limits:        newLimits(rate, time.Now),
		proxies:       proxies,
		books:         books,
		metrics:       newMetrics(signer, failures, books, dispatcher, d.Lists()),
		mail:          mailer,
		strict:        strings.HasPrefix(c.PublicURL, "https://"),
		encryption:    encryption,
	}
	s.signin, err = signin.New(d, v, links, signin.Config{
		PublicURL: c.PublicURL,
		Provider:  signin.Provider(c.OIDC),
		LimitsOff: rate.Off, HashMemory: c.HashMemory,
		Notices: notices, Failures: failures,
	})
	if err != nil {
		return nil, err
	}
	s.operators = operator.New(d, cursors, s.signin, links, mailer)
	sealer, err := web.NewSealer(cursorKey, d.Now)
	if err != nil {
		return nil, err
	}
	s.console, err = console.New(console.Services{
		Identity: s.identity, Authority: authority, Clients: s.clients, SignIn: s.signin,
		Directory: s.directory, Transfer: s.transfer, Approvals: s.approvals, Workspaces: s.workspaces, Organizations: s.organizations, Leavers: s.leavers, Operators: s.operators, Audit: s.audit,
		Ledger: s.ledger, Payouts: s.payouts, Rules: rules, Sandbox: s.sandbox, Rails: rails,
	}, console.Config{PublicURL: c.PublicURL, Endpoints: s.endpoints(), Sealer: sealer, Count: func(x *web.Exchange, callerID string) error { return s.count(x, callerID, 1) }})
	if err != nil {
		return nil, err
	}
	s.router = newRouter(slices.Concat(s.routes(), s.operatorRoutes(), s.consoleRoutes()))
	return s, nil
}

func mailerFor(c config.Serve, d *db.DB, v *vault.Vault, log *slog.Logger) (*mail.Mailer, error) {
	settings, err := mail.Parse(c.SMTPURL, c.MailFrom)
	if err != nil {
		return nil, fmt.Errorf("read how mail is sent: %w", err)
	}
	return mail.New(settings, d, v, log)
}

func (s *Server) consoleRoutes() []web.Route {
	var list []web.Route
	for _, r := range s.console.Routes() {
		list = append(list, web.Route(r))
	}
	return list
}

func (s *Server) endpoints() *web.Endpoints {
	return &web.Endpoints{DB: s.db, Authenticate: s.authenticate, Count: s.count, Admit: s.admit}
}

// Drain closes each connection after its next response and reports the node as not
// ready, so that clients and load balancers move elsewhere before it stops.
func (s *Server) Drain() {
	s.draining.Store(true)
	s.audit.Sequencer().EndWaits() // a request that waits for rows would delay the end
}

// AuditSigner returns the signer of the audit log's checkpoints.
func (s *Server) AuditSigner() *auditlog.Signer { return s.audit.Signer() }

// Dispatcher returns the dispatcher that hands payouts to their rails.
func (s *Server) Dispatcher() *dispatch.Dispatcher { return s.dispatcher }

// ShowBackup makes metrics and console show the state of the store's backup.
func (s *Server) ShowBackup(status func() continuous.Status) {
	s.metrics.registry.MustRegister(backupMetrics{status})
	s.console.ShowBackup(status)
}
