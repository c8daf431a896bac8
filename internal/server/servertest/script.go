package servertest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/itchyny/gojq"
	"github.com/rogpeppe/go-internal/testscript"
)

// ScriptT runs a script of testscript as a test.
type ScriptT struct{ *testing.T }

// Run runs a script as a subtest.
func (t ScriptT) Run(name string, run func(testscript.T)) {
	t.T.Run(name, func(t *testing.T) { run(ScriptT{t}) })
}

// Verbose reports whether go test is.
func (t ScriptT) Verbose() bool { return testing.Verbose() }

// ScriptTB reports failures of a script at its line, for the helpers of other tests.
type ScriptTB struct {
	testing.TB
	script *testscript.TestScript // while a command runs
	errors []string               // of that command
}

// Run runs a command of the script.
func (t *ScriptTB) Run(ts *testscript.TestScript, command func()) {
	outer := t.script
	t.script, t.errors = ts, nil
	defer func() { t.script = outer }()
	command()
	if len(t.errors) > 0 {
		ts.Fatalf("%s", strings.Join(t.errors, "\n"))
	}
}

// Errorf fails the script after the command.
func (t *ScriptTB) Errorf(format string, args ...any) {
	t.TB.Helper()
	if t.script == nil {
		t.TB.Errorf(format, args...)
		return
	}
	t.errors = append(t.errors, fmt.Sprintf(format, args...))
}

// Fatalf ends the script.
func (t *ScriptTB) Fatalf(format string, args ...any) {
	t.TB.Helper()
	if t.script == nil {
		t.TB.Fatalf(format, args...)
	}
	t.script.Fatalf(format, args...)
}

// Error is like Errorf.
func (t *ScriptTB) Error(args ...any) { t.TB.Helper(); t.Errorf("%s", fmt.Sprint(args...)) }

// Fatal is like Fatalf.
func (t *ScriptTB) Fatal(args ...any) { t.TB.Helper(); t.Fatalf("%s", fmt.Sprint(args...)) }

// ScriptAPI is a command that calls the API:
//
//	[!] api [-as=WHO] METHOD PATH [BODY]
//
// BODY is JSON or a file; variables in it are replaced. stdout is the data, or the whole answer where it fails.
func ScriptAPI(ts *testscript.TestScript, neg bool, args []string, caller func(who string) *Client) {
	who := ""
	if len(args) > 0 {
		if as, ok := strings.CutPrefix(args[0], "-as="); ok {
			who, args = as, args[1:]
		}
	}
	if len(args) < 2 || len(args) > 3 {
		ts.Fatalf("usage: api [-as=WHO] METHOD PATH [BODY]")
	}
	var body any
	if len(args) == 3 {
		text := args[2]
		if !strings.HasPrefix(text, "{") && !strings.HasPrefix(text, "[") {
			text = ts.ReadFile(text)
		}
		body = os.Expand(text, ts.Getenv)
	}
	answer := caller(who).Do(args[0], args[1], body)
	if failed := answer.Status != http.StatusOK && answer.Status != http.StatusCreated; failed != neg {
		ts.Fatalf("%s %s answers %d %s", args[0], args[1], answer.Status, answer.Body)
	}
	out := answer.Body
	if !neg {
		var envelope struct{ Data json.RawMessage }
		answer.Envelope(&envelope)
		out = envelope.Data
	}
	fmt.Fprintf(ts.Stdout(), "%s\n", out)
}

// ScriptCapture is a command that sets a variable to what jq makes of the JSON in stdout: capture NAME JQ.
func ScriptCapture(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: capture NAME JQ")
	}
	query, err := gojq.Parse(args[1])
	ts.Check(err)
	var value any
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &value))
	found, _ := query.Run(value).Next()
	switch part := found.(type) {
	case string:
		ts.Setenv(args[0], part)
	case nil, error:
		ts.Fatalf("%s finds %v", args[1], part)
	default:
		text, err := gojq.Marshal(part)
		ts.Check(err)
		ts.Setenv(args[0], string(text))
	}
}
