package control_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"bursar/internal/payout/control"
	"bursar/internal/server/servertest"
	"bursar/internal/wait"
)

// facts are what a screening is told.
var facts = map[string]any{"payout_id": "po_1", "amount_cents": 100}

func TestAScreeningIsAsked(t *testing.T) {
	var asked string
	answer := func(status int, body string) control.Screening {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			text, _ := io.ReadAll(r.Body)
			asked = r.Method + " " + r.Header.Get("Content-Type") + " " + string(text)
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}))
		t.Cleanup(server.Close)
		return control.Screening{URL: server.URL}
	}
	program := func(script string) control.Screening {
		file := filepath.Join(t.TempDir(), "screen")
		if err := os.WriteFile(file, []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		return control.Screening{Command: file + " one"}
	}
	t.Setenv("BURSAR_PLANTED", "a secret")
	for name, c := range map[string]struct {
		screening control.Screening
		want      control.Verdict
		reason    string
	}{
		"none":                          {control.Screening{}, control.Allow, ""},
		"a service that allows":         {answer(200, `{"decision":"allow"}`), control.Allow, ""},
		"a service that holds":          {answer(200, `{"decision":"hold","reason":"looks odd"}`), control.Hold, "looks odd"},
		"a service that denies":         {answer(200, `{"decision":"deny","reason":"on a list","score":1}`), control.Deny, "on a list"},
		"a service with another answer": {answer(200, `{"decision":"maybe"}`), control.Hold, "no decision"},
		"a service without JSON":        {answer(200, `allow`), control.Hold, "no decision"},
		"a service with an endless answer": {answer(200, `{"decision":"allow","reason":"`+strings.Repeat("x", 1<<20)+`"}`),
			control.Hold, "no decision"},
		"a service that fails":           {answer(500, `{"decision":"allow"}`), control.Hold, "status 500"},
		"a service that sends elsewhere": {answer(307, `{"decision":"allow"}`), control.Hold, "status 307"},
		"a service that is not there":    {control.Screening{URL: "http://user:planted@127.0.0.1:1/"}, control.Hold, "cannot be reached"},
		"a command that allows":          {program(`cat > /dev/null; echo '{"decision":"allow"}'`), control.Allow, ""},
		"a command that tells what it got": {program(`read line; echo "{\"decision\":\"deny\",\"reason\":\"$1 $(echo "$line" | tr -d '"') $BURSAR_PLANTED\"}"`),
			control.Deny, "one {amount_cents:100,payout_id:po_1}"},
		"a command that fails":              {program(`echo '{"decision":"allow"}'; exit 3`), control.Hold, "exit status 3"},
		"a command that is not there":       {control.Screening{Command: "/no/such/program"}, control.Hold, "failed"},
		"a command that prints without end": {program(`yes x | head -c 1000000`), control.Hold, "no decision"},
	} {
		t.Run(name, func(t *testing.T) {
			got, reason, err := c.screening.Screen(t.Context(), facts)
			if err != nil || got != c.want || !strings.Contains(reason, c.reason) || c.reason == "" && reason != "" {
				t.Errorf("%s %q, %v", got, reason, err)
			}
			if strings.Contains(reason, "planted") || strings.Contains(reason, "secret") || len(reason) > 2000 {
				t.Errorf("the reason is %q", reason)
			}
		})
	}
	if want := `POST application/json {"amount_cents":100,"payout_id":"po_1"}`; asked != want {
		t.Errorf("asked %s, want %s", asked, want)
	}
}

// Anyone who asks no longer is told so, and what is late holds the payout.
func TestAScreeningThatIsLate(t *testing.T) {
	t.Parallel()
	asked, done := make(chan struct{}), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // so that the server notices that the caller has left
		asked <- struct{}{}
		select {
		case <-r.Context().Done():
		case <-done:
		}
	}))
	defer server.Close()
	defer close(done)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-asked; cancel() }()
	if _, _, err := (control.Screening{URL: server.URL}).Screen(ctx, facts); err == nil {
		t.Error("a caller who has left gets a verdict")
	}
	go func() { <-asked }()
	for name, late := range map[string]control.Screening{"a service": {URL: server.URL}, "a command": {Command: "sleep 600"}} {
		if got, reason, err := late.Screen(t.Context(), facts); err != nil || got != control.Hold || reason != "the screening did not answer in 5s" {
			t.Errorf("%s: %s %q, %v", name, got, reason, err)
		}
	}
}

// What a late command has started ends with it.
func TestACommandThatIsLateEndsWithAllThatItStarted(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	file := filepath.Join(folder, "screen")
	if err := os.WriteFile(file, []byte("#!/bin/sh\nsleep 600 &\necho $! > "+folder+"/child\nwait\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if got, reason, err := (control.Screening{Command: file}).Screen(t.Context(), facts); err != nil || got != control.Hold {
		t.Errorf("%s %q, %v", got, reason, err)
	}
	text, err := os.ReadFile(filepath.Join(folder, "child"))
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(wait.Limit()); ; {
		stat, err := os.ReadFile("/proc/" + strings.TrimSpace(string(text)) + "/stat")
		if err != nil || strings.Contains(string(stat), ") Z ") { // gone, or dead and not yet collected
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("it still runs: %s", stat)
		}
		runtime.Gosched()
	}
}

// However many payouts are screened at once, a bounded number of commands runs.
func TestFewCommandsOfAScreeningRunAtOnce(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(t.TempDir(), "screen")
	script := "#!/bin/sh\nmkdir " + folder + "/$$\nn=$(ls " + folder + " | wc -l)\nrmdir " + folder + "/$$\necho \"{\\\"decision\\\": \\\"deny\\\", \\\"reason\\\": \\\"$n\\\"}\"\n"
	if err := os.WriteFile(file, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	screener := control.NewScreener(control.Screening{Command: file})
	for _, reason := range servertest.SideBySide(4*control.MaxCommands, func(int) string {
		verdict, reason, err := screener.Screen(t.Context(), facts)
		if err != nil || verdict == control.Allow {
			return fmt.Sprint(verdict, reason, err)
		}
		return reason
	}) {
		if n, err := strconv.Atoi(reason); err == nil && n > control.MaxCommands {
			t.Errorf("%d commands ran at once", n)
		} else if err != nil && !strings.Contains(reason, "too busy") && !strings.Contains(reason, "did not answer") {
			t.Errorf("the screening says %s", reason)
		}
	}
}
