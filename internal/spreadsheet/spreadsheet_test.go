package spreadsheet_test

import (
	"encoding/csv"
	"slices"
	"strings"
	"testing"

	"bursar/internal/spreadsheet"
)

func TestACellIsNoFormula(t *testing.T) {
	for cell, want := range map[string]string{
		"=1+1": "'=1+1", "+63 2 555": "'+63 2 555", "-1": "'-1", "@SUM(A1)": "'@SUM(A1)",
		"\t=1": "'\t=1", "\r=1": "'\r=1", "\n=1": "'\n=1", "\x00=1": "'\x00=1", "  =1": "'  =1",
		"＝1": "'＝1", "＋1": "'＋1", "－1": "'－1", "＠A": "'＠A",
		"'=1": "''=1", "''+1": "'''+1",
		"": "", " ": " ", "'": "'", "Ada": "Ada", "a=1": "a=1", "O'Neill": "O'Neill", "'Neill": "'Neill", "''": "''", "é": "é", "½": "½", "\xff=": "\xff=",
	} {
		if got := spreadsheet.Escape(cell); got != want {
			t.Errorf("%q became %q, want %q", cell, got, want)
		}
		if got := spreadsheet.Unescape(want); got != cell {
			t.Errorf("%q came back as %q, want %q", want, got, cell)
		}
	}
}

// Anyone who writes a file by hand writes no apostrophe before a phone number.
func TestACellThatWasNotEscapedStaysAsItIs(t *testing.T) {
	for _, cell := range []string{"", "=1+1", "+63 2 555", "-1", "'", "'Neill", "''Neill", "Ada"} {
		if got := spreadsheet.Unescape(cell); got != cell {
			t.Errorf("%q became %q", cell, got)
		}
	}
}

func FuzzEscape(f *testing.F) {
	for _, cell := range []string{"", "'", "=1", "'=1", "''@", " +63", "' -1", "'Neill", "\r\n", "＝1", "\xff"} {
		f.Add(cell)
	}
	f.Fuzz(func(t *testing.T, cell string) {
		escaped := spreadsheet.Escape(cell)
		if got := spreadsheet.Unescape(escaped); got != cell {
			t.Errorf("%q was escaped as %q and came back as %q", cell, escaped, got)
		}
		if first := strings.TrimLeft(escaped, " "); first != "" && strings.ContainsRune("=+-@\t\r\n\x00", rune(first[0])) {
			t.Errorf("%q was escaped as %q, which is a formula", cell, escaped)
		}
		if rest, ok := strings.CutSuffix(escaped, cell); !ok || rest != "" && rest != "'" {
			t.Errorf("%q was escaped as %q, which adds more than an apostrophe", cell, escaped)
		}
	})
}

func TestAWriterEscapesUnlessItIsRaw(t *testing.T) {
	for raw, want := range map[bool][]string{false: {"'=1", "a;b", "'+63"}, true: {"=1", "a;b", "+63"}} {
		var out strings.Builder
		w := spreadsheet.NewWriter(&out, ';', raw)
		cells := []string{"=1", "a;b", "+63"}
		if err := w.Write(cells...); err != nil {
			t.Fatal(err)
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(cells, []string{"=1", "a;b", "+63"}) {
			t.Errorf("the cells of the caller became %q", cells)
		}
		in := csv.NewReader(strings.NewReader(out.String()))
		in.Comma = ';'
		if got, err := in.Read(); err != nil || !slices.Equal(got, want) {
			t.Errorf("raw %v wrote %q, want %q: %v", raw, got, want, err)
		}
	}
}
