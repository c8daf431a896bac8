package api

// What is done with a new entry that may be a double of another.
const (
	OnDuplicateAllow  = "allow"  // it is created, and nobody looks for doubles
	OnDuplicateWarn   = "warn"   // it is created, and the answer lists the others
	OnDuplicateRefuse = "refuse" // it is not created, and the error lists the others
)

// OnDuplicates lists what can be done with doubles.
func OnDuplicates() []string { return []string{OnDuplicateAllow, OnDuplicateWarn, OnDuplicateRefuse} }

// Limits of what is about doubles.
const (
	MaxDuplicates   = 10 // that an answer lists
	MaxMergeSources = 20
)

// Duplicate is an entry that may be the same as another one.
type Duplicate struct {
	ID    string `json:"id"`
	Label string `json:"label"`
	// Reasons say what both have in common: external_id, email, phone, account or name. A bank
	// account that two share is no reason to merge them.
	Reasons []string `json:"reasons"`
}

// Duplicates are the entries that may be the same as one.
type Duplicates struct {
	Duplicates []Duplicate `json:"duplicates"`
}

// MergeRequest says which entries are merged into another.
type MergeRequest struct {
	Sources []string `json:"sources" required:"true"` // ids
	// Fields say whose value is taken: the id of the target or of a source by name, label, status,
	// external_id or fields.KEY. What is not named stays as the target has it, or comes from the
	// first source that has it.
	Fields map[string]string `json:"fields,omitzero"`
	// DryRun answers what the merge would change, and changes nothing.
	DryRun bool `json:"dry_run,omitzero"`
}

// Merge is a merge of entries into one.
type Merge struct {
	ID          string   `json:"id,omitzero"` // absent in a rehearsal
	WorkspaceID string   `json:"workspace_id"`
	TargetID    string   `json:"target_id"`
	Sources     []string `json:"sources"`
	// Changes are what changes about the target itself, and Tags and ReceivingMethods what it gets
	// beside that, by name and by id. Only the answer to the merge has them.
	Changes          []AuditChange `json:"changes,omitempty"`
	Tags             []string      `json:"tags,omitempty"`
	ReceivingMethods []string      `json:"receiving_methods,omitempty"`
	CreatedAt        int64         `json:"created_at,omitzero"`
	UndoUntil        int64         `json:"undo_until,omitzero"` // when it can no longer be undone
	UndoneAt         int64         `json:"undone_at,omitzero"`
	// ApprovalID is the approval that the merge, or its undo, waits for.
	ApprovalID string `json:"approval_id,omitzero"`
}
