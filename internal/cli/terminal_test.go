package cli

import (
	"bytes"
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
