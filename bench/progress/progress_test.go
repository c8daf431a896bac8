package progress

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

func TestALogGetsALineOnceInAWhile(t *testing.T) {
	var out bytes.Buffer
	now := time.Unix(0, 0)
	p := New(&out, 0)
	p.now = func() time.Time { return now }
	p.Phase(10, 10*time.Second, time.Minute)
	for i := range 10 {
		p.Step(time.Second, "step %d", i)
		now = now.Add(time.Second)
	}
	p.End()
	want := "  1/10  0:00 of about 1:10  step 0\n  6/10  0:05 of about 1:10  step 5\n"
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
}

func TestATerminalHasOneLine(t *testing.T) {
	var out bytes.Buffer
	p := New(&out, 30)
	p.Phase(2, 2*time.Second, 0)
	p.Step(time.Second, "a step with a name that is far too long")
	p.Say("skipped: %s", "something")
	p.End()
	if lines := strings.Count(out.String(), "\n"); lines != 1 {
		t.Errorf("%d lines: %q", lines, out.String())
	}
	first, _, _ := strings.Cut(strings.TrimPrefix(out.String(), "\r\x1b[K"), "\r")
	if width := len([]rune(first)); width > 29 {
		t.Errorf("%d columns: %q", width, first)
	}
}
