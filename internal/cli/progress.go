package cli

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mattn/go-runewidth"
	"golang.org/x/term"
)

// progress tells a person on standard error how far a long run is: a bar on a
// terminal, else a line now and then.
type progress struct {
	out     io.Writer
	bar     bool
	unicode bool
	width   func() int
	noun    string
	total   int64 // of the position, 0 where nobody knows
	every   time.Duration

	mu      sync.Mutex
	count   int
	at      int64
	refused int
	samples []sample
	drawn   bool
	stop    chan struct{}
	ended   sync.WaitGroup
}

type sample struct {
	time  time.Time
	count int
	at    int64
}

const (
	barEvery     = 200 * time.Millisecond
	lineEvery    = 5 * time.Second
	sampleWindow = 10 * time.Second
	barLength    = 24
)

// newProgress begins to tell. The noun is what is counted; total is the end of the
// position.
func newProgress(t Terminal, noun string, total int64) *progress {
	p := &progress{out: t.Err, noun: noun, total: total, unicode: t.unicode(), every: lineEvery, stop: make(chan struct{}), width: func() int { return 80 }}
	if file, ok := t.Err.(*os.File); ok && isTerminal(t.Err) && t.env("TERM") != "dumb" {
		p.bar, p.every = true, barEvery
		p.width = func() int {
			if width, _, err := term.GetSize(int(file.Fd())); err == nil && width > 0 {
				return width
			}
			return 80
		}
	}
	p.samples = []sample{{time: time.Now()}}
	p.ended.Go(p.run)
	return p
}

func (p *progress) run() {
	tick := time.NewTicker(p.every)
	defer tick.Stop()
	for {
		select {
		case <-p.stop:
			return
		case now := <-tick.C:
			p.mu.Lock()
			p.draw(now)
			p.mu.Unlock()
		}
	}
}

// set says how far the run is.
func (p *progress) set(count int, at int64, refused int) {
	p.mu.Lock()
	p.count, p.at, p.refused = count, at, refused
	p.mu.Unlock()
}

// note tells something else in between.
func (p *progress) note(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
	fmt.Fprintln(p.out, printable(text))
}

// close ends the telling and takes the bar away.
func (p *progress) close() {
	close(p.stop)
	p.ended.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
}

func (p *progress) clear() {
	if p.drawn {
		fmt.Fprint(p.out, "\r\x1b[K")
		p.drawn = false
	}
}

func (p *progress) draw(now time.Time) {
	text := p.text(now)
	if !p.bar {
		fmt.Fprintln(p.out, text)
		return
	}
	end := "..."
	if p.unicode {
		end = "…"
	}
	fmt.Fprint(p.out, "\r\x1b[K"+runewidth.Truncate(text, p.width()-1, end))
	p.drawn = true
}

// text is what is told at a time.
func (p *progress) text(now time.Time) string {
	p.samples = append(p.samples, sample{now, p.count, p.at})
	for len(p.samples) > 2 && now.Sub(p.samples[1].time) >= sampleWindow {
		p.samples = p.samples[1:]
	}
	var parts []string
	if p.total > 0 {
		share := min(1, float64(p.at)/float64(p.total))
		percent := fmt.Sprintf("%3d%%", int(share*100))
		if p.bar {
			percent = p.picture(share) + " " + percent
		}
		parts = append(parts, strings.TrimLeft(percent, " "))
	}
	parts = append(parts, grouped(p.count)+" "+p.noun)
	first := p.samples[0]
	if passed := now.Sub(first.time).Seconds(); passed > 0 {
		parts = append(parts, grouped(int(float64(p.count-first.count)/passed))+"/s")
		if speed := float64(p.at-first.at) / passed; p.total > 0 && speed > 0 {
			left := time.Duration(float64(p.total-p.at) / speed * float64(time.Second))
			parts = append(parts, "about "+max(0, left).Round(time.Second).String()+" left")
		}
	}
	if p.refused > 0 {
		parts = append(parts, grouped(p.refused)+" refused")
	}
	return strings.Join(parts, "  ")
}

func (p *progress) picture(share float64) string {
	full, empty := "#", "-"
	if p.unicode {
		full, empty = "█", "░"
	}
	n := int(share * barLength)
	return "[" + strings.Repeat(full, n) + strings.Repeat(empty, barLength-n) + "]"
}

// grouped writes a number as people read it: 12,345.
func grouped(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
