package console

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"bursar/internal/auditlog"
)

// The chart's measures, in units of its viewBox. Its days are a whole number of
// units wide, so that bars have sharp edges where it is shown at its own size.
const (
	chartLeft   = 40
	chartTop    = 12
	chartHeight = 160
	dayWidth    = 20
	barWidth    = 14
	// leastBar is how high the bar of a single row is at least: it must be seen.
	leastBar = 2
	// labelEvery is how many days lie between two dates below the chart.
	labelEvery = 7
)

// chart is how much happened on each of some days, ready to be drawn.
type chart struct {
	Width, Height int
	Left, Base    int // where the plot begins, and where its bars stand
	Days          []chartDay
	Ticks         []chartTick
	Labels        []chartLabel

	Total, Refused string
	Busiest        *chartDay // nil where nothing happened
	Zone           string
}

// chartDay is a day and its bars: what was done, and on top what was refused.
type chartDay struct {
	X                  int // of the bars
	Slot               int // of the whole day
	Y, Tall            float64
	BadY, BadTall      float64
	Date               string // as in 12 Nov
	Count, Refused     string
	Title              string
	Some               bool
	From, To           string // the day, as a form has it
	SlotWidth, BarWide int
}

type chartTick struct {
	Y    float64
	Text string
}

type chartLabel struct {
	X      int
	Anchor string
	Text   string
}

func newChart(days []auditlog.Day, zone *time.Location) chart {
	c := chart{Left: chartLeft, Base: chartTop + chartHeight, Width: chartLeft + dayWidth*len(days), Height: chartTop + chartHeight + 28, Zone: zone.String()}
	highest, total, refused, busiest := 0, 0, 0, -1
	more := false
	for i, day := range days {
		total += day.Count
		refused += day.Refused
		more = more || day.More
		if day.Count > highest {
			highest, busiest = day.Count, i
		}
	}
	top := niceTop(highest)
	for i, day := range days {
		c.Days = append(c.Days, c.day(i, day, top))
		if (len(days)-1-i)%labelEvery == 0 {
			c.Labels = append(c.Labels, c.label(i, len(days)))
		}
	}
	if busiest >= 0 {
		c.Busiest = &c.Days[busiest]
	}
	scale := []int{0, top / 2, top}
	if highest == 0 {
		scale = scale[:1]
	}
	for _, part := range scale {
		c.Ticks = append(c.Ticks, chartTick{Y: c.height(0) - barHeight(part, top), Text: compact(part)})
	}
	c.Total, c.Refused = amount(total, more), amount(refused, false)
	return c
}

// height is the place of something so far above the base.
func (c chart) height(above float64) float64 { return float64(c.Base) - above }

func (c chart) day(i int, day auditlog.Day, top int) chartDay {
	date := day.Date.Format("2 Jan")
	d := chartDay{
		Slot: chartLeft + dayWidth*i, X: chartLeft + dayWidth*i + (dayWidth-barWidth)/2, SlotWidth: dayWidth, BarWide: barWidth,
		Date: date, Count: amount(day.Count, day.More), Refused: amount(day.Refused, day.More && day.Refused > 0), Some: day.Count > 0,
		From: day.Date.Format(fieldMinute), To: lastMinute(day.Date).Format(fieldMinute),
	}
	whole := barHeight(day.Count, top)
	d.BadTall = barHeight(day.Refused, top)
	d.Tall = max(0, whole-d.BadTall)
	d.Y = c.height(d.Tall)
	d.BadY = c.height(d.Tall + d.BadTall)
	d.Title = fmt.Sprintf("%s: %s %s", date, d.Count, nounFor(day.Count, "action", "actions"))
	if day.Refused > 0 {
		d.Title += fmt.Sprintf(", %s refused", d.Refused)
	}
	return d
}

// lastMinute is the last minute of the day that begins at a time.
func lastMinute(start time.Time) time.Time {
	year, month, day := start.Date()
	return time.Date(year, month, day, 23, 59, 0, 0, start.Location())
}

// label is the date below a day. The last one ends with the chart.
func (c chart) label(i, days int) chartLabel {
	label := chartLabel{X: chartLeft + dayWidth*i + dayWidth/2, Anchor: "middle", Text: c.Days[i].Date}
	if i == days-1 {
		label.X, label.Anchor = chartLeft+dayWidth*days, "end"
	}
	return label
}

// barHeight is how high so many rows are, where top reaches the top.
func barHeight(n, top int) float64 {
	if n <= 0 {
		return 0
	}
	exact := float64(n) / float64(top) * chartHeight
	return max(leastBar, math.Round(exact*10)/10)
}

// niceTop is an even number with one digit that counts, at or above another.
func niceTop(highest int) int {
	if highest <= 10 {
		return max(2, highest+highest%2)
	}
	unit := 1
	for highest > 10*unit {
		unit *= 10
	}
	for _, lead := range []int{2, 4, 6, 8} {
		if highest <= lead*unit {
			return lead * unit
		}
	}
	return 10 * unit
}

// compact writes a round number in little room.
func compact(n int) string {
	if n >= 1000 && n%100 == 0 {
		return strconv.FormatFloat(float64(n)/1000, 'f', -1, 64) + "k"
	}
	return strconv.Itoa(n)
}

// amount writes a number as people read it, with a plus where it is only the least.
func amount(n int, more bool) string {
	text := strconv.Itoa(n)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	if more {
		text += "+"
	}
	return text
}

func nounFor(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
