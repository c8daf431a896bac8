package console

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"bursar/api"
	"bursar/internal/auditlog"
	"bursar/internal/ledger"
	"bursar/internal/rail"
)

// Dimensions of the chart, in units of its viewBox. A day is a whole number of units wide, so that bars have sharp edges at the chart's
// natural size.
const (
	chartLeft   = 40
	chartTop    = 12
	chartHeight = 160
	dayWidth    = 20
	barWidth    = 14
	// leastBar is the minimum height of a bar, so that a day with a single event is visible.
	leastBar = 2
	// labelEvery is the number of days between two dates on the axis.
	labelEvery = 7
)

// chart is the number of events on each day, laid out for the SVG template.
type chart struct {
	Width, Height int
	Left, Base    int // the left edge of the plot, and the base line of its bars
	Days          []chartDay
	Ticks         []chartTick
	Labels        []chartLabel

	Title   string
	Summary string
	Some    bool // there is anything to show
	Zone    string
}

// chartDay is a day with its bars: successful events, and on top of them the
// refused ones.
type chartDay struct {
	X                  int // left edge of the bars
	Slot               int // left edge of the day
	Y, Tall            float64
	BadY, BadTall      float64
	Date               string // such as Nov 12
	Count, Refused     string
	Title              string
	Some               bool
	From, To           string // start and end of the day for the audit filter
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

// chartUnit is what a chart counts: how its numbers and those beside its axis are written.
type chartUnit struct {
	count func(n int, more bool) string
	tick  func(n int) string
}

// newChart returns a chart of the events of an audit log.
func newChart(days []auditlog.Day, zone *time.Location) chart {
	c := drawChart(days, zone, chartUnit{amount, compact})
	c.Title, c.Summary = "Events per day", summarize(days)
	for i, day := range days {
		c.Days[i].Title += " " + nounFor(day.Count, "event", "events")
		if day.Refused > 0 {
			c.Days[i].Title += fmt.Sprintf(", %s refused", c.Days[i].Refused)
		}
	}
	return c
}

// drawChart lays out the bars, the axis and the dates.
func drawChart(days []auditlog.Day, zone *time.Location, unit chartUnit) chart {
	c := chart{Left: chartLeft, Base: chartTop + chartHeight, Width: chartLeft + dayWidth*len(days), Height: chartTop + chartHeight + 28, Zone: zone.String()}
	highest := 0
	for _, day := range days {
		highest = max(highest, day.Count)
	}
	top := niceTop(highest)
	for i, day := range days {
		c.Days = append(c.Days, c.day(i, day, top, unit))
		if (len(days)-1-i)%labelEvery == 0 {
			c.Labels = append(c.Labels, c.label(i, len(days)))
		}
	}
	scale := []int{0, top / 2, top}
	if highest == 0 {
		scale = scale[:1]
	}
	for _, part := range scale {
		c.Ticks = append(c.Ticks, chartTick{Y: c.height(0) - barHeight(part, top), Text: unit.tick(part)})
	}
	c.Some = highest > 0
	return c
}

// summarize describes the chart in words: the number of events, the number of refused ones, and the day with the most.
func summarize(days []auditlog.Day) string {
	var total, refused, active int
	var more bool
	var busiest auditlog.Day
	for _, day := range days {
		total += day.Count
		refused += day.Refused
		more = more || day.More
		if day.Count > 0 {
			active++
		}
		if day.Count > busiest.Count {
			busiest = day
		}
	}
	if total == 0 {
		return "No activity in the last 30 days."
	}
	text := amount(total, more) + " " + nounFor(total, "event", "events")
	if refused > 0 {
		text += ", " + amount(refused, more) + " refused (red)"
	}
	date := busiest.Date.Format(dayFormat)
	switch {
	case active > 1:
		return fmt.Sprintf("%s. Busiest day: %s (%s).", text, date, amount(busiest.Count, busiest.More))
	case total > 1:
		return text + ", all on " + date + "."
	}
	return text + ", on " + date + "."
}

// height returns the y coordinate of a point above the base line.
func (c chart) height(above float64) float64 { return float64(c.Base) - above }

func (c chart) day(i int, day auditlog.Day, top int, unit chartUnit) chartDay {
	date := day.Date.Format(dayFormat)
	d := chartDay{
		Slot: chartLeft + dayWidth*i, X: chartLeft + dayWidth*i + (dayWidth-barWidth)/2, SlotWidth: dayWidth, BarWide: barWidth,
		Date: date, Count: unit.count(day.Count, day.More), Refused: amount(day.Refused, day.More && day.Refused > 0), Some: day.Count > 0,
		From: day.Date.Format(fieldMinute), To: lastMinute(day.Date).Format(fieldMinute),
	}
	whole := barHeight(day.Count, top)
	d.BadTall = barHeight(day.Refused, top)
	d.Tall = max(0, whole-d.BadTall)
	d.Y = c.height(d.Tall)
	d.BadY = c.height(d.Tall + d.BadTall)
	d.Title = date + ": " + d.Count
	return d
}

// lastMinute returns the last minute of the day that starts at the given time.
func lastMinute(start time.Time) time.Time {
	year, month, day := start.Date()
	return time.Date(year, month, day, 23, 59, 0, 0, start.Location())
}

// label returns the date below a day. The last one is aligned with the right edge of the chart, so that it is not cut off.
func (c chart) label(i, days int) chartLabel {
	label := chartLabel{X: chartLeft + dayWidth*i + dayWidth/2, Anchor: "middle", Text: c.Days[i].Date}
	if i == days-1 {
		label.X, label.Anchor = chartLeft+dayWidth*days, "end"
	}
	return label
}

// barHeight returns the height of a bar for n events, on a scale that ends at top.
func barHeight(n, top int) float64 {
	if n <= 0 {
		return 0
	}
	exact := float64(n) / float64(top) * chartHeight
	return max(leastBar, math.Round(exact*10)/10)
}

// niceTop returns the upper end of the scale. It is an even number with one significant digit, at least as large as the highest count.
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

// newMoneyChart returns a chart of the amounts paid out of an account.
func newMoneyChart(days []ledger.Day, currency string, zone *time.Location) chart {
	counts := make([]auditlog.Day, len(days))
	total, more := int64(0), false
	for i, day := range days {
		counts[i] = auditlog.Day{Date: day.Date, Count: int(day.Amount), More: day.More}
		total, more = total+day.Amount, more || day.More
	}
	money := func(n int, more bool) string { return when(more, "at least ") + api.FormatAmount(int64(n), currency) }
	c := drawChart(counts, zone, chartUnit{money, func(n int) string { return compactMoney(int64(n), currency) }})
	c.Title, c.Summary = "Paid out per day", "Nothing was paid out in the last 30 days."
	if total > 0 {
		c.Summary = sentence(money(int(total), more) + " in all")
	}
	return c
}

// compactMoney shortens an amount to fit beside the axis.
func compactMoney(amount int64, currency string) string {
	if amount == 0 {
		return "0"
	}
	text := rail.Decimal(amount, currency)
	whole, cents, _ := strings.Cut(text, ".")
	if n, err := strconv.Atoi(whole); err == nil && strings.Trim(cents, "0") == "" {
		return compact(n)
	}
	return text
}

// compact shortens round thousands and millions, such as 3k, to fit beside the axis.
func compact(n int) string {
	if n >= 1_000_000 && n%100_000 == 0 {
		return strconv.FormatFloat(float64(n)/1_000_000, 'f', -1, 64) + "M"
	}
	if n >= 1000 && n%100 == 0 {
		return strconv.FormatFloat(float64(n)/1000, 'f', -1, 64) + "k"
	}
	return strconv.Itoa(n)
}

// amount formats a number with thousands separators. A plus means that counting stopped there.
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
