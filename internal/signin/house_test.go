package signin_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/approval"
	"bursar/internal/audit"
	"bursar/internal/browsertest/oidctest"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/fault"
	"bursar/internal/identity"
	"bursar/internal/mail"
	"bursar/internal/mail/smtptest"
	"bursar/internal/organization"
	"bursar/internal/setup"
	"bursar/internal/signin"
	"bursar/internal/vault"
	"bursar/internal/web"
	"bursar/internal/workspace"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

const (
	publicURL    = "http://bursar.test"
	goodPassword = "seven quiet lanterns"
	newPassword  = "eleven green umbrellas"
	home         = "203.0.113.7" // an address to sign in from
)

// house is a store with the services over it that let people in.
type house struct {
	*signin.Service
	db            *db.DB
	clock         *dbtest.Clock
	identity      *identity.Service
	authority     *access.Authority
	approvals     *approval.Service
	links         *identity.Links
	workspaces    *workspace.Service
	organizations *organization.Service
	site          *web.Endpoints
	first         setup.Result
	provider      *oidctest.Provider
	t             testing.TB
}

// settings are what a house can be built with.
type settings struct {
	signin.Config
	mail *smtptest.Server
}

type option func(*settings)

// limited lets the limits of attempts count, which tests go without otherwise.
func limited(s *settings) { s.LimitsOff = false }

// slowHashes hashes passwords as a server does, which takes long if many are hashed.
func slowHashes(s *settings) { s.HashMemory = 0 }

// mailing sends links by mail, too.
func mailing(to *smtptest.Server) option { return func(s *settings) { s.mail = to } }

// each runs a test in a house on every engine.
func each(t *testing.T, run func(t *testing.T, h *house), options ...option) {
	t.Helper()
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) { run(t, build(t, store, options...)) })
}

func build(t testing.TB, store dbtest.Store, options ...option) *house {
	t.Helper()
	h := &house{clock: &dbtest.Clock{}, t: t}
	h.db = store.OpenAt(t, h.clock.Now)
	v := store.Vault(h.db)
	key, err := identity.Prepare(t.Context(), h.db, v)
	must(t, err)
	config := settings{Config: signin.Config{PublicURL: publicURL, LimitsOff: true, HashMemory: 64}}
	for _, option := range options {
		option(&config)
	}
	cursors := web.NewCursors(key)
	h.identity = identity.New(h.db, v, cursors, identity.Config{
		PublicURL: publicURL, KeyTTL: time.Hour, DeviceTTL: time.Hour, WebTTL: 12 * time.Hour, WebIdle: 30 * time.Minute, LimitsOff: true,
	})
	h.authority = access.NewAuthority(h.db)
	h.approvals = approval.New(h.db, v, h.authority, cursors, nil, nil, "")
	h.links = identity.NewLinks(publicURL, h.mailer(v, config.mail))
	h.workspaces = workspace.New(h.db, h.authority, cursors, h.links, h.approvals)
	h.organizations = organization.New(h.db, h.authority, cursors, 365)
	h.site = &web.Endpoints{DB: h.db}
	h.Service, err = signin.New(h.db, v, h.links, config.Config)
	must(t, err)
	h.first, err = setup.Run(t.Context(), h.db, db.Caller{}, setup.First{
		Email: "admin@example.com", Name: "Admin", Organization: "Acme", Workspace: "Treasury", PublicURL: publicURL,
	})
	must(t, err)
	return h
}

// mailer sends to a mail server until the end of the test.
func (h *house) mailer(v *vault.Vault, to *smtptest.Server) *mail.Mailer {
	h.t.Helper()
	if to == nil {
		return nil
	}
	m, err := mail.New(mail.Config{URL: to.URL, From: "bursar@example.com"}, h.db, v, slog.New(slog.DiscardHandler))
	must(h.t, err)
	h.background(m.Run)
	return m
}

// background runs something until the end of the test.
func (h *house) background(run func(context.Context)) {
	ctx, stop := context.WithCancel(context.WithoutCancel(h.t.Context()))
	var running sync.WaitGroup
	running.Go(func() { run(ctx) })
	h.t.Cleanup(func() { stop(); running.Wait() })
}

// on is the house in a subtest, which then fails alone.
func (h *house) on(t testing.TB) *house {
	other := *h
	other.t = t
	return &other
}

var must = dbtest.Must

// refused demands a fault with a code and returns it.
func refused(t testing.TB, err error, code api.Code) *fault.Fault {
	t.Helper()
	var f *fault.Fault
	if !errors.As(err, &f) || f.Code != code {
		t.Fatalf("want %s, got %v", code, err)
	}
	return f
}

// invalid demands a violation of a field and of no other.
func invalid(t testing.TB, err error, field string) {
	t.Helper()
	details, ok := refused(t, err, api.CodeValidation).Details.(fault.ViolationDetails)
	if !ok || len(details.Fields) != 1 || details.Fields[0].Field != field {
		t.Fatalf("want a violation of %s, got %v", field, err)
	}
}

// stranger is someone at a browser who is not signed in.
func stranger() db.Caller {
	return db.Caller{Actor: audit.Actor{Type: audit.System, IP: home, RequestID: "req_test"}}
}

// person makes a user whose address is settled, and who has no way in yet.
func (h *house) person(email string) string {
	h.t.Helper()
	id, err := h.identity.CreateUser(h.t.Context(), db.Caller{}, email, "User "+email)
	must(h.t, err)
	return id
}

// accountLink makes the secret of an operator's link.
func (h *house) userLink(email string) string {
	h.t.Helper()
	made, err := h.identity.CreateLink(h.t.Context(), db.Caller{}, h.links, email, false)
	must(h.t, err)
	return secretOf(made.URL)
}

func secretOf(link string) string { return strings.TrimPrefix(link, publicURL+"/invite/") }

// resident makes a user who signs in with the good password.
func (h *house) resident(email string) string {
	h.t.Helper()
	id := h.person(email)
	_, err := h.RedeemWithPassword(h.t.Context(), stranger(), h.userLink(email), "User "+email, goodPassword)
	must(h.t, err)
	return id
}

// enter signs someone in at a browser, as the console does, and returns who acts
// there and the secret of the session.
func (h *house) enter(userID string) (db.Caller, string) {
	h.t.Helper()
	web, err := h.identity.BeginWeb(h.t.Context(), stranger(),
		identity.WebSignIn{UserID: userID, Method: identity.ByPassword, Version: h.version(userID)})
	must(h.t, err)
	browser, err := h.identity.Browser(h.t.Context(), web.Secret, true)
	must(h.t, err)
	browser.Actor.IP, browser.Actor.RequestID = home, "req_test"
	return db.Caller{Actor: browser.Actor}, web.Secret
}

// version is the version of a user's sign-in methods.
func (h *house) version(userID string) int64 {
	return int64(h.count(`SELECT credential_version FROM account WHERE id = $1`, userID))
}

// signedIn says whether the secret of a session still lets someone in.
func (h *house) signedIn(secret string) bool {
	h.t.Helper()
	_, err := h.identity.Browser(h.t.Context(), secret, true)
	if err != nil {
		refused(h.t, err, api.CodeUnauthorized)
	}
	return err == nil
}

// knows says whether a user signs in with a password.
func (h *house) knows(email, password string) bool {
	h.t.Helper()
	_, err := h.Password(h.t.Context(), stranger(), email, password)
	if err != nil {
		refused(h.t, err, api.CodeInvalidCredentials)
	}
	return err == nil
}

// call calls a service method as the console does.
func call[In, Out any](h *house, by db.Caller, fn web.Func[In, Out], in In) (Out, error) {
	request := httptest.NewRequest(http.MethodPost, "/", nil).WithContext(h.t.Context())
	x := &web.Exchange{W: httptest.NewRecorder(), R: request, Caller: by, RequestID: by.RequestID, IP: by.IP}
	return web.Call(h.site, x, fn, in)
}

// sideBySide runs something several times at once.
func sideBySide[T any](n int, act func(i int) T) []T {
	out := make([]T, n)
	start := make(chan struct{})
	var done sync.WaitGroup
	for i := range n {
		done.Go(func() {
			<-start
			out[i] = act(i)
		})
	}
	close(start)
	done.Wait()
	return out
}

// succeeded counts what went well.
func succeeded(errs []error) (n int) {
	for _, err := range errs {
		if err == nil {
			n++
		}
	}
	return n
}

// app is an authenticator app.
type app struct {
	secret string
	clock  *dbtest.Clock
}

// code is what the app shows some steps of 30 seconds from now.
func (a app) code(t testing.TB, steps int) string {
	t.Helper()
	code, err := totp.GenerateCode(a.secret, a.clock.Now().Add(time.Duration(steps)*30*time.Second))
	must(t, err)
	return code
}

// secondFactor turns the second factor on, with the code of a step that is over
// when it returns.
func (h *house) secondFactor(by db.Caller) (app, []string) {
	h.t.Helper()
	key, err := h.NewTOTP(by)
	must(h.t, err)
	a := app{key.Secret(), h.clock}
	codes, err := h.EnableTOTP(h.t.Context(), by, a.secret, a.code(h.t, 0))
	must(h.t, err)
	h.clock.Advance(2 * time.Minute)
	return a, codes
}
