package engine

import (
	"strings"

	"github.com/nyaruka/phonenumbers"
	"golang.org/x/text/unicode/norm"

	"bursar/api"
)

// MatchKey returns what an entry is found by: its e-mail address or its phone number, however
// they are written, or "" if the fields have none.
func MatchKey(kind string, fields api.Fields) string {
	one, _ := fields.Get(kind)
	text, _ := one.Text()
	if kind == api.FieldEmail {
		return strings.ToLower(strings.TrimSpace(text))
	}
	return phoneKey(text)
}

// phoneKey returns a phone number as E.164 writes it, with its extension after an x. A number
// without the code of its country, or that no country has, is compared by what was dialled: its
// digits and its plus.
func phoneKey(text string) string {
	text = norm.NFKC.String(text) // with the plain forms of wide digits
	dialled := strings.Map(func(r rune) rune {
		if r == '+' || '0' <= r && r <= '9' {
			return r
		}
		return -1
	}, text)
	if rest, ok := strings.CutPrefix(dialled, "00"); ok { // what a plus stands for, in most countries
		text, dialled = "+"+rest, "+"+rest
	}
	if !strings.HasPrefix(dialled, "+") { // which saves the time of parsing it
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
