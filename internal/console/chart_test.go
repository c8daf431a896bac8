package console

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strconv"
	"strings"
	"testing"
	"time"

	"bursar/internal/auditlog"
)

// days returns the thirty days until 30 November. The given counts belong to the last
// days; the days before have no events.
func days(counts ...[2]int) []auditlog.Day {
	list := make([]auditlog.Day, 30)
	for i := range list {
		list[i].Date = time.Date(2025, 11, 1+i, 0, 0, 0, 0, time.UTC)
	}
	for i, c := range counts {
		at := &list[30-len(counts)+i]
		at.Count, at.Refused = c[0], c[1]
	}
	return list
}

func TestChartBarsAreProportional(t *testing.T) {
	t.Parallel()
	c := newChart(days([2]int{10, 0}, [2]int{5, 5}, [2]int{0, 0}, [2]int{8, 2}), time.UTC)
	type bar struct{ y, tall, badY, badTall float64 }
	for i, want := range map[int]bar{
		25: {172, 0, 172, 0},
		26: {12, 160, 12, 0},
		27: {172, 0, 92, 80},
		28: {172, 0, 172, 0},
		29: {76, 96, 44, 32},
	} {
		d := c.Days[i]
		if got := (bar{d.Y, d.Tall, d.BadY, d.BadTall}); got != want {
			t.Errorf("day %d is %+v, want %+v", i, got, want)
		}
	}
	if c.Width != 640 || c.Height != 200 || !c.Some {
		t.Errorf("the chart is %+v", c)
	}
}

func TestChartHasATextAlternative(t *testing.T) {
	t.Parallel()
	list := days([2]int{1, 0}, [2]int{5000, 12}, [2]int{34, 1})
	list[28].More = true
	c := newChart(list, time.UTC)
	for i, want := range map[int]string{
		0: "Nov 1: 0 events", 27: "Nov 28: 1 event", 28: "Nov 29: 5,000+ events, 12+ refused", 29: "Nov 30: 34 events, 1 refused",
	} {
		if got := c.Days[i].Title; got != want {
			t.Errorf("day %d is called %q, want %q", i, got, want)
		}
	}
	if got := c.Days[27].Tall; got != leastBar {
		t.Errorf("a single row is %v high", got)
	}
	if c.Days[29].From != "2025-11-30T00:00" || c.Days[29].To != "2025-11-30T23:59" {
		t.Errorf("the chart is %+v", c)
	}
	var labels, ticks []string
	for _, l := range c.Labels {
		labels = append(labels, l.Text+" "+l.Anchor+" "+strconv.Itoa(l.X))
	}
	for _, tick := range c.Ticks {
		ticks = append(ticks, tick.Text+" "+strconv.FormatFloat(tick.Y, 'f', -1, 64))
	}
	if got := strings.Join(labels, ", "); got != "Nov 2 middle 70, Nov 9 middle 210, Nov 16 middle 350, Nov 23 middle 490, Nov 30 end 640" {
		t.Errorf("the dates are %s", got)
	}
	if got := strings.Join(ticks, ", "); got != "0 172, 3k 92, 6k 12" {
		t.Errorf("the ticks are %s", got)
	}
}

func TestChartScaleIsRound(t *testing.T) {
	t.Parallel()
	for highest, want := range map[int]int{0: 2, 1: 2, 2: 2, 3: 4, 9: 10, 10: 10, 11: 20, 34: 40, 81: 100, 100: 100, 101: 200, 4001: 6000, 5000: 6000, 9000: 10000} {
		if got := niceTop(highest); got != want {
			t.Errorf("%d is drawn on a scale to %d, want %d", highest, got, want)
		}
	}
}

func TestAmountsAreReadable(t *testing.T) {
	t.Parallel()
	for want, n := range map[string]int{"0": 0, "999": 999, "1,000": 1000, "12,345": 12345, "1,234,567": 1234567} {
		if got := amount(n, false); got != want {
			t.Errorf("%d is written %s", n, got)
		}
	}
	if got := amount(10_000, true); got != "10,000+" {
		t.Errorf("got %s", got)
	}
}

func TestTheSummaryOfTheChartRepeatsNothing(t *testing.T) {
	t.Parallel()
	counted := days([2]int{5000, 12}, [2]int{34, 0})
	counted[28].More = true
	for want, list := range map[string][]auditlog.Day{
		"No activity in the last 30 days.":                                days(),
		"1 event, on Nov 30.":                                             days([2]int{1, 0}),
		"1 event, 1 refused (red), on Nov 30.":                            days([2]int{1, 1}),
		"3 events, all on Nov 29.":                                        days([2]int{3, 0}, [2]int{0, 0}),
		"37 events, 3 refused (red). Busiest day: Nov 30 (34).":           days([2]int{3, 1}, [2]int{0, 0}, [2]int{34, 2}),
		"5,034+ events, 12+ refused (red). Busiest day: Nov 29 (5,000+).": counted,
	} {
		if got := newChart(list, time.UTC).Summary; got != want {
			t.Errorf("the summary is %q, want %q", got, want)
		}
	}
}

// The SVG is well-formed and has a bar and a tooltip for each day.
func TestChartIsDrawn(t *testing.T) {
	t.Parallel()
	loaded, err := loadAssets()
	if err != nil {
		t.Fatal(err)
	}
	all, err := loadPages(loaded)
	if err != nil {
		t.Fatal(err)
	}
	home, err := all["home"]()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		days []auditlog.Day
		bad  int
	}{
		"nothing":   {days(), 0},
		"something": {days([2]int{3, 1}, [2]int{0, 0}, [2]int{34, 2}), 2},
	} {
		var svg bytes.Buffer
		if err := home.ExecuteTemplate(&svg, "bars", newChart(c.days, time.UTC)); err != nil {
			t.Fatal(err)
		}
		if got := elements(t, svg.Bytes()); got["rect bar"] != 30 || got["rect bar bad"] != c.bad || got["g day"] != 30 || got["title "] != 31 {
			t.Errorf("%s: it has %v", name, got)
		}
		for _, want := range []string{`viewBox="0 0 640 200"`, `role="img"`, `aria-labelledby="chart-title"`, `aria-describedby="chart-text"`} {
			if !strings.Contains(svg.String(), want) {
				t.Errorf("%s: there is no %s in %s", name, want, svg.String())
			}
		}
	}
}

// elements counts the elements of an XML document by name and class.
func elements(t *testing.T, document []byte) map[string]int {
	t.Helper()
	found := map[string]int{}
	for decoder := xml.NewDecoder(bytes.NewReader(document)); ; {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return found
		}
		if err != nil {
			t.Fatal(err)
		}
		if start, ok := token.(xml.StartElement); ok {
			class := ""
			for _, a := range start.Attr {
				if a.Name.Local == "class" {
					class = a.Value
				}
			}
			found[start.Name.Local+" "+class]++
		}
	}
}

func TestEveryPageCanBeRead(t *testing.T) {
	t.Parallel()
	loaded, err := loadAssets()
	if err != nil {
		t.Fatal(err)
	}
	all, err := loadPages(loaded)
	if err != nil {
		t.Fatal(err)
	}
	for _, read := range all {
		if _, err := read(); err != nil {
			t.Error(err)
		}
	}
}
