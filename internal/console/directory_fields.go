package console

import (
	"bytes"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"bursar/internal/fault"
)

// entryField is a field of an entry, as it is kept.
type entryField struct {
	Key   string
	Value jsontext.Value
}

type entryFields []entryField

// readFields takes the fields of an entry apart, in their order.
func readFields(object []byte) entryFields {
	dec := jsontext.NewDecoder(bytes.NewReader(object))
	if dec.PeekKind() != '{' {
		return nil
	}
	_, _ = dec.ReadToken() // which is the brace
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

// Text is the value as a person reads and writes it: a text bare, anything else
// as JSON.
func (f entryField) Text() string {
	if len(f.Value) == 0 || f.Value.Kind() != '"' {
		return string(f.Value)
	}
	text, _ := jsontext.AppendUnquote(nil, []byte(f.Value)) // it was read from valid JSON
	return string(text)
}

// Plain says whether the value is a text, not something else in JSON.
func (f entryField) Plain() bool { return len(f.Value) > 0 && f.Value.Kind() == '"' }

// Long says whether the value needs more than a line.
func (f entryField) Long() bool { return strings.ContainsAny(f.Text(), "\r\n") }

// Nested says whether the value holds others.
func (f entryField) Nested() bool { return f.Value.Kind() == '{' || f.Value.Kind() == '[' }

// Indented is a nested value over several lines.
func (f entryField) Indented() string {
	value := f.Value.Clone()
	if err := value.Indent(jsontext.WithIndent("  "), jsontext.PreserveRawStrings(false)); err != nil {
		return string(f.Value)
	}
	return string(value)
}

// Caption is what people call the field.
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

// usualFields are the fields that fit a type of entry.
func usualFields(kind string) []string {
	if kind == entryOrganization {
		return []string{"name", "industry", "email", "phone"}
	}
	return []string{"first-name", "last-name", "email", "phone"}
}

// sameText says whether a field of a form was left as it was shown. Browsers
// change the ends of lines.
func sameText(sent, shown string) bool { return tidyText(sent) == tidyText(shown) }

func tidyText(text string) string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	return strings.TrimSpace(strings.ReplaceAll(text, "\r", "\n"))
}

// retyped is what a person wrote, in place of an older value: a text, unless the
// older value was something else in JSON and this is such a thing too.
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

// fieldChanges are the fields that a form changes: a value, or null for what is
// removed.
type fieldChanges struct {
	keys   []string
	values map[string]jsontext.Value
}

var errTwice = fault.Invalid("fields", "two fields have the same name: give each a name of its own")

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

// object is the change as JSON, in the order of the form.
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

var errNameless = fault.Invalid("fields", "a value has no name: give it one")

// remove notes that a field is gone.
func (c *fieldChanges) remove(key string) error { return c.set(key, jsontext.Value("null")) }

// replace notes what became of one field. old is empty where there was none.
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
		return c.set(key, old.Value) // it has another name now
	}
	return c.set(key, retyped(text, old))
}
