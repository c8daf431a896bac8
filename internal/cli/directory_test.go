package cli

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
)

// at runs a command against a server as its admin.
func at(t *testing.T, n *servertest.Node, args ...string) (out, errs string, code int) {
	t.Helper()
	terminal, stdout, stderr := pipes("BURSAR_URL", n.URL, "BURSAR_API_KEY", n.First.APIKey, "BURSAR_CONFIG_DIR", t.TempDir(), "BURSAR_KEYRING", "off")
	code = Run(t.Context(), args, terminal)
	return stdout.String(), stderr.String(), code
}

func TestListsAreWalkedAndStoppedEarly(t *testing.T) {
	n := servertest.Start(t, dbtest.SQLite(t))
	admin := n.Admin(t)
	var names []string
	for i := range 230 {
		names = append(names, fmt.Sprintf("Person %d", i))
		admin.Entry(servertest.Body{"name": names[i]})
	}
	slices.Reverse(names)
	for line, want := range map[string]int{"": 50, "--limit 1": 1, "--limit 99": 99, "--limit 100": 100, "--limit 101": 101, "--limit 230": 230, "--limit 231": 230, "--all": 230} {
		out, errs, code := at(t, n, append([]string{"directory", "list", "--jq", ".[].label"}, strings.Fields(line)...)...)
		got := strings.Split(strings.TrimSpace(out), "\n")
		if code != exitOK || !slices.Equal(got, names[:want]) {
			t.Errorf("%s: code %d, %d rows from %s to %s, want %d\n%s", line, code, len(got), got[0], got[len(got)-1], want, errs)
		}
		if told := strings.Contains(errs, "--all"); told != (want < 230) {
			t.Errorf("%s says: %q", line, errs)
		}
	}
	if out, errs, _ := at(t, n, "directory", "get", "PERSON 2", "--jq", ".label"); out != "Person 2\n" {
		t.Errorf("a label among many that begin like it: %q %s", out, errs)
	}
}

func TestSearchWordsAreWhatTheServerTakes(t *testing.T) {
	long := strings.Repeat("é", 50)
	cut := strings.Repeat("é", 48)
	for label, want := range map[string]string{
		"":                          "",
		" -- ":                      "",
		"Ada":                       "Ada",
		"O'Hara & Sons, Ltd.":       "O Hara Sons Ltd",
		"a b c d e f g h i j":       "a b c d e f g h",
		long + " " + long + " y":    cut + " " + cut + " y",
		strings.Repeat(long+" ", 3): cut + " " + cut,
	} {
		if got := searchWords(label); got != want {
			t.Errorf("%q is searched for by %q, want %q", label, got, want)
		}
	}
}

func TestOddLabelsAreFound(t *testing.T) {
	n := servertest.Start(t, dbtest.SQLite(t))
	admin := n.Admin(t)
	for _, label := range []string{
		"O'Hara & Sons, \"Ltd\"", "Zoë Ångström", "日本 太郎", "a b c d e f g h i j k l", strings.Repeat("long ", 39) + "end",
		strings.Repeat("é", 100), "100%", "entry-level", "-flag",
	} {
		id := admin.Entry(servertest.Body{"label": label})
		for _, ref := range []string{label, strings.ToUpper(label), id} {
			if out, errs, code := at(t, n, "directory", "get", "--jq", ".id", "--", ref); out != id+"\n" {
				t.Errorf("%q: code %d, %q %s", ref, code, out, errs)
			}
		}
	}
}
