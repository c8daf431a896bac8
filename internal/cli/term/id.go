package term

import "regexp"

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
