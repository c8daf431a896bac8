package client

import "bursar/api"

// Answers of the API. Package api defines them.
type (
	APIKey             = api.APIKey
	Approval           = api.Approval
	AuditEntry         = api.AuditEntry
	AuditFeed          = api.AuditFeed
	AuditProof         = api.AuditProof
	Batch              = api.Batch
	BatchItem          = api.BatchItem
	BatchResult        = api.BatchResult
	Bulk               = api.Bulk
	Created            = api.Created
	Deleted            = api.Deleted
	DeviceCode         = api.DeviceCode
	DeviceCodeStatus   = api.DeviceCodeStatus
	DeviceDecision     = api.DeviceDecision
	Duplicate          = api.Duplicate
	Duplicates         = api.Duplicates
	Entry              = api.Entry
	EntrySummary       = api.EntrySummary
	Import             = api.Import
	ImportLine         = api.ImportLine
	ImportPreview      = api.ImportPreview
	ImportStart        = api.ImportStart
	Invitation         = api.Invitation
	InvitationDecision = api.InvitationDecision
	Logout             = api.Logout
	MachineClient      = api.MachineClient
	Member             = api.Member
	MemberAdded        = api.MemberAdded
	MemberRemoved      = api.MemberRemoved
	Merge              = api.Merge
	NewAPIKey          = api.NewAPIKey
	NewMachineClient   = api.NewMachineClient
	Organization       = api.Organization
	Ownership          = api.Ownership
	PreviousAPIKey     = api.PreviousAPIKey
	ReceivingMethod    = api.ReceivingMethod
	ReceivingPolicy    = api.ReceivingPolicy
	Restored           = api.Restored
	Revoked            = api.Revoked
	Role               = api.Role
	RoleAssignment     = api.RoleAssignment
	RoleDeleted        = api.RoleDeleted
	Session            = api.Session
	Tag                = api.Tag
	User               = api.User
	Workspace          = api.Workspace
)

// Parameters of the API's requests. Package api defines them. A pointer that is nil
// leaves something out.
type (
	ApprovalApproveParams       = api.ApprovalApprove
	ApprovalRejectParams        = api.ApprovalReject
	BulkFilter                  = api.BulkFilter
	BulkParams                  = api.BulkCreate
	EntryCreateParams           = api.EntryCreate
	EntryUpdateParams           = api.EntryUpdate
	Field                       = api.Field
	Fields                      = api.Fields
	MemberAddParams             = api.MemberAdd
	MergeParams                 = api.MergeRequest
	OrganizationCreateParams    = api.OrganizationCreate
	OrganizationUpdateParams    = api.SettingsUpdate
	ReceivingMethodParams       = api.ReceivingMethodCreate
	ReceivingMethodUpdateParams = api.ReceivingMethodUpdate
	ReceivingPolicyParams       = api.ReceivingPolicyUpdate
	RoleParams                  = api.RoleDefine
	TagCreateParams             = api.TagCreate
	TagUpdateParams             = api.TagUpdate
	WorkspaceCreateParams       = api.WorkspaceCreate
	WorkspaceUpdateParams       = api.WorkspaceUpdate
)

// The types and states of directory entries, and what a tag can apply to.
const (
	TypePerson       = api.TypePerson
	TypeOrganization = api.TypeOrganization
	StatusActive     = api.StatusActive
	StatusInactive   = api.StatusInactive
	AppliesToAll     = api.AppliesToAll
)

// What becomes of a new entry that may be a double of another.
const (
	OnDuplicateAllow  = api.OnDuplicateAllow
	OnDuplicateWarn   = api.OnDuplicateWarn
	OnDuplicateRefuse = api.OnDuplicateRefuse
)

// TextField makes a field of an entry whose value is a text.
func TextField(key, text string) Field { return api.TextField(key, text) }

// NullField makes a field that removes its key from an entry that is updated.
func NullField(key string) Field { return api.NullField(key) }

// FieldsOf makes the fields of an entry from a map, a struct or whatever else is
// encoded as a JSON object.
func FieldsOf(value any) (Fields, error) { return api.FieldsOf(value) }

// ParseFields reads the fields of an entry from a JSON object, and keeps the order
// of keys and the digits of numbers.
func ParseFields(text []byte) (Fields, error) { return api.ParseFields(text) }
