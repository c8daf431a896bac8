package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// Do calls any path of the API. Like the other methods, it signs in, sends an idempotency key with every change, and retries what is safe
// to retry. The path may have a query and may begin with /v1, or with /v2 for the paths there.
//
// A body that is nil, []byte, [json.RawMessage] or [io.Reader] is sent unchanged, any other as JSON. Unless it is nil, out receives the
// `data` of the response. The Response contains all of it. An error response is returned as an [*Error], together with the Response. If
// there was no response, the Response is nil.
func (c *Client) Do(ctx context.Context, method, path string, body, out any) (*Response, error) {
	method = strings.ToUpper(method)
	path = strings.TrimPrefix("/"+strings.TrimLeft(path, "/"), version+"/")
	path, query, hasQuery := strings.Cut("/"+strings.TrimLeft(path, "/"), "?")
	text, err := encode(body)
	if err != nil {
		return nil, err
	}
	op := &call{method: method, path: path, body: text}
	if hasQuery {
		op.path += "?" + query
	}
	if method == http.MethodPost && (path == "/auth/device-code" || path == "/auth/token") {
		op.once, op.final = true, true // these use neither an idempotency key nor a session
	}
	response, _, err := c.send(ctx, op)
	if err != nil {
		return response, err
	}
	if out != nil {
		err = decode(op, response, &envelope{Data: out})
	}
	return response, err
}

// envelope is the JSON object around the data of a response.
type envelope struct {
	Data    any    `json:"data"`
	Cursor  string `json:"cursor"`
	HasMore bool   `json:"has_more"`
}

func decode(op *call, r *Response, into *envelope) error {
	if err := json.Unmarshal(r.Body, into); err != nil {
		return fmt.Errorf("bursar: %s %s: the answer (request %s) cannot be read: %w", op.method, shown(op.path), r.RequestID, err)
	}
	return nil
}

// fetch runs a call and decodes its data.
func fetch[T any](ctx context.Context, c *Client, op *call) (*T, error) {
	response, _, err := c.send(ctx, op)
	if err != nil {
		return nil, err
	}
	var data T
	if err := decode(op, response, &envelope{Data: &data}); err != nil {
		return nil, err
	}
	return &data, nil
}

// read reads one resource.
func read[T any](ctx context.Context, c *Client, first string, rest ...string) (*T, error) {
	return change[T](ctx, c, http.MethodGet, nil, first, rest...)
}

// readWith reads from a path with a query.
func readWith[T any](ctx context.Context, c *Client, q query, first string, rest ...string) (*T, error) {
	path, err := route(first, rest...)
	if err != nil {
		return nil, err
	}
	return fetch[T](ctx, c, &call{method: http.MethodGet, path: path, query: url.Values(q)})
}

// change sends a body to a path.
func change[T any](ctx context.Context, c *Client, method string, body any, first string, rest ...string) (*T, error) {
	path, err := route(first, rest...)
	if err != nil {
		return nil, err
	}
	text, err := encode(body)
	if err != nil {
		return nil, err
	}
	return fetch[T](ctx, c, &call{method: method, path: path, body: text})
}
