package cli

import "testing"

func TestAccountNumbersAreMasked(t *testing.T) {
	terminal, _, _ := pipes()
	for number, want := range map[string]string{
		"":                 "••••",
		"1234":             "••••",
		"1234567":          "••••",
		"12345678":         "•••• 5678",
		"DE89370400440532": "•••• 0532",
		"ÄÖÜäöüßé":         "•••• öüßé",
	} {
		if got := mask(terminal, number); got != want {
			t.Errorf("%q is shown as %q, want %q", number, got, want)
		}
	}
}
