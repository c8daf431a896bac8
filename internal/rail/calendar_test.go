package rail_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bursar/internal/rail"
	"bursar/internal/rail/simulator"
)

func manila(t *testing.T, text string) time.Time {
	t.Helper()
	zone, err := time.LoadLocation("Asia/Manila")
	if err != nil {
		t.Fatal(err)
	}
	at, err := time.ParseInLocation("2006-01-02 15:04:05.000", text, zone)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func pesonet(t *testing.T, holidays rail.Holidays) *rail.Rail {
	t.Helper()
	rails, err := rail.Load("", rail.Config{Holidays: holidays, Simulator: simulator.New(nil)})
	if err != nil {
		t.Fatal(err)
	}
	return rails.Named("pesonet", true)
}

func TestAPaymentGoesWithTheNextCycleOfABusinessDay(t *testing.T) {
	t.Parallel()
	holidays, err := rail.LoadHolidays("")
	if err != nil {
		t.Fatal(err)
	}
	r := pesonet(t, holidays)
	for ready, want := range map[string]string{
		"2026-11-16 00:00:00.000": "2026-11-16 10:00", // a Monday
		"2026-11-16 09:59:59.999": "2026-11-16 10:00",
		"2026-11-16 10:00:00.000": "2026-11-16 10:00", // exactly at the cut-off
		"2026-11-16 10:00:00.001": "2026-11-16 13:00",
		"2026-11-16 13:00:00.000": "2026-11-16 13:00",
		"2026-11-16 13:00:00.001": "2026-11-16 16:00",
		"2026-11-16 16:00:00.000": "2026-11-16 16:00",
		"2026-11-16 16:00:00.001": "2026-11-17 10:00",
		"2026-11-16 23:59:59.999": "2026-11-17 10:00",
		"2026-11-20 16:00:00.001": "2026-11-23 10:00", // a weekend
		"2026-11-27 16:00:00.000": "2026-11-27 16:00",
		"2026-11-27 16:00:00.001": "2026-12-01 10:00", // a weekend and Bonifacio Day
		"2026-12-23 16:00:00.001": "2026-12-28 10:00", // Christmas
		"2026-12-29 17:00:00.000": "2027-01-04 10:00", // Rizal Day, the last day, New Year and a weekend
	} {
		send, arrive := r.Next(manila(t, ready).UTC())
		if got := send.Format("2006-01-02 15:04"); got != want {
			t.Errorf("what is ready at %s is sent at %s, want %s", ready, got, want)
		}
		if got := arrive.Format("2006-01-02 15:04"); got != want[:10]+" 23:59" {
			t.Errorf("what is sent at %s arrives at %s", want, got)
		}
	}
}

func TestAFileAddsAndRemovesHolidays(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "holidays")
	text := "# ours\n\n2026-11-16 A day of our own\n-2026-11-30\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	holidays, err := rail.LoadHolidays(file)
	if err != nil {
		t.Fatal(err)
	}
	r := pesonet(t, holidays)
	for ready, want := range map[string]string{"2026-11-16 08:00:00.000": "2026-11-17 10:00", "2026-11-27 16:00:00.001": "2026-11-30 10:00"} {
		if send, _ := r.Next(manila(t, ready)); send.Format("2006-01-02 15:04") != want {
			t.Errorf("what is ready at %s is sent at %s, want %s", ready, send, want)
		}
	}
	if err := os.WriteFile(file, []byte("2026-12-24 Fine\n2026-13-01 Wrong\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := rail.LoadHolidays(file); err == nil || !strings.Contains(err.Error(), file) || !strings.Contains(err.Error(), `line 2: "2026-13-01"`) {
		t.Errorf("a wrong line is reported as %v", err)
	}
}

func TestAYearWithoutHolidaysIsNoticed(t *testing.T) {
	t.Parallel()
	holidays, err := rail.LoadHolidays("")
	if err != nil {
		t.Fatal(err)
	}
	for now, want := range map[string]int{"2026-12-31 23:59:59.999": 0, "2027-01-01 00:00:00.000": 2028, "2028-06-01 00:00:00.000": 2028} {
		if got := holidays.Missing(manila(t, now)); got != want {
			t.Errorf("at %s the year %d is missing, want %d", now, got, want)
		}
	}
}

func TestARailHasToAnswerInTime(t *testing.T) {
	t.Parallel()
	zone, err := time.LoadLocation("Asia/Manila")
	if err != nil {
		t.Fatal(err)
	}
	at := func(text string) time.Time {
		moment, err := time.ParseInLocation("2006-01-02 15:04", text, zone)
		if err != nil {
			t.Fatal(err)
		}
		return moment
	}
	cycles := &rail.Hours{Zone: zone, Cycles: []time.Duration{10 * time.Hour, 16 * time.Hour}, Holidays: rail.Holidays{"2026-11-30": "Bonifacio Day"}}
	for name, c := range map[string]struct {
		rail       rail.Rail
		sent, want string
	}{
		"always":                        {rail.Rail{}, "2026-11-18 23:50", "2026-11-19 00:05"},
		"as configured":                 {rail.Rail{AnswerWithin: 2 * time.Hour, Hours: cycles}, "2026-11-18 10:00", "2026-11-18 12:00"},
		"after the first cycle":         {rail.Rail{Hours: cycles}, "2026-11-18 10:01", "2026-11-18 23:59"},
		"after the last cycle":          {rail.Rail{Hours: cycles}, "2026-11-18 16:01", "2026-11-18 23:59"},
		"after midnight before a pause": {rail.Rail{Hours: cycles}, "2026-11-28 00:01", "2026-12-01 23:59"}, // Saturday, and Monday is a holiday
	} {
		if got := c.rail.AnswerBy(at(c.sent)); !got.Equal(at(c.want)) {
			t.Errorf("%s: sent at %s, it has to be decided by %s, want %s", name, c.sent, got, c.want)
		}
	}
}
