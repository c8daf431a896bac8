package e2e_test

import (
	"net/http"
	"testing"

	"bursar/internal/db/dbtest"
)

// aside is the address that a server says it serves something else on.
func (p *process) aside(t *testing.T, what string) string {
	t.Helper()
	for _, line := range p.lines(t) {
		if line["msg"] == "serving "+what {
			return "http://" + line["address"].(string)
		}
	}
	t.Fatalf("the log does not say where the %s are", what)
	return ""
}

func askedAs(t *testing.T, url, host string) int {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Host = host
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	return answer.StatusCode
}

func TestProfilesAreServedOnAnAddressOfTheirOwn(t *testing.T) {
	t.Parallel()
	p := start(t, dbtest.SQLite(t), "--pprof", "127.0.0.1:0")
	address := p.aside(t, "profiles")
	if got := askedAs(t, address+"/debug/pprof/heap", ""); got != http.StatusOK {
		t.Errorf("a profile is answered with %d", got)
	}
	if got := askedAs(t, p.URL+"/debug/pprof/heap", ""); got != http.StatusNotFound {
		t.Errorf("the API answers for profiles with %d", got)
	}
}

func TestProfilesAreNotServedUnderAnotherName(t *testing.T) {
	t.Parallel()
	p := start(t, dbtest.SQLite(t), "--pprof", "127.0.0.1:0")
	if got := askedAs(t, p.aside(t, "profiles")+"/debug/pprof/heap", "rebound.example.com"); got != http.StatusForbidden {
		t.Errorf("a profile under a foreign name is answered with %d", got)
	}
}

func TestProfilesDoNotContainTheCommandLine(t *testing.T) {
	t.Parallel()
	p := start(t, dbtest.SQLite(t), "--pprof", "127.0.0.1:0")
	if got := askedAs(t, p.aside(t, "profiles")+"/debug/pprof/cmdline", ""); got != http.StatusNotFound {
		t.Errorf("the command line is answered with %d", got)
	}
}
