// Package accountnumber checks whether an account number can be valid, if its form is known. An IBAN has check digits, and some
// institutions have account numbers of one length.
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

// Wrong returns why a number cannot be an account number at all; "" if it can.
func Wrong(number string) string {
	number = Compact(number)
	if !ibanLike.MatchString(number) {
		return ""
	}
	length, known := data().lengths[number[:2]]
	switch {
	case !known:
		return "" // another number that begins like an IBAN
	case len(number) != length:
		return fmt.Sprintf("looks like an IBAN of %s, which has %d characters; this one has %d", number[:2], length, len(number))
	case remainder(number[4:]+number[:4]) != 1:
		return "looks like an IBAN, but its check digits do not fit: a character is wrong or in another place"
	}
	return ""
}

// Doubt returns how a number differs from those of an institution, which is given by its code or by its name. It returns "" if it does not,
// or if their form is unknown.
func Doubt(institution, number string) string {
	form, known := data().forms[nameKey(institution)]
	number = Compact(number)
	if !known || ibanLike.MatchString(number) || form.MatchString(number) {
		return ""
	}
	return "An account number at " + strings.TrimSpace(institution) + " has " + inWords(form.String()) + " as far as we know."
}

var (
	// ibanLike is a country, two check digits and an account. A wallet's short name can begin like that, too.
	ibanLike = regexp.MustCompile(`^[A-Z]{2}[0-9]{2}[A-Z0-9]{6,30}$`)
	counts   = regexp.MustCompile(`\{(\d+)\}`)
)

// Compact returns a number in capitals, without the characters that people write between digits.
func Compact(number string) string {
	return strings.ToUpper(Without(number, " -."))
}

// Without returns a text without some characters. Creating a strings.Replacer for one text would allocate more than all other operations on
// a number.
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

// inWords describes a form of digits for people: "10 or 12 digits".
func inWords(form string) string {
	var lengths []string
	for _, count := range counts.FindAllStringSubmatch(form, -1) {
		lengths = append(lengths, count[1])
	}
	return strings.Join(lengths, " or ") + " digits"
}

// remainder returns the remainder of the division by 97 that checks an IBAN: letters count as 10 to 35.
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
