package engine

import (
	"strings"

	"bursar/api"
)

// MatchKey returns what an entry is found by: its e-mail address or its phone number, however
// they are written, or "" if the fields have none. Migration 0033 spells the same in SQL.
func MatchKey(kind string, fields api.Fields) string {
	one, _ := fields.Get(kind)
	text, _ := one.Text()
	if kind == api.FieldEmail {
		return strings.ToLower(strings.TrimSpace(text))
	}
	return strings.Map(func(r rune) rune {
		if r == '+' || '0' <= r && r <= '9' {
			return r
		}
		return -1
	}, text)
}
