package run

import (
	"context"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"bursar/bench/plan"
	"bursar/bench/subject"
)

// fill fills the stores of all subjects, the largest first and one per core at a time.
func (r *Run) fill(ctx context.Context) error {
	type filling struct {
		of     *subject.Subject
		store  subject.Store
		server *subject.Server
		err    error
	}
	var all []*filling
	for _, s := range r.Subjects {
		for _, store := range s.Stores {
			if store.Money != "" && !r.needs(store.Money) {
				continue
			}
			all = append(all, &filling{of: s, store: store})
		}
	}
	r.Log("filling %d stores", len(all))
	slices.SortStableFunc(all, func(a, b *filling) int { return b.store.Rows - a.store.Rows })
	var group errgroup.Group // an error of one store does not stop the others
	group.SetLimit(runtime.NumCPU())
	for _, f := range all {
		group.Go(func() error {
			f.server, f.err = f.store.Fill(ctx)
			return nil
		})
	}
	_ = group.Wait() // the errors are in all
	if ctx.Err() != nil {
		return ctx.Err()
	}
	for _, f := range all {
		if f.err == nil {
			f.of.Servers = append(f.of.Servers, f.server)
		} else if slices.Contains(r.Subjects, f.of) {
			r.drop(f.of, f.err)
		}
	}
	return nil
}

// needs reports whether anything that is wanted is measured on a store of accounts. One with ten
// million postings takes minutes to fill.
func (r *Run) needs(money string) bool {
	for _, group := range plan.Groups(r.Sizes) {
		for _, w := range group.Workloads {
			if w.Money() == money && r.wanted(w.Name()) {
				return true
			}
		}
	}
	return money == plan.PayoutStore && r.wanted(plan.PayoutThrough)
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
	r.Log("waiting %v for the servers to settle", r.Settle)
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(r.Settle):
	}
	if !r.wanted(plan.MemoryIdle) {
		return nil
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
		r.add(plan.MemoryIdle, "Idle, before the first measurement", s, "MiB", mebibytes(memory.Now))
	}
	return nil
}
