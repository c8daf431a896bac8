package mail

import (
	"strings"
	"unicode"
)

// maxName bounds how much of a name a message shows, in characters.
const maxName = 64

// plainName makes a user-chosen name safe to show in mail to other people: one line
// without invisible characters. Mail programs turn text that looks like an address into a
// link, so a space follows each dot and colon.
func plainName(name string) string {
	var out strings.Builder
	breakable := false
	for _, r := range strings.ToValidUTF8(name, " ") {
		switch {
		case unicode.IsSpace(r) || unicode.IsControl(r):
			r = ' '
		case !unicode.IsGraphic(r) && !joins(r):
			continue
		}
		if breakable && r != ' ' {
			out.WriteByte(' ')
		}
		out.WriteRune(r)
		breakable = strings.ContainsRune(".:。．｡․：", r)
	}
	text := []rune(strings.Join(strings.Fields(out.String()), " "))
	if len(text) > maxName {
		return strings.TrimSpace(string(text[:maxName-1])) + "…"
	}
	return string(text)
}

// joins reports whether r is an invisible character that Persian, Indic scripts and emoji need.
func joins(r rune) bool { return r == '\u200c' || r == '\u200d' }
