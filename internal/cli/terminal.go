package cli

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"golang.org/x/term"
)

// Terminal is the world as a command sees it.
type Terminal struct {
	In  io.Reader
	Out io.Writer
	Err io.Writer
	Env func(string) (string, bool)
}

// env is a variable, empty where it is not set.
func (t Terminal) env(name string) string {
	value, _ := t.Env(name)
	return value
}

// isTerminal says whether a stream is a person's screen or keyboard.
func isTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// interactive says whether a person can be asked.
func (t Terminal) interactive() bool { return isTerminal(t.In) && isTerminal(t.Err) }

// coloured says whether a stream is to be coloured.
func (t Terminal) coloured(stream any) bool {
	if t.env("NO_COLOR") != "" || t.env("TERM") == "dumb" {
		return false
	}
	return isTerminal(stream)
}

// unicode says whether the terminal shows more than ASCII.
func (t Terminal) unicode() bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if value := strings.ToUpper(t.env(name)); value != "" {
			return strings.Contains(value, "UTF-8") || strings.Contains(value, "UTF8")
		}
	}
	return false
}

// width is how many columns the screen has, 0 where the output is no screen.
func (t Terminal) width() int {
	file, ok := t.Out.(*os.File)
	if !ok || !isTerminal(t.Out) {
		return 0
	}
	if columns, err := strconv.Atoi(t.env("COLUMNS")); err == nil && columns > 0 {
		return columns
	}
	width, _, err := term.GetSize(int(file.Fd()))
	if err != nil || width == 0 {
		return 80
	}
	return width
}

// ask asks a question and reads one line.
func (t Terminal) ask(question string) (string, error) {
	if _, err := fmt.Fprint(t.Err, question); err != nil {
		return "", err
	}
	line, err := bufio.NewReader(t.In).ReadString('\n')
	if err != nil && line == "" {
		return "", fmt.Errorf("read the answer: %w", err)
	}
	return strings.TrimSpace(line), nil
}

// choose lets a person pick one of several.
func (t Terminal) choose(question string, options []string) (int, error) {
	fmt.Fprintln(t.Err, question)
	for i, option := range options {
		fmt.Fprintf(t.Err, "  %d  %s\n", i+1, printable(option))
	}
	for {
		line, err := t.ask("Number: ")
		if err != nil {
			return 0, err
		}
		if n, err := strconv.Atoi(line); err == nil && n >= 1 && n <= len(options) {
			return n - 1, nil
		}
		fmt.Fprintf(t.Err, "Type a number from 1 to %d.\n", len(options))
	}
}

// confirm asks before something is done that cannot be undone. Who cannot be asked
// must have said yes beforehand.
func (t Terminal) confirm(question string, yes bool) error {
	if yes {
		return nil
	}
	if !t.interactive() {
		return usageError{fmt.Errorf("%s Nobody can be asked here: give --yes to go on", question)}
	}
	line, err := t.ask(question + " [y/N] ")
	if err != nil {
		return err
	}
	if answer := strings.ToLower(line); answer != "y" && answer != "yes" {
		return errStopped
	}
	return nil
}
