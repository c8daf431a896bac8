package api_test

import (
	"testing"

	"bursar/api"
)

func TestAmountsAreReadAsPeopleWriteThem(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "1": 100, "0.5": 50, "0.05": 5, "1250.50": 125050, "1,250.50": 125050, "50,000": 5000000, "9999999999999.99": 999999999999999, "007": 700,
	} {
		if got, err := api.ParseAmount(text, "PHP"); err != nil || got != want {
			t.Errorf("%s is %d, %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", ".", ".5", "1.", "1.234", "-1", "+1", "1e3", "1 000", "1,00", "1,0000", ",100", "10000,000", "1.2.3", "١", "99999999999999", "1,000.5,0"} {
		if got, err := api.ParseAmount(text, "PHP"); err == nil {
			t.Errorf("%q is %d", text, got)
		}
	}
}

func TestAmountsAreWrittenForPeople(t *testing.T) {
	for amount, want := range map[int64]string{
		0: "PHP 0.00", 5: "PHP 0.05", -5: "PHP -0.05", 100: "PHP 1.00", 123456789: "PHP 1,234,567.89", -100000: "PHP -1,000.00", 999999999999999: "PHP 9,999,999,999,999.99",
	} {
		if got := api.FormatAmount(amount, "PHP"); got != want {
			t.Errorf("%d is %q, want %q", amount, got, want)
		}
	}
}

func TestACurrencyHasItsOwnDecimals(t *testing.T) {
	for _, c := range []struct {
		text, currency string
		amount         int64
		written        string
	}{
		{"1500", "JPY", 1500, "JPY 1,500"}, {"0", "JPY", 0, "JPY 0"}, {"999,999,999,999,999", "JPY", 999999999999999, "JPY 999,999,999,999,999"},
		{"1500", "KWD", 1500000, "KWD 1,500.000"}, {"1.005", "KWD", 1005, "KWD 1.005"}, {"0.5", "KWD", 500, "KWD 0.500"}, {"0.0001", "CLF", 1, "CLF 0.0001"},
	} {
		if got, err := api.ParseAmount(c.text, c.currency); err != nil || got != c.amount {
			t.Errorf("%s %s is %d, %v, want %d", c.text, c.currency, got, err, c.amount)
		}
		if got := api.FormatAmount(c.amount, c.currency); got != c.written {
			t.Errorf("%d %s is %q, want %q", c.amount, c.currency, got, c.written)
		}
	}
	for text, currency := range map[string]string{"1.5": "JPY", "1.0": "JPY", "1.0005": "KWD", "1,000,000,000,000,000": "JPY", "1000000000000": "KWD"} {
		if got, err := api.ParseAmount(text, currency); err == nil {
			t.Errorf("%s %s is %d", text, currency, got)
		}
	}
}
