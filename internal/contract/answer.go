package contract

import (
	"bytes"
	"fmt"
	"mime"
	"net/http"
	"strconv"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

type answer struct {
	headers map[string]headerRule
	bodies  map[string]*jsonschema.Schema // by content type
}

type headerRule struct {
	required bool
	schema   *jsonschema.Schema
}

func (s *source) unrouted() (map[int]*answer, error) {
	named := map[int]string{http.StatusNotFound: "NotFound", http.StatusMethodNotAllowed: "MethodNotAllowed"}
	answers := map[int]*answer{}
	for status, name := range named {
		if object(object(s.root["components"])["responses"])[name] == nil {
			continue
		}
		var err error
		if answers[status], err = s.answer("/components/responses/" + name); err != nil {
			return nil, fmt.Errorf("the response %s: %w", name, err)
		}
	}
	return answers, nil
}

func (s *source) answer(pointer string) (*answer, error) {
	pointer, response, err := s.follow(pointer)
	if err != nil {
		return nil, err
	}
	if known := s.answers[pointer]; known != nil {
		return known, nil
	}
	compiled := &answer{headers: map[string]headerRule{}, bodies: map[string]*jsonschema.Schema{}}
	for name := range object(response["headers"]) {
		at, header, err := s.follow(pointer + "/headers/" + escape(name))
		if err != nil {
			return nil, err
		}
		schema, err := s.compile(at + "/schema")
		if err != nil {
			return nil, err
		}
		required, _ := header["required"].(bool)
		compiled.headers[name] = headerRule{required: required, schema: schema}
	}
	for media := range object(response["content"]) {
		if compiled.bodies[media], err = s.compile(pointer + "/content/" + escape(media) + "/schema"); err != nil {
			return nil, err
		}
	}
	s.answers[pointer] = compiled
	return compiled, nil
}

func (a *answer) checkHeaders(header http.Header) error {
	for name, rule := range a.headers {
		value := header.Get(name)
		if value == "" {
			if rule.required {
				return fmt.Errorf("the header %s is missing", name)
			}
			continue
		}
		if err := rule.accepts(value); err != nil {
			return fmt.Errorf("the header %s: %s: %w", name, value, err)
		}
	}
	return nil
}

func (a *answer) checkBody(header http.Header, body []byte) error {
	media, _, err := mime.ParseMediaType(header.Get("Content-Type"))
	schema := a.bodies[media]
	if err != nil || schema == nil {
		return fmt.Errorf("the content type is %q, which is not documented", header.Get("Content-Type"))
	}
	var value any = string(body)
	if media == "application/json" {
		if value, err = jsonschema.UnmarshalJSON(bytes.NewReader(body)); err != nil {
			return fmt.Errorf("the body is not JSON: %w\n%s", err, body)
		}
	}
	if err := schema.Validate(value); err != nil {
		return fmt.Errorf("the body does not match: %w\n%s", err, body)
	}
	return nil
}

// accepts accepts a value that consists of digits as a text or as a number, because a
// header has no type and a request id may consist of digits.
func (r headerRule) accepts(value string) error {
	err := r.schema.Validate(value)
	if err == nil {
		return nil
	}
	if number, parseErr := strconv.ParseInt(value, 10, 64); parseErr == nil {
		return r.schema.Validate(number)
	}
	return err
}
