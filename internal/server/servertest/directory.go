package servertest

import (
	"fmt"
	"io"
	"maps"
	"net/url"
	"strings"
	"testing"

	"bursar/internal/access"
	"bursar/internal/approval"
	"bursar/internal/db"
	"bursar/internal/directory"
	"bursar/internal/directory/transfer"
	"bursar/internal/wait"
	"bursar/internal/web"
)

// Entry creates an entry in the first workspace and returns its id. The entry is a person
// without fields, unless more overrides that.
func (c *Client) Entry(more Body) string {
	c.t.Helper()
	body := Body{"workspace_id": c.Node.First.WorkspaceID, "type": "person", "fields": Body{}}
	maps.Copy(body, more)
	return c.Post("/v1/directory", body).OK().Text("id")
}

// Entries lists the directory of the first workspace. query is names and values in turn.
func (c *Client) Entries(query ...string) *Answer {
	c.t.Helper()
	return c.Get("/v1/directory?" + Query(append([]string{"workspace_id", c.Node.First.WorkspaceID}, query...)...))
}

// Query returns a query string from names and values.
func Query(pairs ...string) string {
	var parts []string
	for i := 0; i+1 < len(pairs); i += 2 {
		parts = append(parts, url.QueryEscape(pairs[i])+"="+url.QueryEscape(pairs[i+1]))
	}
	return strings.Join(parts, "&")
}

// Walk reads a list page by page to its end and returns the ids in order.
// between runs after every page; nil does nothing.
func (c *Client) Walk(path string, between func(page []string)) []string {
	c.t.Helper()
	var all []string
	for next := path; ; {
		answer := c.Get(next).OK()
		page := answer.Column("id")
		all = append(all, page...)
		cursor, more := answer.Page()
		if !more {
			return all
		}
		if len(page) == 0 {
			c.t.Fatalf("%s: an empty page that has more behind it: %s", next, answer.Body)
		}
		if between != nil {
			between(page)
		}
		next = path + "&cursor=" + url.QueryEscape(cursor)
	}
}

// Stream sends a body without a Content-Length header.
func (c *Client) Stream(method, path string, body io.Reader) *Answer {
	c.t.Helper()
	return c.Do(method, path, io.NopCloser(body))
}

// tenantsLog is the audit log without the rows that only the operator can read, such as
// requests for other tenants' resources.
const tenantsLog = `audit_entry WHERE COALESCE(workspace_id, organization_id) IS NOT NULL`

// contents lists the columns of each table that Contents reads.
var contents = map[string]string{
	"directory_entry":     `id, type, label, name, status, fields, words`,
	"directory_word":      `workspace_number, word, entry_id`,
	"directory_tag":       `id, workspace_id, name, applies_to`,
	"directory_entry_tag": `entry_id, tag_id`,
	"receiving_method":    `id, entry_id, provider, account_name, account_key`,
	"audit_entry":         `id, action, outcome, description, resource_id`,
	"idempotency":         `id`,
	"ledger_account":      `id, status, CAST(available AS TEXT), CAST(reserved AS TEXT), CAST(pending AS TEXT), CAST(postings AS TEXT)`,
	"ledger_transaction":  `id, kind, reference`,
	"ledger_deposit":      `id, status`,
	"payout":              `id, status, attention, CAST(attempts AS TEXT), CAST(version AS TEXT)`,
	"payout_attempt":      `id, state`,
	"simulated_payment":   `end_to_end_id, state, return_code, tell`,
}

// Contents reads the tables of the directory, of money and of the audit log, so that a test can
// compare them before and after a request.
func (n *Node) Contents(t testing.TB) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	for table, columns := range contents {
		width := strings.Count(columns, ", ") + 1
		from := table
		if table == "audit_entry" {
			from = tenantsLog
		}
		all[table] = n.rows(t, width, fmt.Sprintf(`SELECT %s FROM %s ORDER BY %s`, columns, from, columns))
	}
	return all
}

func (n *Node) rows(t testing.TB, width int, sql string, args ...any) []string {
	t.Helper()
	var rows []string
	err := n.DB.Read(t.Context(), func(q db.Q) (err error) {
		rows, err = db.Collect(q, func(r db.Rows) string {
			var cells []string
			for i := range width {
				cells = append(cells, r.Text(i))
			}
			return strings.Join(cells, "|")
		}, sql, args...)
		return err
	})
	if err != nil {
		t.Fatalf("look at the store: %v", err)
	}
	return rows
}

// Audited lists the actions in the logs of the tenants that are about a resource, oldest
// first.
func (n *Node) Audited(t testing.TB, resourceID string) []string {
	t.Helper()
	return n.rows(t, 1, `SELECT action FROM `+tenantsLog+` AND resource_id = $1 ORDER BY id`, resourceID)
}

// Envelope decodes the whole answer.
func (a *Answer) Envelope(target any) {
	a.t.Helper()
	a.decode(target)
}

// Account is the body of a receiving method.
func Account(number string, more ...Body) Body {
	body := Body{"provider": "bank", "account_name": "Ada", "account_id": number}
	for _, over := range more {
		maps.Copy(body, over)
	}
	return body
}

// AddMethod adds a receiving method to an entry and returns its id.
func (c *Client) AddMethod(entry string, body Body) string {
	c.t.Helper()
	return c.Post("/v1/directory/"+entry+"/receiving-methods", body).OK().Text("id")
}

// Worker returns a service that works on imports, like another node.
func (n *Node) Worker() *transfer.Service {
	authority, cursors := access.NewAuthority(n.DB), web.NewCursors(nil)
	approvals := approval.New(n.DB, n.Vault, authority, cursors, nil, nil, "")
	return transfer.New(n.DB, n.Vault, authority, cursors, approvals, directory.New(n.DB, n.Vault, authority, cursors, approvals))
}

// RunImports works on imports until none is left, as the background work of a node does.
func (n *Node) RunImports(t testing.TB) {
	t.Helper()
	worker := n.Worker()
	for {
		worked, err := worker.ImportTurn(t.Context())
		if err != nil {
			t.Fatalf("import: %v", err)
		}
		if !worked {
			return
		}
	}
}

// RunDecisions carries out decisions about imports until none is left, as the background work of a node
// does.
func (n *Node) RunDecisions(t testing.TB) {
	t.Helper()
	worker := n.Worker()
	for {
		worked, err := worker.DecisionTurn(t.Context())
		if err != nil {
			t.Fatalf("carry out a decision: %v", err)
		}
		if !worked {
			return
		}
	}
}

// Import imports a file into the first workspace and returns the import when it has ended. query
// is names and values in turn.
func (c *Client) Import(file string, query ...string) *Answer {
	c.t.Helper()
	query = append([]string{"workspace_id", c.Node.First.WorkspaceID}, query...)
	id := c.Do("POST", "/v1/directory/imports?"+Query(query...), file, "Content-Type", "application/octet-stream").OK().Text("id")
	c.Node.RunImports(c.t)
	return c.Get("/v1/directory/imports/" + id).OK()
}

// Counts are what an import has done: created, updated, unchanged, refused.
func Counts(a *Answer) string {
	o := a.Object()
	return fmt.Sprint(o["status"], " ", o["created"], " ", o["updated"], " ", o["unchanged"], " ", o["refused"])
}

// Bulk sends a bulk about the first workspace.
func (c *Client) Bulk(action string, more Body) *Answer {
	c.t.Helper()
	body := Body{"workspace_id": c.Node.First.WorkspaceID, "action": action}
	maps.Copy(body, more)
	return c.Post("/v1/directory/bulk", body)
}

// Changed are what a bulk has done: changed, unchanged, refused.
func Changed(a *Answer) string {
	o := a.Object()
	return fmt.Sprint(o["status"], " ", o["changed"], " ", o["unchanged"], " ", o["refused"])
}

// ImportLines imports lines of people with their accounts into the tenant's workspace, and returns the approval that waits.
func (x *Tenant) ImportLines(lines string) (approvalID string) {
	x.t.Helper()
	id := x.Owner.Do("POST", "/v1/directory/imports?format=csv&workspace_id="+x.WorkspaceID,
		"type,name,method.provider,method.account_name,method.account_id\n"+lines, "Content-Type", "application/octet-stream").OK().Text("id")
	x.Node.RunImports(x.t)
	wait.Until(x.t, "the import ends", func() bool { // by a node in the background, maybe
		return x.Owner.Get("/v1/directory/imports/"+id).OK().Text("status") == "completed"
	})
	return x.Owner.Get("/v1/directory/imports/" + id).OK().Text("approval_id")
}
