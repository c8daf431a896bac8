package term

import (
	"bufio"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ErrDeclined is returned when a person does not confirm an action.
var ErrDeclined = errors.New("nothing was changed")

// Ask asks a question and reads one line.
func (t Terminal) Ask(question string) (string, error) {
	if _, err := fmt.Fprint(t.Err, question); err != nil {
		return "", err
	}
	line, err := bufio.NewReader(t.In).ReadString('\n')
	if err != nil && line == "" {
		return "", fmt.Errorf("read the answer: %w", err)
	}
	return strings.TrimSpace(line), nil
}

// Choose lets a person pick one of several options and returns its index.
func (t Terminal) Choose(question string, options []string) (int, error) {
	fmt.Fprintln(t.Err, question)
	for i, option := range options {
		fmt.Fprintf(t.Err, "  %d  %s\n", i+1, Printable(option))
	}
	for {
		line, err := t.Ask("Number: ")
		if err != nil {
			return 0, err
		}
		if n, err := strconv.Atoi(line); err == nil && n >= 1 && n <= len(options) {
			return n - 1, nil
		}
		fmt.Fprintf(t.Err, "Type a number from 1 to %d.\n", len(options))
	}
}

// Confirm asks before an action that cannot be undone. A script cannot answer, so it
// must have passed --yes.
func (t Terminal) Confirm(question string, yes bool) error {
	if yes {
		return nil
	}
	if !t.Interactive() {
		return Usagef("%s This is not a terminal, so nobody can answer: pass --yes to confirm", question)
	}
	line, err := t.Ask(question + " [y/N] ")
	if err != nil {
		return err
	}
	if answer := strings.ToLower(line); answer != "y" && answer != "yes" {
		return ErrDeclined
	}
	return nil
}
