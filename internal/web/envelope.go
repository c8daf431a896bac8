package web

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"bursar/api"
	"bursar/internal/fault"
)

// Flat marks an answer whose fields are at the top level as well as in data. The
// specification shows device codes both ways.
type Flat interface{ Flat() }

// listing is an answer that writes its own envelope: a list with its cursor.
type listing interface {
	appendListing(dst []byte) ([]byte, error)
}

// appender is an answer that encodes itself; see api.User.
type appender interface {
	AppendJSON(dst []byte) []byte
}

// Created is the answer of a method that creates something: 201 with what was created, or 200 with
// what already existed, such as under the same external id.
type Created[T any] struct {
	Value    T
	Existing bool // it already existed
}

func (m Created[T]) unwrap() (any, int) {
	if m.Existing {
		return m.Value, http.StatusOK
	}
	return m.Value, http.StatusCreated
}

// UnmarshalJSON decodes an answer that was stored for an idempotency key.
func (m *Created[T]) UnmarshalJSON(text []byte) error { return json.Unmarshal(text, &m.Value) }

// wrapped is an answer with its own status.
type wrapped interface{ unwrap() (any, int) }

// unwrap returns the body of an answer, and its status.
func unwrap(out any) (any, int) {
	if made, ok := out.(wrapped); ok {
		return made.unwrap()
	}
	return out, http.StatusOK
}

// Outcome is the answer of a method that stores something but may still respond with a fault: see approval.Outcome.
type Outcome interface {
	// Kept returns the answer or the fault.
	Kept() (any, *fault.Fault)
}

// Maskable is an answer with account numbers. A retry with the same idempotency key gets it masked, because the caller may have lost the
// permission to see them, unless the method checks that and calls db.Replay.Unmask.
type Maskable interface{ Masked() any }

// appendAnswer appends the envelope of a success.
func appendAnswer(dst []byte, out any) ([]byte, error) {
	if list, ok := out.(listing); ok {
		return list.appendListing(dst)
	}
	dst = append(dst, `{"ok":true,`...)
	if _, ok := out.(Flat); ok {
		var err error
		start := len(dst)
		if dst, err = appendJSON(dst, out); err != nil {
			return nil, err
		}
		dst[len(dst)-1] = ',' // replaces the closing brace
		dst = slices.Delete(dst, start, start+1)
	}
	dst, err := appendJSON(append(dst, `"data":`...), out)
	return append(dst, '}'), err
}

func appendJSON(dst []byte, out any) ([]byte, error) {
	if a, ok := out.(appender); ok {
		return a.AppendJSON(dst), nil
	}
	buffer := bytes.NewBuffer(dst)
	if err := json.MarshalWrite(buffer, out, jsontext.PreserveRawStrings(true)); err != nil {
		return nil, fmt.Errorf("encode an answer: %w", err)
	}
	return buffer.Bytes(), nil
}

type failure struct {
	OK    bool    `json:"ok"`
	Error problem `json:"error"`
}

type problem struct {
	Code    api.Code `json:"code"`
	Message string   `json:"message"`
	Details any      `json:"details,omitzero"`
}

// appendFault appends the envelope of an error.
func appendFault(dst []byte, f *fault.Fault) []byte {
	// A message may quote invalid UTF-8 that the client sent: replace it.
	body, err := json.Marshal(failure{Error: problem{f.Code, f.Message, f.Details}}, jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return append(dst, `{"ok":false,"error":{"code":"INTERNAL_ERROR","message":"the error could not be described"}}`...)
	}
	return append(dst, body...)
}
