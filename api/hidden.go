package api

import "unicode"

// HiddenRule is the validation message for a text with invisible characters: see HasHidden.
const HiddenRule = "must not contain invisible formatting characters"

const (
	zeroWidthNonJoiner = '\u200c'
	zeroWidthJoiner    = '\u200d'
	emojiPresentation  = '\ufe0f'
	blackFlag          = '\U0001f3f4'
	cancelTag          = '\U000e007f'
)

// joining contains the scripts that use joiners between letters.
var joining = []*unicode.RangeTable{
	unicode.Arabic, unicode.Syriac, unicode.Mongolian, unicode.Nko, unicode.Mandaic, unicode.Hanifi_Rohingya,
	unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi, unicode.Gujarati, unicode.Oriya, unicode.Tamil, unicode.Telugu, unicode.Kannada,
	unicode.Malayalam, unicode.Sinhala, unicode.Khmer, unicode.Myanmar, unicode.Lao, unicode.Thai, unicode.Tibetan, unicode.Balinese, unicode.Javanese,
}

// HasHidden reports whether a text contains invisible formatting characters (category Cf). They can reverse the direction of the text that
// follows, or make two different texts look alike. Joiners are allowed in emoji and between letters of scripts that use them, where their
// effect is visible.
func HasHidden(text string) bool {
	runes := []rune(text)
	for i := 0; i < len(runes); i++ {
		r := runes[i]
		if !unicode.Is(unicode.Cf, r) {
			continue
		}
		before, after := runes[:i], runes[i+1:]
		switch {
		case (r == zeroWidthNonJoiner || r == zeroWidthJoiner) && joinsLetters(before, after):
		case r == zeroWidthJoiner && joinsEmoji(before, after):
		default:
			tags := flagTags(before, runes[i:])
			if tags == 0 {
				return true
			}
			i += tags - 1
		}
	}
	return false
}

// joinsLetters reports whether a joiner is between two letters of one script that uses joiners. Marks, such as vowels, belong to their
// letter.
func joinsLetters(before, after []rune) bool {
	if len(before) == 0 || len(after) == 0 {
		return false
	}
	for _, script := range joining {
		if unicode.Is(script, after[0]) && unicode.In(after[0], unicode.L, unicode.M) && unicode.Is(script, lastLetter(before)) {
			return true
		}
	}
	return false
}

// lastLetter returns the last letter of a text, skipping trailing marks. It returns 0 if the text ends with something else.
func lastLetter(text []rune) rune {
	for i := len(text) - 1; i >= 0; i-- {
		switch {
		case unicode.IsLetter(text[i]):
			return text[i]
		case !unicode.IsMark(text[i]):
			return 0
		}
	}
	return 0
}

// joinsEmoji reports whether a joiner is between two emoji.
func joinsEmoji(before, after []rune) bool {
	for len(before) > 0 && (before[len(before)-1] == emojiPresentation || skinTone(before[len(before)-1])) {
		before = before[:len(before)-1]
	}
	return len(before) > 0 && len(after) > 0 && pictograph(before[len(before)-1]) && pictograph(after[0])
}

func skinTone(r rune) bool { return r >= '\U0001f3fb' && r <= '\U0001f3ff' }

// pictograph reports whether a character occurs in emoji sequences. The horizontal arrow is the one in category Sm.
func pictograph(r rune) bool { return unicode.Is(unicode.So, r) || r == '\u2194' }

// flagTags returns the number of leading tag characters in text that belong to a flag, such as that of Scotland. They are lowercase letters
// and digits after a black flag, up to an end tag.
func flagTags(before, text []rune) int {
	if len(before) == 0 || before[len(before)-1] != blackFlag {
		return 0
	}
	for i, r := range text {
		letter := r - '\U000e0000'
		switch {
		case r == cancelTag && i > 0:
			return i + 1
		case i < 6 && (letter >= 'a' && letter <= 'z' || letter >= '0' && letter <= '9'):
		default:
			return 0
		}
	}
	return 0
}
