package term

import (
	"strings"
	"testing"
)

const someID = "usr_01jd2m8k3vq7w5x9y0z1a2b3c4"

// shown prints a table on a screen of a width.
func shown(t *testing.T, columns int, wide bool, env ...string) string {
	t.Helper()
	s := newScreen(t, columns, append(env, "NO_COLOR", "1")...)
	table := &Table{Columns: []string{"name", "id", "action", "note"}, Detail: []string{"action"}}
	table.Add("Ada Augusta King, Countess of Lovelace", someID, "directory.entry.created", "made by hand")
	var out strings.Builder
	if err := table.print(s.Terminal, &out, wide); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestATableGivesUpWhatAPersonMissesLeast(t *testing.T) {
	for name, c := range map[string]struct {
		columns int
		wide    bool
		locale  string
		want    string
	}{
		"everything fits":         {120, false, "C.UTF-8", "Ada Augusta King, Countess of Lovelace  usr_01jd2m8k3vq7w5x9y0z1a2b3c4  directory.entry.created  made by hand"},
		"an id is shortened":      {95, false, "C.UTF-8", "Ada Augusta King, Countess of Lovelace  usr_…a2b3c4  directory.entry.created  made by hand"},
		"then the name, a little": {80, false, "C.UTF-8", "Ada Augusta King, Countess …  usr_…a2b3c4  directory.entry.created  made by hand"},
		"then a detail goes":      {70, false, "C.UTF-8", "Ada Augusta King, Countess of Lovelace  usr_…a2b3c4  made by hand"},
		"without Unicode":         {70, false, "C", "Ada Augusta King, Countess of Lovelace  usr_...a2b3c4  made by hand"},
		"--wide cuts nothing":     {40, true, "C.UTF-8", "Ada Augusta King, Countess of Lovelace  usr_01jd2m8k3vq7w5x9y0z1a2b3c4  directory.entry.created  made by hand"},
	} {
		t.Run(name, func(t *testing.T) {
			_, row, _ := strings.Cut(strings.TrimSuffix(shown(t, c.columns, c.wide, "LANG", c.locale), "\n"), "\n")
			if row != c.want {
				t.Errorf("got  %q\nwant %q", row, c.want)
			}
		})
	}
}

func TestAShortenedIDStandsForItsID(t *testing.T) {
	for short, want := range map[string]bool{
		"usr_…a2b3c4": true, "usr_...a2b3c4": true, "usr_…a2b3c5": false, "ws_…a2b3c4": false, someID: false, "a2b3c4": false, "": false, "usr_…": false,
	} {
		if got := ShortIDMatches(short, someID); got != want {
			t.Errorf("%q: %t", short, got)
		}
	}
}
