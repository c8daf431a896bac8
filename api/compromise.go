package api

// CompromisedKey is the answer to revoking an API key that someone else may have: what came through it and is suspended.
type CompromisedKey struct {
	ID      string `json:"id"`
	Revoked bool   `json:"revoked"`
	// InvitationsEnded is how many invitations ended that no one had accepted.
	InvitationsEnded int64             `json:"invitations_ended"`
	Suspended        []SuspendedAccess `json:"suspended"`
	// Activity selects what was done with API keys of the account while this one worked: the filters of GET /v1/audit.
	Activity KeyActivity `json:"activity"`
}

// KeyActivity are filters of the audit log.
type KeyActivity struct {
	Actor string `json:"actor"`
	From  int64  `json:"from"`
	To    int64  `json:"to"`
}

// SuspendedAccess is a membership, or a role of a member, that was given with a compromised API key. An admin confirms or removes it.
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
	// LastAdmin means that nothing was suspended, because the workspace has no other admin.
	LastAdmin bool `json:"last_admin,omitzero"`
}
