package console_test

// Stories are sessions at the pages, written down in testdata/*.txtar as scripts of
// github.com/rogpeppe/go-internal/testscript, the engine that runs the scripts of internal/e2e. Each section is a story, whose
// name is a sentence; a section whose name has an extension is a file of the story above it. Each story has a server of its own
// at localhost on SQLite, with the admin "admin" (admin@example.com), the organization Acme and the workspace Treasury. A story
// that begins with the line "# on both engines" also runs on PostgreSQL.
//
//	go test ./internal/console -run 'Stories/payout/a_payee_is_paid'   one story
//
// Variables: URL, WS, ORG, ADMIN_ID, LINK (by which the admin first signs in) and KEY (the admin's API key). Commands beside
// those of testscript are in storyCommands and, for what happens in a browser, in pageCommands of internal/browsertest.

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/rogpeppe/go-internal/txtar"

	"bursar/internal/browsertest"
	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
)

func TestStories(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("testdata", "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no stories: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			all, both := stories(t, file)
			runStories(t, dbtest.SQLite, all)
			if len(both) > 0 {
				t.Run("postgres", func(t *testing.T) {
					t.Parallel()
					runStories(t, dbtest.Postgres, both)
				})
			}
		})
	}
}

// stories writes each story of a file into a file of its own, at the line where it stands, so that a failure names this line.
func stories(t *testing.T, file string) (all, both []string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name string, flags int, parts ...string) {
		out, err := os.OpenFile(name, flags|os.O_WRONLY, 0o600)
		if err == nil {
			_, err = out.WriteString(strings.Join(parts, ""))
		}
		if err != nil || out.Close() != nil {
			t.Fatalf("write %s: %v", name, err)
		}
	}
	for _, section := range txtar.Parse(text).Files {
		head, data := "-- "+section.Name+" --\n", string(section.Data)
		if filepath.Ext(section.Name) != "" {
			write(all[len(all)-1], os.O_APPEND, head, data)
			continue
		}
		before, _, _ := bytes.Cut(text, []byte(head))
		story := filepath.Join(dir, strings.ReplaceAll(section.Name, " ", "_")+".txtar")
		write(story, os.O_CREATE|os.O_EXCL, strings.Repeat("\n", bytes.Count(before, []byte("\n"))+1), data)
		all = append(all, story)
		if strings.HasPrefix(data, "# on both engines\n") {
			both = append(both, story)
		}
	}
	return all, both
}

func runStories(t *testing.T, store func(testing.TB) dbtest.Store, files []string) {
	commands := browsertest.ScriptCommands(func(ts *testscript.TestScript, act func(*browsertest.Page)) {
		s := stageOf(ts)
		s.t.Run(ts, func() { act(s.who.open(s)) })
	})
	for usage, command := range storyCommands {
		name, checked := browsertest.Checked(usage, func(ts *testscript.TestScript, neg bool, args []string) {
			s := stageOf(ts)
			s.t.Run(ts, func() { command(s, ts, neg, args) })
		})
		commands[name] = checked
	}
	testscript.RunT(servertest.ScriptT{T: t}, testscript.Params{
		Files: files, RequireUniqueNames: true, Cmds: commands,
		Setup: func(env *testscript.Env) error {
			s := &stage{t: &servertest.ScriptTB{TB: env.T().(servertest.ScriptT).T}, commands: commands,
				people: map[string]*person{}, clients: map[string]*servertest.Client{}}
			s.store = store(s.t)
			s.node = startOn(s.t, s.store)
			s.act("admin")
			env.Values[stageKey{}] = s
			first := s.node.First
			for _, pair := range [][2]string{{"URL", s.node.PublicURL}, {"WS", first.WorkspaceID}, {"ORG", first.OrganizationID},
				{"ADMIN_ID", first.UserID}, {"LINK", first.Link}, {"KEY", first.APIKey}} {
				env.Setenv(pair[0], pair[1])
			}
			return nil
		},
	})
}

// stage is what a story plays on.
type stage struct {
	t        *servertest.ScriptTB
	store    dbtest.Store
	node     *servertest.Node
	commands map[string]browsertest.ScriptCommand
	people   map[string]*person
	who      *person                       // who acts
	clients  map[string]*servertest.Client // who calls the API
	last     answer                        // to the last form or page without a browser
}

type stageKey struct{}

func stageOf(ts *testscript.TestScript) *stage { return ts.Value(stageKey{}).(*stage) }

// person is a person with a browser, which is opened when they first use it.
type person struct {
	email   string // "" for a stranger
	options []browsertest.Option
	visitor *visitor
	page    *browsertest.Page
}

// act makes a person act from now on. A name may have a part after a slash, for another browser of the same person.
func (s *stage) act(name string, options ...browsertest.Option) {
	p := s.people[name]
	if p == nil {
		p = &person{}
		if !strings.HasPrefix(name, "stranger") {
			p.email = emailOf(name)
		}
		s.people[name] = p
	}
	if len(options) > 0 {
		if p.page != nil {
			s.t.Fatalf("the browser of %s is open", name)
		}
		p.options = options
	}
	s.who = p
}

// emailOf returns the email address of a person of a story.
func emailOf(name string) string {
	name, _, _ = strings.Cut(name, "/")
	if strings.Contains(name, "@") {
		return name
	}
	return name + "@example.com"
}

// browse returns the person's session without a browser.
func (p *person) browse(s *stage) *visitor {
	switch {
	case p.visitor != nil:
	case p.email == "":
		p.visitor = stranger(s.t, s.node)
	default:
		p.visitor = browse(s.t, s.node, p.email)
	}
	return p.visitor
}

// open returns the person's page, in which they are signed in.
func (p *person) open(s *stage) *browsertest.Page {
	if p.page == nil {
		p.page = browsertest.Open(s.t, p.options...)
		for _, cookie := range p.browse(s).cookies() {
			p.page.SetCookie(s.node.PublicURL, cookie)
		}
	}
	return p.page
}

// path returns an address of a story as a path of the server. One that does not begin with / is below that of the workspace, and
// "." is its home page.
func (s *stage) path(address string) string {
	address = strings.TrimPrefix(address, s.node.PublicURL)
	switch {
	case address == ".":
		return room(s.node, "")
	case strings.HasPrefix(address, "/"):
		return address
	}
	return room(s.node, "/"+address)
}

// joins keeps the client of a person whom the story makes.
func (s *stage) joins(ts *testscript.TestScript, name string, client *servertest.Client) {
	s.clients[name] = client
	ts.Setenv(variable(name)+"_ID", client.UserID)
}

// variable returns a name as that of a variable.
func variable(name string) string {
	return strings.ToUpper(strings.NewReplacer(".", "_", "-", "_").Replace(name))
}

// caller returns who calls the API: the admin, a stranger, the holder of a token, or a person whom the story made.
func (s *stage) caller(who string) *servertest.Client {
	switch c := s.clients[who]; {
	case c != nil:
		return c
	case strings.Count(who, ".") == 2:
		return s.node.Holder(s.t, who)
	case who == "stranger":
		return s.node.Stranger(s.t)
	case who != "" && who != "admin":
		s.t.Fatalf("the story makes no one called %s", who)
	}
	return s.node.Admin(s.t)
}
