// Package entryword derives the label of an entry and the words that a search finds it by. It caches which words are too common to index.
// It is a package of its own so that its tests do not compile the server again.
package entryword

import (
	"bytes"
	"slices"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"

	"bursar/api"
)

const (
	// maxWords is how many words of an entry a search can find: first those of the label,
	// then those of the fields in their order.
	maxWords      = 256
	maxWordLength = 48
)

// Split returns the words of a text that a search can find.
func Split(text string) []string {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
	})
	for i, word := range words {
		if runes := []rune(word); len(runes) > maxWordLength {
			words[i] = string(runes[:maxWordLength])
		}
	}
	return words
}

// Of returns the words of an entry's label and of all texts and numbers in its
// fields. It leaves out a word that is the beginning of another one: a search for it
// finds the longer one.
func Of(label string, f api.Fields) []string {
	words := Split(label)
	for _, one := range f {
		if text, ok := one.Text(); ok {
			words = append(words, Split(text)...)
			continue
		}
		dec := jsontext.NewDecoder(bytes.NewBuffer(one.Value))
		for {
			token, err := dec.ReadToken()
			if err != nil {
				break
			}
			// Keys are strings, too, but they are not searched for.
			if kind, n := dec.StackIndex(dec.StackDepth()); kind == '{' && n%2 == 1 {
				continue
			}
			if token.Kind() == '"' || token.Kind() == '0' {
				words = append(words, Split(token.String())...)
			}
		}
	}
	return Distinct(words[:min(len(words), maxWords)])
}

// Distinct sorts words and leaves out those that are the beginning of another one.
func Distinct(words []string) []string {
	slices.Sort(words)
	words = slices.Compact(words)
	kept := words[:0]
	for i, word := range words {
		if i+1 < len(words) && strings.HasPrefix(words[i+1], word) {
			continue
		}
		kept = append(kept, word)
	}
	return kept
}

// Join returns the words as an entry stores them: each after a space, so that LIKE
// '% prefix%' finds one.
func Join(words []string) string {
	if len(words) == 0 {
		return ""
	}
	return " " + strings.Join(words, " ")
}
