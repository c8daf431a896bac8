package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// Serve serves requests and runs the background work until ctx ends. Then it drains. First
// /readyz reports not ready, while the server still accepts requests for drainDelay. It
// answers each with "Connection: close", so that clients and load balancers go elsewhere.
// Then the listener closes, and requests in progress are completed within drainTimeout. The
// background work ends last, before the caller closes the store.
func (s *Server) Serve(ctx context.Context, listener net.Listener, drainDelay, drainTimeout time.Duration) error {
	defer s.startBackground(ctx)()
	web := s.httpServer()
	failed := make(chan error, 1)
	go func() {
		if web.TLSConfig != nil {
			failed <- web.ServeTLS(listener, "", "")
		} else {
			failed <- web.Serve(listener)
		}
	}()
	select {
	case err := <-failed:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	s.log.Info("draining")
	s.Drain()
	time.Sleep(drainDelay)
	shrinkBacklog(listener)
	time.Sleep(backlogGrace)
	limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
	defer cancel()
	if err := web.Shutdown(limit); err != nil {
		return fmt.Errorf("drain: some requests had no answer after %s: %w", drainTimeout, errors.Join(err, web.Close()))
	}
	s.log.Info("stopped")
	return nil
}

// backlogGrace is how long a draining server accepts the connections that the kernel
// has already queued.
const backlogGrace = 50 * time.Millisecond

func (s *Server) httpServer() *http.Server {
	return &http.Server{
		Handler:           s,
		TLSConfig:         s.encryption.config,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       30 * time.Second,
		WriteTimeout:      60 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    32 << 10,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelWarn),

		// net/http would answer "OPTIONS *" without the JSON envelope.
		DisableGeneralOptionsHandler: true,
	}
}

// startBackground runs the background work until the returned function is called,
// which waits for its end. It outlives ctx, because requests that drain need it.
func (s *Server) startBackground(ctx context.Context) (stop func()) {
	background, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.RunBackground(background)
	}()
	return func() {
		cancel()
		<-done
	}
}
