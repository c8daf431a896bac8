package api

// Actions of a bulk change.
const (
	BulkTag        = "tag"
	BulkUntag      = "untag"
	BulkActivate   = "activate"
	BulkDeactivate = "deactivate"
	BulkDelete     = "delete"
	BulkRestore    = "restore" // only to undo a deletion
)

// BulkActions returns the actions of a bulk change.
func BulkActions() []string {
	return []string{BulkTag, BulkUntag, BulkActivate, BulkDeactivate, BulkDelete}
}

// MaxBulk is the maximum number of entries that a bulk change changes at once. A larger one runs as a job.
const MaxBulk = 1000

// BulkCreate is the request for one change of many entries: those with the ids, or those that match the filter.
type BulkCreate struct {
	WorkspaceID string      `json:"workspace_id" required:"true"`
	IDs         []string    `json:"ids,omitempty"`
	Filter      *BulkFilter `json:"filter,omitzero"`
	Action      string      `json:"action" required:"true"`
	Tag         *string     `json:"tag,omitzero"` // for BulkTag and BulkUntag: name or id
}

// BulkFilter selects entries like the filters of the list. An empty filter selects all of them.
type BulkFilter struct {
	Type       *string `json:"type,omitzero"`
	Status     *string `json:"status,omitzero"`
	Tag        *string `json:"tag,omitzero"`
	ExternalID *string `json:"external_id,omitzero"`
	Q          *string `json:"q,omitzero"`
}

// Bulk is one change of many entries. It has the same states as an import.
type Bulk struct {
	ID          string `json:"id"`
	WorkspaceID string `json:"workspace_id"`
	Action      string `json:"action"`
	Tag         string `json:"tag,omitzero"`    // name of the tag
	Undoes      string `json:"undoes,omitzero"` // id of the bulk change that it undoes
	Status      string `json:"status"`
	Entries     int64  `json:"entries"` // number of selected entries
	Changed     int64  `json:"changed"`
	Unchanged   int64  `json:"unchanged"` // entries that needed no change
	Refused     int64  `json:"refused"`
	Reason      string `json:"reason,omitzero"` // why it failed, or why the first refused entry was refused
	CreatedAt   int64  `json:"created_at"`
	StartedAt   int64  `json:"started_at,omitzero"`
	EndedAt     int64  `json:"ended_at,omitzero"`
	// ApprovalID is the approval of the changes to receiving methods, pending or decided.
	ApprovalID string `json:"approval_id,omitzero"`
}

// Ended reports whether the bulk change has ended.
func (b Bulk) Ended() bool { return b.EndedAt > 0 }
