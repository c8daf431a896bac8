package term

import (
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
