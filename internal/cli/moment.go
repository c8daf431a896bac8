package cli

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

const localForm = "2006-01-02 15:04:05"

// localTime formats a time for people, in their time zone. Zero is empty.
func localTime(ms int64) string {
	if ms == 0 {
		return ""
	}
	return time.UnixMilli(ms).Local().Format(localForm)
}

// exactTime formats a time for programs. Zero is empty.
func exactTime(ms int64) string {
	if ms == 0 {
		return ""
	}
	return time.UnixMilli(ms).UTC().Format(time.RFC3339)
}

const century = 36525 * 24 * time.Hour

// parseLength parses a duration in Go's format, or in days or weeks.
func parseLength(text string) (time.Duration, error) {
	for unit, length := range map[string]time.Duration{"d": 24 * time.Hour, "w": 7 * 24 * time.Hour} {
		number, ok := strings.CutSuffix(text, unit)
		if !ok {
			continue
		}
		n, err := strconv.ParseUint(number, 10, 32)
		if err != nil || time.Duration(n) > century/length {
			break
		}
		return time.Duration(n) * length, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, fmt.Errorf("%q is not a duration: use one such as 90d, 2w, 36h or 15m", text)
	}
	return d, nil
}

// parseMoment parses a time: in RFC 3339, as a local date with or without a time of day, or as a duration before the present. A date alone
// means its first moment, or its last one if last is set.
func parseMoment(text string, now time.Time, last bool) (time.Time, error) {
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at, nil
	}
	if day, err := time.ParseInLocation(time.DateOnly, text, time.Local); err == nil {
		if last {
			return day.AddDate(0, 0, 1).Add(-time.Millisecond), nil
		}
		return day, nil
	}
	for _, form := range []string{localForm, "2006-01-02 15:04", "2006-01-02T15:04:05", "2006-01-02T15:04"} {
		if at, err := time.ParseInLocation(form, text, time.Local); err == nil {
			return at, nil
		}
	}
	ago, err := parseLength(strings.TrimSpace(strings.TrimSuffix(text, "ago")))
	if err != nil {
		return time.Time{}, fmt.Errorf("%q is not a time: use 2026-05-31, 2026-05-31T08:00:00Z, or a duration before now such as 2h or 7d", text)
	}
	return now.Add(-ago), nil
}
