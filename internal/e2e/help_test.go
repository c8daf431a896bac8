package e2e_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// flagsOf names the flags of every command, but for --help.
var flagsOf = map[string][]string{
	"":      {"version"},
	"admin": nil,
	"serve": {"data", "database-url", "device-session-ttl", "drain-timeout", "key-session-ttl", "listen", "log-level", "mail-from",
		"oidc-client-id", "oidc-client-secret", "oidc-issuer", "oidc-name", "public-url", "rate-limit", "smtp-url", "trusted-proxies", "web-session-idle", "web-session-ttl"},
	"init": {"data", "database-url", "email", "json", "name", "organization", "public-url", "workspace"},

	"admin user":           nil,
	"admin user create":    {"data", "database-url", "email", "json", "name"},
	"admin user disable":   {"data", "database-url", "email", "json"},
	"admin user enable":    {"data", "database-url", "email", "json"},
	"admin user link":      {"data", "database-url", "email", "json", "public-url"},
	"admin user reset":     {"data", "database-url", "email", "json", "public-url", "revoke-keys"},
	"admin api-key":        nil,
	"admin api-key create": {"data", "database-url", "expires-in", "json", "name", "user"},
	"admin api-key revoke": {"data", "database-url", "id", "json"},
	"admin client":         nil,
	"admin client create":  {"data", "database-url", "json", "name", "role", "workspace"},
	"admin client revoke":  {"data", "database-url", "id", "json"},
	"admin keys":           nil,
	"admin keys rotate":    {"data", "database-url", "json"},
}

// fromEnvironment are the flags that a variable can set.
var fromEnvironment = flagsOf["serve"]

var flagLine = regexp.MustCompile(`(?m)^ +(?:-\w, )?--([a-z-]+).*$`)

func TestHelpNamesEveryFlagAndItsVariable(t *testing.T) {
	for name, flags := range flagsOf {
		t.Run("bursar "+name, func(t *testing.T) {
			help := succeed(t, append(strings.Fields(name), "--help")...)
			_, listed, _ := strings.Cut(help, "\nFlags:\n")
			var found []string
			for _, line := range flagLine.FindAllStringSubmatch(listed, -1) {
				flag := line[1]
				if flag == "help" {
					continue
				}
				found = append(found, flag)
				variable := "[BURSAR_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_")) + "]"
				if slices.Contains(fromEnvironment, flag) && !strings.Contains(line[0], variable) {
					t.Errorf("%s is not named: %s", variable, line[0])
				}
			}
			if !slices.Equal(found, flags) {
				t.Errorf("the flags are %v, want %v", found, flags)
			}
			if strings.Count(strings.TrimSpace(help), "\n") < 3 || !strings.Contains(help, "Usage:") {
				t.Errorf("the help does not help:\n%s", help)
			}
		})
	}
}

// TestHelpListsEveryCommand keeps the table of this test complete.
func TestHelpListsEveryCommand(t *testing.T) {
	for name := range flagsOf {
		help := succeed(t, append(strings.Fields(name), "--help")...)
		_, listed, ok := strings.Cut(help, "\nAvailable Commands:\n")
		if !ok {
			continue
		}
		listed, _, _ = strings.Cut(listed, "\n\n")
		for line := range strings.Lines(listed) {
			sub := strings.Fields(line)[0]
			if _, known := flagsOf[strings.TrimSpace(name+" "+sub)]; !known && sub != "help" && sub != "completion" {
				t.Errorf("command %q of %q is not tested", sub, name)
			}
		}
	}
}

func TestBareCommandHelps(t *testing.T) {
	for _, line := range []string{"", "admin", "admin user"} {
		if out := succeed(t, strings.Fields(line)...); !strings.Contains(out, "Available Commands:") {
			t.Errorf("bursar %s says:\n%s", line, out)
		}
	}
}
