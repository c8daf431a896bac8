package client

import (
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"syscall"
	"testing"
	"time"

	"bursar/api"
)

func TestWhatIsRepeated(t *testing.T) {
	t.Parallel()
	dial := &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	cases := map[string]struct {
		err         error
		keyed, once bool
	}{
		"refused connection":   {fmt.Errorf("bursar: %w", dial), true, true},
		"lost connection":      {&net.OpError{Op: "read", Err: syscall.ECONNRESET}, true, false},
		"half an answer":       {io.ErrUnexpectedEOF, true, false},
		"unknown host":         {&net.OpError{Op: "dial", Err: &net.DNSError{IsNotFound: true}}, false, false},
		"name server down":     {&net.OpError{Op: "dial", Err: &net.DNSError{IsTimeout: true}}, true, true},
		"untrusted server":     {x509.UnknownAuthorityError{}, false, false},
		"too large":            {errAnswerTooLarge, false, false},
		"cannot be sent":       {fmt.Errorf("%w: %w", errUnsendable, errors.New("x")), false, false},
		"rate limited":         {&Error{Status: 429, Code: api.CodeRateLimited}, true, true},
		"internal":             {&Error{Status: 500, Code: api.CodeInternal}, true, false},
		"bad gateway":          {&Error{Status: 502}, true, false},
		"unavailable":          {&Error{Status: 503}, true, false},
		"gateway timeout":      {&Error{Status: 504}, true, false},
		"not implemented":      {&Error{Status: 501}, false, false},
		"still running":        {&Error{Status: 409, Code: api.CodeIdempotencyConflict, stillRunning: true}, true, true},
		"another request":      {&Error{Status: 409, Code: api.CodeIdempotencyConflict}, false, false},
		"another conflict":     {&Error{Status: 409, stillRunning: true}, false, false},
		"invalid":              {&Error{Status: 400, Code: api.CodeValidation}, false, false},
		"unauthorized":         {&Error{Status: 401}, false, false},
		"request timeout":      {&Error{Status: 408}, false, false},
		"business rule":        {&Error{Status: 422}, false, false},
		"redirect":             {&Error{Status: 302}, false, false},
		"asks for two minutes": {&Error{Status: 429, RetryAfter: 2 * time.Minute}, false, false},
	}
	for name, c := range cases {
		p := retryPolicy{retries: 3, min: time.Millisecond, max: time.Second}
		if _, again := p.next(&call{method: "POST"}, 1, c.err); again != c.keyed {
			t.Errorf("%s: with a key repeated = %v", name, again)
		}
		if _, again := p.next(&call{method: "POST", once: true}, 1, c.err); again != c.once {
			t.Errorf("%s: without a key repeated = %v", name, again)
		}
		if _, again := p.next(&call{method: "GET"}, 4, c.err); again {
			t.Errorf("%s: a fifth attempt", name)
		}
	}
}

func TestPausesGrowWithinTheirBounds(t *testing.T) {
	t.Parallel()
	p := retryPolicy{retries: 100, min: 100 * time.Millisecond, max: time.Second}
	bounds := []time.Duration{100, 200, 400, 1000, 1000, 1000}
	for i, bound := range bounds {
		bound *= time.Millisecond
		largest := time.Duration(0)
		for range 2000 {
			wait := p.backoff(i + 1)
			if wait < 0 || wait > bound {
				t.Fatalf("pause %d is %s", i+1, wait)
			}
			largest = max(largest, wait)
		}
		if largest <= bound/2 {
			t.Errorf("pause %d is never longer than %s", i+1, largest)
		}
	}
	if wait := (retryPolicy{}).backoff(50); wait != 0 {
		t.Errorf("no pause at all is %s", wait)
	}
	if wait := (retryPolicy{min: 1, max: 1<<63 - 2}).backoff(200); wait < 0 {
		t.Errorf("a pause of %s", wait)
	}
}

func TestRetryAfterCountsMoreThanThePause(t *testing.T) {
	t.Parallel()
	p := retryPolicy{retries: 3, min: time.Millisecond, max: 2 * time.Millisecond}
	wait, again := p.next(&call{}, 1, &Error{Status: 503, RetryAfter: 7 * time.Second})
	if !again || wait < 7*time.Second || wait > 7*time.Second+time.Millisecond {
		t.Errorf("waits %s, %v", wait, again)
	}
}

func TestRetryAfterIsSecondsOrADate(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Duration{
		"3": 3 * time.Second, "0": 0, "-5": 0,
		now.Add(90 * time.Second).Format(http.TimeFormat): 90 * time.Second,
		now.Add(-time.Hour).Format(http.TimeFormat):       0,
	} {
		got, given := retryAfter(http.Header{"Retry-After": {text}}, now)
		if got != want || !given {
			t.Errorf("%q is %s, %v", text, got, given)
		}
	}
	for _, text := range []string{"", "soon", "1.5", "99999999999999999999"} {
		if got, given := retryAfter(http.Header{"Retry-After": {text}}, now); got != 0 || given {
			t.Errorf("%q is %s, %v", text, got, given)
		}
	}
}

func TestPathsAreShownWithoutSecrets(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"/v1/auth/device-code":                "/v1/auth/device-code",
		"/v1/auth/device-code/K7MPXQ":         "/v1/auth/device-code/{code}",
		"/v1/auth/device-code/K7MPXQ/approve": "/v1/auth/device-code/{code}/approve",
		"/v1/directory?q=ada":                 "/v1/directory",
		"/v1/directory/entry_1":               "/v1/directory/entry_1",
	} {
		if got := shown(path); got != want {
			t.Errorf("%s is shown as %s", path, got)
		}
	}
}
