package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"unicode/utf8"
)

// fieldList is the free-form part of an entry, in the order in which it was given:
// the API keeps that order, and the digits of numbers.
type fieldList []fieldValue

type fieldValue struct {
	key   string
	value json.RawMessage
}

// readFields takes a JSON object apart.
func readFields(text []byte) (fieldList, error) {
	if !utf8.Valid(text) {
		return nil, errors.New("the text is not UTF-8")
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	if first, err := dec.Token(); err != nil || first != json.Delim('{') {
		return nil, errors.New("a JSON object is needed")
	}
	var list fieldList
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, err
		}
		name, _ := key.(string)
		one := fieldValue{key: name}
		if err := dec.Decode(&one.value); err != nil {
			return nil, fmt.Errorf("the value of %q: %w", name, err)
		}
		if list.at(name) >= 0 {
			return nil, fmt.Errorf("%q is there twice", name)
		}
		list = append(list, one)
	}
	if _, err := dec.Token(); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is something behind the JSON object")
	}
	return list, nil
}

func (f fieldList) at(key string) int {
	return slices.IndexFunc(f, func(one fieldValue) bool { return one.key == key })
}

// set puts a value in its place, or at the end.
func (f *fieldList) set(one fieldValue) {
	if i := f.at(one.key); i >= 0 {
		(*f)[i] = one
		return
	}
	*f = append(*f, one)
}

// text is a field as people read it: texts as they are, everything else as JSON.
func (f fieldList) text(key string) string {
	i := f.at(key)
	if i < 0 {
		return ""
	}
	return f[i].text()
}

func (v fieldValue) text() string {
	var text string
	if json.Unmarshal(v.value, &text) == nil {
		return text
	}
	return string(v.value)
}

// MarshalJSON puts the object together again.
func (f fieldList) MarshalJSON() ([]byte, error) {
	out := []byte{'{'}
	for i, one := range f {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(out, quoted(one.key)...), ':')
		out = append(out, one.value...)
	}
	return append(out, '}'), nil
}

// quoted is a text as JSON, as it is: < and & need no escape outside of pages.
func quoted(text string) json.RawMessage {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(text) // a text can always be encoded
	return bytes.TrimRight(out.Bytes(), "\n")
}

// parseField reads key=value, whose value is a text, or key:=value, whose value is
// JSON.
func parseField(given string) (fieldValue, error) {
	key, value, ok := strings.Cut(given, "=")
	key, typed := strings.CutSuffix(key, ":")
	switch {
	case !ok || key == "":
		return fieldValue{}, fmt.Errorf("--field must be key=text or key:=json, not %q", given)
	case !utf8.ValidString(given):
		return fieldValue{}, fmt.Errorf("--field %s is not UTF-8", key)
	case !typed:
		return fieldValue{key, quoted(value)}, nil
	}
	var parsed json.RawMessage
	if err := json.Unmarshal([]byte(value), &parsed); err != nil {
		return fieldValue{}, fmt.Errorf("--field %s:= needs JSON, and %s is none: %w", key, value, err)
	}
	return fieldValue{key, parsed}, nil
}

// fieldFlags are the fields as they are given on a line.
type fieldFlags struct {
	set    []string // --field
	file   string   // --fields-json
	remove []string // --remove-field
}

// list is what is to be sent, nil where no fields are given: the file first, then
// what the line says.
func (f fieldFlags) list(stdin io.Reader) (fieldList, error) {
	var out fieldList
	if f.file != "" {
		text, err := readInput(f.file, stdin)
		if err != nil {
			return nil, err
		}
		if out, err = readFields(text); err != nil {
			return nil, usageError{fmt.Errorf("--fields-json %s: %w", f.file, err)}
		}
		if out == nil {
			out = fieldList{}
		}
	}
	var onLine fieldList
	for _, given := range f.set {
		one, err := parseField(given)
		if err == nil && onLine.at(one.key) >= 0 {
			err = fmt.Errorf("--field %s is given twice", one.key)
		}
		if err != nil {
			return nil, usageError{err}
		}
		onLine = append(onLine, one)
	}
	for _, key := range f.remove {
		if onLine.at(key) >= 0 {
			return nil, usageError{fmt.Errorf("the field %s cannot be both set and removed", key)}
		}
		onLine.set(fieldValue{key, json.RawMessage("null")})
	}
	for _, one := range onLine {
		out.set(one)
	}
	return out, nil
}

// maxInput bounds what is read where the API takes little.
const maxInput = 1 << 20

// readInput reads a file, or standard input where it is called "-".
func readInput(name string, stdin io.Reader) ([]byte, error) {
	if name == "-" {
		return readSome("standard input", stdin)
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return readSome(name, file)
}

func readSome(name string, from io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(from, maxInput+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	if len(text) > maxInput {
		return nil, fmt.Errorf("%s is larger than 1 MiB", name)
	}
	return text, nil
}
