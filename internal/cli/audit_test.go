package cli

import (
	"errors"
	"strings"
	"testing"
	"time"

	"bursar/internal/cli/term"
)

func TestMoments(t *testing.T) {
	now := time.Date(2026, 5, 31, 12, 0, 0, 0, time.UTC)
	local := func(year int, month time.Month, day, hour, minute int) time.Time {
		return time.Date(year, month, day, hour, minute, 0, 0, time.Local)
	}
	for _, c := range []struct {
		text        string
		first, last time.Time
	}{
		{"2026-05-31T08:00:00Z", time.Date(2026, 5, 31, 8, 0, 0, 0, time.UTC), time.Date(2026, 5, 31, 8, 0, 0, 0, time.UTC)},
		{"2026-05-31T08:00:00.5+02:00", time.Date(2026, 5, 31, 6, 0, 0, 5e8, time.UTC), time.Date(2026, 5, 31, 6, 0, 0, 5e8, time.UTC)},
		{"2026-05-30", local(2026, 5, 30, 0, 0), local(2026, 5, 31, 0, 0).Add(-time.Millisecond)},
		{"2026-05-30 07:15", local(2026, 5, 30, 7, 15), local(2026, 5, 30, 7, 15)},
		{"2026-05-30T07:15:00", local(2026, 5, 30, 7, 15), local(2026, 5, 30, 7, 15)},
		{"2h", now.Add(-2 * time.Hour), now.Add(-2 * time.Hour)},
		{"7d", now.Add(-7 * 24 * time.Hour), now.Add(-7 * 24 * time.Hour)},
		{"2w ago", now.Add(-14 * 24 * time.Hour), now.Add(-14 * 24 * time.Hour)},
		{"1h30m", now.Add(-90 * time.Minute), now.Add(-90 * time.Minute)},
		{"0s", now, now},
	} {
		for last, want := range map[bool]time.Time{false: c.first, true: c.last} {
			if got, err := parseMoment(c.text, now, last); err != nil || !got.Equal(want) {
				t.Errorf("%q (last %t) is %v, %v; want %v", c.text, last, got, err, want)
			}
		}
	}
	for _, text := range []string{"", "yesterday", "2026-13-01", "-2h", "7", "d", "-1d", "1.5d", "99999999999999d", "99999w", "2026-05-31T25:00:00Z"} {
		if got, err := parseMoment(text, now, false); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
}

func TestLengths(t *testing.T) {
	for text, want := range map[string]time.Duration{"90d": 2160 * time.Hour, "2160h": 2160 * time.Hour, "1w": 168 * time.Hour, "0d": 0, "36525d": century} {
		if got, err := parseLength(text); err != nil || got != want {
			t.Errorf("%q is %v, %v; want %v", text, got, err, want)
		}
	}
}

func TestAuditQueryReportsAllFaults(t *testing.T) {
	_, err := (&auditQuery{outcome: "maybe", since: "x", until: "y"}).check(time.Now())
	var usage term.UsageError
	if !errors.As(err, &usage) {
		t.Fatalf("the error is %v", err)
	}
	for _, part := range []string{"--outcome", `--since: "x"`, `--until: "y"`} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q does not tell of %s", err, part)
		}
	}
	// A time before the epoch is no time that the API knows.
	p, err := (&auditQuery{since: "1920-01-01"}).check(time.Now())
	if err != nil || p.From.UnixMilli() != 0 {
		t.Errorf("from is %v, %v", p.From, err)
	}
}
