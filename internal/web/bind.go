package web

import (
	"bytes"
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"bursar/api"
	"bursar/internal/fault"
)

// validator is an input with a Validate method.
type validator interface{ Validate(v *fault.Violations) }

// timedValidator is an input whose rules depend on the time, in Unix milliseconds.
type timedValidator interface {
	ValidateAt(v *fault.Violations, now int64)
}

// binder fills an input from a request. A tag of each field is its source: `path`,
// `query`, `header` or `json` (the body); `required:"true"` makes it mandatory. All
// problems are reported together.
type binder[In any] struct {
	plan
	now func() int64
}

// plan lists where the fields of an input come from.
type plan struct {
	params []param
	body   map[string]param
	names  []string // of the body, in order
}

type param struct {
	index    []int
	source   string
	name     string
	required bool
}

func newBinder[In any](now func() int64) *binder[In] {
	b := &binder[In]{now: now}
	b.add(reflect.TypeFor[In](), nil)
	return b
}

// of returns the binder unless the body of the input differs from that of the operation.
func (b *binder[In]) of(op api.Operation) *binder[In] {
	body, _ := op.Types()
	var want plan
	want.add(body, nil)
	typeOf := func(t reflect.Type, p param) reflect.Type { return t.FieldByIndex(p.index).Type }
	in := reflect.TypeFor[In]()
	same := func(name, declared string) bool {
		return name == declared && typeOf(in, b.body[name]) == typeOf(body, want.body[name])
	}
	if !slices.EqualFunc(b.names, want.names, same) {
		panic(fmt.Sprintf("web: the body of %s is %v, which its input %v does not embed", op, body, in))
	}
	return b
}

// add adds the fields of a struct at an index of the input.
func (b *plan) add(t reflect.Type, at []int) {
	if b.body == nil {
		b.body = map[string]param{}
	}
	for i := range t.NumField() {
		field := t.Field(i)
		index := append(append([]int{}, at...), i)
		if field.Anonymous {
			b.add(field.Type, index)
			continue
		}
		p := param{index: index, required: field.Tag.Get("required") == "true"}
		for _, source := range []string{"path", "query", "header"} {
			if name := field.Tag.Get(source); name != "" {
				p.source, p.name = source, name
				b.params = append(b.params, p)
			}
		}
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" {
			p.name = name
			b.body[name] = p
			b.names = append(b.names, name)
		}
	}
}

func (b *binder[In]) request(x *Exchange, body []byte) (In, error) {
	var in In
	var v fault.Violations
	value := reflect.ValueOf(&in).Elem()
	b.bindParams(x, value, &v)
	if err := b.bindBody(body, value, &v); err != nil {
		return in, err
	}
	validate(&in, &v, b.now)
	return in, v.Err()
}

// validate checks an input by its own rules.
func validate(in any, v *fault.Violations, now func() int64) {
	switch rules := in.(type) {
	case validator:
		rules.Validate(v)
	case timedValidator:
		rules.ValidateAt(v, now())
	}
}

// cleanPathValue returns a parameter of the path as text that every store can hold.
func cleanPathValue(x *Exchange, name string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(x.R.PathValue(name), "\uFFFD"), "\x00", "\uFFFD")
}

func (b *binder[In]) bindParams(x *Exchange, in reflect.Value, v *fault.Violations) {
	var query url.Values
	for _, p := range b.params {
		var given []string
		switch p.source {
		case "path":
			// No row has such an id, so the response is "not found" and not an error.
			given = []string{cleanPathValue(x, p.name)}
		case "header":
			if values := x.R.Header.Values(p.name); len(values) > 0 {
				given = []string{strings.ToValidUTF8(strings.Join(values, ", "), "\uFFFD")}
			}
		case "query":
			if query == nil {
				var err error
				if query, err = url.ParseQuery(x.R.URL.RawQuery); err != nil {
					v.Add("query", "is not a valid query string")
				}
			}
			given = query[p.name]
		}
		switch {
		case len(given) > 1:
			v.Add(p.name, "must be given once")
		case len(given) == 0 || (p.required && given[0] == ""):
			if p.required {
				v.Add(p.name, "is required")
			}
		case !utf8.ValidString(given[0]) || strings.ContainsRune(given[0], 0):
			v.Add(p.name, "must be valid UTF-8 without NUL")
		default:
			setParam(in.FieldByIndex(p.index), given[0])
		}
	}
}

func setParam(field reflect.Value, text string) {
	if field.Kind() == reflect.Pointer {
		field.Set(reflect.ValueOf(&text))
		return
	}
	field.SetString(text)
}

func (b *binder[In]) bindBody(body []byte, in reflect.Value, v *fault.Violations) error {
	seen := make(map[string]bool, len(b.names))
	if len(bytes.Trim(body, jsonSpace)) > 0 {
		if err := b.readObject(body, in, seen, v); err != nil {
			return err
		}
	}
	for _, name := range b.names {
		if b.body[name].required && !seen[name] {
			v.Add(name, "is required")
		}
	}
	return nil
}

func (b *binder[In]) readObject(body []byte, in reflect.Value, seen map[string]bool, v *fault.Violations) error {
	dec := jsontext.NewDecoder(bytes.NewBuffer(body)) // the decoder reads a bytes.Buffer without a copy
	if kind := dec.PeekKind(); kind != '{' && kind != 0 {
		if err := dec.SkipValue(); err != nil {
			return malformed(err)
		}
		return fault.Invalid("body", "must be a JSON object")
	}
	if _, err := dec.ReadToken(); err != nil {
		return malformed(err)
	}
	for dec.PeekKind() != '}' {
		token, err := dec.ReadToken()
		if err != nil {
			return malformed(err)
		}
		name := token.String()
		value, err := dec.ReadValue()
		if err != nil {
			return malformed(err)
		}
		p, known := b.body[name]
		if !known {
			v.Add(name, "is not a known key")
			continue
		}
		seen[name] = true
		if rule := setValue(in.FieldByIndex(p.index), value); rule != "" {
			v.Add(name, rule)
		}
	}
	if _, err := dec.ReadToken(); err != nil {
		return malformed(err)
	}
	if dec.PeekKind() != 0 || len(bytes.Trim(body[dec.InputOffset():], jsonSpace)) > 0 {
		return fault.Invalid("body", "has data after the JSON object")
	}
	return nil
}

// refuseNulls refuses null at any depth, except within values that read their own JSON, such as [api.Fields].
var refuseNulls = json.WithUnmarshalers(json.UnmarshalFromFunc(func(dec *jsontext.Decoder, _ any) error {
	if dec.PeekKind() == 'n' {
		return errors.New("is null")
	}
	return errors.ErrUnsupported
}))

// jsonSpace is the white space of JSON.
const jsonSpace = " \t\r\n"

// malformed returns the error for a body that is not JSON. The decoder's own message may
// quote the input, so this one contains only the position and the kind of the error.
func malformed(err error) error {
	var syntax *jsontext.SyntacticError
	if !errors.As(err, &syntax) {
		return fault.Invalid("body", "ends in the middle of the JSON text")
	}
	if errors.Is(err, jsontext.ErrDuplicateName) {
		return fault.Invalid(dotted(syntax.JSONPointer), "is given more than once")
	}
	return fault.Invalid("body", fmt.Sprintf("is not valid JSON at byte %d", syntax.ByteOffset))
}

// dotted converts a JSON pointer such as /fields/email to fields.email.
func dotted(p jsontext.Pointer) string {
	var parts []string
	for token := range p.Tokens() {
		parts = append(parts, token)
	}
	return strings.Join(parts, ".")
}

// setValue stores a JSON value, or returns the rule that it breaks.
func setValue(field reflect.Value, value jsontext.Value) (rule string) {
	if field.Kind() == reflect.Pointer {
		target := reflect.New(field.Type().Elem())
		if rule = setValue(target.Elem(), value); rule == "" {
			field.Set(target)
		}
		return rule
	}
	kind := value.Kind()
	switch field.Interface().(type) {
	case string:
		if kind != '"' {
			return "must be a string"
		}
		if bytes.IndexByte(value, '\\') < 0 { // most strings have no escapes
			field.SetString(string(value[1 : len(value)-1]))
			return ""
		}
	case bool:
		if kind != 't' && kind != 'f' {
			return "must be true or false"
		}
	case int64:
		rule = "must be an integer"
		if kind != '0' {
			return rule
		}
	case []string:
		rule = "must be an array of strings"
		if kind != '[' {
			return rule
		}
	case api.Fields:
		object := value.Clone()
		if kind != '{' || object.Compact() != nil {
			return "must be an object"
		}
		*field.Addr().Interface().(*api.Fields) = api.SplitFields(object)
		return ""
	}
	if err := json.Unmarshal(value, field.Addr().Interface(), json.RejectUnknownMembers(true), refuseNulls); err != nil {
		if rule == "" {
			rule = "is malformed"
		}
		return rule
	}
	return ""
}
