package console

import (
	"bytes"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"bursar/internal/fault"
)

// entryField is a field of an entry, with its value as stored.
type entryField struct {
	Key   string
	Value jsontext.Value
}

type entryFields []entryField

// readFields parses an entry's fields and keeps their order.
func readFields(object []byte) entryFields {
	dec := jsontext.NewDecoder(bytes.NewReader(object))
	if dec.PeekKind() != '{' {
		return nil
	}
	_, _ = dec.ReadToken() // the opening brace
	var all entryFields
	for dec.PeekKind() == '"' {
		name, err := dec.ReadToken()
		if err != nil {
			break
		}
		key := name.String()
		value, err := dec.ReadValue()
		if err != nil {
			break
		}
		all = append(all, entryField{key, value.Clone()})
	}
	return all
}

func (all entryFields) find(key string) (entryField, bool) {
	for _, f := range all {
		if f.Key == key {
			return f, true
		}
	}
	return entryField{}, false
}

func (all entryFields) text(key string) string {
	f, _ := all.find(key)
	return f.Text()
}

// Text is the value as people read and type it: strings without quotes, anything
// else as JSON.
func (f entryField) Text() string {
	if len(f.Value) == 0 || f.Value.Kind() != '"' {
		return string(f.Value)
	}
	text, _ := jsontext.AppendUnquote(nil, []byte(f.Value)) // cannot fail: the value came from valid JSON
	return string(text)
}

// Plain says whether the value is a string.
func (f entryField) Plain() bool { return len(f.Value) > 0 && f.Value.Kind() == '"' }

// Long says whether the value has more than one line.
func (f entryField) Long() bool { return strings.ContainsAny(f.Text(), "\r\n") }

// Nested says whether the value is an object or an array.
func (f entryField) Nested() bool { return f.Value.Kind() == '{' || f.Value.Kind() == '[' }

// Indented formats a nested value over several lines.
func (f entryField) Indented() string {
	value := f.Value.Clone()
	if err := value.Indent(jsontext.WithIndent("  "), jsontext.PreserveRawStrings(false)); err != nil {
		return string(f.Value)
	}
	return string(value)
}

// Caption is the field's name for people.
func (f entryField) Caption() string { return caption(f.Key) }

func caption(key string) string {
	switch key {
	case "first-name":
		return "First name"
	case "last-name":
		return "Last name"
	case "name":
		return "Name"
	case "industry":
		return "Industry"
	case "email":
		return "Email"
	case "phone":
		return "Phone"
	}
	return key
}

// usualFields are the well-known fields of an entry type, in the order of the form.
func usualFields(kind string) []string {
	if kind == entryOrganization {
		return []string{"name", "industry", "email", "phone"}
	}
	return []string{"first-name", "last-name", "email", "phone"}
}

// sameText says whether a form field was left as it was shown. Line endings do not
// count, because browsers change them.
func sameText(sent, shown string) bool { return tidyText(sent) == tidyText(shown) }

func tidyText(text string) string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	return strings.TrimSpace(strings.ReplaceAll(text, "\r", "\n"))
}

// retyped converts what a person typed to JSON. It becomes a string, unless the old
// value was a number, boolean, object or array and the new text is one as well.
func retyped(text string, old entryField) jsontext.Value {
	text = tidyText(text)
	if len(old.Value) > 0 && !old.Plain() && old.Value.Kind() != 'n' {
		value := jsontext.Value(text)
		if value.IsValid() && value.Kind() != '"' && value.Kind() != 'n' {
			return value
		}
	}
	return quoted(text)
}

func quoted(text string) jsontext.Value {
	out, _ := jsontext.AppendQuote(nil, strings.ToValidUTF8(text, "\uFFFD"))
	return out
}

// fieldChanges are the fields that a form changes. null removes a field.
type fieldChanges struct {
	keys   []string
	values map[string]jsontext.Value
}

var errTwice = fault.Invalid("fields", "two fields have the same name: give each its own name")

func (c *fieldChanges) set(key string, value jsontext.Value) error {
	if slices.Contains(c.keys, key) {
		return errTwice
	}
	if c.values == nil {
		c.values = map[string]jsontext.Value{}
	}
	c.keys = append(c.keys, key)
	c.values[key] = value
	return nil
}

// object is the JSON object of the changes, in the order of the form.
func (c *fieldChanges) object() jsontext.Value {
	out := []byte{'{'}
	for i, key := range c.keys {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(out, quoted(key)...), ':')
		out = append(out, c.values[key]...)
	}
	return append(out, '}')
}

var errNameless = fault.Invalid("fields", "a field has a value but no name: enter a name or remove the field")

// remove records that a field was deleted.
func (c *fieldChanges) remove(key string) error { return c.set(key, jsontext.Value("null")) }

// replace records the change of one field, if there is one. old is empty for a new
// field.
func (c *fieldChanges) replace(key, text string, old entryField) error {
	same := sameText(text, old.Text())
	switch {
	case same && (key == old.Key || len(old.Value) == 0):
		return nil
	case tidyText(text) == "" && key == old.Key && len(old.Value) > 0:
		return c.remove(key)
	case tidyText(text) == "":
		return nil
	case same:
		return c.set(key, old.Value) // only the name changed
	}
	return c.set(key, retyped(text, old))
}
