package run

import (
	"context"
	"errors"
	"os"

	"bursar/bench/load"
	"bursar/bench/plan"
	"bursar/bench/report"
	"bursar/bench/subject"
)

// starts is how often a server is started.
const starts = 5

func (r *Run) add(work, title string, s *subject.Subject, unit string, values ...float64) {
	r.cells = append(r.cells, report.Cell{Work: work, Title: title, Subject: s.Name, Unit: unit, Value: report.SpreadOf(values)})
}

func (r *Run) addLoad(work, title string, s *subject.Subject, results ...load.Result) {
	c := cellOf(results)
	c.Work, c.Title, c.Subject = work, title, s.Name
	r.cells = append(r.cells, c)
}

// measurePeaks reads the highest memory of all that the subject's servers did.
func (r *Run) measurePeaks(context.Context) error {
	steps, takes := r.others()
	r.Progress.Phase(steps, takes, 0)
	if !r.wanted(plan.MemoryLoad) {
		return nil
	}
	for _, s := range r.Subjects {
		var peak int64
		var failed error
		for _, server := range s.Servers {
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

// measureStarts starts servers again, of an empty store and of the largest.
func (r *Run) measureStarts(ctx context.Context) error {
	for _, size := range plan.StartSizes(r.Sizes) {
		name, title := plan.StartName(size), "Empty store"
		if size > 0 {
			title = "Store of " + plan.Number(size) + " rows"
		}
		if !r.wanted(name) {
			continue
		}
		for _, s := range r.Subjects {
			server, ok := s.Of(size)
			if !ok {
				continue
			}
			r.Progress.Step(starts*startTime, "Start to first answer · %s · %s", title, s.Title)
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

// measureSizes is what needs no running server.
func (r *Run) measureSizes() {
	for _, s := range r.Subjects {
		if r.wanted(plan.BinarySize) && s.Binary != "" {
			if info, err := os.Stat(s.Binary); err == nil {
				r.add(plan.BinarySize, "Binary", s, "MiB", mebibytes(info.Size()))
			}
		}
		full, ok := s.Of(r.Sizes.Main)
		empty, alsoOK := s.Of(0)
		if ok && alsoOK && r.wanted(plan.DiskPerEntry) {
			perEntry := float64(full.Bytes-empty.Bytes) / float64(r.Sizes.Main)
			r.add(plan.DiskPerEntry, "For an entry; of Bursar with its search words and its audit row", s, "bytes", perEntry)
		}
	}
}

func mebibytes(bytes int64) float64 { return float64(bytes) / (1 << 20) }
