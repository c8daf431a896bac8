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

// LastMillisecond is the latest time that Bursar accepts: the last one that fits into
// an id.
const LastMillisecond = 1<<48 - 1

// Value returns an optional value, or the zero value if it was not given.
func Value[T any](given *T) (value T) {
	if given != nil {
		value = *given
	}
	return value
}

// CheckText reports a text whose length is not between low and high characters, that has control
// characters or invisible formatting characters, or that is blank although it must not be empty.
func CheckText(v *fault.Violations, field, text string, low, high int) {
	if CheckReference(v, field, text, low, high); !v.Has(field) && api.HasHidden(text) {
		v.Add(field, api.HiddenRule)
	}
}

// CheckReference is CheckText for a text that refers to stored data, such as a filter. It accepts invisible
// characters, because older data may contain them.
func CheckReference(v *fault.Violations, field, text string, low, high int) {
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

// CheckOptionalText is CheckText for a text that may be nil.
func CheckOptionalText(v *fault.Violations, field string, text *string, low, high int) {
	if text != nil {
		CheckText(v, field, *text, low, high)
	}
}

// CheckOptionalReference is CheckReference for a text that may be nil.
func CheckOptionalReference(v *fault.Violations, field string, text *string, low, high int) {
	if text != nil {
		CheckReference(v, field, *text, low, high)
	}
}

// CheckEmail reports a text that is not an email address.
func CheckEmail(v *fault.Violations, field, text string) {
	if !api.IsEmail(text) || api.HasHidden(text) {
		v.Add(field, api.EmailRule)
	}
}

// CheckMatch reports a text that does not match a pattern. It may be nil.
func CheckMatch(v *fault.Violations, field string, text *string, form *regexp.Regexp, rule string) {
	if text != nil && !form.MatchString(*text) {
		v.Add(field, rule)
	}
}

// CheckOneOf reports a text that is none of the allowed values. It may be nil.
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
