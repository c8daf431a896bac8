// Package subject knows the programs that are measured: how their stores are
// filled, how they are started, and how each kind of work is asked of them.
package subject

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"bursar/bench/load"
	"bursar/bench/plan"
	"bursar/bench/proc"
	"bursar/bench/report"
)

// Subject is a program with a server for each of its stores.
type Subject struct {
	report.Subject
	Binary string // where it is, if it is a program of its own
	Jobs   []Job
	// Servers are those of the jobs that were done.
	Servers []*Server
}

// Job fills one store. Jobs may run side by side.
type Job struct {
	Title string
	Size  int // of the store, in entries
	Rows  int // how many it makes of all kinds, to tell how long it takes
	Do    func(ctx context.Context) (*Server, error)
}

// Server is a program over one store.
type Server struct {
	Size    int // of the store, in entries
	Logs    int // of its log, in rows
	Bytes   int64
	Command proc.Command
	Probe   proc.Probe
	speaker speaker
	process *proc.Process
}

// speaker knows how work is asked of a server.
type speaker interface {
	// signIn gets what requests need, from a server that runs.
	signIn(ctx context.Context) (proc.Probe, error)
	// ask has ok false for work that the subject does not know.
	ask(ctx context.Context, w plan.Work) (t Task, ok bool, err error)
}

// Task is a work as one server understands it.
type Task struct {
	Base  string
	Calls []load.Call
}

// Server is the one with the store that the work is about.
func (s *Subject) Server(w plan.Work) (*Server, bool) {
	for _, server := range s.Servers {
		size := server.Size
		if w.Kind == plan.Audit && w.Filter != plan.Directory {
			size = server.Logs
		}
		if size == w.Store {
			return server, true
		}
	}
	return nil, false
}

// Of is the server over a store of that size.
func (s *Subject) Of(size int) (*Server, bool) {
	return s.Server(plan.Work{Kind: plan.WhoAmI, Store: size})
}

// Starts says whether there is, or will be, a server over a store of that size.
func (s *Subject) Starts(size int) bool {
	return slices.ContainsFunc(s.Jobs, func(j Job) bool { return j.Size == size })
}

// Ask says how a work is asked of the subject, if it can do it.
func (s *Subject) Ask(ctx context.Context, w plan.Work) (t Task, ok bool, err error) {
	server, ok := s.Server(w)
	if !ok {
		return Task{}, false, nil
	}
	if t, ok, err = server.speaker.ask(ctx, w); err != nil {
		return Task{}, false, fmt.Errorf("ask %s: %w", w.Name(), err)
	}
	return t, ok, nil
}

// Stop ends all servers at once, since each may take a while to drain.
func (s *Subject) Stop() error {
	failed := make([]error, len(s.Servers))
	var stopping sync.WaitGroup
	for i, server := range s.Servers {
		stopping.Go(func() { failed[i] = server.Stop() })
	}
	stopping.Wait()
	return errors.Join(failed...)
}

// SignIn starts the server for the first time and gets what requests need.
func (s *Server) SignIn(ctx context.Context) error {
	if _, err := s.Start(ctx); err != nil {
		return err
	}
	probe, err := s.speaker.signIn(ctx)
	if err != nil {
		return fmt.Errorf("sign in: %w", err)
	}
	s.Probe = probe
	return nil
}

// Start runs the server and says how long it took to the first answer.
func (s *Server) Start(ctx context.Context) (time.Duration, error) {
	began := time.Now()
	process, err := proc.Start(s.Command)
	if err != nil {
		return 0, err
	}
	s.process = process
	if err := process.Await(ctx, s.Probe); err != nil {
		return 0, fmt.Errorf("start: %w", err)
	}
	return time.Since(began), nil
}

// Stop ends the server; it can be started again.
func (s *Server) Stop() error {
	if s.process == nil {
		return nil
	}
	process := s.process
	s.process = nil
	return process.Stop()
}

// Memory is that of the server's process alone: a database beside it is not counted.
func (s *Server) Memory() (proc.Memory, error) {
	if s.process == nil {
		return proc.Memory{}, errors.New("read the memory of the server: it does not run")
	}
	return s.process.Memory()
}

// Died is an error if the server runs no more.
func (s *Server) Died() error {
	if s.process == nil {
		return nil
	}
	return s.process.Died()
}
