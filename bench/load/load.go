// Package load sends requests to a server over loopback and reports how fast it answered:
// wrk drives closed loops, vegeta open ones.
package load

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
)

// Request is one kind of request. In Path, Body and the values of Header, {n} stands for a
// number that no other request has; in Path, {id} stands for the next one of IDs.
type Request struct {
	Method string
	Path   string
	Header map[string]string
	Body   string
	IDs    []string
	Weight int // share of this request among those of the same work; 0 counts as 1
}

// Work is the load on one server.
type Work struct {
	Base        string // http://127.0.0.1:port
	Requests    []Request
	Connections int
	Duration    time.Duration
	// Rate is the number of requests per second of an open loop, which sends them whether or
	// not earlier ones are answered. A closed loop ignores it: each connection sends its next
	// request when the last one is answered.
	Rate int
}

// Result is what a load observed. Requests without a 2xx answer within Timeout are errors;
// PerSecond counts all others.
type Result struct {
	Requests   int64
	Errors     int64
	FirstError string
	PerSecond  float64
	Latency    Latency // of open loops only
}

// Latency holds percentiles of the time from the intended sending of a request to its answer.
type Latency struct{ P50, P90, P99, P999, Max time.Duration }

// Generator runs a load.
type Generator interface {
	Run(ctx context.Context, w Work) (Result, error)
}

// Timeout is the time after which a missing answer is an error.
const Timeout = 10 * time.Second

// Runs numbers the runs of all generators, so that they never repeat each other's numbers.
type Runs struct{ last atomic.Int64 }

func (r *Runs) next() string { return fmt.Sprintf("%05d", r.last.Add(1)) }

// number is the value of {n}: the run, the thread and the request. It always has the length
// of numberMark, so that a request can be formatted before its number is known.
func number(run string, thread, request int) string {
	return fmt.Sprintf("%s%d%07d", run, thread, request)
}

const numberMark = "<<<<number>>>" // as long as a number

// schedule returns indexes of requests, each as often as its weight and spread evenly:
// every request gains its weight in credit at each step, and the one with the most is sent.
func schedule(requests []Request) []int {
	credit := make([]int, len(requests))
	total := 0
	for _, r := range requests {
		total += max(r.Weight, 1)
	}
	out := make([]int, total)
	for step := range out {
		next := 0
		for i, r := range requests {
			credit[i] += max(r.Weight, 1)
			if credit[i] > credit[next] {
				next = i
			}
		}
		credit[next] -= total
		out[step] = next
	}
	return out
}

// Check sends each request once and fails unless all answers are 2xx. wrk counts other
// answers without saying what they were, and takes redirects for success.
func Check(ctx context.Context, w Work, runs *Runs) error {
	client := &http.Client{Timeout: Timeout, CheckRedirect: noRedirects}
	run := runs.next()
	for i, r := range w.Requests {
		request, err := r.build(ctx, w.Base, number(run, 0, i), i)
		if err != nil {
			return err
		}
		response, err := client.Do(request)
		if err != nil {
			return err
		}
		body, err := io.ReadAll(response.Body)
		response.Body.Close()
		if err != nil {
			return fmt.Errorf("%s %s: %w", request.Method, request.URL, err)
		}
		if response.StatusCode/100 != 2 {
			return fmt.Errorf("%s %s: %s: %.200s", request.Method, request.URL, response.Status, body)
		}
	}
	return nil
}

func noRedirects(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// fill puts the number and an id into the request.
func (r Request) fill(n string, turn int) Request {
	if len(r.IDs) > 0 {
		r.Path = strings.ReplaceAll(r.Path, "{id}", r.IDs[turn%len(r.IDs)])
	}
	r.Path = strings.ReplaceAll(r.Path, "{n}", n)
	r.Body = strings.ReplaceAll(r.Body, "{n}", n)
	header := make(map[string]string, len(r.Header))
	for name, value := range r.Header {
		header[name] = strings.ReplaceAll(value, "{n}", n)
	}
	r.Header = header
	return r
}

func (r Request) build(ctx context.Context, base, n string, turn int) (*http.Request, error) {
	r = r.fill(n, turn)
	request, err := http.NewRequestWithContext(ctx, r.Method, base+r.Path, strings.NewReader(r.Body))
	if err != nil {
		return nil, fmt.Errorf("make a request: %w", err)
	}
	for name, value := range r.Header {
		request.Header.Set(name, value)
	}
	return request, nil
}
