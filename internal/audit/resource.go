package audit

// ResourceType is the kind of thing that an action changes.
type ResourceType string

const (
	Member          ResourceType = "member"
	Role            ResourceType = "role"
	Workspace       ResourceType = "workspace"
	Organization    ResourceType = "organization"
	UserResource    ResourceType = "user"
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
	ClientResource  ResourceType = "client"
	SigningKey      ResourceType = "signing_key"
	VaultKey        ResourceType = "vault_key"
	Passkey         ResourceType = "passkey"
	Log             ResourceType = "audit"
)
