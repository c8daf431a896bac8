package load

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// recorder answers and remembers the requests that it got.
type recorder struct {
	mu       sync.Mutex
	requests map[string]int // method, path, header and body: how often
	status   func(r *http.Request) int
}

func (s *recorder) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.requests == nil {
		s.requests = map[string]int{}
	}
	s.requests[r.Method+" "+r.URL.String()+" "+r.Header.Get("Key")+" "+string(body)]++
	if s.status != nil {
		w.WriteHeader(s.status(r))
	}
}

func (s *recorder) count(prefix string) (total, distinct int) {
	for request, n := range s.requests {
		if strings.HasPrefix(request, prefix) {
			total, distinct = total+n, distinct+1
		}
	}
	return total, distinct
}

func generators(t *testing.T) map[string]Generator {
	t.Helper()
	runs := &Runs{}
	wrk, err := NewWrk(runs)
	if err != nil && os.Getenv("CI") != "true" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return map[string]Generator{"wrk": wrk, "vegeta": NewOpen(runs)}
}

func work(base string, requests ...Request) Work {
	return Work{Base: base, Requests: requests, Connections: 4, Duration: 300 * time.Millisecond, Rate: 1000}
}

func TestGeneratorsSendTheRequestsOfTheWorkload(t *testing.T) {
	for name, generator := range generators(t) {
		t.Run(name, func(t *testing.T) {
			s := &recorder{}
			server := httptest.NewServer(s)
			defer server.Close()
			w := work(server.URL,
				Request{Method: "GET", Path: "/list?a=%20b", Weight: 6},
				Request{Method: "GET", Path: "/read/{id}", IDs: []string{"one", "two", "three"}, Weight: 2},
				Request{Method: "POST", Path: "/create", Header: map[string]string{"Key": "k-{n}"}, Body: `{"name":"Ada \"{n}\""}`, Weight: 2})
			for range 2 { // the second run must not repeat the numbers of the first
				if result, err := generator.Run(t.Context(), w); err != nil || result.Errors > 0 || result.Requests == 0 || result.PerSecond <= 0 {
					t.Fatalf("%+v, %v", result, err)
				}
			}
			server.Close() // waits for requests that the generators have left behind
			lists, _ := s.count("GET /list?a=%20b ")
			reads, ids := s.count("GET /read/")
			creates, numbers := s.count("POST /create k-")
			if ids != 3 || creates == 0 || numbers != creates {
				t.Errorf("%d ids; %d creates with %d different numbers", ids, creates, numbers)
			}
			if share := float64(lists) / float64(lists+reads+creates); share < 0.5 || share > 0.7 {
				t.Errorf("%d lists, %d reads and %d creates, want 6 to 2 to 2", lists, reads, creates)
			}
			for request := range s.requests {
				if key, body, ok := strings.Cut(strings.TrimPrefix(request, "POST /create k-"), " "); ok && strings.HasPrefix(request, "POST") {
					if body != `{"name":"Ada \"`+key+`\""}` {
						t.Fatalf("header and body have different numbers: %s", request)
					}
				}
			}
		})
	}
}

func TestAnswersWithoutSuccessAreErrors(t *testing.T) {
	for name, generator := range generators(t) {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(&recorder{status: func(r *http.Request) int {
				if r.URL.Path == "/bad" {
					return http.StatusInternalServerError
				}
				return http.StatusNoContent
			}})
			defer server.Close()
			result, err := generator.Run(t.Context(), work(server.URL, Request{Method: "GET", Path: "/good"}, Request{Method: "GET", Path: "/bad"}))
			if err != nil || result.Errors == 0 || result.Errors == result.Requests || result.FirstError == "" {
				t.Errorf("%+v, %v", result, err)
			}
		})
	}
}

func TestCheckReportsTheAnswerOfTheServer(t *testing.T) {
	for _, status := range []int{http.StatusFound, http.StatusForbidden} {
		server := httptest.NewServer(&recorder{status: func(*http.Request) int { return status }})
		defer server.Close()
		err := Check(t.Context(), work(server.URL, Request{Method: "GET", Path: "/x"}), &Runs{})
		if err == nil || !strings.Contains(err.Error(), http.StatusText(status)) {
			t.Errorf("status %d: %v", status, err)
		}
	}
}

func TestOpenLoopCountsTheWaitForABusyServer(t *testing.T) {
	busy := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-busy }))
	defer server.Close()
	time.AfterFunc(400*time.Millisecond, func() { close(busy) })
	w := work(server.URL, Request{Method: "GET", Path: "/"})
	w.Connections, w.Rate = 1, 100
	result, err := NewOpen(&Runs{}).Run(t.Context(), w)
	if err != nil || result.Errors > 0 || result.Latency.P50 < 100*time.Millisecond {
		t.Errorf("%+v, %v", result, err)
	}
}

func TestScheduleSpreadsRequestsByWeight(t *testing.T) {
	var got strings.Builder
	for _, i := range schedule([]Request{{Weight: 3}, {Weight: 2}, {}}) {
		got.WriteByte(byte('a' + i))
	}
	if got.String() != "abcaba" && got.String() != "abacba" {
		t.Errorf("%s", &got)
	}
}

func TestWrkReportIsRead(t *testing.T) {
	got, err := parseWrk("  2000 requests in 1.00s, 1.34MB read\n  Socket errors: connect 0, read 3, write 0, timeout 2\n  Non-2xx or 3xx responses: 500\nRequests/sec:   2000.50\n")
	want := Result{Requests: 2000, Errors: 505, PerSecond: 1500.375, FirstError: "answers with an error status, failed reads, timeouts"}
	if err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := parseWrk("unable to connect"); err == nil {
		t.Error("accepted a report without requests")
	}
}
