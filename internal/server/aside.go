package server

import (
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// serveAside serves h on an address separate from the service's until stop is called.
func serveAside(address, what string, h http.Handler, log *slog.Logger) (stop func(), err error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen for %s on %s: %w", what, address, err)
	}
	aside := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    32 << 10,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		_ = aside.Serve(listener) // returns an error when it is closed
	}()
	log.Info("serving "+what, "address", listener.Addr().String())
	return func() {
		_ = aside.Close()
		<-stopped
	}, nil
}
