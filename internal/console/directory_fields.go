package console

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strings"

	"bursar/api"
	"bursar/internal/directory/entryfile"
	"bursar/internal/fault"
)

// shownField is a field of an entry, for display.
type shownField struct{ api.Field }

// shownDetails returns the optional properties of an entry, and its fields.
func shownDetails(e api.Entry) (all []shownDetail) {
	for _, p := range entryfile.Properties() {
		if text := *p.Of(&e); text != "" && !p.Derived && p.Values == nil {
			all = append(all, shownDetail{p.Caption, shownField{api.TextField(p.Name, text)}})
		}
	}
	for _, f := range e.Fields {
		all = append(all, shownDetail{caption(f.Key), shownField{f}})
	}
	return all
}

// shownDetail is a value with its label.
type shownDetail struct {
	Caption string
	shownField
}

// Plain reports whether the value is a string.
func (f shownField) Plain() bool { return isText(f.Field) }

func isText(f api.Field) bool {
	_, ok := f.Text()
	return ok
}

// Long reports whether the value has more than one line.
func (f shownField) Long() bool { return strings.ContainsAny(f.Display(), "\r\n") }

// Nested reports whether the value is an object or an array.
func (f shownField) Nested() bool { return f.Value[0] == '{' || f.Value[0] == '[' }

// Indented formats a nested value over several lines.
func (f shownField) Indented() string {
	var out bytes.Buffer
	if err := json.Indent(&out, f.Value, "", "  "); err != nil {
		return string(f.Value)
	}
	return out.String()
}

// Caption returns the label of the field.
func (f shownField) Caption() string { return caption(f.Key) }

func caption(key string) string {
	return cmp.Or(map[string]string{
		api.FieldFirstName: "First name",
		api.FieldLastName:  "Last name",
		api.FieldName:      "Name",
		api.FieldIndustry:  "Industry",
		api.FieldEmail:     "Email",
		api.FieldPhone:     "Phone",
	}[key], key)
}

// sameText reports whether a form field was left unchanged. It ignores line endings, because browsers change them.
func sameText(sent, shown string) bool { return tidyText(sent) == tidyText(shown) }

func tidyText(text string) string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	return strings.TrimSpace(strings.ReplaceAll(text, "\r", "\n"))
}

// retyped returns typed text as JSON. It is a string, unless both the old value and the new text are a number, boolean, object or array.
func retyped(key, text string, old api.Field) api.Field {
	text = tidyText(text)
	if len(old.Value) > 0 && !isText(old) && !old.IsNull() {
		typed, err := api.ParseFields([]byte(`{"value":` + text + `}`))
		if err == nil && len(typed) == 1 && !isText(typed[0]) && !typed[0].IsNull() {
			return api.Field{Key: key, Value: typed[0].Value}
		}
	}
	return api.TextField(key, text)
}

var (
	errTwice    = fault.Invalid("fields", "two fields have the same name: give each its own name")
	errNameless = fault.Invalid("fields", "a field has a value but no name: enter a name or remove the field")
)

// fieldChanges contains the fields that a form changes, in its order. A null removes a field.
type fieldChanges struct{ api.Fields }

func (c *fieldChanges) add(field api.Field) error {
	if c.Index(field.Key) >= 0 {
		return errTwice
	}
	c.Fields = append(c.Fields, field)
	return nil
}

// remove records that a field was deleted.
func (c *fieldChanges) remove(key string) error { return c.add(api.NullField(key)) }

// replace records the change of one field, if there is one. old is empty for a new
// field.
func (c *fieldChanges) replace(key, text string, old api.Field) error {
	same := sameText(text, old.Display())
	switch {
	case same && (key == old.Key || len(old.Value) == 0):
		return nil
	case tidyText(text) == "" && key == old.Key && len(old.Value) > 0:
		return c.remove(key)
	case tidyText(text) == "":
		return nil
	case same:
		return c.add(api.Field{Key: key, Value: old.Value}) // only the name changed
	}
	return c.add(retyped(key, text, old))
}
