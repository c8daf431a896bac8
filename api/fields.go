package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Limits of the fields of an entry.
const (
	MaxFieldKeys  = 64
	MaxFieldDepth = 8
	MaxFieldBytes = 16 << 10
)

// Keys of fields that Bursar interprets. An entry may have any other keys.
const (
	FieldName      = "name"
	FieldFirstName = "first-name"
	FieldLastName  = "last-name"
	FieldEmail     = "email"
	FieldPhone     = "phone"
	FieldIndustry  = "industry"
)

// KnownFields returns the keys that Bursar interprets, in display order.
func KnownFields() []string {
	return []string{FieldName, FieldFirstName, FieldLastName, FieldEmail, FieldPhone, FieldIndustry}
}

// UsualFields returns the known keys that fit a type of entry.
func UsualFields(entryType string) []string {
	if entryType == TypeOrganization {
		return []string{FieldName, FieldIndustry, FieldEmail, FieldPhone}
	}
	return []string{FieldFirstName, FieldLastName, FieldEmail, FieldPhone}
}

// Fields is the free-form part of an entry: a JSON object that keeps the order of
// its keys and the digits of its numbers. In an update, a null removes its key.
type Fields []Field

// Field is one key of Fields with its value.
type Field struct {
	Key   string
	Value json.RawMessage

	quoted []byte // the key as JSON, exactly as received; nil if it was not received
}

// TextField returns a field with a string value.
func TextField(key, text string) Field {
	return Field{Key: key, Value: AppendString(nil, text)}
}

// NullField returns a field that removes its key in an update.
func NullField(key string) Field { return Field{Key: key, Value: json.RawMessage("null")} }

// FieldsOf encodes a value as fields. The value must encode to a JSON object, such as a map or a struct.
func FieldsOf(value any) (Fields, error) {
	text, err := EncodeJSON(value)
	if err != nil {
		return nil, err
	}
	return ParseFields(text)
}

// ParseFields parses a JSON object. Like the server, it refuses invalid UTF-8 and duplicate keys.
func ParseFields(text []byte) (Fields, error) {
	if !utf8.Valid(text) {
		return nil, errors.New("the text is not UTF-8")
	}
	value := jsontext.Value(bytes.Clone(text))
	if err := value.Format(jsontext.PreserveRawStrings(true)); err != nil {
		return nil, explainJSON(err)
	}
	if value.Kind() != '{' {
		return nil, errors.New("a JSON object is needed")
	}
	return SplitFields(value), nil
}

// explainJSON describes what is wrong with a JSON text, without the decoder's vocabulary.
func explainJSON(err error) error {
	var syntax *jsontext.SyntacticError
	switch {
	case !errors.As(err, &syntax):
		return errors.New("the JSON text is incomplete")
	case errors.Is(err, jsontext.ErrDuplicateName):
		return fmt.Errorf("the key %q is given more than once", syntax.JSONPointer.LastToken())
	}
	return fmt.Errorf("the text is not valid JSON at byte %d", syntax.ByteOffset)
}

// SplitFields splits a valid JSON object into fields. The object must have no white space between tokens, as from the binder and the
// database. For speed, SplitFields validates nothing and aliases the text.
func SplitFields(object []byte) Fields {
	out := make(Fields, 0, 8)
	for at := 1; at < len(object)-1; {
		n, _ := measure(object[at:])
		quoted := object[at : at+n]
		object = object[at+n+1:] // after the colon
		n, _ = measure(object)
		key, _ := Field{Value: json.RawMessage(quoted)}.Text()
		out = append(out, Field{key, json.RawMessage(object[:n:n]), quoted})
		at = n + 1 // after the comma
	}
	return out
}

// measure returns the length of the value at the start of a text, and its nesting depth of objects and arrays.
func measure(text []byte) (length, depth int) {
	level, inString := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
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

// Text returns the value if it is a JSON string.
func (f Field) Text() (text string, ok bool) {
	if len(f.Value) < 2 || f.Value[0] != '"' {
		return "", false
	}
	if bytes.IndexByte(f.Value, '\\') < 0 {
		return string(f.Value[1 : len(f.Value)-1]), true
	}
	unquoted, err := jsontext.AppendUnquote(nil, []byte(f.Value))
	return string(unquoted), err == nil
}

// Display returns the value for display: a string without its quotes, anything else as JSON.
func (f Field) Display() string {
	if text, ok := f.Text(); ok {
		return text
	}
	return string(f.Value)
}

// IsNull reports whether the value is null.
func (f Field) IsNull() bool { return string(f.Value) == "null" }

// Index returns the position of a key, or -1.
func (f Fields) Index(key string) int {
	return slices.IndexFunc(f, func(one Field) bool { return one.Key == key })
}

// Get returns the field with a key.
func (f Fields) Get(key string) (field Field, ok bool) {
	if i := f.Index(key); i >= 0 {
		return f[i], true
	}
	return Field{}, false
}

// Text returns the value of a key if it is a string, else "".
func (f Fields) Text(key string) string {
	field, _ := f.Get(key)
	text, _ := field.Text()
	return text
}

// Display returns the value of a key for display, or "" if there is none.
func (f Fields) Display(key string) string {
	field, _ := f.Get(key)
	return field.Display()
}

// Set replaces the value of a key in place, or appends the key.
func (f *Fields) Set(field Field) {
	if i := f.Index(field.Key); i >= 0 {
		(*f)[i] = field
		return
	}
	*f = append(*f, field)
}

// Merge returns the fields with a change applied. Existing keys keep their positions, new ones are appended, and null removes a key.
func (f Fields) Merge(change Fields) Fields {
	out := slices.Clone(f)
	for _, one := range change {
		switch i := out.Index(one.Key); {
		case !one.IsNull():
			out.Set(one)
		case i >= 0:
			out = slices.Delete(out, i, i+1)
		}
	}
	return out
}

// Names yields candidates for the display name of the entry, best first. Some may be blank.
func (f Fields) Names() iter.Seq[string] {
	return func(yield func(string) bool) {
		_ = yield(f.Text(FieldName)) &&
			yield(f.Text(FieldFirstName)+" "+f.Text(FieldLastName)) &&
			yield(f.Text(FieldEmail)) &&
			yield(f.Text(FieldPhone))
	}
}

// CheckNames reports invisible characters in the fields that a label may be derived from. It is for incoming fields only, because stored
// ones may have some.
func (f Fields) CheckNames(report func(field, rule string)) {
	for _, key := range []string{FieldName, FieldFirstName, FieldLastName, FieldEmail, FieldPhone} {
		if HasHidden(f.Text(key)) {
			report("fields."+key, HiddenRule)
		}
	}
}

// Check validates the fields. It calls report with the name of the field in the API and the rule that it breaks.
func (f Fields) Check(report func(field, rule string)) {
	if len(f) > MaxFieldKeys {
		report("fields", fmt.Sprintf("must have at most %d keys", MaxFieldKeys))
	}
	for _, one := range f {
		if _, depth := measure(one.Value); depth+1 > MaxFieldDepth {
			report("fields", fmt.Sprintf("must be at most %d levels deep", MaxFieldDepth))
		}
		if one.Key == FieldEmail && !one.IsNull() {
			if email, ok := one.Text(); !ok || !IsEmail(email) {
				report("fields."+FieldEmail, EmailRule)
			}
		}
	}
	if f.size() > MaxFieldBytes {
		report("fields", fmt.Sprintf("must be at most %d bytes of JSON", MaxFieldBytes))
	}
}

// size is the length of String.
func (f Fields) size() int {
	n := len(`{}`) + max(0, len(f)-1)
	for _, one := range f {
		n += len(one.key()) + len(`:`) + len(one.Value)
	}
	return n
}

func (f Field) key() []byte {
	if f.quoted != nil {
		return f.quoted
	}
	return AppendString(nil, f.Key)
}

// AppendJSON appends the object.
func (f Fields) AppendJSON(dst []byte) []byte {
	dst = append(dst, '{')
	for i, one := range f {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(append(dst, one.key()...), ':')
		dst = append(dst, one.Value...)
	}
	return append(dst, '}')
}

// String returns the object as JSON.
func (f Fields) String() string { return string(f.AppendJSON(make([]byte, 0, f.size()))) }

// Equal reports whether both have the same keys and values, with the same spelling and order.
func (f Fields) Equal(other Fields) bool { return f.String() == other.String() }

// MarshalJSON returns the object as JSON, with its keys in order.
func (f Fields) MarshalJSON() ([]byte, error) { return f.AppendJSON(make([]byte, 0, f.size())), nil }

// UnmarshalJSON parses a JSON object. A null leaves the fields as they are.
func (f *Fields) UnmarshalJSON(text []byte) error {
	if string(text) == "null" {
		return nil
	}
	parsed, err := ParseFields(text)
	if err == nil {
		*f = parsed
	}
	return err
}
