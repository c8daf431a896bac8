package e2e_test

import (
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
	"bursar/internal/wait"
)

// seat is a place where someone signs in: a home, a browser, maybe a terminal.
type seat struct {
	t      *testing.T
	home   string
	bin    string // first in PATH
	env    []string
	cmd    *exec.Cmd
	screen *os.File // nil without a terminal
	out    *servertest.LogBuffer
	shown  *servertest.LogBuffer
	exited chan struct{}
}

// newSeat is a seat with a browser that writes down what it is to open and then
// stays open, as some do, until the end of the test.
func newSeat(t *testing.T) *seat {
	t.Helper()
	home := t.TempDir()
	s := &seat{t: t, home: home, bin: filepath.Join(home, "bin")}
	s.env = environment([]string{
		"HOME=" + home, "XDG_CONFIG_HOME=", "BURSAR_CONFIG_DIR=" + filepath.Join(home, "bursar"), "BURSAR_KEYRING=off",
		"LANG=C.UTF-8", "TERM=xterm-256color", "PATH=" + s.bin + string(filepath.ListSeparator) + os.Getenv("PATH"),
	})
	s.write(filepath.Join("bin", "xdg-open"), `#!/bin/sh
echo "$1" >>`+s.opened()+`
for i in $(seq 300); do
	[ -e `+filepath.Join(home, "closed")+` ] && exit
	sleep 0.1
done
`, 0o755)
	t.Cleanup(func() { s.write("closed", "", 0o600) })
	return s
}

func (s *seat) write(name, text string, mode os.FileMode) {
	s.t.Helper()
	path := filepath.Join(s.home, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		s.t.Fatal(err)
	}
}

// opened is the file that names what the browser was to open.
func (s *seat) opened() string { return filepath.Join(s.home, "opened") }

// begin starts the program, on a terminal or on pipes.
func (s *seat) begin(onScreen bool, args ...string) {
	s.t.Helper()
	s.out, s.shown, s.exited = &servertest.LogBuffer{}, &servertest.LogBuffer{}, make(chan struct{})
	s.cmd = exec.Command(program, args...)
	s.cmd.Env, s.cmd.Dir = s.env, s.home
	read := make(chan struct{})
	if onScreen {
		var err error
		if s.screen, err = onTerminal(s.cmd, 80, true); err != nil {
			s.t.Fatalf("bursar %s: %v", strings.Join(args, " "), err)
		}
		go func() {
			_, _ = io.Copy(s.shown, s.screen) // ends with an error once the program has
			close(read)
		}()
	} else {
		s.cmd.Stdout, s.cmd.Stderr = s.out, s.shown
		if err := s.cmd.Start(); err != nil {
			s.t.Fatalf("bursar %s: %v", strings.Join(args, " "), err)
		}
		close(read)
	}
	cmd, exited := s.cmd, s.exited
	go func() {
		_ = cmd.Wait() // the state says how it ended
		<-read
		close(exited)
	}()
	s.t.Cleanup(func() {
		_ = cmd.Process.Kill() // fails only where it has ended
		s.write("closed", "", 0o600)
		<-exited
	})
}

// end waits until the program has ended and returns its exit code.
func (s *seat) end() int {
	s.t.Helper()
	select {
	case <-s.exited:
	case <-time.After(wait.Limit()):
		s.t.Fatalf("the command goes on and on:\n%s", s.shown)
	}
	if strings.Contains(s.shown.String(), "DATA RACE") || strings.Contains(s.shown.String(), "goroutine 1 ") {
		s.t.Errorf("the command has a race or panicked:\n%s", s.shown)
	}
	return s.cmd.ProcessState.ExitCode()
}

// run runs the program without a terminal and returns what it printed.
func (s *seat) run(args ...string) result {
	s.t.Helper()
	s.begin(false, args...)
	code := s.end()
	return result{code, s.out.String(), s.shown.String()}
}

var (
	shownCode = regexp.MustCompile(`approve the code\s+([A-Z2-9]{6})\s`)
	shownURL  = regexp.MustCompile(`(?m)^\s*(https?://\S+)\s`)
	countdown = regexp.MustCompile(`(9:[0-5]\d|10:00) left`)
)

// code waits until the command shows its code, and returns it and the address.
func (s *seat) code() (code, url string) {
	s.t.Helper()
	wait.Until(s.t, "the command shows a code", func() bool {
		select {
		case <-s.exited:
			s.t.Fatalf("the command ended: %s\n%s", s.cmd.ProcessState, s.shown)
		default:
		}
		return shownCode.MatchString(s.shown.String())
	})
	found := shownURL.FindStringSubmatch(s.shown.String())
	if found == nil {
		s.t.Fatalf("there is no address:\n%s", s.shown)
	}
	return shownCode.FindStringSubmatch(s.shown.String())[1], found[1]
}

func (s *seat) sees(what string) {
	s.t.Helper()
	wait.Until(s.t, "the screen shows "+what, func() bool { return strings.Contains(s.shown.String(), what) })
}

// signedOut demands that no one is signed in here and that nothing was kept.
func (s *seat) signedOut() {
	s.t.Helper()
	if _, err := os.Stat(filepath.Join(s.home, "bursar", "credentials.json")); err == nil {
		s.t.Error("a credential was kept")
	}
	if got := s.run("whoami"); got.Code != 4 {
		s.t.Errorf("whoami ends with %d: %s%s", got.Code, got.Out, got.Err)
	}
}

func TestLoginByABrowser(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		t.Parallel()
		made := initialise(t, store)
		p := start(t, store)
		admin := servertest.Remote(t, p.URL, made).Admin(t)
		s := newSeat(t)
		s.begin(true, "login", p.URL)
		code, url := s.code()
		wait.Until(t, "a browser is opened", func() bool {
			text, _ := os.ReadFile(s.opened())
			return string(text) == url+"\n"
		})
		if !strings.HasPrefix(url, p.URL+"/") || !strings.Contains(url, code) {
			t.Errorf("the address is %s", url)
		}
		wait.Until(t, "the screen counts down", func() bool {
			return len(countdown.FindAllString(s.shown.String(), -1)) >= 2
		})

		admin.Post("/v1/auth/device-code/"+code+"/approve", nil).OK()
		stranger := servertest.Remote(t, p.URL, made).Stranger(t)
		if seen := stranger.Get("/v1/auth/device-code/" + code).OK(); seen.Text("token") != "" {
			t.Error("whoever knows the code gets the token")
		}
		wrong := stranger.Do("GET", "/v1/auth/device-code/"+code, nil, "X-Code-Verifier", strings.Repeat("x", 43))
		if wrong.Status == http.StatusOK && wrong.Text("token") != "" {
			t.Error("a wrong verifier gets the token")
		}

		if got := s.end(); got != 0 || !strings.Contains(s.shown.String(), "Welcome, Ada Lovelace") {
			t.Errorf("exit code %d:\n%s", got, s.shown)
		}
		if secret.MatchString(s.shown.String()) {
			t.Errorf("the screen shows a secret:\n%s", s.shown)
		}
		if got := s.run("whoami", "--jq", ".id"); got.Code != 0 || strings.TrimSpace(got.Out) != made.UserID {
			t.Errorf("whoami: exit code %d: %s%s", got.Code, got.Out, got.Err)
		}
		if got := s.run("status"); got.Code != 0 || !strings.Contains(got.Out, "ends in") {
			t.Errorf("status: exit code %d: %s%s", got.Code, got.Out, got.Err)
		}
		held := servertest.Remote(t, p.URL, made).Holder(t, secret.FindString(s.read("bursar/credentials.json")))
		held.Get("/v1/auth/me").OK()
		if got := s.run("logout"); got.Code != 0 {
			t.Errorf("logout: exit code %d: %s", got.Code, got.Err)
		}
		held.Get("/v1/auth/me").Fails(http.StatusUnauthorized, "UNAUTHORIZED")
	})
}

func (s *seat) read(name string) string {
	s.t.Helper()
	text, err := os.ReadFile(filepath.Join(s.home, filepath.FromSlash(name)))
	if err != nil {
		s.t.Fatal(err)
	}
	return string(text)
}

// login is a seat at a server of its own where someone has begun to sign in.
func login(t *testing.T, onScreen bool, more ...string) (s *seat, node *servertest.Node, code string) {
	t.Helper()
	node = servertest.Start(t, dbtest.SQLite(t))
	s = newSeat(t)
	s.begin(onScreen, append([]string{"login", node.URL}, more...)...)
	code, _ = s.code()
	return s, node, code
}

func TestLoginWithoutATerminalIsRefused(t *testing.T) {
	t.Parallel()
	node := servertest.Start(t, dbtest.SQLite(t))
	got := newSeat(t).run("login", node.URL)
	if got.Code != 2 || !strings.Contains(got.Err, "set BURSAR_URL and BURSAR_API_KEY") || !strings.Contains(got.Err, "--with-token") || !strings.Contains(got.Err, "--wait") {
		t.Errorf("exit code %d:\n%s", got.Code, got.Err)
	}
}

func TestLoginWithoutATerminalWaitsWithWait(t *testing.T) {
	t.Parallel()
	s, node, code := login(t, false, "--wait")
	node.Admin(t).Post("/v1/auth/device-code/"+code+"/approve", nil).OK()
	if got := s.end(); got != 0 || !strings.Contains(s.shown.String(), "Welcome, Admin") {
		t.Errorf("exit code %d:\n%s", got, s.shown)
	}
	if text := s.shown.String(); strings.Contains(text, "\x1b") || strings.Contains(text, "\r") || countdown.MatchString(text) {
		t.Errorf("what is no screen gets a countdown: %q", text)
	}
	if out := s.out.String(); out != "" {
		t.Errorf("standard output gets %q", out)
	}
	if _, err := os.Stat(s.opened()); err == nil {
		t.Error("a browser is opened where nobody looks")
	}
	if got := s.run("whoami", "--jq", ".email"); got.Out != "admin@example.com\n" {
		t.Errorf("whoami: exit code %d: %s%s", got.Code, got.Out, got.Err)
	}
}

func TestLoginOpensNoBrowserWithNoBrowser(t *testing.T) {
	t.Parallel()
	s, node, code := login(t, true, "--no-browser", "--name", "work")
	node.Admin(t).Post("/v1/auth/device-code/"+code+"/approve", nil).OK()
	if got := s.end(); got != 0 {
		t.Errorf("exit code %d:\n%s", got, s.shown)
	}
	if _, err := os.Stat(s.opened()); err == nil {
		t.Error("a browser is opened")
	}
	if got := s.run("context", "list", "--jq", ".[].name"); got.Out != "work\n" {
		t.Errorf("the context is called %s%s", got.Out, got.Err)
	}
}

func TestLoginWhereNoBrowserCanBeOpened(t *testing.T) {
	t.Parallel()
	node := servertest.Start(t, dbtest.SQLite(t))
	s := newSeat(t)
	s.write("bin/xdg-open", "#!/bin/sh\nexit 3\n", 0o755)
	s.begin(true, "login", node.URL)
	code, _ := s.code()
	s.sees("Could not open a browser")
	node.Admin(t).Post("/v1/auth/device-code/"+code+"/approve", nil).OK()
	if got := s.end(); got != 0 {
		t.Errorf("exit code %d:\n%s", got, s.shown)
	}
}

func TestLoginThatIsDenied(t *testing.T) {
	t.Parallel()
	s, node, code := login(t, true)
	node.Admin(t).Post("/v1/auth/device-code/"+code+"/deny", nil).OK()
	if got := s.end(); got != 1 || !strings.Contains(s.shown.String(), "denied") {
		t.Errorf("exit code %d:\n%s", got, s.shown)
	}
	s.signedOut()
}

func TestLoginThatIsNotApprovedExpires(t *testing.T) {
	t.Parallel()
	s, node, _ := login(t, true)
	node.Clock.Advance(11 * time.Minute)
	if got := s.end(); got != 1 || !strings.Contains(s.shown.String(), "expired") || !strings.Contains(s.shown.String(), "run 'bursar login' again") {
		t.Errorf("exit code %d:\n%s", got, s.shown)
	}
	s.signedOut()
}

func TestLoginThatIsInterrupted(t *testing.T) {
	t.Parallel()
	s, node, code := login(t, true)
	wait.Until(t, "the screen counts down", func() bool { return countdown.MatchString(s.shown.String()) })
	if _, err := s.screen.WriteString("\x03"); err != nil {
		t.Fatal(err)
	}
	if got := s.end(); got == 0 {
		t.Errorf("exit code %d:\n%s", got, s.shown)
	}
	text := s.shown.String()
	last := text[strings.LastIndex(text, "\x1b[K")+len("\x1b[K"):]
	if strings.Contains(text, "context canceled") || !strings.HasPrefix(last, "bursar: ") || strings.Count(strings.TrimSpace(last), "\n") > 1 {
		t.Errorf("whoever stops it reads %q", last)
	}
	// The code is still good, but no one can pick the session up any more.
	node.Admin(t).Post("/v1/auth/device-code/"+code+"/approve", nil).OK()
	if seen := node.Stranger(t).Get("/v1/auth/device-code/" + code).OK(); seen.Text("token") != "" {
		t.Error("whoever knows the code gets the token")
	}
	s.signedOut()
}

func TestLoginOutlivesAServerThatRestarts(t *testing.T) {
	t.Parallel()
	store := dbtest.SQLite(t)
	made := initialise(t, store)
	p := start(t, store)
	s := newSeat(t)
	s.begin(true, "login", p.URL, "--no-browser")
	code, _ := s.code()
	p.terminate(t)
	again := spawn(t, nil, append(at(store), "--listen", strings.TrimPrefix(p.URL, "http://"), "--rate-limit", "off")...)
	servertest.Remote(t, again.URL, made).Admin(t).Post("/v1/auth/device-code/"+code+"/approve", nil).OK()
	if got := s.end(); got != 0 || !strings.Contains(s.shown.String(), "Welcome, Ada Lovelace") {
		t.Errorf("exit code %d:\n%s", got, s.shown)
	}
}
