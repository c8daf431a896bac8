package client_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"bursar/api"
	"bursar/client"
	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
)

func (p *proxy) client(n *servertest.Node, opts ...client.Option) *client.Client {
	return dial(p.t, p.url(), append([]client.Option{client.WithToken(n.Admin(p.t).Token)}, opts...)...)
}

// impatient gives up an attempt that has no answer soon.
func impatient() client.Option {
	return client.WithHTTPClient(&http.Client{Transport: &http.Transport{ResponseHeaderTimeout: 2 * time.Second}})
}

// However the connection fails, a create that is repeated makes exactly one entry.
func TestARepeatedCreateMakesOneEntry(t *testing.T) {
	t.Parallel()
	plans := map[string][]fault{
		"nothing fails":              nil,
		"dropped before delivery":    {dropBefore},
		"dropped after delivery":     {dropAfter},
		"cut in the middle":          {cut},
		"cut in the head":            {cutHead},
		"delayed":                    {delay},
		"unavailable":                {answer(unavailable)},
		"a page of a gateway":        {answer(gateway)},
		"an internal error":          {answer(internal)},
		"rate limited":               {answer(limited)},
		"the first is still running": {dropAfter, answer(stillRunning)},
		"everything at once":         {dropAfter, cut, answer(unavailable)},
		"delivered three times":      {dropAfter, cutHead, cut},
	}
	dbtest.Each(t, func(t *testing.T, s dbtest.Store) {
		n := servertest.Start(t, s)
		for name, plan := range plans {
			t.Run(name, func(t *testing.T) {
				tenant := n.Tenant(t)
				p := newProxy(t, n.URL, plan...)
				c := dial(t, p.url(), client.WithToken(tenant.Owner.Token), impatient())
				created := must[*client.Created](t)(c.Directory.Create(t.Context(), client.EntryCreateParams{
					WorkspaceID: tenant.WorkspaceID, Type: client.TypePerson, Fields: client.Fields{client.TextField("name", "<Ada>")},
				}))
				if got := n.Count(t, `SELECT count(*) FROM directory_entry WHERE workspace_number = (SELECT number FROM workspace WHERE id = $1)`, tenant.WorkspaceID); got != 1 {
					t.Errorf("%d entries, want 1", got)
				}
				if got := n.Audited(t, created.ID); len(got) != 1 {
					t.Errorf("%d audit rows, want 1", len(got))
				}
				if got := p.count(); got != len(plan)+1 {
					t.Errorf("%d attempts, want %d", got, len(plan)+1)
				}
				keys, bodies := map[string]bool{}, map[string]bool{}
				p.each(func(r *http.Request, body string) {
					keys[r.Header.Get("Idempotency-Key")] = true
					bodies[body] = true
				})
				if len(keys) != 1 || keys[""] || len(bodies) != 1 || bodies[""] {
					t.Errorf("the attempts differ: %v %v", keys, bodies)
				}
			})
		}
	})
}

func TestEveryKindOfChangeIsRepeatedSafely(t *testing.T) {
	t.Parallel()
	n := servertest.Start(t, dbtest.SQLite(t))
	p := newProxy(t, n.URL)
	c, ctx, ws := p.client(n), t.Context(), n.First.WorkspaceID
	fail := func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.plan = []fault{dropAfter, cut}
	}
	fail()
	id := must[*client.Created](t)(c.Directory.Create(ctx, client.EntryCreateParams{WorkspaceID: ws, Type: client.TypePerson})).ID
	fail()
	must[*client.Created](t)(c.Directory.Update(ctx, id, client.EntryUpdateParams{Label: client.String("Ada")}))
	fail()
	must[*client.Deleted](t)(c.Directory.Delete(ctx, id))
	fail()
	must[*client.Restored](t)(c.Directory.Restore(ctx, id))
	fail()
	must[*client.Role](t)(c.Roles.Define(ctx, ws, "clerk", client.RoleParams{Name: "Clerk"}))
	fail()
	must[*client.Entry](t)(c.Directory.Get(ctx, id))
	fail()
	key := must[*client.NewAPIKey](t)(c.Keys.Create(ctx, client.KeyCreateParams{Name: "once"}))
	me(t, dial(t, n.URL, client.WithAPIKey(key.APIKey)))
	if got := n.Audited(t, id); len(got) != 4 {
		t.Errorf("audited %v", got)
	}
	fail()
	if done := must[*client.Logout](t)(c.Auth.Logout(ctx)); !done.Revoked {
		t.Errorf("logout: %+v", done)
	}
	if _, err := c.Auth.Me(ctx); !client.IsUnauthorized(err) {
		t.Errorf("after the logout: %v", err)
	}
}

func TestAttemptsAreBounded(t *testing.T) {
	t.Parallel()
	n := servertest.Start(t, dbtest.SQLite(t))
	for name, c := range map[string]struct {
		opts []client.Option
		want int
	}{
		"by default": {nil, 4},
		"never":      {[]client.Option{client.WithMaxRetries(0)}, 1},
		"once":       {[]client.Option{client.WithMaxRetries(1)}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProxy(t, n.URL, dropBefore, dropBefore, dropBefore, dropBefore, dropBefore)
			_, err := p.client(n, c.opts...).Auth.Me(t.Context())
			if err == nil || errors.As(err, new(*client.Error)) {
				t.Errorf("no answer is %v", err)
			}
			if got := p.count(); got != c.want {
				t.Errorf("%d attempts, want %d", got, c.want)
			}
		})
	}
	p := newProxy(t, n.URL, answer(gateway), answer(gateway), answer(gateway), answer(gateway))
	_, err := p.client(n).Auth.Me(t.Context())
	if e := refused(t, err); e.Status != 502 || e.Message != "Bad Gateway: Bad gateway" {
		t.Errorf("the last answer: %+v", e)
	}
}

func TestRefusalsAreNotRepeated(t *testing.T) {
	t.Parallel()
	n := servertest.Start(t, dbtest.SQLite(t))
	p := newProxy(t, n.URL)
	c := p.client(n)
	ctx := client.WithIdempotencyKey(t.Context(), "line-17")
	ws := n.First.WorkspaceID
	must[*client.Tag](t)(c.Tags.Create(ctx, client.TagCreateParams{WorkspaceID: ws, Name: "a"}))
	for what, call := range map[api.Code]func() error{
		api.CodeIdempotencyConflict: func() error {
			_, err := c.Tags.Create(ctx, client.TagCreateParams{WorkspaceID: ws, Name: "b"})
			return err
		},
		api.CodeValidation: func() error {
			_, err := c.Tags.Create(t.Context(), client.TagCreateParams{WorkspaceID: ws})
			return err
		},
		api.CodeTagExists: func() error {
			_, err := c.Tags.Create(t.Context(), client.TagCreateParams{WorkspaceID: ws, Name: "A"})
			return err
		},
		api.CodeEntryNotFound: func() error { _, err := c.Directory.Get(t.Context(), "entry_x"); return err },
	} {
		before := p.count()
		if e := refused(t, call()); e.Code != what {
			t.Errorf("got %+v, want %s", e, what)
		}
		if got := p.count() - before; got != 1 {
			t.Errorf("%s: %d attempts", what, got)
		}
	}
}

func TestACallersOwnIdempotencyKeyWorksAcrossClients(t *testing.T) {
	t.Parallel()
	n := servertest.Start(t, dbtest.SQLite(t))
	ctx := client.WithIdempotencyKey(t.Context(), "import-line-1")
	create := func() string {
		c, _ := admin(t, n)
		return must[*client.Created](t)(c.Directory.Create(ctx, client.EntryCreateParams{WorkspaceID: n.First.WorkspaceID, Type: client.TypePerson})).ID
	}
	if a, b := create(), create(); a != b {
		t.Errorf("two entries, %s and %s", a, b)
	}
	c, way := admin(t, n)
	for _, key := range []string{"", "a b", "a\n", "é", string(make([]byte, 256))} {
		if _, err := c.Directory.Delete(client.WithIdempotencyKey(t.Context(), key), "entry_x"); err == nil || client.IsNotFound(err) {
			t.Errorf("the key %q: %v", key, err)
		}
	}
	if got := way.sent(); len(got) != 0 {
		t.Errorf("sent %v", got)
	}
}

// A device code has no idempotency key: what may have arrived is not sent again.
// A file is written while it arrives: what failed before the first byte is repeated, and
// what breaks off later is an error, since the file would begin a second time.
func TestAnExportIsRepeatedOnlyBeforeItsFirstByte(t *testing.T) {
	t.Parallel()
	n := servertest.Start(t, dbtest.SQLite(t))
	for name, c := range map[string]struct {
		plan  []fault
		whole bool
	}{
		"before":            {[]fault{dropBefore, answer(unavailable), cutHead}, true},
		"the file cut":      {[]fault{cut}, false},
		"a page of a proxy": {[]fault{answer("HTTP/1.1 200 OK\nContent-Type: text/html\nContent-Length: 4\n\nHi!\n")}, false},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProxy(t, n.URL, c.plan...)
			var file strings.Builder
			err := p.client(n).Audit.Export(t.Context(), client.AuditListParams{OrganizationID: n.First.OrganizationID}, client.ExportCSV, &file)
			if (err == nil) != c.whole || c.whole && strings.Count(file.String(), "time,id,action") != 1 || strings.Contains(file.String(), "Hi!") {
				t.Errorf("%v: %s", err, file.String())
			}
			if want := len(c.plan); c.whole && p.count() != want+1 || !c.whole && p.count() != want {
				t.Errorf("%d attempts", p.count())
			}
		})
	}
}

func TestADeviceCodeIsNotAskedForTwice(t *testing.T) {
	t.Parallel()
	n := servertest.Start(t, dbtest.SQLite(t))
	for name, f := range map[string]fault{"before": dropBefore, "after": dropAfter, "cut": cut, "unavailable": answer(unavailable)} {
		p := newProxy(t, n.URL, f)
		if _, err := dial(t, p.url()).Auth.DeviceCode(t.Context(), "", ""); err == nil {
			t.Errorf("%s: no error", name)
		}
		if got := p.count(); got != 1 {
			t.Errorf("%s: %d attempts", name, got)
		}
	}
	p := newProxy(t, n.URL, answer(limited))
	must[*client.DeviceCode](t)(dial(t, p.url()).Auth.DeviceCode(t.Context(), "", ""))
	p.each(func(r *http.Request, _ string) {
		if r.Header.Get("Idempotency-Key") != "" || r.Header.Get("Authorization") != "" {
			t.Errorf("a stranger sends %v", r.Header)
		}
	})
}

// What was never sent can be sent again, whatever it is.
func TestARefusedConnectionIsTriedAgain(t *testing.T) {
	t.Parallel()
	n := servertest.Start(t, dbtest.SQLite(t))
	refusals := 0
	transport := &http.Transport{DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		address := n.URL[len("http://"):]
		if refusals++; refusals <= 2 {
			address = "127.0.0.1:1" // where nobody listens
		}
		return new(net.Dialer).DialContext(ctx, network, address)
	}}
	c := dial(t, n.URL, client.WithHTTPClient(&http.Client{Transport: transport}))
	must[*client.DeviceCode](t)(c.Auth.DeviceCode(t.Context(), "", ""))
	if refusals != 3 {
		t.Errorf("%d connections, want 3", refusals)
	}
}

func TestTheExchangeIsRepeatedToo(t *testing.T) {
	t.Parallel()
	n := servertest.Start(t, dbtest.SQLite(t))
	p := newProxy(t, n.URL, dropAfter, cut, answer(unavailable))
	me(t, dial(t, p.url(), client.WithAPIKey(n.First.APIKey)))
	var got []string
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.requests {
		got = append(got, r.URL.Path)
	}
	want := []string{"/v1/auth/token", "/v1/auth/token", "/v1/auth/token", "/v1/auth/token", "/v1/auth/me"}
	if !slices.Equal(got, want) {
		t.Errorf("the attempts are %q, want %q", got, want)
	}
}

func TestNothingIsRepeatedOnceTheContextIsDone(t *testing.T) {
	t.Parallel()
	n := servertest.Start(t, dbtest.SQLite(t))
	ctx, cancel := context.WithCancel(t.Context())
	p := newProxy(t, n.URL, func(*proxy, net.Conn, *http.Request) ([]byte, bool) {
		cancel()
		return nil, false
	})
	if _, err := p.client(n).Auth.Me(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end: %v", err)
	}
	if _, err := p.client(n).Auth.Me(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end: %v", err)
	}
	if got := p.count(); got != 1 {
		t.Errorf("%d attempts, want 1", got)
	}
}

// Where the pause would outlast the context there is no point in waiting.
func TestAPauseThatIsTooLongIsNotBegun(t *testing.T) {
	t.Parallel()
	n := servertest.Start(t, dbtest.SQLite(t))
	for name, wait := range map[string]string{"seconds": "50", "beyond all patience": "86400", "a date": time.Now().Add(50 * time.Second).UTC().Format(http.TimeFormat)} {
		p := newProxy(t, n.URL, answer("HTTP/1.1 503 Service Unavailable\nRetry-After: "+wait+"\nContent-Length: 0\n\n"))
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		_, err := p.client(n).Auth.Me(ctx)
		if e := refused(t, err); e.Status != 503 || e.RetryAfter < 40*time.Second || ctx.Err() != nil {
			t.Errorf("%s: %+v, %v", name, e, ctx.Err())
		}
		cancel()
	}
}

func TestRetryAfterIsWaitedFor(t *testing.T) {
	t.Parallel()
	n := servertest.Start(t, dbtest.SQLite(t))
	p := newProxy(t, n.URL, answer("HTTP/1.1 503 Service Unavailable\nRetry-After: 1\nContent-Length: 0\n\n"))
	started := time.Now()
	me(t, p.client(n))
	if waited := time.Since(started); waited < time.Second {
		t.Errorf("came back after %s", waited)
	}
}

func TestConnectionsAreUsedAgain(t *testing.T) {
	t.Parallel()
	n := servertest.Start(t, dbtest.SQLite(t))
	p := newProxy(t, n.URL, answer(unavailable), answer(gateway), answer(internal))
	c := p.client(n)
	for range 5 {
		me(t, c)
		if _, err := c.Directory.Get(t.Context(), "entry_x"); !client.IsNotFound(err) {
			t.Error(err)
		}
	}
	if got := p.connections(); got != 1 {
		t.Errorf("%d connections, want 1", got)
	}
}
