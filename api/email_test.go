package api

import (
	"strings"
	"testing"
)

func TestIsEmail(t *testing.T) {
	for text, want := range map[string]bool{
		"ada@example.com": true, "a+b.c@sub.example.com": true, "ä@example.com": true,
		"": false, "ada": false, "@example.com": false, "ada@": false, "Ada <ada@example.com>": false, "<ada@example.com>": false,
		"ada@example.com ": false, " ada@example.com": false, "ada@example.com\n": false, "ada@example.com\x00": false, "a@b, c@d": false,
		strings.Repeat("a", 250) + "@b.cd": false,
	} {
		if got := IsEmail(text); got != want {
			t.Errorf("IsEmail(%q) is %v", text, got)
		}
	}
}
