package api

// ScopeRequest limits a new credential, within the permissions of its creator.
type ScopeRequest struct {
	Permissions  []string `json:"permissions,omitzero"`   // all that its owner holds if nil
	WorkspaceIDs []string `json:"workspace_ids,omitzero"` // all of its owner's workspaces if nil
	Mode         *string  `json:"mode,omitzero"`          // ModeSandbox, ModeLive or "both"; both if nil
	// Administer lets the credential create what outlives it, such as members and other keys.
	Administer bool `json:"administer,omitzero"`
}

// Scope limits a credential, within the permissions of its owner.
type Scope struct {
	Permissions  []string `json:"permissions,omitzero"`   // nil is all that its owner holds
	WorkspaceIDs []string `json:"workspace_ids,omitzero"` // nil is all of its owner's workspaces
	Mode         string   `json:"mode"`                   // ModeSandbox, ModeLive or "both"
	Administer   bool     `json:"administer"`             // can create what outlives it
}
