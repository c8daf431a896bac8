// Package progress tells on a terminal or in a log how far a run has come.
package progress

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// quiet is how long a log, which is not a terminal, goes without a new line.
const quiet = 5 * time.Second

// Progress counts the steps of a phase, each with the time it is thought to take.
// Its methods may be called concurrently.
type Progress struct {
	out      io.Writer
	terminal bool
	width    int
	now      func() time.Time

	mu       sync.Mutex
	began    time.Time // of the first phase
	written  time.Time
	step     int
	steps    int
	ahead    time.Duration // of the steps of this phase that have not begun
	underway time.Duration // of the one that has
	later    time.Duration // of later phases
}

// New writes to a terminal of that many columns, or to a log where width is 0.
func New(out io.Writer, width int) *Progress {
	return &Progress{out: out, terminal: width > 0, width: width, now: time.Now}
}

// Phase begins one of so many steps that take so long together, after which others
// take about so much longer.
func (p *Progress) Phase(steps int, all, later time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.began.IsZero() {
		p.began = p.now()
	}
	p.step, p.steps = 0, steps
	p.ahead, p.underway, p.later = all, 0, later
}

// Step begins the next step of the phase.
func (p *Progress) Step(each time.Duration, format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.step++
	p.ahead -= each
	p.underway = each
	text := p.line(fmt.Sprintf(format, args...))
	switch {
	case p.terminal:
		fmt.Fprintf(p.out, "\r\x1b[K%s", cut(text, p.width-1))
	case p.now().Sub(p.written) >= quiet:
		fmt.Fprintln(p.out, text)
		p.written = p.now()
	}
}

func (p *Progress) line(what string) string {
	elapsed := p.now().Sub(p.began)
	return fmt.Sprintf("%3d/%d  %s of about %s  %s", p.step, p.steps, clock(elapsed), clock(elapsed+max(p.ahead, 0)+p.underway+p.later), what)
}

// Say writes a line that stays.
func (p *Progress) Say(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.erase()
	fmt.Fprintf(p.out, format+"\n", args...)
}

// End leaves the terminal as it was.
func (p *Progress) End() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.erase()
}

func (p *Progress) erase() {
	if p.terminal {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
}

func clock(d time.Duration) string {
	seconds := int(d.Round(time.Second) / time.Second)
	return fmt.Sprintf("%d:%02d", seconds/60, seconds%60)
}

func cut(text string, width int) string {
	runes := []rune(text)
	if len(runes) > width {
		return string(runes[:max(width-1, 0)]) + "…"
	}
	return text
}
