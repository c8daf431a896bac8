package signin_test

import (
	"strings"
	"testing"

	"bursar/internal/signin"
)

func TestPasswordsThatAreTriedFirstAreRefused(t *testing.T) {
	const email = "carla.nunes@northwind.example"
	for name, list := range map[string][]string{
		"listed as they are":              {"thisismypassword", "secretpassword", "administrator", "correcthorsebatterystaple", "password123456"},
		"in capitals":                     {"SecretPassword", "ADMINISTRATOR"},
		"with space around them":          {"  secretpassword  ", "\tadministrator\n"},
		"dressed up with digits":          {"administrator2026", "12345administrator", "2024password2024"},
		"dressed up with signs":           {"!!!password!!!", "***secretpassword***", "sunshine......"},
		"with look-alikes":                {"P@ssw0rd123!", "P4$$w0rd!!!!", "4dm1n1str4t0r", "5un5h1ne!!!!"},
		"one character over and over":     {"aaaaaaaaaaaa", "000000000000", "............", "zzzzzzzzzzzzzzzzzzzz"},
		"a few characters over and over":  {"abababababab", "xyzxyzxyzxyz", "12ab12ab12ab", "koala" + "koala" + "koala"},
		"a listed word over and over":     {"dragondragon", "monkeymonkeymonkey", "dragondragon123"},
		"a run of the alphabet":           {"abcdefghijkl", "zyxwvutsrqpo", "mnopqrstuvwxyz"},
		"a run of digits":                 {"123456789012", "098765432109", "3456789012345"},
		"a run of the keyboard":           {"qwertyuiopasdf", "asdfghjklqwertyuiop"[:9] + "zxc", "1qaz2wsx3edc4rfv", "1q2w3e4r5t6y7u", "poiuytrewqpoiuy"},
		"a run of the keyboard, twice":    {"qwertyqwerty", "asdfghasdfgh"},
		"two listed words":                {"dragonmonkey", "summerpassword", "footballking", "welcomedragon1"},
		"the own address":                 {email, "CARLA.NUNES@NORTHWIND.EXAMPLE"},
		"the own name before the @":       {"carla.nunes1", "carla.nunes2026!"},
		"the own domain":                  {"northwind.example", "northwind.example1", "northwind123", "Northwind2026!"},
		"the own domain and a listed one": {"northwindpassword", "bursarnorthwind"},
		"the name of this program":        {"bursarbursar", "bursar123456"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, password := range list {
				if err := signin.CheckPassword(password, email); err == nil {
					t.Errorf("%q is accepted", password)
				}
			}
		})
	}
}

func TestGoodPasswordsAreAcceptedWhateverTheyAreMadeOf(t *testing.T) {
	for _, password := range []string{
		goodPassword, newPassword,
		"correct horse battery staple", // with spaces it is another than the listed one
		"the owl forgot its hat",
		"wintergreen-tundra",
		"gq7 vK2 pLx9",
		"kdjfhgurnqpz",
		"74926108357194",
		"пять синих чашек",
		"七つの静かな灯篭が海辺で光る",
		"🐙🦉🐝🦔🐢🦊🐳🦜🐞🦋🐌🦎",
		"ordinary  double  spaces",
		"passwords are for the birds",
		strings.Repeat("xq7w ", 39) + "done",
	} {
		if err := signin.CheckPassword(password, "carla.nunes@northwind.example"); err != nil {
			t.Errorf("%q is refused: %v", password, err)
		}
	}
}

func TestPasswordsHaveALength(t *testing.T) {
	long := func(n int) string { return ("lamps at sea " + strings.Repeat("qzvkjxwp3f", 20))[:n] }
	for name, c := range map[string]struct {
		password string
		good     bool
	}{
		"none":                          {"", false},
		"eleven characters":             {long(11), false},
		"twelve characters":             {long(12), true},
		"two hundred characters":        {long(200), true},
		"two hundred and one":           {long(201), false},
		"eleven characters, many bytes": {"七つの静かな灯篭が海辺", false},
		"twelve characters, many bytes": {"七つの静かな灯篭が海辺で", true},
		"two hundred, many bytes":       {strings.Repeat("七つの静かな灯篭が", 22) + "海辺", true},
		"six letters with marks apart":  {"e\u0301a\u0300o\u0302u\u0308i\u0301n\u0303", false},
	} {
		t.Run(name, func(t *testing.T) {
			if err := signin.CheckPassword(c.password, "carla@example.com"); (err == nil) != c.good {
				t.Errorf("%d bytes: %v", len(c.password), err)
			}
		})
	}
}

func TestPasswordsAreText(t *testing.T) {
	for name, password := range map[string]string{"broken UTF-8": "seven quiet \xff lanterns", "a zero": "seven quiet \x00 lanterns"} {
		if err := signin.CheckPassword(password, "carla@example.com"); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

// What is hashed is the normal form, so that is what is judged.
func TestPasswordsAreJudgedInTheirNormalForm(t *testing.T) {
	for _, password := range []string{"ｐａｓｓｗｏｒｄ１２３４", "ａｄｍｉｎｉｓｔｒａｔｏｒ", "１２３４５６７８９０１２"} {
		if err := signin.CheckPassword(password, "carla@example.com"); err == nil {
			t.Errorf("%q is accepted, which is hashed as a common one", password)
		}
	}
}
