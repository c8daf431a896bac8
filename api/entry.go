package api

// The types and states of directory entries.
const (
	TypePerson       = "person"
	TypeOrganization = "organization"
	StatusActive     = "active"
	StatusInactive   = "inactive"
)

// EntryTypes returns the types of an entry.
func EntryTypes() []string { return []string{TypePerson, TypeOrganization} }

// EntryStatuses returns the states of an entry.
func EntryStatuses() []string { return []string{StatusActive, StatusInactive} }

// EntrySorts returns the sort orders of a list of entries. A leading minus means descending.
func EntrySorts() []string {
	return []string{"created", "-created", "updated", "-updated", "label", "-label"}
}

// Limits of an entry, in addition to those of its fields.
const (
	MaxEntryName  = 200 // characters of a name or a label
	MaxExternalID = 200 // characters
	MaxEntryTags  = 32
	MaxTagName    = 64 // characters
)

// EntryCreate describes a new entry.
type EntryCreate struct {
	WorkspaceID string `json:"workspace_id" required:"true"`
	Type        string `json:"type" required:"true"` // TypePerson or TypeOrganization
	Fields      Fields `json:"fields" required:"true"`
	// Name and Label are optional. An entry without a label is shown by its name, or else by its fields.
	Name *string `json:"name,omitzero"`
	// Tags are ids or names. An unknown name creates the tag, which needs ws.tags.write.
	Tags  []string `json:"tags,omitempty"`
	Label *string  `json:"label,omitzero"`
	// ExternalID is the id of the entry in another system. It is unique within the workspace.
	ExternalID *string `json:"external_id,omitzero"`
}

// EntryUpdate changes an entry. Nil fields stay as they are.
type EntryUpdate struct {
	// Fields are merged by key. A null removes its key.
	Fields Fields  `json:"fields,omitzero"`
	Name   *string `json:"name,omitzero"`
	// Tags replaces the present tags. An empty list that is not nil removes all.
	Tags   []string `json:"tags,omitzero"`
	Label  *string  `json:"label,omitzero"`
	Status *string  `json:"status,omitzero"` // StatusActive or StatusInactive
	// ExternalID replaces the id of the entry in another system. An empty string removes it.
	ExternalID *string `json:"external_id,omitzero"`
}

// Entry is a person or an organization that a workspace pays, with all details.
type Entry struct {
	ID          string   `json:"id"`
	WorkspaceID string   `json:"workspace_id"`
	Type        string   `json:"type"`
	Label       string   `json:"label"`
	Status      string   `json:"status"`
	Fields      Fields   `json:"fields"`
	Name        string   `json:"name,omitzero"`
	ExternalID  string   `json:"external_id,omitzero"`
	Tags        []string `json:"tags"`
	// ReceivingMethods is nil if the caller may not see them.
	ReceivingMethods *[]ReceivingMethod `json:"receiving_methods,omitzero"`
	CreatedAt        int64              `json:"created_at"`
	UpdatedAt        int64              `json:"updated_at"`
	// MergedInto is the id of the entry that this one was merged into. A merged entry cannot be changed.
	MergedInto string `json:"merged_into,omitzero"`
	// PendingChange is a change of identifying data, or an activation, that waits for a second person.
	PendingChange *PendingChange `json:"pending_change,omitzero"`
}

// PendingChange is a change of an entry that waits for a second person. It contains the new values, as far as they differ. An empty string,
// or a null in the fields, removes the value.
type PendingChange struct {
	ApprovalID string  `json:"approval_id,omitzero"` // omitted while the import that requests it is running
	Label      *string `json:"label,omitzero"`
	Name       *string `json:"name,omitzero"`
	ExternalID *string `json:"external_id,omitzero"`
	Status     *string `json:"status,omitzero"`
	Fields     Fields  `json:"fields,omitzero"`
	// Operation is merge or undo_merge if nothing of a merge into the entry, or of its undo, happens before the approval.
	Operation string `json:"operation,omitzero"`
}

// EntrySummary is an entry in a list.
type EntrySummary struct {
	ID     string `json:"id"`
	Type   string `json:"type"`
	Label  string `json:"label"`
	Status string `json:"status"`
	Fields Fields `json:"fields"`
}
