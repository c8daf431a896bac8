package audit

import (
	"crypto/sha256"
	"encoding/hex"
	stdjson "encoding/json"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/go-json-experiment/json"

	"bursar/api"
	"bursar/internal/accountnumber"
)

const (
	// maxChanges is how many changes one row contains.
	maxChanges = 200
	// maxValue is how many bytes of JSON a value may have before it is shortened.
	// shownStart is how many bytes of its text are then shown.
	maxValue, shownStart = 256, 64
)

// Changes are what a mutation changed, field by field. No secret may be added, however long:
// a long value carries its digest.
type Changes []api.AuditChange

// Add adds a field if its values differ. A value is anything that JSON can represent. nil,
// the empty text and the number 0 mean that there is no value.
func (c *Changes) Add(field string, before, after any) {
	was, is := encoded(before), encoded(after)
	if string(was) != string(is) {
		c.put(field, was, is)
	}
}

// AddItems adds each item that only one of two lists has. As a single change, a long list
// would show only its start, not its differences.
func (c *Changes) AddItems(field string, before, after []string) {
	for _, item := range before {
		if !slices.Contains(after, item) {
			c.Add(field, item, nil)
		}
	}
	for _, item := range after {
		if !slices.Contains(before, item) {
			c.Add(field, nil, item)
		}
	}
}

// AddFields adds each key of an entry's fields whose values differ.
func (c *Changes) AddFields(before, after api.Fields) {
	for _, was := range before {
		if is, ok := after.Get(was.Key); ok {
			c.Add("fields."+was.Key, was.Value, is.Value)
		} else {
			c.Add("fields."+was.Key, was.Value, nil)
		}
	}
	for _, is := range after {
		if before.Index(is.Key) < 0 {
			c.Add("fields."+is.Key, nil, is.Value)
		}
	}
}

// AddMasked adds an account number if it differs. Its masked form may be the same before
// and after.
func (c *Changes) AddMasked(field, before, after string) {
	shown := func(number string) []byte {
		if number != "" {
			number = Mask(number)
		}
		return encoded(number)
	}
	if before != after {
		c.put(field, shown(before), shown(after))
	}
}

// AddSecret adds the replacement of a secret, and shows nothing of either value.
func (c *Changes) AddSecret(field string) { c.put(field, encoded(hidden), encoded(hidden)) }

func (c *Changes) put(field string, was, is []byte) {
	if len(*c) < maxChanges {
		*c = append(*c, api.AuditChange{Field: capText(field, shownStart), Before: shortened(was), After: shortened(is)})
	}
}

// encoded returns a value as JSON. A value that JSON cannot represent is a bug, which must
// not fail a mutation, so its error is recorded instead.
func encoded(value any) []byte {
	switch value := value.(type) {
	case stdjson.RawMessage:
		return value
	case string:
		if value != "" {
			return api.AppendString(nil, value)
		}
		return []byte("null")
	case int, int64:
		if value == 0 || value == int64(0) {
			return []byte("null")
		}
	}
	text, err := json.Marshal(value, json.Deterministic(true))
	if err != nil {
		text, _ = json.Marshal(err.Error()) // a text can always be encoded
	}
	return text
}

// shortened returns a long value as its start, its length and its digest, which
// distinguishes it from others.
func shortened(value []byte) []byte {
	if len(value) <= maxValue {
		return value
	}
	shown := string(value)
	var text string
	if json.Unmarshal(value, &text) == nil {
		shown = text
	}
	digest := sha256.Sum256([]byte(shown))
	out := api.AppendString([]byte(`{"start":`), capText(shown, shownStart))
	out = strconv.AppendInt(append(out, `,"length":`...), int64(len(shown)), 10)
	out = api.AppendString(append(out, `,"sha256":`...), hex.EncodeToString(digest[:]))
	return append(out, '}')
}

// capText shortens a text to a number of bytes, in whole characters.
func capText(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}

const (
	// hidden replaces hidden text.
	hidden = "••••"
	// LostNumber replaces an account number that was sealed with a lost vault key. The
	// number can be entered again. All other data of the method is intact.
	LostNumber = hidden + " (lost)"
)

// Mask returns an account number as pages and the log show it: its last four characters. Of
// a short number it shows nothing, because four characters would be most of it.
func Mask(number string) string {
	const shown, least = 4, 8
	runes := []rune(accountnumber.Without(number, " -.")) // without the characters that group its digits
	switch {
	case number == LostNumber:
		return number
	case len(runes) < least:
		return hidden
	}
	return hidden + " " + string(runes[len(runes)-shown:])
}
