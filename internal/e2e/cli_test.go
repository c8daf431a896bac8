package e2e_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"bursar/api"
	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
	"bursar/internal/setup"
	"bursar/internal/wait"
)

var apiKey = regexp.MustCompile(`bk_[0-9A-Za-z]{36}`)

func TestFirstStartExplainsOnceHowToUseTheServer(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		p := start(t, store)
		said := p.welcome(t)
		line := regexp.MustCompile(`(?m)^\s*(curl .*)$`).FindStringSubmatch(said)
		if line == nil {
			t.Fatalf("there is no line to paste:\n%s", said)
		}
		if !apiKey.MatchString(said) || !strings.Contains(said, p.URL+"/v1") {
			t.Errorf("the API key or the base URL is missing:\n%s", said)
		}
		answer := paste(t, p, line[1])
		if token, _ := answer["token"].(string); strings.Count(token, ".") != 2 {
			t.Errorf("the pasted line gets %v", answer)
		}
		// A newcomer's tour cannot touch real money.
		if got := scopeOf(t, p, apiKey.FindString(said)); got.Mode != api.ModeSandbox || !got.Administer {
			t.Errorf("the first key has the scope %+v", got)
		}
		p.terminate(t)

		again := start(t, store)
		again.terminate(t)
		if said := again.Out.String(); said != "" {
			t.Errorf("the second start says:\n%s", said)
		}
	})
}

// paste runs a line as a person would, or does what it says where there is no
// curl, and returns the data of the answer.
func paste(t *testing.T, p *process, line string) servertest.Body {
	t.Helper()
	if _, err := exec.LookPath("curl"); err != nil {
		return servertest.Remote(t, p.URL, setup.Result{}).Exchange(t, "Bearer "+apiKey.FindString(line)).OK().Object()
	}
	out, err := exec.Command("sh", "-c", line).CombinedOutput()
	var answer struct{ Data servertest.Body }
	if err != nil || json.Unmarshal(out, &answer) != nil {
		t.Fatalf("%s: %v\n%s", line, err, out)
	}
	return answer.Data
}

func TestInitMakesAStoreReady(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		made := initialise(t, store)
		p := start(t, store)
		// An embedded store gets its audit key at the first start, which tells of it and of nothing else.
		if said := p.Out.String(); said != "" && (store.Engine != "sqlite" || !strings.HasPrefix(said, "The audit log is signed with a new key") || strings.Count(said, "\n") != 6) {
			t.Errorf("a server on an initialised store says:\n%s", said)
		}
		admin := servertest.Remote(t, p.URL, made).Admin(t)
		if me := admin.Get("/v1/auth/me").OK(); me.Text("id") != made.UserID || me.Text("email") != "ada@example.com" || me.Text("name") != "Ada Lovelace" {
			t.Errorf("the admin is %s", me.Body)
		}
		if got := admin.Get("/v1/workspaces/" + made.WorkspaceID).OK().Text("name"); got != "Treasury" {
			t.Errorf("the workspace is called %s", got)
		}
		if got := admin.Get("/v1/organizations/" + made.OrganizationID + "/settings").OK().Text("name"); got != "Acme" {
			t.Errorf("the organization is called %s", got)
		}
		t.Run("and refuses one that is", func(t *testing.T) {
			got := command(t, nil, append(append([]string{"init", "--public-url", "https://elsewhere.example"}, first...), at(store)...)...)
			if got.Code != 1 || !strings.Contains(got.Err, "already initialised") || got.Out != "" {
				t.Errorf("exit code %d: %s%s", got.Code, got.Err, got.Out)
			}
			link := succeed(t, append([]string{"admin", "user", "link", "--email", "ada@example.com"}, at(store)...)...)
			if !strings.Contains(link, "http://127.0.0.1:") || strings.Contains(link, "elsewhere.example") {
				t.Errorf("a refused init changed where links lead:\n%s", link)
			}
		})
	})
}

// scopeOf is the scope of an API key.
func scopeOf(t *testing.T, p *process, key string) api.Scope {
	t.Helper()
	n := servertest.Remote(t, p.URL, setup.Result{})
	me := servertest.Decoded[api.Me](n.Holder(t, n.Exchange(t, "Bearer "+key).OK().Text("token")).Get("/v1/auth/me"))
	if me.Scope == nil { // an unlimited key that administers
		return api.Scope{Mode: "both", Administer: true}
	}
	return *me.Scope
}

func TestAKeyMadeAtTheMachineAdministersAndIsForBothModesUnlessItIsLimited(t *testing.T) {
	t.Parallel()
	store, limited := dbtest.SQLite(t), dbtest.SQLite(t)
	made := initialise(t, store)
	create := func(more ...string) string {
		args := append([]string{"admin", "api-key", "create", "--user", "ada@example.com", "--name", "key"}, more...)
		return apiKey.FindString(succeed(t, append(args, at(store)...)...))
	}
	keys := map[string]api.Scope{
		made.APIKey:                 {Mode: "both", Administer: true},
		create():                    {Mode: "both", Administer: true},
		create("--mode", "live"):    {Mode: "live", Administer: true},
		create("--mode", "sandbox"): {Mode: "sandbox", Administer: true},
		create("--no-administer"):   {Mode: "both"},
	}
	p := start(t, store)
	for key, want := range keys {
		if got := scopeOf(t, p, key); !reflect.DeepEqual(got, want) {
			t.Errorf("the scope is %+v, want %+v", got, want)
		}
	}
	key := apiKey.FindString(succeed(t, append(append([]string{"init", "--mode", "sandbox"}, first...), at(limited)...)...))
	if got, want := scopeOf(t, start(t, limited), key), (api.Scope{Mode: "sandbox", Administer: true}); !reflect.DeepEqual(got, want) {
		t.Errorf("of init --mode sandbox, the scope is %+v, want %+v", got, want)
	}
}

func TestInitPrintsTextOrJSON(t *testing.T) {
	t.Parallel()
	store := dbtest.SQLite(t)
	text := succeed(t, append(append([]string{"init"}, first...), at(store)...)...)
	for _, form := range []string{`org_\w{26}`, `ws_\w{26}`, `usr_\w{26}`, apiKey.String()} {
		if !regexp.MustCompile(form).MatchString(text) {
			t.Errorf("%s is missing in:\n%s", form, text)
		}
	}
	var made map[string]string
	out := succeed(t, append(append([]string{"init", "--json"}, first...), at(dbtest.SQLite(t))...)...)
	if err := json.Unmarshal([]byte(out), &made); err != nil {
		t.Fatalf("not JSON: %s", out)
	}
	if got := slices.Sorted(maps.Keys(made)); !slices.Equal(got, []string{"api_key", "link", "organization_id", "user_id", "workspace_id"}) {
		t.Errorf("the keys are %v", got)
	}
}

func TestMissingFlagsAreNamedAllAtOnce(t *testing.T) {
	t.Parallel()
	for line, flags := range map[string][]string{
		"init":                                {"--email", "--name", "--organization", "--workspace"},
		"init --email a@example.com --name A": {"--organization", "--workspace"},
		"admin user create":                   {"--email", "--name"},
		"admin user disable":                  {"--email"},
		"admin user enable":                   {"--email"},
		"admin api-key create":                {"--user", "--name"},
		"admin api-key revoke":                {"--id"},
		"admin client create":                 {"--workspace", "--name"},
		"admin client revoke":                 {"--id"},
	} {
		t.Run(line, func(t *testing.T) {
			got := command(t, nil, strings.Fields(line)...)
			if got.Code != 2 {
				t.Errorf("exit code %d: %s", got.Code, got.Err)
			}
			for _, flag := range flags {
				if !strings.Contains(got.Err, flag+" is required") {
					t.Errorf("%s is not named: %s", flag, got.Err)
				}
			}
		})
	}
}

func TestBadUsageExitsWith2(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"frobnicate", "admin frobnicate", "admin user frobnicate", "serve now", "serve --frobnicate",
		"serve --rate-limit fast", "serve --rate-limit 0/s", "serve --public-url pay.example.com", "serve --log-level loud",
		"serve --trusted-proxies nonsense", "serve --key-session-ttl soon", "serve --key-session-ttl 1s", "serve --drain-timeout -1s",
		"serve --listen nonsense", "serve --pprof 0.0.0.0:6060", "serve --pprof :6060", "serve --pprof pay.example.com:6060", "serve --listen 127.0.0.1:99999", "serve --database-url nonsense",
		"admin api-key create --user a@example.com --name n --expires-in soon",
	} {
		t.Run(line, func(t *testing.T) {
			got := command(t, nil, strings.Fields(line)...)
			if got.Code != 2 || !strings.HasPrefix(got.Err, "bursar: ") || !strings.Contains(got.Err, "--help") {
				t.Errorf("exit code %d: %s", got.Code, got.Err)
			}
		})
	}
}

func TestBadVariablesExitWith2(t *testing.T) {
	t.Parallel()
	for _, variable := range []string{
		"BURSAR_RATE_LIMIT=fast", "BURSAR_PUBLIC_URL=pay.example.com", "BURSAR_LISTEN=nonsense", "BURSAR_KEY_SESSION_TTL=soon",
		"BURSAR_TRUSTED_PROXIES=nonsense", "BURSAR_LOG_LEVEL=loud",
	} {
		t.Run(variable, func(t *testing.T) {
			if got := command(t, []string{variable}, "serve"); got.Code != 2 {
				t.Errorf("exit code %d: %s", got.Code, got.Err)
			}
		})
	}
}

func TestVariablesSetTheServerUp(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	env := []string{
		"BURSAR_DATA=" + dir, "BURSAR_LISTEN=127.0.0.1:0",
		"BURSAR_PUBLIC_URL=https://pay.example.com/", "BURSAR_RATE_LIMIT=5/s", "BURSAR_KEY_SESSION_TTL=2m",
	}
	p := spawn(t, env)
	said := p.welcome(t)
	if !strings.Contains(said, "https://pay.example.com/v1") {
		t.Errorf("the public URL is not used:\n%s", said)
	}
	node := servertest.Remote(t, p.URL, setup.Result{APIKey: apiKey.FindString(said)})
	admin := node.Admin(t)
	answer := admin.Get("/v1/auth/me").OK()
	if got := answer.Header.Get("RateLimit-Policy"); got != `"default";q=10;w=2` {
		t.Errorf("the rate limit is %s", got)
	}
	limited := func() bool { return admin.Get("/v1/auth/me").Status == http.StatusTooManyRequests }
	wait.Until(t, "the rate limit applies", limited)
	p.terminate(t)

	t.Run("and flags beat them", func(t *testing.T) {
		p := spawn(t, env, "--rate-limit", "off", "--public-url", "https://flag.example.com")
		if said := p.Out.String(); said != "" {
			t.Errorf("BURSAR_DATA is not the store from before:\n%s", said)
		}
		node.URL = p.URL
		answer := node.Stranger(t).Post("/v1/auth/device-code", nil).OK()
		if got := answer.Text("verification_url"); !strings.HasPrefix(got, "https://flag.example.com/") {
			t.Errorf("the verification URL is %s", got)
		}
		if answer.Header.Get("RateLimit-Policy") != "" {
			t.Error("rate limits are not off")
		}
	})
}

func TestDatabaseURLVariableIsTheStore(t *testing.T) {
	t.Parallel()
	store := dbtest.Postgres(t)
	env := []string{"BURSAR_DATABASE_URL=" + store.Config.URL, "BURSAR_RATE_LIMIT=off"}
	if got := command(t, env, append([]string{"init"}, first...)...); got.Code != 0 {
		t.Fatalf("exit code %d: %s", got.Code, got.Err)
	}
	if said := spawn(t, env, "--listen", "127.0.0.1:0").Out.String(); said != "" {
		t.Errorf("the server is on another store:\n%s", said)
	}
	if got := command(t, env, "admin", "user", "list"); got.Code != 0 || !strings.Contains(got.Out, "ada@example.com") {
		t.Errorf("bursar admin is on another store: exit code %d\n%s%s", got.Code, got.Out, got.Err)
	}
}

// setupOf reads what the first start says.
func setupOf(t *testing.T, said string) setup.Result {
	t.Helper()
	return setup.Result{
		UserID: pick(t, said, "usr"), OrganizationID: pick(t, said, "org"), WorkspaceID: pick(t, said, "ws"), APIKey: apiKey.FindString(said),
	}
}
