package api_test

import (
	"testing"

	"bursar/api"
)

func TestHiddenCharacters(t *testing.T) {
	for name, c := range map[string]struct {
		text   string
		hidden bool
	}{
		"plain text":                          {"Acme Power", false},
		"accents as marks":                    {"Jose\u0301 Nu\u0303ez", false},
		"a reversed text":                     {"Acme \u202erewoP", true},
		"an isolate":                          {"Acme \u2066Power\u2069", true},
		"a right-to-left mark":                {"Acme\u200f", true},
		"a zero-width space":                  {"Ac\u200bme", true},
		"a soft hyphen":                       {"Ac\u00adme", true},
		"a word joiner":                       {"Ac\u2060me", true},
		"a byte order mark":                   {"\ufeffAcme", true},
		"invisible tags":                      {"Acme\U000e0041\U000e0042", true},
		"a joiner between Latin letters":      {"Ac\u200dme", true},
		"a non-joiner between Latin letters":  {"Ac\u200cme", true},
		"a joiner between digits":             {"0917\u200d1234567", true},
		"a joiner at the start":               {"\u200dم", true},
		"a joiner at the end":                 {"م\u200d", true},
		"two joiners between Arabic letters":  {"می\u200c\u200cخواهم", true},
		"a joiner between scripts":            {"م\u200dक", true},
		"Persian":                             {"می\u200cخواهم", false},
		"Persian with a vowel":                {"مَ\u200cی", false},
		"Devanagari":                          {"र्\u200dय", false},
		"Sinhala":                             {"ශ්\u200dරී ලංකා", false},
		"Malayalam":                           {"ന്\u200dറെ", false},
		"a family":                            {"👩\u200d👩\u200d👧\u200d👦", false},
		"a heart on fire":                     {"❤\ufe0f\u200d🔥", false},
		"a skin tone":                         {"👩🏽\u200d🚀", false},
		"a head that shakes":                  {"🙂\u200d↔\ufe0f", false},
		"the flag of Scotland":                {"🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f United", false},
		"a flag whose tags have no end":       {"🏴\U000e0067\U000e0062", true},
		"a flag with a sentence in its tags":  {"🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e0074\U000e0074\U000e007f", true},
		"a flag with an end and no tags":      {"🏴\U000e007f", true},
		"a joiner after an emoji":             {"👩\u200dAcme", true},
		"two joiners between emoji":           {"👩\u200d\u200d🚀", true},
		"a flag and then an invisible letter": {"🏴 \U000e0067\U000e007f", true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := api.HasHidden(c.text); got != c.hidden {
				t.Errorf("%q: %v", c.text, got)
			}
		})
	}
}
