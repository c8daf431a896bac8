// Package accountnumber says whether an account number can be one, where its form is known: an
// IBAN has check digits, and some institutions give all accounts numbers of one length.
package accountnumber

import (
	_ "embed"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

var (
	//go:embed forms.tsv
	formText string
	//go:embed iban.tsv
	ibanText string
)

// Wrong says why a number cannot be one at all; "" if it can.
func Wrong(number string) string {
	number = Compact(number)
	if !ibanLike.MatchString(number) {
		return ""
	}
	length, known := data().lengths[number[:2]]
	switch {
	case !known:
		return "" // something else that begins like an IBAN
	case len(number) != length:
		return fmt.Sprintf("looks like an IBAN of %s, which has %d characters; this one has %d", number[:2], length, len(number))
	case remainder(number[4:]+number[:4]) != 1:
		return "looks like an IBAN, but its check digits do not fit: a character is wrong or in another place"
	}
	return ""
}

// Doubt says why a number is unlike those of an institution, which is given by its code or by
// its name; "" if it is not, or nobody knows.
func Doubt(institution, number string) string {
	form, known := data().forms[nameKey(institution)]
	number = Compact(number)
	if !known || ibanLike.MatchString(number) || form.MatchString(number) {
		return ""
	}
	return "An account number at " + strings.TrimSpace(institution) + " has " + inWords(form.String()) + " as far as we know."
}

var (
	// ibanLike is a country, two check digits and an account. A wallet's short name can begin so, too.
	ibanLike = regexp.MustCompile(`^[A-Z]{2}[0-9]{2}[A-Z0-9]{6,30}$`)
	counts   = regexp.MustCompile(`\{(\d+)\}`)
)

// Compact returns a number without what people write between its digits, in capitals.
func Compact(number string) string {
	return strings.ToUpper(Without(number, " -."))
}

// Without returns a text without some characters. A strings.Replacer that is made for one text
// allocates more than everything else that happens to a number.
func Without(text, characters string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(characters, r) {
			return -1
		}
		return r
	}, text)
}

func nameKey(name string) string {
	return strings.ToLower(Without(name, " -.,"))
}

// inWords tells a form of digits to people: "10 or 12 digits".
func inWords(form string) string {
	var lengths []string
	for _, count := range counts.FindAllStringSubmatch(form, -1) {
		lengths = append(lengths, count[1])
	}
	return strings.Join(lengths, " or ") + " digits"
}

// remainder is that of the division by 97 which an IBAN is checked by: letters count as 10 to 35.
func remainder(text string) (rest int) {
	for _, c := range text {
		if c >= 'A' {
			rest = (rest*100 + int(c-'A') + 10) % 97
		} else {
			rest = (rest*10 + int(c-'0')) % 97
		}
	}
	return rest
}

type tables struct {
	lengths map[string]int            // of IBANs, by country
	forms   map[string]*regexp.Regexp // by code and by name
}

var data = sync.OnceValue(func() tables {
	t := tables{map[string]int{}, map[string]*regexp.Regexp{}}
	for line := range strings.Lines(ibanText) {
		if country, length, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
			t.lengths[country], _ = strconv.Atoi(length)
		}
	}
	for line := range strings.Lines(formText) {
		parts := strings.Split(strings.TrimSpace(line), "\t")
		if len(parts) != 3 {
			continue
		}
		form := regexp.MustCompile(parts[1])
		for _, name := range append(strings.Split(parts[2], "|"), parts[0]) {
			t.forms[nameKey(name)] = form
		}
	}
	return t
})
