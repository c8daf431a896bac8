package db

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"bursar/api"
)

// maxNameKey bounds the key of a name in an index, in bytes. Longer names that agree up to there
// are shown to a person, who decides whether they are the same.
const maxNameKey = 200

// NameKey returns the parameter for the name by which two entries may be duplicates: its words
// without regard to their order, case, accents and punctuation. It is NULL if there is none. A
// label that was derived from an e-mail address or phone number is not a name. label is the
// label of the request.
func NameKey(name, label string, fields api.Fields) any {
	for _, one := range []string{name, fields.Text(api.FieldName), fields.Text(api.FieldFirstName) + " " + fields.Text(api.FieldLastName), label} {
		if key := foldedName(one); key != "" {
			return key
		}
	}
	return nil
}

func foldedName(name string) string {
	folded := cases.Fold().String(norm.NFKD.String(name))
	words := strings.FieldsFunc(strings.Map(func(r rune) rune {
		if unicode.IsMark(r) || r == '\'' || r == '’' { // O'Neill becomes ONeill
			return -1
		}
		return r
	}, folded), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	slices.Sort(words)
	key := strings.Join(words, " ")
	return strings.ToValidUTF8(key[:min(len(key), maxNameKey)], "")
}
