package internal_test

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// use says which packages use a table.
type use struct {
	owner   string   // whose rows they are
	writers []string // others that change them, for a reason that sharedTables gives
	readers []string // others that read or lock them
}

// tableUses is who may use which table. What needs another table asks its owner for a function, or is added here.
func tableUses() map[string]use {
	return map[string]use{
		"account":                   {owner: "identity", writers: []string{"access"}, readers: []string{"approval", "backup", "leaver", "operator", "organization", "payout", "payout/control", "signin", "workspace"}},
		"access_origin":             {owner: "access", readers: []string{"payout/control"}},
		"account_link":              {owner: "identity"},
		"api_key":                   {owner: "identity", readers: []string{"access", "approval", "auditlog", "payout/control", "workspace"}},
		"approval":                  {owner: "approval", readers: []string{"directory", "payout", "payout/control"}},
		"approval_vote":             {owner: "approval", readers: []string{"payout/control"}},
		"approver":                  {owner: "access"},
		"audit_head":                {owner: "auditlog", readers: []string{"backup"}},
		"audit_log":                 {owner: "db", writers: []string{"auditlog"}, readers: []string{"approval", "backup", "db/sqlite", "ledger", "payout"}},
		"audit_place":               {owner: "auditlog", readers: []string{"db"}},
		"audit_sequence":            {owner: "db", readers: []string{"auditlog"}},
		"audit_stream":              {owner: "auditlog", readers: []string{"db"}},
		"audit_tile":                {owner: "auditlog"},
		"audit_tree":                {owner: "auditlog", readers: []string{"backup"}},
		"budget":                    {owner: "budget"},
		"client_secret_key":         {owner: "identity", readers: []string{"auditlog"}},
		"compromised_key":           {owner: "identity", readers: []string{"access", "approval", "payout/control"}},
		"device_code":               {owner: "identity"},
		"directory_common_word":     {owner: "directory"},
		"directory_entry":           {owner: "directory", readers: []string{"auditlog", "payout", "payout/control"}},
		"directory_entry_tag":       {owner: "directory"},
		"directory_import":          {owner: "directory/transfer", readers: []string{"directory"}},
		"directory_import_chunk":    {owner: "directory/transfer"},
		"directory_import_decision": {owner: "directory/transfer"},
		"directory_import_line":     {owner: "directory", readers: []string{"directory/transfer"}},
		"directory_import_turn":     {owner: "directory/transfer"},
		"directory_merge":           {owner: "directory"},
		"directory_tag":             {owner: "directory"},
		"directory_word":            {owner: "directory"},
		"entry_method_log":          {owner: "directory", readers: []string{"auditlog"}},
		"idempotency":               {owner: "db"},
		"known_browser":             {owner: "identity"},
		"ledger_account":            {owner: "ledger", readers: []string{"access", "payout", "payout/control"}},
		"ledger_deposit":            {owner: "ledger", readers: []string{"operator"}},
		"ledger_posting":            {owner: "ledger"},
		"ledger_transaction":        {owner: "ledger"},
		"member_role":               {owner: "access", readers: []string{"approval", "leaver", "workspace"}},
		"operator":                  {owner: "operator", readers: []string{"access"}},
		"operator_request":          {owner: "operator"},
		"organization":              {owner: "organization", readers: []string{"access", "approval", "auditlog", "identity", "operator", "payout", "workspace"}},
		"organization_member":       {owner: "access", readers: []string{"operator", "organization"}},
		"outgoing_mail":             {owner: "mail"},
		"passkey":                   {owner: "signin", writers: []string{"identity"}, readers: []string{"access"}},
		"payout":                    {owner: "payout", readers: []string{"ledger", "payout/control"}},
		"payout_attempt":            {owner: "payout"},
		"payout_batch":              {owner: "payout"},
		"payout_counted":            {owner: "payout/control"},
		"payout_limit":              {owner: "payout/control"},
		"payout_recall":             {owner: "payout"},
		"payout_rule":               {owner: "payout/control", readers: []string{"workspace"}},
		"payout_stop":               {owner: "payout", readers: []string{"operator", "payout/control"}},
		"pending_identity":          {owner: "directory"},
		"rail_notice":               {owner: "payout"},
		"receiving_method":          {owner: "directory", readers: []string{"access", "payout", "payout/control"}},
		"receiving_policy":          {owner: "access", readers: []string{"approval", "payout/control"}},
		"recovery_code":             {owner: "signin", writers: []string{"identity"}},
		"session":                   {owner: "identity", readers: []string{"approval"}},
		"setting":                   {owner: "db", writers: []string{"ledger", "payout", "setup", "vault"}},
		"signing_key":               {owner: "token", writers: []string{"vault"}},
		"simulated_payment":         {owner: "rail/simulator"},
		"simulated_service":         {owner: "rail", readers: []string{"payout", "rail/simulator"}},
		"sso_identity":              {owner: "signin", readers: []string{"access"}},
		"store_mark":                {owner: "db"},
		"suspended_access":          {owner: "access", readers: []string{"payout/control"}},
		"suspended_owner":           {owner: "access"},
		"totp":                      {owner: "signin", writers: []string{"identity"}, readers: []string{"access"}},
		"unknown_payment":           {owner: "payout"},
		"vault_counter":             {owner: "vault"},
		"vault_key":                 {owner: "vault"},
		"vault_master":              {owner: "vault"},
		"vault_secret":              {owner: "vault"},
		"workspace":                 {owner: "workspace", writers: []string{"access"}, readers: []string{"approval", "auditlog", "backup", "db", "db/sqlite", "directory", "directory/transfer", "identity", "leaver", "ledger", "operator", "payout", "payout/control"}},
		"workspace_counter":         {owner: "workspace"},
		"workspace_member":          {owner: "access", readers: []string{"identity", "leaver", "operator", "payout/control", "workspace"}},
		"workspace_role":            {owner: "workspace", readers: []string{"access"}},
	}
}

// sharedTables says why packages change rows of another one.
func sharedTables() map[string]string {
	return map[string]string{
		"account access":         "the home organization follows memberships, and identity is a layer above",
		"audit_log auditlog":     "erasing personal data",
		"passkey identity":       "a reset removes every factor, and signin is a layer above",
		"recovery_code identity": "as for passkey",
		"totp identity":          "as for passkey",
		"setting ledger":         "each name has one package",
		"setting payout":         "each name has one package",
		"setting setup":          "each name has one package",
		"setting vault":          "each name has one package",
		"signing_key vault":      "a lost vault key takes what it has sealed with it",
		"workspace access":       "member_version orders changes of members, and workspace is a layer above",
	}
}

// A table belongs to a package, so that its rules are in one place: others read it only if they are listed.
func TestEachTableIsWrittenByItsOwner(t *testing.T) {
	created := regexp.MustCompile(`CREATE TABLE (?:IF NOT EXISTS )?(\w+)`)
	used := regexp.MustCompile(`\b(INSERT INTO|UPDATE|DELETE FROM|FROM|JOIN)\s+([a-z_]+)(\s+SET (\w+) = (\w+)( \+)?)?`)
	writes, reads := map[string]map[string]bool{}, map[string]map[string]bool{}
	schema, err := filepath.Glob("db/migrations/*.sql")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range schema {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, table := range created.FindAllStringSubmatch(string(text), -1) {
			writes[table[1]], reads[table[1]] = map[string]bool{}, map[string]bool{}
		}
	}
	err = filepath.WalkDir(".", func(file string, _ fs.DirEntry, err error) error {
		name := filepath.ToSlash(filepath.Dir(file))
		if err != nil || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") || slices.Contains(forTests(), "internal/"+name) {
			return err
		}
		text, err := os.ReadFile(file)
		for _, found := range used.FindAllStringSubmatch(string(text), -1) {
			locks := found[1] == "UPDATE" && found[4] != "" && found[4] == found[5] && found[6] == ""
			switch table := found[2]; {
			case writes[table] == nil: // a word of a sentence
			case found[1] == "FROM" || found[1] == "JOIN" || locks:
				reads[table][name] = true
			default:
				writes[table][name] = true
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	want, shared := tableUses(), sharedTables()
	if diff := cmp.Diff(slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(writes))); diff != "" {
		t.Fatalf("the tables of the list (-) and of the schema (+) differ:\n%s", diff)
	}
	for table, may := range want {
		for _, name := range may.writers {
			if shared[table+" "+name] == "" {
				t.Errorf("the list does not say why %s writes %s", name, table)
			}
		}
		others := func(all map[string]bool, but ...string) string {
			return fmt.Sprint(slices.DeleteFunc(slices.Sorted(maps.Keys(all)), func(name string) bool { return slices.Contains(but, name) }))
		}
		if got, want := others(writes[table], may.owner), fmt.Sprint(slices.Sorted(slices.Values(may.writers))); got != want {
			t.Errorf("%s is written by %s besides %s, want %s", table, got, may.owner, want)
		}
		if got, want := others(reads[table], append(may.writers, may.owner)...), fmt.Sprint(slices.Sorted(slices.Values(may.readers))); got != want {
			t.Errorf("%s is read by %s, want %s", table, got, want)
		}
	}
}
