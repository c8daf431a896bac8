package server_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"bursar/api"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/ledger"
	"bursar/internal/server/servertest"
	"bursar/internal/vault"
)

// size is how many rows a filled store holds.
type size struct{ accounts, tenants, members, entries, tags, payouts, audit, sessions, others int }

// sizes are such that a full scan shows. PostgreSQL's plans depend on how many rows
// there are and how they are spread. SQLite's do not, since it is never told: a
// store that is filled sooner does, with as many entries as make a word or a tag a common one.
func sizes(engine string) size {
	if engine == "sqlite" {
		return size{accounts: 900, tenants: 500, members: 100, entries: 4_800, tags: 400, payouts: 2_000, audit: 4_000, sessions: 1_500, others: 500}
	}
	return size{accounts: 3_000, tenants: 2_000, members: 200, entries: 14_000, tags: 2_000, payouts: 6_000, audit: 10_000, sessions: 3_000, others: 2_000}
}

// town is a filled store and the tenants in it that the walk acts in: one has half
// of all rows, one a tenth, one next to none.
type town struct {
	large, middle, small *servertest.Tenant

	t     testing.TB
	d     *db.DB    // whose statements no one records
	copy  *pgx.Conn // that rows are copied by on PostgreSQL
	vault *vault.Vault
	now   int64
	many  size

	accounts, organizations, workspaces []string
	numbers                             []int // of the workspaces
	entries, tags, keys                 []string
	ledger, deposit                     string // an account with many postings, and what the first is for
}

// populate fills a store in which nothing but the tenants is.
func populate(t testing.TB, store dbtest.Store, n *servertest.Node) *town {
	t.Helper()
	c := &town{large: n.Tenant(t), middle: n.Tenant(t), small: n.Tenant(t),
		t: t, d: store.Open(t), vault: n.Vault, now: time.Now().UnixMilli(), many: sizes(store.Engine)}
	if store.Engine == "postgres" {
		c.copy = copyConnection(t, store.Config.URL)
	}
	c.people()
	c.credentials()
	c.directory()
	c.money()
	c.history()
	c.payments()
	c.attempts()
	c.batches()
	c.authenticate(n)
	n.TurnAudit(t, func() bool { return true })
	if store.Engine == "postgres" {
		c.change("ANALYZE") // as autovacuum does, or a search would take seconds
	}
	return c
}

// authenticate accepts the ledger as the store has been filled.
func (c *town) authenticate(n *servertest.Node) {
	i := db.NewIntegrity(c.now)
	if err := c.d.Read(c.t.Context(), func(q db.Q) error { return ledger.Authenticate(q, i) }); err != nil {
		c.t.Fatal(err)
	}
	n.DB.SetIntegrity(*i)
}

// spread deals row i to a tenant: half to the large one, a tenth to the middle one,
// a thousandth to the small one, the rest to a few others.
func (c *town) spread(i int) int {
	switch {
	case i%2 == 0:
		return 0
	case i%10 == 1:
		return 1
	case i%1000 == 3:
		return 2
	}
	return 3 + i%17
}

// mixed is a number that tells nothing about the tenant that row i went to.
func mixed(i int) int { return i * 7919 % 100_003 }

// past is the time of row i of many, over sixty days.
func (c *town) past(i, many int) int64 {
	const span = 60 * 24 * int64(time.Hour/time.Millisecond)
	return c.now - span + span*int64(i)/int64(many)
}

func (c *town) ids(prefix string, many int) []string {
	list := make([]string, many)
	for i := range list {
		list[i] = db.FirstID(prefix, c.past(i, many)) // of distinct milliseconds
	}
	return list
}

// copyConnection returns a connection on which foreign keys are not checked. SQLite checks them for the same rows.
func copyConnection(t testing.TB, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err == nil {
		t.Cleanup(func() { _ = conn.Close(context.Background()) })
		_, err = conn.Exec(t.Context(), "SET session_replication_role = replica")
	}
	if err != nil {
		t.Fatalf("reach PostgreSQL: %v", err)
	}
	return conn
}

// insert stores what row makes of the numbers below many, where it makes something: on PostgreSQL all in one COPY,
// which takes half as long, on SQLite several rows to a statement.
func (c *town) insert(table, columns string, many int, row func(i int) []any) {
	c.t.Helper()
	if c.copy != nil {
		var rows [][]any
		for i := range many {
			if made := row(i); made != nil {
				rows = append(rows, made)
			}
		}
		names := strings.FieldsFunc(columns, func(r rune) bool { return strings.ContainsRune(", \n\t", r) })
		if _, err := c.copy.CopyFrom(c.t.Context(), pgx.Identifier{table}, names, pgx.CopyFromRows(rows)); err != nil {
			c.t.Fatalf("fill %s: %v", table, err)
		}
		return
	}
	const perStatement = 40
	width := strings.Count(columns, ",") + 1
	c.write(func(tx *db.Tx) error {
		var args []any
		for i := range many {
			args = append(args, row(i)...)
			if len(args) == width*perStatement || i == many-1 && len(args) > 0 {
				if err := tx.Exec("INSERT INTO "+table+" ("+columns+") VALUES "+places(width, len(args)), args...); err != nil {
					return err
				}
				args = nil // which may not have been sent yet
			}
		}
		return nil
	})
}

// change runs a statement that no one records.
func (c *town) change(sql string, args ...any) {
	c.t.Helper()
	c.write(func(tx *db.Tx) error { return tx.Exec(sql, args...) })
}

func (c *town) write(fn func(tx *db.Tx) error) {
	c.t.Helper()
	_, err := db.Write(c.t.Context(), c.d, db.Caller{}, func(tx *db.Tx) (struct{}, audit.Event, error) {
		return struct{}{}, audit.None("what fills a store is nobody's doing"), fn(tx)
	})
	if err != nil {
		c.t.Fatalf("fill the store: %v", err)
	}
}

// places is "($1, $2), ($3, $4)" for a width of 2 and 4 values.
func places(width, values int) string {
	var text []byte
	for i := range values {
		switch {
		case i == 0:
			text = append(text, "($"...)
		case i%width == 0:
			text = append(text, "), ($"...)
		default:
			text = append(text, ", $"...)
		}
		text = strconv.AppendInt(text, int64(i+1), 10)
	}
	return string(append(text, ')'))
}

func (c *town) people() {
	c.organizations = append([]string{c.large.OrganizationID, c.middle.OrganizationID, c.small.OrganizationID}, c.ids("org", c.many.tenants)...)
	c.workspaces = append([]string{c.large.WorkspaceID, c.middle.WorkspaceID, c.small.WorkspaceID}, c.ids("ws", c.many.tenants)...)
	for i, id := range c.workspaces {
		c.numbers = append(c.numbers, 1000+i)
		if i < 3 {
			c.numbers[i] = c.number(id)
		}
	}
	c.accounts = c.ids("usr", c.many.accounts)
	c.insert("organization", "id, name, slug, created_at", c.many.tenants, func(i int) []any {
		return []any{c.organizations[3+i], "Organization", fmt.Sprintf("organization-%d", i), c.now}
	})
	c.insert("workspace", "id, number, organization_id, name, slug, member_version, created_at", c.many.tenants, func(i int) []any {
		return []any{c.workspaces[3+i], c.numbers[3+i], c.organizations[3+i], "Workspace", fmt.Sprintf("workspace-%d", i), 0, c.now}
	})
	c.insert("account", "id, kind, email, name, status, home_org_id, email_proof, created_at", c.many.accounts, func(i int) []any {
		if i%20 == 7 {
			return []any{c.accounts[i], "client", "", "Client", "active", c.organizations[3+i%c.many.tenants], "*", c.now}
		}
		return []any{c.accounts[i], "person", fmt.Sprintf("person%d@crowd.example", i), "Person", "active", c.organizations[3+i%c.many.tenants], "*", c.now}
	})
	c.insert("organization_member", "organization_id, account_id, role", c.many.tenants, func(i int) []any {
		return []any{c.organizations[3+i], c.accounts[i], "owner"}
	})
	member := func(i int) (workspace string) {
		if i < c.many.members {
			return c.large.WorkspaceID
		}
		return c.workspaces[3+i%c.many.tenants]
	}
	invitations := c.ids("inv", c.many.accounts)
	c.insert("workspace_member", "workspace_id, account_id, member_id, invitation_id, invited_by, invitation_expires_at, joined_at, accepted", c.many.accounts, func(i int) []any {
		if i%10 > 0 {
			return []any{member(i), c.accounts[i], c.accounts[i], invitations[i], "Admin", c.now, c.now, true}
		}
		return []any{member(i), c.accounts[i], invitations[i], invitations[i], "Admin", c.now, c.now, false}
	})
	c.insert("member_role", "workspace_id, account_id, role, granted_at, not_before", c.many.accounts, func(i int) []any {
		return []any{member(i), c.accounts[i], []string{"viewer", "member", "auditor", "payer"}[i%4], 0, 0}
	})
	c.insert("workspace_role", "workspace_id, role, name, color, permissions, created_at", c.many.others, func(i int) []any {
		return []any{c.workspaces[i%len(c.workspaces)], fmt.Sprintf("role%d", i), "Role", "", "ws.read", c.now}
	})
}

// number is the number of a workspace.
func (c *town) number(id string) (number int) {
	c.t.Helper()
	err := c.d.Read(c.t.Context(), func(q db.Q) error {
		_, err := q.Row(`SELECT number FROM workspace WHERE id = $1`, id).Scan(&number)
		return err
	})
	if err != nil {
		c.t.Fatal(err)
	}
	return number
}

func (c *town) credentials() {
	// A machine makes a session with every exchange: one account has half of them.
	owner := func(i int) string {
		if i%2 == 0 {
			return c.large.Owner.UserID
		}
		return c.accounts[i%c.many.accounts]
	}
	secret := func(i int) string { return fmt.Sprintf("%064x", i) }
	c.keys = c.ids("key", c.many.others)
	later, earlier := c.now+time.Hour.Milliseconds(), c.now-time.Hour.Milliseconds()
	c.insert("api_key", "id, account_id, name, hash, allowed_cidrs, created_at, revoked_at, scope, one_factor", c.many.others, func(i int) []any {
		var revoked any
		if i%100 > 0 {
			revoked = c.now
		}
		return []any{c.keys[i], owner(i), "Key", secret(i), "", c.now, revoked, "", false}
	})
	sessions := c.ids("ses", c.many.sessions)
	const columns = "id, account_id, api_key_id, actor_type, created_at, expires_at, revoked_at, secret_hash, last_seen_at, method, ip, agent, second_factor, scope"
	c.insert("session", columns, c.many.sessions, func(i int) []any {
		switch { // of a browser, live; of a key, live; revoked; expired
		case i%4 == 1:
			return []any{sessions[i], owner(i), nil, "user", c.now, later, nil, secret(i), c.now, "", "", "", false, ""}
		case i%40 == 2:
			return []any{sessions[i], owner(i), c.keys[i%c.many.others], "api_key", c.now, later, nil, nil, nil, "", "", "", false, ""}
		case i%2 == 0:
			return []any{sessions[i], owner(i), c.keys[i%c.many.others], "api_key", c.now, later, c.now, nil, nil, "", "", "", false, ""}
		}
		return []any{sessions[i], owner(i), nil, "user", earlier, earlier, nil, secret(i), earlier, "", "", "", false, ""}
	})
	c.insert("device_code", "code, id, intent, challenge, ip, agent, status, account_id, created_at, expires_at", c.many.others, func(i int) []any {
		status, account := "pending", any(nil)
		if i%3 > 0 {
			status, account = []string{"consumed", "approved"}[i%3-1], owner(i/200)
		}
		return []any{fmt.Sprintf("C%05d", i), secret(i), "login", "", "192.0.2.1", "", status, account, c.now, later}
	})
	c.insert("idempotency", "id, status, answer, created_at", c.many.others, func(i int) []any {
		return []any{secret(i), 200, "answer", c.now - int64(i)}
	})
	c.insert("passkey", "id, account_id, credential_id, name, credential, created_at", c.many.others, func(i int) []any {
		return []any{fmt.Sprintf("psk_%d", i), c.accounts[i], secret(i), "Passkey", "{}", c.now}
	})
	c.insert("totp", "account_id, secret_sealed, last_step, created_at", c.many.others, func(i int) []any {
		return []any{c.accounts[i], []byte("secret"), 0, c.now}
	})
	c.insert("recovery_code", "account_id, hash", c.many.others, func(i int) []any { return []any{c.accounts[i/10], secret(i)} })
	c.insert("sso_identity", "issuer, subject, account_id, created_at", c.many.others, func(i int) []any {
		return []any{"https://provider.example", secret(i), c.accounts[i], c.now}
	})
	c.insert("known_browser", "account_id, hash, seen_at", c.many.others, func(i int) []any { return []any{c.accounts[i/10], secret(i), c.now} })
	c.insert("budget", "id, full_at", c.many.others, func(i int) []any { return []any{secret(i), later} })
	var sealed [20][]byte // by as many keys, which are deleted when nothing is sealed by them
	for i := range sealed {
		var err error
		if sealed[i], err = c.vault.Seal(int64(c.numbers[i]), vault.OutgoingMail("mail"), nil); err != nil {
			c.t.Fatal(err)
		}
	}
	c.insert("outgoing_mail", "id, lane, message_sealed, sealed_by, attempts, claim, due_at, created_at", c.many.others, func(i int) []any {
		some := sealed[i%len(sealed)]
		return []any{fmt.Sprintf("mail_%06d", i), "another", some, vault.KeyOf(some), 0, "", later, c.now} // a full lane takes no more
	})
	c.insert("account_link", "id, account_id, workspace_id, hash, mailed, made_by, created_at, expires_at, used_at, keep_keys, credential_version", c.many.others, func(i int) []any {
		return []any{fmt.Sprintf("inv_%d", i), c.accounts[i/3], c.workspaces[i%len(c.workspaces)], secret(i), i%2 == 0, "Admin", c.now, later, c.now, false, 0}
	})
}

func (c *town) directory() {
	c.tags = c.ids("tag", c.many.tags)
	c.insert("directory_tag", "id, workspace_id, name, name_key, applies_to, created_at", c.many.tags, func(i int) []any {
		if i < 20 { // one for each tenant, on every third entry
			return []any{c.tags[i], c.workspaces[i], "common", "common", "all", c.now}
		}
		name := fmt.Sprintf("tag%d", i)
		return []any{c.tags[i], c.workspaces[i%len(c.workspaces)], name, name, "all", c.now}
	})
	c.entries = c.ids("entry", c.many.entries)
	deleted := func(i int) any {
		switch {
		case i < 40:
			return c.past(0, 1)
		case mixed(i)%10 == 4:
			return c.now - int64(i) // lately
		}
		return nil
	}
	merged := func(i int) any {
		if i >= 40 && deleted(i) != nil && i%2 == 0 {
			return db.PackID("entry", c.entries[i-1])
		}
		return nil
	}
	fields := `{"first-name":"Payee","note":"` + strings.Repeat("as long as people write ", 12) + `"}`
	c.insert("directory_entry", "id, workspace_number, type, label, label_sent, name, status, fields, words, email_key, phone_key, name_key, label_key, created_at, updated_at, deleted_at, merged_into", c.many.entries, func(i int) []any {
		kind, status := "person", "active"
		if mixed(i)%100 > 80 {
			kind = "organization"
		}
		if mixed(i)%50 < 2 {
			status = "inactive"
		}
		return []any{db.PackID("entry", c.entries[i]), c.numbers[c.spread(i)], kind, "Payee", false, "", status, fields, " 2025 " + strings.Join(words(i), " "),
			fmt.Sprintf("payee%d@example.com", i/4), fmt.Sprintf("+4420%08d", i/4), []string{"common name", fmt.Sprint("name ", i/4)}[mixed(i)%2],
			binary.BigEndian.AppendUint32(nil, uint32(mixed(i))), c.now, c.now - int64(mixed(i)%100_000), deleted(i), merged(i)}
	})
	c.insert("directory_word", "workspace_number, word, entry_id", 2*c.many.entries, func(i int) []any {
		if deleted(i/2) != nil {
			return nil
		}
		return []any{c.numbers[c.spread(i/2)], words(i / 2)[i%2], db.PackID("entry", c.entries[i/2])}
	})
	c.insert("directory_common_word", "workspace_number, word", 3000, func(i int) []any {
		if i == 0 {
			return []any{c.numbers[0], "2025"} // which all entries have
		}
		return []any{c.numbers[i%len(c.numbers)], fmt.Sprint("usual", i)}
	})
	c.insert("directory_entry_tag", "entry_id, tag_id, live", c.many.entries, func(i int) []any {
		tag := 20 + i%(c.many.tags-20)
		if i%8 != 1 {
			tag = c.spread(i)
		}
		return []any{db.PackID("entry", c.entries[i]), c.tags[tag], deleted(i) == nil}
	})
	methods := c.ids("rm", c.many.entries/3)
	for _, number := range c.numbers[:20] {
		if err := c.vault.Ready(c.t.Context(), int64(number)); err != nil {
			c.t.Fatal(err)
		}
	}
	c.insert("receiving_method", "id, entry_id, provider, account_name, account_sealed, account_key, tail_key, default_since, created_at", c.many.entries/3, func(i int) []any {
		sealed, err := c.vault.Seal(int64(c.numbers[c.spread(2*i)]), vault.Account(methods[i]), []byte("0001"))
		if err != nil {
			c.t.Fatal(err)
		}
		tail, err := c.vault.TailIndex(sealed, fmt.Sprintf("0000%04d", i%200))
		if err != nil {
			c.t.Fatal(err)
		}
		return []any{methods[i], db.PackID("entry", c.entries[2*i]), "bank", "Payee", sealed, []byte(methods[i]), tail, c.now, c.now}
	})
	c.change(`INSERT INTO entry_method_log SELECT entry_id, id FROM receiving_method`)
	merges := c.ids("mrg", 4000)
	c.insert("directory_merge", "id, workspace_number, target_id, sources, created_at, undone_at, state_sealed, sealed_by", len(merges), func(i int) []any {
		return []any{merges[i], c.numbers[c.spread(i)], db.PackID("entry", c.entries[i/2]), "[]", c.now - int64(i), 0, []byte("a state"), 1}
	})
	c.insert("pending_identity", "entry_id, workspace_number, approval_id, external_id, change", 2000, func(i int) []any {
		return []any{db.PackID("entry", c.entries[2*i+1]), c.numbers[20+i%(len(c.numbers)-20)], fmt.Sprint("apr_", i), fmt.Sprint("held ", i), "{}"}
	})
	imports := c.ids("imp", 2000)
	c.insert("directory_import", "id, workspace_id, workspace_number, status, options, actor, bytes, position, position_lines, lines, created, updated, unchanged, refused, "+
		"reason, node, lease_until, created_at, started_at, ended_at", len(imports), func(i int) []any {
		at, status, lease, ended := c.spread(i), "completed", int64(0), c.now
		if i%2 == 0 { // of workspaces that no one imports into here
			at, status, lease, ended = 3+i%(len(c.numbers)-3), "running", c.now+365*24*time.Hour.Milliseconds(), 0
		}
		return []any{imports[i], c.workspaces[at], c.numbers[at], status, `{"format":"csv"}`, "{}", 0, 0, 0, 0, 0, 0, 0, 0, "", "", lease, c.now, c.now, ended}
	})
	c.insert("directory_import_turn", "organization_id, import_id, taken_at", c.many.tenants, func(i int) []any {
		return []any{c.organizations[3+i], imports[i%len(imports)], c.now}
	})
	c.insert("directory_import_chunk", "import_id, part, number, body_sealed, sealed_by", len(imports), func(i int) []any {
		return []any{imports[i], "refused", i, []byte("a line"), 1}
	})
	lines := c.ids("iml", c.many.others)
	c.insert("directory_import_line", "id, import_id, line, kind, subject_id, subject_version, entry_id, state, new_payee, shared_account, changed, name_differs, payload_sealed, sealed_by",
		c.many.others, func(i int) []any {
			state := []string{"approved", "pending", "void"}[i%3]
			sealed, err := c.vault.Seal(int64(c.numbers[c.spread(2*i)]), vault.ImportLine(lines[i]), []byte("{}"))
			if err != nil {
				c.t.Fatal(err)
			}
			return []any{lines[i], imports[i%len(imports)], i, "receiving_method", methods[i%len(methods)], 1, c.entries[i], state, i%4 == 0, i%5 == 0, i%6 == 0, i%7 == 0,
				sealed, vault.KeyOf(sealed)}
		})
	approvals := c.ids("apr", c.many.others)
	c.insert("approval", "id, workspace_id, kind, subject_id, subject_version, about_id, digest, maker_id, maker, involved, state, told, verification, reason, "+
		"created_at, expires_at, mode, needed, role, keys_may",
		c.many.others, func(i int) []any {
			return []any{approvals[i], c.workspaces[20+i%(len(c.workspaces)-20)], "receiving_method", methods[i%len(methods)], 1, c.entries[i], "digest", c.accounts[0],
				"{}", " " + c.accounts[0] + " ", "approved", "approved", "called", "", c.now, c.now, "", 1, "", false}
		})
	c.insert("directory_import_decision", "approval_id, import_id, workspace_id, workspace_number, state, actor, requested_by, verification, reason, left_out, cooling_hours, claim, lease_until",
		c.many.others, func(i int) []any {
			return []any{approvals[i], imports[i%len(imports)], c.workspaces[20+i%(len(c.workspaces)-20)], 1, "approved", "{}", "Ada", "called", "", "[]", 24, "",
				c.now + 365*24*time.Hour.Milliseconds()}
		})
	c.insert("receiving_policy", "workspace_id, approval, two_seen_at, version", len(c.workspaces)-20, func(i int) []any {
		return []any{c.workspaces[20+i], "automatic", c.now, 1}
	})
	c.insert("approver", "workspace_id, pair, account_id, since, not_before", len(c.workspaces)-20, func(i int) []any {
		return []any{c.workspaces[20+i], "receiving", c.accounts[i%len(c.accounts)], c.now, 0}
	})
	rules := c.ids("rul", c.many.others)
	c.insert("payout_rule", "id, workspace_id, account_id, rail, client_id, approvals, role, keys_may, status, created_at, alone", c.many.others, func(i int) []any {
		return []any{rules[i], c.workspaces[20+i%(len(c.workspaces)-20)], "", "instapay", "", 1, "", false, "active", c.now, false}
	})
	limits := c.ids("lim", c.many.others)
	c.insert("payout_stop", "workspace_id, mode, stopped_at, stopped_by, reason, version", len(c.workspaces)-20, func(i int) []any {
		at := c.now
		if i%100 != 0 {
			at = 0 // most were resumed
		}
		return []any{c.workspaces[20+i], "sandbox", at, c.accounts[i%len(c.accounts)], "a drill", 1}
	})
	c.insert("payout_limit", "id, workspace_id, account_id, maker_id, entry_id, rail, each_of, per, amount, count, version, created_at", c.many.others, func(i int) []any {
		return []any{limits[i], c.workspaces[20+i%(len(c.workspaces)-20)], "", c.accounts[i%len(c.accounts)], c.entries[i], "", "", "day", 100, 0, 1, c.now}
	})
	c.insert("payout_counted", "guard_id, day, of_id, mode, currency, amount, count", c.many.others, func(i int) []any {
		return []any{limits[i], 30_000 + i, "", "live", "PHP", 10, 1}
	})
	c.insert("approval_vote", "approval_id, account_id, at, verification, session_id, key_id", c.many.others, func(i int) []any {
		return []any{approvals[i], c.accounts[i%len(c.accounts)], c.now, "called", "", ""}
	})
}

// words are what entry i is found by: one that some have and one that all have.
func words(i int) []string { return []string{fmt.Sprintf("batch%02d", mixed(i)%100), "payee"} }

func (c *town) history() {
	const busy = 100 // the tenants after them have one row each, so that there are many streams
	many := c.many.audit + len(c.numbers) - busy
	ids := c.ids("aud", many)
	c.insert("audit_log", "id, workspace_number, organization_id, actor_id_key, action_key, resource_type_key, resource_id_key, outcome_key, entry, personal, salt", many, func(i int) []any {
		tenant := c.spread(i)
		if i >= c.many.audit {
			tenant = busy + i - c.many.audit
		}
		workspace, number, organization := c.workspaces[tenant], any(c.numbers[tenant]), ""
		switch mixed(i) % 20 {
		case 0:
			workspace, number, organization = "", nil, c.organizations[tenant]
		case 1:
			workspace, number = "", nil
		}
		outcome := audit.Success
		if mixed(i)%200 == 37 {
			outcome = audit.Denied
		}
		action, resource, actor := c.deed(i)
		entry := api.AuditEntry{
			Action: action, Outcome: string(outcome), Description: "Did something", ActorType: "user", ActorID: actor, ActorName: "Person", ActorEmail: "person@crowd.example",
			ResourceType: resource, ResourceID: c.entries[mixed(i)%1000], RequestID: "req", IP: "192.0.2.1", Timestamp: c.past(i, many),
		}
		key := func(by audit.Filter, value string) int64 { return audit.FilterKey(by, workspace, value) }
		return []any{db.PackID("aud", ids[i]), number, db.NullText(organization), key(audit.ByActor, actor), key(audit.ByAction, action),
			key(audit.ByResourceType, resource), key(audit.ByResource, entry.ResourceID), audit.OutcomeKey(workspace, outcome), string(audit.AppendEntry(nil, entry)), string(audit.AppendPersonal(nil, entry)), db.NewSalt()}
	})
}

// Of actions, kinds of resources and actors some are common and some are rare.
func (c *town) deed(i int) (action, resource, actor string) {
	action, resource, actor = "directory.entry.created", "directory_entry", c.accounts[mixed(i)%300]
	switch mixed(i) % 500 {
	case 99:
		action, resource = "iam.role.deleted", "role"
	case 100:
		action, resource = "directory.tag.created", "directory_tag"
	}
	if mixed(i)%3 == 1 {
		action, actor = "directory.entry.updated", c.large.Owner.UserID
	}
	return action, resource, actor
}
