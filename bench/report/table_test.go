package report

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestTable(t *testing.T) {
	var out bytes.Buffer
	if err := sampleReport().Table(&out, 100); err != nil {
		t.Fatal(err)
	}
	golden(t, "table.txt", out.Bytes())
}

func TestMarkdown(t *testing.T) {
	var out bytes.Buffer
	if err := sampleReport().Markdown(&out); err != nil {
		t.Fatal(err)
	}
	golden(t, "table.md", out.Bytes())
}

func TestTableOfManySubjectsFitsTheTerminal(t *testing.T) {
	var r Report
	for i := range 9 {
		name := fmt.Sprintf("subject-%d", i)
		r.Subjects = append(r.Subjects, Subject{Name: name, Title: "A subject with a long title, number " + fmt.Sprint(i)})
		title := "Create, 64 callers, all on disk before the answer is sent, with the audit row"
		r.Cells = append(r.Cells, load("create/64", title, name, 0, 12_345_678, 1), load("create/1", "Create", name, 0, 7))
	}
	r.Goals = []Goal{AtLeast(strings.Repeat("a long goal ", 20), 1234, "×", SpreadOf([]float64{1, 1234.5678}))}
	for _, width := range []int{80, 100, 140} {
		var out bytes.Buffer
		if err := r.Table(&out, width); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(out.String()) {
			if got := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); got > width {
				t.Errorf("a line of %d columns on a terminal of %d: %s", got, width, line)
			}
		}
		if got := strings.Count(out.String(), "/s"); got != len(r.Cells) {
			t.Errorf("%d of %d cells are shown on a terminal of %d:\n%s", got, len(r.Cells), width, out.String())
		}
	}
}

func TestNumbersStandInLine(t *testing.T) {
	r := Report{Cells: []Cell{
		load("create/1", "One", "a", 0, 7, 8),
		load("create/64", "Many", "a", 0, 1_234_567, 2_345_678),
		load("create/65", "Once", "a", 0, 30),
	}}
	var out bytes.Buffer
	if err := r.Table(&out, 100); err != nil {
		t.Fatal(err)
	}
	column := -1
	for line := range strings.Lines(out.String()) {
		before, _, found := strings.Cut(line, "/s")
		if !found {
			continue
		}
		at := utf8.RuneCountInString(before)
		if column >= 0 && at != column {
			t.Errorf("the unit is at column %d, then at %d:\n%s", column, at, out.String())
		}
		column = at
	}
	if column < 0 {
		t.Errorf("no numbers in\n%s", out.String())
	}
}

func TestEmptyReportIsWritten(t *testing.T) {
	var out bytes.Buffer
	if err := errors.Join(Report{}.Table(&out, 0), Report{}.Markdown(&out)); err != nil {
		t.Error(err)
	}
}

func TestWriterThatFailsIsReported(t *testing.T) {
	broken := errors.New("broken pipe")
	for _, err := range []error{sampleReport().Table(failing{broken}, 100), sampleReport().Markdown(failing{broken})} {
		if !errors.Is(err, broken) {
			t.Errorf("got %v", err)
		}
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }
