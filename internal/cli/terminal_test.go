package cli

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/creack/pty"
)

// screen is a terminal for a command, with a person before it.
type screen struct {
	Terminal
	t      *testing.T
	person *os.File
	device *os.File
}

// newScreen is a terminal of so many columns that does not echo.
func newScreen(t *testing.T, columns int, env ...string) *screen {
	t.Helper()
	person, device, err := pty.Open()
	if err != nil {
		t.Fatalf("open a terminal: %v", err)
	}
	t.Cleanup(func() { _ = device.Close(); _ = person.Close() })
	if err := pty.Setsize(device, &pty.Winsize{Rows: 24, Cols: uint16(columns)}); err != nil {
		t.Fatal(err)
	}
	quiet := exec.Command("stty", "-echo")
	quiet.Stdin = device
	if err := quiet.Run(); err != nil {
		t.Fatalf("stty: %v", err)
	}
	return &screen{Terminal{In: device, Out: device, Err: device, Env: variables(env...)}, t, person, device}
}

// types types lines.
func (s *screen) types(lines ...string) {
	s.t.Helper()
	if _, err := io.WriteString(s.person, strings.Join(lines, "\n")+"\n"); err != nil {
		s.t.Fatal(err)
	}
}

// shows runs a command and returns what the screen shows of it.
func (s *screen) shows(run func()) string {
	s.t.Helper()
	shown, read := &bytes.Buffer{}, make(chan struct{})
	go func() {
		_, _ = io.Copy(shown, s.person) // ends with an error once nobody has the terminal open
		close(read)
	}()
	run()
	_ = s.device.Close()
	<-read
	return strings.ReplaceAll(shown.String(), "\r\n", "\n")
}

// pipes is a command that nobody can be asked by.
func pipes(env ...string) (Terminal, *bytes.Buffer, *bytes.Buffer) {
	var out, errs bytes.Buffer
	return Terminal{In: strings.NewReader(""), Out: &out, Err: &errs, Env: variables(env...)}, &out, &errs
}

func TestChoiceIsAskedForUntilItIsOne(t *testing.T) {
	s := newScreen(t, 80)
	s.types("0", "seven", "3", "", "2")
	var got int
	var err error
	shown := s.shows(func() { got, err = s.choose("Which?", []string{"one", "two"}) })
	if err != nil || got != 1 {
		t.Errorf("chose %d, %v", got, err)
	}
	if strings.Count(shown, "Type a number from 1 to 2.") != 4 || !strings.HasPrefix(shown, "Which?\n  1  one\n  2  two\nNumber: ") {
		t.Errorf("the screen shows:\n%s", shown)
	}
}

func TestChoiceShowsWhatStrangersWroteHarmlessly(t *testing.T) {
	s := newScreen(t, 80)
	s.types("1")
	shown := s.shows(func() { _, _ = s.choose("Which?", []string{"\x1b[2Jone\nDone.", "two"}) })
	if strings.Contains(shown, "\x1b") || strings.Contains(shown, "\nDone.") {
		t.Errorf("the screen shows %q", shown)
	}
}

func TestNoAnswerIsAnError(t *testing.T) {
	s := newScreen(t, 80)
	if _, err := io.WriteString(s.person, "\x04"); err != nil { // the end of what is typed
		t.Fatal(err)
	}
	var err error
	s.shows(func() { _, err = s.choose("Which?", []string{"one", "two"}) })
	if err == nil {
		t.Error("it goes on without an answer")
	}
}

func TestConfirmationIsAYes(t *testing.T) {
	for typed, want := range map[string]error{"y": nil, "YES": nil, " yes ": nil, "": errStopped, "n": errStopped, "yeah": errStopped} {
		s := newScreen(t, 80)
		s.types(typed)
		var err error
		shown := s.shows(func() { err = s.confirm("Delete it?", false) })
		if !errors.Is(err, want) || (err == nil) != (want == nil) {
			t.Errorf("%q: %v", typed, err)
		}
		if shown != "Delete it? [y/N] " {
			t.Errorf("the screen shows %q", shown)
		}
	}
}

func TestConfirmationByAFlag(t *testing.T) {
	terminal, _, _ := pipes()
	if err := terminal.confirm("Delete it?", true); err != nil {
		t.Errorf("with --yes: %v", err)
	}
	var usage usageError
	if err := terminal.confirm("Delete it?", false); !errors.As(err, &usage) || !strings.Contains(err.Error(), "--yes") {
		t.Errorf("without: %v", err)
	}
}

func TestOnlyScreensAreColoured(t *testing.T) {
	for name, c := range map[string]struct {
		env  []string
		want bool
	}{
		"a screen":          {nil, true},
		"NO_COLOR":          {[]string{"NO_COLOR", "1"}, false},
		"NO_COLOR is empty": {[]string{"NO_COLOR", ""}, true}, // no-color.org: "when present and not an empty string"
		"a dumb one":        {[]string{"TERM", "dumb"}, false},
	} {
		s := newScreen(t, 80, c.env...)
		if got := s.coloured(s.Out); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
	terminal, _, _ := pipes()
	if terminal.coloured(terminal.Out) || terminal.width() != 0 || terminal.interactive() {
		t.Error("a pipe is taken for a screen")
	}
}

func TestScreenWidth(t *testing.T) {
	if got := newScreen(t, 132).width(); got != 132 {
		t.Errorf("the screen has %d columns", got)
	}
	if got := newScreen(t, 132, "COLUMNS", "40").width(); got != 40 {
		t.Errorf("with COLUMNS it has %d", got)
	}
	if got := newScreen(t, 132, "COLUMNS", "wide").width(); got != 132 {
		t.Errorf("with rubbish in COLUMNS it has %d", got)
	}
}

func TestLocaleSaysWhatCanBeShown(t *testing.T) {
	for name, c := range map[string]struct {
		env  []string
		want bool
	}{
		"UTF-8":          {[]string{"LANG", "en_GB.UTF-8"}, true},
		"utf8":           {[]string{"LANG", "de_DE.utf8"}, true},
		"Latin 1":        {[]string{"LANG", "de_DE.ISO-8859-1"}, false},
		"C":              {[]string{"LANG", "C"}, false},
		"LC_ALL wins":    {[]string{"LC_ALL", "C", "LANG", "en_GB.UTF-8"}, false},
		"LC_CTYPE wins":  {[]string{"LC_CTYPE", "C.UTF-8", "LANG", "C"}, true},
		"empty is unset": {[]string{"LC_ALL", "", "LANG", "en_GB.UTF-8"}, true},
		"nothing":        {nil, false},
	} {
		if got := (Terminal{Env: variables(c.env...)}).unicode(); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
