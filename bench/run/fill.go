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

type done struct {
	of     *subject.Subject
	job    subject.Job
	server *subject.Server
	err    error
}

// fill does the jobs of all subjects, the largest first and as many at a time as
// there are cores.
func (r *Run) fill(ctx context.Context) error {
	var all []*done
	var takes time.Duration
	for _, s := range r.Subjects {
		for _, job := range s.Jobs {
			all = append(all, &done{of: s, job: job})
			takes += jobTime(job)
		}
	}
	r.Progress.Phase(len(all), takes, r.timeOfGroups()+r.timeOfOthers())
	slices.SortStableFunc(all, func(a, b *done) int { return b.job.Rows - a.job.Rows })
	queue := make(chan *done)
	var working sync.WaitGroup
	for range runtime.NumCPU() {
		working.Go(func() {
			for d := range queue {
				r.Progress.Step(jobTime(d.job), "filling %s", d.job.Title)
				d.server, d.err = d.job.Do(ctx)
			}
		})
	}
	for _, d := range all {
		queue <- d
	}
	close(queue)
	working.Wait()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	for _, s := range slices.Clone(r.Subjects) {
		var failed error
		for _, d := range all {
			if d.of != s {
				continue
			}
			if d.err != nil {
				failed = errors.Join(failed, d.err)
				continue
			}
			s.Servers = append(s.Servers, d.server)
		}
		if failed != nil {
			r.drop(s, failed)
		}
	}
	return nil
}

// start runs all servers and reads their memory when they have come to rest.
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
	case <-time.After(settle):
	}
	for _, s := range r.Subjects {
		server, ok := s.Of(r.Sizes.Main)
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
