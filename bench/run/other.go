package run

import (
	"context"
	"errors"
	"os"
	"strings"

	"bursar/bench/plan"
	"bursar/bench/subject"
)

// starts is how often each server is restarted.
const starts = 5

// measurePeaks reads the highest memory of each subject's servers so far.
func (r *Run) measurePeaks(context.Context) error {
	if !r.wanted(plan.MemoryLoad) {
		return nil
	}
	for _, s := range r.Subjects {
		var peak int64
		var failed error
		for _, server := range s.Servers {
			if server.Money == plan.BareStore { // another program
				continue
			}
			memory, err := server.Memory()
			failed = errors.Join(failed, err)
			peak = max(peak, memory.Peak)
		}
		if failed != nil {
			r.skip("Memory under load, %s: %v", s.Title, failed)
			continue
		}
		r.add(plan.MemoryLoad, "Highest under load of 64 callers", s, "MiB", mebibytes(peak))
	}
	return nil
}

// measureStarts restarts servers over an empty store and over the largest one.
func (r *Run) measureStarts(ctx context.Context) error {
	for _, size := range r.Sizes.StartSizes() {
		name, title := plan.StartName(size), "Empty store"
		if size > 0 {
			title = "Store of " + plan.Number(size) + " rows"
		}
		if !r.wanted(name) {
			continue
		}
		for _, s := range r.Subjects {
			server, ok := s.WithEntries(size)
			if !ok {
				continue
			}
			r.Log("Start to first answer · %s · %s", title, s.Title)
			times, err := restart(ctx, server)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil {
				r.skip("%s, %s: %v", title, s.Title, err)
				continue
			}
			r.add(name, title, s, "ms", times...)
		}
	}
	return nil
}

func restart(ctx context.Context, server *subject.Server) ([]float64, error) {
	var out []float64
	for range starts {
		if err := server.Stop(); err != nil {
			return nil, err
		}
		took, err := server.Start(ctx)
		if err != nil {
			return nil, err
		}
		out = append(out, milliseconds(took))
	}
	return out, nil
}

// measureSizes measures binaries and stores.
func (r *Run) measureSizes() {
	for _, s := range r.Subjects {
		if r.wanted(plan.BinarySize) && s.Binary != "" && s.Name != "pocketbase-full" && !strings.HasSuffix(s.Name, "-postgres") { // once per program
			if info, err := os.Stat(s.Binary); err == nil {
				r.add(plan.BinarySize, "Binary", s, "MiB", mebibytes(info.Size()))
			}
		}
		full, ok := s.WithEntries(r.Sizes.Main)
		empty, alsoOK := s.WithEntries(0)
		if ok && alsoOK && r.wanted(plan.DiskPerEntry) {
			perEntry := float64(full.Bytes-empty.Bytes) / float64(r.Sizes.Main)
			r.add(plan.DiskPerEntry, "Per entry; Bursar's with its search words and its audit row", s, "KiB", perEntry/(1<<10))
		}
	}
}

func mebibytes(bytes int64) float64 { return float64(bytes) / (1 << 20) }
