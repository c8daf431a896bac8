package client

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"time"

	"bursar/api"
)

// retryPolicy decides what is retried, how often and when.
type retryPolicy struct {
	retries  int
	min, max time.Duration
}

// maxRetryAfter is the longest pause that the server can request. If it requests more, the caller gets the error.
const maxRetryAfter = time.Minute

// next reports whether to retry after a failed attempt, and after what pause.
func (p retryPolicy) next(op *call, attempt int, err error) (wait time.Duration, again bool) {
	if attempt > p.retries || !repeatable(op, err) {
		return 0, false
	}
	wait = p.backoff(attempt)
	var refused *Error
	if errors.As(err, &refused) && refused.RetryAfter > 0 {
		if refused.RetryAfter > maxRetryAfter {
			return 0, false
		}
		// Clients with the same Retry-After must not all return at once.
		wait = refused.RetryAfter + rand.N(p.min+1)
	}
	return wait, true
}

// backoff is exponential, with full jitter.
func (p retryPolicy) backoff(attempt int) time.Duration {
	bound := p.min
	for range attempt - 1 {
		if bound >= p.max/2 {
			bound = p.max
			break
		}
		bound *= 2
	}
	return rand.N(bound + 1)
}

func repeatable(op *call, err error) bool {
	var refused *Error
	if !errors.As(err, &refused) {
		return repeatableFailure(op, err)
	}
	switch refused.Status {
	case http.StatusTooManyRequests:
		return true // the server has done nothing
	case http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return !op.once
	case http.StatusConflict:
		return refused.Code == api.CodeIdempotencyConflict && refused.stillRunning
	}
	return false
}

// repeatableFailure reports whether a call without a response can be retried.
func repeatableFailure(op *call, err error) bool {
	var (
		certificate *tls.CertificateVerificationError
		record      tls.RecordHeaderError
		authority   x509.UnknownAuthorityError
		host        x509.HostnameError
		name        *net.DNSError
		dial        *net.OpError
	)
	switch {
	case op.begun: // a retry would write the file a second time
		return false
	case errors.Is(err, errUnsendable), errors.Is(err, errAnswerTooLarge), errors.Is(err, errRedirects),
		errors.As(err, &certificate), errors.As(err, &record), errors.As(err, &authority), errors.As(err, &host),
		errors.As(err, &name) && name.IsNotFound:
		return false // a retry would fail, too
	case !op.once:
		return true
	}
	return errors.As(err, &dial) && dial.Op == "dial"
}

// retryAfter parses the header: seconds or a date.
func retryAfter(header http.Header, now time.Time) (wait time.Duration, given bool) {
	text := header.Get("Retry-After")
	if seconds, err := strconv.ParseInt(text, 10, 32); err == nil {
		return max(0, time.Duration(seconds)*time.Second), true
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0, false
	}
	return max(0, at.Sub(now)), true
}
