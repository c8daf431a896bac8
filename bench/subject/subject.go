// Package subject knows the programs that are measured: how they are built, how their stores
// are filled, how they are started, and which requests make up each workload.
package subject

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"bursar/bench/load"
	"bursar/bench/plan"
	"bursar/bench/report"
)

// Subject is a program with a server for each of its stores.
type Subject struct {
	report.Subject
	Binary  string // path
	Stores  []Store
	Servers []*Server // over the stores that were filled

	// Import brings so many entries into an empty store in the fastest way that the subject has,
	// and returns how many a second; bare is the rate of the rows alone, 0 if it is not measured. It
	// is nil where the subject has no such way.
	Import func(ctx context.Context, lines int) (rate, bare float64, err error)
}

// Store is a store to fill. Stores may be filled concurrently.
type Store struct {
	Rows  int    // rows of all kinds; stores with many are filled first
	Money string // what it is for if it is one of accounts
	Fill  func(ctx context.Context) (*Server, error)
}

// Server is a program over one store.
type Server struct {
	Size    int    // entries in the store
	Logs    int    // rows in its log
	Bytes   int64  // size on disk
	Money   string // what its store of accounts is for, or "" if it is one of entries
	path    string
	args    []string
	probe   Probe
	client  client
	process *process
}

// client knows the requests of a server.
type client interface {
	// signIn gets the credentials that requests need from a running server.
	signIn(ctx context.Context) (Probe, error)
	// requests returns ok false for workloads that the subject does not support.
	requests(ctx context.Context, w plan.Workload) (base string, requests []load.Request, ok bool, err error)
}

// Server returns the server over the store that the workload needs.
func (s *Subject) Server(w plan.Workload) (*Server, bool) {
	for _, server := range s.Servers {
		size := server.Size
		if w.Kind == plan.Audit && w.Filter != plan.Directory {
			size = server.Logs
		}
		if server.Money == w.Money() && (server.Money != "" || size == w.Store) {
			return server, true
		}
	}
	return nil, false
}

// WithEntries returns the server over a store of that size.
func (s *Subject) WithEntries(size int) (*Server, bool) {
	return s.Server(plan.Workload{Kind: plan.WhoAmI, Store: size})
}

// Work returns the load of a workload on the subject, if the subject supports it.
func (s *Subject) Work(ctx context.Context, w plan.Workload) (work load.Work, ok bool, err error) {
	server, ok := s.Server(w)
	if !ok {
		return load.Work{}, false, nil
	}
	work.Connections = w.Callers
	work.Base, work.Requests, ok, err = server.client.requests(ctx, w)
	if err != nil {
		return load.Work{}, false, fmt.Errorf("prepare %s: %w", w.Name(), err)
	}
	return work, ok, nil
}

// Stop stops all servers concurrently, because each may take a while to drain.
func (s *Subject) Stop() error {
	failed := make([]error, len(s.Servers))
	var stopping sync.WaitGroup
	for i, server := range s.Servers {
		stopping.Go(func() { failed[i] = server.Stop() })
	}
	stopping.Wait()
	return errors.Join(failed...)
}

// SignIn starts the server for the first time and gets the credentials that requests need.
func (s *Server) SignIn(ctx context.Context) error {
	if _, err := s.Start(ctx); err != nil {
		return err
	}
	probe, err := s.client.signIn(ctx)
	if err != nil {
		return fmt.Errorf("sign in: %w", err)
	}
	s.probe = probe
	return nil
}

// Start starts the server and returns the time until its first answer.
func (s *Server) Start(ctx context.Context) (time.Duration, error) {
	began := time.Now()
	process, err := start(s.path, s.args)
	if err != nil {
		return 0, err
	}
	s.process = process
	if err := process.await(ctx, s.probe); err != nil {
		return 0, fmt.Errorf("start: %w", err)
	}
	return time.Since(began), nil
}

// Stop stops the server; it can be started again.
func (s *Server) Stop() error {
	if s.process == nil {
		return nil
	}
	process := s.process
	s.process = nil
	return process.end()
}

// during starts the server for a while, to make what is copied or measured later.
func (s *Server) during(ctx context.Context, do func() error) error {
	err := s.SignIn(ctx)
	if err == nil {
		err = do()
	}
	if stopErr := s.Stop(); err == nil {
		err = stopErr
	}
	return err
}

// Memory returns the memory of the server's process, without that of a database beside it.
func (s *Server) Memory() (Memory, error) {
	if s.process == nil {
		return Memory{}, errors.New("read the memory of the server: it is not running")
	}
	return s.process.memory()
}

func decode(text []byte, into any, source string) error {
	if into == nil {
		return nil
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("decode the output of %s, %.200q: %w", source, text, err)
	}
	return nil
}
