package server_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"bursar/api"
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
	then     []storedRow // that follow, because another person acts on it at once
	idle     []storedRow // that a change of nothing leaves, because its answer shows a secret
	open     string      // why no one can be refused, where it is so
}

const (
	ownOnly    = "it is about the caller's own"
	noCaller   = "it has no caller"
	noOperator = "whoever is no operator is told that it is not there"
	noRowSince = "a device code is not an action until somebody approves or denies it"
)

// effects is every operation that changes something.
func effects() map[api.Operation]effect {
	return map[api.Operation]effect{
		api.CreateDeviceCode:        {open: noRowSince},
		api.ApproveDeviceCode:       {action: "auth.device.approved", resource: "device_code", open: ownOnly},
		api.DenyDeviceCode:          {action: "auth.device.denied", resource: "device_code", open: ownOnly},
		api.CreateToken:             {action: "auth.session.created", resource: "session", open: noCaller},
		api.LogOut:                  {action: "auth.session.revoked", resource: "session", open: ownOnly},
		api.CreateAPIKey:            {action: "auth.key.created", resource: "api_key"},
		api.RotateAPIKey:            {action: "auth.key.rotated", resource: "api_key", open: ownOnly},
		api.RevokeAPIKey:            {action: "auth.key.revoked", resource: "api_key", open: ownOnly},
		api.ReportCompromisedAPIKey: {action: "auth.key.revoked", resource: "api_key", open: ownOnly},

		api.CreateEntry:        {action: "directory.entry.created", resource: "directory_entry"},
		api.StartImport:        {action: "directory.import.started", resource: "directory_import"},
		api.StartHeldImport:    {action: "directory.import.started", resource: "directory_import"},
		api.CancelImport:       {action: "directory.import.cancelled", resource: "directory_import"},
		api.BatchEntries:       {action: "directory.entry.created", resource: "directory_entry"},
		api.BulkEntries:        {action: "directory.entry.updated", resource: "directory_entry"},
		api.CancelBulk:         {refusal: "directory.bulk.cancelled", resource: "directory_bulk"},
		api.UndoBulk:           {action: "directory.entry.updated", resource: "directory_entry"},
		api.UpdateEntry:        {action: "directory.entry.updated", resource: "directory_entry"},
		api.DeleteEntry:        {action: "directory.entry.deleted", resource: "directory_entry"},
		api.RestoreEntry:       {action: "directory.entry.restored", resource: "directory_entry"},
		api.MergeEntries:       {action: "directory.entry.merged", resource: "directory_entry", all: 2},
		api.UndoMerge:          {action: "directory.entry.unmerged", resource: "directory_entry", all: 2},
		api.CreateTag:          {action: "directory.tag.created", resource: "directory_tag"},
		api.UpdateTag:          {action: "directory.tag.updated", resource: "directory_tag"},
		api.DeleteTag:          {action: "directory.tag.deleted", resource: "directory_tag"},
		api.AddReceivingMethod: {action: "directory.receiving_method.added", resource: "receiving_method"},
		api.UpdateReceivingMethod: {action: "directory.receiving_method.updated", resource: "receiving_method",
			idle: []storedRow{{"directory.receiving_method.revealed", "success", "directory_entry"}}},
		api.RemoveReceivingMethod: {action: "directory.receiving_method.removed", resource: "receiving_method"},

		api.DecideApprovals:  {action: "directory.receiving_method.approved", resource: "receiving_method"},
		api.ApproveApproval:  {action: "directory.receiving_method.approved", resource: "receiving_method"},
		api.RejectApproval:   {action: "directory.receiving_method.rejected", resource: "receiving_method"},
		api.WithdrawApproval: {action: "directory.receiving_method.withdrawn", resource: "receiving_method"},

		api.CreateApprovalRule:  {action: "payout.rule.created", resource: "payout_rule"},
		api.ConfirmApprovalRule: {refusal: "payout.rule.approved", resource: "payout_rule"},
		api.DeleteApprovalRule:  {action: "payout.rule.removed", resource: "payout_rule"},
		api.SetLimit:            {action: "payout.limit.created", resource: "payout_limit"},
		api.DeleteLimit:         {action: "payout.limit.requested", resource: "payout_limit", refusal: "payout.limit.removed"}, // there is a second person

		api.ExtendSecondPerson:    {refusal: "iam.workspace.second_person_extended", resource: "workspace"}, // there are two
		api.StopPayouts:           {action: "payout.sending.stopped", resource: "workspace"},
		api.ResumePayouts:         {action: "payout.sending.resumed", resource: "workspace"},
		api.UpdateReceivingPolicy: {action: "iam.workspace.receiving_policy_updated", resource: "workspace"},

		api.CreateWorkspace:        {action: "iam.workspace.created", resource: "workspace"},
		api.UpdateWorkspace:        {action: "iam.workspace.updated", resource: "workspace"},
		api.AddMember:              {action: "iam.member.added", resource: "member"},
		api.RemoveMember:           {action: "iam.member.removed", resource: "member"},
		api.AssignRole:             {action: "iam.member.role_assigned", resource: "member"},
		api.RemoveRole:             {action: "iam.member.role_removed", resource: "member"},
		api.ConfirmSuspendedAccess: {action: "iam.member.reinstated", resource: "member"},
		api.RemoveSuspendedAccess:  {action: "iam.member.removed", resource: "member"},
		api.PutRole:                {action: "iam.role.created", resource: "role", refusal: "iam.role.updated"},
		api.DeleteRole:             {action: "iam.role.deleted", resource: "role"},

		api.AcceptInvitation:  {action: "iam.member.accepted", resource: "member", open: ownOnly},
		api.DeclineInvitation: {action: "iam.member.declined", resource: "member", open: ownOnly},

		api.RotateClient: {action: "auth.client.rotated", resource: "client"},

		api.CreateAccount:  {action: "money.account.created", resource: "account"},
		api.UpdateAccount:  {action: "money.account.updated", resource: "account"},
		api.CreateTransfer: {action: "money.transfer.created", resource: "transfer"},

		api.CreatePayout:   {action: "payout.request.created", resource: "payout_request"},
		api.ValidatePayout: {refusal: "payout.request.created", resource: "payout_request"},
		api.UpdatePayout:   {action: "payout.request.updated", resource: "payout_request"},
		api.ConfirmPayout:  {action: "payout.recheck.approved", resource: "payout_request"},
		api.PublishPayout:  {action: "payout.request.published", resource: "payout_request"},
		api.ApprovePayout:  {action: "payout.request.approved", resource: "payout_request"},
		api.RejectPayout:   {action: "payout.request.rejected", resource: "payout_request"},
		api.CancelPayout:   {action: "payout.request.cancelled", resource: "payout_request"},
		api.RetryPayout:    {action: "payout.request.retried", resource: "payout_request"},
		api.ResolvePayout:  {action: "payout.request.resolved", resource: "payout_request"},
		api.CreatePayoutBatch: {action: "payout.batch.created", resource: "payout_batch",
			then: []storedRow{{"payout.request.created", "success", "payout_request"}}},

		api.SimulateDeposit: {action: "money.deposit.booked", resource: "deposit"},
		api.SimulateSettlement: {action: "payout.request.simulated", resource: "payout_request",
			then: []storedRow{{"payout.request.completed", "success", "payout_request"}, {"payout.request.settled", "success", "payout_request"}}},
		api.SimulateRejection: {action: "payout.request.simulated", resource: "payout_request",
			then: []storedRow{{"payout.request.failed", "failure", "payout_request"}}},
		api.SimulateReturn: {action: "payout.request.simulated", resource: "payout_request",
			then: []storedRow{{"payout.request.reversed", "success", "payout_request"}}},
		api.SimulateService: {action: "rail.service.simulated", resource: "service"},

		api.CreateOrganization:         {action: "iam.organization.created", resource: "organization"},
		api.UpdateOrganizationSettings: {action: "iam.organization.settings_updated", resource: "organization"},
		api.AddOwner:                   {action: "iam.organization.owner_added", resource: "organization"},
		api.RemoveOwner:                {action: "iam.organization.owner_removed", resource: "organization"},
		api.ConfirmSuspendedOwner:      {action: "iam.organization.owner_reinstated", resource: "organization"},
		api.RemoveSuspendedOwner:       {action: "iam.organization.owner_removed", resource: "organization"},
		api.RemoveLeaver: {action: "iam.organization.leaver_removed", resource: "organization",
			then: []storedRow{{"iam.member.removed", "success", "member"}}},

		api.ApproveOpsRequest: {action: "ops.request.approved", resource: "operator_request", open: noOperator,
			then: []storedRow{{"money.deposit.booked", "success", "deposit"}}},
		api.RejectOpsRequest: {action: "ops.request.rejected", resource: "operator_request", open: noOperator},
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
			e, known := effects()[o.Operation]
			if o.Method() == "GET" {
				continue
			}
			if !known {
				t.Errorf("%s has no effect in the table of this test", o)
				continue
			}
			t.Run(o.String(), func(t *testing.T) {
				owner, r := x.Owner.On(t), o.ask(x, x.Owner)
				bad := r
				bad.body = body{"no-such-key": true}
				leaves(t, n, func() { o.do(owner, bad).Fails(400, "VALIDATION_ERROR") })
				if len(r.args) > 0 {
					nowhere := r
					nowhere.args = slices.Clone(r.args)
					nowhere.args[len(r.args)-1] = "nowhere_at_all"
					if o.Method() != "PUT" {
						leaves(t, n, func() { o.do(owner, nowhere).Fails(404, o.missing()) }, probe(o)...)
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
				if o.Method() == "PATCH" {
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
func probe(o operation) []storedRow {
	for _, within := range []string{"{userId}", "{role}", "{method_id}", "{suspensionId}/confirm", "{suspensionId}/remove", "{code}/approve", "{code}/deny", "{service_name}"} {
		if strings.HasSuffix(o.Path(), within) {
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
