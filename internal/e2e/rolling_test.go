package e2e_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
	"bursar/internal/torture"
	"bursar/internal/wait"
)

// balancer is a proxy in front of several nodes. As load balancers do, it asks every node again and
// again whether it is ready, and sends requests to those that were the last time. It retries
// nothing, so that whatever a node does wrong is seen.
type balancer struct {
	nodes []atomic.Pointer[node]
	turn  atomic.Uint64
}

type node struct {
	to    *url.URL
	ready atomic.Bool
}

// startBalancer starts one that has room for so many nodes.
func startBalancer(t *testing.T, size int) (b *balancer, address string) {
	t.Helper()
	b = &balancer{nodes: make([]atomic.Pointer[node], size)}
	ctx, cancel := context.WithCancel(t.Context())
	var checks sync.WaitGroup
	for i := range b.nodes {
		checks.Go(func() { b.check(ctx, &b.nodes[i]) })
	}
	proxy := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(b.next().to) },
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			http.Error(w, err.Error(), http.StatusBadGateway)
		},
	})
	t.Cleanup(func() {
		proxy.Close()
		cancel()
		checks.Wait()
	})
	return b, proxy.URL
}

// check asks the node at a place whether it is ready, ten times a second.
func (b *balancer) check(ctx context.Context, place *atomic.Pointer[node]) {
	client := &http.Client{Timeout: wait.Limit(), Transport: &http.Transport{DisableKeepAlives: true}}
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for ctx.Err() == nil {
		if n := place.Load(); n != nil {
			response, err := client.Get(n.to.String() + "/readyz")
			n.ready.Store(err == nil && response.StatusCode == http.StatusOK)
			if err == nil {
				_ = response.Body.Close()
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

// next returns the node whose turn it is among those that are ready.
func (b *balancer) next() *node {
	for range b.nodes {
		if n := b.nodes[b.turn.Add(1)%uint64(len(b.nodes))].Load(); n != nil && n.ready.Load() {
			return n
		}
	}
	return &node{to: &url.URL{Scheme: "http", Host: "no.node.is.ready.invalid"}}
}

// put puts a node in a place, and waits until it is ready.
func (b *balancer) put(t *testing.T, place int, p *process) {
	t.Helper()
	to, err := url.Parse(p.URL)
	if err != nil {
		t.Fatal(err)
	}
	n := &node{to: to}
	b.nodes[place].Store(n)
	wait.Until(t, "the proxy knows that a node is ready", n.ready.Load)
}

func TestARollingRestartFailsNoRequest(t *testing.T) {
	t.Parallel()
	store := dbtest.Postgres(t)
	l := newLoad(initialise(t, store), writers)
	l.pause = 20 * time.Millisecond // for all the seconds that three restarts take
	b, address := startBalancer(t, 3)
	nodes := make([]*process, 3)
	restart := func(i int) {
		nodes[i] = start(t, store, "--public-url", "https://pay.example.com", "--drain-delay", "1s")
		b.put(t, i, nodes[i])
	}
	for i := range nodes {
		restart(i)
	}
	l.token = servertest.Remote(t, address, l.made).Admin(t).Token
	end := l.begin(t, address, true)
	each := int64(torture.Rounds(600, 100_000) / 2 / len(nodes)) // as many while a node is away as before
	for i := range nodes {
		l.awaitTold(t, each)
		nodes[i].signal(t, syscall.SIGTERM)
		nodes[i].end(t)
		l.awaitTold(t, each)
		restart(i)
	}
	end()
	if failed := l.failed.Load(); failed != 0 {
		t.Errorf("%d requests failed, and %d did not", failed, l.told.Load())
	}
	l.check(t, nodes[0])
	for _, p := range nodes {
		p.terminate(t)
	}
}
