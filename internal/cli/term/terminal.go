// Package term contains the terminal input and output of commands: tables, JSON and CSV, prompts and progress. It detects whether a stream
// is a screen, how wide the screen is and which characters it can show.
package term

import (
	"io"
	"os"
	"strconv"
	"strings"

	xterm "golang.org/x/term"
)

// Terminal holds the streams and the environment of a command.
type Terminal struct {
	In  io.Reader
	Out io.Writer
	Err io.Writer
	Env func(string) (string, bool)
}

// Getenv returns a variable of the environment, or "" if it is not set.
func (t Terminal) Getenv(name string) string {
	value, _ := t.Env(name)
	return value
}

// IsTerminal reports whether a stream is a screen or a keyboard.
func IsTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && xterm.IsTerminal(int(file.Fd()))
}

// Interactive reports whether a person can answer a question.
func (t Terminal) Interactive() bool { return IsTerminal(t.In) && IsTerminal(t.Err) }

// Colored reports whether output to a stream may use colors.
func (t Terminal) Colored(stream any) bool {
	if t.Getenv("NO_COLOR") != "" || t.Getenv("TERM") == "dumb" {
		return false
	}
	return IsTerminal(stream)
}

// Unicode reports whether the terminal can show more than ASCII.
func (t Terminal) Unicode() bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if value := strings.ToUpper(t.Getenv(name)); value != "" {
			return strings.Contains(value, "UTF-8") || strings.Contains(value, "UTF8")
		}
	}
	return false
}

// Width returns the number of columns of the screen, or 0 if the output is not a
// screen.
func (t Terminal) Width() int {
	file, ok := t.Out.(*os.File)
	if !ok || !IsTerminal(t.Out) {
		return 0
	}
	if columns, err := strconv.Atoi(t.Getenv("COLUMNS")); err == nil && columns > 0 {
		return columns
	}
	return screenWidth(file)
}

func screenWidth(file *os.File) int {
	width, _, err := xterm.GetSize(int(file.Fd()))
	if err != nil || width == 0 {
		return 80
	}
	return width
}
