package client_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"bursar/client"
	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
)

func TestTheBaseURLMayEndInTheVersion(t *testing.T) {
	t.Parallel()
	n := servertest.Start(t, dbtest.SQLite(t))
	for _, end := range []string{"", "/", "/v1", "/v1/", "//v1//"} {
		c := dial(t, n.URL+end, client.WithAPIKey(n.First.APIKey))
		me(t, c)
		if got := c.BaseURL(); got != n.URL {
			t.Errorf("%q leads to %s", end, got)
		}
	}
	if got := dial(t, "https://example.com/bursar/v1").BaseURL(); got != "https://example.com/bursar" {
		t.Errorf("a path before the version: %s", got)
	}
}

func TestNewRefusesWhatCannotWork(t *testing.T) {
	t.Parallel()
	const secret = "bk_very secret"
	good := "https://bursar.example"
	for name, c := range map[string]struct {
		url string
		opt client.Option
	}{
		"no address":         {"", nil},
		"no scheme":          {"bursar.example", nil},
		"another scheme":     {"ftp://bursar.example", nil},
		"no host":            {"https://", nil},
		"malformed":          {"https://%zz", nil},
		"a credential":       {"https://me:" + secret[:8] + "@bursar.example", nil},
		"a query":            {good + "?x=1", nil},
		"a fragment":         {good + "#x", nil},
		"empty key":          {good, client.WithAPIKey("")},
		"key with a space":   {good, client.WithAPIKey(secret)},
		"key with a line":    {good, client.WithAPIKey("bk_x\n")},
		"empty token":        {good, client.WithToken("")},
		"empty secret":       {good, client.WithClientSecret("cli_x", "")},
		"no HTTP client":     {good, client.WithHTTPClient(nil)},
		"negative retries":   {good, client.WithMaxRetries(-1)},
		"negative wait":      {good, client.WithRetryWait(-1, 1)},
		"wait upside down":   {good, client.WithRetryWait(2, 1)},
		"agent of 2 lines":   {good, client.WithUserAgent("a\r\nb")},
		"key with a control": {good, client.WithAPIKey("\x7f")},
	} {
		var opts []client.Option
		if c.opt != nil {
			opts = append(opts, c.opt)
		}
		made, err := client.New(c.url, opts...)
		if err == nil || made != nil {
			t.Errorf("%s: no error", name)
		} else if strings.Contains(err.Error(), secret[:8]) {
			t.Errorf("%s: the error tells the secret: %v", name, err)
		}
	}
}

func TestOneCredentialIsEnough(t *testing.T) {
	t.Parallel()
	if _, err := client.New("https://bursar.example", client.WithAPIKey("a"), client.WithClientSecret("b", "c")); err == nil {
		t.Error("two credentials were taken")
	}
}

func TestAClientDoesNotPrintItsSecrets(t *testing.T) {
	t.Parallel()
	c := dial(t, "https://bursar.example", client.WithAPIKey("bk_secret"), client.WithToken("tok_secret"))
	for _, form := range []string{"%v", "%+v", "%#v", "%s"} {
		if text := fmt.Sprintf(form, c); strings.Contains(text, "secret") {
			t.Errorf("%s prints %s", form, text)
		}
	}
}

func TestTheUserAgentIsShownToTheServer(t *testing.T) {
	t.Parallel()
	n := servertest.Start(t, dbtest.SQLite(t))
	c, way := admin(t, n)
	me(t, c)
	named, other := admin(t, n, client.WithUserAgent("payroll/3"))
	me(t, named)
	if got := way.seen[0].UserAgent(); !strings.HasPrefix(got, "bursar-go/") {
		t.Errorf("by default: %q", got)
	}
	for _, r := range other.seen {
		if r.UserAgent() != "payroll/3" {
			t.Errorf("%s: %q", r.URL.Path, r.UserAgent())
		}
	}
}

func TestAttemptsHaveATimeout(t *testing.T) {
	t.Parallel()
	n := servertest.Start(t, dbtest.SQLite(t))
	c, way := admin(t, n)
	own := newTap(t)
	deadlines := func(p *tap) (n int) {
		for _, r := range p.seen {
			if at, ok := r.Context().Deadline(); ok && time.Until(at) < 31*time.Second {
				n++
			}
		}
		return n
	}
	me(t, c)
	if deadlines(way) != 2 {
		t.Error("an attempt has no timeout by default")
	}
	me(t, dial(t, n.URL, client.WithHTTPClient(&http.Client{Transport: own, Timeout: time.Minute}), client.WithToken(n.Admin(t).Token)))
	if deadlines(own) != 0 {
		t.Error("the timeout of the HTTP client does not count")
	}
	p := newProxy(t, n.URL, delay, delay)
	_, err := p.client(n, client.WithHTTPClient(&http.Client{Timeout: 200 * time.Millisecond}), client.WithMaxRetries(1)).Auth.Me(t.Context())
	if err == nil || p.count() != 2 {
		t.Errorf("%d attempts: %v", p.count(), err)
	}
}

func TestLogsDescribeEventsWithoutSecrets(t *testing.T) {
	t.Parallel()
	n := servertest.Start(t, dbtest.SQLite(t))
	p := newProxy(t, n.URL, dropBefore, answer(unavailable))
	log := &servertest.LogBuffer{}
	logger := slog.New(slog.NewJSONHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	c := dial(t, p.url(), client.WithAPIKey(n.First.APIKey), client.WithLogger(logger))
	ctx := t.Context()
	session := must[*client.Session](t)(c.Auth.Exchange(ctx))
	verifier, challenge := client.NewCodeVerifier()
	code := must[*client.DeviceCode](t)(c.Auth.DeviceCode(ctx, "", challenge))
	must[*client.DeviceDecision](t)(c.Auth.ApproveDevice(ctx, code.Code))
	status := must[*client.DeviceCodeStatus](t)(c.Auth.PollDeviceCode(ctx, code.Code, verifier))
	key := must[*client.NewAPIKey](t)(c.Keys.Create(ctx, client.KeyCreateParams{Name: "key"}))
	must[*client.Page[client.EntrySummary]](t)(c.Directory.List(ctx, client.DirectoryListParams{WorkspaceID: n.First.WorkspaceID, Query: "confidential"}))
	if _, err := c.Auth.PollDeviceCode(ctx, "ABCDEF", verifier); err == nil {
		t.Error("an unknown code was found")
	}
	text := log.String()
	for _, secret := range []string{n.First.APIKey, session.Token, code.Code, verifier, challenge, status.Token, key.APIKey, "confidential", "ABCDEF"} {
		if strings.Contains(text, secret) {
			t.Errorf("the log has %q:\n%s", secret, text)
		}
	}
	for _, part := range []string{`"path":"/v1/auth/token"`, `"status":200`, `"status":503`, `"attempt":2`, `"request_id":"req_`, "bursar request is repeated", "/v1/auth/device-code/{code}/approve"} {
		if !strings.Contains(text, part) {
			t.Errorf("the log lacks %s:\n%s", part, text)
		}
	}
	quiet := &servertest.LogBuffer{}
	me(t, dial(t, n.URL, client.WithToken(session.Token), client.WithLogger(slog.New(slog.NewTextHandler(quiet, nil)))))
	if quiet.String() != "" {
		t.Errorf("logged above debug level: %s", quiet)
	}
}
