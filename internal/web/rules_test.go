package web

import (
	"testing"

	"bursar/internal/fault"
)

func TestCheckText(t *testing.T) {
	for name, c := range map[string]struct {
		text      string
		low, high int
		good      bool
	}{
		"just long enough":     {"a", 1, 3, true},
		"just short enough":    {"äöü", 1, 3, true},
		"too short":            {"", 1, 3, false},
		"empty where it may":   {"", 0, 3, true},
		"too long":             {"äöüa", 1, 3, false},
		"a line break":         {"a\n", 1, 3, false},
		"NUL":                  {"\x00", 1, 3, false},
		"delete":               {"a\x7f", 1, 3, false},
		"a C1 control":         {"a\u0085b", 1, 3, false},
		"blank":                {"   ", 1, 3, false},
		"blank in other ways":  {"\u2003", 1, 3, false},
		"blanks around a text": {" a ", 1, 3, true},
		"a text in reverse":    {"\u202eba", 1, 3, false},
		"a zero-width space":   {"a\u200bb", 1, 3, false},
		"joined emoji":         {"👩\u200d🚀", 1, 3, true},
	} {
		t.Run(name, func(t *testing.T) {
			var v fault.Violations
			CheckText(&v, "field", c.text, c.low, c.high)
			if v.Has("field") == c.good {
				t.Errorf("%q: %v", c.text, v.Err())
			}
		})
	}
}
