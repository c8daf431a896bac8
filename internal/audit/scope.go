package audit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
)

// The modes that a scope can be limited to.
const (
	SandboxMode = "sandbox"
	LiveMode    = "live"
	BothModes   = "both"
)

// Scope limits a credential to a part of what its user may do. The zero value has no limits, but does not allow administration.
type Scope struct {
	Permissions  []string `json:"permissions,omitzero"`   // nil means all
	WorkspaceIDs []string `json:"workspace_ids,omitzero"` // nil means all
	Mode         string   `json:"mode,omitzero"`          // "" means both
	// Administer allows a key or a machine client to create things that outlive it, such as members and further keys. People need
	// a recent login for that instead.
	Administer bool `json:"administer,omitzero"`
}

// ParseScope parses the text that String returns.
func ParseScope(text string) (s Scope, err error) {
	if text == "" {
		return s, nil
	}
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return s, fmt.Errorf("read the scope of a credential: %w", err)
	}
	return s, nil
}

// String returns the scope as stored.
func (s Scope) String() string {
	text, _ := json.Marshal(s, json.Deterministic(true)) // texts and a boolean can always be encoded
	if string(text) == "{}" {
		return ""
	}
	return string(text)
}

// Within returns the intersection of two scopes.
func (s Scope) Within(other Scope) Scope {
	s.Permissions = narrower(s.Permissions, other.Permissions)
	s.WorkspaceIDs = narrower(s.WorkspaceIDs, other.WorkspaceIDs)
	switch {
	case s.Mode == "" || s.Mode == BothModes:
		s.Mode = other.Mode
	case other.Mode != "" && other.Mode != BothModes && other.Mode != s.Mode:
		s.Mode, s.WorkspaceIDs = "none", []string{}
	}
	s.Administer = s.Administer && other.Administer
	return s
}

// narrower returns the intersection of two lists, where nil means everything.
func narrower(a, b []string) []string {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return slices.DeleteFunc(slices.Clone(a), func(one string) bool { return !slices.Contains(b, one) })
}

// InWorkspace reports whether the scope includes a workspace.
func (s Scope) InWorkspace(id string) bool {
	return s.WorkspaceIDs == nil || slices.Contains(s.WorkspaceIDs, id)
}

// InMode reports whether the scope includes money of a mode, SandboxMode or LiveMode.
func (s Scope) InMode(mode string) bool {
	return s.Mode == "" || s.Mode == BothModes || s.Mode == mode
}

// Limited reports whether the scope excludes permissions, workspaces or a mode.
func (s Scope) Limited() bool {
	return s.Permissions != nil || s.WorkspaceIDs != nil || s.Mode != "" && s.Mode != BothModes
}

// WorkspaceList returns the workspaces as one text for a list query: "" means all of them.
func (s Scope) WorkspaceList() string {
	if s.WorkspaceIDs == nil {
		return ""
	}
	return "in " + strings.Join(s.WorkspaceIDs, " ")
}
