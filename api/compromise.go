package api

// CompromisedKey is the result of revoking an API key that someone else may have. It contains the access that was granted through the key
// and is suspended.
type CompromisedKey struct {
	ID      string `json:"id"`
	Revoked bool   `json:"revoked"`
	// InvitationsEnded is the number of invitations that ended before they were accepted.
	InvitationsEnded int64 `json:"invitations_ended"`
	// Suspended contains the first thousand of SuspendedCount.
	Suspended       []SuspendedAccess `json:"suspended"`
	SuspendedCount  int64             `json:"suspended_count"`
	SuspendedOwners []SuspendedOwner  `json:"suspended_owners"`
	// Activity selects the actions of the key, of keys created with it, and of their successors. It contains filters of GET /v1/audit.
	Activity KeyActivity `json:"activity"`
}

// KeyActivity are filters of the audit log.
type KeyActivity struct {
	Actor string `json:"actor"`
	KeyID string `json:"key_id"`
	From  int64  `json:"from"`
	To    int64  `json:"to"`
}

// SuspendedAccess is a membership, or a role of a member, that was granted with a compromised API key. An admin confirms or removes it.
type SuspendedAccess struct {
	ID          string   `json:"id"`
	WorkspaceID string   `json:"workspace_id"`
	UserID      string   `json:"user_id"`
	Email       string   `json:"email,omitzero"`
	Name        string   `json:"name,omitzero"`
	KeyID       string   `json:"key_id"`
	Kind        string   `json:"kind"`
	Roles       []string `json:"roles"`
	SuspendedAt int64    `json:"suspended_at"`
	// LastAdmin reports that nothing was suspended, because the workspace has no other admin.
	LastAdmin bool `json:"last_admin,omitzero"`
}

// SuspendedOwner is an owner who was added through a compromised API key. Another owner, added by other means, confirms or removes them.
type SuspendedOwner struct {
	ID             string `json:"id"`
	OrganizationID string `json:"organization_id"`
	UserID         string `json:"user_id"`
	Email          string `json:"email,omitzero"`
	Name           string `json:"name,omitzero"`
	KeyID          string `json:"key_id"`
	SuspendedAt    int64  `json:"suspended_at"`
	// LastOwner reports that nothing was suspended, because the organization has no other owner.
	LastOwner bool `json:"last_owner,omitzero"`
}
