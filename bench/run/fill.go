package run

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"time"

	"bursar/bench/plan"
	"bursar/bench/subject"
)

// filling is the work on one store.
type filling struct {
	of     *subject.Subject
	store  subject.Store
	server *subject.Server
	err    error
}

// fill fills the stores of all subjects, the largest first and one per core at a time.
func (r *Run) fill(ctx context.Context) error {
	var all []*filling
	rows := 0
	for _, s := range r.Subjects {
		for _, store := range s.Stores {
			all = append(all, &filling{of: s, store: store})
			rows += store.Rows
		}
	}
	r.Progress.phase(len(all), time.Duration(rows)*fillTime/time.Duration(runtime.NumCPU())+r.estimate())
	slices.SortStableFunc(all, func(a, b *filling) int { return b.store.Rows - a.store.Rows })
	queue := make(chan *filling)
	var workers sync.WaitGroup
	for range runtime.NumCPU() {
		workers.Go(func() {
			for f := range queue {
				r.Progress.next("filling %s", f.store.Title)
				f.server, f.err = f.store.Fill(ctx)
			}
		})
	}
	for _, f := range all {
		queue <- f
	}
	close(queue)
	workers.Wait()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	for _, s := range slices.Clone(r.Subjects) {
		var failed error
		for _, f := range all {
			if f.of == s && f.err == nil {
				s.Servers = append(s.Servers, f.server)
			} else if f.of == s {
				failed = errors.Join(failed, f.err)
			}
		}
		if failed != nil {
			r.drop(s, failed)
		}
	}
	return nil
}

// start starts all servers and reads their memory when they are idle.
func (r *Run) start(ctx context.Context) error {
	for _, s := range slices.Clone(r.Subjects) {
		for _, server := range s.Servers {
			if err := server.SignIn(ctx); err != nil {
				if ctx.Err() != nil {
					return ctx.Err()
				}
				r.drop(s, err)
				break
			}
		}
	}
	if !r.wanted(plan.MemoryIdle) {
		return nil
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(settleTime):
	}
	for _, s := range r.Subjects {
		server, ok := s.WithEntries(r.Sizes.Main)
		if !ok {
			continue
		}
		memory, err := server.Memory()
		if err != nil {
			r.skip("%s, memory: %v", s.Title, err)
			continue
		}
		r.add(plan.MemoryIdle, "Idle, two seconds after the start", s, "MiB", mebibytes(memory.Now))
	}
	return nil
}
