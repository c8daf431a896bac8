// Package load drives a server over loopback and says how fast it answered.
package load

import (
	"context"
	"time"
)

// Call is one kind of request. In Path, Body and the values of Header {n} stands
// for a number that no other request to the same server has, and {id} for the
// next one of IDs, round and round.
type Call struct {
	Method string
	Path   string
	Header map[string]string
	Body   string
	IDs    []string
	Weight int // how often against the other calls of the same work; 0 counts as 1
}

// Work is what a server is to do.
type Work struct {
	Base        string // http://127.0.0.1:port
	Calls       []Call
	Connections int
	Warmup      time.Duration
	Duration    time.Duration
	// Rate is how many requests are sent in a second, whether or not earlier ones
	// are answered; waiting for a free connection counts as latency. 0 is a closed
	// loop: each connection sends its next request when the last is answered.
	Rate float64
}

// Result is how it went, without the warm-up. Errors are those of the requests
// that got no answer of status 2xx within ten seconds; PerSecond counts the others.
type Result struct {
	Requests   int64         `json:"requests"`
	Errors     int64         `json:"errors"`
	FirstError string        `json:"first_error,omitempty"`
	PerSecond  float64       `json:"per_second"`
	P50        time.Duration `json:"p50"`
	P90        time.Duration `json:"p90"`
	P99        time.Duration `json:"p99"`
	P999       time.Duration `json:"p999"`
	Max        time.Duration `json:"max"`
}

// Generator drives a server.
type Generator interface {
	Name() string
	Run(ctx context.Context, w Work) (Result, error)
}
