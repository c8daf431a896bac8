package report

import "testing"

func TestNumbersHaveThreeDigitsThatMatter(t *testing.T) {
	tests := []struct {
		value float64
		unit  string
		want  string
	}{
		{52137, "req/s", "52,100/s"},
		{1234567, "req/s", "1,230,000/s"},
		{14050, "req/s", "14,100/s"},
		{999.6, "req/s", "1,000/s"},
		{31, "req/s", "31.0/s"},
		{0, "req/s", "0/s"},
		{1.2366, "ms", "1.24 ms"},
		{0.8204, "ms", "820 µs"},
		{2513, "ms", "2.51 s"},
		{0, "ms", "0 ms"},
		{0.25, "s", "250 ms"},
		{38.2, "MiB", "38.2 MiB"},
		{2048, "MiB", "2.00 GiB"},
		{33457280, "bytes", "31.9 MiB"},
		{412, "bytes", "412 B"},
		{0.8313, "×", "0.831×"},
		{-5.25, "", "-5.25"},
		{7, "goroutines", "7.00 goroutines"},
	}
	for _, test := range tests {
		if got := short(test.value, test.unit); got != test.want {
			t.Errorf("%v %s is %q, want %q", test.value, test.unit, got, test.want)
		}
	}
}

func TestBoundsHaveNoDigitsToSpare(t *testing.T) {
	for value, want := range map[float64]string{0.8: "0.8×", 10: "10×", 1.5: "1.5×"} {
		if got := quantity(value, "×", plain); got != want {
			t.Errorf("%v is %q, want %q", value, got, want)
		}
	}
}

func TestDurationIsForPeople(t *testing.T) {
	for seconds, want := range map[float64]string{0.4: "0 s", 59: "59 s", 59.7: "1 min 0 s", 492: "8 min 12 s"} {
		if got := duration(seconds); got != want {
			t.Errorf("%v s is %q, want %q", seconds, got, want)
		}
	}
}
