package run

import (
	"context"

	"bursar/bench/plan"
)

// measureImports measures how fast each subject takes many entries at once. A product's import
// and the bare writing of its rows take turns.
func (r *Run) measureImports(ctx context.Context) error {
	if !r.wanted(plan.Import) {
		return nil
	}
	for _, s := range r.Subjects {
		if s.Import == nil {
			continue
		}
		r.Log("Import of %s lines · %s", plan.Number(r.Sizes.Main), s.Title)
		var rates, bares []float64
		for range r.Repeats {
			rate, bare, err := s.Import(ctx, r.Sizes.Main)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil {
				r.skip("Import, %s: %v", s.Title, err)
				break
			}
			rates = append(rates, rate)
			if bare > 0 {
				bares = append(bares, bare)
			}
		}
		if len(rates) == r.Repeats {
			r.add(plan.Import, "Lines, or records of a batch", s, "/s", rates...)
		}
		if len(bares) == r.Repeats {
			r.add(plan.ImportBare, "The same rows in bare transactions of 500 entries", s, "/s", bares...)
		}
	}
	return nil
}
