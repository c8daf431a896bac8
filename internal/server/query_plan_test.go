package server_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"bursar/internal/config"
	"bursar/internal/db/dbtest"
	"bursar/internal/mail/smtptest"
	"bursar/internal/server/servertest"
)

// grows says whether a table has more rows the more people use the store.
func grows(table string) bool {
	return table != "" && !slices.Contains([]string{
		"setting",           // as many as there are names in the source
		"signing_key",       // one for each time that an operator asks for another
		"schema_migration",  // as many as there are files
		"workspace_counter", // one
		"audit_sequence",    // one
		"audit_tree",        // one
		"vault_counter",     // one
		"vault_master",      // one for each time that an operator asks for another
		"vault_secret",      // as many as there are names in the source
		"store_mark",        // none in a store that can be used
		"payout_recall",     // none, but after a restore
		"unknown_payment",   // what a restore has found
		"operator",          // one for each person who operates the store
		"operator_request",  // what operators ask each other
		"compromised_key",   // one for each key that is reported
		"access_origin",     // one set for each key with which access was given
		"suspended_access",  // what came through those
		"suspended_owner",   // owners who did
		"client_secret_key", // one for each secret of a machine client that was made with a key
	}, table)
}

const (
	// freeRows is how many rows a statement may look at for nothing, and
	// rowsForOne how many for each that it returns or changes.
	freeRows   = 300
	rowsForOne = 10
)

// exception is a kind of statement that a rule does not hold for, and why.
type exception struct {
	form *regexp.Regexp
	why  string
}

// mayScan are the statements that may walk a table or an index from its end.
var mayScan = []exception{
	{regexp.MustCompile(`^SELECT id FROM organization ORDER BY id LIMIT 1$`), "it takes the first"},
	{regexp.MustCompile(`FROM audit_stream s LEFT JOIN workspace w .* ORDER BY s\.number$`), "a node that begins to build the tree counts the rows of all streams"},
	{regexp.MustCompile(`^DELETE FROM audit_(tile|head)$`), "an operator opens a new log"},
	{regexp.MustCompile(`FROM audit_log a LEFT JOIN audit_place p ON p\.audit_id = a\.id$`), "an operator verifies the whole store"},
	{regexp.MustCompile(`FROM audit_log a WHERE .* AND NOT EXISTS \(SELECT 1 FROM audit_place p WHERE p\.audit_id = a\.id\)$`), "an operator verifies the whole store"},
	{operatorCounts, "an operator asks how much is sealed"},
	{ledgerCounts, "an operator verifies the whole ledger"},
	{loggedRows, "the ledger is verified: each row is about a payout, deposit or transfer"},
	{openPayouts, "all open payouts are authenticated once, when the integrity key is made"},
	{regexp.MustCompile(`FROM approval_vote v JOIN approval a .* LIMIT \$3$`), "all votes are authenticated once, when the integrity key is made"},
	{regexp.MustCompile(`^SELECT count\(\*\) FROM payout_attempt WHERE state IN \('sending', 'accepted', 'unknown'\)$`), "an operator asks how the rails are"},
	{openAttempts, "every five minutes a node compares all attempts that have not ended with the folder of a bank"},
	{regexp.MustCompile(`^SELECT name, value, since FROM store_mark ORDER BY name LIMIT 1$`), "it takes the first, while the store is opened"},
	{regexp.MustCompile(`^SELECT id FROM ledger_transaction ORDER BY id LIMIT 1$`), "it takes the first, while the integrity key is made"},
}

// ledgerCounts is the statement by which a verification knows how much there is to do.
var ledgerCounts = regexp.MustCompile(`^SELECT CAST\(coalesce\(sum\(postings\), 0\) AS BIGINT\) FROM ledger_account$`)

// loggedRows is the statement that reads what the audit log says of payouts, deposits and transfers.
var loggedRows = regexp.MustCompile(`^SELECT entry, personal FROM audit_log WHERE resource_id_key IN`)

// openPayouts is the statement that reads the payouts that get the code of their terms.
var openPayouts = regexp.MustCompile(` FROM payout WHERE id > \$1 AND status IN \('pending', 'processing'\) ORDER BY id LIMIT \$2$`)

// openAttempts is the statement that reads the attempts that have not ended.
var openAttempts = regexp.MustCompile(`^SELECT a\.end_to_end_id, a\.not_paid, a\.accepted, payout\.created_at FROM payout_attempt a `)

// operatorCounts are the statements by which the vault counts what it has sealed.
var operatorCounts = regexp.MustCompile(`^SELECT count\(\*\).* FROM (vault_key|\w+ WHERE sealed_by <= \$1|\w+ t JOIN vault_key k ON k\.id = t\.sealed_by)$`)

const equal = `(actor_id|action|resource_type|resource_id|outcome)_key (\+ 0 )?= \$\d+`

// mayLook are the statements that may look at more rows than they return.
var mayLook = []exception{
	{regexp.MustCompile(`^SELECT (\(SELECT )?count\(\*\) FROM \(SELECT 1 FROM .* LIMIT \$\d+\)`), "it counts as far as a limit"},
	{regexp.MustCompile(`FROM audit_log WHERE .* AND ` + equal + `.* AND ` + equal), "filters that are common each and rare together: no index answers for both"},
	{regexp.MustCompile(`FROM audit_log WHERE .* AND organization_id = .* AND ` + equal), "the log of an organization, which is short beside those of its workspaces, has one index"},
	{regexp.MustCompile(`FROM directory_entry_tag t JOIN directory_entry e .* AND e\.(type|status|words) `), "filters that are common each and rare together"},
	{regexp.MustCompile(`FROM \(SELECT DISTINCT entry_id FROM directory_word `), "it gathers all that have a word, which are 2,000 at most"},
	{regexp.MustCompile(`FROM directory_entry_tag t JOIN directory_entry e .* ORDER BY e\.(label_key|updated_at)`), "it gathers all that have a tag, which are 2,000 at most"},
	{regexp.MustCompile(` AND e\.id = \(SELECT x\.entry_id FROM directory_entry_tag x `), "a tag that is common is soon met in any order"},
	{regexp.MustCompile(`^SELECT (stream \+ 0, )?count\(\*\) FROM audit_place WHERE position > \$1 (GROUP BY 1|AND stream \+ 0 = \$2)$`), "it counts what is not in the tree yet"},
	{regexp.MustCompile(`^SELECT id FROM audit_log a WHERE .* AND NOT EXISTS \(SELECT 1 FROM audit_place p WHERE p\.audit_id = a\.id\)$`), "an operator verifies the whole store"},
	{operatorCounts, "an operator asks how much is sealed"},
	{ledgerCounts, "an operator verifies the whole ledger"},
	{loggedRows, "the ledger is verified: a deposit may have no row"},
	{openPayouts, "all open payouts are authenticated once, when the integrity key is made"},
	{regexp.MustCompile(`^SELECT count\(\*\) FROM payout_attempt WHERE state IN \('sending', 'accepted', 'unknown'\)$`), "an operator asks how the rails are"},
	{openAttempts, "every five minutes a node compares all attempts that have not ended with the folder of a bank"},
	{regexp.MustCompile(`(?s)FROM payout p .* AND p\.id \|\| '' < `), "it gathers all payouts to a name, which are 1,000 at most"},
	{regexp.MustCompile(`(?s)FROM payout p .* AND p\.status = \$\d+ AND p\.rail = `), "filters that are common each and rare together"},
	{regexp.MustCompile(`FROM workspace_member m JOIN account a .* a\.kind = 'client'`), "it looks among the members, whom the same page shows"},
}

func (e exception) covers(sql string) bool {
	return e.form.MatchString(strings.Join(strings.Fields(sql), " "))
}

func excepted(list []exception, sql string) bool {
	return slices.ContainsFunc(list, func(e exception) bool { return e.covers(sql) })
}

// unsent is SQL that no request sends.
func unsent(f fragment, engine string) bool {
	return f.file == "payout/integrity.go" || f.file == "approval/ballot.go" || // when the integrity key is made
		f.file == "payout/recheck.go" || f.file == "payout/hold.go" || f.file == "payout/control/obstacle.go" || // when a limit or rule became stricter
		f.file == "db/outcome.go" || // when a connection breaks around COMMIT
		strings.HasPrefix(f.parts[0], "SELECT entry_id FROM rail_notice WHERE payout_id") || // when a bank returns a payment twice
		strings.HasPrefix(f.parts[0], " AND organization_id NOT IN (SELECT id FROM organization WHERE require_second_factor") || // of a session with one factor
		f.file == "vault/rotate.go" && strings.Contains(f.parts[0], "DELETE FROM") || // when a key is lost
		f.file == "vault/rotate.go" && strings.Contains(f.parts[0], "SET retired_at") ||
		strings.HasPrefix(f.parts[0], "SELECT workspace_number FROM vault_key WHERE id") || // a key that another node has just made
		f.file == "db/migrate.go" || f.file == "db/engine/migrate.go" || f.file == "db/postgres/postgres.go" || // while the store is opened
		f.file == "db/dialect.go" && (engine == "sqlite" || !strings.HasPrefix(f.parts[0], " FOR ")) || // FOR SHARE, and how to read the schema
		strings.HasPrefix(f.file, "backup/") || strings.HasSuffix(f.file, "/bulk.go") || // an operator runs it
		strings.HasPrefix(f.parts[0], "UPDATE payout_attempt SET ask_at = ") || f.file == "payout/sending.go" && f.parts[0] == " WHERE node = " || // when a rail is slow
		f.parts[0] == "DELETE FROM payout WHERE id = $1" || // when two payouts compete for the last money of an account
		strings.HasPrefix(f.parts[0], "DELETE FROM setting WHERE name >= $1") || f.parts[0] == " AND a.claimed_at >= " || // when the folder of a bank was replaced
		strings.HasPrefix(f.parts[0], "UPDATE outgoing_mail SET due_at") || // when a mail server is slow
		strings.HasPrefix(f.parts[0], "UPDATE outgoing_mail SET claim = '', due_at = $3, attempts") || // when a server stops
		strings.HasPrefix(f.parts[0], "DELETE FROM outgoing_mail") && !strings.Contains(f.parts[0], "WHERE") || // after a restore
		f.file == "db/mark.go" || f.file == "db/postgres/listen.go" || // while the store is opened
		f.file == "payout/recall.go" || f.file == "payout/rails_stopped.go" || f.file == "payout/unknown.go" || f.file == "db/sqlite/look.go" || // after a restore, and during one
		f.file == "identity/session.go" && (strings.HasPrefix(f.parts[0], "SELECT count(*) FROM session") || strings.HasPrefix(f.parts[0], "UPDATE session SET revoked_at = $1")) ||
		f.file == "db/postgres/replica.go" || // where there is a replica; it reads no table
		f.file == "db/postgres/primary.go" && engine == "sqlite" || // SQLite has no standby to wait for
		f.file == "db/sequence.go" && !strings.HasPrefix(f.parts[0], "UPDATE audit_sequence SET size") // each engine has its own
}

// reading is how an engine runs a statement.
type reading struct {
	how    string
	plan   []string
	faults []string
	rows   int // that it returned or changed
	work   int // rows that it looked at
}

// sample is what a statement was sent with, and what for.
type sample struct {
	step string
	args []any
}

// recorder keeps what the product sends, once for every step of the walk.
type recorder struct {
	mu   sync.Mutex
	step string
	sent map[string][]sample
}

func (r *recorder) tell(sql string, args []any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	known := r.sent[sql]
	if n := len(known); n == 0 || known[n-1].step != r.step {
		r.sent[sql] = append(known, sample{r.step, slices.Clone(args)})
	}
}

func (r *recorder) begin(step string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.step = step
}

// engineOf is what tells how a store's engine runs a statement.
type engineOf interface {
	tables() []string
	explain(sql string, args []any) []reading
}

func plansOf(t testing.TB, store dbtest.Store, c *town) engineOf {
	t.Helper()
	if store.Engine == "sqlite" {
		return newSQLitePlans(t, c.d, store.Config.Dir)
	}
	return newPostgresPlans(t, c.d, store.Config.URL)
}

func TestEveryQueryIsOnAnIndex(t *testing.T) {
	dbtest.TakesSeconds(t)
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		r := &recorder{step: "setting up", sent: map[string][]sample{}}
		traced, box := store, smtptest.Start(t, smtptest.Options{})
		traced.Config.Trace = r.tell
		keyFile, rails := filepath.Join(t.TempDir(), "audit.key"), filepath.Join(t.TempDir(), "rails.json")
		text := fmt.Sprintf(`{"connectors": {"ourbank": {"kind": "iso20022", "settings": {"folder": %q, "debtor_name": "Us", "debtor_account": "001234567890", "debtor_bank": "BOPIPHMMXXX", "final": "ACSC"}}},
			"rails": [{"name": "inhouse", "currency": "PHP", "minimum_cents": 100, "connector": "ourbank", "always": true, "members": "I"}]}`, t.TempDir())
		if err := os.WriteFile(rails, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		n := servertest.Start(t, traced, servertest.AtLocalhost(), servertest.AuditKey(keyFile), func(c *config.Serve) {
			c.Rails = rails
			c.SMTPURL, c.MailFrom, c.Audit.Mail = box.URL, "Bursar <bursar@example.com>", "auditor@example.com"
		})
		w := &tour{r, n, populate(t, store, n), keyFile, t}
		w.everything()

		plans, statements := plansOf(t, store, w.town), r.statements()
		for _, table := range plans.tables() {
			if grows(table) && w.value(`SELECT id FROM (SELECT 1 AS id FROM `+table+` LIMIT 300) x LIMIT 1 OFFSET 299`) == "" {
				t.Errorf("%s is as good as empty: a scan of it would not show", table)
			}
		}
		for _, sql := range statements {
			for _, s := range distinct(sql, r.sent[sql]) {
				for _, got := range plans.explain(sql, s.args) {
					if faults := got.wrong(sql); len(faults) > 0 {
						t.Errorf("%s, %s: %s\n%s\n%q\n%s", s.step, got.how, strings.Join(faults, ", "), sql, s.args, strings.Join(got.plan, "\n"))
					}
				}
			}
		}
		for _, f := range fragments(t, "..") {
			if !unsent(f, store.Engine) && !slices.ContainsFunc(statements, f.in) {
				t.Errorf("nothing in this test sends what is in %s", f)
			}
		}
		for _, e := range slices.Concat(mayScan, mayLook) {
			if !slices.ContainsFunc(statements, e.covers) {
				t.Errorf("nothing is sent that is excepted since %s", e.why)
			}
		}
		// Rules that find nothing wrong with anything would pass as well.
		for _, sql := range []string{
			`SELECT id FROM account WHERE name = $1`,
			`SELECT id FROM directory_entry WHERE workspace_number = (SELECT number FROM workspace WHERE id = $1) AND deleted_at IS NULL AND name = 'nobody' ORDER BY id DESC LIMIT 25`,
		} {
			for _, got := range plans.explain(sql, []any{w.town.large.WorkspaceID}) {
				if len(got.wrong(sql)) == 0 {
					t.Errorf("nothing is found wrong with %s", sql)
				}
			}
		}
	})
}

// statements are all that were sent, but for those that ask nothing.
func (r *recorder) statements() []string {
	var list []string
	for sql := range r.sent {
		if !strings.HasPrefix(sql, "NOTIFY ") {
			list = append(list, sql)
		}
	}
	slices.Sort(list)
	return list
}

// distinct are the samples that can differ in how the statement is run: one for each set of arguments, and one of a statement
// that inserts values, whose plan looks at nothing.
func distinct(sql string, samples []sample) []sample {
	if strings.HasPrefix(sql, "INSERT INTO ") && !strings.Contains(sql, "SELECT") {
		return samples[:1]
	}
	seen := map[string]bool{}
	return slices.DeleteFunc(slices.Clone(samples), func(s sample) bool {
		key := fmt.Sprintf("%#v", s.args)
		double := seen[key]
		seen[key] = true
		return double
	})
}

// wrong is what is wrong with how a statement is run.
func (r reading) wrong(sql string) []string {
	var faults []string
	if !excepted(mayScan, sql) {
		faults = r.faults
	}
	if r.work > freeRows+rowsForOne*r.rows && !excepted(mayLook, sql) {
		faults = append(faults, fmt.Sprintf("looks at %d rows for %d", r.work, r.rows))
	}
	return faults
}
