package audit

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"unicode/utf8"

	"github.com/go-json-experiment/json"

	"bursar/api"
)

const (
	// maxChanges is how many changes one row tells of.
	maxChanges = 200
	// maxValue is how many bytes of JSON a value may have before it is shortened, and
	// shownStart how many bytes of its text are then shown.
	maxValue, shownStart = 256, 64
)

// Changes are what a mutation changed, field by field. Whoever adds a secret or an account
// number masks it first.
type Changes []api.AuditChange

// Add adds a field if its values differ. A value is anything that JSON can express; nil is
// that there was, or is, nothing.
func (c *Changes) Add(field string, before, after any) {
	was, is := encoded(before), encoded(after)
	if string(was) == string(is) || len(*c) == maxChanges {
		return
	}
	*c = append(*c, api.AuditChange{Field: capText(field, shownStart), Before: shortened(was), After: shortened(is)})
}

// encoded returns a value as JSON. What cannot be expressed is a mistake of the program that
// must not fail a mutation, so it is told as a text.
func encoded(value any) []byte {
	text, err := json.Marshal(value, json.Deterministic(true))
	if err != nil {
		text, _ = json.Marshal(err.Error()) // a text can always be expressed
	}
	return text
}

// shortened returns a long value as its start, its length and its digest, by which two of
// them can be told apart.
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

// capText returns at most so many bytes of a text, in whole characters.
func capText(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}

// Mask returns an account number as the log shows it: its last four characters, if it is
// long enough for them to tell little.
func Mask(number string) string {
	const shown = 4
	runes := []rune(number)
	if len(runes) < 2*shown {
		return "••••"
	}
	return "•••• " + string(runes[len(runes)-shown:])
}
