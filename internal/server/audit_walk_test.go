package server_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/server/servertest"
)

// effect is the row that an operation leaves.
type effect struct {
	action   string // empty for an operation that leaves none
	resource string
	all      int         // rows, if it is not one: one for each of several entries
	refusal  string      // the action of a refused attempt, where it is another
	then     []storedRow // that follow, because somebody else acts on it at once
	idle     []storedRow // that a change of nothing leaves, because its answer shows a secret
	open     string      // why nobody can be refused, where it is so
}

const (
	ownOnly    = "it is about the caller's own"
	noCaller   = "it has no caller"
	noOperator = "whoever is no operator is told that it is not there"
	noRowSince = "a device code is not an action until somebody approves or denies it"
)

// effects is every route that changes something.
func effects() map[string]effect {
	return map[string]effect{
		"POST /v1/auth/device-code":                {open: noRowSince},
		"POST /v1/auth/device-code/{code}/approve": {action: "auth.device.approved", resource: "device_code", open: ownOnly},
		"POST /v1/auth/device-code/{code}/deny":    {action: "auth.device.denied", resource: "device_code", open: ownOnly},
		"POST /v1/auth/token":                      {action: "auth.session.created", resource: "session", open: noCaller},
		"POST /v1/auth/logout":                     {action: "auth.session.revoked", resource: "session", open: ownOnly},
		"POST /v1/api-keys":                        {action: "auth.key.created", resource: "api_key"},
		"POST /v1/api-keys/{id}/rotate":            {action: "auth.key.rotated", resource: "api_key", open: ownOnly},
		"DELETE /v1/api-keys/{id}":                 {action: "auth.key.revoked", resource: "api_key", open: ownOnly},
		"POST /v1/api-keys/{id}/compromised":       {action: "auth.key.revoked", resource: "api_key", open: ownOnly},

		"POST /v1/directory":                        {action: "directory.entry.created", resource: "directory_entry"},
		"POST /v1/directory/imports":                {action: "directory.import.started", resource: "directory_import"},
		"POST /v1/directory/imports/{id}/start":     {action: "directory.import.started", resource: "directory_import"},
		"POST /v1/directory/imports/{id}/cancel":    {action: "directory.import.cancelled", resource: "directory_import"},
		"POST /v1/directory/batch":                  {action: "directory.entry.created", resource: "directory_entry"},
		"POST /v1/directory/bulk":                   {action: "directory.entry.updated", resource: "directory_entry"},
		"POST /v1/directory/bulk/{id}/cancel":       {refusal: "directory.bulk.cancelled", resource: "directory_bulk"},
		"POST /v1/directory/bulk/{id}/undo":         {action: "directory.entry.updated", resource: "directory_entry"},
		"PATCH /v1/directory/{id}":                  {action: "directory.entry.updated", resource: "directory_entry"},
		"DELETE /v1/directory/{id}":                 {action: "directory.entry.deleted", resource: "directory_entry"},
		"POST /v1/directory/{id}/restore":           {action: "directory.entry.restored", resource: "directory_entry"},
		"POST /v1/directory/{id}/merge":             {action: "directory.entry.merged", resource: "directory_entry", all: 2},
		"POST /v1/directory/merges/{id}/undo":       {action: "directory.entry.unmerged", resource: "directory_entry", all: 2},
		"POST /v1/directory/tags":                   {action: "directory.tag.created", resource: "directory_tag"},
		"PATCH /v1/directory/tags/{id}":             {action: "directory.tag.updated", resource: "directory_tag"},
		"DELETE /v1/directory/tags/{id}":            {action: "directory.tag.deleted", resource: "directory_tag"},
		"POST /v1/directory/{id}/receiving-methods": {action: "directory.receiving_method.added", resource: "receiving_method"},
		"PATCH /v1/directory/{id}/receiving-methods/{method_id}": {action: "directory.receiving_method.updated", resource: "receiving_method",
			idle: []storedRow{{"directory.receiving_method.revealed", "success", "directory_entry"}}},
		"DELETE /v1/directory/{id}/receiving-methods/{method_id}": {action: "directory.receiving_method.removed", resource: "receiving_method"},

		"POST /v1/approvals/decide":        {action: "directory.receiving_method.approved", resource: "receiving_method"},
		"POST /v1/approvals/{id}/approve":  {action: "directory.receiving_method.approved", resource: "receiving_method"},
		"POST /v1/approvals/{id}/reject":   {action: "directory.receiving_method.rejected", resource: "receiving_method"},
		"POST /v1/approvals/{id}/withdraw": {action: "directory.receiving_method.withdrawn", resource: "receiving_method"},

		"POST /v2/approval-rules":              {action: "payout.rule.created", resource: "payout_rule"},
		"POST /v2/approval-rules/{id}/confirm": {refusal: "payout.rule.approved", resource: "payout_rule"},
		"DELETE /v2/approval-rules/{id}":       {action: "payout.rule.removed", resource: "payout_rule"},
		"POST /v2/limits":                      {action: "payout.limit.created", resource: "payout_limit"},
		"DELETE /v2/limits/{id}":               {action: "payout.limit.requested", resource: "payout_limit", refusal: "payout.limit.removed"}, // there is a second person

		"POST /v1/workspaces/{id}/second-person/extend": {refusal: "iam.workspace.second_person_extended", resource: "workspace"}, // there are two
		"POST /v1/workspaces/{id}/payout-stop":          {action: "payout.sending.stopped", resource: "workspace"},
		"POST /v1/workspaces/{id}/payout-resume":        {action: "payout.sending.resumed", resource: "workspace"},
		"PATCH /v1/workspaces/{id}/receiving-policy":    {action: "iam.workspace.receiving_policy_updated", resource: "workspace"},

		"POST /v1/workspaces":                                       {action: "iam.workspace.created", resource: "workspace"},
		"PATCH /v1/workspaces/{id}":                                 {action: "iam.workspace.updated", resource: "workspace"},
		"POST /v1/workspaces/{id}/members":                          {action: "iam.member.added", resource: "member"},
		"DELETE /v1/workspaces/{id}/members/{userId}":               {action: "iam.member.removed", resource: "member"},
		"POST /v1/workspaces/{id}/roles":                            {action: "iam.member.role_assigned", resource: "member"},
		"DELETE /v1/workspaces/{id}/roles/{userId}/{role}":          {action: "iam.member.role_removed", resource: "member"},
		"POST /v1/workspaces/{id}/suspended/{suspensionId}/confirm": {action: "iam.member.reinstated", resource: "member"},
		"POST /v1/workspaces/{id}/suspended/{suspensionId}/remove":  {action: "iam.member.removed", resource: "member"},
		"PUT /v1/workspaces/{id}/roles/{role}":                      {action: "iam.role.created", resource: "role", refusal: "iam.role.updated"},
		"DELETE /v1/workspaces/{id}/roles/{role}":                   {action: "iam.role.deleted", resource: "role"},

		"POST /v1/invitations/{id}/accept":  {action: "iam.member.accepted", resource: "member", open: ownOnly},
		"POST /v1/invitations/{id}/decline": {action: "iam.member.declined", resource: "member", open: ownOnly},

		"POST /v1/workspaces/{id}/clients/{clientId}/rotate": {action: "auth.client.rotated", resource: "client"},

		"POST /v2/accounts":       {action: "money.account.created", resource: "account"},
		"PATCH /v2/accounts/{id}": {action: "money.account.updated", resource: "account"},
		"POST /v2/transfers":      {action: "money.transfer.created", resource: "transfer"},

		"POST /v2/payout-requests":              {action: "payout.request.created", resource: "payout_request"},
		"POST /v2/payout-requests/validate":     {refusal: "payout.request.created", resource: "payout_request"},
		"PATCH /v2/payout-requests/{id}":        {action: "payout.request.updated", resource: "payout_request"},
		"POST /v2/payout-requests/{id}/confirm": {action: "payout.recheck.approved", resource: "payout_request"},
		"POST /v2/payout-requests/{id}/publish": {action: "payout.request.published", resource: "payout_request"},
		"POST /v2/payout-requests/{id}/approve": {action: "payout.request.approved", resource: "payout_request"},
		"POST /v2/payout-requests/{id}/reject":  {action: "payout.request.rejected", resource: "payout_request"},
		"POST /v2/payout-requests/{id}/cancel":  {action: "payout.request.cancelled", resource: "payout_request"},
		"POST /v2/payout-requests/{id}/retry":   {action: "payout.request.retried", resource: "payout_request"},
		"POST /v2/payout-requests/{id}/resolve": {action: "payout.request.resolved", resource: "payout_request"},
		"POST /v2/batch-payout-requests": {action: "payout.batch.created", resource: "payout_batch",
			then: []storedRow{{"payout.request.created", "success", "payout_request"}}},

		"POST /v2/simulations/deposits": {action: "money.deposit.booked", resource: "deposit"},
		"POST /v2/simulations/payouts/{id}/settle": {action: "payout.request.simulated", resource: "payout_request",
			then: []storedRow{{"payout.request.completed", "success", "payout_request"}, {"payout.request.settled", "success", "payout_request"}}},
		"POST /v2/simulations/payouts/{id}/reject": {action: "payout.request.simulated", resource: "payout_request",
			then: []storedRow{{"payout.request.failed", "failure", "payout_request"}}},
		"POST /v2/simulations/payouts/{id}/return": {action: "payout.request.simulated", resource: "payout_request",
			then: []storedRow{{"payout.request.reversed", "success", "payout_request"}}},
		"POST /v2/simulations/services/{service_name}": {action: "rail.service.simulated", resource: "service"},

		"POST /v1/organizations":                                       {action: "iam.organization.created", resource: "organization"},
		"PATCH /v1/organizations/{id}/settings":                        {action: "iam.organization.settings_updated", resource: "organization"},
		"POST /v1/organizations/{id}/owners":                           {action: "iam.organization.owner_added", resource: "organization"},
		"DELETE /v1/organizations/{id}/owners/{userId}":                {action: "iam.organization.owner_removed", resource: "organization"},
		"POST /v1/organizations/{id}/suspended/{suspensionId}/confirm": {action: "iam.organization.owner_reinstated", resource: "organization"},
		"POST /v1/organizations/{id}/suspended/{suspensionId}/remove":  {action: "iam.organization.owner_removed", resource: "organization"},
		"POST /v1/organizations/{id}/leavers": {action: "iam.organization.leaver_removed", resource: "organization",
			then: []storedRow{{"iam.member.removed", "success", "member"}}},

		"POST /v1/ops/requests/{id}/approve": {action: "ops.request.approved", resource: "operator_request", open: noOperator,
			then: []storedRow{{"money.deposit.booked", "success", "deposit"}}},
		"POST /v1/ops/requests/{id}/reject": {action: "ops.request.rejected", resource: "operator_request", open: noOperator},
	}
}

// storedRow is an audit row as it is stored, whosever it is.
type storedRow struct{ Action, Outcome, Resource string }

// rowsAfter is what the audit log of a store has after its first rows. It reads the table: the view audit_entry writes out
// the id of every row, which takes PostgreSQL longer than all that the walks do.
func rowsAfter(t *testing.T, n *servertest.Node, first int) (rows []storedRow) {
	t.Helper()
	err := n.DB.Read(t.Context(), func(q db.Q) (err error) {
		rows, err = db.Collect(q, func(r db.Rows) storedRow {
			e, err := audit.ReadStored("", []byte(r.Text(0)), []byte(r.Text(1)), 0)
			if err != nil {
				t.Error(err)
			}
			if e.ResourceID == "" && e.Outcome == "success" {
				t.Errorf("a row %s speaks of nothing", e.Action)
			}
			return storedRow{e.Action, e.Outcome, e.ResourceType}
		}, `SELECT entry, personal FROM audit_log ORDER BY id LIMIT 1000 OFFSET $1`, first)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// leaves demands that an act adds exactly these rows.
func leaves(t *testing.T, n *servertest.Node, act func(), want ...storedRow) {
	t.Helper()
	before := n.Count(t, `SELECT count(*) FROM audit_log`)
	act()
	if added := rowsAfter(t, n, before); !slices.Equal(added, want) {
		t.Errorf("rows wanted (-), added (+):\n%s", cmp.Diff(want, added))
	}
}

func TestEveryMutationLeavesOneRow(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		bystander, machine := x.Bystander(), machineClient(t, n, x, "viewer")
		for _, o := range operations() {
			e, known := effects()[o.route]
			if o.method() == "GET" {
				continue
			}
			if !known {
				t.Errorf("%s has no effect in the table of this test", o.route)
				continue
			}
			t.Run(o.route, func(t *testing.T) {
				owner, r := x.Owner.On(t), o.ask(x, x.Owner)
				bad := r
				bad.body = body{"no-such-key": true}
				leaves(t, n, func() { o.do(owner, bad).Fails(400, "VALIDATION_ERROR") })
				if len(r.args) > 0 {
					nowhere := r
					nowhere.args = slices.Clone(r.args)
					nowhere.args[len(r.args)-1] = "nowhere_at_all"
					if o.method() != "PUT" {
						leaves(t, n, func() { o.do(owner, nowhere).Fails(404, o.missing()) }, probe(o.route)...)
					}
				}
				if e.open == "" {
					refused := bystander
					if o.need == anySession {
						refused = machine
					}
					action := e.refusal
					if action == "" {
						action = e.action
					}
					theirs := r
					theirs.headers = nil // of a session that is not theirs
					leaves(t, n, func() { o.do(refused.On(t), theirs).Fails(403, "FORBIDDEN") }, storedRow{action, "denied", e.resource})
				}
				if o.method() == "PATCH" {
					same := r
					same.body = body{}
					leaves(t, n, func() { o.do(owner, same).OK() }, e.idle...)
				}
				if e.action == "" {
					leaves(t, n, func() { o.do(owner, r).OK() })
				} else {
					leaves(t, n, func() { o.do(owner, r).OK() }, append(slices.Repeat([]storedRow{{e.action, "success", e.resource}}, max(1, e.all)), e.then...)...)
				}
			})
		}

		t.Run("a poll that picks up the token starts a session", func(t *testing.T) {
			code := newCode(x)
			x.Owner.On(t).Post("/v1/auth/device-code/"+code+"/approve", nil).OK()
			poll := func() { n.Stranger(t).Get("/v1/auth/device-code/" + code).OK() }
			leaves(t, n, poll, storedRow{"auth.session.created", "success", "session"})
			leaves(t, n, poll)
		})

		t.Run("a failed login is a row", func(t *testing.T) {
			failed := storedRow{"auth.login.failed", "failure", ""}
			for header, code := range map[string]string{"Bearer bk_nonsense": "UNAUTHORIZED", servertest.Basic("cli_x", "wrong"): "INVALID_CREDENTIALS"} {
				leaves(t, n, func() { n.Exchange(t, header).Fails(401, code) }, failed)
			}
		})
	})
}

// probe is what asking for nothing at all leaves. What is looked for within a tenant that
// the caller belongs to leaves no row.
func probe(route string) []storedRow {
	for _, within := range []string{"{userId}", "{role}", "{method_id}", "{suspensionId}/confirm", "{suspensionId}/remove", "{code}/approve", "{code}/deny", "{service_name}"} {
		if strings.HasSuffix(route, within) {
			return nil
		}
	}
	return []storedRow{{"iam.access.denied", "denied", ""}}
}

// machineClient makes a machine client of the tenant.
func machineClient(t *testing.T, n *servertest.Node, x *servertest.Tenant, role string) *servertest.Client {
	t.Helper()
	id, secret, err := n.Identity.CreateClient(t.Context(), db.Caller{}, x.WorkspaceID, "Robot", role)
	if err != nil {
		t.Fatal(err)
	}
	return n.Holder(t, n.Exchange(t, servertest.Basic(id, secret)).OK().Text("token"))
}

func TestBusinessRulesLeaveNoRow(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		c := x.Owner
		tagged := c.Post("/v1/directory/tags", body{"workspace_id": x.WorkspaceID, "name": "vip"}).OK().Text("id")
		c.Post("/v1/directory", body{"workspace_id": x.WorkspaceID, "type": "organization", "fields": body{}, "tags": []string{"vip"}}).OK()
		x.Define("in_use", "ws.read")
		x.Member("in_use")
		denied := newCode(x)
		c.Post("/v1/auth/device-code/"+denied+"/deny", nil).OK()
		for code, act := range map[string]func() *servertest.Answer{
			"LAST_ADMIN":  func() *servertest.Answer { return c.Delete(x.Path("/members/" + c.UserID)) },
			"ROLE_IN_USE": func() *servertest.Answer { return c.Delete(x.Path("/roles/in_use")) },
			"SLUG_TAKEN": func() *servertest.Answer {
				return c.Post("/v1/workspaces", body{"name": "Payroll", "slug": "payroll", "organization_id": x.OrganizationID})
			},
			"TAG_EXISTS": func() *servertest.Answer {
				return c.Post("/v1/directory/tags", body{"workspace_id": x.WorkspaceID, "name": "VIP"})
			},
			"TAG_IN_USE":       func() *servertest.Answer { return c.Patch("/v1/directory/tags/"+tagged, body{"applies_to": "person"}) },
			"CODE_NOT_PENDING": func() *servertest.Answer { return c.Post("/v1/auth/device-code/"+denied+"/approve", nil) },
		} {
			leaves(t, n, func() { act().Fails(422, code) })
		}
	})
}
