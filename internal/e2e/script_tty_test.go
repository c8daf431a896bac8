package e2e_test

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/creack/pty"
	"github.com/rogpeppe/go-internal/testscript"

	"bursar/internal/wait"
)

// cmdTTY runs the program on a terminal that does not echo what is typed, so that
// the screen shows the same every time.
func cmdTTY(ts *testscript.TestScript, neg bool, args []string) {
	columns := 80
	if len(args) > 0 {
		if number, ok := strings.CutPrefix(args[0], "-cols="); ok {
			var err error
			columns, err = strconv.Atoi(number)
			ts.Check(err)
			args = args[1:]
		}
	}
	if len(args) < 2 {
		ts.Fatalf("usage: tty [-cols=N] FILE ARGS…")
	}
	typed := ""
	if args[0] != "-" {
		typed = ts.ReadFile(args[0])
	}
	bursar := exec.Command(program, args[1:]...)
	bursar.Dir, bursar.Env = ts.MkAbs("."), scriptEnvironment(ts)
	screen, err := onTerminal(bursar, columns, false)
	ts.Check(err)
	if _, err := io.WriteString(screen, typed); err != nil {
		ts.Fatalf("type: %v", err)
	}
	limit := time.AfterFunc(wait.Limit(), func() { _ = bursar.Process.Kill() })
	defer limit.Stop()
	var shown bytes.Buffer
	_, _ = io.Copy(&shown, screen) // ends with an error once the program has
	err = bursar.Wait()
	_ = screen.Close()
	_, _ = io.WriteString(ts.Stdout(), strings.ReplaceAll(shown.String(), "\r\n", "\n"))
	stageOf(ts).endedOnTerminal(ts, neg, shown.String(), err)
}

func (s *stage) endedOnTerminal(ts *testscript.TestScript, neg bool, shown string, err error) {
	s.ended(ts, neg, err)
	if strings.Contains(shown, "DATA RACE") || strings.Contains(shown, "goroutine 1 ") {
		ts.Fatalf("bursar panicked or has a race")
	}
}

// scriptEnvironment is what the script says now.
func scriptEnvironment(ts *testscript.TestScript) []string {
	var env []string
	for _, name := range []string{
		"PATH", "HOME", "LANG", "LC_ALL", "TZ", "TERM", "COLUMNS", "GORACE", "TMPDIR", "XDG_CONFIG_HOME", "BROWSER",
		"BURSAR_CONFIG_DIR", "BURSAR_KEYRING", "BURSAR_URL", "BURSAR_API_KEY", "BURSAR_TOKEN", "BURSAR_WORKSPACE",
	} {
		if value := ts.Getenv(name); value != "" {
			env = append(env, name+"="+value)
		}
	}
	if value := ts.Getenv("NO_COLOR"); value != "" {
		env = append(env, "NO_COLOR="+value)
	}
	return env
}

// onTerminal starts a command on a new terminal and returns the person's end of it.
func onTerminal(cmd *exec.Cmd, columns int, echo bool) (*os.File, error) {
	screen, terminal, err := pty.Open()
	if err != nil {
		return nil, err
	}
	defer terminal.Close()
	if err := pty.Setsize(terminal, &pty.Winsize{Rows: 24, Cols: uint16(columns)}); err != nil {
		return nil, err
	}
	if !echo {
		quiet := exec.Command("stty", "-echo")
		quiet.Stdin = terminal
		if err := quiet.Run(); err != nil {
			return nil, err
		}
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = terminal, terminal, terminal
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	return screen, cmd.Start()
}
