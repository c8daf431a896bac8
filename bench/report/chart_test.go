package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
)

func charts(r Report) map[string][]byte {
	works := worksOf(r.Cells)
	return map[string][]byte{
		"throughput": Throughput(r, works),
		"latency":    Latencies(r, works),
		"cost":       Cost(r, nil),
	}
}

// crowd has many subjects with long titles, all equally fast, and long works.
func crowd() Report {
	r := sampleReport()
	r.Subjects, r.Cells = nil, nil
	r.Machine = strings.Repeat("a machine with a long name, ", 12)
	for i := range 9 {
		name := fmt.Sprintf("subject-%d", i)
		r.Subjects = append(r.Subjects, Subject{Name: name, Title: fmt.Sprintf("%d WIDE subject, with synchronous=FULL and more words", i)})
		for _, filter := range []string{"type", "status", "tag"} {
			for _, rows := range []int{1000, 100_000, 1_000_000} {
				title := fmt.Sprintf("List by %s%s, %s rows", filter, strings.Repeat(" and so on", 12), plain(float64(rows)))
				r.Cells = append(r.Cells, load(fmt.Sprintf("list/%d/%s", rows, filter), title, name, rows, 1_234_567, 1_300_000))
			}
		}
	}
	return r
}

func TestChartsAreWellFormedAndAccessible(t *testing.T) {
	for _, r := range []Report{{}, sampleReport(), crowd()} {
		for name, svg := range charts(r) {
			root := decode(t, svg)
			if root.Role != "img" || root.Title.Text == "" || root.Desc.Text == "" {
				t.Errorf("%s: role %q, title %q, desc %q", name, root.Role, root.Title.Text, root.Desc.Text)
			}
			if root.Labelled != root.Title.ID+" "+root.Desc.ID {
				t.Errorf("%s is labelled by %q", name, root.Labelled)
			}
			if bytes.Contains(svg, []byte("NaN")) || bytes.Contains(svg, []byte("Inf")) {
				t.Errorf("%s has a place that is no number", name)
			}
		}
	}
}

func TestChartsShowTextAsItIs(t *testing.T) {
	for name, svg := range charts(sampleReport()) {
		shown := decode(t, svg)
		if !slices.ContainsFunc(shown.Texts, func(l label) bool { return strings.Contains(l.Text, "<7B13> & co") }) {
			t.Errorf("%s does not name the machine", name)
		}
		if name != "cost" && !slices.ContainsFunc(shown.Texts, func(l label) bool { return l.Text == "Mixed <load>" }) {
			t.Errorf("%s does not name the work", name)
		}
	}
}

func TestChartsAreTheSameEachTime(t *testing.T) {
	first := charts(sampleReport())
	for name, svg := range charts(sampleReport()) {
		if !bytes.Equal(svg, first[name]) {
			t.Errorf("%s differs", name)
		}
	}
}

func TestLabelsNeitherOverlapNorLeaveTheCard(t *testing.T) {
	for i, r := range []Report{{}, sampleReport(), crowd()} {
		for name, svg := range charts(r) {
			root := decode(t, svg)
			for j, a := range root.Texts {
				if a.left() < 0 || a.right() > root.Width || a.Y > root.Height {
					t.Errorf("report %d, %s: %q leaves the card", i, name, a.Text)
				}
				for _, b := range root.Texts[j+1:] {
					if a.overlaps(b) {
						t.Errorf("report %d, %s: %q lies on %q", i, name, a.Text, b.Text)
					}
				}
			}
		}
	}
}

func TestThroughputDrawsTheChosenWorksInTheirOrder(t *testing.T) {
	svg := string(Throughput(sampleReport(), []string{"mixed", "no such work", "memory/idle", "whoami"}))
	mixed, whoami := strings.Index(svg, "Mixed &lt;load&gt;</text>"), strings.Index(svg, "Who am I</text>")
	if mixed < 0 || whoami < mixed {
		t.Errorf("mixed at %d, who am I at %d", mixed, whoami)
	}
	for _, absent := range []string{"Idle", "List", "no such work"} {
		if strings.Contains(svg, absent) {
			t.Errorf("%s was drawn", absent)
		}
	}
}

func TestThroughputGolden(t *testing.T) {
	golden(t, "throughput.svg", Throughput(sampleReport(), []string{"whoami"}))
}

func TestLatenciesAreOfTheMixedLoadUnlessToldOtherwise(t *testing.T) {
	svg := string(Latencies(sampleReport(), nil))
	if !strings.Contains(svg, "Mixed &lt;load&gt;: Bursar on SQLite p50 4.56 ms p90 6.83 ms p99 13.7 ms p99.9 36.4 ms, Bursar") {
		t.Errorf("the percentiles are not described:\n%s", svg)
	}
	if strings.Contains(svg, "Who am I") {
		t.Error("another work was drawn")
	}
}

func TestCostGathersAWorkOverItsRows(t *testing.T) {
	r := sampleReport()
	r.Cells = append(r.Cells, load("list/1000/tag", "List by tag, 1,000 rows", "bursar-sqlite", 1000, 15000)) // a point, no line
	svg := string(Cost(r, nil))
	if !strings.Contains(svg, "List | type, PocketBase: 34.6 ms at 1,000 rows, 208 ms at 100,000 rows.") {
		t.Errorf("the line is not described:\n%s", svg)
	}
	if strings.Contains(svg, "List by tag") {
		t.Error("a work at one number of rows was drawn")
	}
	if got := strings.Count(string(Cost(r, []string{"list/type"})), "<polyline"); got != 4 { // two of them in the legend
		t.Errorf("%d lines were drawn", got)
	}
}

func TestSubjectsKeepTheirColour(t *testing.T) {
	palette := sampleReport().palette()
	seen := map[string]string{}
	for name, paint := range palette {
		if other, twice := seen[paint.fill]; twice {
			t.Errorf("%s and %s look alike", name, other)
		}
		seen[paint.fill] = name
	}
	for name, svg := range charts(sampleReport()) {
		if !bytes.Contains(svg, []byte(palette["bursar-sqlite"].fill)) {
			t.Errorf("%s draws Bursar in another colour", name)
		}
	}
	if palette["bare"].rank != yardstick || palette["pocketbase"].rank != peer || palette["bursar-postgres"].rank != own {
		t.Errorf("the ranks are wrong: %+v", palette)
	}
}

type drawing struct {
	Width    float64 `xml:"width,attr"`
	Height   float64 `xml:"height,attr"`
	Role     string  `xml:"role,attr"`
	Labelled string  `xml:"aria-labelledby,attr"`
	Title    named   `xml:"title"`
	Desc     named   `xml:"desc"`
	Texts    []label `xml:"text"`
}

type named struct {
	ID   string `xml:"id,attr"`
	Text string `xml:",chardata"`
}

type label struct {
	X      float64 `xml:"x,attr"`
	Y      float64 `xml:"y,attr"`
	Size   float64 `xml:"font-size,attr"`
	Anchor string  `xml:"text-anchor,attr"`
	Text   string  `xml:",chardata"`
}

// A reader's font is narrower than the guess that charts are laid out with.
func (l label) width() float64 { return textWidth(l.Text, l.Size) * 0.95 }

func (l label) left() float64 {
	switch l.Anchor {
	case "middle":
		return l.X - l.width()/2
	case "end":
		return l.X - l.width()
	}
	return l.X
}

func (l label) right() float64 { return l.left() + l.width() }

func (l label) overlaps(other label) bool {
	apart := max(l.Size, other.Size)
	return l.left() < other.right() && other.left() < l.right() && l.Y-other.Y < apart && other.Y-l.Y < apart
}

// decode fails on anything that is not well-formed, to the end of the text.
func decode(t *testing.T, svg []byte) drawing {
	t.Helper()
	decoder := xml.NewDecoder(bytes.NewReader(svg))
	var out drawing
	if err := decoder.Decode(&out); err != nil {
		t.Fatalf("not well-formed: %v\n%s", err, svg)
	}
	if err := decoder.Decode(new(drawing)); !errors.Is(err, io.EOF) {
		t.Fatalf("more than one root: %v\n%s", err, svg)
	}
	return out
}
