package run

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// logInterval is the least time between two steps in a log, which is not a terminal.
const logInterval = 5 * time.Second

// Progress says on a terminal or in a log how far a run has come. Its methods may be called
// concurrently.
type Progress struct {
	out      io.Writer
	width    int // of the terminal; 0 for a log
	began    time.Time
	mu       sync.Mutex
	written  time.Time
	step     int
	steps    int
	estimate time.Duration // of the whole run
}

// NewProgress writes to a terminal of that many columns, or to a log if width is 0.
func NewProgress(out io.Writer, width int) *Progress {
	return &Progress{out: out, width: width, began: time.Now()}
}

// phase begins a part of the run with so many steps. left estimates how long it and all later
// parts will take.
func (p *Progress) phase(steps int, left time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.step, p.steps, p.estimate = 0, steps, time.Since(p.began)+left
}

// next begins a step.
func (p *Progress) next(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.step++
	elapsed := time.Since(p.began)
	line := fmt.Sprintf("%3d/%d  %s of about %s  %s", p.step, p.steps, clock(elapsed), clock(max(elapsed, p.estimate)), fmt.Sprintf(format, args...))
	if p.width > 0 {
		runes := []rune(line)
		fmt.Fprintf(p.out, "\r\x1b[K%s", string(runes[:min(len(runes), p.width-1)]))
	} else if time.Since(p.written) >= logInterval {
		fmt.Fprintln(p.out, line)
		p.written = time.Now()
	}
}

// Say writes a line that stays on the terminal.
func (p *Progress) Say(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.erase()
	fmt.Fprintf(p.out, format+"\n", args...)
}

// end removes the last step from the terminal.
func (p *Progress) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.erase()
}

func (p *Progress) erase() {
	if p.width > 0 {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
}

func clock(d time.Duration) string {
	seconds := int(d.Round(time.Second) / time.Second)
	return fmt.Sprintf("%d:%02d", seconds/60, seconds%60)
}
