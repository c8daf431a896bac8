package term

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// ErrDeclined is returned when a person does not confirm an action.
var ErrDeclined = errors.New("nothing was changed")

// ErrNoAnswer is returned when the input ends where an answer is expected.
var ErrNoAnswer = errors.New("no answer was given")

// Ask asks a question and reads one line, until the context ends.
func (t Terminal) Ask(ctx context.Context, question string) (string, error) {
	if _, err := fmt.Fprint(t.Err, question); err != nil {
		return "", err
	}
	var line string
	var err error
	read := make(chan struct{})
	// A read from a terminal cannot be interrupted, so an interrupted command leaves the goroutine behind.
	go func() {
		line, err = bufio.NewReader(t.In).ReadString('\n')
		close(read)
	}()
	select {
	case <-read:
	case <-ctx.Done():
		fmt.Fprintln(t.Err) // start a new line
		return "", ctx.Err()
	}
	switch {
	case errors.Is(err, io.EOF) && line == "":
		fmt.Fprintln(t.Err)
		return "", ErrNoAnswer
	case err != nil && line == "":
		return "", fmt.Errorf("read the answer: %w", err)
	}
	return strings.TrimSpace(line), nil
}

// Choose lets a person pick one of several options and returns its index.
func (t Terminal) Choose(ctx context.Context, question string, options []string) (int, error) {
	fmt.Fprintln(t.Err, question)
	for i, option := range options {
		fmt.Fprintf(t.Err, "  %d  %s\n", i+1, Printable(option))
	}
	for {
		line, err := t.Ask(ctx, "Number: ")
		if err != nil {
			return 0, err
		}
		if n, err := strconv.Atoi(line); err == nil && n >= 1 && n <= len(options) {
			return n - 1, nil
		}
		fmt.Fprintf(t.Err, "Type a number from 1 to %d.\n", len(options))
	}
}

// Confirm asks before an action that cannot be undone. A script cannot answer, so it must pass --yes.
func (t Terminal) Confirm(ctx context.Context, question string, yes bool) error {
	if yes {
		return nil
	}
	if !t.Interactive() {
		return Usagef("%s This is not a terminal, so nobody can answer: pass --yes to confirm", question)
	}
	line, err := t.Ask(ctx, question+" [y/N] ")
	switch {
	case errors.Is(err, ErrNoAnswer) || errors.Is(err, context.Canceled):
		return ErrDeclined
	case err != nil:
		return err
	}
	if answer := strings.ToLower(line); answer != "y" && answer != "yes" {
		return ErrDeclined
	}
	return nil
}
