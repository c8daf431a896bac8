package api_test

import (
	"testing"

	"bursar/api"
)

func TestAmountsAreReadAsPeopleWriteThem(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "1": 100, "0.5": 50, "0.05": 5, "1250.50": 125050, "1,250.50": 125050, "50,000": 5000000, "9999999999999.99": 999999999999999, "007": 700,
	} {
		if got, err := api.ParseAmount(text); err != nil || got != want {
			t.Errorf("%s is %d, %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", ".", ".5", "1.", "1.234", "-1", "+1", "1e3", "1 000", "1,00", "1,0000", ",100", "10000,000", "1.2.3", "١", "99999999999999", "1,000.5,0"} {
		if got, err := api.ParseAmount(text); err == nil {
			t.Errorf("%q is %d", text, got)
		}
	}
}

func TestAmountsAreWrittenForPeople(t *testing.T) {
	for amount, want := range map[int64]string{
		0: "0.00 PHP", 5: "0.05 PHP", -5: "-0.05 PHP", 100: "1.00 PHP", 123456789: "1,234,567.89 PHP", -100000: "-1,000.00 PHP", 999999999999999: "9,999,999,999,999.99 PHP",
	} {
		if got := api.FormatAmount(amount, "PHP"); got != want {
			t.Errorf("%d is %q, want %q", amount, got, want)
		}
	}
}
