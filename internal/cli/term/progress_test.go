package term

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

func TestProgressShowsHowFarARunIs(t *testing.T) {
	start := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	for name, test := range map[string]struct {
		p    *Progress
		want string
	}{
		"a bar":           {&Progress{bar: true, unicode: true, total: 1000, at: 250, count: 12345, refused: 2, noun: "lines"}, "[██████░░░░░░░░░░░░░░░░░░]  25%  12,345 lines  1,234/s  about 30s left  2 refused"},
		"without Unicode": {&Progress{bar: true, total: 1000, at: 1000, count: 7, noun: "lines"}, "[########################] 100%  7 lines  0/s  about 0s left"},
		"a line":          {&Progress{total: 1000, at: 10, count: 20, noun: "lines"}, "1%  20 lines  2/s  about 16m30s left"},
		"without an end":  {&Progress{count: 1000000, noun: "entries"}, "1,000,000 entries  100,000/s"},
	} {
		t.Run(name, func(t *testing.T) {
			test.p.samples = []sample{{time: start}}
			if got := test.p.text(start.Add(10 * time.Second)); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

func TestProgressForgetsHowFastItWas(t *testing.T) {
	start := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	p := Progress{noun: "lines", samples: []sample{{time: start}}}
	for second := 1; second <= 60; second++ {
		if second <= 20 {
			p.count += 1000
		} else {
			p.count += 10
		}
		if text := p.text(start.Add(time.Duration(second) * time.Second)); second == 60 && !strings.Contains(text, " 10/s") {
			t.Error(text)
		}
	}
	if len(p.samples) > 13 {
		t.Errorf("%d samples are held", len(p.samples))
	}
}

func TestTheBarMakesRoomForNotes(t *testing.T) {
	var out bytes.Buffer
	p := &Progress{out: &out, bar: true, width: func() int { return 20 }, noun: "lines", stop: make(chan struct{}), samples: []sample{{time: time.Now()}}}
	p.Set(123456, 0, 0)
	p.draw(time.Now())
	p.Note("wait\x1b[2J")
	p.draw(time.Now())
	p.Close()
	lines := strings.Split(out.String(), "\r\x1b[K")
	if len(lines) != 5 || len(lines[1]) > 19 || lines[2] != "wait[2J\n" || lines[4] != "" {
		t.Errorf("%q", lines)
	}
}
