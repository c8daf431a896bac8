package accountnumber_test

import (
	"strings"
	"testing"

	"bursar/internal/accountnumber"
)

func TestAnIBANIsCheckedByItsDigitsAndItsLength(t *testing.T) {
	t.Parallel()
	for _, good := range []string{
		"GB82 WEST 1234 5698 7654 32", "DE89370400440532013000", "de89 3704-0044-0532.0130 00", "NO9386011117947",
		"MT84MALT011000012345MTLCAST001S", "FR1420041010050500013M02606", "BE68539007547034",
		"00123456789", "ada@example.com", "Ada", "ZZ00 1234 5678 90", "AB12", // no IBANs at all
	} {
		if why := accountnumber.Wrong(good); why != "" {
			t.Errorf("%s %s", good, why)
		}
	}
	for bad, says := range map[string]string{
		"GB82 WEST 1234 5698 7654 33": "check digits", "DE89370400440532013001": "check digits", "DE98370400440532013000": "check digits",
		"DE8937040044053201300": "22 characters; this one has 21", "NO938601111794701": "15 characters",
	} {
		if why := accountnumber.Wrong(bad); !strings.Contains(why, says) {
			t.Errorf("of %s is said %q", bad, why)
		}
	}
}

// Any one wrong character, and any two neighbours in the wrong order, are found.
func TestEveryTypingMistakeInAnIBANIsFound(t *testing.T) {
	t.Parallel()
	const good = "DE89370400440532013000"
	for i := 2; i < len(good); i++ {
		for c := '0'; c <= '9'; c++ {
			if bad := good[:i] + string(c) + good[i+1:]; bad != good && accountnumber.Wrong(bad) == "" {
				t.Errorf("%s passes", bad)
			}
		}
		if i+1 < len(good) && good[i] != good[i+1] {
			if bad := good[:i] + string(good[i+1]) + string(good[i]) + good[i+2:]; accountnumber.Wrong(bad) == "" {
				t.Errorf("%s passes", bad)
			}
		}
	}
}

func TestANumberIsDoubtfulAtAnInstitutionWithAnotherForm(t *testing.T) {
	t.Parallel()
	for institution, number := range map[string]string{"BPI": "1234567890", "bdo unibank": "0012-3456-7890", "GXCHPHM2XXX": "09171234567", "A bank": "1", "BPI ": "DE89370400440532013000"} {
		if why := accountnumber.Doubt(institution, number); why != "" {
			t.Errorf("%s at %s: %s", number, institution, why)
		}
	}
	for institution, says := range map[string]string{"BPI": "BPI has 10 digits", "gcash": "11 digits", "MBTCPHMMXXX": "13 digits", "BDO": "10 or 12 digits"} {
		if why := accountnumber.Doubt(institution, "123"); !strings.Contains(why, says) {
			t.Errorf("of %s is said %q", institution, why)
		}
	}
}
