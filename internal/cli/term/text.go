package term

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

// Printable removes control characters from other people's text, so that it cannot move the cursor, change colors or break lines.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			return ' '
		case unicode.IsControl(r) || unicode.Is(unicode.Cf, r) && r != '\u200d':
			return -1
		}
		return r
	}, text)
}

func printableAll(cells []string) []string {
	out := make([]string, len(cells))
	for i, cell := range cells {
		out[i] = Printable(cell)
	}
	return out
}

func toASCII(text string) string {
	return strings.Map(func(r rune) rune {
		if r > '~' {
			return '?'
		}
		return r
	}, text)
}

// Grouped formats a number with thousands separators: 12,345.
func Grouped(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// idPattern is the form of ids: a prefix, and 26 characters. The last of them are random and distinguish ids.
var idPattern = regexp.MustCompile(`^([a-z]+_)[0-9a-z]{20}([0-9a-z]{6})$`)

// shortIDPattern is the form of ids in tables that have no room for whole ones.
var shortIDPattern = regexp.MustCompile(`^[a-z]+_(…|\.\.\.)[0-9a-z]{6}$`)

// IsID reports whether a text has the form of an id.
func IsID(text string) bool { return idPattern.MatchString(text) }

// IsShortID reports whether a text has the form of a shortened id in a table.
func IsShortID(text string) bool { return shortIDPattern.MatchString(text) }

// ShortIDMatches reports whether a shortened id, such as usr_…8t0v2w, stands for id.
func ShortIDMatches(short, id string) bool {
	return IsShortID(short) && (shortenID(id, "…") == short || shortenID(id, "...") == short)
}

func shortenID(cell, ellipsis string) string {
	if parts := idPattern.FindStringSubmatch(cell); parts != nil {
		return parts[1] + ellipsis + parts[2]
	}
	return cell
}

// UsageError is the error of an invalid command line. The program then exits with code 2 and points to the help.
type UsageError struct{ error }

func (e UsageError) Unwrap() error { return e.error }

// Usage marks an error as a usage error.
func Usage(err error) error { return UsageError{err} }

// Usagef returns a usage error from a format, like fmt.Errorf.
func Usagef(format string, args ...any) error { return UsageError{fmt.Errorf(format, args...)} }
