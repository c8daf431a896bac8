package client_test

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"strings"
	"sync"
	"testing"
)

// fault is what a proxy does with a request in place of passing it on and
// bringing the answer back. It returns what to send before the connection is
// closed, or kept where keep is set.
type fault func(p *proxy, conn net.Conn, r *http.Request) (answer []byte, keep bool)

// proxy stands between a client and a server, on TCP, and misbehaves as planned:
// the first fault is for the first request, and so on.
type proxy struct {
	t        testing.TB
	listener net.Listener
	target   string
	open     sync.WaitGroup

	mu       sync.Mutex
	plan     []fault
	requests []*http.Request
	bodies   []string
	accepted int
	conns    map[net.Conn]bool
}

func newProxy(t testing.TB, serverURL string, plan ...fault) *proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{t: t, listener: listener, target: strings.TrimPrefix(serverURL, "http://"), plan: plan, conns: map[net.Conn]bool{}}
	p.open.Go(p.accept)
	t.Cleanup(func() {
		listener.Close()
		p.mu.Lock()
		for conn := range p.conns {
			conn.Close()
		}
		p.mu.Unlock()
		p.open.Wait()
	})
	return p
}

func (p *proxy) url() string { return "http://" + p.listener.Addr().String() }

func (p *proxy) accept() {
	for {
		conn, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.mu.Lock()
		p.accepted++
		p.conns[conn] = true
		p.mu.Unlock()
		p.open.Go(func() {
			p.serve(conn)
			conn.Close()
			p.mu.Lock()
			delete(p.conns, conn)
			p.mu.Unlock()
		})
	}
}

func (p *proxy) serve(conn net.Conn) {
	in := bufio.NewReader(conn)
	for {
		r, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		answer, keep := p.next(r, body)(p, conn, r)
		if _, err := conn.Write(answer); err != nil || !keep {
			return
		}
	}
}

// next notes a request and takes its fault from the plan.
func (p *proxy) next(r *http.Request, body []byte) fault {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.requests = append(p.requests, r)
	p.bodies = append(p.bodies, string(body))
	if len(p.plan) == 0 {
		return pass
	}
	f := p.plan[0]
	p.plan = p.plan[1:]
	return f
}

// deliver brings a request to the server and returns the whole answer.
func (p *proxy) deliver(r *http.Request) []byte {
	out := r.Clone(p.t.Context())
	out.RequestURI, out.URL.Scheme, out.URL.Host = "", "http", p.target
	answer, err := http.DefaultTransport.RoundTrip(out)
	if err != nil {
		return nil
	}
	defer answer.Body.Close()
	text, err := httputil.DumpResponse(answer, true)
	if err != nil {
		return nil
	}
	return text
}

// count is how many requests arrived.
func (p *proxy) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.requests)
}

func (p *proxy) connections() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.accepted
}

// each calls fn with the requests that arrived and their bodies.
func (p *proxy) each(fn func(r *http.Request, body string)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, r := range p.requests {
		fn(r, p.bodies[i])
	}
}

// pass brings the answer back.
func pass(p *proxy, _ net.Conn, r *http.Request) ([]byte, bool) { return p.deliver(r), true }

// dropBefore loses the request.
func dropBefore(*proxy, net.Conn, *http.Request) ([]byte, bool) { return nil, false }

// dropAfter delivers the request and loses the answer.
func dropAfter(p *proxy, _ net.Conn, r *http.Request) ([]byte, bool) {
	p.deliver(r)
	return nil, false
}

// cut delivers the request and loses the end of the answer.
func cut(p *proxy, _ net.Conn, r *http.Request) ([]byte, bool) {
	answer := p.deliver(r)
	return answer[:len(answer)-5], false
}

// cutHead delivers the request and loses the answer in the middle of its head.
func cutHead(p *proxy, _ net.Conn, r *http.Request) ([]byte, bool) {
	return p.deliver(r)[:20], false
}

// delay delivers the request and keeps the answer until the client gives up.
func delay(p *proxy, conn net.Conn, r *http.Request) ([]byte, bool) {
	p.deliver(r)
	conn.Read(make([]byte, 1))
	return nil, false
}

// answer says something in place of the server.
func answer(text string) fault {
	return func(*proxy, net.Conn, *http.Request) ([]byte, bool) {
		return []byte(strings.ReplaceAll(text, "\n", "\r\n")), true
	}
}

const (
	unavailable  = "HTTP/1.1 503 Service Unavailable\nRetry-After: 0\nContent-Length: 4\n\ndown"
	gateway      = "HTTP/1.1 502 Bad Gateway\nContent-Type: text/html\nContent-Length: 26\n\n<title>Bad gateway</title>"
	internal     = "HTTP/1.1 500 Internal Server Error\nContent-Type: application/json\nContent-Length: 69\n\n" + `{"ok":false,"error":{"code":"INTERNAL_ERROR","message":"went wrong"}}`
	limited      = "HTTP/1.1 429 Too Many Requests\nRetry-After: 0\nContent-Length: 0\n\n"
	stillRunning = "HTTP/1.1 409 Conflict\nContent-Type: application/json\nRetry-After: 0\nContent-Length: 73\n\n" + `{"ok":false,"error":{"code":"IDEMPOTENCY_CONFLICT","message":"running"}} `
)
