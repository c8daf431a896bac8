package entryword

import (
	"strings"
	"unicode"

	"bursar/api"
)

// Label returns the label of an entry for which none was given.
func Label(kind, name string, f api.Fields) string {
	if label := tidy(name); label != "" {
		return label
	}
	for name := range f.Names() {
		if label := tidy(name); label != "" {
			return label
		}
	}
	return "Unnamed " + kind
}

// tidy turns any text into a label: one line that is not too long.
func tidy(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text)
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > api.MaxEntryName {
		text = string(runes[:api.MaxEntryName])
	}
	return text
}
