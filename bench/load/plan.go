package load

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"sync/atomic"
)

// plan is a work made ready to be sent.
type plan struct {
	addr     string // host:port to dial
	requests []*request
	order    []int // of requests
	turn     atomic.Int64
}

func newPlan(w Work) (*plan, error) {
	switch {
	case w.Connections < 1:
		return nil, fmt.Errorf("%d connections", w.Connections)
	case w.Duration <= 0:
		return nil, fmt.Errorf("duration %s", w.Duration)
	case w.Warmup < 0:
		return nil, fmt.Errorf("warm-up %s", w.Warmup)
	case len(w.Calls) == 0:
		return nil, errors.New("no calls")
	}
	base, err := url.Parse(w.Base)
	if err != nil {
		return nil, fmt.Errorf("parse base: %w", err)
	}
	if base.Scheme != "http" || base.Hostname() == "" {
		return nil, fmt.Errorf("base %q is not http://host:port", w.Base)
	}
	p := &plan{addr: base.Host}
	if base.Port() == "" {
		p.addr = net.JoinHostPort(base.Hostname(), "80")
	}
	weights := make([]int, len(w.Calls))
	for i, c := range w.Calls {
		r, err := newRequest(c, base.Host, strings.TrimSuffix(base.EscapedPath(), "/"))
		if err != nil {
			return nil, err
		}
		p.requests = append(p.requests, r)
		weights[i] = max(c.Weight, 1)
	}
	p.order, err = interleave(weights)
	return p, err
}

// next is the request whose turn it is. All connections share the turn, so the
// weights hold for the server as a whole, however slow one of them is.
func (p *plan) next() *request {
	if len(p.requests) == 1 {
		return p.requests[0]
	}
	return p.requests[p.order[(p.turn.Add(1)-1)%int64(len(p.order))]]
}
