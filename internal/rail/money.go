package rail

import (
	"errors"
	"strconv"
	"strings"

	"bursar/api"
)

// maxDigits is the greatest number of digits of an amount, in the minor unit.
const maxDigits = 15

// Decimal writes an amount of the minor unit with a point, exactly: 5000000 PHP is 50000.00.
func Decimal(amount int64, currency string) string {
	sign := ""
	if amount < 0 {
		sign, amount = "-", -amount
	}
	after := api.Decimals(currency)
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

// ParseDecimal reads what Decimal writes, and forms with fewer or more zeros at the end. It refuses signs, exponents, and anything that is
// not a whole number of the minor unit.
func ParseDecimal(text, currency string) (int64, error) {
	before, after, _ := strings.Cut(text, ".")
	after = strings.TrimRight(after, "0")
	if len(after) > api.Decimals(currency) {
		return 0, errors.New("the amount has more decimals than its currency")
	}
	digits := before + after + strings.Repeat("0", api.Decimals(currency)-len(after))
	if len(strings.TrimLeft(digits, "0")) > maxDigits {
		return 0, errors.New("the amount is too large")
	}
	if before == "" || strings.Trim(digits, "0123456789") != "" {
		return 0, errors.New("the amount is no decimal number")
	}
	return strconv.ParseInt(digits, 10, 64)
}
