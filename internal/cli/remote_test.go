package cli

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"bursar/internal/cli/profile"
	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
)

// Anyone who sets a key for one server must not hand it to the one that they signed in to last.
func TestAKeyOfTheEnvironmentGoesOnlyToTheServerNamedBesideIt(t *testing.T) {
	n := servertest.Start(t, dbtest.SQLite(t))
	var asked atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer other.Close()
	folder := t.TempDir()
	p, err := profile.Load(folder)
	if err != nil {
		t.Fatal(err)
	}
	p.Current, p.Contexts["other"] = "other", &profile.Context{URL: other.URL}
	if err := p.Save(); err != nil {
		t.Fatal(err)
	}
	for variable, credential := range map[string]string{"BURSAR_API_KEY": n.First.APIKey, "BURSAR_TOKEN": n.Admin(t).Token} {
		for _, c := range []struct {
			url  string
			args []string
			code int
			says string
		}{
			{"", nil, exitNoUser, variable + " is set without BURSAR_URL"},
			{"", []string{"--context", "other"}, exitNoUser, "you are not signed in to " + other.URL},
			{n.URL, []string{"--context", "other"}, exitNoUser, "you are not signed in to " + other.URL},
			{n.URL, nil, exitOK, ""},
		} {
			terminal, _, stderr := pipes(variable, credential, "BURSAR_URL", c.url, "BURSAR_CONFIG_DIR", folder, "BURSAR_KEYRING", "off")
			if code := Run(t.Context(), append([]string{"whoami"}, c.args...), terminal); code != c.code || !strings.Contains(stderr.String(), c.says) {
				t.Errorf("%s with BURSAR_URL=%s and %v: exit code %d, %s", variable, c.url, c.args, code, stderr)
			}
		}
	}
	if asked.Load() > 0 {
		t.Errorf("the other server was asked %d times", asked.Load())
	}
}
