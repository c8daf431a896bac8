// Package termtest provides tests with a terminal and a simulated person.
package termtest

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/creack/pty"
)

// Screen is a pseudo-terminal. A command uses Device, and the test acts as the person.
type Screen struct {
	Device *os.File
	Person *os.File

	t testing.TB
}

// Open opens a terminal of the given width that does not echo.
func Open(t testing.TB, columns int) *Screen {
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
	return &Screen{Device: device, Person: person, t: t}
}

// Type types lines.
func (s *Screen) Type(lines ...string) {
	s.t.Helper()
	if _, err := io.WriteString(s.Person, strings.Join(lines, "\n")+"\n"); err != nil {
		s.t.Fatal(err)
	}
}

// Shows runs a command and returns its output on the screen. It closes the device.
func (s *Screen) Shows(run func()) string {
	s.t.Helper()
	shown, read := &bytes.Buffer{}, make(chan struct{})
	go func() {
		_, _ = io.Copy(shown, s.Person) // fails once the device is closed, which is the end
		close(read)
	}()
	run()
	_ = s.Device.Close()
	<-read
	return strings.ReplaceAll(shown.String(), "\r\n", "\n")
}

// Env returns an environment from alternating names and values.
func Env(pairs ...string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		for i := 0; i+1 < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1], true
			}
		}
		return "", false
	}
}
