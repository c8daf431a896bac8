package report

import "fmt"

// Goal is a ratio or a bound that a run is to show.
type Goal struct {
	Text   string  `json:"text"` // "GET /auth/me against the bare handler"
	Kind   string  `json:"kind"` // "at least" or "at most"
	Want   float64 `json:"want"`
	Unit   string  `json:"unit"` // "×", "ms", "MiB", "KiB"
	Got    Spread  `json:"got"`
	Met    bool    `json:"met"`
	Absent string  `json:"absent,omitempty"` // why it could not be measured
}

const (
	atLeast = "at least"
	atMost  = "at most"
)

// AtLeast is met if the median of got is want or more.
func AtLeast(text string, want float64, unit string, got Spread) Goal {
	return newGoal(text, atLeast, want, unit, got, got.Median >= want)
}

// AtMost is met if the median of got is want or less.
func AtMost(text string, want float64, unit string, got Spread) Goal {
	return newGoal(text, atMost, want, unit, got, got.Median <= want)
}

// newGoal never counts a goal as met that was not measured.
func newGoal(text, kind string, want float64, unit string, got Spread, met bool) Goal {
	goal := Goal{Text: text, Kind: kind, Want: want, Unit: unit, Got: got, Met: met}
	if len(got.All) == 0 {
		goal.Met = false
		goal.Absent = "no measurement"
	}
	return goal
}

func (g Goal) state() string {
	switch {
	case g.Absent != "":
		return "not measured"
	case g.Met:
		return "met"
	}
	return "missed"
}

func (g Goal) want() string {
	sign := "≥ "
	if g.Kind == atMost {
		sign = "≤ "
	}
	return sign + quantity(g.Want, g.Unit, plain)
}

// got has as many digits as are needed to distinguish a near miss from a hit.
func (g Goal) got() string {
	if g.Absent != "" {
		return ""
	}
	const usual, most = 3, 8
	for digits := usual; digits < most; digits++ {
		text := quantity(g.Got.Median, g.Unit, significant(digits))
		if g.Got.Median == g.Want || text != quantity(g.Want, g.Unit, significant(digits)) {
			return text
		}
	}
	return quantity(g.Got.Median, g.Unit, plain)
}

func (g Goal) spread() string {
	if _, ok := g.Got.deviation(); !ok || g.Absent != "" {
		return ""
	}
	return short(g.Got.Min, g.Unit) + " – " + short(g.Got.Max, g.Unit)
}

func tally(goals []Goal) string {
	count := map[string]int{}
	for _, goal := range goals {
		count[goal.state()]++
	}
	return fmt.Sprintf("%d met, %d missed, %d not measured", count["met"], count["missed"], count["not measured"])
}
