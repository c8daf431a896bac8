package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"

	"bursar/internal/cli/term"
)

// body returns the body. For GET it adds the fields to the query instead.
func (call *rawCall) body() (any, error) {
	if call.input == "-" {
		return call.r.terminal.In, nil
	}
	if call.input != "" {
		text, err := os.ReadFile(call.input)
		if err != nil {
			return nil, fmt.Errorf("read the body: %w", err)
		}
		return text, nil
	}
	if len(call.fields)+len(call.texts) == 0 {
		return nil, nil
	}
	if call.method == http.MethodGet || call.method == http.MethodHead {
		return nil, call.query()
	}
	body := map[string]any{}
	for i, field := range slices.Concat(call.fields, call.texts) {
		name, text, ok := strings.Cut(field, "=")
		if !ok {
			return nil, term.Usagef("%q must be name=value", field)
		}
		var value any = text
		if i < len(call.fields) {
			var err error
			if value, err = call.typed(text); err != nil {
				return nil, err
			}
		}
		if err := putField(body, name, value); err != nil {
			return nil, term.Usage(err)
		}
	}
	return body, nil
}

func (call *rawCall) query() error {
	path, text, _ := strings.Cut(call.path, "?")
	query, err := url.ParseQuery(text)
	if err != nil {
		return term.Usagef("read the query of the path: %w", err)
	}
	for _, field := range slices.Concat(call.fields, call.texts) {
		name, value, ok := strings.Cut(field, "=")
		if !ok {
			return term.Usagef("%q must be name=value", field)
		}
		query.Add(name, value)
	}
	call.path = path + "?" + query.Encode()
	return nil
}

var numberShape = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?$`)

// typed returns a value of --field with its JSON type.
func (call *rawCall) typed(text string) (any, error) {
	switch {
	case text == "true" || text == "false" || text == "null" || numberShape.MatchString(text):
		return json.RawMessage(text), nil
	case text == "@-":
		data, err := io.ReadAll(call.r.terminal.In)
		return string(data), err
	case strings.HasPrefix(text, "@"):
		data, err := os.ReadFile(text[1:])
		if err != nil {
			return nil, fmt.Errorf("read a field: %w", err)
		}
		return string(data), nil
	}
	return text, nil
}

// putField sets a field with a name such as name, name[key] or name[].
func putField(into map[string]any, name string, value any) error {
	outer, rest, nested := strings.Cut(name, "[")
	key, end, closed := strings.Cut(rest, "]")
	switch {
	case outer == "" || nested && !closed || end != "" && end[0] != '[':
		return fmt.Errorf("%q is not the name of a field", name)
	case !nested:
		if _, taken := into[outer]; taken {
			return fmt.Errorf("the field %q appears twice", outer)
		}
		into[outer] = value
	case key == "" && end == "":
		list, ok := into[outer].([]any)
		if _, taken := into[outer]; taken && !ok {
			return fmt.Errorf("the field %q is used both as a list and as something else", outer)
		}
		into[outer] = append(list, value)
	default:
		object, ok := into[outer].(map[string]any)
		if _, taken := into[outer]; taken && !ok {
			return fmt.Errorf("the field %q is used both as an object and as something else", outer)
		}
		if object == nil {
			object = map[string]any{}
			into[outer] = object
		}
		return putField(object, key+end, value)
	}
	return nil
}
