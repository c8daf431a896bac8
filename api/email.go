package api

import (
	"net/mail"
	"strings"
	"unicode"
)

// EmailRule is the validation message for an invalid email address.
const EmailRule = "must be an email address"

// maxEmail is the longest address that SMTP can carry.
const maxEmail = 254

// IsEmail reports whether the text is a bare address such as local@domain.
func IsEmail(text string) bool {
	if len(text) > maxEmail || strings.ContainsFunc(text, unicode.IsControl) {
		return false
	}
	address, err := mail.ParseAddress(text)
	return err == nil && address.Address == text && address.Name == ""
}
