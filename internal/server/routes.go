package server

import (
	"bursar/internal/audit"
	"bursar/internal/directory"
	"bursar/internal/payout"
	"bursar/internal/web"
)

// route is one operation of the API.
type route struct {
	method   string
	path     string
	endpoint web.Endpoint
}

// routes is the whole API. Read endpoints change nothing. A Change or Download endpoint
// names the action under which a refused attempt is audited. Open endpoints need no session.
func (s *Server) routes() []route {
	var (
		api   = s.endpoints()
		id    = s.identity
		dir   = s.directory
		work  = s.workspaces
		orgs  = s.organizations
		trail = s.audit
		apr   = s.approvals
		money = s.ledger
		pay   = s.payouts
	)
	return []route{
		{"POST", "/v1/auth/device-code", web.Open(api, id.NewDeviceCode)},
		{"GET", "/v1/auth/device-code/{code}", web.Open(api, id.Poll)},
		{"POST", "/v1/auth/device-code/{code}/approve", web.Change(api, audit.DeviceApproved, id.Approve)},
		{"POST", "/v1/auth/device-code/{code}/deny", web.Change(api, audit.DeviceDenied, id.Deny)},
		{"POST", "/v1/auth/token", web.Open(api, id.Exchange)},
		{"POST", "/v1/auth/logout", web.Change(api, audit.SessionRevoked, id.Logout)},
		{"GET", "/v1/auth/me", web.Read(api, id.Me)},
		{"GET", "/v1/auth/activity", web.Read(api, trail.Activity)},

		{"GET", "/v1/api-keys", web.Read(api, id.APIKeys)},
		{"POST", "/v1/api-keys", web.Change(api, audit.KeyCreated, id.CreateKey)},
		{"POST", "/v1/api-keys/{id}/rotate", web.Change(api, audit.KeyRotated, id.RotateKey)},
		{"DELETE", "/v1/api-keys/{id}", web.Change(api, audit.KeyRevoked, id.RevokeKey)},
		{"POST", "/v1/api-keys/{id}/compromised", web.Change(api, audit.KeyRevoked, id.RevokeCompromisedKey)},

		{"GET", "/v1/directory", web.Read(api, dir.List)},
		{"POST", "/v1/directory", web.Change(api, audit.EntryCreated, dir.Create)},
		{"GET", "/v1/directory/tags", web.Read(api, dir.Tags)},
		{"POST", "/v1/directory/tags", web.Change(api, audit.TagCreated, dir.CreateTag)},
		{"PATCH", "/v1/directory/tags/{id}", web.Change(api, audit.TagUpdated, dir.UpdateTag)},
		{"DELETE", "/v1/directory/tags/{id}", web.Change(api, audit.TagDeleted, dir.DeleteTag)},
		{"GET", "/v1/directory/imports", web.Read(api, dir.Imports)},
		{"POST", "/v1/directory/imports", web.Receive(api, audit.ImportStarted, directory.MaxImport, dir.Import)},
		{"GET", "/v1/directory/imports/{id}", web.Read(api, dir.GetImport)},
		{"GET", "/v1/directory/imports/{id}/refused", web.Download(api, audit.ImportDownloaded, dir.RefusedLines)},
		{"GET", "/v1/directory/imports/{id}/plan", web.Download(api, audit.ImportDownloaded, dir.Plan)},
		{"POST", "/v1/directory/imports/{id}/start", web.Change(api, audit.ImportStarted, dir.StartImport)},
		{"POST", "/v1/directory/imports/{id}/cancel", web.Change(api, audit.ImportCancelled, dir.CancelImport)},
		{"GET", "/v1/directory/export", web.Download(api, audit.DirectoryExported, dir.Export)},
		{"POST", "/v1/directory/batch", web.Change(api, audit.EntryCreated, dir.Batch)},
		{"GET", "/v1/directory/merges", web.Read(api, dir.Merges)},
		{"GET", "/v1/directory/merges/{id}", web.Read(api, dir.GetMerge)},
		{"POST", "/v1/directory/merges/{id}/undo", web.Change(api, audit.EntryUnmerged, dir.UndoMerge)},
		{"POST", "/v1/directory/bulk", web.Change(api, audit.EntryUpdated, dir.Bulk)},
		{"GET", "/v1/directory/bulk/{id}", web.Read(api, dir.GetBulk)},
		{"POST", "/v1/directory/bulk/{id}/cancel", web.Change(api, audit.BulkCancelled, dir.CancelBulk)},
		{"POST", "/v1/directory/bulk/{id}/undo", web.Change(api, audit.EntryUpdated, dir.UndoBulk)},
		{"GET", "/v1/directory/{id}", web.Read(api, dir.Get)},
		{"PATCH", "/v1/directory/{id}", web.Change(api, audit.EntryUpdated, dir.Update)},
		{"DELETE", "/v1/directory/{id}", web.Change(api, audit.EntryDeleted, dir.Delete)},
		{"POST", "/v1/directory/{id}/restore", web.Change(api, audit.EntryRestored, dir.Restore)},
		{"GET", "/v1/directory/{id}/receiving-methods", web.Read(api, dir.Methods)},
		{"GET", "/v1/directory/{id}/duplicates", web.Read(api, dir.Duplicates)},
		{"POST", "/v1/directory/{id}/merge", web.Change(api, audit.EntryMerged, dir.Merge)},
		{"POST", "/v1/directory/{id}/receiving-methods", web.Change(api, audit.ReceivingMethodAdded, dir.AddMethod)},
		{"PATCH", "/v1/directory/{id}/receiving-methods/{method_id}", web.Change(api, audit.ReceivingMethodUpdated, dir.UpdateMethod)},
		{"DELETE", "/v1/directory/{id}/receiving-methods/{method_id}", web.Change(api, audit.ReceivingMethodRemoved, dir.RemoveMethod)},

		{"GET", "/v1/approvals", web.Read(api, apr.List)},
		{"POST", "/v1/approvals/decide", web.Change(api, audit.ReceivingMethodApproved, apr.DecideMany)},
		{"GET", "/v1/approvals/{id}", web.Read(api, apr.Get)},
		{"GET", "/v1/approvals/{id}/lines", web.Read(api, dir.ApprovalLines)},
		{"POST", "/v1/approvals/{id}/approve", web.Change(api, audit.ReceivingMethodApproved, apr.Approve)},
		{"POST", "/v1/approvals/{id}/reject", web.Change(api, audit.ReceivingMethodRejected, apr.Reject)},
		{"POST", "/v1/approvals/{id}/withdraw", web.Change(api, audit.ReceivingMethodWithdrawn, apr.Withdraw)},

		{"GET", "/v2/approval-rules", web.Read(api, s.rules.ListRules)},
		{"POST", "/v2/approval-rules", web.Change(api, audit.PayoutRuleCreated, s.rules.CreateRule)},
		{"DELETE", "/v2/approval-rules/{id}", web.Change(api, audit.PayoutRuleRemoved, s.rules.RemoveRule)},
		{"POST", "/v2/approval-rules/{id}/confirm", web.Change(api, audit.PayoutRuleApproved, s.rules.ConfirmRule)},
		{"GET", "/v2/limits", web.Read(api, s.rules.ListLimits)},
		{"POST", "/v2/limits", web.Change(api, audit.PayoutLimitCreated, s.rules.SetLimit)},
		{"DELETE", "/v2/limits/{id}", web.Change(api, audit.PayoutLimitRemoved, s.rules.RemoveLimit)},

		{"GET", "/v1/workspaces", web.Read(api, work.List)},
		{"POST", "/v1/workspaces", web.Change(api, audit.WorkspaceCreated, work.Create)},
		{"GET", "/v1/workspaces/{id}", web.Read(api, work.Get)},
		{"PATCH", "/v1/workspaces/{id}", web.Change(api, audit.WorkspaceUpdated, work.Update)},
		{"GET", "/v1/workspaces/{id}/receiving-policy", web.Read(api, apr.Policy)},
		{"POST", "/v1/workspaces/{id}/second-person/extend", web.Change(api, audit.SecondPersonExtended, apr.Extend)},
		{"PATCH", "/v1/workspaces/{id}/receiving-policy", web.Change(api, audit.ReceivingPolicyUpdated, apr.UpdatePolicy)},
		{"GET", "/v1/workspaces/{id}/payout-stop", web.Read(api, pay.Sending)},
		{"POST", "/v1/workspaces/{id}/payout-stop", web.Change(api, audit.PayoutSendingStopped, pay.Stop)},
		{"POST", "/v1/workspaces/{id}/payout-resume", web.Change(api, audit.PayoutSendingResumed, pay.Resume)},
		{"GET", "/v1/workspaces/{id}/members", web.Read(api, work.Members)},
		{"POST", "/v1/workspaces/{id}/members", web.Change(api, audit.MemberAdded, work.AddMember)},
		{"DELETE", "/v1/workspaces/{id}/members/{userId}", web.Change(api, audit.MemberRemoved, work.RemoveMember)},
		{"GET", "/v1/workspaces/{id}/roles", web.Read(api, work.Roles)},
		{"POST", "/v1/workspaces/{id}/roles", web.Change(api, audit.MemberRoleAssigned, work.Assign)},
		{"PUT", "/v1/workspaces/{id}/roles/{role}", web.Change(api, audit.RoleUpdated, work.DefineRole)},
		{"DELETE", "/v1/workspaces/{id}/roles/{role}", web.Change(api, audit.RoleDeleted, work.DeleteRole)},
		{"DELETE", "/v1/workspaces/{id}/roles/{userId}/{role}", web.Change(api, audit.MemberRoleRemoved, work.Unassign)},
		{"GET", "/v1/workspaces/{id}/suspended", web.Read(api, work.SuspendedAccess)},
		{"POST", "/v1/workspaces/{id}/suspended/{suspensionId}/confirm", web.Change(api, audit.MemberReinstated, work.ConfirmSuspended)},
		{"POST", "/v1/workspaces/{id}/suspended/{suspensionId}/remove", web.Change(api, audit.MemberRemoved, work.RemoveSuspended)},

		{"GET", "/v1/invitations", web.Read(api, work.Invitations)},
		{"POST", "/v1/invitations/{id}/accept", web.Change(api, audit.MemberAccepted, work.AcceptInvitation)},
		{"POST", "/v1/invitations/{id}/decline", web.Change(api, audit.MemberDeclined, work.DeclineInvitation)},

		{"GET", "/v1/workspaces/{id}/clients", web.Read(api, s.clients.List)},
		{"POST", "/v1/workspaces/{id}/clients/{clientId}/rotate", web.Change(api, audit.ClientRotated, s.clients.Rotate)},

		{"GET", "/v1/organizations", web.Read(api, orgs.List)},
		{"POST", "/v1/organizations", web.Change(api, audit.OrganizationCreated, orgs.Create)},
		{"GET", "/v1/organizations/{id}", web.Read(api, orgs.Get)},
		{"GET", "/v1/organizations/{id}/settings", web.Read(api, orgs.Settings)},
		{"PATCH", "/v1/organizations/{id}/settings", web.Change(api, audit.OrganizationSettingsUpdated, orgs.UpdateSettings)},
		{"GET", "/v1/organizations/{id}/owners", web.Read(api, orgs.Owners)},
		{"POST", "/v1/organizations/{id}/owners", web.Change(api, audit.OwnerAdded, orgs.AddOwner)},
		{"DELETE", "/v1/organizations/{id}/owners/{userId}", web.Change(api, audit.OwnerRemoved, orgs.RemoveOwner)},
		{"GET", "/v1/organizations/{id}/suspended", web.Read(api, orgs.SuspendedOwners)},
		{"POST", "/v1/organizations/{id}/suspended/{suspensionId}/confirm", web.Change(api, audit.OwnerReinstated, orgs.ConfirmOwner)},
		{"POST", "/v1/organizations/{id}/suspended/{suspensionId}/remove", web.Change(api, audit.OwnerRemoved, orgs.RemoveSuspendedOwner)},
		{"POST", "/v1/organizations/{id}/leavers", web.Change(api, audit.LeaverRemoved, s.leavers.Remove)},

		{"GET", "/v1/ops/requests", web.Read(api, s.operators.Requests)},
		{"POST", "/v1/ops/requests/{id}/approve", web.Change(api, audit.OperatorApproved, s.operators.Approve)},
		{"POST", "/v1/ops/requests/{id}/reject", web.Change(api, audit.OperatorRejected, s.operators.Reject)},

		{"GET", "/v1/audit", web.Read(api, trail.List)},
		{"GET", "/v1/audit/export", web.Download(api, audit.AuditExported, trail.Download)},
		{"GET", "/v1/audit/feed", web.Read(api, trail.Feed)},
		{"GET", "/v1/audit/{id}", web.Read(api, trail.Get)},
		{"GET", "/v1/audit/proof", web.Download(api, audit.AuditExported, trail.ProofFile)},
		{"GET", "/v1/audit/{id}/proof", web.Read(api, trail.Proof)},

		{"GET", "/v2/accounts", web.Read(api, money.List)},
		{"POST", "/v2/accounts", web.Change(api, audit.LedgerAccountCreated, money.Create)},
		{"GET", "/v2/accounts/{id}", web.Read(api, money.Get)},
		{"PATCH", "/v2/accounts/{id}", web.Change(api, audit.LedgerAccountUpdated, money.Update)},
		{"GET", "/v2/accounts/{id}/balances", web.Read(api, money.Balances)},
		{"GET", "/v2/accounts/{id}/postings", web.Read(api, money.Postings)},
		{"POST", "/v2/transfers", web.Change(api, audit.TransferCreated, money.Transfer)},
		{"GET", "/v2/deposits", web.Read(api, money.Deposits)},

		{"GET", "/v2/payout-requests", web.Read(api, pay.List)},
		{"POST", "/v2/payout-requests", web.Change(api, audit.PayoutCreated, pay.Create)},
		{"POST", "/v2/payout-requests/validate", web.Change(api, audit.PayoutCreated, pay.Validate)},
		{"GET", "/v2/payout-requests/{id}", web.Read(api, pay.Get)},
		{"PATCH", "/v2/payout-requests/{id}", web.Change(api, audit.PayoutUpdated, pay.Update)},
		{"POST", "/v2/payout-requests/{id}/publish", web.Change(api, audit.PayoutPublished, pay.Publish)},
		{"POST", "/v2/payout-requests/{id}/confirm", web.Change(api, audit.PayoutRecheckApproved, pay.Confirm)},
		{"POST", "/v2/payout-requests/{id}/approve", web.Change(api, audit.PayoutApproved, pay.Approve)},
		{"POST", "/v2/payout-requests/{id}/reject", web.Change(api, audit.PayoutRejected, pay.Reject)},
		{"POST", "/v2/payout-requests/{id}/cancel", web.Change(api, audit.PayoutCancelled, pay.Cancel)},
		{"POST", "/v2/payout-requests/{id}/retry", web.Change(api, audit.PayoutRetried, pay.Retry)},
		{"POST", "/v2/payout-requests/{id}/resolve", web.Change(api, audit.PayoutResolved, pay.Resolve)},
		{"GET", "/v2/payout-requests/{id}/receipt", web.Read(api, pay.Receipt)},
		{"GET", "/v2/payout-requests/health/{service_name}", web.Read(api, pay.Health)},
		{"POST", "/v2/batch-payout-requests", web.OrFile(web.Change(api, audit.PayoutBatchCreated, pay.Batch),
			web.Receive(api, audit.PayoutBatchCreated, payout.MaxFile, pay.BatchFile))},
		{"GET", "/v2/batch-payout-requests/{id}", web.Read(api, pay.GetBatch)},
		{"GET", "/v2/receiving_institutions", web.Read(api, pay.Institutions)},
		{"GET", "/v2/receiving-institutions", web.Read(api, pay.Institutions)},
		{"POST", "/v2/simulations/deposits", web.Change(api, audit.DepositBooked, s.sandbox.Deposit)},
		{"POST", "/v2/simulations/payouts/{id}/settle", web.Change(api, audit.PayoutSimulated, s.sandbox.Settle)},
		{"POST", "/v2/simulations/payouts/{id}/reject", web.Change(api, audit.PayoutSimulated, s.sandbox.Reject)},
		{"POST", "/v2/simulations/payouts/{id}/return", web.Change(api, audit.PayoutSimulated, s.sandbox.Return)},
		{"POST", "/v2/simulations/services/{service_name}", web.Change(api, audit.SimulatedServiceChanged, s.sandbox.SetService)},
	}
}

// Operations lists the operations of the API as "METHOD /path".
func (s *Server) Operations() []string {
	var names []string
	for _, r := range s.routes() {
		names = append(names, r.method+" "+r.path)
	}
	return names
}
