package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Response is a complete HTTP response, as returned by [Client.Do].
type Response struct {
	Status    int
	Header    http.Header
	Body      []byte
	RequestID string
}

// maxAnswer is the largest response in bytes. A page has at most 2 MiB, a whole list more.
const maxAnswer = 64 << 20

var errAnswerTooLarge = fmt.Errorf("the answer is larger than %d MiB", maxAnswer>>20)

// send runs a call. It signs in, retries what is safe to retry, and renews a session that has ended. It returns an error response together
// with its error.
func (c *Client) send(ctx context.Context, op *call) (*Response, int, error) {
	address, err := c.address(op)
	if err != nil {
		return nil, 0, err
	}
	var key string
	if op.changes() && !op.open {
		if key, err = idempotencyKeyOf(ctx); err != nil {
			return nil, 0, err
		}
	}
	renewed := false
	for attempt := 1; ; attempt++ {
		authorization, token := op.authorization, ""
		if !op.open {
			if token, err = c.session.get(ctx); err != nil {
				return nil, attempt, err
			}
			if token != "" {
				authorization = "Bearer " + token
			}
		}
		response, err := c.attempt(ctx, op, attempt, address, authorization, key)
		if err == nil {
			return response, attempt, nil
		}
		if IsUnauthorized(err) && !renewed && !op.open && !op.final && c.session.drop(token) {
			renewed = true
			attempt--
			continue
		}
		wait, again := c.retries.next(op, attempt, err)
		if !again || !c.pause(ctx, op, attempt, wait, err) {
			return response, attempt, interrupted(ctx, err)
		}
	}
}

// interrupted adds to an error that the context was done before the next attempt.
func interrupted(ctx context.Context, err error) error {
	if ctx.Err() == nil || errors.Is(err, ctx.Err()) {
		return err
	}
	return fmt.Errorf("%w (%w)", err, ctx.Err())
}

// attempt sends a request once. It reads the whole response, so that the connection can be reused.
func (c *Client) attempt(ctx context.Context, op *call, number int, address, authorization, key string) (*Response, error) {
	limited, cancel := ctx, context.CancelFunc(func() {})
	var silence *time.Timer
	switch {
	case c.timeout > 0 && op.file == nil && op.upload == nil:
		limited, cancel = context.WithTimeout(ctx, c.timeout)
	case c.timeout > 0:
		// A transfer has no total time limit, as long as it makes progress.
		limited, cancel = context.WithCancel(ctx)
		silence = time.AfterFunc(c.timeout, cancel)
	}
	defer cancel()
	request, err := c.request(limited, op, address, authorization, key, silence)
	if err != nil {
		return nil, err
	}
	started := time.Now()
	response, err := c.exchange(request, op, silence)
	if err != nil {
		err = c.explain(ctx, limited, op, err)
		c.log.LogAttrs(ctx, slog.LevelDebug, "bursar request failed", slog.String("method", op.method), slog.String("path", shown(op.path)),
			slog.Int("attempt", number), slog.Duration("duration", time.Since(started)), slog.String("error", err.Error()))
		return nil, err
	}
	c.log.LogAttrs(ctx, slog.LevelDebug, "bursar request", slog.String("method", op.method), slog.String("path", shown(op.path)),
		slog.Int("attempt", number), slog.Int("status", response.Status), slog.Duration("duration", time.Since(started)),
		slog.String("request_id", response.RequestID))
	return response, refusal(op, response)
}

func (c *Client) exchange(request *http.Request, op *call, silence *time.Timer) (*Response, error) {
	answer, err := c.http.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	response := &Response{Status: answer.StatusCode, Header: answer.Header, RequestID: answer.Header.Get("X-Request-Id")}
	if op.file != nil && isFile(response) {
		op.begun = true
		_, err := io.Copy(op.file, arriving{answer.Body, silence, c.timeout})
		if err != nil {
			err = fmt.Errorf("copy the answer: %w", err)
		}
		return response, err
	}
	response.Body, err = io.ReadAll(io.LimitReader(answer.Body, maxAnswer+1))
	if err != nil {
		return nil, fmt.Errorf("read the answer: %w", err)
	}
	if len(response.Body) > maxAnswer {
		return nil, errAnswerTooLarge
	}
	return response, nil
}

// isFile reports whether a response is a file from Bursar and not, for example, the login page of a network.
func isFile(r *Response) bool {
	return r.Status == http.StatusOK && strings.HasPrefix(r.Header.Get("Content-Disposition"), "attachment")
}

// arriving is a response body with a time limit for each part.
type arriving struct {
	body    io.Reader
	silence *time.Timer // nil for no limit
	limit   time.Duration
}

func (a arriving) Read(part []byte) (int, error) {
	if a.silence != nil {
		a.silence.Reset(a.limit)
		defer a.silence.Stop() // the writer may be slow
	}
	return a.body.Read(part)
}

// leaving is a request body with a time limit for each part. Unless it is patient, the wait for the response has the same limit.
type leaving struct {
	body    io.Reader
	silence *time.Timer // nil for no limit
	limit   time.Duration
	patient bool
}

func (l leaving) Read(part []byte) (int, error) {
	if l.silence != nil {
		l.silence.Reset(l.limit)
	}
	n, err := l.body.Read(part)
	if l.silence != nil && l.patient && errors.Is(err, io.EOF) {
		l.silence.Stop()
	}
	return n, err
}

// explain adds to an error which call had no response, and why. It omits the URL, which may contain a device code.
func (c *Client) explain(ctx, limited context.Context, op *call, err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	switch {
	case ctx.Err() != nil:
		err = ctx.Err()
	case limited.Err() != nil:
		err = fmt.Errorf("no answer within %s: %w", c.timeout, limited.Err())
	}
	return fmt.Errorf("bursar: %s %s: %w", op.method, shown(op.path), err)
}

// pause waits before a retry. It returns false if the context is done first.
func (c *Client) pause(ctx context.Context, op *call, attempt int, wait time.Duration, reason error) bool {
	if end, ok := ctx.Deadline(); ctx.Err() != nil || (ok && time.Until(end) <= wait) {
		return false
	}
	c.log.LogAttrs(ctx, slog.LevelDebug, "bursar request is repeated", slog.String("method", op.method), slog.String("path", shown(op.path)),
		slog.Int("attempt", attempt), slog.Duration("wait", wait), slog.String("reason", reason.Error()))
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// stayingHome returns an HTTP client that follows no redirect to another host, and none that changes the method. So neither the credential
// nor the body goes elsewhere.
func stayingHome(given *http.Client) *http.Client {
	own := *given
	own.CheckRedirect = func(next *http.Request, before []*http.Request) error {
		first := before[0]
		if next.URL.Host != first.URL.Host || next.URL.Scheme != first.URL.Scheme || next.Method != first.Method {
			return http.ErrUseLastResponse
		}
		if given.CheckRedirect != nil {
			return given.CheckRedirect(next, before)
		}
		if len(before) >= 10 {
			return errRedirects
		}
		return nil
	}
	return &own
}

var errRedirects = errors.New("the server redirects in a circle")
