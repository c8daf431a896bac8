package server_test

import (
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"bursar/api"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/identity"
	"bursar/internal/server/servertest"
)

// What an operation demands, where it is no permission.
const (
	nothing    = ""
	anySession = "any session"
)

// request is a valid one: args fill the parameters of the path.
type request struct {
	args    []string
	query   string
	body    any
	headers []string
}

// operation is one route and the permission that the contract requires for it.
type operation struct {
	route string // as "METHOD /path"
	need  string
	// ask prepares what the operation works on and makes a request that is good once.
	ask func(x *servertest.Tenant, caller *servertest.Client) request
}

func (o operation) method() string { return strings.SplitN(o.route, " ", 2)[0] }

// do sends a request to the operation.
func (o operation) do(c *servertest.Client, r request) *servertest.Answer {
	_, path, _ := strings.Cut(o.route, " ")
	for _, arg := range r.args {
		open, end := strings.Index(path, "{"), strings.Index(path, "}")
		path = path[:open] + arg + path[end+1:]
	}
	answer := c.Do(o.method(), path+r.query, r.body, r.headers...)
	for answer.Status == 503 { // what is to be proven has not been signed yet
		answer = c.Do(o.method(), path+r.query, r.body, r.headers...)
	}
	return answer
}

// signedOnEach runs a test on every engine, each with a server that signs its audit log, so
// that every operation can succeed.
func signedOnEach(t *testing.T, run func(t *testing.T, n *servertest.Node)) {
	t.Helper()
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store, servertest.AuditKey(filepath.Join(t.TempDir(), "audit.key")))
		n.RunBackground(t)
		run(t, n)
	})
}

// missing is the code that says that there is no such thing.
func (o operation) missing() string {
	if strings.HasSuffix(o.route, " /v1/directory/{id}") {
		return "NOT_FOUND"
	}
	return "RESOURCE_NOT_FOUND"
}

// operations is every route, and who may use it.
func operations() []operation {
	return []operation{
		{"POST /v1/auth/device-code", nothing, plain(nil)},
		{"GET /v1/auth/device-code/{code}", nothing, aCode},
		{"POST /v1/auth/device-code/{code}/approve", anySession, aCode},
		{"POST /v1/auth/device-code/{code}/deny", anySession, aCode},
		{"POST /v1/auth/token", nothing, anExchange},
		{"POST /v1/auth/logout", anySession, aSecondSession},
		{"GET /v1/auth/me", anySession, plain(nil)},
		{"GET /v1/auth/activity", anySession, plain(nil)},

		{"GET /v1/api-keys", anySession, plain(nil)},
		{"POST /v1/api-keys", anySession, plain(body{"name": "Key"})},
		{"POST /v1/api-keys/{id}/rotate", anySession, aKey},
		{"DELETE /v1/api-keys/{id}", anySession, aKey},
		{"POST /v1/api-keys/{id}/compromised", anySession, aKey},

		{"GET /v1/directory", "ws.directory.read", inQuery},
		{"POST /v1/directory", "ws.directory.write", inBody(body{"type": "person", "fields": body{}})},
		{"GET /v1/directory/tags", "ws.directory.read", inQuery},
		{"POST /v1/directory/tags", "ws.tags.write", aTagName},
		{"PATCH /v1/directory/tags/{id}", "ws.tags.write", aTag(body{"applies_to": "person"})},
		{"DELETE /v1/directory/tags/{id}", "ws.tags.write", aTag(nil)},
		{"GET /v1/directory/imports", "ws.directory.read", inQuery},
		{"POST /v1/directory/imports", "ws.directory.write", anUpload},
		{"GET /v1/directory/imports/{id}", "ws.directory.read", anImport},
		{"GET /v1/directory/imports/{id}/refused", "ws.directory.write", anImport},
		{"GET /v1/directory/imports/{id}/plan", "ws.directory.write", anImport},
		{"POST /v1/directory/imports/{id}/start", "ws.directory.write", aHeldImport},
		{"POST /v1/directory/imports/{id}/cancel", "ws.directory.write", anImport},
		{"GET /v1/directory/export", "ws.directory.read", inQuery},
		{"POST /v1/directory/batch", "ws.directory.write", inBody(body{"items": []body{{"type": "person", "name": "Ada"}}})},
		{"GET /v1/directory/merges", "ws.directory.read", inQuery},
		{"GET /v1/directory/merges/{id}", "ws.directory.read", aMerge},
		{"POST /v1/directory/merges/{id}/undo", "ws.directory.write", aMerge},
		{"POST /v1/directory/bulk", "ws.directory.write", someEntries},
		{"GET /v1/directory/bulk/{id}", "ws.directory.read", aBulk},
		{"POST /v1/directory/bulk/{id}/cancel", "ws.directory.write", aBulk},
		{"POST /v1/directory/bulk/{id}/undo", "ws.directory.write", aBulk},
		{"GET /v1/directory/{id}", "ws.directory.read", anEntry(nil)},
		{"PATCH /v1/directory/{id}", "ws.directory.write", anEntry(body{"status": "inactive"})},
		{"DELETE /v1/directory/{id}", "ws.directory.delete", anEntry(nil)},
		{"POST /v1/directory/{id}/restore", "ws.directory.delete", aDeletedEntry},
		{"GET /v1/directory/{id}/receiving-methods", "ws.receiving.read", anEntry(nil)},
		{"GET /v1/directory/{id}/duplicates", "ws.directory.read", anEntry(nil)},
		{"POST /v1/directory/{id}/merge", "ws.directory.write", aDouble},
		{"POST /v1/directory/{id}/receiving-methods", "ws.receiving.write", anEntry(bankAccount())},
		{"PATCH /v1/directory/{id}/receiving-methods/{method_id}", "ws.receiving.write", aMethod(body{"provider": "wallet"})},
		{"DELETE /v1/directory/{id}/receiving-methods/{method_id}", "ws.receiving.write", aMethod(nil)},

		{"GET /v1/approvals", "ws.payouts.read", inQuery},
		{"POST /v1/approvals/decide", "ws.receiving.approve", manyApproved},
		{"GET /v1/approvals/{id}", "ws.receiving.read", anApproval(nil)},
		{"GET /v1/approvals/{id}/lines", "ws.receiving.read", aWaitingImport},
		{"POST /v1/approvals/{id}/approve", "ws.receiving.approve", approved},
		{"POST /v1/approvals/{id}/reject", "ws.receiving.approve", anApproval(body{"reason": "unknown account"})},
		{"POST /v1/approvals/{id}/withdraw", "ws.receiving.write", anApproval(nil)},

		{"GET /v2/approval-rules", "ws.payouts.read", inQuery},
		{"POST /v2/approval-rules", "ws.write", staffed(inBody(body{"approvals": 2}))},
		{"POST /v2/approval-rules/{id}/confirm", "ws.write", staffed(aGuard("/v2/approval-rules", body{"approvals": 1}))},
		{"DELETE /v2/approval-rules/{id}", "ws.write", staffed(aGuard("/v2/approval-rules", body{"approvals": 1}))},
		{"GET /v2/limits", "ws.payouts.read", inQuery},
		{"POST /v2/limits", "ws.write", aLimit},
		{"DELETE /v2/limits/{id}", "ws.write", aGuard("/v2/limits", body{"per": "day", "amount_cents": 100_000_000})},

		{"GET /v1/workspaces", anySession, plain(nil)},
		{"POST /v1/workspaces", "org.settings.write", aWorkspace},
		{"GET /v1/workspaces/{id}", "ws.read", inPath(nil)},
		{"PATCH /v1/workspaces/{id}", "ws.write", aNewName},
		{"GET /v1/workspaces/{id}/receiving-policy", "ws.read", inPath(nil)},
		{"PATCH /v1/workspaces/{id}/receiving-policy", "ws.write", aPolicy},
		{"POST /v1/workspaces/{id}/second-person/extend", "ws.payouts.approve", inPath(nil)},
		{"GET /v1/workspaces/{id}/payout-stop", "ws.payouts.read", inPath(nil)},
		{"POST /v1/workspaces/{id}/payout-stop", "ws.payouts.create", aStop},
		{"POST /v1/workspaces/{id}/payout-resume", "ws.payouts.create", aResume},
		{"GET /v1/workspaces/{id}/members", "ws.members.read", inPath(nil)},
		{"POST /v1/workspaces/{id}/members", "ws.members.write", aNewMember},
		{"DELETE /v1/workspaces/{id}/members/{userId}", "ws.members.write", aMember},
		{"GET /v1/workspaces/{id}/roles", "ws.members.read", inPath(nil)},
		{"POST /v1/workspaces/{id}/roles", "ws.members.write", anAssignment},
		{"PUT /v1/workspaces/{id}/roles/{role}", "ws.roles.write", aDefinition},
		{"DELETE /v1/workspaces/{id}/roles/{role}", "ws.roles.write", aRole},
		{"DELETE /v1/workspaces/{id}/roles/{userId}/{role}", "ws.members.write", anAssigned},
		{"GET /v1/workspaces/{id}/suspended", "ws.members.read", inPath(nil)},
		{"POST /v1/workspaces/{id}/suspended/{suspensionId}/confirm", "ws.members.write", aSuspension},
		{"POST /v1/workspaces/{id}/suspended/{suspensionId}/remove", "ws.members.write", aSuspension},

		{"GET /v1/invitations", anySession, plain(nil)},
		{"POST /v1/invitations/{id}/accept", anySession, anInvitation},
		{"POST /v1/invitations/{id}/decline", anySession, anInvitation},

		{"GET /v1/workspaces/{id}/clients", "ws.keys.read", inPath(nil)},
		{"POST /v1/workspaces/{id}/clients/{clientId}/rotate", "ws.keys.write", aClient},

		{"GET /v1/organizations", anySession, plain(nil)},
		{"POST /v1/organizations", anySession, plain(body{"name": "Another"})},
		{"GET /v1/organizations/{id}", "org.read", ofOrganization},
		{"GET /v1/organizations/{id}/settings", "org.settings.read", ofOrganization},
		{"PATCH /v1/organizations/{id}/settings", "org.settings.write", newSettings},
		{"GET /v1/organizations/{id}/owners", "org.read", ofOrganization},
		{"POST /v1/organizations/{id}/owners", "org.settings.write", anOwner},
		{"DELETE /v1/organizations/{id}/owners/{userId}", "org.settings.write", aSecondOwner},
		{"GET /v1/organizations/{id}/suspended", "org.read", ofOrganization},
		{"POST /v1/organizations/{id}/suspended/{suspensionId}/confirm", "org.settings.write", aSuspendedOwner},
		{"POST /v1/organizations/{id}/suspended/{suspensionId}/remove", "org.settings.write", aSuspendedOwner},
		{"POST /v1/organizations/{id}/leavers", "org.settings.write", aLeaver},

		{"GET /v1/ops/requests", "ops.read", asOperator},
		{"POST /v1/ops/requests/{id}/approve", "ops.money", anOpsRequest(true)},
		{"POST /v1/ops/requests/{id}/reject", "ops.money", anOpsRequest(false)},

		{"GET /v1/audit", "ws.audit.read", inQuery},
		{"GET /v1/audit", "org.settings.write", auditOfOrganization},
		{"GET /v1/audit/export", "ws.audit.export", inQuery},
		{"GET /v1/audit/export", "org.settings.write", auditOfOrganization},
		{"GET /v1/audit/feed", "ws.audit.read", inQuery},
		{"GET /v1/audit/feed", "org.settings.write", auditOfOrganization},
		{"GET /v1/audit/{id}", "ws.audit.read", anAuditRow},
		{"GET /v1/audit/{id}", "org.settings.write", anAuditRowOfOrganization},
		{"GET /v1/audit/proof", "ws.audit.export", inQuery},
		{"GET /v1/audit/proof", "org.settings.write", auditOfOrganization},
		{"GET /v1/audit/{id}/proof", "ws.audit.read", anAuditRow},
		{"GET /v1/audit/{id}/proof", "org.settings.write", anAuditRowOfOrganization},

		{"GET /v2/accounts", "ws.accounts.read", inQuery},
		{"POST /v2/accounts", "ws.accounts.write", inBody(body{"name": "Payroll"})},
		{"GET /v2/accounts/{id}", "ws.accounts.read", anAccount(nil)},
		{"PATCH /v2/accounts/{id}", "ws.accounts.write", anAccount(body{"name": "Wages"})},
		{"GET /v2/accounts/{id}/balances", "ws.accounts.read", anAccount(nil)},
		{"GET /v2/accounts/{id}/postings", "ws.accounts.read", anAccount(nil)},
		{"POST /v2/transfers", "ws.accounts.write", aTransfer},
		{"GET /v2/deposits", "ws.accounts.read", inQuery},

		{"GET /v2/payout-requests", "ws.payouts.read", inQuery},
		{"POST /v2/payout-requests", "ws.payouts.create", aPayoutRequest},
		{"POST /v2/payout-requests/validate", "ws.payouts.create", aPayoutRequest},
		{"GET /v2/payout-requests/{id}", "ws.payouts.read", aDraft(nil)},
		{"PATCH /v2/payout-requests/{id}", "ws.payouts.create", aDraft(body{"amount_cents": 200})},
		{"POST /v2/payout-requests/{id}/confirm", "ws.payouts.create", aHeldPayout},
		{"POST /v2/payout-requests/{id}/publish", "ws.payouts.create", aDraft(nil)},
		{"POST /v2/payout-requests/{id}/approve", "ws.payouts.approve", anApprovedPayout},
		{"POST /v2/payout-requests/{id}/reject", "ws.payouts.approve", aWaitingPayout},
		{"POST /v2/payout-requests/{id}/cancel", "ws.payouts.create", aDraft(nil)},
		{"POST /v2/payout-requests/{id}/retry", "ws.payouts.create", aSentPayout("1234569001", nil)},
		{"POST /v2/payout-requests/{id}/resolve", "ws.payouts.approve", aStuckPayout},
		{"POST /v2/batch-payout-requests", "ws.payouts.create", aBatchRequest},
		{"GET /v2/batch-payout-requests/{id}", "ws.payouts.read", aBatch},
		{"GET /v2/payout-requests/{id}/receipt", "ws.payouts.read", aSentPayout("1234567890", nil)},
		{"GET /v2/payout-requests/health/{service_name}", anySession, aService(nil)},
		{"GET /v2/receiving_institutions", anySession, plain(nil)},
		{"GET /v2/receiving-institutions", anySession, plain(nil)},
		{"POST /v2/simulations/deposits", "ws.accounts.write", aSimulatedDeposit},
		{"POST /v2/simulations/payouts/{id}/settle", "ws.accounts.write", aSentPayout("1234569011", nil)},
		{"POST /v2/simulations/payouts/{id}/reject", "ws.accounts.write", aSentPayout("1234569011", body{"reason": "AC06"})},
		{"POST /v2/simulations/payouts/{id}/return", "ws.accounts.write", aSentPayout("1234567890", body{"reason": "AC06"})},
		{"POST /v2/simulations/services/{service_name}", "ws.accounts.write", aService(body{"status": "degraded"})},
	}
}

type ask = func(x *servertest.Tenant, caller *servertest.Client) request

func plain(content any) ask {
	return func(*servertest.Tenant, *servertest.Client) request { return request{body: content} }
}

func inQuery(x *servertest.Tenant, _ *servertest.Client) request {
	return request{query: "?workspace_id=" + x.WorkspaceID}
}

func inBody(more body) ask {
	return func(x *servertest.Tenant, _ *servertest.Client) request {
		content := body{"workspace_id": x.WorkspaceID}
		for key, value := range more {
			content[key] = value
		}
		return request{body: content}
	}
}

func inPath(content any) ask {
	return func(x *servertest.Tenant, _ *servertest.Client) request {
		return request{args: []string{x.WorkspaceID}, body: content}
	}
}

// aStop stops what no other operation sends.
func aStop(x *servertest.Tenant, _ *servertest.Client) request {
	return request{args: []string{x.WorkspaceID}, body: body{"reason": servertest.NewEmail(), "mode": "live"}}
}

func aResume(x *servertest.Tenant, _ *servertest.Client) request {
	x.Owner.Post(x.Path("/payout-stop"), body{"reason": "a drill", "mode": "sandbox"}).OK()
	return request{args: []string{x.WorkspaceID}, body: body{"mode": "sandbox"}}
}

// alternatives are permissions that do as well as the one that an operation needs.
func alternatives() map[string]string {
	return map[string]string{"POST /v1/workspaces/{id}/second-person/extend": "ws.receiving.approve",
		"POST /v1/workspaces/{id}/payout-stop": "ws.payouts.approve", "POST /v1/workspaces/{id}/payout-resume": "ws.payouts.approve"}
}

func newCode(x *servertest.Tenant) string {
	return x.Owner.Post("/v1/auth/device-code", nil).OK().Text("code")
}

func aCode(x *servertest.Tenant, _ *servertest.Client) request {
	return request{args: []string{newCode(x)}}
}

func anExchange(x *servertest.Tenant, _ *servertest.Client) request {
	secret := x.Owner.Post("/v1/api-keys", body{"name": "Exchange"}).OK().Text("api_key")
	return request{headers: []string{"Authorization", "Bearer " + secret}}
}

func aSecondSession(x *servertest.Tenant, caller *servertest.Client) request {
	code := newCode(x)
	caller.Post("/v1/auth/device-code/"+code+"/approve", nil).OK()
	token := caller.Get("/v1/auth/device-code/" + code).OK().Text("token")
	return request{headers: []string{"Authorization", "Bearer " + token}}
}

func aKey(_ *servertest.Tenant, caller *servertest.Client) request {
	return request{args: []string{caller.Post("/v1/api-keys", body{"name": "Key"}).OK().Text("id")}}
}

func aTagName(x *servertest.Tenant, _ *servertest.Client) request {
	return request{body: body{"workspace_id": x.WorkspaceID, "name": servertest.NewEmail()}}
}

func aTag(content any) ask {
	return func(x *servertest.Tenant, _ *servertest.Client) request {
		id := x.Owner.Post("/v1/directory/tags", body{"workspace_id": x.WorkspaceID, "name": servertest.NewEmail()}).OK().Text("id")
		return request{args: []string{id}, body: content}
	}
}

func anEntry(content any) ask {
	return func(x *servertest.Tenant, _ *servertest.Client) request {
		return request{args: []string{x.Entry("Entry")}, body: content}
	}
}

func aDeletedEntry(x *servertest.Tenant, _ *servertest.Client) request {
	id := x.Entry("Deleted")
	x.Owner.Delete("/v1/directory/" + id).OK()
	return request{args: []string{id}}
}

func aDouble(x *servertest.Tenant, _ *servertest.Client) request {
	return request{args: []string{x.Entry("Double")}, body: body{"sources": []string{x.Entry("Double")}}}
}

func aMerge(x *servertest.Tenant, _ *servertest.Client) request {
	r := aDouble(x, nil)
	return request{args: []string{x.Owner.Post("/v1/directory/"+r.args[0]+"/merge", r.body).OK().Text("id")}}
}

func bankAccount() body {
	return body{"provider": "bank", "account_name": "Ada Lovelace", "account_id": "0001"}
}

func aMethod(content any) ask {
	return func(x *servertest.Tenant, _ *servertest.Client) request {
		entry := x.Entry("Payee")
		method := x.Owner.Post("/v1/directory/"+entry+"/receiving-methods", bankAccount()).OK().Text("id")
		return request{args: []string{entry, method}, body: content}
	}
}

// aGuard is a rule or a limit.
func aGuard(path string, content body) ask {
	return func(x *servertest.Tenant, _ *servertest.Client) request {
		full := maps.Clone(content)
		full["workspace_id"] = x.WorkspaceID
		return request{args: []string{x.Owner.Post(path, full).OK().Text("id")}}
	}
}

// staffed asks in a workspace that has people for a rule of payouts.
func staffed(of ask) ask {
	return func(x *servertest.Tenant, by *servertest.Client) request {
		x.Staff("disbursement_authorizer", 2)
		return of(x, by)
	}
}

// aLimit is of a scope of its own.
func aLimit(x *servertest.Tenant, _ *servertest.Client) request {
	return request{body: body{"workspace_id": x.WorkspaceID, "per": "payout", "amount_cents": 5, "entry_id": x.Entry("Ada")}}
}

// anApproval waits in a workspace that has two people who could.
func anApproval(content any) ask {
	return func(x *servertest.Tenant, _ *servertest.Client) request {
		secondPerson(x)
		id := x.Owner.Post("/v1/directory/"+x.Entry("Payee")+"/receiving-methods", bankAccount()).OK().Text("approval_id")
		return request{args: []string{id}, body: content}
	}
}

// secondPerson makes sure that the workspace has two people who could.
func secondPerson(x *servertest.Tenant) {
	if x.Owner.Get(x.Path("/receiving-policy")).OK().Number("persons") < 2 {
		x.Member("admin")
	}
}

// approved is what the caller approves, who signs in as a person for it.
func approved(x *servertest.Tenant, caller *servertest.Client) request {
	secondPerson(x)
	maker := x.Member("directory_manager")
	id := maker.Post("/v1/directory/"+x.Entry("Payee")+"/receiving-methods", bankAccount()).OK().Text("approval_id")
	person := x.Node.Person(x.Owner.T(), caller)
	x.EverybodyCounts()
	digest := x.Owner.Get("/v1/approvals/" + id).OK().Text("digest")
	return request{args: []string{id}, body: body{"digest": digest, "verification": "called"}, headers: []string{"Authorization", "Bearer " + person.Token}}
}

// manyApproved is approved, as one of many.
func manyApproved(x *servertest.Tenant, caller *servertest.Client) request {
	one := approved(x, caller)
	given := one.body.(body)
	return request{headers: one.headers, body: body{"workspace_id": x.WorkspaceID, "decision": "approve", "verification": given["verification"],
		"approvals": []body{{"id": one.args[0], "digest": given["digest"]}}}}
}

// aWaitingImport is the approval of a file with an account.
func aWaitingImport(x *servertest.Tenant, _ *servertest.Client) request {
	secondPerson(x)
	return request{args: []string{importAccount(x, servertest.NewEmail())}}
}

// importAccount imports a file with an account and returns the approval that it waits for.
func importAccount(x *servertest.Tenant, number string) string {
	x.Owner.T().Helper()
	return x.ImportLines("person,Ada,bank,Ada," + number + "\n")
}

// aPolicy is one that protects more than the present one, so it is good at once.
func aPolicy(x *servertest.Tenant, _ *servertest.Client) request {
	hours := x.Owner.Get(x.Path("/receiving-policy")).OK().Number("cooling_hours")
	return request{args: []string{x.WorkspaceID}, body: body{"receiving_cooling_hours": hours + 1}}
}

func anAccount(content any) ask {
	return func(x *servertest.Tenant, _ *servertest.Client) request {
		return request{args: []string{x.Account(100)}, body: content}
	}
}

func aPayoutRequest(x *servertest.Tenant, _ *servertest.Client) request {
	return request{body: body{"source_account_id": x.Account(100), "amount_cents": 100, "currency": "PHP",
		"settlement_account": body{"bank_account_name": "Juan dela Cruz", "bank_account_number": "1234567890", "bank_code": "BOPIPHMMXXX"}}}
}

// aDraft is a payout that is only written down.
func aDraft(content any) ask {
	return func(x *servertest.Tenant, _ *servertest.Client) request {
		draft := aPayoutRequest(x, nil).body.(body)
		draft["status"] = "draft"
		return request{args: []string{x.Owner.Post("/v2/payout-requests", draft).OK().Text("id")}, body: content}
	}
}

func aHeldPayout(x *servertest.Tenant, _ *servertest.Client) request {
	return request{args: []string{x.Held()}}
}

// aWaitingPayout waits for somebody to approve it.
func aWaitingPayout(x *servertest.Tenant, _ *servertest.Client) request {
	secondPerson(x)
	maker := x.Member("disbursement_manager")
	id := maker.Post("/v2/payout-requests", aPayoutRequest(x, nil).body).OK().Text("id")
	return request{args: []string{id}, body: body{"reason": "unknown"}}
}

// anApprovedPayout is what the caller approves, who signs in as a person for it.
func anApprovedPayout(x *servertest.Tenant, caller *servertest.Client) request {
	r := aWaitingPayout(x, nil)
	person := x.Node.Person(x.Owner.T(), caller)
	x.EverybodyCounts()
	approval := x.Owner.Get("/v2/payout-requests/" + r.args[0]).OK().Text("approval_id")
	r.body = body{"digest": x.Owner.Get("/v1/approvals/" + approval).OK().Text("digest")}
	r.headers = []string{"Authorization", "Bearer " + person.Token}
	return r
}

func aBatchRequest(x *servertest.Tenant, _ *servertest.Client) request {
	r := aPayoutRequest(x, nil).body.(body)
	one := body{"amount_cents": r["amount_cents"], "settlement_account": r["settlement_account"]}
	return request{body: body{"source_account_id": r["source_account_id"], "currency": "PHP", "payouts": []body{one}}}
}

func aBatch(x *servertest.Tenant, _ *servertest.Client) request {
	return request{args: []string{x.Owner.Post("/v2/batch-payout-requests", aBatchRequest(x, nil).body).OK().Text("id")}}
}

// aSentPayout has been handed to its rail.
func aSentPayout(number string, content any) ask {
	return func(x *servertest.Tenant, _ *servertest.Client) request {
		return request{args: []string{x.Sent(number)}, body: content}
	}
}

// aStuckPayout needs attention.
func aStuckPayout(x *servertest.Tenant, _ *servertest.Client) request {
	return request{args: []string{x.Stuck("sandbox")}, body: body{"as": "not_paid", "evidence": "the bank's statement"}}
}

// aService is a bank that no other test pays.
func aService(more body) ask {
	return func(x *servertest.Tenant, _ *servertest.Client) request {
		r := request{args: []string{"SRCPPHM2XXX"}}
		if more != nil {
			r.body = inBody(more)(x, nil).body
		}
		return r
	}
}

func aSimulatedDeposit(x *servertest.Tenant, _ *servertest.Client) request {
	return request{body: body{"account_id": x.Account(0), "amount_cents": 40}}
}

func aTransfer(x *servertest.Tenant, _ *servertest.Client) request {
	return request{body: body{"source_account_id": x.Account(100), "destination_account_id": x.Account(0), "amount_cents": 40}}
}

func aWorkspace(x *servertest.Tenant, _ *servertest.Client) request {
	return request{body: body{"name": "Another", "organization_id": x.OrganizationID}}
}

func aNewName(x *servertest.Tenant, _ *servertest.Client) request {
	return request{args: []string{x.WorkspaceID}, body: body{"name": servertest.NewEmail()}}
}

func aNewMember(x *servertest.Tenant, _ *servertest.Client) request {
	return request{args: []string{x.WorkspaceID}, body: body{"email": servertest.NewEmail(), "role": "viewer"}}
}

func aMember(x *servertest.Tenant, _ *servertest.Client) request {
	return request{args: []string{x.WorkspaceID, x.Add(servertest.NewEmail(), "viewer")}}
}

func anAssignment(x *servertest.Tenant, _ *servertest.Client) request {
	return request{args: []string{x.WorkspaceID}, body: body{"user_id": x.Add(servertest.NewEmail(), "viewer"), "role": "member"}}
}

func anAssigned(x *servertest.Tenant, _ *servertest.Client) request {
	return request{args: []string{x.WorkspaceID, x.Add(servertest.NewEmail(), "viewer"), "viewer"}}
}

// aSuspension is access that was given with a compromised key of the owner.
func aSuspension(x *servertest.Tenant, _ *servertest.Client) request {
	return request{args: []string{x.WorkspaceID, suspendedWith(x, "viewer")}}
}

func suspendedWith(x *servertest.Tenant, role string) (id string) {
	t := x.Owner.T()
	key, secret, err := x.Node.Identity.CreateKeyFor(t.Context(), db.Caller{}, x.Owner.Email(), identity.NewKey{Name: "stolen", Scope: audit.Scope{Administer: true}})
	if err != nil {
		t.Fatal(err)
	}
	user := x.Node.User(t, servertest.NewEmail())
	user.Join(x.Node.Login(t, secret).Post(x.Path("/members"), body{"email": user.Email(), "role": "viewer"}).OK().Text("user_id"))
	x.Give(user, role)
	if role != "viewer" {
		x.Owner.Delete(x.Path("/roles/" + user.UserID + "/viewer")).OK()
	}
	report := servertest.Decoded[api.CompromisedKey](x.Owner.Post("/v1/api-keys/"+key+"/compromised", nil))
	return report.Suspended[0].ID
}

// aSuspendedOwner is one who was added with a compromised key of another owner. The caller, or the tenant's owner, made that one.
func aSuspendedOwner(x *servertest.Tenant, caller *servertest.Client) request {
	t, other := x.Owner.T(), x.Member("viewer")
	if x.Owner.On(t).Post(x.OrganizationPath("/owners"), body{"user_id": other.UserID}).Status != 200 {
		caller.Post(x.OrganizationPath("/owners"), body{"user_id": other.UserID})
	}
	key, secret, err := x.Node.Identity.CreateKeyFor(t.Context(), db.Caller{}, other.Email(), identity.NewKey{Name: "stolen", Scope: audit.Scope{Administer: true}})
	if err != nil {
		t.Fatal(err)
	}
	x.Node.Login(t, secret).Post(x.OrganizationPath("/owners"), body{"user_id": x.Member("viewer").UserID})
	report := servertest.Decoded[api.CompromisedKey](other.Post("/v1/api-keys/"+key+"/compromised", nil))
	if len(report.SuspendedOwners) == 0 {
		return request{args: []string{x.OrganizationID, "sus_none"}}
	}
	return request{args: []string{x.OrganizationID, report.SuspendedOwners[0].ID}}
}

// anInvitation is one of the caller, to a workspace of strangers.
func anInvitation(x *servertest.Tenant, caller *servertest.Client) request {
	return request{args: []string{x.Node.Tenant(x.Owner.T()).Add(caller.Email(), "viewer")}}
}

// roleKey is one that no role has yet.
func roleKey() string { return strings.Split(servertest.NewEmail(), "@")[0] }

func aDefinition(x *servertest.Tenant, _ *servertest.Client) request {
	return request{args: []string{x.WorkspaceID, roleKey()}, body: body{"name": "Role", "permissions": []string{"ws.read"}}}
}

func aRole(x *servertest.Tenant, _ *servertest.Client) request {
	key := roleKey()
	x.Define(key, "ws.read")
	return request{args: []string{x.WorkspaceID, key}}
}

func aClient(x *servertest.Tenant, _ *servertest.Client) request { return clientWith(x, "viewer") }

func clientWith(x *servertest.Tenant, role string) request {
	t := x.Owner.T()
	id, _, err := x.Node.Identity.CreateClient(t.Context(), db.Caller{}, x.WorkspaceID, "Robot", role)
	if err != nil {
		t.Fatal(err)
	}
	return request{args: []string{x.WorkspaceID, id}}
}

func ofOrganization(x *servertest.Tenant, _ *servertest.Client) request {
	return request{args: []string{x.OrganizationID}}
}

func newSettings(x *servertest.Tenant, _ *servertest.Client) request {
	return request{args: []string{x.OrganizationID}, body: body{"name": servertest.NewEmail()}}
}

func anOwner(x *servertest.Tenant, _ *servertest.Client) request {
	return request{args: []string{x.OrganizationID}, body: body{"user_id": x.Member("viewer").UserID}}
}

// aSecondOwner is one whom an owner has added. Where the tenant's Owner is none, only the
// caller can have added them.
func aSecondOwner(x *servertest.Tenant, caller *servertest.Client) request {
	r := anOwner(x, caller)
	caller.Post(x.OrganizationPath("/owners"), r.body)
	return request{args: []string{x.OrganizationID, r.body.(body)["user_id"].(string)}}
}

func aLeaver(x *servertest.Tenant, _ *servertest.Client) request {
	return request{args: []string{x.OrganizationID}, body: body{"user_id": x.Member("viewer").UserID}}
}

// asOperator makes the person who prepares the request an operator. Other callers are none.
func asOperator(_ *servertest.Tenant, caller *servertest.Client) request {
	caller.Operate("ops.read", "ops.money", "ops.access")
	return request{}
}

// anOpsRequest is a deposit that waits for an operator, of whom there are two.
func anOpsRequest(digest bool) ask {
	return func(x *servertest.Tenant, caller *servertest.Client) request {
		asOperator(x, caller)
		asOperator(x, x.Node.User(caller.T(), servertest.NewEmail()))
		done, err := x.Node.OperatorDeposit(caller, x.LiveAccount(), servertest.NewEmail(), 100)
		if err != nil {
			caller.T().Fatal(err)
		}
		r := request{args: []string{done.RequestID}}
		for _, one := range servertest.Decoded[[]api.OpsRequest](caller.Get("/v1/ops/requests")) {
			if digest && one.ID == done.RequestID {
				r.body = body{"digest": one.Digest}
			}
		}
		return r
	}
}

func auditOfOrganization(x *servertest.Tenant, _ *servertest.Client) request {
	return request{query: "?organization_id=" + x.OrganizationID}
}

func anAuditRow(x *servertest.Tenant, _ *servertest.Client) request {
	return request{args: []string{x.Audit("")[0]["id"].(string)}, query: "?workspace_id=" + x.WorkspaceID}
}

// anAuditRowOfOrganization is read from the store, since the tenant's Owner may own nothing.
func anAuditRowOfOrganization(x *servertest.Tenant, _ *servertest.Client) request {
	var id string
	err := x.Node.DB.Read(x.Owner.T().Context(), func(q db.Q) error {
		return q.Each(func(r db.Rows) error {
			id = db.UnpackID("aud", r, 0)
			return nil
		}, `SELECT id FROM audit_log WHERE organization_id = $1 ORDER BY id DESC LIMIT 1`, x.OrganizationID)
	})
	if err != nil {
		x.Owner.T().Fatal(err)
	}
	return request{args: []string{id}, query: "?organization_id=" + x.OrganizationID}
}

// anUpload is a file to import.
func anUpload(x *servertest.Tenant, _ *servertest.Client) request {
	return request{query: "?format=csv&workspace_id=" + x.WorkspaceID, body: "type,name\nperson,Ada\n"}
}

// anImport names an import that has not begun. An earlier one is cancelled: a workspace can have few.
func anImport(x *servertest.Tenant, _ *servertest.Client) request {
	for _, id := range x.Owner.Get("/v1/directory/imports?workspace_id=" + x.WorkspaceID).OK().Column("id") {
		x.Owner.Post("/v1/directory/imports/"+id+"/cancel", nil).OK()
	}
	r := anUpload(x, nil)
	return request{args: []string{x.Owner.Post("/v1/directory/imports"+r.query, r.body).OK().Text("id")}}
}

// someEntries are entries to deactivate.
func someEntries(x *servertest.Tenant, caller *servertest.Client) request {
	ids := anEntry(nil)(x, caller).args
	return request{body: body{"workspace_id": x.WorkspaceID, "action": "deactivate", "ids": ids}}
}

// aBulk names a bulk that has ended.
func aBulk(x *servertest.Tenant, caller *servertest.Client) request {
	return request{args: []string{x.Owner.Post("/v1/directory/bulk", someEntries(x, caller).body).OK().Text("id")}}
}

// aHeldImport names an import whose file waits for whoever calls, since that of another person may
// hold account numbers; who may send none gets the owner's.
func aHeldImport(x *servertest.Tenant, caller *servertest.Client) request {
	anImport(x, nil)
	r := anUpload(x, nil)
	held := caller.Post("/v1/directory/imports"+r.query+"&hold=true", r.body)
	if held.Status != 200 {
		held = x.Owner.Post("/v1/directory/imports"+r.query+"&hold=true", r.body).OK()
	}
	return request{args: []string{held.Text("id")}, body: body{}}
}
