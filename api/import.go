package api

// The states of an import.
const (
	ImportHeld      = "held" // its file waits for somebody to start it
	ImportQueued    = "queued"
	ImportRunning   = "running"
	ImportCompleted = "completed"
	ImportFailed    = "failed"
	ImportCancelled = "cancelled"
)

// Import is a file that is brought into a directory.
type Import struct {
	ID          string `json:"id"`
	WorkspaceID string `json:"workspace_id"`
	Name        string `json:"name,omitzero"` // of the file
	Status      string `json:"status"`
	Format      string `json:"format"`
	DryRun      bool   `json:"dry_run"`
	Bytes       int64  `json:"bytes"`    // of the file
	Position    int64  `json:"position"` // how many of them are dealt with
	Lines       int64  `json:"lines"`    // that are dealt with
	Created     int64  `json:"created"`
	Updated     int64  `json:"updated"`
	Unchanged   int64  `json:"unchanged"`
	Refused     int64  `json:"refused"`
	Rate        int64  `json:"rate"` // lines a second
	Reason      string `json:"reason,omitzero"`
	StartedBy   string `json:"started_by,omitzero"` // the name of who sent the file, or started it
	CreatedAt   int64  `json:"created_at"`
	HeldUntil   int64  `json:"held_until,omitzero"` // when a held file is given up
	StartedAt   int64  `json:"started_at,omitzero"`
	EndedAt     int64  `json:"ended_at,omitzero"`

	// ApprovalID is the approval that the changes of where money goes wait for, or were decided by.
	ApprovalID string `json:"approval_id,omitzero"`

	Preview *ImportPreview `json:"preview,omitzero"` // of a held file
}

// Rehearsed says whether a held file was rehearsed: then the counts are what it would do.
func (i Import) Rehearsed() bool { return i.Status == ImportHeld && i.StartedAt > 0 }

// ImportPreview is how a held file begins. Account numbers are masked in it.
type ImportPreview struct {
	Columns []string          `json:"columns"`
	Mapping map[string]string `json:"mapping"` // what each column probably means
	Rows    [][]string        `json:"rows"`

	DefaultType string `json:"default_type,omitzero"` // these are as they were said last
	Match       string `json:"match"`
	OnMatch     string `json:"on_match"`
}

// ImportStart says how a held file is imported. What it leaves out is as the upload said.
type ImportStart struct {
	Mapping     map[string]string `json:"mapping,omitzero"`
	DefaultType *string           `json:"default_type,omitzero"`
	Match       *string           `json:"match,omitzero"`
	OnMatch     *string           `json:"on_match,omitzero"`
	DryRun      bool              `json:"dry_run,omitzero"`
}

// Ended says whether nothing will become of the import any more.
func (i Import) Ended() bool { return i.EndedAt > 0 }

// ImportLine is what a rehearsal says of one line of its file.
type ImportLine struct {
	Line    int      `json:"line"`
	Action  string   `json:"action"` // created, updated, unchanged or refused
	ID      string   `json:"id,omitzero"`
	Label   string   `json:"label"`
	Type    string   `json:"type,omitzero"`
	Changes []string `json:"changes,omitempty"`
	Reason  string   `json:"reason,omitzero"`
	// Duplicates are entries of which a new one may be a double, if the request asked for them.
	Duplicates []Duplicate `json:"duplicates,omitempty"`
}

// Limits of a batch.
const (
	MaxBatch = 1000
	// BatchCost is how many items count as one request of the rate limit.
	BatchCost = 100
)

// BatchItem is an entry of a batch: an update of the one with the id or, without one, a new entry.
type BatchItem struct {
	ID   string `json:"id,omitzero"`
	Type string `json:"type,omitzero"`
	EntryUpdate
}

// Batch is a request to create and update many entries.
type Batch struct {
	WorkspaceID string      `json:"workspace_id" required:"true"`
	Items       []BatchItem `json:"items" required:"true"`
	// Atomic means that nothing is done unless all of it can be.
	Atomic bool `json:"atomic,omitzero"`
}

// BatchResult tells what became of the items of a batch, in their order.
type BatchResult struct {
	Results []BatchItemResult `json:"results"`
}

// BatchItemResult is what became of one item. Error is set where it was refused.
type BatchItemResult struct {
	Status string      `json:"status"` // created, updated, unchanged or refused
	ID     string      `json:"id,omitzero"`
	Error  *BatchError `json:"error,omitzero"`
	// Duplicates are entries of which a new one may be a double, if the request asked for them.
	Duplicates []Duplicate `json:"duplicates,omitempty"`
	// ApprovalID is the approval that a part of the change waits for.
	ApprovalID string `json:"approval_id,omitzero"`
}

// BatchError says why an item was refused.
type BatchError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}
