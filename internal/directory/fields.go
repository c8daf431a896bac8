package directory

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"

	"bursar/internal/fault"
	"bursar/internal/web"
)

const (
	maxFieldKeys  = 64
	maxFieldDepth = 8
	maxFieldBytes = 16 << 10
)

// fields is the free-form part of an entry, as it was sent: the order of keys
// and the digits of numbers are kept.
type fields []field

type field struct {
	name  string
	quote []byte // the name as JSON
	value jsontext.Value
}

// parseFields takes a valid JSON object without white space apart, as the binder hands
// it on and the store keeps it.
func parseFields(object []byte) fields {
	if len(object) <= len(`{}`) {
		return nil
	}
	object = bytes.Clone(object)
	out := make(fields, 0, 8)
	for at := 1; at < len(object); {
		n, _ := measure(object[at:])
		quote := object[at : at+n]
		object = object[min(at+n+1, len(object)):] // past the colon
		n, _ = measure(object)
		name, _ := field{value: quote}.string()
		out = append(out, field{name, quote, object[:n]})
		at = n + 1 // past the comma
	}
	return out
}

// measure finds how long the value is that a text begins with, and how many levels
// of objects and arrays it has.
func measure(text []byte) (length, depth int) {
	level, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			level++
			depth = max(depth, level)
		case level == 0 && (c == ',' || c == ':' || c == '}' || c == ']'):
			return i, depth
		case c == '}' || c == ']':
			level--
		}
	}
	return len(text), depth
}

// size is the length of text.
func (f fields) size() int {
	n := len(`{}`) + max(0, len(f)-1)
	for _, one := range f {
		n += len(one.quote) + len(`:`) + len(one.value)
	}
	return n
}

// text puts the object together again.
func (f fields) text() string {
	var out strings.Builder
	out.Grow(f.size())
	out.WriteByte('{')
	for i, one := range f {
		if i > 0 {
			out.WriteByte(',')
		}
		out.Write(one.quote)
		out.WriteByte(':')
		out.Write(one.value)
	}
	out.WriteByte('}')
	return out.String()
}

// check holds the limits. A null in an update only removes a key.
func (f fields) check(v *fault.Violations) {
	if len(f) > maxFieldKeys {
		v.Add("fields", fmt.Sprintf("must have at most %d keys", maxFieldKeys))
	}
	for _, one := range f {
		if _, depth := measure(one.value); depth+1 > maxFieldDepth {
			v.Add("fields", fmt.Sprintf("must be at most %d levels deep", maxFieldDepth))
		}
		if one.name == "email" && one.value.Kind() != 'n' {
			if email, ok := one.string(); !ok || !web.IsEmail(email) {
				v.Add("fields.email", web.EmailRule)
			}
		}
	}
	if f.size() > maxFieldBytes {
		v.Add("fields", fmt.Sprintf("must be at most %d bytes of JSON", maxFieldBytes))
	}
}

// merge puts a change over the fields: keys keep their place, null removes one.
func (f fields) merge(change fields) fields {
	out := append(fields{}, f...)
	for _, one := range change {
		at := -1
		for i := range out {
			if out[i].name == one.name {
				at = i
			}
		}
		switch {
		case one.value.Kind() == 'n' && at >= 0:
			out = append(out[:at], out[at+1:]...)
		case one.value.Kind() == 'n':
		case at >= 0:
			out[at] = one
		default:
			out = append(out, one)
		}
	}
	return out
}

// get is the text of a key, "" where it has none.
func (f fields) get(name string) string {
	for _, one := range f {
		if one.name == name {
			text, _ := one.string()
			return text
		}
	}
	return ""
}

func (f field) string() (string, bool) {
	if f.value.Kind() != '"' {
		return "", false
	}
	if bytes.IndexByte(f.value, '\\') < 0 {
		return string(f.value[1 : len(f.value)-1]), true
	}
	text, err := jsontext.AppendUnquote(nil, []byte(f.value))
	return string(text), err == nil
}

// deriveLabel finds what to call an entry that was given no label.
func deriveLabel(kind, name string, f fields) string {
	for _, candidate := range []func() string{
		func() string { return name },
		func() string { return f.get("name") },
		func() string { return f.get("first-name") + " " + f.get("last-name") },
		func() string { return f.get("email") },
		func() string { return f.get("phone") },
	} {
		if label := tidy(candidate()); label != "" {
			return label
		}
	}
	return "Unnamed " + kind
}

// tidy makes a label of any text: one line, not too long.
func tidy(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text)
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > maxName {
		text = string(runes[:maxName])
	}
	return text
}
