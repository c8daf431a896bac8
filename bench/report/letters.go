package report

import (
	"strings"
	"unicode"
)

// bolder is how much wider bold text runs.
const bolder = 1.08

// textWidth guesses generously, as the reader's font is not known.
func textWidth(text string, size float64) float64 {
	em := 0.0
	for _, r := range text {
		switch {
		case strings.ContainsRune("iljtfrI.,:;'|!()[]/ ·", r):
			em += 0.37
		case strings.ContainsRune("mwMW%…", r):
			em += 0.95
		case unicode.IsUpper(r):
			em += 0.72
		case r > 0x2e80: // scripts of the East
			em++
		default:
			em += 0.62
		}
	}
	return em * size
}

// fit cuts text that is wider than width.
func fit(text string, size, width float64) string {
	if textWidth(text, size) <= width {
		return text
	}
	runes := []rune(text)
	for len(runes) > 0 && textWidth(string(runes)+"…", size) > width {
		runes = runes[:len(runes)-1]
	}
	return strings.TrimRight(string(runes), " ,·") + "…"
}

func wrapText(text string, size, width float64) []string {
	var out []string
	line := ""
	for _, word := range strings.Fields(text) {
		joined := strings.TrimSpace(line + " " + word)
		if line != "" && textWidth(joined, size) > width {
			out = append(out, line)
			joined = word
		}
		line = fit(joined, size, width)
	}
	if line != "" {
		out = append(out, line)
	}
	return out
}
