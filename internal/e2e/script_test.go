package e2e_test

// Scripts are sessions at the command line, written down in
// testdata/script/*.txtar (github.com/rogpeppe/go-internal/testscript): commands
// first, then files. Each runs against the real program and a server of its own
// on a fresh store, with the admin Ada Lovelace <ada@example.com>, the organization
// Acme and the workspace Treasury. She is signed in, unless the first line of the
// script is "# signed out". All run on SQLite. Scripts that use STORE or PLACE also run
// on PostgreSQL. The others see only the API, which each service tests on both engines.
//
//	go test ./internal/e2e -run 'Script/sqlite/^login$'   one script
//	go test ./internal/e2e -run Script -update            write the golden files again
//
// Variables: URL and HOST of the server, KEY (the admin's API key), TOKEN (a
// session of hers), USER_ID, WS, ORG, STORE (the flag that names its store to
// 'bursar admin'), PLACE (the same store for 'bursar move'), AUDIT_KEY (the file of the key that signs its audit log). The program's settings are in
// $BURSAR_CONFIG_DIR, its home is $HOME; neither is shared between scripts.
//
// Commands beside those of testscript (exec, stdin, stdout, stderr, cmp, grep,
// env, cp, exists, wait, kill …). [!] marks those that may be demanded to fail:
//
//	[!] bursar ARGS…              run the program. In the background:
//	                              'exec bursar ARGS… &name&', then 'kill -INT name', 'wait name'
//	exitcode N                    what the last 'bursar' or 'tty' ended with
//	[!] tty [-cols=N] FILE ARGS…  run 'bursar ARGS…' on a terminal, type the lines of FILE
//	                              ("-" types nothing); stdout is the screen
//	stdoutmasked FILE             compare stdout with a file of the archive, where ids, secrets,
//	stderrmasked FILE             addresses and times are masked: see mask. -update writes the
//	cmpmasked ACTUAL FILE         file, and adds it where it is missing
//	[!] api [-as=WHO] METHOD PATH [BODY]
//	                              call the API as the admin; or as WHO: the grace of 'as', the NAME
//	                              of 'server', a token. BODY is JSON or a file; variables in it are
//	                              replaced. stdout is the data, or the whole answer where it fails
//	as EMAIL ROLE [NAME]          make a user with a role ("none" for no membership) in $WS. For
//	                              grace@example.com it sets GRACE_KEY, GRACE_TOKEN
//	                              and GRACE_ID; 'env BURSAR_API_KEY=$GRACE_KEY' acts as her
//	capture NAME JQ               set a variable to what jq makes of the JSON in stdout
//	until REGEXP ARGS…            run 'bursar ARGS…' again and again until stdout matches
//	server NAME                   start another server; sets NAME_URL, NAME_HOST, NAME_KEY, …
//	restart [FLAG…]               end the script's own server, and start it again at its address with more flags
//	stopserver [NAME]             end a server, the script's own where none is named
//	filemode MODE FILE…           demand permissions, in octal
//	[!] secretfree FILE…          demand that files (or stdout, stderr) hold no key and no token

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
)

var update = flag.Bool("update", false, "write the golden files of the scripts anew")

func TestScripts(t *testing.T) {
	t.Parallel()
	all, err := filepath.Glob(filepath.Join("testdata", "script", "*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		runScripts(t, dbtest.SQLite, all)
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		runScripts(t, dbtest.Postgres, scriptsUsingStore(t, all))
	})
}

var usesStore = regexp.MustCompile(`\$\{?(\w+_)?(STORE|PLACE)\b`)

// scriptsUsingStore returns the scripts with commands that open a store without its server.
func scriptsUsingStore(t *testing.T, scripts []string) (found []string) {
	t.Helper()
	for _, file := range scripts {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if usesStore.Match(text) {
			found = append(found, file)
		}
	}
	if len(found) == 0 {
		t.Fatal("no script uses the store")
	}
	return found
}

func runScripts(t *testing.T, store func(testing.TB) dbtest.Store, files []string) {
	store(t) // skips all at once where there is no engine
	deadline, _ := t.Deadline()
	testscript.RunT(servertest.ScriptT{T: t}, testscript.Params{
		Files:              files,
		Deadline:           deadline,
		RequireUniqueNames: true,
		Cmds:               scriptCommands,
		Setup: func(env *testscript.Env) error {
			return prepareScript(env.T().(servertest.ScriptT).T, env, store)
		},
	})
}

// stage is what a script plays on.
type stage struct {
	t       *testing.T
	store   func(testing.TB) dbtest.Store
	servers map[string]*scriptServer // by name; "" is the script's own
	tokens  map[string]string        // sessions for the api command, by who holds them
	code    int                      // what the last command ended with
	goldens map[string]string        // files of the archive to be written again
}

type stageKey struct{}

func stageOf(ts *testscript.TestScript) *stage { return ts.Value(stageKey{}).(*stage) }

func prepareScript(t *testing.T, env *testscript.Env, store func(testing.TB) dbtest.Store) error {
	s := &stage{t: t, store: store, servers: map[string]*scriptServer{}, tokens: map[string]string{}, goldens: map[string]string{}}
	env.Values[stageKey{}] = s
	file := filepath.Join("testdata", "script", filepath.Base(t.Name())+".txtar")
	env.Defer(func() { s.writeGoldens(file) })

	home := filepath.Join(env.WorkDir, "home")
	if err := os.MkdirAll(home, 0o700); err != nil {
		return err
	}
	for _, pair := range [][2]string{
		{"PATH", filepath.Dir(program) + string(filepath.ListSeparator) + env.Getenv("PATH")},
		{"HOME", home}, {"BURSAR_CONFIG_DIR", filepath.Join(home, "bursar")}, {"BURSAR_KEYRING", "off"}, {"BURSAR_VAULT_KEY", vaultKey},
		{"LANG", "C.UTF-8"}, {"TZ", "UTC"}, {"TERM", "xterm-256color"}, {"GORACE", "atexit_sleep_ms=0"}, {"GOTRACEBACK", "single"},
		{"GOGC", os.Getenv("GOGC")}, // a command collects no garbage while it starts: a fifth of its CPU time
	} {
		env.Setenv(pair[0], pair[1])
	}
	s.startServer("", env.Setenv)

	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if firstLine, _, _ := strings.Cut(string(text), "\n"); firstLine == "# signed out" {
		return nil
	}
	return s.signIn(env.Vars)
}
