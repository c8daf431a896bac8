package report

import (
	"math"
	"slices"
)

// SpreadOf keeps the values in the order in which they were measured.
func SpreadOf(values []float64) Spread {
	if len(values) == 0 {
		return Spread{}
	}
	return Spread{
		Median: median(values),
		Min:    slices.Min(values),
		Max:    slices.Max(values),
		All:    slices.Clone(values),
	}
}

// Ratio divides each repeat of a by the repeat of b that ran next to it, so
// that what slowed the machine down for a while slowed both. A repeat without
// a partner, or whose partner is zero, does not count.
func Ratio(a, b Cell) Spread {
	pairs := min(len(a.Value.All), len(b.Value.All))
	ratios := make([]float64, 0, pairs)
	for i := range pairs {
		if b.Value.All[i] != 0 {
			ratios = append(ratios, a.Value.All[i]/b.Value.All[i])
		}
	}
	return SpreadOf(ratios)
}

// deviation is how far the farthest repeat lies from the median, in percent
// of the median; there is none of a single repeat.
func (s Spread) deviation() (percent float64, ok bool) {
	if len(s.All) < 2 || s.Median == 0 {
		return 0, false
	}
	return 100 * max(s.Max-s.Median, s.Median-s.Min) / math.Abs(s.Median), true
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}
