package e2e_test

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"bursar/internal/server/servertest"
	"bursar/internal/wait"
)

var scriptCommands = map[string]func(ts *testscript.TestScript, neg bool, args []string){
	"api":        cmdAPI,
	"as":         cmdAs,
	"bursar":     cmdBursar,
	"capture":    servertest.ScriptCapture,
	"cmpmasked":  cmdCompareMasked,
	"exitcode":   cmdExitCode,
	"filemode":   cmdFileMode,
	"restart":    cmdRestart,
	"secretfree": cmdSecretFree,
	"server":     cmdServer,
	"stderrmasked": func(ts *testscript.TestScript, neg bool, args []string) {
		cmdCompareMasked(ts, neg, append([]string{"stderr"}, args...))
	},
	"stdoutmasked": func(ts *testscript.TestScript, neg bool, args []string) {
		cmdCompareMasked(ts, neg, append([]string{"stdout"}, args...))
	},
	"stopserver": cmdStopServer,
	"tty":        cmdTTY,
	"until":      cmdUntil,
}

func cmdBursar(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) > 0 && strings.HasPrefix(args[len(args)-1], "&") {
		ts.Fatalf("in the background: exec bursar … %s", args[len(args)-1])
	}
	stageOf(ts).ended(ts, neg, ts.Exec("bursar", args...))
}

// cmdUntil repeats a command that changes nothing until its standard output is as demanded.
func cmdUntil(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: until REGEXP ARGS…")
	}
	want, err := regexp.Compile("(?m)" + args[0])
	ts.Check(err)
	s := stageOf(ts)
	wait.Until(s.t, strings.Join(args, " "), func() bool {
		err = ts.Exec("bursar", args[1:]...)
		return err == nil && want.MatchString(ts.ReadFile("stdout"))
	})
	s.ended(ts, false, err)
}

// ended keeps the exit code of a command and demands that it succeeded, or not.
// What panics or races fails in any case.
func (s *stage) ended(ts *testscript.TestScript, neg bool, err error) {
	var exit *exec.ExitError
	switch {
	case err == nil:
		s.code = 0
	case errors.As(err, &exit):
		s.code = exit.ExitCode()
	default:
		ts.Fatalf("bursar did not end by itself: %v", err)
	}
	for _, stream := range []string{"stdout", "stderr"} {
		if text := ts.ReadFile(stream); strings.Contains(text, "DATA RACE") || strings.Contains(text, "goroutine 1 ") {
			ts.Fatalf("bursar panicked or has a race")
		}
	}
	if failed := s.code != 0; failed != neg {
		ts.Fatalf("exit code %d", s.code)
	}
}

func cmdExitCode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: exitcode N")
	}
	if got := strconv.Itoa(stageOf(ts).code); got != args[0] {
		ts.Fatalf("the exit code is %s", got)
	}
}

func cmdFileMode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: filemode MODE FILE…")
	}
	want, err := strconv.ParseUint(args[0], 8, 32)
	ts.Check(err)
	for _, name := range args[1:] {
		info, err := os.Stat(ts.MkAbs(name))
		ts.Check(err)
		if got := info.Mode().Perm(); got != fs.FileMode(want) {
			ts.Fatalf("%s has mode %o", name, got)
		}
	}
}

var secret = regexp.MustCompile(apiKey.String() + `|bcs_\w{20,}|eyJ[\w-]+\.[\w-]+\.[\w-]+`)

func cmdSecretFree(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) == 0 {
		ts.Fatalf("usage: secretfree FILE…")
	}
	for _, name := range args {
		if found := secret.FindString(ts.ReadFile(name)); (found != "") != neg {
			ts.Fatalf("%s holds %q", name, found)
		}
	}
}
