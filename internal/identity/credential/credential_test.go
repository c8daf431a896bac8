package credential

import (
	"regexp"
	"strings"
	"testing"
)

const codeLength = 6

var secretForm = regexp.MustCompile(`^[0-9A-Za-z]{30}[0-9A-Za-z]{6}$`)

func TestNewSecretsAreWellFormedAndDiffer(t *testing.T) {
	for _, prefix := range []string{"bk_", "bcs_"} {
		seen := map[string]bool{}
		for range 1000 {
			secret := New(prefix)
			body, ok := strings.CutPrefix(secret, prefix)
			if !ok || !secretForm.MatchString(body) || !WellFormed(prefix, secret) {
				t.Fatalf("%q is not well formed", secret)
			}
			if seen[secret] {
				t.Fatalf("%q came twice", secret)
			}
			seen[secret] = true
		}
	}
}

// The checksum is public: whoever scans for leaked keys computes it too.
func TestChecksumIsCRC32InBase62(t *testing.T) {
	for body, want := range map[string]string{
		strings.Repeat("A", 30):          "0uCPlr",
		"0123456789abcdefghijABCDEFGHIJ": "3mpbCX",
	} {
		if got := checksum(body); got != want {
			t.Errorf("the checksum of %s is %s, want %s", body, got, want)
		}
	}
}

func FuzzAPIKey(f *testing.F) {
	f.Add("bk_"+strings.Repeat("A", 30)+"0uCPlr", uint(3), byte('B'))
	f.Add("bk_"+strings.Repeat("A", 36), uint(40), byte('0'))
	f.Add("bcs_"+strings.Repeat("A", 30)+"0uCPlr", uint(0), byte(0xff))
	f.Add("", uint(0), byte(0))
	f.Add("bk_", uint(1), byte('_'))
	f.Add(strings.Repeat("é", 20), uint(5), byte(1))
	f.Fuzz(func(t *testing.T, text string, at uint, other byte) {
		body, ok := strings.CutPrefix(text, "bk_")
		if WellFormed("bk_", text) {
			if !ok || len(body) != 36 || checksum(body[:30]) != body[30:] {
				t.Fatalf("%q passes for a key", text)
			}
		}
		// Whatever stands in the first 30 places, the right checksum and no
		// other makes it well formed: one wrong character is always noticed.
		secret := (body + strings.Repeat("0", 30))[:30]
		secret = "bk_" + secret + checksum(secret)
		if !WellFormed("bk_", secret) || WellFormed("bcs_", secret) {
			t.Fatalf("%q does not pass for a key, or passes for another secret", secret)
		}
		wrong := []byte(secret)
		if i := at % uint(len(wrong)); wrong[i] != other {
			wrong[i] = other
			if WellFormed("bk_", string(wrong)) {
				t.Fatalf("%q passes for a key as well as %q", wrong, secret)
			}
		}
		if WellFormed("bk_", secret+string(other)) || WellFormed("bk_", secret[:len(secret)-1]) {
			t.Fatalf("%q passes for a key with another length", secret)
		}
	})
}

func TestHashIsSHA256(t *testing.T) {
	if got, want := Hash("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestRandomTextUsesTheWholeAlphabet(t *testing.T) {
	for _, alphabet := range []string{base62, codeAlphabet} {
		text := randomText(alphabet, 5000)
		for _, c := range alphabet {
			// 5000 draws miss one of 62 characters once in 10^35 runs.
			if !strings.ContainsRune(text, c) {
				t.Errorf("%q never came", c)
			}
		}
		if extra := strings.Trim(text, alphabet); extra != "" || len(text) != 5000 {
			t.Errorf("%d characters with %q among them", len(text), extra)
		}
	}
}

func TestCodesAreReadAsPeopleTypeThem(t *testing.T) {
	for typed, want := range map[string]string{
		"ABC234": "ABC234", "abc234": "ABC234", "aBc-234": "ABC234", " abc 234 ": "ABC234", "a-b-c-2-3-4": "ABC234", "--ABC234": "ABC234",
		"": "", "ABC23": "", "ABC2345": "", "ABC23I": "", "ABC23O": "", "ABC230": "", "ABC231": "", "ABC23é": "", "ABC2\t34": "", "ABC23\x00": "", "ÄÖÜ": "", "\xff\xff\xff\xff\xff\xff": "",
	} {
		if got, ok := ParseCode(typed, codeLength); got != want || ok != (want != "") {
			t.Errorf("%q is read as %q, %v; want %q", typed, got, ok, want)
		}
	}
}

func FuzzDeviceCode(f *testing.F) {
	for _, seed := range []string{"ABC234", "abc-234", "", "ſſſſſſ", "\xff", "ABC 23\u00a04"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, typed string) {
		code, ok := ParseCode(typed, codeLength)
		if !ok {
			if code != "" {
				t.Fatalf("%q is refused and read as %q", typed, code)
			}
			return
		}
		if len(code) != codeLength || strings.Trim(code, codeAlphabet) != "" {
			t.Fatalf("%q is read as %q", typed, code)
		}
		for _, again := range []string{code, strings.ToLower(code), code[:3] + "-" + code[3:]} {
			if got, ok := ParseCode(again, codeLength); !ok || got != code {
				t.Fatalf("%q is read as %q, %q as %q", typed, code, again, got)
			}
		}
	})
}
