package api

// What a bulk can do to entries.
const (
	BulkTag        = "tag"
	BulkUntag      = "untag"
	BulkActivate   = "activate"
	BulkDeactivate = "deactivate"
	BulkDelete     = "delete"
	BulkRestore    = "restore" // only to undo a deletion
)

// BulkActions lists what can be asked of a bulk.
func BulkActions() []string {
	return []string{BulkTag, BulkUntag, BulkActivate, BulkDeactivate, BulkDelete}
}

// MaxBulk is how many entries a bulk changes at once; a larger one is a job.
const MaxBulk = 1000

// BulkCreate asks for one change of many entries: those with the ids, or those that match.
type BulkCreate struct {
	WorkspaceID string      `json:"workspace_id" required:"true"`
	IDs         []string    `json:"ids,omitempty"`
	Filter      *BulkFilter `json:"filter,omitzero"`
	Action      string      `json:"action" required:"true"`
	Tag         *string     `json:"tag,omitzero"` // of BulkTag and BulkUntag, by name or id
}

// BulkFilter says which entries match, as the filters of the list do. An empty one is all of them.
type BulkFilter struct {
	Type       *string `json:"type,omitzero"`
	Status     *string `json:"status,omitzero"`
	Tag        *string `json:"tag,omitzero"`
	ExternalID *string `json:"external_id,omitzero"`
	Q          *string `json:"q,omitzero"`
}

// Bulk is one change of many entries. It has the states of an import.
type Bulk struct {
	ID          string `json:"id"`
	WorkspaceID string `json:"workspace_id"`
	Action      string `json:"action"`
	Tag         string `json:"tag,omitzero"`    // its name
	Undoes      string `json:"undoes,omitzero"` // the bulk that it undoes
	Status      string `json:"status"`
	Entries     int64  `json:"entries"` // that it is about
	Changed     int64  `json:"changed"`
	Unchanged   int64  `json:"unchanged"` // that were like that before
	Refused     int64  `json:"refused"`
	Reason      string `json:"reason,omitzero"` // why it failed, or else why the first entry was refused
	CreatedAt   int64  `json:"created_at"`
	StartedAt   int64  `json:"started_at,omitzero"`
	EndedAt     int64  `json:"ended_at,omitzero"`
	// ApprovalID is the approval that the changes of where money goes wait for, or were decided by.
	ApprovalID string `json:"approval_id,omitzero"`
}

// Ended says whether nothing will become of the bulk any more.
func (b Bulk) Ended() bool { return b.EndedAt > 0 }
