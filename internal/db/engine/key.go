package engine

import (
	"strings"

	"github.com/nyaruka/phonenumbers"
	"golang.org/x/text/unicode/norm"

	"bursar/api"
)

// MatchKey returns the key by which an entry is found: its normalized e-mail address or phone
// number, or "" if the fields have none.
func MatchKey(kind string, fields api.Fields) string {
	one, _ := fields.Get(kind)
	text, _ := one.Text()
	if kind == api.FieldEmail {
		return strings.ToLower(strings.TrimSpace(text))
	}
	return phoneKey(text)
}

// phoneKey returns a phone number in E.164 form, with its extension after an x. A number
// without a valid country code is compared by what was dialed: its digits and its plus.
func phoneKey(text string) string {
	text = norm.NFKC.String(text) // also replaces wide digits with plain ones
	dialled := strings.Map(func(r rune) rune {
		if r == '+' || '0' <= r && r <= '9' {
			return r
		}
		return -1
	}, text)
	if rest, ok := strings.CutPrefix(dialled, "00"); ok { // stands for a plus in most countries
		text, dialled = "+"+rest, "+"+rest
	}
	if !strings.HasPrefix(dialled, "+") { // saves the time of parsing it
		return dialled
	}
	number, err := phonenumbers.Parse(text, "ZZ") // no country in particular
	if err != nil || !phonenumbers.IsPossibleNumber(number) {
		return dialled
	}
	key := phonenumbers.Format(number, phonenumbers.E164)
	if extension := number.GetExtension(); extension != "" {
		key += "x" + extension
	}
	return key
}
