package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// short writes a measurement with three significant digits: 52,100/s, 1.24 ms.
func short(v float64, unit string) string {
	return quantity(v, unit, significant(3))
}

// quantity writes v in the largest unit in which it is at least one.
func quantity(v float64, unit string, format func(float64) string) string {
	switch unit {
	case "":
		return format(v)
	case "req/s":
		return format(v) + "/s"
	case "×":
		return format(v) + "×"
	case "ms":
		return span(v, format)
	case "KiB":
		return size(v*(1<<10), format)
	case "MiB":
		return size(v*(1<<20), format)
	}
	return format(v) + " " + unit
}

func span(ms float64, format func(float64) string) string {
	switch {
	case ms == 0:
		return "0 ms"
	case ms < 1:
		return format(ms*1000) + " µs"
	case ms < 1000:
		return format(ms) + " ms"
	}
	return format(ms/1000) + " s"
}

func size(bytes float64, format func(float64) string) string {
	const unit = 1 << 10
	names := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	step := 0
	for bytes >= unit && step < len(names)-1 {
		bytes /= unit
		step++
	}
	return format(bytes) + " " + names[step]
}

// significant rounds to that many significant digits: 52,137 becomes 52,100.
func significant(digits int) func(float64) string {
	return func(v float64) string {
		if v == 0 || math.IsInf(v, 0) || math.IsNaN(v) {
			return plain(v)
		}
		unit := math.Pow10(exponent(v) + 1 - digits)
		rounded := math.Round(v/unit) * unit
		decimals := digits - 1 - exponent(rounded)
		return thousands(strconv.FormatFloat(rounded, 'f', max(decimals, 0), 64))
	}
}

// plain writes v without trailing zeros: 0.8, 10, 1,000,000.
func plain(v float64) string {
	return thousands(strconv.FormatFloat(v, 'f', -1, 64))
}

func thousands(number string) string {
	whole, fraction, _ := strings.Cut(number, ".")
	sign := ""
	if strings.HasPrefix(whole, "-") {
		sign, whole = "-", whole[1:]
	}
	const group = 3
	for at := len(whole) - group; at > 0; at -= group {
		whole = whole[:at] + "," + whole[at:]
	}
	if fraction != "" {
		fraction = "." + fraction
	}
	return sign + whole + fraction
}

// duration writes seconds as 8 min 12 s.
func duration(seconds float64) string {
	whole := int(math.Round(seconds))
	if whole < 60 {
		return fmt.Sprintf("%d s", whole)
	}
	return fmt.Sprintf("%d min %d s", whole/60, whole%60)
}

func exponent(v float64) int { return int(math.Floor(math.Log10(math.Abs(v)) + 1e-9)) }
