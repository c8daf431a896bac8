package signin

import (
	_ "embed"
	"strings"
	"sync"
)

// commonText lists the passwords, and words in passwords, that attackers try first,
// one per line in lower case.
//
//go:embed common_passwords.txt
var commonText string

var commonSet = sync.OnceValue(func() map[string]bool {
	set := map[string]bool{}
	for line := range strings.Lines(commonText) {
		set[strings.TrimSpace(line)] = true
	}
	return set
})

// isCommon reports whether a password is among those that attackers try first: a listed
// one, also if decorated with digits, symbols and look-alike characters or repeated; a
// repeated character or run of keys; or the email address.
func isCommon(password, email string) bool {
	text := strings.ToLower(strings.TrimSpace(password))
	local, domain, _ := strings.Cut(strings.ToLower(email), "@")
	name, _, _ := strings.Cut(domain, ".")
	own := map[string]bool{strings.ToLower(email): true, local: true, name: true, domain: true}
	listed := func(word string) bool { return commonSet()[word] || (len(word) > 2 && own[word]) }
	for form := range undressed(text) {
		if listed(form) || isRun(form) || isPair(form, listed) {
			return true
		}
		if unit := repeated(form); unit != "" && (len(unit) < 6 || listed(unit) || isRun(unit)) {
			return true
		}
	}
	return false
}

// undressed returns the forms of a text to look up: the text itself, without leading and
// trailing digits and symbols, and with look-alike characters replaced by letters.
func undressed(text string) map[string]bool {
	const dress = "0123456789!@#$%^&*()-_=+.,?~ "
	forms := map[string]bool{}
	for _, form := range []string{text, strings.TrimRight(text, dress), strings.TrimLeft(text, dress), strings.Trim(text, dress)} {
		for _, one := range []string{"1", "l", "i"} {
			if form != "" {
				forms[form] = true
				forms[plain(form, one)] = true
			}
		}
	}
	return forms
}

// plain replaces the usual look-alikes by letters; a 1 can stand for several letters.
func plain(text, one string) string {
	return strings.NewReplacer("0", "o", "1", one, "3", "e", "4", "a", "5", "s", "7", "t", "8", "b", "@", "a", "$", "s", "!", "i").Replace(text)
}

// repeated returns the shortest text whose repetition gives the whole.
func repeated(text string) string {
	for n := 1; n <= len(text)/2; n++ {
		if len(text)%n == 0 && strings.Repeat(text[:n], len(text)/n) == text {
			return text[:n]
		}
	}
	return ""
}

// isRun reports whether a text is a run of the alphabet, the digits or the keyboard.
func isRun(text string) bool {
	if len(text) < 4 {
		return false
	}
	for _, row := range []string{"abcdefghijklmnopqrstuvwxyz", "0123456789", "qwertyuiop", "asdfghjkl", "zxcvbnm",
		"qwertyuiopasdfghjklzxcvbnm", "1qaz2wsx3edc4rfv5tgb6yhn7ujm8ik9ol0p", "1q2w3e4r5t6y7u8i9o0p"} {
		endless := strings.Repeat(row, len(text)/len(row)+2)
		if strings.Contains(endless, text) || strings.Contains(reverse(endless), text) {
			return true
		}
	}
	return false
}

func reverse(text string) string {
	runes := []rune(text)
	for i, j := 0, len(runes)-1; i < j; i, j = i+1, j-1 {
		runes[i], runes[j] = runes[j], runes[i]
	}
	return string(runes)
}

// isPair reports whether a text is two listed words in a row.
func isPair(text string, listed func(string) bool) bool {
	for i := 3; i+3 <= len(text); i++ {
		if listed(text[:i]) && listed(text[i:]) {
			return true
		}
	}
	return false
}
