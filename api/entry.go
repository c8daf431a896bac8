package api

// The types and states of directory entries.
const (
	TypePerson       = "person"
	TypeOrganization = "organization"
	StatusActive     = "active"
	StatusInactive   = "inactive"
)

// EntryTypes lists the types that an entry can have.
func EntryTypes() []string { return []string{TypePerson, TypeOrganization} }

// EntryStatuses lists the states that an entry can be in.
func EntryStatuses() []string { return []string{StatusActive, StatusInactive} }

// EntrySorts lists the orders of a list of entries. A minus means from the end.
func EntrySorts() []string {
	return []string{"created", "-created", "updated", "-updated", "label", "-label"}
}

// Limits of an entry beside those of its fields.
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
	// Name and Label are left out where they are nil. Without a label the entry is
	// called by its name, else by its fields.
	Name *string `json:"name,omitzero"`
	// Tags are ids or names; an unknown name creates the tag, which needs ws.tags.write.
	Tags  []string `json:"tags,omitempty"`
	Label *string  `json:"label,omitzero"`
	// ExternalID is the entry's id in another system. No other entry of the workspace has it.
	ExternalID *string `json:"external_id,omitzero"`
}

// EntryUpdate says what to change about an entry. Whatever is nil stays as it is.
type EntryUpdate struct {
	// Fields are merged by key; a null removes its key.
	Fields Fields  `json:"fields,omitzero"`
	Name   *string `json:"name,omitzero"`
	// Tags replace the present ones; an empty list that is not nil removes all.
	Tags   []string `json:"tags,omitzero"`
	Label  *string  `json:"label,omitzero"`
	Status *string  `json:"status,omitzero"` // StatusActive or StatusInactive
	// ExternalID replaces the entry's id in another system; an empty one removes it.
	ExternalID *string `json:"external_id,omitzero"`
}

// Entry is a person or an organization that a workspace pays, in full.
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
	// ReceivingMethods is nil for a caller who may not see them.
	ReceivingMethods *[]ReceivingMethod `json:"receiving_methods,omitzero"`
	CreatedAt        int64              `json:"created_at"`
	UpdatedAt        int64              `json:"updated_at"`
	// MergedInto is the id of the entry that it was merged into; such an entry cannot be changed.
	MergedInto string `json:"merged_into,omitzero"`
	// PendingChange is a change of what the payee is known by, or its activation, that waits for a second person.
	PendingChange *PendingChange `json:"pending_change,omitzero"`
}

// PendingChange is a change of an entry that waits for a second person. It has the values that the entry is to have, as far as they differ: an
// empty text, or a null in the fields, is that it will have none.
type PendingChange struct {
	ApprovalID string  `json:"approval_id,omitzero"` // left out while the import that asks for it goes on
	Label      *string `json:"label,omitzero"`
	Name       *string `json:"name,omitzero"`
	ExternalID *string `json:"external_id,omitzero"`
	Status     *string `json:"status,omitzero"`
	Fields     Fields  `json:"fields,omitzero"`
	// Operation is merge or undo_merge if nothing of a merge into the entry, or of its undo, happens before.
	Operation string `json:"operation,omitzero"`
}

// EntrySummary is an entry as lists show it.
type EntrySummary struct {
	ID     string `json:"id"`
	Type   string `json:"type"`
	Label  string `json:"label"`
	Status string `json:"status"`
	Fields Fields `json:"fields"`
}
