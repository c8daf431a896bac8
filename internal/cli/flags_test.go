package cli

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// flagsOf names the flags of every command, but for --help.
var flagsOf = map[string][]string{
	"": {"context", "version"},

	"login":          {"name", "no-browser", "wait", "with-token"},
	"logout":         nil,
	"whoami":         {"jq", "json"},
	"status":         {"jq", "json"},
	"context":        nil,
	"context list":   {"csv", "jq", "json", "raw", "wide"},
	"context remove": nil,
	"context use":    nil,

	"directory":                 nil,
	"directory bulk":            nil,
	"directory bulk activate":   {"all", "jq", "json", "search", "status", "tag", "type", "workspace", "yes"},
	"directory bulk deactivate": {"all", "jq", "json", "search", "status", "tag", "type", "workspace", "yes"},
	"directory bulk delete":     {"all", "jq", "json", "search", "status", "tag", "type", "workspace", "yes"},
	"directory bulk tag":        {"all", "jq", "json", "search", "status", "tag", "type", "workspace", "yes"},
	"directory bulk undo":       {"jq", "json"},
	"directory bulk untag":      {"all", "jq", "json", "search", "status", "tag", "type", "workspace", "yes"},
	"directory create":          {"external-id", "field", "fields-json", "jq", "json", "label", "name", "on-duplicate", "tag", "type", "workspace"},
	"directory delete":          {"jq", "json", "workspace"},
	"directory duplicates":      {"jq", "json", "workspace"},
	"directory export":          {"delimiter", "fields", "format", "raw", "search", "sort", "status", "tag", "type", "workspace"},
	"directory get":             {"jq", "json", "show-numbers", "workspace"},
	"directory history":         {"all", "csv", "jq", "json", "limit", "raw", "wide", "workspace"},
	"directory import":          {"again", "delimiter", "dry-run", "format", "jq", "json", "map", "match", "on-duplicate", "on-match", "raw", "refused", "type", "wait", "workspace"},
	"directory list":            {"all", "csv", "jq", "json", "limit", "raw", "search", "sort", "status", "tag", "type", "wide", "workspace"},
	"directory merge":           {"dry-run", "jq", "json", "take", "workspace"},
	"directory restore":         {"jq", "json", "workspace"},
	"directory search":          {"all", "csv", "jq", "json", "limit", "raw", "status", "tag", "type", "wide", "workspace"},
	"directory tags":            nil,
	"directory tags create":     {"applies-to", "jq", "json", "workspace"},
	"directory tags delete":     {"jq", "json", "workspace", "yes"},
	"directory tags list":       {"all", "applies-to", "csv", "jq", "json", "limit", "raw", "wide", "workspace"},
	"directory tags rename":     {"jq", "json", "workspace"},
	"directory tags update":     {"applies-to", "jq", "json", "name", "workspace"},
	"directory unmerge":         {"jq", "json", "workspace"},
	"directory update":          {"add-tag", "external-id", "field", "fields-json", "jq", "json", "label", "name", "remove-field", "remove-tag", "status", "tag", "workspace"},
	"accounts":                  nil,
	"accounts close":            {"jq", "json", "workspace", "yes"},
	"accounts create":           {"currency", "jq", "json", "mode", "workspace"},
	"accounts deposits":         {"all", "csv", "jq", "json", "limit", "raw", "wide", "workspace"},
	"accounts freeze":           {"jq", "json", "workspace"},
	"accounts list":             {"all", "csv", "jq", "json", "limit", "raw", "wide", "workspace"},
	"accounts rename":           {"jq", "json", "workspace"},
	"accounts show":             {"jq", "json", "workspace"},
	"accounts statement":        {"all", "bucket", "csv", "jq", "json", "limit", "raw", "reference", "since", "until", "wide", "workspace"},
	"accounts transfer":         {"description", "jq", "json", "workspace"},
	"accounts unfreeze":         {"jq", "json", "workspace"},

	"payouts":         nil,
	"payouts approve": {"digest", "jq", "json", "verification", "workspace"},
	"payouts batch":   {"csv", "description", "from", "jq", "json", "raw", "validate", "wait", "wide", "workspace"},
	"payouts cancel":  {"jq", "json", "reason", "workspace"},
	"payouts confirm": {"jq", "json", "workspace"},
	"payouts create":  {"account-name", "account-number", "amount", "bank-code", "description", "draft", "external-id", "from", "jq", "json", "rail", "to", "validate", "workspace"},
	"payouts list":    {"all", "batch", "csv", "external-id", "from", "jq", "json", "limit", "rail", "raw", "search", "since", "status", "to", "until", "wide", "workspace"},
	"payouts publish": {"jq", "json", "workspace"},
	"payouts receipt": {"jq", "json", "workspace"},
	"payouts reject":  {"jq", "json", "reason", "workspace"},
	"payouts resolve": {"evidence", "jq", "json", "not-paid", "paid", "workspace"},
	"payouts resume":  {"jq", "json", "mode", "workspace"},
	"payouts retry":   {"jq", "json", "workspace"},
	"payouts show":    {"jq", "json", "show-numbers", "workspace"},
	"payouts stop":    {"jq", "json", "mode", "reason", "workspace"},
	"payouts watch":   {"jq", "json", "workspace"},

	"rules":         nil,
	"rules add":     {"above", "approvals", "client", "each", "from", "jq", "json", "keys-may-approve", "mode", "per", "rail", "role", "up-to", "workspace"},
	"rules list":    {"all", "csv", "jq", "json", "limit", "raw", "wide", "workspace"},
	"rules remove":  {"jq", "json", "workspace"},
	"rules confirm": {"jq", "json", "workspace"},

	"limits":        nil,
	"limits add":    {"amount", "count", "each", "from", "jq", "json", "maker", "mode", "per", "rail", "to", "workspace"},
	"limits list":   {"all", "csv", "jq", "json", "limit", "raw", "wide", "workspace"},
	"limits remove": {"jq", "json", "workspace"},

	"rails":        nil,
	"rails health": {"jq", "json", "mode", "workspace"},
	"rails list":   {"csv", "jq", "json", "raw", "wide", "workspace"},

	"institutions":      nil,
	"institutions list": {"all", "csv", "jq", "json", "limit", "rail", "raw", "search", "wide"},

	"approvals":                     nil,
	"approvals approve":             {"digest", "jq", "json", "leave-out", "verification"},
	"approvals extend":              {"jq", "json", "workspace"},
	"approvals lines":               {"all", "csv", "flag", "jq", "json", "limit", "raw", "wide"},
	"approvals list":                {"all", "csv", "jq", "json", "limit", "raw", "state", "wide", "workspace"},
	"approvals policy":              {"approval", "cooling-hours", "jq", "json", "second-person-hours", "workspace"},
	"approvals reject":              {"jq", "json", "reason"},
	"approvals show":                {"jq", "json"},
	"approvals withdraw":            {"jq", "json"},
	"receiving-methods":             nil,
	"receiving-methods add":         {"account-id", "account-name", "default", "institution", "jq", "json", "provider", "workspace"},
	"receiving-methods default":     {"jq", "json", "workspace"},
	"receiving-methods list":        {"csv", "jq", "json", "raw", "show-numbers", "wide", "workspace"},
	"receiving-methods remove":      {"jq", "json", "workspace", "yes"},
	"receiving-methods update":      {"account-id", "account-name", "default", "institution", "jq", "json", "provider", "workspace"},
	"workspaces":                    nil,
	"workspaces create":             {"jq", "json", "organization", "slug"},
	"workspaces get":                {"jq", "json"},
	"workspaces list":               {"all", "csv", "jq", "json", "limit", "raw", "wide"},
	"workspaces update":             {"jq", "json", "name", "on-duplicate", "slug"},
	"workspaces use":                nil,
	"workspaces leave":              {"jq", "json", "yes"},
	"invitations":                   nil,
	"invitations list":              {"all", "csv", "jq", "json", "limit", "raw", "wide"},
	"invitations accept":            {"jq", "json"},
	"invitations decline":           {"jq", "json"},
	"members":                       nil,
	"members add":                   {"jq", "json", "role", "workspace"},
	"members list":                  {"all", "csv", "jq", "json", "limit", "raw", "wide", "workspace"},
	"members remove":                {"dry-run", "everywhere", "jq", "json", "organization", "rotate-clients", "workspace", "yes"},
	"members suspended":             nil,
	"members suspended confirm":     {"jq", "json", "workspace", "yes"},
	"members suspended list":        {"all", "csv", "jq", "json", "limit", "raw", "wide", "workspace"},
	"members suspended remove":      {"jq", "json", "workspace", "yes"},
	"clients":                       nil,
	"clients list":                  {"all", "csv", "jq", "json", "limit", "raw", "wide", "workspace"},
	"clients rotate":                {"jq", "json", "workspace", "yes"},
	"roles":                         nil,
	"roles assign":                  {"jq", "json", "workspace"},
	"roles define":                  {"color", "jq", "json", "name", "permission", "workspace"},
	"roles delete":                  {"jq", "json", "workspace", "yes"},
	"roles get":                     {"jq", "json", "workspace"},
	"roles list":                    {"all", "csv", "jq", "json", "limit", "raw", "wide", "workspace"},
	"roles remove":                  {"jq", "json", "workspace"},
	"orgs":                          nil,
	"orgs create":                   {"jq", "json", "slug"},
	"orgs get":                      {"jq", "json"},
	"orgs list":                     {"all", "csv", "jq", "json", "limit", "raw", "wide"},
	"orgs settings":                 {"audit-retention-days", "jq", "json", "name", "require-second-factor", "slug", "yes"},
	"orgs owners":                   nil,
	"orgs owners add":               {"jq", "json", "organization"},
	"orgs owners list":              {"all", "csv", "jq", "json", "limit", "organization", "raw", "wide"},
	"orgs owners remove":            {"jq", "json", "organization", "yes"},
	"orgs owners suspended":         nil,
	"orgs owners suspended confirm": {"jq", "json", "organization", "yes"},
	"orgs owners suspended list":    {"all", "csv", "jq", "json", "limit", "organization", "raw", "wide"},
	"orgs owners suspended remove":  {"jq", "json", "organization", "yes"},
	"keys":                          nil,
	"keys create":                   {"administer", "allow", "expires-in", "jq", "json", "mode", "name", "permission", "workspace"},
	"keys list":                     {"all", "csv", "jq", "json", "limit", "raw", "wide"},
	"keys revoke":                   {"compromised", "jq", "json", "yes"},
	"keys rotate":                   {"grace", "jq", "json"},
	"audit":                         nil,
	"audit export":                  {"action", "actor", "format", "key", "organization", "outcome", "proof", "raw", "resource", "resource-type", "since", "until", "workspace"},
	"audit prove":                   {"organization", "out", "since", "workspace"},
	"audit verify":                  {"audit-checkpoint", "audit-key", "data", "database-url", "key", "since", "store", "vault-command", "vault-key"},
	"audit list":                    {"action", "actor", "all", "csv", "jq", "json", "key", "limit", "mine", "organization", "outcome", "raw", "resource", "resource-type", "since", "until", "wide", "workspace"},
	"audit show":                    {"jq", "json", "organization", "workspace"},
	"audit restart":                 {"audit-checkpoint", "audit-key", "data", "database-url", "json", "vault-command", "vault-key", "yes"},
	"audit tail":                    {"action", "actor", "follow", "jq", "json", "key", "lines", "mine", "organization", "outcome", "resource", "resource-type", "since", "until", "workspace"},
	"api":                           {"field", "header", "include", "input", "jq", "paginate", "raw-field", "workspace"},

	"serve": {"acme-cache", "acme-directory-url", "acme-domain", "acme-email", "audit-checkpoint", "audit-key", "audit-mail", "audit-retention-min-days", "audit-witness", "backup", "backup-recipient", "data", "database-read-url", "database-url", "device-session-ttl", "drain-delay", "drain-timeout", "holidays", "http-listen", "insecure-http",
		"key-session-ttl", "listen", "log-level", "mail-from", "metrics-listen",
		"oidc-client-id", "oidc-client-secret", "oidc-issuer", "oidc-name", "pprof", "public-url", "rails", "rate-limit", "screening-command", "screening-url", "smtp-url", "tls-cert", "tls-key",
		"trusted-proxies", "vault-command", "vault-key", "web-session-idle", "web-session-ttl"},
	"init":                        {"data", "database-url", "email", "json", "mode", "name", "organization", "public-url", "vault-command", "vault-key", "workspace"},
	"backup":                      {"data", "database-url", "json", "passphrase-file", "plain", "recipient", "to", "vault-command", "vault-key"},
	"backup status":               {"from", "json", "max-age"},
	"backup verify":               {"audit-key", "from", "identity", "json", "scratch"},
	"restore":                     {"at", "before", "check", "data", "database-url", "from", "identity", "json", "passphrase-file", "recovered", "to", "vault-command", "vault-key"},
	"move":                        {"check", "from", "json", "to"},
	"admin":                       nil,
	"admin audit":                 {"action", "address", "all", "csv", "data", "database-url", "jq", "json", "limit", "outcome", "raw", "since", "until", "vault-command", "vault-key", "wide"},
	"admin audit erase":           {"data", "database-url", "entry", "json", "vault-command", "vault-key", "yes"},
	"admin audit init":            {"audit-key", "data", "database-url", "json", "vault-command", "vault-key"},
	"admin audit key":             {"data", "database-url", "json", "vault-command", "vault-key"},
	"admin audit restart":         {"audit-checkpoint", "audit-key", "data", "database-url", "json", "vault-command", "vault-key", "yes"},
	"admin user":                  nil,
	"admin user create":           {"data", "database-url", "email", "json", "name", "vault-command", "vault-key"},
	"admin user disable":          {"data", "database-url", "email", "json", "vault-command", "vault-key", "yes"},
	"admin user list":             {"all", "csv", "data", "database-url", "jq", "json", "limit", "raw", "vault-command", "vault-key", "wide"},
	"admin user enable":           {"data", "database-url", "email", "json", "vault-command", "vault-key"},
	"admin user link":             {"data", "database-url", "email", "json", "keep-keys", "public-url", "vault-command", "vault-key"},
	"admin user reset":            {"data", "database-url", "email", "json", "keep-keys", "public-url", "vault-command", "vault-key"},
	"admin approver":              nil,
	"admin api-key":               nil,
	"admin api-key create":        {"data", "database-url", "expires-in", "json", "mode", "name", "no-administer", "permission", "user", "vault-command", "vault-key", "workspace"},
	"admin approver appoint":      {"data", "database-url", "json", "user", "vault-command", "vault-key", "workspace"},
	"admin api-key revoke":        {"compromised", "data", "database-url", "id", "json", "vault-command", "vault-key"},
	"admin client":                nil,
	"admin client create":         {"administer", "data", "database-url", "json", "mode", "name", "permission", "role", "vault-command", "vault-key", "workspace"},
	"admin client revoke":         {"data", "database-url", "id", "json", "vault-command", "vault-key"},
	"admin keys":                  nil,
	"admin keys rotate":           {"data", "database-url", "json", "revoke", "vault-command", "vault-key"},
	"admin ledger":                nil,
	"admin ledger reauthenticate": {"data", "database-url", "json", "vault-command", "vault-key", "yes"},
	"admin ledger deposit":        {"data", "database-url", "json", "note", "reference", "vault-command", "vault-key"},
	"admin operator":              nil,
	"admin operator add":          {"data", "database-url", "email", "json", "permission", "vault-command", "vault-key"},
	"admin operator list":         {"data", "database-url", "json", "vault-command", "vault-key"},
	"admin operator remove":       {"data", "database-url", "email", "json", "vault-command", "vault-key"},
	"ops":                         nil,
	"ops requests":                nil,
	"ops requests approve":        {"jq", "json", "yes"},
	"ops requests list":           {"all", "csv", "jq", "json", "limit", "raw", "wide"},
	"ops requests reject":         {"jq", "json", "yes"},
	"admin ledger suspense":       {"currency", "data", "database-url", "json", "vault-command", "vault-key"},
	"admin ledger verify":         {"data", "database-url", "json", "online", "vault-command", "vault-key"},
	"admin rails":                 nil,
	"admin rails adopt":           {"connector", "data", "database-url", "identity", "json", "vault-command", "vault-key", "yes"},
	"admin rails status":          {"data", "database-url", "json", "vault-command", "vault-key"},
	"admin rails resume":          {"acknowledge", "acknowledge-all", "checked", "data", "database-url", "force", "json", "vault-command", "vault-key"},
	"admin vault":                 nil,
	"admin vault status":          {"data", "database-url", "json", "vault-command", "vault-key"},
	"admin vault init":            {"data", "database-url", "json", "lost", "vault-command", "vault-key", "yes"},
	"admin vault rotate":          {"data", "database-url", "json", "prepare", "vault-command", "vault-key"},
	"admin vault reseal":          {"data", "database-url", "json", "vault-command", "vault-key"},
	"version":                     {"jq", "json"},
}

// fromEnvironment are the flags that a variable can set, of the commands that run
// a server.
var fromEnvironment = flagsOf["serve"]

var runsServer = regexp.MustCompile(`^(serve|init|admin|backup|restore)\b`)

// flagLine matches a flag and its explanation, whose further lines are indented.
var flagLine = regexp.MustCompile(`(?m)^ {2,6}(?:-\w, )?--([a-z-]+).*(?:\n {7,}.*)*$`)

// say runs a command that needs no server, demands that it succeeds, and returns what it prints.
func say(t *testing.T, args ...string) string {
	t.Helper()
	terminal, out, errs := pipes()
	if code := Run(t.Context(), args, terminal); code != exitOK || errs.Len() > 0 {
		t.Fatalf("bursar %s: exit code %d\n%s", strings.Join(args, " "), code, errs)
	}
	return out.String()
}

func TestHelpNamesEveryFlagAndItsVariable(t *testing.T) {
	for name, flags := range flagsOf {
		t.Run("bursar "+name, func(t *testing.T) {
			help := say(t, append(strings.Fields(name), "--help")...)
			_, listed, _ := strings.Cut(help, "\nFlags:\n")
			listed, _, _ = strings.Cut(listed, "\nGlobal Flags:\n")
			var found []string
			for _, line := range flagLine.FindAllStringSubmatch(listed, -1) {
				flag := line[1]
				if flag == "help" {
					continue
				}
				found = append(found, flag)
				variable := "[BURSAR_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_")) + "]"
				if runsServer.MatchString(name) && slices.Contains(fromEnvironment, flag) && !strings.Contains(line[0], variable) {
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

func TestTheManualHasEverySettingOfAServer(t *testing.T) {
	manual, err := os.ReadFile("../../docs/operating.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, flag := range flagsOf["serve"] {
		if row := regexp.MustCompile("(?m)^\\|[^|]*`--" + flag + "`[^|]*\\|"); !row.Match(manual) {
			t.Errorf("docs/operating.md has no row for --%s", flag)
		}
	}
}

var (
	listOfCommands = regexp.MustCompile(`(?s)\n(Available Commands|Signing in):\n(.*)\nFlags:\n`)
	listedCommand  = regexp.MustCompile(`(?m)^  ([a-z-]+) +\S`)
)

// TestHelpListsEveryCommand keeps the table of this test complete.
func TestHelpListsEveryCommand(t *testing.T) {
	listed := map[string]bool{"": true}
	for name := range flagsOf {
		help := say(t, append(strings.Fields(name), "--help")...)
		for _, line := range listedCommand.FindAllStringSubmatch(listOfCommands.FindString(help), -1) {
			sub := strings.TrimSpace(name + " " + line[1])
			if _, known := flagsOf[sub]; !known && sub != "help" && sub != "completion" {
				t.Errorf("command %q is not tested", sub)
			}
			listed[sub] = true
		}
	}
	for name := range flagsOf {
		if !listed[name] {
			t.Errorf("command %q is listed nowhere", name)
		}
	}
}

func TestBareCommandHelps(t *testing.T) {
	for line, says := range map[string]string{
		"": "Daily work:", "admin": "Available Commands:", "admin user": "Available Commands:", "context": "Available Commands:", "directory": "Available Commands:",
	} {
		if out := say(t, strings.Fields(line)...); !strings.Contains(out, says) {
			t.Errorf("bursar %s says:\n%s", line, out)
		}
	}
}
