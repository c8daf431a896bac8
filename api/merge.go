package api

// How possible duplicates of a new entry are handled.
const (
	OnDuplicateAllow  = "allow"  // create the entry without a check for duplicates
	OnDuplicateWarn   = "warn"   // create the entry and list its possible duplicates in the response
	OnDuplicateRefuse = "refuse" // refuse the entry and list its possible duplicates in the error
)

// OnDuplicates returns the ways to handle duplicates.
func OnDuplicates() []string { return []string{OnDuplicateAllow, OnDuplicateWarn, OnDuplicateRefuse} }

// Limits of duplicates and merges.
const (
	MaxDuplicates   = 10 // listed in one response
	MaxMergeSources = 20
)

// Duplicate is an entry that may be a duplicate of another.
type Duplicate struct {
	ID    string `json:"id"`
	Label string `json:"label"`
	// Reasons lists what both have in common: external_id, email, phone, account or name. A shared bank account is no reason to merge them.
	Reasons []string `json:"reasons"`
}

// Duplicates contains the possible duplicates of an entry.
type Duplicates struct {
	Duplicates []Duplicate `json:"duplicates"`
}

// MergeRequest merges entries into another.
type MergeRequest struct {
	Sources []string `json:"sources" required:"true"` // ids
	// Fields sets whose value wins, as the id of the target or of a source. Its keys are name, label, status, external_id and fields.KEY.
	// Without an entry, the value of the target stays; if it has none, the value of the first source that has one is taken.
	Fields map[string]string `json:"fields,omitzero"`
	// DryRun returns what the merge would change, and changes nothing.
	DryRun bool `json:"dry_run,omitzero"`
}

// Merge is a merge of entries into one.
type Merge struct {
	ID          string   `json:"id,omitzero"` // absent in a dry run
	WorkspaceID string   `json:"workspace_id"`
	TargetID    string   `json:"target_id"`
	Sources     []string `json:"sources"`
	// Changes contains the changes of the target itself. Tags contains the names of the tags that it gains, and ReceivingMethods the ids of
	// the methods. All three are only in the response to the merge.
	Changes          []AuditChange `json:"changes,omitempty"`
	Tags             []string      `json:"tags,omitempty"`
	ReceivingMethods []string      `json:"receiving_methods,omitempty"`
	CreatedAt        int64         `json:"created_at,omitzero"`
	UndoUntil        int64         `json:"undo_until,omitzero"` // end of the time in which it can be undone
	UndoneAt         int64         `json:"undone_at,omitzero"`
	// ApprovalID is the approval that the merge, or its undo, waits for.
	ApprovalID string `json:"approval_id,omitzero"`
}
