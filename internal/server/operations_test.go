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

// operation is an operation of the API and the permission that the contract requires for it.
type operation struct {
	api.Operation
	need string
	// ask prepares what the operation works on and makes a request that is good once.
	ask func(x *servertest.Tenant, caller *servertest.Client) request
}

// do sends a request to the operation.
func (o operation) do(c *servertest.Client, r request) *servertest.Answer {
	path := o.Path()
	for _, arg := range r.args {
		open, end := strings.Index(path, "{"), strings.Index(path, "}")
		path = path[:open] + arg + path[end+1:]
	}
	answer := c.Do(o.Method(), path+r.query, r.body, r.headers...)
	for answer.Status == 503 { // what is to be proven has not been signed yet
		answer = c.Do(o.Method(), path+r.query, r.body, r.headers...)
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
	if o.Path() == api.GetEntry.Path() {
		return "NOT_FOUND"
	}
	return "RESOURCE_NOT_FOUND"
}

// operations is every operation, and who may use it.
func operations() []operation {
	return []operation{
		{api.CreateDeviceCode, nothing, plain(nil)},
		{api.PollDeviceCode, nothing, aCode},
		{api.ApproveDeviceCode, anySession, aCode},
		{api.DenyDeviceCode, anySession, aCode},
		{api.CreateToken, nothing, anExchange},
		{api.LogOut, anySession, aSecondSession},
		{api.GetMe, anySession, plain(nil)},
		{api.ListMyActivity, anySession, plain(nil)},

		{api.ListAPIKeys, anySession, plain(nil)},
		{api.CreateAPIKey, anySession, plain(body{"name": "Key"})},
		{api.RotateAPIKey, anySession, aKey},
		{api.RevokeAPIKey, anySession, aKey},
		{api.ReportCompromisedAPIKey, anySession, aKey},

		{api.ListEntries, "ws.directory.read", inQuery},
		{api.CreateEntry, "ws.directory.write", inBody(body{"type": "person", "fields": body{}})},
		{api.ListTags, "ws.directory.read", inQuery},
		{api.CreateTag, "ws.tags.write", aTagName},
		{api.UpdateTag, "ws.tags.write", aTag(body{"applies_to": "person"})},
		{api.DeleteTag, "ws.tags.write", aTag(nil)},
		{api.ListImports, "ws.directory.read", inQuery},
		{api.StartImport, "ws.directory.write", anUpload},
		{api.GetImport, "ws.directory.read", anImport},
		{api.DownloadRefusedLines, "ws.directory.write", anImport},
		{api.DownloadImportPlan, "ws.directory.write", anImport},
		{api.StartHeldImport, "ws.directory.write", aHeldImport},
		{api.CancelImport, "ws.directory.write", anImport},
		{api.ExportDirectory, "ws.directory.read", inQuery},
		{api.BatchEntries, "ws.directory.write", inBody(body{"items": []body{{"type": "person", "name": "Ada"}}})},
		{api.ListMerges, "ws.directory.read", inQuery},
		{api.GetMerge, "ws.directory.read", aMerge},
		{api.UndoMerge, "ws.directory.write", aMerge},
		{api.BulkEntries, "ws.directory.write", someEntries},
		{api.GetBulk, "ws.directory.read", aBulk},
		{api.CancelBulk, "ws.directory.write", aBulk},
		{api.UndoBulk, "ws.directory.write", aBulk},
		{api.GetEntry, "ws.directory.read", anEntry(nil)},
		{api.UpdateEntry, "ws.directory.write", anEntry(body{"status": "inactive"})},
		{api.DeleteEntry, "ws.directory.delete", anEntry(nil)},
		{api.RestoreEntry, "ws.directory.delete", aDeletedEntry},
		{api.ListReceivingMethods, "ws.receiving.read", anEntry(nil)},
		{api.ListDuplicates, "ws.directory.read", anEntry(nil)},
		{api.MergeEntries, "ws.directory.write", aDouble},
		{api.AddReceivingMethod, "ws.receiving.write", anEntry(bankAccount())},
		{api.UpdateReceivingMethod, "ws.receiving.write", aMethod(body{"provider": "wallet"})},
		{api.RemoveReceivingMethod, "ws.receiving.write", aMethod(nil)},

		{api.ListApprovals, "ws.payouts.read", inQuery},
		{api.DecideApprovals, "ws.receiving.approve", manyApproved},
		{api.GetApproval, "ws.receiving.read", anApproval(nil)},
		{api.ListApprovalLines, "ws.receiving.read", aWaitingImport},
		{api.ApproveApproval, "ws.receiving.approve", approved},
		{api.RejectApproval, "ws.receiving.approve", anApproval(body{"reason": "unknown account"})},
		{api.WithdrawApproval, "ws.receiving.write", anApproval(nil)},

		{api.ListApprovalRules, "ws.payouts.read", inQuery},
		{api.CreateApprovalRule, "ws.write", staffed(inBody(body{"approvals": 2}))},
		{api.ConfirmApprovalRule, "ws.write", staffed(aGuard("/v2/approval-rules", body{"approvals": 1}))},
		{api.DeleteApprovalRule, "ws.write", staffed(aGuard("/v2/approval-rules", body{"approvals": 1}))},
		{api.ListLimits, "ws.payouts.read", inQuery},
		{api.SetLimit, "ws.write", aLimit},
		{api.DeleteLimit, "ws.write", aGuard("/v2/limits", body{"per": "day", "amount_cents": 100_000_000})},

		{api.ListWorkspaces, anySession, plain(nil)},
		{api.CreateWorkspace, "org.settings.write", aWorkspace},
		{api.GetWorkspace, "ws.read", inPath(nil)},
		{api.UpdateWorkspace, "ws.write", aNewName},
		{api.GetReceivingPolicy, "ws.read", inPath(nil)},
		{api.UpdateReceivingPolicy, "ws.write", aPolicy},
		{api.ExtendSecondPerson, "ws.payouts.approve", inPath(nil)},
		{api.GetPayoutStop, "ws.payouts.read", inPath(nil)},
		{api.StopPayouts, "ws.payouts.create", aStop},
		{api.ResumePayouts, "ws.payouts.create", aResume},
		{api.ListMembers, "ws.members.read", inPath(nil)},
		{api.AddMember, "ws.members.write", aNewMember},
		{api.RemoveMember, "ws.members.write", aMember},
		{api.ListRoles, "ws.members.read", inPath(nil)},
		{api.AssignRole, "ws.members.write", anAssignment},
		{api.PutRole, "ws.roles.write", aDefinition},
		{api.DeleteRole, "ws.roles.write", aRole},
		{api.RemoveRole, "ws.members.write", anAssigned},
		{api.ListSuspendedAccess, "ws.members.read", inPath(nil)},
		{api.ConfirmSuspendedAccess, "ws.members.write", aSuspension},
		{api.RemoveSuspendedAccess, "ws.members.write", aSuspension},

		{api.ListInvitations, anySession, plain(nil)},
		{api.AcceptInvitation, anySession, anInvitation},
		{api.DeclineInvitation, anySession, anInvitation},

		{api.ListClients, "ws.keys.read", inPath(nil)},
		{api.RotateClient, "ws.keys.write", aClient},

		{api.ListOrganizations, anySession, plain(nil)},
		{api.CreateOrganization, anySession, plain(body{"name": "Another"})},
		{api.GetOrganization, "org.read", ofOrganization},
		{api.GetOrganizationSettings, "org.settings.read", ofOrganization},
		{api.UpdateOrganizationSettings, "org.settings.write", newSettings},
		{api.ListOwners, "org.read", ofOrganization},
		{api.AddOwner, "org.settings.write", anOwner},
		{api.RemoveOwner, "org.settings.write", aSecondOwner},
		{api.ListSuspendedOwners, "org.read", ofOrganization},
		{api.ConfirmSuspendedOwner, "org.settings.write", aSuspendedOwner},
		{api.RemoveSuspendedOwner, "org.settings.write", aSuspendedOwner},
		{api.RemoveLeaver, "org.settings.write", aLeaver},

		{api.ListOpsRequests, "ops.read", asOperator},
		{api.ApproveOpsRequest, "ops.money", anOpsRequest(true)},
		{api.RejectOpsRequest, "ops.money", anOpsRequest(false)},

		{api.ListAudit, "ws.audit.read", inQuery},
		{api.ListAudit, "org.settings.write", auditOfOrganization},
		{api.ExportAudit, "ws.audit.export", inQuery},
		{api.ExportAudit, "org.settings.write", auditOfOrganization},
		{api.FollowAudit, "ws.audit.read", inQuery},
		{api.FollowAudit, "org.settings.write", auditOfOrganization},
		{api.GetAuditEntry, "ws.audit.read", anAuditRow},
		{api.GetAuditEntry, "org.settings.write", anAuditRowOfOrganization},
		{api.ExportAuditProof, "ws.audit.export", inQuery},
		{api.ExportAuditProof, "org.settings.write", auditOfOrganization},
		{api.ProveAuditEntry, "ws.audit.read", anAuditRow},
		{api.ProveAuditEntry, "org.settings.write", anAuditRowOfOrganization},

		{api.ListAccounts, "ws.accounts.read", inQuery},
		{api.CreateAccount, "ws.accounts.write", inBody(body{"name": "Payroll"})},
		{api.GetAccount, "ws.accounts.read", anAccount(nil)},
		{api.UpdateAccount, "ws.accounts.write", anAccount(body{"name": "Wages"})},
		{api.GetAccountBalances, "ws.accounts.read", anAccount(nil)},
		{api.ListPostings, "ws.accounts.read", anAccount(nil)},
		{api.CreateTransfer, "ws.accounts.write", aTransfer},
		{api.ListDeposits, "ws.accounts.read", inQuery},

		{api.ListPayouts, "ws.payouts.read", inQuery},
		{api.CreatePayout, "ws.payouts.create", aPayoutRequest},
		{api.ValidatePayout, "ws.payouts.create", aPayoutRequest},
		{api.GetPayout, "ws.payouts.read", aDraft(nil)},
		{api.UpdatePayout, "ws.payouts.create", aDraft(body{"amount_cents": 200})},
		{api.ConfirmPayout, "ws.payouts.create", aHeldPayout},
		{api.PublishPayout, "ws.payouts.create", aDraft(nil)},
		{api.ApprovePayout, "ws.payouts.approve", anApprovedPayout},
		{api.RejectPayout, "ws.payouts.approve", aWaitingPayout},
		{api.CancelPayout, "ws.payouts.create", aDraft(nil)},
		{api.RetryPayout, "ws.payouts.create", aSentPayout("1234569001", nil)},
		{api.ResolvePayout, "ws.payouts.approve", aStuckPayout},
		{api.CreatePayoutBatch, "ws.payouts.create", aBatchRequest},
		{api.GetPayoutBatch, "ws.payouts.read", aBatch},
		{api.GetPayoutReceipt, "ws.payouts.read", aSentPayout("1234567890", nil)},
		{api.GetServiceHealth, anySession, aService(nil)},
		{api.ListInstitutions, anySession, plain(nil)},
		{api.ListInstitutionsAlias, anySession, plain(nil)},
		{api.SimulateDeposit, "ws.accounts.write", aSimulatedDeposit},
		{api.SimulateSettlement, "ws.accounts.write", aSentPayout("1234569011", nil)},
		{api.SimulateRejection, "ws.accounts.write", aSentPayout("1234569011", body{"reason": "AC06"})},
		{api.SimulateReturn, "ws.accounts.write", aSentPayout("1234567890", body{"reason": "AC06"})},
		{api.SimulateService, "ws.accounts.write", aService(body{"status": "degraded"})},
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
func alternatives() map[api.Operation]string {
	return map[api.Operation]string{api.ExtendSecondPerson: "ws.receiving.approve",
		api.StopPayouts: "ws.payouts.approve", api.ResumePayouts: "ws.payouts.approve"}
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

// aWaitingPayout waits for someone to approve it.
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

// aHeldImport names an import whose file waits for anyone who calls, since that of another person may
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
