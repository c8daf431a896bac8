package api

// LeaverRemove identifies the person who leaves an organization, by email address or id.
type LeaverRemove struct {
	Email  *string `json:"email,omitzero"`
	UserID *string `json:"user_id,omitzero"`
	// DryRun returns the checklist and changes nothing.
	DryRun bool `json:"dry_run,omitzero"`
}

// Leaver describes the access that a leaver loses and the tasks that wait for them.
type Leaver struct {
	OrganizationID string `json:"organization_id"`
	// UserID is empty if the person has not accepted an invitation.
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

	// LastAdminOf lists the workspaces that would be left without an admin. LastOwner reports whether the organization would be left
	// without an owner. Either prevents the removal.
	LastAdminOf []NamedWorkspace `json:"last_admin_of,omitzero"`
	LastOwner   bool             `json:"last_owner,omitzero"`

	Tasks     []LeaverTask `json:"tasks"`
	MoreTasks bool         `json:"more_tasks,omitzero"` // there are more tasks than listed
}

// NamedWorkspace is a workspace with its name.
type NamedWorkspace struct {
	WorkspaceID   string `json:"workspace_id"`
	WorkspaceName string `json:"workspace_name"`
}

// LeaverMembership is a membership of a leaver. Its status is "active" or "invited".
type LeaverMembership struct {
	NamedWorkspace
	Roles  []string `json:"roles"`
	Status string   `json:"status"`
}

// LeaverInvitation is a pending invitation that a leaver sent.
type LeaverInvitation struct {
	NamedWorkspace
	ID    string `json:"id"`
	Email string `json:"email"`
}

// LeaverClient is a machine client whose secret was shown to a leaver.
type LeaverClient struct {
	NamedWorkspace
	ID   string `json:"id"`
	Name string `json:"name"`
}

// LeaverKey is an API key of a leaver that is valid only for workspaces of the organization.
type LeaverKey struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// Kinds of tasks that can wait for a leaver.
const (
	TaskRequest  = "request"  // an approval that they requested
	TaskDecision = "decision" // an approval that cannot be decided without them
	TaskDraft    = "draft"    // a payout that they have not submitted
	TaskClient   = "client"   // a machine client that they created
)

// LeaverTask is a task that waits for a leaver, with the people who can take it over.
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
