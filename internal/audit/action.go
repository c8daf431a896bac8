package audit

// Action is the dotted name of an event: area.thing.verb.
type Action string

const (
	MemberAdded        Action = "iam.member.added"
	MemberInvited      Action = "iam.member.invited"
	MemberAccepted     Action = "iam.member.accepted"
	MemberDeclined     Action = "iam.member.declined"
	MemberRemoved      Action = "iam.member.removed"
	MemberSuspended    Action = "iam.member.suspended"
	MemberReinstated   Action = "iam.member.reinstated"
	MemberRoleAssigned Action = "iam.member.role_assigned"
	MemberRoleRemoved  Action = "iam.member.role_removed"

	MemberGrantRequested Action = "iam.member.grant_requested"
	MemberGrantApproved  Action = "iam.member.grant_approved"
	MemberGrantRejected  Action = "iam.member.grant_rejected"
	MemberGrantWithdrawn Action = "iam.member.grant_withdrawn"
	MemberGrantExpired   Action = "iam.member.grant_expired"
	ApproverAppointed    Action = "iam.member.approver_appointed" // by an operator

	RoleCreated Action = "iam.role.created"
	RoleUpdated Action = "iam.role.updated"
	RoleDeleted Action = "iam.role.deleted"

	RoleChangeRequested Action = "iam.role.change_requested"
	RoleChangeApproved  Action = "iam.role.change_approved"
	RoleChangeRejected  Action = "iam.role.change_rejected"
	RoleChangeWithdrawn Action = "iam.role.change_withdrawn"
	RoleChangeExpired   Action = "iam.role.change_expired"

	WorkspaceCreated Action = "iam.workspace.created"
	WorkspaceUpdated Action = "iam.workspace.updated"

	SecondPersonExtended Action = "iam.workspace.second_person_extended"

	OrganizationCreated         Action = "iam.organization.created"
	OrganizationSettingsUpdated Action = "iam.organization.settings_updated"
	OwnerAdded                  Action = "iam.organization.owner_added"
	OwnerRemoved                Action = "iam.organization.owner_removed"
	OwnerSuspended              Action = "iam.organization.owner_suspended"
	OwnerReinstated             Action = "iam.organization.owner_reinstated"
	LeaverRemoved               Action = "iam.organization.leaver_removed" // from the organization and all its workspaces

	OperatorAdded   Action = "iam.operator.added" // or given other permissions
	OperatorRemoved Action = "iam.operator.removed"

	// Requests of one operator that another one confirms.
	OperatorRequested Action = "ops.request.created"
	OperatorApproved  Action = "ops.request.approved"
	OperatorRejected  Action = "ops.request.rejected"

	UserCreated  Action = "iam.user.created"
	UserDisabled Action = "iam.user.disabled"
	UserEnabled  Action = "iam.user.enabled"
	UserRenamed  Action = "iam.user.renamed"
	AccessDenied Action = "iam.access.denied"

	EntryCreated  Action = "directory.entry.created"
	EntryUpdated  Action = "directory.entry.updated"
	EntryDeleted  Action = "directory.entry.deleted"
	EntryRestored Action = "directory.entry.restored"
	EntryPurged   Action = "directory.entry.purged"
	EntryMerged   Action = "directory.entry.merged"
	EntryUnmerged Action = "directory.entry.unmerged"

	ImportHeld       Action = "directory.import.held"
	ImportStarted    Action = "directory.import.started"
	ImportCompleted  Action = "directory.import.completed"
	ImportFailed     Action = "directory.import.failed"
	ImportCancelled  Action = "directory.import.cancelled"
	ImportDownloaded Action = "directory.import.downloaded"
	ImportRevealed   Action = "directory.import.revealed"

	ImportApproved  Action = "directory.import.approved"
	ImportRejected  Action = "directory.import.rejected"
	ImportWithdrawn Action = "directory.import.withdrawn"
	ImportExpired   Action = "directory.import.expired"

	BulkStarted   Action = "directory.bulk.started"
	BulkCompleted Action = "directory.bulk.completed"
	BulkFailed    Action = "directory.bulk.failed"
	BulkCancelled Action = "directory.bulk.cancelled"

	BulkApproved  Action = "directory.bulk.approved"
	BulkRejected  Action = "directory.bulk.rejected"
	BulkWithdrawn Action = "directory.bulk.withdrawn"
	BulkExpired   Action = "directory.bulk.expired"
	BulkRevealed  Action = "directory.bulk.revealed"

	DirectoryExported Action = "directory.exported" // the whole directory

	TagCreated Action = "directory.tag.created"
	TagUpdated Action = "directory.tag.updated"
	TagDeleted Action = "directory.tag.deleted"

	ReceivingMethodAdded    Action = "directory.receiving_method.added"
	ReceivingMethodUpdated  Action = "directory.receiving_method.updated"
	ReceivingMethodRemoved  Action = "directory.receiving_method.removed"
	ReceivingMethodRevealed Action = "directory.receiving_method.revealed"

	ReceivingMethodApproved  Action = "directory.receiving_method.approved"
	ReceivingMethodRejected  Action = "directory.receiving_method.rejected"
	ReceivingMethodWithdrawn Action = "directory.receiving_method.withdrawn"
	ReceivingMethodExpired   Action = "directory.receiving_method.expired"
	ReceivingMethodActivated Action = "directory.receiving_method.activated"

	// Changes of a payee's identity, activations and merges.
	PayeeIdentityApproved  Action = "directory.entry.identity_approved"
	PayeeIdentityRejected  Action = "directory.entry.identity_rejected"
	PayeeIdentityWithdrawn Action = "directory.entry.identity_withdrawn"
	PayeeIdentityExpired   Action = "directory.entry.identity_expired"

	ReceivingPolicyUpdated   Action = "iam.workspace.receiving_policy_updated"
	ReceivingPolicyRequested Action = "iam.workspace.receiving_policy_requested"
	ReceivingPolicyApproved  Action = "iam.workspace.receiving_policy_approved"
	ReceivingPolicyRejected  Action = "iam.workspace.receiving_policy_rejected"
	ReceivingPolicyWithdrawn Action = "iam.workspace.receiving_policy_withdrawn"
	ReceivingPolicyExpired   Action = "iam.workspace.receiving_policy_expired"

	LedgerAccountCreated  Action = "money.account.created"
	LedgerAccountUpdated  Action = "money.account.updated"
	LedgerAccountFrozen   Action = "money.account.frozen"
	LedgerAccountUnfrozen Action = "money.account.unfrozen"
	LedgerAccountClosed   Action = "money.account.closed"

	LedgerUnfreezeRequested Action = "money.account.unfreeze_requested" // of a live account; needs a second person
	LedgerUnfreezeApproved  Action = "money.account.unfreeze_approved"
	LedgerUnfreezeRejected  Action = "money.account.unfreeze_rejected"
	LedgerUnfreezeWithdrawn Action = "money.account.unfreeze_withdrawn"
	LedgerUnfreezeExpired   Action = "money.account.unfreeze_expired"

	TransferCreated  Action = "money.transfer.created"
	DepositAnnounced Action = "money.deposit.announced"
	DepositBooked    Action = "money.deposit.booked"

	PayoutCreated   Action = "payout.request.created"
	PayoutUpdated   Action = "payout.request.updated"
	PayoutPublished Action = "payout.request.published"
	PayoutApproved  Action = "payout.request.approved"
	PayoutRejected  Action = "payout.request.rejected"
	PayoutWithdrawn Action = "payout.request.withdrawn"
	PayoutExpired   Action = "payout.request.expired"
	PayoutCancelled Action = "payout.request.cancelled"
	PayoutRetried   Action = "payout.request.retried"
	PayoutRevealed  Action = "payout.request.revealed"

	PayoutResolved         Action = "payout.request.resolved" // a person found out whether it was paid
	PayoutResolveRequested Action = "payout.request.resolve_requested"
	PayoutResolveRejected  Action = "payout.request.resolve_rejected"
	PayoutResolveWithdrawn Action = "payout.request.resolve_withdrawn"
	PayoutResolveExpired   Action = "payout.request.resolve_expired"

	PayoutRecheckApproved  Action = "payout.recheck.approved" // a payout that a stricter limit or rule held
	PayoutRecheckRejected  Action = "payout.recheck.rejected"
	PayoutRecheckWithdrawn Action = "payout.recheck.withdrawn"
	PayoutRecheckExpired   Action = "payout.recheck.expired"

	PayoutBatchCreated   Action = "payout.batch.created"
	PayoutBatchApproved  Action = "payout.batch.approved"
	PayoutBatchRejected  Action = "payout.batch.rejected"
	PayoutBatchWithdrawn Action = "payout.batch.withdrawn"
	PayoutBatchExpired   Action = "payout.batch.expired"
	PayoutRuleCreated    Action = "payout.rule.created"
	PayoutRuleRemoved    Action = "payout.rule.removed"
	PayoutRuleRequested  Action = "payout.rule.requested" // a change that loosens the rules
	PayoutRuleApproved   Action = "payout.rule.approved"
	PayoutRuleRejected   Action = "payout.rule.rejected"
	PayoutRuleWithdrawn  Action = "payout.rule.withdrawn"
	PayoutRuleExpired    Action = "payout.rule.expired"

	PayoutLimitCreated   Action = "payout.limit.created"
	PayoutLimitUpdated   Action = "payout.limit.updated"
	PayoutLimitRemoved   Action = "payout.limit.removed"
	PayoutLimitRequested Action = "payout.limit.requested"
	PayoutLimitApproved  Action = "payout.limit.approved"
	PayoutLimitRejected  Action = "payout.limit.rejected"
	PayoutLimitWithdrawn Action = "payout.limit.withdrawn"
	PayoutLimitExpired   Action = "payout.limit.expired"

	PayoutSendingStopped   Action = "payout.sending.stopped"
	PayoutSendingResumed   Action = "payout.sending.resumed"
	PayoutSendingRequested Action = "payout.sending.requested" // to resume live payouts; needs a second person
	PayoutSendingApproved  Action = "payout.sending.approved"
	PayoutSendingRejected  Action = "payout.sending.rejected"
	PayoutSendingWithdrawn Action = "payout.sending.withdrawn"
	PayoutSendingExpired   Action = "payout.sending.expired"

	// The outcomes of payouts at their rails.
	PayoutSent        Action = "payout.request.sent"
	PayoutNotReceived Action = "payout.request.not_received"
	PayoutUnknown     Action = "payout.request.outcome_unknown"
	PayoutAttention   Action = "payout.request.needs_attention"
	PayoutCompleted   Action = "payout.request.completed"
	PayoutFailed      Action = "payout.request.failed"
	PayoutReversed    Action = "payout.request.reversed"
	PayoutSettled     Action = "payout.request.settled" // the bank's statement shows it
	PayoutSimulated   Action = "payout.request.simulated"
	// PayoutAcknowledged is about a payout that was missing in a restored store.
	PayoutAcknowledged      Action = "payout.request.acknowledged"
	SimulatedServiceChanged Action = "rail.service.simulated"
	RailsResumed            Action = "rail.service.resumed" // all of them, after a restore
	RailAdopted             Action = "rail.service.adopted" // the folder of a connector
	MoneySuspended          Action = "money.suspense.added"

	DeviceApproved    Action = "auth.device.approved"
	DeviceDenied      Action = "auth.device.denied"
	SessionCreated    Action = "auth.session.created"
	SessionRevoked    Action = "auth.session.revoked"
	KeyCreated        Action = "auth.key.created"
	KeyRotated        Action = "auth.key.rotated"
	KeyRevoked        Action = "auth.key.revoked"
	ClientCreated     Action = "auth.client.created"
	ClientRotated     Action = "auth.client.rotated"
	ClientRevoked     Action = "auth.client.revoked"
	ClientSecretEnded Action = "auth.client.secret_ended" // because the person who knew it has left
	SigningKeyRotated Action = "auth.signing_key.rotated"
	VaultKeyReplaced  Action = "auth.vault_key.replaced"
	VaultKeyRotated   Action = "auth.vault_key.rotated"
	VaultResealed     Action = "auth.vault_key.resealed"
	IntegrityKeyMade  Action = "auth.integrity_key.created"
	LoginFailed       Action = "auth.login.failed"

	LinkCreated       Action = "auth.link.created"
	UserRecovered     Action = "auth.account.recovered"
	FactorsReset      Action = "auth.account.reset"
	UserBound         Action = "auth.account.bound"
	PasswordChanged   Action = "auth.password.changed"
	PasskeyAdded      Action = "auth.passkey.added"
	PasskeyRemoved    Action = "auth.passkey.removed"
	TOTPEnabled       Action = "auth.totp.enabled"
	TOTPDisabled      Action = "auth.totp.disabled"
	RecoveryCodesMade Action = "auth.recovery_codes.created"
	RecoveryCodeUsed  Action = "auth.recovery_codes.used"

	// These have two parts only: they are about their whole area.
	AuditExported  Action = "audit.exported"
	AuditRestarted Action = "audit.restarted"
	AuditErased    Action = "audit.erased"
	StoreArchived  Action = "audit.archived" // with the whole store
	StoreRestored  Action = "audit.restored" // with the whole store, from an archive
)

// definition describes an action.
type definition struct {
	action        Action
	resource      ResourceType // the kind of thing that it changes; empty if it changes nothing
	title         string       // in the console
	changesAccess bool         // caches of sessions, memberships, roles and payout rules become stale
}

// definitions lists every action, in the order in which the console shows them.
func definitions() []definition {
	return []definition{
		{MemberAdded, Member, "Added member", true},
		{MemberInvited, Member, "Invited member", false},
		{MemberAccepted, Member, "Accepted invitation", true},
		{MemberDeclined, Member, "Declined invitation", false},
		{MemberRemoved, Member, "Removed member", true},
		{MemberSuspended, Member, "Suspended access", true},
		{MemberReinstated, Member, "Confirmed suspended access", true},
		{MemberRoleAssigned, Member, "Assigned role", true},
		{MemberRoleRemoved, Member, "Removed role", true},
		{MemberGrantRequested, Member, "Requested role for member", false},
		{MemberGrantApproved, Member, "Approved role for member", true},
		{MemberGrantRejected, Member, "Rejected role for member", false},
		{MemberGrantWithdrawn, Member, "Withdrew role for member", false},
		{MemberGrantExpired, Member, "Role request expired", false},
		{ApproverAppointed, Member, "Appointed approver", true},
		{RoleCreated, Role, "Created role", true},
		{RoleUpdated, Role, "Updated role", true},
		{RoleDeleted, Role, "Deleted role", true},
		{RoleChangeRequested, Role, "Requested more permissions for role", false},
		{RoleChangeApproved, Role, "Approved more permissions for role", true},
		{RoleChangeRejected, Role, "Rejected more permissions for role", false},
		{RoleChangeWithdrawn, Role, "Withdrew more permissions for role", false},
		{RoleChangeExpired, Role, "Request for more permissions expired", false},
		{WorkspaceCreated, Workspace, "Created workspace", true},
		{WorkspaceUpdated, Workspace, "Updated workspace", true},
		{SecondPersonExtended, Workspace, "Extended two-person period", true},
		{OrganizationCreated, Organization, "Created organization", true},
		{OrganizationSettingsUpdated, Organization, "Updated organization settings", true},
		{OwnerAdded, Organization, "Added owner", true},
		{OwnerRemoved, Organization, "Removed owner", true},
		{OwnerSuspended, Organization, "Suspended owner", true},
		{OwnerReinstated, Organization, "Confirmed suspended owner", true},
		{LeaverRemoved, Organization, "Removed leaver", true},
		{OperatorAdded, UserResource, "Added operator", true},
		{OperatorRemoved, UserResource, "Removed operator", true},
		{OperatorRequested, OperatorRequest, "Created operator request", false},
		{OperatorApproved, OperatorRequest, "Approved operator request", false},
		{OperatorRejected, OperatorRequest, "Rejected operator request", false},
		{UserCreated, UserResource, "Created user", false},
		{UserDisabled, UserResource, "Disabled user", true},
		{UserEnabled, UserResource, "Enabled user", true},
		{UserRenamed, UserResource, "Renamed user", true},
		{AccessDenied, "", "Access denied", false},
		{EntryCreated, DirectoryEntry, "Created entry", false},
		{EntryUpdated, DirectoryEntry, "Updated entry", false},
		{EntryDeleted, DirectoryEntry, "Deleted entry", false},
		{EntryRestored, DirectoryEntry, "Restored entry", false},
		{EntryPurged, DirectoryEntry, "Permanently deleted entry", false},
		{EntryMerged, DirectoryEntry, "Merged entry", false},
		{EntryUnmerged, DirectoryEntry, "Unmerged entry", false},
		{ImportHeld, DirectoryImport, "Uploaded import file", false},
		{ImportStarted, DirectoryImport, "Started import", false},
		{ImportCompleted, DirectoryImport, "Completed import", false},
		{ImportFailed, DirectoryImport, "Import failed", false},
		{ImportCancelled, DirectoryImport, "Cancelled import", false},
		{ImportDownloaded, DirectoryImport, "Downloaded import lines", false},
		{ImportRevealed, DirectoryImport, "Revealed account numbers of import", false},
		{ImportApproved, DirectoryImport, "Approved import", false},
		{ImportRejected, DirectoryImport, "Rejected import", false},
		{ImportWithdrawn, DirectoryImport, "Withdrew import", false},
		{ImportExpired, DirectoryImport, "Import expired", false},
		{BulkStarted, DirectoryBulk, "Started bulk change", false},
		{BulkCompleted, DirectoryBulk, "Completed bulk change", false},
		{BulkFailed, DirectoryBulk, "Bulk change failed", false},
		{BulkCancelled, DirectoryBulk, "Cancelled bulk change", false},
		{BulkApproved, DirectoryBulk, "Approved bulk change", false},
		{BulkRejected, DirectoryBulk, "Rejected bulk change", false},
		{BulkWithdrawn, DirectoryBulk, "Withdrew bulk change", false},
		{BulkExpired, DirectoryBulk, "Bulk change expired", false},
		{BulkRevealed, DirectoryBulk, "Revealed account numbers of bulk change", false},
		{DirectoryExported, Directory, "Exported directory", false},
		{TagCreated, DirectoryTag, "Created tag", false},
		{TagUpdated, DirectoryTag, "Updated tag", false},
		{TagDeleted, DirectoryTag, "Deleted tag", false},
		{ReceivingMethodAdded, ReceivingMethod, "Added receiving method", false},
		{ReceivingMethodUpdated, ReceivingMethod, "Updated receiving method", false},
		{ReceivingMethodRemoved, ReceivingMethod, "Removed receiving method", false},
		{ReceivingMethodRevealed, DirectoryEntry, "Revealed account numbers", false},
		{ReceivingMethodApproved, ReceivingMethod, "Approved receiving method", false},
		{ReceivingMethodRejected, ReceivingMethod, "Rejected receiving method", false},
		{ReceivingMethodWithdrawn, ReceivingMethod, "Withdrew receiving method", false},
		{ReceivingMethodExpired, ReceivingMethod, "Receiving method expired", false},
		{ReceivingMethodActivated, ReceivingMethod, "Activated receiving method", false},
		{PayeeIdentityApproved, DirectoryEntry, "Approved change of payee", false},
		{PayeeIdentityRejected, DirectoryEntry, "Rejected change of payee", false},
		{PayeeIdentityWithdrawn, DirectoryEntry, "Withdrew change of payee", false},
		{PayeeIdentityExpired, DirectoryEntry, "Change of payee expired", false},
		{ReceivingPolicyUpdated, Workspace, "Updated receiving policy", true},
		{ReceivingPolicyRequested, Workspace, "Requested looser receiving policy", false},
		{ReceivingPolicyApproved, Workspace, "Approved looser receiving policy", true},
		{ReceivingPolicyRejected, Workspace, "Rejected looser receiving policy", false},
		{ReceivingPolicyWithdrawn, Workspace, "Withdrew looser receiving policy", false},
		{ReceivingPolicyExpired, Workspace, "Request for looser receiving policy expired", false},
		{LedgerAccountCreated, LedgerAccount, "Opened account", false},
		{LedgerAccountUpdated, LedgerAccount, "Updated account", false},
		{LedgerAccountFrozen, LedgerAccount, "Froze account", false},
		{LedgerAccountUnfrozen, LedgerAccount, "Unfroze account", false},
		{LedgerAccountClosed, LedgerAccount, "Closed account", false},
		{LedgerUnfreezeRequested, LedgerAccount, "Requested to unfreeze account", false},
		{LedgerUnfreezeApproved, LedgerAccount, "Approved unfreezing of account", false},
		{LedgerUnfreezeRejected, LedgerAccount, "Rejected unfreezing of account", false},
		{LedgerUnfreezeWithdrawn, LedgerAccount, "Withdrew request to unfreeze account", false},
		{LedgerUnfreezeExpired, LedgerAccount, "Request to unfreeze account expired", false},
		{TransferCreated, Transfer, "Transferred between accounts", false},
		{DepositAnnounced, Deposit, "Announced deposit", false},
		{DepositBooked, Deposit, "Booked deposit", false},
		{PayoutCreated, PayoutRequest, "Requested payout", false},
		{PayoutUpdated, PayoutRequest, "Edited draft payout", false},
		{PayoutPublished, PayoutRequest, "Submitted payout", false},
		{PayoutApproved, PayoutRequest, "Approved payout", false},
		{PayoutRejected, PayoutRequest, "Rejected payout", false},
		{PayoutWithdrawn, PayoutRequest, "Withdrew payout", false},
		{PayoutExpired, PayoutRequest, "Payout expired", false},
		{PayoutCancelled, PayoutRequest, "Cancelled payout", false},
		{PayoutRetried, PayoutRequest, "Retried payout", false},
		{PayoutRevealed, PayoutRequest, "Revealed account number of payout", false},
		{PayoutResolved, PayoutRequest, "Resolved payout", false},
		{PayoutResolveRequested, PayoutRequest, "Requested to resolve payout", false},
		{PayoutResolveRejected, PayoutRequest, "Rejected resolution of payout", false},
		{PayoutResolveWithdrawn, PayoutRequest, "Withdrew resolution of payout", false},
		{PayoutResolveExpired, PayoutRequest, "Resolution of payout expired", false},
		{PayoutRecheckApproved, PayoutRequest, "Released held payout", false},
		{PayoutRecheckRejected, PayoutRequest, "Rejected held payout", false},
		{PayoutRecheckWithdrawn, PayoutRequest, "Withdrew held payout", false},
		{PayoutRecheckExpired, PayoutRequest, "Held payout expired", false},
		{PayoutBatchCreated, PayoutBatch, "Requested batch payout", false},
		{PayoutBatchApproved, PayoutBatch, "Approved batch payout", false},
		{PayoutBatchRejected, PayoutBatch, "Rejected batch payout", false},
		{PayoutBatchWithdrawn, PayoutBatch, "Withdrew batch payout", false},
		{PayoutBatchExpired, PayoutBatch, "Batch payout expired", false},
		{PayoutRuleCreated, PayoutRule, "Created approval rule", true},
		{PayoutRuleRemoved, PayoutRule, "Removed approval rule", true},
		{PayoutRuleRequested, PayoutRule, "Requested looser approval rule", false},
		{PayoutRuleApproved, PayoutRule, "Approved looser approval rule", true},
		{PayoutRuleRejected, PayoutRule, "Rejected looser approval rule", false},
		{PayoutRuleWithdrawn, PayoutRule, "Withdrew request for looser approval rule", false},
		{PayoutRuleExpired, PayoutRule, "Request for looser approval rule expired", false},
		{PayoutLimitCreated, PayoutLimit, "Created payout limit", true},
		{PayoutLimitUpdated, PayoutLimit, "Updated payout limit", true},
		{PayoutLimitRemoved, PayoutLimit, "Removed payout limit", true},
		{PayoutLimitRequested, PayoutLimit, "Requested higher payout limit", false},
		{PayoutLimitApproved, PayoutLimit, "Approved higher payout limit", true},
		{PayoutLimitRejected, PayoutLimit, "Rejected higher payout limit", false},
		{PayoutLimitWithdrawn, PayoutLimit, "Withdrew request for higher payout limit", false},
		{PayoutLimitExpired, PayoutLimit, "Request for higher payout limit expired", false},
		{PayoutSendingStopped, Workspace, "Stopped sending", true},
		{PayoutSendingResumed, Workspace, "Resumed sending", true},
		{PayoutSendingRequested, Workspace, "Requested to resume sending", false},
		{PayoutSendingApproved, Workspace, "Approved resuming sending", true},
		{PayoutSendingRejected, Workspace, "Rejected resuming sending", false},
		{PayoutSendingWithdrawn, Workspace, "Withdrew request to resume sending", false},
		{PayoutSendingExpired, Workspace, "Request to resume sending expired", false},
		{PayoutSent, PayoutRequest, "Sent payout", false},
		{PayoutNotReceived, PayoutRequest, "Payout not received by rail", false},
		{PayoutUnknown, PayoutRequest, "Payout outcome unknown", false},
		{PayoutAttention, PayoutRequest, "Payout needs attention", false},
		{PayoutCompleted, PayoutRequest, "Completed payout", false},
		{PayoutFailed, PayoutRequest, "Payout failed", false},
		{PayoutReversed, PayoutRequest, "Payout returned", false},
		{PayoutSettled, PayoutRequest, "Settled payout", false},
		{PayoutSimulated, PayoutRequest, "Simulated payout event", false},
		{PayoutAcknowledged, PayoutRequest, "Acknowledged payout sent before restore", false},
		{SimulatedServiceChanged, RailService, "Changed simulated service", true},
		{RailsResumed, RailService, "Resumed rails", false},
		{RailAdopted, RailService, "Adopted connector folder", false},
		{MoneySuspended, Suspense, "Booked to suspense", false},
		{DeviceApproved, DeviceCode, "Approved device", false},
		{DeviceDenied, DeviceCode, "Denied device", false},
		{SessionCreated, Session, "Signed in", false},
		{SessionRevoked, Session, "Ended session", true},
		{KeyCreated, Key, "Created API key", false},
		{KeyRotated, Key, "Rotated API key", true},
		{KeyRevoked, Key, "Revoked API key", true},
		{ClientCreated, ClientResource, "Created machine client", false},
		{ClientRotated, ClientResource, "Rotated machine client", true},
		{ClientRevoked, ClientResource, "Revoked machine client", true},
		{ClientSecretEnded, ClientResource, "Secret ended machine client", true},
		{SigningKeyRotated, SigningKey, "Rotated signing key", true},
		{VaultKeyReplaced, VaultKey, "Replaced vault key", true},
		{VaultKeyRotated, VaultKey, "Rotated vault key", false},
		{VaultResealed, VaultKey, "Resealed vault key", true},
		{IntegrityKeyMade, VaultKey, "Created integrity key", false},
		{LoginFailed, "", "Failed sign-in", false},
		{LinkCreated, UserResource, "Created sign-in link", false},
		{UserRecovered, UserResource, "Recovered account", true},
		{FactorsReset, UserResource, "Reset sign-in methods", true},
		{UserBound, UserResource, "First single sign-on", false},
		{PasswordChanged, UserResource, "Changed password", true},
		{PasskeyAdded, Passkey, "Added passkey", true},
		{PasskeyRemoved, Passkey, "Removed passkey", false},
		{TOTPEnabled, UserResource, "Enabled authenticator app", true},
		{TOTPDisabled, UserResource, "Disabled authenticator app", false},
		{RecoveryCodesMade, UserResource, "Created recovery codes", false},
		{RecoveryCodeUsed, UserResource, "Used recovery code", false},
		{AuditExported, Log, "Exported audit log", false},
		{AuditRestarted, Log, "Restarted audit log", false},
		{AuditErased, Log, "Erased audit entries", false},
		{StoreArchived, Log, "Archived store", false},
		{StoreRestored, Log, "Restored store", true},
	}
}
