package api

// LeaverRemove names the person who leaves an organization, by their address or their id.
type LeaverRemove struct {
	Email  *string `json:"email,omitzero"`
	UserID *string `json:"user_id,omitzero"`
	// DryRun answers with the checklist and changes nothing.
	DryRun bool `json:"dry_run,omitzero"`
}

// Leaver is what a person loses who leaves an organization, and what waits for them.
type Leaver struct {
	OrganizationID string `json:"organization_id"`
	// UserID is empty for a person who has accepted no invitation.
	UserID string `json:"user_id,omitzero"`
	Email  string `json:"email"`
	Name   string `json:"name,omitzero"`
	// Removed is false for a dry run.
	Removed bool `json:"removed"`

	Owner       bool               `json:"owner"`
	Memberships []LeaverMembership `json:"memberships"`
	Invitations []LeaverInvitation `json:"invitations"`
	Clients     []LeaverClient     `json:"clients"`
	APIKeys     []LeaverKey        `json:"api_keys"`

	// LastAdminOf are the workspaces that would be left without an admin, and LastOwner is whether the organization would be left
	// without an owner: either keeps the person from being removed.
	LastAdminOf []NamedWorkspace `json:"last_admin_of,omitzero"`
	LastOwner   bool             `json:"last_owner,omitzero"`

	Tasks     []LeaverTask `json:"tasks"`
	MoreTasks bool         `json:"more_tasks,omitzero"` // there are more than were listed
}

// NamedWorkspace is a workspace with what people call it.
type NamedWorkspace struct {
	WorkspaceID   string `json:"workspace_id"`
	WorkspaceName string `json:"workspace_name"`
}

// LeaverMembership is a membership of a leaver; its status is "active" or "invited".
type LeaverMembership struct {
	NamedWorkspace
	Roles  []string `json:"roles"`
	Status string   `json:"status"`
}

// LeaverInvitation is one that a leaver made and that was not accepted.
type LeaverInvitation struct {
	NamedWorkspace
	ID    string `json:"id"`
	Email string `json:"email"`
}

// LeaverClient is a machine client whose secret a leaver was shown.
type LeaverClient struct {
	NamedWorkspace
	ID   string `json:"id"`
	Name string `json:"name"`
}

// LeaverKey is an API key of a leaver that is good for workspaces of the organization only.
type LeaverKey struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// What can wait for a leaver.
const (
	TaskRequest  = "request"  // an approval that they asked for
	TaskDecision = "decision" // an approval that cannot be decided without them
	TaskDraft    = "draft"    // a payout that they have not submitted
	TaskClient   = "client"   // a machine client that they made
)

// LeaverTask is something that waits for a leaver, and who can take over.
type LeaverTask struct {
	NamedWorkspace
	Kind string `json:"kind"`
	ID   string `json:"id"`
	// What is the kind of an approval, or the name of a machine client.
	What string `json:"what,omitzero"`
	// TakeOver lists up to ten people.
	TakeOver []User `json:"take_over"`
}

// LastAdminDetails names the workspaces that would be left without an admin.
type LastAdminDetails struct {
	Workspaces []NamedWorkspace `json:"workspaces"`
}
