// Package contract compares answers with the OpenAPI document. Tests use it, so that the
// server cannot answer anything that is not documented.
package contract

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// Checker contains every documented answer. It is safe for concurrent use.
type Checker struct {
	operations []operation
	unrouted   map[int]*answer
}

// UndocumentedError is returned for an operation, or one of its statuses, that is not documented.
type UndocumentedError struct {
	Method, Path string
	Status       int // 0 if the operation itself is not documented
}

func (e *UndocumentedError) Error() string {
	if e.Status == 0 {
		return fmt.Sprintf("%s %s is not documented", e.Method, e.Path)
	}
	return fmt.Sprintf("%s %s does not document the status %d", e.Method, e.Path, e.Status)
}

// New compiles the document, which load returns as JSON.
func New(load func() ([]byte, error)) (*Checker, error) {
	source, err := parse(load)
	if err != nil {
		return nil, err
	}
	checker := &Checker{}
	if checker.operations, err = source.operations(); err != nil {
		return nil, err
	}
	if checker.unrouted, err = source.unrouted(); err != nil {
		return nil, err
	}
	return checker, nil
}

// CheckResponse returns an error unless the document describes this answer to this
// request: the operation, the status, the headers and every field of the body. The answer
// to a HEAD request is checked like that to a GET request, without the body.
func (c *Checker) CheckResponse(req *http.Request, status int, header http.Header, body []byte) error {
	method, path := req.Method, req.URL.EscapedPath()
	if method == http.MethodHead {
		method = http.MethodGet
	}
	known := c.find(method, path)
	if known == nil {
		return &UndocumentedError{Method: req.Method, Path: path}
	}
	expected := known.answers[status]
	if expected == nil {
		return &UndocumentedError{Method: req.Method, Path: known.path, Status: status}
	}
	err := expected.checkHeaders(header)
	if err == nil && req.Method != http.MethodHead {
		err = expected.checkBody(header, body)
	}
	if err != nil {
		return fmt.Errorf("%s %s answered %d: %w", req.Method, path, status, err)
	}
	return nil
}

// CheckUnrouted checks an answer that belongs to no operation: 404 to an
// unknown path, 405 to a method that a path does not have.
func (c *Checker) CheckUnrouted(status int, header http.Header, body []byte) error {
	expected := c.unrouted[status]
	if expected == nil {
		return fmt.Errorf("status %d is not documented outside operations, only %v",
			status, slices.Sorted(maps.Keys(c.unrouted)))
	}
	if err := expected.checkHeaders(header); err != nil {
		return fmt.Errorf("answer %d outside operations: %w", status, err)
	}
	if err := expected.checkBody(header, body); err != nil {
		return fmt.Errorf("answer %d outside operations: %w", status, err)
	}
	return nil
}

// find matches the path first and the method second. So if a literal path lacks a method,
// the request does not match the path with a parameter in the same place. It relies on
// the order of operations, in which literal segments come before parameters.
func (c *Checker) find(method, path string) *operation {
	segments := strings.Split(path, "/")
	best := ""
	for i := range c.operations {
		one := &c.operations[i]
		if !one.matches(segments) || (best != "" && one.path != best) {
			continue
		}
		best = one.path
		if one.method == method {
			return one
		}
	}
	return nil
}
