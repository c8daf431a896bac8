package report

import (
	"reflect"
	"testing"
)

func TestSpreadIsMedianAndEnds(t *testing.T) {
	tests := []struct {
		name   string
		values []float64
		want   Spread
	}{
		{"nothing", nil, Spread{}},
		{"one", []float64{3}, Spread{Median: 3, Min: 3, Max: 3, All: []float64{3}}},
		{"odd, kept in order", []float64{9, 1, 4}, Spread{Median: 4, Min: 1, Max: 9, All: []float64{9, 1, 4}}},
		{"even: mean of the middle two", []float64{8, 1, 2, 4}, Spread{Median: 3, Min: 1, Max: 8, All: []float64{8, 1, 2, 4}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := SpreadOf(test.values); !reflect.DeepEqual(got, test.want) {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}

func TestRatioIsOfRepeatsThatRanSideBySide(t *testing.T) {
	tests := []struct {
		name string
		a, b []float64
		want Spread
	}{
		{"the machine halved its speed for both", []float64{100, 50, 100}, []float64{10, 5, 10}, SpreadOf([]float64{10, 10, 10})},
		{"the ratio of medians would be 2", []float64{1, 2, 9}, []float64{1, 1, 3}, SpreadOf([]float64{1, 2, 3})},
		{"a repeat without a partner", []float64{4, 6, 100}, []float64{2, 2}, SpreadOf([]float64{2, 3})},
		{"a partner that did nothing", []float64{4, 6}, []float64{0, 2}, SpreadOf([]float64{3})},
		{"one was not measured", []float64{4}, nil, Spread{}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := Ratio(Cell{Value: SpreadOf(test.a)}, Cell{Value: SpreadOf(test.b)})
			if !reflect.DeepEqual(got, test.want) {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}

func TestGoalIsMetByItsMedian(t *testing.T) {
	got := SpreadOf([]float64{1, 5, 9})
	tests := []struct {
		name  string
		goal  Goal
		state string
	}{
		{"reached exactly", AtLeast("", 5, "×", got), "met"},
		{"not reached, though the best repeat did", AtLeast("", 6, "×", got), "missed"},
		{"kept exactly", AtMost("", 5, "ms", got), "met"},
		{"exceeded, though the best repeat did not", AtMost("", 4, "ms", got), "missed"},
		{"at least, without measurements", AtLeast("", 0, "×", Spread{}), "not measured"},
		{"at most, without measurements", AtMost("", 4, "ms", Spread{}), "not measured"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if state := test.goal.state(); state != test.state {
				t.Errorf("got %s, want %s", state, test.state)
			}
			if test.goal.Met != (test.state == "met") {
				t.Errorf("Met is %t", test.goal.Met)
			}
		})
	}
}

func TestGoalShowsHowNearItMissed(t *testing.T) {
	tests := []struct {
		got  float64
		want string
	}{
		{0.83, "0.830×"}, {0.79996, "0.79996×"}, {0.8, "0.800×"},
	}
	for _, test := range tests {
		if text := AtLeast("", 0.8, "×", SpreadOf([]float64{test.got})).got(); text != test.want {
			t.Errorf("%v is shown as %s, want %s", test.got, text, test.want)
		}
	}
}
