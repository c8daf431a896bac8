package audit

import "strings"

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

	// What one operator asks for and another one confirms.
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

	DirectoryExported Action = "directory.exported" // all of it, as the audit log below

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

	// A change of what a payee is known by, an activation or a merge.
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

	LedgerUnfreezeRequested Action = "money.account.unfreeze_requested" // of a live account, which takes two people
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

	PayoutResolved         Action = "payout.request.resolved" // people found out whether it was paid
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
	PayoutRuleRequested  Action = "payout.rule.requested" // a change after which payouts are guarded less
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
	PayoutSendingRequested Action = "payout.sending.requested" // to resume live payouts, which takes two people
	PayoutSendingApproved  Action = "payout.sending.approved"
	PayoutSendingRejected  Action = "payout.sending.rejected"
	PayoutSendingWithdrawn Action = "payout.sending.withdrawn"
	PayoutSendingExpired   Action = "payout.sending.expired"

	// What becomes of payouts at their rails.
	PayoutSent      Action = "payout.request.sent"
	PayoutNeverCame Action = "payout.request.never_came"
	PayoutUnknown   Action = "payout.request.outcome_unknown"
	PayoutAttention Action = "payout.request.needs_attention"
	PayoutCompleted Action = "payout.request.completed"
	PayoutFailed    Action = "payout.request.failed"
	PayoutReversed  Action = "payout.request.reversed"
	PayoutSettled   Action = "payout.request.settled" // the bank's statement shows it
	PayoutDriven    Action = "payout.request.driven"
	// PayoutAcknowledged is about a payout that a restored store did not know.
	PayoutAcknowledged Action = "payout.request.acknowledged"
	ServiceDriven      Action = "rail.service.driven"
	RailsResumed       Action = "rail.service.resumed" // all of them, after a restore
	RailAdopted        Action = "rail.service.adopted" // the folder of a connector
	MoneySuspended     Action = "money.suspense.added"

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
	AccountRecovered  Action = "auth.account.recovered"
	FactorsReset      Action = "auth.account.reset"
	AccountBound      Action = "auth.account.bound"
	PasswordChanged   Action = "auth.password.changed"
	PasskeyAdded      Action = "auth.passkey.added"
	PasskeyRemoved    Action = "auth.passkey.removed"
	TOTPEnabled       Action = "auth.totp.enabled"
	TOTPDisabled      Action = "auth.totp.disabled"
	RecoveryCodesMade Action = "auth.recovery_codes.created"
	RecoveryCodeUsed  Action = "auth.recovery_codes.used"

	// These have two parts only: they are about the whole of their area.
	AuditExported  Action = "audit.exported"
	AuditRestarted Action = "audit.restarted"
	AuditErased    Action = "audit.erased"
	StoreArchived  Action = "audit.archived" // with the whole store
	StoreRestored  Action = "audit.restored" // with the whole store, from an archive
)

// Actions lists all actions in the order in which the console shows them.
func Actions() []Action {
	return []Action{
		MemberAdded, MemberInvited, MemberAccepted, MemberDeclined, MemberRemoved, MemberSuspended, MemberReinstated, MemberRoleAssigned, MemberRoleRemoved,
		MemberGrantRequested, MemberGrantApproved, MemberGrantRejected, MemberGrantWithdrawn, MemberGrantExpired, ApproverAppointed,
		RoleCreated, RoleUpdated, RoleDeleted, RoleChangeRequested, RoleChangeApproved, RoleChangeRejected, RoleChangeWithdrawn, RoleChangeExpired,
		WorkspaceCreated, WorkspaceUpdated, SecondPersonExtended, OrganizationCreated,
		OrganizationSettingsUpdated, OwnerAdded, OwnerRemoved, OwnerSuspended, OwnerReinstated, LeaverRemoved,
		OperatorAdded, OperatorRemoved, OperatorRequested, OperatorApproved, OperatorRejected, UserCreated, UserDisabled, UserEnabled, UserRenamed, AccessDenied,
		EntryCreated, EntryUpdated, EntryDeleted, EntryRestored, EntryPurged, EntryMerged, EntryUnmerged,
		ImportHeld, ImportStarted, ImportCompleted, ImportFailed, ImportCancelled,
		ImportDownloaded, ImportRevealed, ImportApproved, ImportRejected, ImportWithdrawn, ImportExpired,
		BulkStarted, BulkCompleted, BulkFailed, BulkCancelled, BulkApproved, BulkRejected, BulkWithdrawn, BulkExpired, BulkRevealed, DirectoryExported, TagCreated, TagUpdated,
		TagDeleted, ReceivingMethodAdded, ReceivingMethodUpdated, ReceivingMethodRemoved, ReceivingMethodRevealed, ReceivingMethodApproved,
		ReceivingMethodRejected, ReceivingMethodWithdrawn, ReceivingMethodExpired, ReceivingMethodActivated,
		PayeeIdentityApproved, PayeeIdentityRejected, PayeeIdentityWithdrawn, PayeeIdentityExpired, ReceivingPolicyUpdated,
		ReceivingPolicyRequested, ReceivingPolicyApproved, ReceivingPolicyRejected, ReceivingPolicyWithdrawn, ReceivingPolicyExpired,
		LedgerAccountCreated, LedgerAccountUpdated, LedgerAccountFrozen, LedgerAccountUnfrozen, LedgerAccountClosed,
		LedgerUnfreezeRequested, LedgerUnfreezeApproved, LedgerUnfreezeRejected, LedgerUnfreezeWithdrawn, LedgerUnfreezeExpired, TransferCreated,
		DepositAnnounced, DepositBooked,
		PayoutCreated, PayoutUpdated, PayoutPublished, PayoutApproved, PayoutRejected, PayoutWithdrawn, PayoutExpired, PayoutCancelled, PayoutRetried, PayoutRevealed,
		PayoutResolved, PayoutResolveRequested, PayoutResolveRejected, PayoutResolveWithdrawn, PayoutResolveExpired,
		PayoutRecheckApproved, PayoutRecheckRejected, PayoutRecheckWithdrawn, PayoutRecheckExpired,
		PayoutBatchCreated, PayoutBatchApproved, PayoutBatchRejected, PayoutBatchWithdrawn, PayoutBatchExpired,
		PayoutRuleCreated, PayoutRuleRemoved, PayoutRuleRequested, PayoutRuleApproved, PayoutRuleRejected, PayoutRuleWithdrawn, PayoutRuleExpired,
		PayoutLimitCreated, PayoutLimitUpdated, PayoutLimitRemoved, PayoutLimitRequested, PayoutLimitApproved, PayoutLimitRejected,
		PayoutLimitWithdrawn, PayoutLimitExpired,
		PayoutSendingStopped, PayoutSendingResumed, PayoutSendingRequested, PayoutSendingApproved, PayoutSendingRejected, PayoutSendingWithdrawn, PayoutSendingExpired,
		PayoutSent, PayoutNeverCame, PayoutUnknown, PayoutAttention, PayoutCompleted, PayoutFailed, PayoutReversed, PayoutSettled, PayoutDriven, PayoutAcknowledged, ServiceDriven, RailsResumed, RailAdopted, MoneySuspended,
		DeviceApproved,
		DeviceDenied, SessionCreated, SessionRevoked, KeyCreated, KeyRotated, KeyRevoked, ClientCreated,
		ClientRotated, ClientRevoked, ClientSecretEnded, SigningKeyRotated, VaultKeyReplaced, VaultKeyRotated, VaultResealed, IntegrityKeyMade, LoginFailed, LinkCreated, AccountRecovered,
		FactorsReset, AccountBound, PasswordChanged, PasskeyAdded, PasskeyRemoved, TOTPEnabled, TOTPDisabled, RecoveryCodesMade,
		RecoveryCodeUsed, AuditExported, AuditRestarted, AuditErased, StoreArchived, StoreRestored,
	}
}

func (a Action) changesAccess() bool {
	switch a {
	case SessionRevoked, StoreRestored, KeyRotated, KeyRevoked, ClientRotated, ClientRevoked, ClientSecretEnded, SigningKeyRotated, AccountRecovered, FactorsReset, PasswordChanged,
		VaultKeyReplaced, VaultResealed, // servers read their keys again
		PasskeyAdded, TOTPEnabled, // which may be the second factor that a session needs
		PayoutRuleCreated, PayoutRuleRemoved, PayoutRuleApproved, // what payouts need is remembered, too
		PayoutLimitCreated, PayoutLimitUpdated, PayoutLimitRemoved, PayoutLimitApproved,
		PayoutSendingStopped, PayoutSendingResumed, PayoutSendingApproved,
		ServiceDriven: // as is how the services of a sandbox are
		return true
	case UserCreated, AccessDenied, MemberInvited, MemberDeclined,
		MemberGrantRequested, MemberGrantRejected, MemberGrantWithdrawn, MemberGrantExpired,
		RoleChangeRequested, RoleChangeRejected, RoleChangeWithdrawn, RoleChangeExpired,
		ReceivingPolicyRequested, ReceivingPolicyRejected, ReceivingPolicyWithdrawn, ReceivingPolicyExpired:
		return false
	}
	return strings.HasPrefix(string(a), "iam.")
}

// ResourceType is the kind of thing that an action changes.
type ResourceType string

const (
	Member          ResourceType = "member"
	Role            ResourceType = "role"
	Workspace       ResourceType = "workspace"
	Organization    ResourceType = "organization"
	UserAccount     ResourceType = "user"
	DirectoryEntry  ResourceType = "directory_entry"
	DirectoryImport ResourceType = "directory_import"
	DirectoryBulk   ResourceType = "directory_bulk"
	Directory       ResourceType = "directory"
	DirectoryTag    ResourceType = "directory_tag"
	ReceivingMethod ResourceType = "receiving_method"
	LedgerAccount   ResourceType = "account"
	Transfer        ResourceType = "transfer"
	Deposit         ResourceType = "deposit"
	PayoutRequest   ResourceType = "payout_request"
	PayoutBatch     ResourceType = "payout_batch"
	PayoutRule      ResourceType = "payout_rule"
	PayoutLimit     ResourceType = "payout_limit"
	RailService     ResourceType = "service"
	Suspense        ResourceType = "suspense"
	OperatorRequest ResourceType = "operator_request"
	DeviceCode      ResourceType = "device_code"
	Session         ResourceType = "session"
	Key             ResourceType = "api_key"
	ClientAccount   ResourceType = "client"
	SigningKey      ResourceType = "signing_key"
	VaultKey        ResourceType = "vault_key"
	Passkey         ResourceType = "passkey"
	Log             ResourceType = "audit"
)

// Resource returns the kind of thing that the action changes, which the middle of its
// name tells. A refused request and a failed login change nothing, so they have none.
func (a Action) Resource() ResourceType {
	switch a {
	case AuditExported, AuditRestarted, AuditErased, StoreArchived, StoreRestored:
		return Log
	case DirectoryExported:
		return Directory
	case ReceivingMethodRevealed:
		return DirectoryEntry // an entry shows the numbers of all its methods at once
	}
	parts := strings.Split(string(a), ".")
	if len(parts) != 3 {
		return ""
	}
	switch parts[0] + "." + parts[1] {
	case "iam.member":
		return Member
	case "iam.role":
		return Role
	case "iam.workspace", "payout.sending":
		return Workspace
	case "iam.organization":
		return Organization
	case "ops.request":
		return OperatorRequest
	case "iam.user", "iam.operator", "auth.link", "auth.account", "auth.password", "auth.totp", "auth.recovery_codes":
		return UserAccount
	case "directory.entry":
		return DirectoryEntry
	case "directory.import":
		return DirectoryImport
	case "directory.bulk":
		return DirectoryBulk
	case "directory.tag":
		return DirectoryTag
	case "directory.receiving_method":
		return ReceivingMethod
	case "money.account":
		return LedgerAccount
	case "money.transfer":
		return Transfer
	case "money.deposit":
		return Deposit
	case "payout.request", "payout.recheck":
		return PayoutRequest
	case "payout.batch":
		return PayoutBatch
	case "payout.rule":
		return PayoutRule
	case "payout.limit":
		return PayoutLimit
	case "rail.service":
		return RailService
	case "money.suspense":
		return Suspense
	case "auth.device":
		return DeviceCode
	case "auth.session":
		return Session
	case "auth.key":
		return Key
	case "auth.client":
		return ClientAccount
	case "auth.signing_key":
		return SigningKey
	case "auth.vault_key", "auth.integrity_key":
		return VaultKey
	case "auth.passkey":
		return Passkey
	}
	return ""
}
