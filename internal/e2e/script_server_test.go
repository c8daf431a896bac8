package e2e_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
	"bursar/internal/setup"
)

// scriptServer is a server that a script works with.
type scriptServer struct {
	*process
	name     string
	store    dbtest.Store
	made     setup.Result
	node     *servertest.Node
	auditKey string // a file
}

// startServer starts a server on a fresh store and tells the script about it.
func (s *stage) startServer(name string, setenv func(name, value string)) {
	at := &scriptServer{name: name, store: s.store(s.t)}
	at.made = initialise(s.t, at.store)
	at.auditKey = filepath.Join(s.t.TempDir(), "audit.key")
	succeed(s.t, append([]string{"admin", "audit", "init", "--audit-key", at.auditKey}, storeFlag(at.store))...)
	at.process = start(s.t, at.store, "--audit-key", at.auditKey)
	at.node = servertest.Remote(s.t, at.URL, at.made)
	s.servers[name] = at
	prefix := ""
	if name != "" {
		prefix = name + "_"
	}
	s.tokens[name] = at.node.Admin(s.t).Token
	for _, pair := range [][2]string{
		{"URL", at.URL}, {"HOST", at.host()}, {"KEY", at.made.APIKey}, {"TOKEN", at.node.Admin(s.t).Token},
		{"USER_ID", at.made.UserID}, {"WS", at.made.WorkspaceID}, {"ORG", at.made.OrganizationID},
		{"STORE", storeFlag(at.store)}, {"PLACE", at.store.Config.Dir + at.store.Config.URL}, {"AUDIT_KEY", at.auditKey},
	} {
		setenv(prefix+pair[0], pair[1])
	}
}

// storeFlag is the flag that names a store to commands that work on it directly.
func storeFlag(store dbtest.Store) string { return strings.Join(at(store), "=") }

func (s *scriptServer) host() string { return strings.TrimPrefix(s.URL, "http://") }

// signIn signs the admin in, as a person would.
func (s *stage) signIn(vars []string) error {
	at := s.servers[""]
	login := exec.Command(program, "login", at.URL, "--with-token")
	login.Env, login.Stdin = vars, strings.NewReader(at.made.APIKey)
	if out, err := login.CombinedOutput(); err != nil {
		return fmt.Errorf("bursar login: %w\n%s", err, out)
	}
	return nil
}

func cmdServer(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: server NAME")
	}
	stageOf(ts).startServer(args[0], ts.Setenv)
}

func cmdStopServer(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 1 {
		ts.Fatalf("usage: stopserver [NAME]")
	}
	at := stageOf(ts).servers[strings.Join(args, "")]
	if at == nil {
		ts.Fatalf("there is no server %s", args[0])
	}
	at.terminate(stageOf(ts).t)
}

// cmdRestart ends the script's own server, and starts it again at the same address.
func cmdRestart(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("usage: restart [FLAG…]")
	}
	s := stageOf(ts)
	own := s.servers[""]
	own.terminate(s.t)
	own.process = start(s.t, own.store, append([]string{"--audit-key", own.auditKey, "--listen", own.host()}, args...)...)
}

// cmdAs makes a user with a role in the first workspace.
func cmdAs(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 || len(args) > 3 {
		ts.Fatalf("usage: as EMAIL ROLE [NAME]")
	}
	email, role := args[0], args[1]
	who, _, _ := strings.Cut(email, "@")
	name := strings.ToUpper(who[:1]) + who[1:]
	if len(args) == 3 {
		name = args[2]
	}
	s := stageOf(ts)
	own := s.servers[""]
	admin := func(line ...string) string {
		return succeed(s.t, append(append([]string{"admin"}, line...), at(own.store)...)...)
	}
	id := pick(s.t, admin("user", "create", "--email", email, "--name", name), "usr")
	key := apiKey.FindString(admin("api-key", "create", "--user", email, "--name", "script"))
	s.tokens[who] = own.node.Login(s.t, key).Token
	if role != "none" {
		added := s.caller(ts, "").Post("/v1/workspaces/"+own.made.WorkspaceID+"/members", servertest.Body{"email": email, "role": role}).OK()
		s.caller(ts, who).Join(added.Text("user_id"))
	}
	ts.Setenv(strings.ToUpper(who)+"_ID", id)
	ts.Setenv(strings.ToUpper(who)+"_KEY", key)
	ts.Setenv(strings.ToUpper(who)+"_TOKEN", own.node.Login(s.t, key).Token)
}

// caller calls the API as the admin ("", or the name of another server), as
// someone whom the script made, or with a token.
func (s *stage) caller(ts *testscript.TestScript, who string) *servertest.Client {
	token, known := s.tokens[who]
	if strings.Count(who, ".") == 2 {
		token, known = who, true
	}
	if !known {
		ts.Fatalf("nobody is called %s: make them with 'as'", who)
	}
	node := s.servers[""].node
	if other := s.servers[who]; other != nil {
		node = other.node
	}
	return node.Holder(s.t, token)
}

func cmdAPI(ts *testscript.TestScript, neg bool, args []string) {
	servertest.ScriptAPI(ts, neg, args, func(who string) *servertest.Client { return stageOf(ts).caller(ts, who) })
}
