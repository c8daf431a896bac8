package server

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"bursar/api"
	"bursar/internal/fault"
	"bursar/internal/web"
)

// operatorRoutes returns the routes for the operator, which are not part of the API.
func (s *Server) operatorRoutes() []web.Route {
	docs := s.counted(wrap(s.reference.Handler()))
	get := func(path string, endpoint web.Endpoint) web.Route {
		return web.Route{Method: http.MethodGet, Path: path, Endpoint: endpoint}
	}
	list := []web.Route{
		get("/healthz", s.health),
		get("/readyz", s.ready),
		get("/openapi.json", s.counted(s.contract)),
		get("/docs", docs),
		get("/docs/style.css", docs),
		get("/.well-known/jwks.json", s.publicKeys),
		get("/audit-log/checkpoint", s.counted(s.checkpoint)),
	}
	// The number of a tile is in groups of three digits. The path of a tile that is not full
	// ends with its width.
	tile := s.counted(s.tile)
	for path := "/audit-log/tile/{level}/{part}"; strings.Count(path, "/{part}") < 6; path += "/{part}" {
		list = append(list, get(path, tile))
	}
	return list
}

func wrap(h http.Handler) web.Endpoint { return func(x *web.Exchange) { h.ServeHTTP(x.W, x.R) } }

// counted makes requests count against the limit of their address.
func (s *Server) counted(answer web.Endpoint) web.Endpoint {
	return func(x *web.Exchange) {
		if err := s.admit(x); err != nil {
			x.Fail(err)
			return
		}
		answer(x)
	}
}

func writeJSON(x *web.Exchange, value any) {
	body, err := json.Marshal(value)
	if err != nil {
		x.Fail(fmt.Errorf("encode an answer: %w", err))
		return
	}
	writeBody(x, body)
}

func writeBody(x *web.Exchange, body []byte) {
	x.W.Header().Set("Content-Type", "application/json")
	if x.R.Method != http.MethodHead {
		_, _ = x.W.Write(body)
	}
}

type state struct {
	Status string `json:"status"`
}

func (s *Server) health(x *web.Exchange) { writeJSON(x, state{"ok"}) }

// pingTimeout bounds how long readiness waits for the store.
const pingTimeout = 2 * time.Second

func (s *Server) ready(x *web.Exchange) {
	if s.draining.Load() {
		x.Fail(fault.New(api.CodeUnavailable, "the server is shutting down"))
		return
	}
	ctx, cancel := context.WithTimeout(x.R.Context(), pingTimeout)
	defer cancel()
	if err := s.db.Ping(ctx); err != nil {
		s.log.Warn("the store does not answer", "request_id", x.RequestID, "error", err.Error())
		x.Fail(fault.New(api.CodeUnavailable, "the store does not answer"))
		return
	}
	writeJSON(x, state{"ready"})
}

func (s *Server) contract(x *web.Exchange) {
	body, err := s.contractJSON()
	if err != nil {
		x.Fail(err)
		return
	}
	writeBody(x, body)
}

func (s *Server) publicKeys(x *web.Exchange) {
	set, err := s.identity.Tokens().Public(x.R.Context())
	if err != nil {
		x.Fail(err)
		return
	}
	x.W.Header().Set("Cache-Control", "public, max-age=60")
	writeJSON(x, set)
}
