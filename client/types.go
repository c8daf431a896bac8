package client

import "bursar/api"

// Results of the API, defined in package api.
type (
	APIKey               = api.APIKey
	Account              = api.Account
	AccountBalances      = api.AccountBalances
	Approval             = api.Approval
	ApprovalLine         = api.ApprovalLine
	ApprovalLines        = api.ApprovalLines
	ApprovalResult       = api.ApprovalResult
	ApprovalRule         = api.ApprovalRule
	ApprovalsDecided     = api.ApprovalsDecided
	AuditEntry           = api.AuditEntry
	AuditFeed            = api.AuditFeed
	AuditProof           = api.AuditProof
	Batch                = api.Batch
	BatchItem            = api.BatchItem
	BatchResult          = api.BatchResult
	Bulk                 = api.Bulk
	CompromisedKey       = api.CompromisedKey
	Created              = api.Created
	Deleted              = api.Deleted
	Deposit              = api.Deposit
	DeviceCode           = api.DeviceCode
	DeviceCodeStatus     = api.DeviceCodeStatus
	DeviceDecision       = api.DeviceDecision
	Duplicate            = api.Duplicate
	Duplicates           = api.Duplicates
	Entry                = api.Entry
	EntrySummary         = api.EntrySummary
	Import               = api.Import
	ImportLine           = api.ImportLine
	ImportPreview        = api.ImportPreview
	ImportStart          = api.ImportStart
	Institution          = api.Institution
	InstitutionRail      = api.InstitutionRail
	Invitation           = api.Invitation
	InvitationDecision   = api.InvitationDecision
	Leaver               = api.Leaver
	LeaverTask           = api.LeaverTask
	Logout               = api.Logout
	MachineClient        = api.MachineClient
	Me                   = api.Me
	Member               = api.Member
	MemberAdded          = api.MemberAdded
	MemberRemoved        = api.MemberRemoved
	Merge                = api.Merge
	NewAPIKey            = api.NewAPIKey
	NewMachineClient     = api.NewMachineClient
	OpsDecision          = api.OpsDecision
	OpsRequest           = api.OpsRequest
	Organization         = api.Organization
	Ownership            = api.Ownership
	Payout               = api.Payout
	PayoutAttempt        = api.PayoutAttempt
	PayoutBatch          = api.PayoutBatch
	PayoutBatchResult    = api.PayoutBatchResult
	PayoutFailure        = api.PayoutFailure
	PayoutFault          = api.PayoutFault
	PayoutLimit          = api.PayoutLimit
	PayoutReceipt        = api.PayoutReceipt
	PayoutRehearsal      = api.PayoutRehearsal
	PayoutSending        = api.PayoutSending
	PayoutStop           = api.PayoutStop
	Posting              = api.Posting
	PreviousAPIKey       = api.PreviousAPIKey
	ReceivingMethod      = api.ReceivingMethod
	ReceivingPolicy      = api.ReceivingPolicy
	Restored             = api.Restored
	Revoked              = api.Revoked
	Role                 = api.Role
	RoleAssignment       = api.RoleAssignment
	RoleDeleted          = api.RoleDeleted
	Scope                = api.Scope
	SecondPersonExtended = api.SecondPersonExtended
	ServiceHealth        = api.ServiceHealth
	Session              = api.Session
	SettlementAccount    = api.SettlementAccount
	SuspendedAccess      = api.SuspendedAccess
	SuspendedOwner       = api.SuspendedOwner
	Tag                  = api.Tag
	Transfer             = api.Transfer
	User                 = api.User
	Workspace            = api.Workspace
)

// Parameters of the API, defined in package api. A nil pointer omits a field.
type (
	AccountCreateParams         = api.AccountCreate
	AccountUpdateParams         = api.AccountUpdate
	ApprovalApproveParams       = api.ApprovalApprove
	ApprovalDecideParams        = api.ApprovalDecide
	ApprovalRejectParams        = api.ApprovalReject
	ApprovalShown               = api.ApprovalShown
	ApprovalRuleParams          = api.ApprovalRuleCreate
	BulkFilter                  = api.BulkFilter
	BulkParams                  = api.BulkCreate
	EntryCreateParams           = api.EntryCreate
	EntryUpdateParams           = api.EntryUpdate
	Field                       = api.Field
	Fields                      = api.Fields
	MemberAddParams             = api.MemberAdd
	MergeParams                 = api.MergeRequest
	LeaverRemoveParams          = api.LeaverRemove
	OrganizationCreateParams    = api.OrganizationCreate
	OrganizationUpdateParams    = api.SettingsUpdate
	PayoutApproveParams         = api.PayoutApprove
	PayoutBatchParams           = api.PayoutBatchCreate
	PayoutCancelParams          = api.PayoutCancel
	PayoutStopParams            = api.PayoutStopRequest
	PayoutResumeParams          = api.PayoutResumeRequest
	PayoutCreateParams          = api.PayoutCreate
	PayoutLimitParams           = api.PayoutLimitSet
	PayoutRejectParams          = api.PayoutReject
	PayoutResolveParams         = api.PayoutResolve
	PayoutTerms                 = api.PayoutTerms
	PayoutUpdateParams          = api.PayoutUpdate
	ReceivingMethodParams       = api.ReceivingMethodCreate
	ReceivingMethodUpdateParams = api.ReceivingMethodUpdate
	ReceivingPolicyParams       = api.ReceivingPolicyUpdate
	RoleParams                  = api.RoleDefine
	ScopeParams                 = api.ScopeRequest
	SimulatedDepositParams      = api.SimulatedDeposit
	SimulatedReasonParams       = api.SimulatedReason
	SimulatedServiceParams      = api.SimulatedService
	TagCreateParams             = api.TagCreate
	TagUpdateParams             = api.TagUpdate
	TransferParams              = api.TransferCreate
	WorkspaceCreateParams       = api.WorkspaceCreate
	WorkspaceUpdateParams       = api.WorkspaceUpdate
)

// The modes and states of accounts, and the parts of their money.
const (
	ModeSandbox     = api.ModeSandbox
	ModeLive        = api.ModeLive
	AccountActive   = api.AccountActive
	AccountFrozen   = api.AccountFrozen
	AccountClosed   = api.AccountClosed
	BucketAvailable = api.BucketAvailable
	BucketReserved  = api.BucketReserved
	BucketPending   = api.BucketPending
)

// The states of a payout. [PayoutPublished] is not a state: it requests a payout that is submitted at once.
const (
	PayoutDraft      = api.PayoutDraft
	PayoutInitiated  = api.PayoutInitiated
	PayoutPending    = api.PayoutPending
	PayoutProcessing = api.PayoutProcessing
	PayoutCompleted  = api.PayoutCompleted
	PayoutFailed     = api.PayoutFailed
	PayoutCancelled  = api.PayoutCancelled
	PayoutReversed   = api.PayoutReversed
	PayoutPublished  = api.PayoutPublished
)

// Resolutions of a payout that needs attention.
const (
	ResolvePaid    = api.ResolvePaid
	ResolveNotPaid = api.ResolveNotPaid
)

// Results of a payout of a batch.
const (
	BatchCreated = api.BatchCreated
	BatchExisted = api.BatchExisted
	BatchRefused = api.BatchRefused
	BatchValid   = api.BatchValid
)

// The types and states of directory entries, and what a tag can apply to.
const (
	TypePerson       = api.TypePerson
	TypeOrganization = api.TypeOrganization
	StatusActive     = api.StatusActive
	StatusInactive   = api.StatusInactive
	AppliesToAll     = api.AppliesToAll
)

// How possible duplicates of a new entry are handled.
const (
	OnDuplicateAllow  = api.OnDuplicateAllow
	OnDuplicateWarn   = api.OnDuplicateWarn
	OnDuplicateRefuse = api.OnDuplicateRefuse
)

// TextField returns a field of an entry with a string value.
func TextField(key, text string) Field { return api.TextField(key, text) }

// NullField returns a field that removes its key in an update.
func NullField(key string) Field { return api.NullField(key) }

// FieldsOf returns the fields of an entry from a value that encodes to a JSON object, such as a map or a struct.
func FieldsOf(value any) (Fields, error) { return api.FieldsOf(value) }

// ParseFields parses the fields of an entry from a JSON object. It keeps the order of keys and the digits of numbers.
func ParseFields(text []byte) (Fields, error) { return api.ParseFields(text) }
