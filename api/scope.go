package api

// ScopeRequest describes what a new credential is limited to, within what its maker may do.
type ScopeRequest struct {
	Permissions  []string `json:"permissions,omitzero"`   // all that its owner holds if nil
	WorkspaceIDs []string `json:"workspace_ids,omitzero"` // all of its owner's workspaces if nil
	Mode         *string  `json:"mode,omitzero"`          // ModeSandbox, ModeLive or "both"; both if nil
	// Administer allows it to make what outlives it, such as members and further keys.
	Administer bool `json:"administer,omitzero"`
}

// Scope is what a credential is limited to, within what its owner may do.
type Scope struct {
	Permissions  []string `json:"permissions,omitzero"`   // nil is all that its owner holds
	WorkspaceIDs []string `json:"workspace_ids,omitzero"` // nil is all of its owner's workspaces
	Mode         string   `json:"mode"`                   // ModeSandbox, ModeLive or "both"
	Administer   bool     `json:"administer"`             // it can make what outlives it
}
