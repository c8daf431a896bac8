package client

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"bursar/api"
)

// call is one operation, with all of its attempts.
type call struct {
	method  string
	path    string // escaped
	query   query
	header  http.Header
	body    []byte        // nil for no body
	upload  io.ReadSeeker // a body that is sent unchanged, from its start in every attempt
	patient bool          // the server works on the upload before it responds, which may take long

	authorization string // used in place of the session's
	open          bool   // sent without a session
	once          bool   // retried only if it was never sent
	final         bool   // ends the session, so it must not be renewed for this call

	file  io.Writer // receives the response as it arrives, on success
	begun bool      // something may have been written to the file
}

func (c *call) changes() bool {
	return c.method != http.MethodGet && c.method != http.MethodHead
}

// callOf returns the call of an operation, with the ids for its path in their order.
func callOf(operation api.Operation, ids ...string) (*call, error) {
	segments := strings.Split(operation.Path(), "/")
	for i, segment := range segments {
		if !strings.HasPrefix(segment, "{") {
			continue
		}
		id := ids[0]
		ids = ids[1:]
		// A proxy would resolve dot segments to another resource.
		if id == "" || id == "." || id == ".." {
			return nil, fmt.Errorf("bursar: %q cannot be part of the path %s: an id is missing", id, operation.Path())
		}
		segments[i] = url.PathEscape(id)
	}
	return &call{method: operation.Method(), path: strings.Join(segments, "/")}, nil
}

// encode returns bytes unchanged and anything else as JSON. It runs once per call, so that a retry sends the same bytes.
func encode(body any) ([]byte, error) {
	switch body := body.(type) {
	case nil:
		return nil, nil
	case []byte:
		return body, nil
	case json.RawMessage:
		return body, nil
	case io.Reader:
		text, err := io.ReadAll(body)
		if err != nil {
			return nil, fmt.Errorf("bursar: read the body: %w", err)
		}
		return text, nil
	}
	text, err := api.EncodeJSON(body)
	if err != nil {
		return nil, fmt.Errorf("bursar: encode the body: %w", err)
	}
	return text, nil
}

type idempotencyKey struct{}

// WithIdempotencyKey returns a context that sets the idempotency key of a change. The change then happens at most once. The key is 1 to 255
// visible ASCII characters. For 24 hours, the same call with the same key returns the first response, from any process. A different call
// with the key is refused with [api.CodeIdempotencyConflict]. Without this, each call has a key of its own.
//
//	ctx := client.WithIdempotencyKey(ctx, "import-2026-05-line-17")
//	created, err := c.Directory.Create(ctx, …)
func WithIdempotencyKey(ctx context.Context, key string) context.Context {
	return context.WithValue(ctx, idempotencyKey{}, key)
}

const maxIdempotencyKey = 255

func idempotencyKeyOf(ctx context.Context) (string, error) {
	key, chosen := ctx.Value(idempotencyKey{}).(string)
	if !chosen {
		return rand.Text(), nil
	}
	if !visible(key) || len(key) > maxIdempotencyKey {
		return "", errors.New("bursar: an idempotency key must be 1 to 255 visible ASCII characters")
	}
	return key, nil
}

// visible reports whether a text can be sent in a header.
func visible(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' })
}

// address returns the URL of a call.
func (c *Client) address(op *call) (string, error) {
	text := c.base.String() + op.path
	if len(op.query) > 0 {
		text += "?" + url.Values(op.query).Encode()
	}
	target, err := url.Parse(text)
	if err != nil || target.Host != c.base.Host || target.Scheme != c.base.Scheme {
		return "", fmt.Errorf("bursar: %q is not a path of the API", op.path)
	}
	return text, nil
}

var errUnsendable = errors.New("the request cannot be made")

// request builds the request of one attempt.
func (c *Client) request(ctx context.Context, op *call, address, authorization, key string, silence *time.Timer) (*http.Request, error) {
	var body io.Reader
	if op.body != nil {
		body = bytes.NewReader(op.body)
	}
	size := int64(0)
	if op.upload != nil {
		var err error
		if size, err = op.upload.Seek(0, io.SeekEnd); err == nil {
			_, err = op.upload.Seek(0, io.SeekStart)
		}
		if err != nil {
			return nil, fmt.Errorf("bursar: %w: %w", errUnsendable, err)
		}
		body = leaving{op.upload, silence, c.timeout, op.patient}
	}
	request, err := http.NewRequestWithContext(ctx, op.method, address, body)
	if err != nil {
		return nil, fmt.Errorf("bursar: %w: %w", errUnsendable, err)
	}
	if op.upload != nil {
		request.ContentLength = size
	}
	if op.file == nil {
		request.Header.Set("Accept", "application/json")
	}
	request.Header.Set("User-Agent", c.agent)
	if op.body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if op.upload != nil {
		request.Header.Set("Content-Type", "application/octet-stream")
	}
	for name, values := range op.header {
		request.Header[name] = values
	}
	if authorization != "" {
		request.Header.Set("Authorization", authorization)
	}
	if key != "" {
		request.Header.Set("Idempotency-Key", key)
	}
	return request, nil
}

// shown returns a path for logs and errors. It omits device codes, which are secret, and the query, which may contain search terms.
func shown(path string) string {
	const codes = version + "/auth/device-code/"
	path, _, _ = strings.Cut(path, "?")
	if code, ok := strings.CutPrefix(path, codes); ok {
		_, rest, more := strings.Cut(code, "/")
		path = codes + "{code}"
		if more {
			path += "/" + rest
		}
	}
	return path
}
