package servertest

import (
	"fmt"
	"sync/atomic"
	"testing"

	"bursar/internal/access"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/identity"
)

// serial makes the names in the tests of one server unique.
var serial atomic.Int64

// NewEmail returns an address that no user has yet.
func NewEmail() string { return fmt.Sprintf("user%d@example.com", serial.Add(1)) }

// On returns the same client for another test, such as a subtest. Failures are then
// reported for that test.
func (c *Client) On(t testing.TB) *Client {
	other := *c
	other.t = t
	return &other
}

// T returns the test that the client reports failures to.
func (c *Client) T() testing.TB { return c.t }

// Tenant is an organization with one workspace. It shares nothing with other tenants on
// the server. Its owner is the workspace's admin.
type Tenant struct {
	Node           *Node
	Owner          *Client
	OrganizationID string
	WorkspaceID    string
	t              testing.TB
}

// Tenant creates a tenant.
func (n *Node) Tenant(t testing.TB) *Tenant {
	t.Helper()
	owner := n.User(t, NewEmail())
	org := owner.Post("/v1/organizations", Body{"name": "Tenant"}).OK().Text("id")
	ws := owner.Post("/v1/workspaces", Body{"name": "Payroll", "organization_id": org}).OK().Text("id")
	return &Tenant{Node: n, Owner: owner, OrganizationID: org, WorkspaceID: ws, t: t}
}

// FirstTenant returns the tenant that the store was set up with. Its owner has a new
// session, which tests that let a long time pass need.
func (n *Node) FirstTenant(t testing.TB) *Tenant {
	t.Helper()
	return &Tenant{Node: n, Owner: n.Admin(t), OrganizationID: n.First.OrganizationID, WorkspaceID: n.First.WorkspaceID, t: t}
}

// Path returns a path in the tenant's workspace.
func (x *Tenant) Path(rest string) string { return "/v1/workspaces/" + x.WorkspaceID + rest }

// Add adds a person to the workspace, as its owner, and returns the id of the invitation,
// or of the user if the organization knows them already.
func (x *Tenant) Add(email, role string) string {
	x.t.Helper()
	if x.takesTwo(role) {
		return x.put(email, role)
	}
	return x.Owner.Post(x.Path("/members"), Body{"email": email, "role": role}).OK().Text("user_id")
}

// takesTwo reports whether a second person besides the owner has to agree to a grant of a role.
func (x *Tenant) takesTwo(key string) (two bool) {
	x.t.Helper()
	err := x.Node.DB.Read(x.t.Context(), func(q db.Q) error {
		role, _, err := access.FindRole(q, x.WorkspaceID, key)
		for _, pair := range access.Pairs() {
			var p access.SecondPerson
			if err == nil {
				p, err = access.FindSecondPerson(q, pair, x.WorkspaceID, x.Node.DB.Now())
			}
			two = two || role.Permissions.Has(pair.Approve) && p.OtherCounts(x.Owner.UserID)
		}
		return err
	})
	if err != nil {
		x.t.Fatal(err)
	}
	return two
}

// put makes a person a member with a role that needs a second person, as if one had agreed. As with a real grant, they count
// as an approver only after a while.
func (x *Tenant) put(email, role string) (userID string) {
	x.t.Helper()
	_, err := db.Write(x.t.Context(), x.Node.DB, db.Caller{}, func(tx *db.Tx) (struct{}, audit.Event, error) {
		if _, _, err := access.LockMembers(tx, x.WorkspaceID); err != nil {
			return struct{}{}, audit.Event{}, err
		}
		accountID, _, err := identity.EnsureUser(tx, identity.NewUser{Email: email, Invited: true})
		if err != nil {
			return struct{}{}, audit.Event{}, err
		}
		userID = accountID
		_, member, err := access.MemberOf(tx.Q, x.WorkspaceID, accountID)
		if err == nil && member {
			err = access.Grant(tx, x.WorkspaceID, accountID, role)
		} else if err == nil {
			err = access.Join(tx, x.WorkspaceID, accountID, role)
		}
		event := audit.Event{Action: audit.MemberAdded, WorkspaceID: x.WorkspaceID, ResourceID: accountID, Description: "Added " + email + " as " + role}
		event.Changes.Add("roles", nil, role)
		return struct{}{}, event, err
	})
	if err != nil {
		x.t.Fatalf("put %s into the workspace: %v", email, err)
	}
	return userID
}

// Give gives a member a role, as if a second person had agreed where required.
func (x *Tenant) Give(c *Client, role string) {
	x.t.Helper()
	x.put(c.Email(), role)
}

// Member creates a user who has a role in the workspace.
func (x *Tenant) Member(role string) *Client {
	x.t.Helper()
	email := NewEmail()
	user := x.Node.User(x.t, email)
	user.Join(x.Add(email, role))
	return user
}

// Bystander creates a user who is a member of the workspace without any role.
func (x *Tenant) Bystander() *Client {
	x.t.Helper()
	user := x.Member("viewer")
	x.Owner.Delete(x.Path("/roles/" + user.UserID + "/viewer")).OK()
	return user
}

// Entry creates a directory entry and returns its id.
func (x *Tenant) Entry(name string) string {
	x.t.Helper()
	return x.Owner.Post("/v1/directory", Body{
		"workspace_id": x.WorkspaceID, "type": "person", "fields": Body{}, "name": name,
	}).OK().Text("id")
}

// Define creates a custom role in the workspace.
func (x *Tenant) Define(key string, permissions ...string) {
	x.t.Helper()
	x.Owner.Put(x.Path("/roles/"+key), Body{"name": "Role " + key, "permissions": permissions}).OK()
}

// Audit lists the newest rows of the workspace, narrowed by a query such as
// "&action=iam.role.created".
func (x *Tenant) Audit(query string) []Body {
	x.t.Helper()
	return x.Owner.Get("/v1/audit?limit=100&workspace_id=" + x.WorkspaceID + query).OK().List()
}

// AuditCount returns the number of audit rows of the workspace in the store.
func (x *Tenant) AuditCount() int {
	x.t.Helper()
	return x.Node.Count(x.t, `SELECT count(*) FROM audit_log WHERE workspace_number = (SELECT number FROM workspace WHERE id = $1)`, x.WorkspaceID)
}

// Count runs a query that returns a single number.
func (n *Node) Count(t testing.TB, sql string, args ...any) (count int) {
	t.Helper()
	err := n.DB.Read(t.Context(), func(q db.Q) error {
		_, err := q.Row(sql, args...).Scan(&count)
		return err
	})
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return count
}
