package term

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"bursar/internal/cli/term/termtest"
)

type screen struct {
	*termtest.Screen
	Terminal
}

// newScreen makes a terminal with a person in front of it.
func newScreen(t *testing.T, columns int, env ...string) *screen {
	t.Helper()
	s := termtest.Open(t, columns)
	return &screen{s, Terminal{In: s.Device, Out: s.Device, Err: s.Device, Env: termtest.Env(env...)}}
}

// pipes makes the terminal of a command that runs without a person.
func pipes(env ...string) (Terminal, *bytes.Buffer, *bytes.Buffer) {
	var out, errs bytes.Buffer
	return Terminal{In: strings.NewReader(""), Out: &out, Err: &errs, Env: termtest.Env(env...)}, &out, &errs
}

func TestChoiceIsAskedForUntilItIsOne(t *testing.T) {
	s := newScreen(t, 80)
	s.Type("0", "seven", "3", "", "2")
	var got int
	var err error
	shown := s.Shows(func() { got, err = s.Choose(t.Context(), "Which?", []string{"one", "two"}) })
	if err != nil || got != 1 {
		t.Errorf("chose %d, %v", got, err)
	}
	if strings.Count(shown, "Type a number from 1 to 2.") != 4 || !strings.HasPrefix(shown, "Which?\n  1  one\n  2  two\nNumber: ") {
		t.Errorf("the screen shows:\n%s", shown)
	}
}

func TestChoiceShowsWhatStrangersWroteHarmlessly(t *testing.T) {
	s := newScreen(t, 80)
	s.Type("1")
	shown := s.Shows(func() { _, _ = s.Choose(t.Context(), "Which?", []string{"\x1b[2Jone\nDone.", "two"}) })
	if strings.Contains(shown, "\x1b") || strings.Contains(shown, "\nDone.") {
		t.Errorf("the screen shows %q", shown)
	}
}

func TestNoAnswerIsAnError(t *testing.T) {
	s := newScreen(t, 80)
	if _, err := io.WriteString(s.Person, "\x04"); err != nil { // the end of what is typed
		t.Fatal(err)
	}
	var err error
	s.Shows(func() { _, err = s.Choose(t.Context(), "Which?", []string{"one", "two"}) })
	if !errors.Is(err, ErrNoAnswer) {
		t.Errorf("the error is %v", err)
	}
}

func TestNoConfirmationChangesNothing(t *testing.T) {
	s := newScreen(t, 80)
	if _, err := io.WriteString(s.Person, "\x04"); err != nil { // the end of what is typed
		t.Fatal(err)
	}
	var err error
	shown := s.Shows(func() { err = s.Confirm(t.Context(), "Delete it?", false) })
	if !errors.Is(err, ErrDeclined) || shown != "Delete it? [y/N] \n" {
		t.Errorf("the error is %v, the screen shows %q", err, shown)
	}
}

func TestQuestionsEndWithTheCommand(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]struct {
		ask  func(Terminal) error
		want error
	}{
		"a question":     {func(s Terminal) error { _, err := s.Ask(ctx, "Who?"); return err }, context.Canceled},
		"a choice":       {func(s Terminal) error { _, err := s.Choose(ctx, "Which?", []string{"one"}); return err }, context.Canceled},
		"a confirmation": {func(s Terminal) error { return s.Confirm(ctx, "Delete it?", false) }, ErrDeclined},
	} {
		s := newScreen(t, 80)
		var err error
		shown := s.Shows(func() {
			err = c.ask(s.Terminal)
			s.Type("") // lets the read that was left behind end
		})
		if !errors.Is(err, c.want) || !strings.HasSuffix(shown, "\n") {
			t.Errorf("%s: %v, the screen shows %q", name, err, shown)
		}
	}
}

func TestConfirmationIsAYes(t *testing.T) {
	for typed, want := range map[string]error{"y": nil, "YES": nil, " yes ": nil, "": ErrDeclined, "n": ErrDeclined, "yeah": ErrDeclined} {
		s := newScreen(t, 80)
		s.Type(typed)
		var err error
		shown := s.Shows(func() { err = s.Confirm(t.Context(), "Delete it?", false) })
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
	if err := terminal.Confirm(t.Context(), "Delete it?", true); err != nil {
		t.Errorf("with --yes: %v", err)
	}
	var usage UsageError
	if err := terminal.Confirm(t.Context(), "Delete it?", false); !errors.As(err, &usage) || !strings.Contains(err.Error(), "--yes") {
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
		if got := s.Colored(s.Out); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
	terminal, _, _ := pipes()
	if terminal.Colored(terminal.Out) || terminal.Width() != 0 || terminal.Interactive() {
		t.Error("a pipe is taken for a screen")
	}
}

func TestScreenWidth(t *testing.T) {
	if got := newScreen(t, 132).Width(); got != 132 {
		t.Errorf("the screen has %d columns", got)
	}
	if got := newScreen(t, 132, "COLUMNS", "40").Width(); got != 40 {
		t.Errorf("with COLUMNS it has %d", got)
	}
	if got := newScreen(t, 132, "COLUMNS", "wide").Width(); got != 132 {
		t.Errorf("with rubbish in COLUMNS it has %d", got)
	}
}

func TestLocaleDeterminesWhatCanBeShown(t *testing.T) {
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
		if got := (Terminal{Env: termtest.Env(c.env...)}).Unicode(); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
