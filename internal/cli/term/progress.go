package term

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/mattn/go-runewidth"
)

// Progress shows the progress of a long command on standard error: as a bar on a screen, or else as a line every few seconds.
type Progress struct {
	out     io.Writer
	bar     bool
	unicode bool
	width   func() int
	noun    string
	total   int64 // the final position, or 0 if unknown
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

// NewProgress starts to show progress. The noun names what is counted. total is the final position, or 0 if it is unknown.
func NewProgress(t Terminal, noun string, total int64) *Progress {
	p := &Progress{out: t.Err, noun: noun, total: total, unicode: t.Unicode(), every: lineEvery, stop: make(chan struct{}), width: func() int { return 80 }}
	if file, ok := t.Err.(*os.File); ok && IsTerminal(t.Err) && t.Getenv("TERM") != "dumb" {
		p.bar, p.every = true, barEvery
		p.width = func() int { return screenWidth(file) }
	}
	p.samples = []sample{{time: time.Now()}}
	p.ended.Go(p.run)
	return p
}

func (p *Progress) run() {
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

// Set records the progress.
func (p *Progress) Set(count int, at int64, refused int) {
	p.mu.Lock()
	p.count, p.at, p.refused = count, at, refused
	p.mu.Unlock()
}

// Note writes a message without disturbing the bar.
func (p *Progress) Note(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
	fmt.Fprintln(p.out, Printable(text))
}

// Close stops showing progress and removes the bar.
func (p *Progress) Close() {
	close(p.stop)
	p.ended.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
}

func (p *Progress) clear() {
	if p.drawn {
		fmt.Fprint(p.out, "\r\x1b[K")
		p.drawn = false
	}
}

func (p *Progress) draw(now time.Time) {
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

// text describes the progress at a time.
func (p *Progress) text(now time.Time) string {
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
	parts = append(parts, Grouped(p.count)+" "+p.noun)
	first := p.samples[0]
	if passed := now.Sub(first.time).Seconds(); passed > 0 {
		parts = append(parts, Grouped(int(float64(p.count-first.count)/passed))+"/s")
		if speed := float64(p.at-first.at) / passed; p.total > 0 && speed > 0 {
			left := time.Duration(float64(p.total-p.at) / speed * float64(time.Second))
			parts = append(parts, "about "+max(0, left).Round(time.Second).String()+" left")
		}
	}
	if p.refused > 0 {
		parts = append(parts, Grouped(p.refused)+" refused")
	}
	return strings.Join(parts, "  ")
}

func (p *Progress) picture(share float64) string {
	full, empty := "#", "-"
	if p.unicode {
		full, empty = "█", "░"
	}
	n := int(share * barLength)
	return "[" + strings.Repeat(full, n) + strings.Repeat(empty, barLength-n) + "]"
}
