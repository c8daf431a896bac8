package web

import (
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"bursar/internal/fault"
)

// Flat marks an answer whose fields stand at the top level as well as in data:
// the specification shows device codes both ways.
type Flat interface{ Flat() }

// listing is an answer with more than data: a list that may go on.
type listing interface {
	appendListing(dst []byte) ([]byte, error)
}

// appendAnswer appends the envelope of a success.
func appendAnswer(dst []byte, out any) ([]byte, error) {
	if list, ok := out.(listing); ok {
		return list.appendListing(dst)
	}
	data, err := json.Marshal(out, jsontext.PreserveRawStrings(true))
	if err != nil {
		return nil, fmt.Errorf("encode an answer: %w", err)
	}
	dst = append(dst, `{"ok":true,`...)
	if _, ok := out.(Flat); ok {
		dst = append(dst, data[1:len(data)-1]...)
		dst = append(dst, ',')
	}
	dst = append(dst, `"data":`...)
	dst = append(dst, data...)
	return append(dst, '}'), nil
}

type failure struct {
	OK    bool    `json:"ok"`
	Error problem `json:"error"`
}

type problem struct {
	Code    fault.Code `json:"code"`
	Message string     `json:"message"`
	Details any        `json:"details,omitzero"`
}

// appendFault appends the envelope of an error.
func appendFault(dst []byte, f *fault.Fault) []byte {
	// A message may quote what the client sent, so mend it rather than fail.
	body, err := json.Marshal(failure{Error: problem{f.Code, f.Message, f.Details}}, jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return append(dst, `{"ok":false,"error":{"code":"INTERNAL_ERROR","message":"the error could not be described"}}`...)
	}
	return append(dst, body...)
}

// AppendString appends a JSON string.
func AppendString[S ~string | ~[]byte](dst []byte, s S) []byte {
	out, err := jsontext.AppendQuote(dst, s)
	if err != nil {
		out, _ = jsontext.AppendQuote(dst, "\uFFFD") // only invalid UTF-8 fails, and none is ever stored
	}
	return out
}
