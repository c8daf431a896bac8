package server

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"bursar/api"
	"bursar/internal/console"
	"bursar/internal/fault"
	"bursar/internal/web"
)

// recorder is an exchange that records the status of its response.
type recorder struct {
	http.ResponseWriter
	exchange web.Exchange
	wrote    bool
}

func (r *recorder) WriteHeader(status int) {
	if !r.wrote {
		r.wrote = true
		r.exchange.Status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

func (r *recorder) Write(b []byte) (int, error) {
	if !r.wrote {
		r.wrote = true
		r.exchange.Status = http.StatusOK
	}
	return r.ResponseWriter.Write(b)
}

func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// ServeHTTP handles the steps that all requests have in common, then dispatches to the route.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	rec := &recorder{ResponseWriter: w}
	x := &rec.exchange
	x.W, x.R, x.RequestID, x.IP, x.Route, x.Log = rec, r, s.requestID(r), s.clientIP(r), "unknown", s.log.Logger
	x.SetHeader("X-Request-Id", x.RequestID)
	x.SetHeader("X-Content-Type-Options", "nosniff")
	if s.strict {
		x.SetHeader("Strict-Transport-Security", "max-age=31536000")
	}
	if s.draining.Load() {
		x.SetHeader("Connection", "close")
	}
	defer s.finish(rec, r.Method, start)
	defer s.catch(rec)
	s.dispatch(x)
}

// dispatch matches the path first and then the method, so that the response to a wrong
// method lists the allowed ones.
func (s *Server) dispatch(x *web.Exchange) {
	node := s.router.find(x.R)
	if node == nil {
		s.notFound(x)
		return
	}
	method, ok := node.methods[x.R.Method]
	if !ok {
		x.Route = node.path
		s.wrongMethod(x, node.allow)
		return
	}
	x.Route = method.route
	method.endpoint(x)
}

func (s *Server) notFound(x *web.Exchange) {
	if console.WantsPage(x.R) {
		s.console.NotFound(x)
		return
	}
	if err := s.admit(x); err != nil {
		x.Fail(err)
		return
	}
	x.Fail(fault.New(api.CodeNotFound, "there is nothing at this path"))
}

func (s *Server) wrongMethod(x *web.Exchange, allow string) {
	if console.WantsPage(x.R) {
		x.W.Header().Set("Allow", allow)
		s.console.Fail(x, fault.New(api.CodeMethodNotAllowed, "this address only takes what a form sends: go back and try again"))
		return
	}
	if err := s.admit(x); err != nil {
		x.Fail(err)
		return
	}
	x.W.Header().Set("Allow", allow)
	x.Fail(fault.New(api.CodeMethodNotAllowed, "this path allows %s", allow))
}

// catch turns a panic into a 500, so that one request does not end the server.
func (s *Server) catch(rec *recorder) {
	p := recover()
	if p == nil {
		return
	}
	if p == http.ErrAbortHandler {
		panic(p)
	}
	s.log.Error("panic", "request_id", rec.exchange.RequestID, "route", rec.exchange.Route, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
	if !rec.wrote {
		rec.exchange.Fail(fault.New(api.CodeInternal, "an internal error occurred; give the request id %s when you report it", rec.exchange.RequestID))
	}
}

func (s *Server) finish(rec *recorder, method string, start time.Time) {
	x := &rec.exchange
	took := time.Since(start)
	s.metrics.observe(x.Route, x.Status, took)
	s.log.Request(x, method, start.Add(took), took)
}

const maxRequestID = 128

// requestID returns the client's X-Request-Id if it is well formed, or a new id.
func (s *Server) requestID(r *http.Request) string {
	id := r.Header.Get("X-Request-Id")
	if id == "" || len(id) > maxRequestID || strings.ContainsFunc(id, notInRequestID) {
		return s.db.NewID("req")
	}
	return id
}

func notInRequestID(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("-_.:", r)
}

// clientIP returns the address of the client. It is the remote address of the connection
// or, if that is a trusted proxy, the nearest address in X-Forwarded-For that is not one.
// The client itself could have sent the addresses further left.
func (s *Server) clientIP(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	if len(s.proxies) == 0 || !s.trusts(host) {
		return host
	}
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for _, hop := range slices.Backward(hops) {
		hop = strings.TrimSpace(hop)
		if _, err := netip.ParseAddr(hop); err != nil {
			break
		}
		host = hop
		if !s.trusts(hop) {
			break
		}
	}
	return host
}

func (s *Server) trusts(host string) bool {
	address, err := netip.ParseAddr(host)
	return err == nil && slices.ContainsFunc(s.proxies, func(p netip.Prefix) bool { return p.Contains(address.Unmap()) })
}
