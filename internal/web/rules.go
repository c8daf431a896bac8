package web

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"bursar/api"
	"bursar/internal/fault"
)

// LastMillisecond is the latest time that Bursar knows: the last one that an id
// can carry.
const LastMillisecond = 1<<48 - 1

// CheckText demands between low and high characters, none of them a control
// character.
func CheckText(v *fault.Violations, field, text string, low, high int) {
	n := utf8.RuneCountInString(text)
	switch {
	case n < low || n > high:
		v.Add(field, fmt.Sprintf("must be %d to %d characters", low, high))
	case strings.ContainsFunc(text, unicode.IsControl):
		v.Add(field, "must not contain control characters")
	case low > 0 && strings.TrimSpace(text) == "":
		v.Add(field, "must not be blank")
	}
}

// CheckOptionalText checks a text that may be absent.
func CheckOptionalText(v *fault.Violations, field string, text *string, low, high int) {
	if text != nil {
		CheckText(v, field, *text, low, high)
	}
}

// CheckEmail demands an email address.
func CheckEmail(v *fault.Violations, field, text string) {
	if !api.IsEmail(text) {
		v.Add(field, api.EmailRule)
	}
}

// CheckMatch demands that a text, if there is one, has a form.
func CheckMatch(v *fault.Violations, field string, text *string, form *regexp.Regexp, rule string) {
	if text != nil && !form.MatchString(*text) {
		v.Add(field, rule)
	}
}

// CheckOneOf demands one of a few values of a text, if there is one.
func CheckOneOf(v *fault.Violations, field string, text *string, allowed ...string) {
	if text == nil {
		return
	}
	for _, a := range allowed {
		if *text == a {
			return
		}
	}
	v.Add(field, "must be one of "+strings.Join(allowed, ", "))
}
