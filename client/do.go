package client

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"bursar/api"
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
	if !strings.HasPrefix(path, moneyVersion+"/") {
		path = version + path
	}
	text, err := encode(body)
	if err != nil {
		return nil, err
	}
	op := &call{method: method, path: path, body: text}
	if hasQuery {
		op.path += "?" + query
	}
	if method == http.MethodPost && (path == api.CreateDeviceCode.Path() || path == api.CreateToken.Path()) {
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

// run calls an operation without a body.
func run[Out any](ctx context.Context, c *Client, operation api.Op[api.None, Out], ids ...string) (*Out, error) {
	return runWith(ctx, c, operation, nil, ids...)
}

// runWith calls an operation without a body, with a query.
func runWith[Out any](ctx context.Context, c *Client, operation api.Op[api.None, Out], q query, ids ...string) (*Out, error) {
	op, err := callOf(operation, ids...)
	if err != nil {
		return nil, err
	}
	op.query = q
	return fetch[Out](ctx, c, op)
}

// submit calls an operation with a body.
func submit[In, Out any](ctx context.Context, c *Client, operation api.Op[In, Out], body In, ids ...string) (*Out, error) {
	return submitWith(ctx, c, operation, nil, body, ids...)
}

// submitWith calls an operation with a body, with a query.
func submitWith[In, Out any](ctx context.Context, c *Client, operation api.Op[In, Out], q query, body In, ids ...string) (*Out, error) {
	op, err := callOf(operation, ids...)
	if err == nil {
		op.query = q
		op.body, err = encode(body)
	}
	if err != nil {
		return nil, err
	}
	return fetch[Out](ctx, c, op)
}

// download calls an operation whose response is a file.
func download(ctx context.Context, c *Client, operation api.Op[api.None, api.File], q query, w io.Writer, ids ...string) error {
	op, err := callOf(operation, ids...)
	if err == nil {
		op.query, op.file = q, w
		_, _, err = c.send(ctx, op)
	}
	return err
}
