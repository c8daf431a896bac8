package server

import (
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
)

// ServeProfiles serves profiles of the running process on a loopback address until
// stop is called.
func ServeProfiles(address string, log *slog.Logger) (stop func(), err error) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	// The handler for the command line is left out: flags may hold secrets.
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("POST /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	return serveAside(address, "profiles", requireLoopbackHost(mux), log)
}

// requireLoopbackHost rejects foreign Host headers. Without it, a web page could read
// the profiles through a browser on this machine, from a name that resolves to
// 127.0.0.1 (DNS rebinding).
func requireLoopbackHost(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			host = r.Host
		}
		if address := net.ParseIP(host); host != "localhost" && (address == nil || !address.IsLoopback()) {
			http.Error(w, "profiles are served to this machine only", http.StatusForbidden)
			return
		}
		h.ServeHTTP(w, r)
	})
}
