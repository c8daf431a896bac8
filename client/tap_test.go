package client_test

import (
	"bytes"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"bursar/api/openapi"
	"bursar/client"
	"bursar/internal/contract"
	"bursar/internal/server/servertest"
)

// tap is the way of a client's requests. It notes them and holds every answer
// against the contract.
type tap struct {
	t       testing.TB
	checker *contract.Checker
	hold    func(r *http.Request) // waits before a request goes on

	mu   sync.Mutex
	seen []*http.Request
}

var loadContract = sync.OnceValues(func() (*contract.Checker, error) { return contract.New(openapi.JSON) })

func newTap(t testing.TB) *tap {
	t.Helper()
	checker, err := loadContract()
	if err != nil {
		t.Fatalf("read the contract: %v", err)
	}
	return &tap{t: t, checker: checker}
}

func (p *tap) RoundTrip(r *http.Request) (*http.Response, error) {
	p.mu.Lock()
	p.seen = append(p.seen, r)
	p.mu.Unlock()
	if p.hold != nil {
		p.hold(r)
	}
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(answer.Body)
	answer.Body.Close()
	if err != nil {
		return nil, err
	}
	answer.Body = io.NopCloser(bytes.NewReader(body))
	if err := p.checker.CheckResponse(r, answer.StatusCode, answer.Header, body); err != nil {
		p.t.Errorf("%s %s breaks the contract: %v\n%s", r.Method, r.URL.Path, err, body)
	}
	return answer, nil
}

// sent are the requests so far, as "METHOD /path".
func (p *tap) sent() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []string
	for _, r := range p.seen {
		all = append(all, r.Method+" "+r.URL.EscapedPath())
	}
	return all
}

// count is how many requests there were of a kind.
func (p *tap) count(request string) int {
	return len(slices.DeleteFunc(p.sent(), func(s string) bool { return s != request }))
}

// through is the option that sends a client's requests through the tap.
func (p *tap) through() client.Option { return client.WithHTTPClient(&http.Client{Transport: p}) }

const exchange = "POST /v1/auth/token"

// dial makes a client of a node that repeats without long pauses.
func dial(t testing.TB, url string, opts ...client.Option) *client.Client {
	t.Helper()
	c, err := client.New(url, append([]client.Option{client.WithRetryWait(time.Millisecond, 2*time.Millisecond)}, opts...)...)
	if err != nil {
		t.Fatalf("make a client: %v", err)
	}
	return c
}

// admin is a client of the first admin, and the way of its requests.
func admin(t testing.TB, n *servertest.Node, opts ...client.Option) (*client.Client, *tap) {
	t.Helper()
	p := newTap(t)
	return dial(t, n.URL, append([]client.Option{p.through(), client.WithAPIKey(n.First.APIKey)}, opts...)...), p
}

// must is for calls that have to succeed: must(t)(c.Auth.Me(ctx)).
func must[T any](t testing.TB) func(T, error) T {
	return func(got T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatalf("unexpected error: %v", err)
		}
		return got
	}
}

// matches says whether a request is one of an operation such as
// "GET /v1/directory/{id}".
func matches(operation, request string) bool {
	known, given := strings.Split(operation, "/"), strings.Split(request, "/")
	return slices.EqualFunc(known, given, func(k, g string) bool { return k == g || (strings.HasPrefix(k, "{") && g != "") })
}
