package rail

import (
	"errors"
	"strconv"
	"strings"
)

// maxDigits is how many digits an amount has at most, in the minor unit.
const maxDigits = 15

// decimals is how many digits of an amount stand after the point, by ISO 4217.
func decimals(currency string) int {
	switch currency {
	case "BIF", "CLP", "DJF", "GNF", "ISK", "JPY", "KMF", "KRW", "PYG", "RWF", "UGX", "UYI", "VND", "VUV", "XAF", "XOF", "XPF":
		return 0
	case "BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND":
		return 3
	case "CLF", "UYW":
		return 4
	}
	return 2
}

// Decimal writes an amount of the minor unit with a point, exactly: 5000000 PHP is 50000.00.
func Decimal(amount int64, currency string) string {
	sign := ""
	if amount < 0 {
		sign, amount = "-", -amount
	}
	after := decimals(currency)
	digits := strconv.FormatInt(amount, 10)
	if after == 0 {
		return sign + digits
	}
	if missing := after + 1 - len(digits); missing > 0 {
		digits = strings.Repeat("0", missing) + digits
	}
	point := len(digits) - after
	return sign + digits[:point] + "." + digits[point:]
}

// ParseDecimal reads what Decimal writes, and forms with fewer or more zeros at the end. It
// refuses signs, exponents, and whatever is no whole number of the minor unit.
func ParseDecimal(text, currency string) (int64, error) {
	before, after, _ := strings.Cut(text, ".")
	after = strings.TrimRight(after, "0")
	if len(after) > decimals(currency) {
		return 0, errors.New("the amount has more decimals than its currency")
	}
	digits := before + after + strings.Repeat("0", decimals(currency)-len(after))
	if len(strings.TrimLeft(digits, "0")) > maxDigits {
		return 0, errors.New("the amount is too large")
	}
	if before == "" || strings.Trim(digits, "0123456789") != "" {
		return 0, errors.New("the amount is no decimal number")
	}
	return strconv.ParseInt(digits, 10, 64)
}

// Money writes an amount for people: 5000000 PHP is PHP 50,000.00.
func Money(amount int64, currency string) string {
	text := Decimal(amount, currency)
	sign := ""
	if strings.HasPrefix(text, "-") {
		sign, text = "-", text[1:]
	}
	whole, fraction, found := strings.Cut(text, ".")
	for at := len(whole) - 3; at > 0; at -= 3 {
		whole = whole[:at] + "," + whole[at:]
	}
	if found {
		whole += "." + fraction
	}
	return currency + " " + sign + whole
}
