package rail

import (
	_ "embed"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // the machine may have no time zone database
)

//go:embed holidays.txt
var holidayText string

// Holidays are the days on which banks do not clear: their names, by date as in 2026-12-25.
type Holidays map[string]string

var shippedHolidays = sync.OnceValue(func() Holidays {
	h := Holidays{}
	if err := h.read(holidayText); err != nil {
		panic("the embedded holidays: " + err.Error())
	}
	return h
})

// LoadHolidays returns the embedded holidays of the Philippines, changed by a file: a line "2026-12-24 Christmas Eve" adds a day, and
// "-2026-12-24" removes one. Without a file they are returned unchanged.
func LoadHolidays(file string) (Holidays, error) {
	h := maps.Clone(shippedHolidays())
	if file == "" {
		return h, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the holidays: %w", err)
	}
	if err := h.read(string(text)); err != nil {
		return nil, fmt.Errorf("holidays file %s: %w", file, err)
	}
	return h, nil
}

func (h Holidays) read(text string) error {
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		date, name, _ := strings.Cut(line, " ")
		date, remove := strings.CutPrefix(date, "-")
		if _, err := time.Parse(time.DateOnly, date); err != nil {
			return fmt.Errorf("line %d: %q is no date such as 2026-12-25", number, date)
		}
		if remove {
			delete(h, date)
		} else {
			h[date] = strings.TrimSpace(name)
		}
	}
	return nil
}

// Missing returns this year or the next, the first of which has no known holiday; 0 if both have some. Payments of such a year are expected
// too early.
func (h Holidays) Missing(now time.Time) int {
	for _, year := range []int{now.Year(), now.Year() + 1} {
		known := func(date string) bool { return strings.HasPrefix(date, fmt.Sprintf("%04d-", year)) }
		if !slices.ContainsFunc(slices.Collect(maps.Keys(h)), known) {
			return year
		}
	}
	return 0
}

// Hours are the times at which a rail sends: in cycles, on business days.
type Hours struct {
	Zone *time.Location
	// Cycles are the cut-offs of a business day, as durations after midnight, in order.
	Cycles   []time.Duration
	Holidays Holidays
}

// Next returns when a payment that is ready at a time is sent: with the next cycle whose cut-off has not passed. A payment that is ready
// exactly at the cut-off is still included. It arrives the same business day; no hour is guaranteed, so that is the last minute of the day.
func (h *Hours) Next(at time.Time) (send, arrive time.Time) {
	year, month, day := at.In(h.Zone).Date()
	for ; ; day++ {
		midnight := time.Date(year, month, day, 0, 0, 0, 0, h.Zone)
		if !h.Business(midnight) {
			continue
		}
		for _, cycle := range h.Cycles {
			cutOff := time.Date(year, month, day, 0, int(cycle/time.Minute), 0, 0, h.Zone)
			if !at.After(cutOff) {
				return cutOff, h.EndOfDay(cutOff)
			}
		}
	}
}

// EndOfDay returns the last minute of the business day of a time, or of the next one.
func (h *Hours) EndOfDay(at time.Time) time.Time {
	year, month, day := at.In(h.Zone).Date()
	for ; ; day++ {
		if end := time.Date(year, month, day, 23, 59, 0, 0, h.Zone); h.Business(end) {
			return end
		}
	}
}

// Business reports whether banks clear on the day of a time.
func (h *Hours) Business(at time.Time) bool {
	at = at.In(h.Zone)
	if day := at.Weekday(); day == time.Saturday || day == time.Sunday {
		return false
	}
	_, holiday := h.Holidays[at.Format(time.DateOnly)]
	return !holiday
}
