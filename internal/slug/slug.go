// Package slug derives the short names in URLs, and changes the name and the slug of
// resources that have both.
package slug

import (
	"crypto/rand"
	"fmt"
	"regexp"
	"strings"

	"bursar/api"
	"bursar/internal/fault"
	"bursar/internal/web"
)

const maxLength = 48

var form = regexp.MustCompile(`^[a-z0-9-]{2,48}$`)

// Check reports a malformed slug.
func Check(v *fault.Violations, field string, slug *string) {
	web.CheckMatch(v, field, slug, form, "must be 2 to 48 of a-z, 0-9 and -")
}

// Taken returns the error for a slug that is already in use.
func Taken(slug string) error {
	return fault.New(api.CodeSlugTaken, "the slug %q is taken", slug)
}

// From derives a slug from a name, or returns the fallback if no character of the name
// can be used.
func From(name, fallback string) string {
	var out strings.Builder
	gap := false
	for _, r := range strings.ToLower(name) {
		if (r < 'a' || r > 'z') && (r < '0' || r > '9') {
			gap = true
			continue
		}
		if gap && out.Len() > 0 {
			out.WriteByte('-')
		}
		gap = false
		out.WriteRune(r)
	}
	text := strings.Trim(cut(out.String(), maxLength), "-")
	if len(text) < 2 {
		return fallback
	}
	return text
}

// numbered is how many candidates get a number before random characters are used.
const numbered = 20

// Candidates tries a derived slug, then the slug with a number, then with random
// characters, until try reports that one was free.
func Candidates(base string, try func(slug string) (free bool, err error)) error {
	for n := 1; n <= 2*numbered; n++ {
		candidate := base
		if n > 1 {
			suffix := fmt.Sprintf("-%d", n)
			if n > numbered { // a popular name
				suffix = "-" + strings.ToLower(rand.Text()[:8])
			}
			candidate = cut(base, maxLength-len(suffix)) + suffix
		}
		if free, err := try(candidate); err != nil || free {
			return err
		}
	}
	return Taken(base)
}

func cut(text string, most int) string { return text[:min(len(text), most)] }
