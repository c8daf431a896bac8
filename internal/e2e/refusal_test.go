package e2e_test

import (
	"encoding/base64"
	"regexp"
	"strings"
	"testing"

	"bursar/internal/db/dbtest"
)

func basic(id, secret string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(id+":"+secret))
}

// jargon is what an operator should never get to read.
var jargon = regexp.MustCompile(`(?i)sqlite3|sqlstate|pgx|pgconn|pgerror|goroutine|panic|\*fault|fault\.|%!|constraint failed|\b(select|insert into|update) .* (from|values|set)\b`)

func TestFailedAdministrationIsExplainedInOneLine(t *testing.T) {
	t.Parallel()
	const unknown = "_01jd2m8k3vq7w5x9y0z1a2b3c4"
	cases := map[string]string{
		"user create --email ada@example.com --name Again":                              "ada@example.com",
		"user create --email ADA@example.com --name Again":                              "ada@example.com",
		"user create --email nonsense --name Nobody":                                    "email",
		"user disable --email nobody@example.com":                                       "nobody@example.com",
		"user enable --email nobody@example.com":                                        "nobody@example.com",
		"api-key create --user nobody@example.com --name n":                             "nobody@example.com",
		"api-key create --user ada@example.com --name n --expires-in -1h":               "expires-in",
		"api-key create --user ada@example.com --name " + strings.Repeat("x", 101):      "name",
		"api-key revoke --id key" + unknown:                                             "not found",
		"client create --name n --workspace ws" + unknown:                               "ws" + unknown,
		"client create --name n --role emperor --workspace {workspace}":                 "role",
		"client create --name " + strings.Repeat("x", 101) + " --workspace {workspace}": "name",
		"client revoke --id cli" + unknown:                                              "cli" + unknown,
	}
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		made := initialise(t, store)
		for line, want := range cases {
			t.Run(line, func(t *testing.T) {
				args := strings.Fields(strings.ReplaceAll(line, "{workspace}", made.WorkspaceID))
				got := command(t, nil, append(append([]string{"admin"}, args...), at(store)...)...)
				if got.Code != 1 || got.Out != "" {
					t.Errorf("exit code %d: %s%s", got.Code, got.Err, got.Out)
				}
				if !strings.HasPrefix(got.Err, "bursar: ") || strings.Count(got.Err, "\n") != 1 || !strings.Contains(got.Err, want) {
					t.Errorf("the error is not a line with %q in it: %s", want, got.Err)
				}
				if found := jargon.FindString(got.Err); found != "" {
					t.Errorf("%q is not for operators: %s", found, got.Err)
				}
			})
		}
	})
}

func TestAdministrationMakesNoStore(t *testing.T) {
	t.Parallel()
	got := command(t, nil, "admin", "user", "create", "--email", "a@example.com", "--name", "A", "--data", t.TempDir())
	if got.Code != 1 || !strings.Contains(got.Err, "no store") {
		t.Errorf("exit code %d: %s", got.Code, got.Err)
	}
}

func TestAddressOfOneStoreOnly(t *testing.T) {
	t.Parallel()
	got := command(t, nil, "serve", "--data", t.TempDir(), "--database-url", "postgres://127.0.0.1/x")
	if got.Code != 2 {
		t.Errorf("exit code %d: %s", got.Code, got.Err)
	}
}
