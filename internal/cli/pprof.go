package cli

import (
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"time"
)

// serveProfiles serves profiles of the running server on an address of this machine
// until stop is called.
func serveProfiles(address string, log *slog.Logger) (stop func(), err error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen for pprof on %s: %w", address, err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	// Not the command line: it may carry secrets.
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("POST /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	profiles := &http.Server{Handler: fromThisMachine(mux), ReadHeaderTimeout: 10 * time.Second}
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		_ = profiles.Serve(listener) // ends when it is closed
	}()
	log.Info("serving profiles", "address", listener.Addr().String())
	return func() {
		_ = profiles.Close()
		<-stopped
	}, nil
}

// fromThisMachine refuses a page of the web that a browser here shows under a
// name of its own that leads to this machine.
func fromThisMachine(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			host = r.Host
		}
		if address := net.ParseIP(host); host != "localhost" && (address == nil || !address.IsLoopback()) {
			http.Error(w, "profiles are for this machine alone", http.StatusForbidden)
			return
		}
		h.ServeHTTP(w, r)
	})
}
