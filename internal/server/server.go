// Package server puts the services behind one HTTP handler: every route, what
// all requests have in common, and the work that goes on in the background.
package server

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"bursar/api"
	"bursar/internal/auditlog"
	"bursar/internal/config"
	"bursar/internal/db"
	"bursar/internal/directory"
	"bursar/internal/identity"
	"bursar/internal/organization"
	"bursar/internal/reference"
	"bursar/internal/web"
	"bursar/internal/workspace"
)

// Server answers requests.
type Server struct {
	db            *db.DB
	log           *slog.Logger
	identity      *identity.Service
	directory     *directory.Service
	workspaces    *workspace.Service
	organizations *organization.Service
	audit         *auditlog.Service
	reference     *reference.Reference
	contractJSON  func() ([]byte, error) // once: converting it takes long

	limits   limits
	proxies  []netip.Prefix
	metrics  *metrics
	router   *router
	draining atomic.Bool
}

// New wires the services over an open store.
func New(ctx context.Context, d *db.DB, c config.Serve, log *slog.Logger) (*Server, error) {
	cursorKey, err := identity.Prepare(ctx, d)
	if err != nil {
		return nil, fmt.Errorf("prepare the store: %w", err)
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
	authority := identity.NewAuthority(d)
	s := &Server{
		db:  d,
		log: log,
		identity: identity.New(d, cursors, identity.Config{
			PublicURL: c.PublicURL,
			DeviceTTL: c.DeviceSessionTTL,
			KeyTTL:    c.KeySessionTTL,
			LimitsOff: rate.Off,
		}),
		directory:     directory.New(d, authority, cursors),
		workspaces:    workspace.New(d, authority, cursors),
		organizations: organization.New(d, authority, cursors),
		audit:         auditlog.New(d, authority, cursors),
		reference:     reference.New(api.YAML()),
		contractJSON:  sync.OnceValues(api.JSON),
		limits:        newLimits(rate, time.Now),
		proxies:       proxies,
		metrics:       newMetrics(),
	}
	s.router = newRouter(append(s.routes(), s.operatorRoutes()...))
	return s, nil
}

func (s *Server) site() *web.Site {
	return &web.Site{DB: s.db, Authenticate: s.authenticate, Admit: s.admit}
}

// Drain makes every answer the last on its connection and the node not ready,
// so that clients and load balancers turn elsewhere before it stops.
func (s *Server) Drain() { s.draining.Store(true) }
