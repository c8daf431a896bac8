package api

// The states of an import.
const (
	ImportHeld      = "held" // uploaded, and waits to be started
	ImportQueued    = "queued"
	ImportRunning   = "running"
	ImportCompleted = "completed"
	ImportFailed    = "failed"
	ImportCancelled = "cancelled"
)

// Import is a file that is imported into a directory.
type Import struct {
	ID          string `json:"id"`
	WorkspaceID string `json:"workspace_id"`
	Name        string `json:"name,omitzero"` // name of the file
	Status      string `json:"status"`
	Format      string `json:"format"`
	DryRun      bool   `json:"dry_run"`
	Bytes       int64  `json:"bytes"`    // size of the file
	Position    int64  `json:"position"` // bytes processed
	Lines       int64  `json:"lines"`    // lines processed
	Created     int64  `json:"created"`
	Updated     int64  `json:"updated"`
	Unchanged   int64  `json:"unchanged"`
	Refused     int64  `json:"refused"`
	Rate        int64  `json:"rate"` // lines per second
	Reason      string `json:"reason,omitzero"`
	StartedBy   string `json:"started_by,omitzero"` // name of the person who sent the file or started it
	CreatedAt   int64  `json:"created_at"`
	HeldUntil   int64  `json:"held_until,omitzero"` // when a held file expires
	StartedAt   int64  `json:"started_at,omitzero"`
	EndedAt     int64  `json:"ended_at,omitzero"`

	// ApprovalID is the approval of the changes to receiving methods, pending or decided.
	ApprovalID string `json:"approval_id,omitzero"`

	Preview *ImportPreview `json:"preview,omitzero"` // for a held file
}

// Rehearsed reports whether a held file had a dry run. Its counts are then the result of that run.
func (i Import) Rehearsed() bool { return i.Status == ImportHeld && i.StartedAt > 0 }

// ImportPreview shows the start of a held file. Account numbers are masked.
type ImportPreview struct {
	Columns []string          `json:"columns"`
	Mapping map[string]string `json:"mapping"` // suggested meaning of each column
	Rows    [][]string        `json:"rows"`

	DefaultType string `json:"default_type,omitzero"` // this and the following are the most recent settings
	Match       string `json:"match"`
	OnMatch     string `json:"on_match"`
}

// ImportStart sets how a held file is imported. Omitted fields keep their values from the upload.
type ImportStart struct {
	Mapping     map[string]string `json:"mapping,omitzero"`
	DefaultType *string           `json:"default_type,omitzero"`
	Match       *string           `json:"match,omitzero"`
	OnMatch     *string           `json:"on_match,omitzero"`
	DryRun      bool              `json:"dry_run,omitzero"`
}

// Ended reports whether the import has ended.
func (i Import) Ended() bool { return i.EndedAt > 0 }

// ImportLine is the dry-run result for one line of the file.
type ImportLine struct {
	Line    int      `json:"line"`
	Action  string   `json:"action"` // created, updated, unchanged or refused
	ID      string   `json:"id,omitzero"`
	Label   string   `json:"label"`
	Type    string   `json:"type,omitzero"`
	Changes []string `json:"changes,omitempty"`
	Reason  string   `json:"reason,omitzero"`
	// Duplicates lists possible duplicates of a new entry, if the request asked for them.
	Duplicates []Duplicate `json:"duplicates,omitempty"`
}

// Limits of a batch.
const (
	MaxBatch = 1000
	// BatchCost is the number of items that count as one request of the rate limit.
	BatchCost = 100
)

// BatchItem is one entry of a batch: an update if ID is set, or else a new entry.
type BatchItem struct {
	ID   string `json:"id,omitzero"`
	Type string `json:"type,omitzero"`
	EntryUpdate
}

// Batch is a request to create and update many entries.
type Batch struct {
	WorkspaceID string      `json:"workspace_id" required:"true"`
	Items       []BatchItem `json:"items" required:"true"`
	// Atomic applies either all items or none.
	Atomic bool `json:"atomic,omitzero"`
}

// BatchResult contains the results of the items of a batch, in the order of the request.
type BatchResult struct {
	Results []BatchItemResult `json:"results"`
}

// BatchItemResult is the result of one item. Error is set if it was refused.
type BatchItemResult struct {
	Status string      `json:"status"` // created, updated, unchanged or refused
	ID     string      `json:"id,omitzero"`
	Error  *BatchError `json:"error,omitzero"`
	// Duplicates lists possible duplicates of a new entry, if the request asked for them.
	Duplicates []Duplicate `json:"duplicates,omitempty"`
	// ApprovalID is the approval that part of the change waits for.
	ApprovalID string `json:"approval_id,omitzero"`
}

// BatchError is the reason why an item was refused.
type BatchError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}
