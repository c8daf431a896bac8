package server

import (
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"time"
)

// ServeProfiles serves profiles of the running process on a loopback address until
// stop is called.
func ServeProfiles(address string, log *slog.Logger) (stop func(), err error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen for pprof on %s: %w", address, err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	// The handler for the command line is left out: flags may hold secrets.
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("POST /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	profiles := &http.Server{Handler: requireLoopbackHost(mux), ReadHeaderTimeout: 10 * time.Second}
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		_ = profiles.Serve(listener) // returns an error when it is closed
	}()
	log.Info("serving profiles", "address", listener.Addr().String())
	return func() {
		_ = profiles.Close()
		<-stopped
	}, nil
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
