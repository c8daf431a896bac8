package directory

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

// split returns the words of a text that a search can find.
func split(text string) []string {
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

// wordsOf returns the words of an entry's label and of all texts and numbers in its
// fields. It leaves out a word that is the beginning of another one: a search for it
// finds the longer one.
func wordsOf(label string, f api.Fields) []string {
	words := split(label)
	for _, one := range f {
		if text, ok := one.Text(); ok {
			words = append(words, split(text)...)
			continue
		}
		dec := jsontext.NewDecoder(bytes.NewBuffer(one.Value))
		for {
			token, err := dec.ReadToken()
			if err != nil {
				break
			}
			// Keys are strings, too, but nobody searches for them.
			if kind, n := dec.StackIndex(dec.StackDepth()); kind == '{' && n%2 == 1 {
				continue
			}
			if token.Kind() == '"' || token.Kind() == '0' {
				words = append(words, split(token.String())...)
			}
		}
	}
	return distinct(words[:min(len(words), maxWords)])
}

// distinct sorts words and leaves out those that are the beginning of another one.
func distinct(words []string) []string {
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

// joinWords returns the words as an entry stores them: each after a space, so that LIKE
// '% prefix%' finds one.
func joinWords(words []string) string {
	if len(words) == 0 {
		return ""
	}
	return " " + strings.Join(words, " ")
}
