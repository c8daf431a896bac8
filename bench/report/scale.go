package report

import "math"

// crowded is the range from which on only powers of ten are marked.
const crowded = 200

// logScale maps values to pixels so that equal factors are equal distances.
type logScale struct{ low, high, from, to float64 }

func (s logScale) at(v float64) float64 {
	v = min(max(v, s.low), s.high)
	return s.from + (s.to-s.from)*math.Log(v/s.low)/math.Log(s.high/s.low)
}

// ticks are the powers of ten, and steps between them where those are few.
func (s logScale) ticks() []float64 {
	steps := []float64{1}
	if s.high/s.low <= crowded {
		steps = []float64{1, 2, 5}
	}
	var out []float64
	for power := exponent(s.low); power <= exponent(s.high); power++ {
		for _, step := range steps {
			v := step * math.Pow10(power)
			if v >= s.low*0.999 && v <= s.high*1.001 {
				out = append(out, v)
			}
		}
	}
	return out
}

// bounds widens the values to round numbers that are at least ten times apart,
// the lower one a tick.
func bounds(values []float64) (low, high float64, ok bool) {
	low, high = math.Inf(1), 0
	for _, v := range values {
		if v > 0 && !math.IsInf(v, 0) {
			low, high = min(low, v), max(high, v)
		}
	}
	if high == 0 {
		return 1, 10, false
	}
	low, high = roundDown(low), roundUp(high)
	if high/low > crowded {
		low = math.Pow10(exponent(low))
	}
	for high/low < 9.99 {
		high = roundUp(high * 1.5)
		if high/low < 9.99 {
			low = roundDown(low / 1.5)
		}
	}
	return low, high, true
}

func roundDown(v float64) float64 {
	power := math.Pow10(exponent(v))
	for _, step := range []float64{5, 2} {
		if v >= step*power*0.999 {
			return step * power
		}
	}
	return power
}

func roundUp(v float64) float64 {
	power := math.Pow10(exponent(v))
	for _, step := range []float64{1, 2, 5} {
		if v <= step*power*1.001 {
			return step * power
		}
	}
	return 10 * power
}

func exponent(v float64) int { return int(math.Floor(math.Log10(v) + 1e-9)) }
