package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"bursar/api"
	"bursar/internal/cli/term"
	"bursar/internal/directory/entryfile"
)

// parseField parses key=value, where the value is a string, or key:=value, where it is JSON.
func parseField(given string) (api.Field, error) {
	key, value, ok := strings.Cut(given, "=")
	key, typed := strings.CutSuffix(key, ":")
	switch {
	case !ok || key == "":
		return api.Field{}, fmt.Errorf("--field must be key=text or key:=json, not %q", given)
	case !utf8.ValidString(given):
		return api.Field{}, fmt.Errorf("--field %s is not UTF-8", key)
	case !typed:
		return api.TextField(key, value), nil
	}
	var parsed json.RawMessage
	if err := json.Unmarshal([]byte(value), &parsed); err != nil {
		return api.Field{}, fmt.Errorf("--field %s:= needs JSON, and %s is none: %w", key, value, err)
	}
	return api.Field{Key: key, Value: parsed}, nil
}

// fieldFlags contains the flags for fields.
type fieldFlags struct {
	set    []string // --field
	file   string   // --fields-json
	remove []string // --remove-field
}

// list returns the fields to send, or nil if none are given. Fields of flags follow those of the file and replace them.
func (f fieldFlags) list(stdin io.Reader) (api.Fields, error) {
	var out api.Fields
	if f.file != "" {
		text, err := readInput(f.file, stdin)
		if err != nil {
			return nil, err
		}
		if out, err = api.ParseFields(text); err != nil {
			return nil, term.Usagef("--fields-json %s: %w", f.file, err)
		}
	}
	var onLine api.Fields
	for _, given := range f.set {
		one, err := parseField(given)
		if err == nil && onLine.Index(one.Key) >= 0 {
			err = fmt.Errorf("--field %s is given twice", one.Key)
		}
		if err != nil {
			return nil, term.Usage(err)
		}
		onLine = append(onLine, one)
	}
	for _, key := range f.remove {
		if onLine.Index(key) >= 0 {
			return nil, term.Usagef("the field %s cannot be both set and removed", key)
		}
		onLine.Set(api.NullField(key))
	}
	for _, one := range onLine {
		out.Set(one)
	}
	return out, nil
}

// propertyFlags contains the values of the flags of properties, by name.
type propertyFlags map[string]*string

// flagOf returns the flag of a property.
func flagOf(p entryfile.Property) string { return strings.ReplaceAll(p.Name, "_", "-") }

// bind adds the flags of all properties, or of those that a new entry can have.
func (f *propertyFlags) bind(c *cobra.Command, creating bool) {
	*f = propertyFlags{}
	for _, p := range entryfile.Properties() {
		if creating && p.Create == nil {
			continue
		}
		(*f)[p.Name] = c.Flags().String(flagOf(p), "", p.Usage)
		if p.Values != nil {
			completeWords(c, flagOf(p), p.Values)
		}
	}
}

// fill sets the properties of a new entry that are not empty, and reports whether there are any.
func (f propertyFlags) fill(e *api.EntryCreate) (any bool) {
	for _, p := range entryfile.Properties() {
		if value := f[p.Name]; value != nil && *value != "" {
			*p.Create(e) = value
			any = true
		}
	}
	return any
}

// change sets the properties that are given, empty or not, and reports whether there are any.
func (f propertyFlags) change(c *cobra.Command, e *api.EntryUpdate) (any bool, err error) {
	for _, p := range entryfile.Properties() {
		if !c.Flags().Changed(flagOf(p)) {
			continue
		}
		*p.Update(e) = f[p.Name]
		any = true
		if p.Values != nil && err == nil {
			err = oneOf(flagOf(p), *f[p.Name], p.Values)
		}
	}
	return any, err
}
