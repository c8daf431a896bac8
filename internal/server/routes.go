package server

import (
	"bursar/api"
	"bursar/internal/audit"
	"bursar/internal/directory/transfer"
	"bursar/internal/payout"
	"bursar/internal/web"
)

// routes serves each operation of the API with a service method. Read and List endpoints change nothing. A Change, Create, Receive or
// Download endpoint names the action under which a refused attempt is audited. Open endpoints need no session.
func (s *Server) routes() []web.Route {
	var (
		e     = s.endpoints()
		id    = s.identity
		dir   = s.directory
		moves = s.transfer
		work  = s.workspaces
		orgs  = s.organizations
		trail = s.audit
		apr   = s.approvals
		money = s.ledger
		pay   = s.payouts
	)
	return []web.Route{
		web.Open(e, api.CreateDeviceCode, id.NewDeviceCode),
		web.Open(e, api.PollDeviceCode, id.Poll),
		web.Change(e, api.ApproveDeviceCode, audit.DeviceApproved, id.Approve),
		web.Change(e, api.DenyDeviceCode, audit.DeviceDenied, id.Deny),
		web.Open(e, api.CreateToken, id.Exchange),
		web.Change(e, api.LogOut, audit.SessionRevoked, id.Logout),
		web.Read(e, api.GetMe, id.Me),
		web.List(e, api.ListMyActivity, trail.Activity),

		web.List(e, api.ListAPIKeys, id.APIKeys),
		web.Change(e, api.CreateAPIKey, audit.KeyCreated, id.CreateKey),
		web.Change(e, api.RotateAPIKey, audit.KeyRotated, id.RotateKey),
		web.Change(e, api.RevokeAPIKey, audit.KeyRevoked, id.RevokeKey),
		web.Change(e, api.ReportCompromisedAPIKey, audit.KeyRevoked, id.RevokeCompromisedKey),

		web.List(e, api.ListEntries, dir.List),
		web.Change(e, api.CreateEntry, audit.EntryCreated, dir.Create),
		web.List(e, api.ListTags, dir.Tags),
		web.Change(e, api.CreateTag, audit.TagCreated, dir.CreateTag),
		web.Change(e, api.UpdateTag, audit.TagUpdated, dir.UpdateTag),
		web.Change(e, api.DeleteTag, audit.TagDeleted, dir.DeleteTag),
		web.List(e, api.ListImports, moves.Imports),
		web.Receive(e, api.StartImport, audit.ImportStarted, transfer.MaxImport, moves.Import),
		web.Read(e, api.GetImport, moves.GetImport),
		web.Download(e, api.DownloadRefusedLines, audit.ImportDownloaded, moves.RefusedLines),
		web.Download(e, api.DownloadImportPlan, audit.ImportDownloaded, moves.Plan),
		web.Change(e, api.StartHeldImport, audit.ImportStarted, moves.StartImport),
		web.Change(e, api.CancelImport, audit.ImportCancelled, moves.CancelImport),
		web.Download(e, api.ExportDirectory, audit.DirectoryExported, moves.Export),
		web.Change(e, api.BatchEntries, audit.EntryCreated, moves.Batch),
		web.List(e, api.ListMerges, dir.Merges),
		web.Read(e, api.GetMerge, dir.GetMerge),
		web.Change(e, api.UndoMerge, audit.EntryUnmerged, dir.UndoMerge),
		web.Change(e, api.BulkEntries, audit.EntryUpdated, moves.Bulk),
		web.Read(e, api.GetBulk, moves.GetBulk),
		web.Change(e, api.CancelBulk, audit.BulkCancelled, moves.CancelBulk),
		web.Change(e, api.UndoBulk, audit.EntryUpdated, moves.UndoBulk),
		web.Read(e, api.GetEntry, dir.Get),
		web.Change(e, api.UpdateEntry, audit.EntryUpdated, dir.Update),
		web.Change(e, api.DeleteEntry, audit.EntryDeleted, dir.Delete),
		web.Change(e, api.RestoreEntry, audit.EntryRestored, dir.Restore),
		web.Read(e, api.ListReceivingMethods, dir.Methods),
		web.Read(e, api.ListDuplicates, dir.Duplicates),
		web.Change(e, api.MergeEntries, audit.EntryMerged, dir.Merge),
		web.Change(e, api.AddReceivingMethod, audit.ReceivingMethodAdded, dir.AddMethod),
		web.Change(e, api.UpdateReceivingMethod, audit.ReceivingMethodUpdated, dir.UpdateMethod),
		web.Change(e, api.RemoveReceivingMethod, audit.ReceivingMethodRemoved, dir.RemoveMethod),

		web.List(e, api.ListApprovals, apr.List),
		web.Change(e, api.DecideApprovals, audit.ReceivingMethodApproved, apr.DecideMany),
		web.Read(e, api.GetApproval, apr.Get),
		web.List(e, api.ListApprovalLines, dir.ApprovalLines),
		web.Change(e, api.ApproveApproval, audit.ReceivingMethodApproved, apr.Approve),
		web.Change(e, api.RejectApproval, audit.ReceivingMethodRejected, apr.Reject),
		web.Change(e, api.WithdrawApproval, audit.ReceivingMethodWithdrawn, apr.Withdraw),

		web.List(e, api.ListApprovalRules, s.rules.ListRules),
		web.Create(e, api.CreateApprovalRule, audit.PayoutRuleCreated, s.rules.CreateRule),
		web.Change(e, api.DeleteApprovalRule, audit.PayoutRuleRemoved, s.rules.RemoveRule),
		web.Change(e, api.ConfirmApprovalRule, audit.PayoutRuleApproved, s.rules.ConfirmRule),
		web.List(e, api.ListLimits, s.rules.ListLimits),
		web.Create(e, api.SetLimit, audit.PayoutLimitCreated, s.rules.SetLimit),
		web.Change(e, api.DeleteLimit, audit.PayoutLimitRemoved, s.rules.RemoveLimit),

		web.List(e, api.ListWorkspaces, work.List),
		web.Change(e, api.CreateWorkspace, audit.WorkspaceCreated, work.Create),
		web.Read(e, api.GetWorkspace, work.Get),
		web.Change(e, api.UpdateWorkspace, audit.WorkspaceUpdated, work.Update),
		web.Read(e, api.GetReceivingPolicy, apr.Policy),
		web.Change(e, api.ExtendSecondPerson, audit.SecondPersonExtended, apr.Extend),
		web.Change(e, api.UpdateReceivingPolicy, audit.ReceivingPolicyUpdated, apr.UpdatePolicy),
		web.Read(e, api.GetPayoutStop, pay.Sending),
		web.Change(e, api.StopPayouts, audit.PayoutSendingStopped, pay.Stop),
		web.Change(e, api.ResumePayouts, audit.PayoutSendingResumed, pay.Resume),
		web.List(e, api.ListMembers, work.Members),
		web.Change(e, api.AddMember, audit.MemberAdded, work.AddMember),
		web.Change(e, api.RemoveMember, audit.MemberRemoved, work.RemoveMember),
		web.List(e, api.ListRoles, work.Roles),
		web.Change(e, api.AssignRole, audit.MemberRoleAssigned, work.Assign),
		web.Change(e, api.PutRole, audit.RoleUpdated, work.DefineRole),
		web.Change(e, api.DeleteRole, audit.RoleDeleted, work.DeleteRole),
		web.Change(e, api.RemoveRole, audit.MemberRoleRemoved, work.Unassign),
		web.List(e, api.ListSuspendedAccess, work.SuspendedAccess),
		web.Change(e, api.ConfirmSuspendedAccess, audit.MemberReinstated, work.ConfirmSuspended),
		web.Change(e, api.RemoveSuspendedAccess, audit.MemberRemoved, work.RemoveSuspended),

		web.List(e, api.ListInvitations, work.Invitations),
		web.Change(e, api.AcceptInvitation, audit.MemberAccepted, work.AcceptInvitation),
		web.Change(e, api.DeclineInvitation, audit.MemberDeclined, work.DeclineInvitation),

		web.List(e, api.ListClients, s.clients.List),
		web.Change(e, api.RotateClient, audit.ClientRotated, s.clients.Rotate),

		web.List(e, api.ListOrganizations, orgs.List),
		web.Change(e, api.CreateOrganization, audit.OrganizationCreated, orgs.Create),
		web.Read(e, api.GetOrganization, orgs.Get),
		web.Read(e, api.GetOrganizationSettings, orgs.Settings),
		web.Change(e, api.UpdateOrganizationSettings, audit.OrganizationSettingsUpdated, orgs.UpdateSettings),
		web.List(e, api.ListOwners, orgs.Owners),
		web.Change(e, api.AddOwner, audit.OwnerAdded, orgs.AddOwner),
		web.Change(e, api.RemoveOwner, audit.OwnerRemoved, orgs.RemoveOwner),
		web.List(e, api.ListSuspendedOwners, orgs.SuspendedOwners),
		web.Change(e, api.ConfirmSuspendedOwner, audit.OwnerReinstated, orgs.ConfirmOwner),
		web.Change(e, api.RemoveSuspendedOwner, audit.OwnerRemoved, orgs.RemoveSuspendedOwner),
		web.Change(e, api.RemoveLeaver, audit.LeaverRemoved, s.leavers.Remove),

		web.List(e, api.ListOpsRequests, s.operators.Requests),
		web.Change(e, api.ApproveOpsRequest, audit.OperatorApproved, s.operators.Approve),
		web.Change(e, api.RejectOpsRequest, audit.OperatorRejected, s.operators.Reject),

		web.List(e, api.ListAudit, trail.List),
		web.Download(e, api.ExportAudit, audit.AuditExported, trail.Download),
		web.Read(e, api.FollowAudit, trail.Feed),
		web.Read(e, api.GetAuditEntry, trail.Get),
		web.Download(e, api.ExportAuditProof, audit.AuditExported, trail.ProofFile),
		web.Read(e, api.ProveAuditEntry, trail.Proof),

		web.List(e, api.ListAccounts, money.List),
		web.Create(e, api.CreateAccount, audit.LedgerAccountCreated, money.Create),
		web.Read(e, api.GetAccount, money.Get),
		web.Change(e, api.UpdateAccount, audit.LedgerAccountUpdated, money.Update),
		web.Read(e, api.GetAccountBalances, money.Balances),
		web.List(e, api.ListPostings, money.Postings),
		web.Create(e, api.CreateTransfer, audit.TransferCreated, money.Transfer),
		web.List(e, api.ListDeposits, money.Deposits),

		web.List(e, api.ListPayouts, pay.List),
		web.Create(e, api.CreatePayout, audit.PayoutCreated, pay.Create),
		web.Change(e, api.ValidatePayout, audit.PayoutCreated, pay.Validate),
		web.Read(e, api.GetPayout, pay.Get),
		web.Change(e, api.UpdatePayout, audit.PayoutUpdated, pay.Update),
		web.Change(e, api.PublishPayout, audit.PayoutPublished, pay.Publish),
		web.Change(e, api.ConfirmPayout, audit.PayoutRecheckApproved, pay.Confirm),
		web.Change(e, api.ApprovePayout, audit.PayoutApproved, pay.Approve),
		web.Change(e, api.RejectPayout, audit.PayoutRejected, pay.Reject),
		web.Change(e, api.CancelPayout, audit.PayoutCancelled, pay.Cancel),
		web.Change(e, api.RetryPayout, audit.PayoutRetried, pay.Retry),
		web.Change(e, api.ResolvePayout, audit.PayoutResolved, pay.Resolve),
		web.Read(e, api.GetPayoutReceipt, pay.Receipt),
		web.Read(e, api.GetServiceHealth, pay.Health),
		web.OrFile(web.Create(e, api.CreatePayoutBatch, audit.PayoutBatchCreated, pay.Batch),
			web.CreateFrom(e, api.CreatePayoutBatches, audit.PayoutBatchCreated, payout.MaxFile, pay.BatchFile)),
		web.Read(e, api.GetPayoutBatch, pay.GetBatch),
		web.List(e, api.ListInstitutions, pay.Institutions),
		web.List(e, api.ListInstitutionsAlias, pay.Institutions),
		web.Create(e, api.SimulateDeposit, audit.DepositBooked, s.sandbox.Deposit),
		web.Change(e, api.SimulateSettlement, audit.PayoutSimulated, s.sandbox.Settle),
		web.Change(e, api.SimulateRejection, audit.PayoutSimulated, s.sandbox.Reject),
		web.Change(e, api.SimulateReturn, audit.PayoutSimulated, s.sandbox.Return),
		web.Change(e, api.SimulateService, audit.SimulatedServiceChanged, s.sandbox.SetService),
	}
}
