package directory

import (
	"bursar/api"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/directory/entryword"
	"bursar/internal/fault"
)

// entry is a row of the directory.
type entry struct {
	id          string
	workspaceID string
	workspace   int64 // its number
	kind        string
	label       string
	labelSent   bool
	name        string
	status      string
	externalID  string
	fields      api.Fields
	words       string
	createdAt   int64
	updatedAt   int64
	deletedAt   int64  // or merged; 0 if neither
	mergedInto  string // the id of the entry that it was merged into
}

// newEntry makes a row of a request. It has no id yet.
func newEntry(workspace int64, in api.EntryCreate) entry {
	e := entry{workspaceID: in.WorkspaceID, workspace: workspace, kind: in.Type, status: api.StatusActive, fields: in.Fields}
	set(&e.name, in.Name)
	set(&e.externalID, in.ExternalID)
	e.setLabel(in.Label)
	return e
}

// with returns the row with a change applied. The fields of both together may be too
// large.
func (e entry) with(change api.EntryUpdate) (entry, error) {
	var v fault.Violations
	if change.Fields != nil {
		e.fields = e.fields.Merge(change.Fields)
		e.fields.Check(v.Add)
	}
	set(&e.name, change.Name)
	set(&e.status, change.Status)
	set(&e.externalID, change.ExternalID)
	e.setLabel(change.Label)
	return e, v.Err()
}

// set stores a value that was sent.
func set[T any](target *T, sent *T) {
	if sent != nil {
		*target = *sent
	}
}

// setLabel stores a label that was sent, or derives one. A derived label changes with
// the name and the fields; a label that was sent stays.
func (e *entry) setLabel(sent *string) {
	if sent != nil {
		e.label, e.labelSent = *sent, true
	}
	if !e.labelSent {
		e.label = entryword.Label(e.kind, e.name, e.fields)
	}
	e.words = entryword.Join(entryword.Of(e.label, e.fields))
}

// live returns an error if the entry cannot be changed.
func (e entry) live() error {
	switch {
	case e.mergedInto != "":
		return fault.New(fault.EntryMerged, "the entry %s was merged into %s: change that one, or undo the merge", e.id, e.mergedInto)
	case e.id == "" || e.deletedAt != 0:
		return errNoEntry
	}
	return nil
}

// nameKey is the parameter for the name by which other entries may be the same.
func (e entry) nameKey() any {
	if e.labelSent {
		return db.NameKey(e.name, e.label, e.fields)
	}
	return db.NameKey(e.name, "", e.fields)
}

func (e entry) same(other entry) bool {
	return e.label == other.label && e.labelSent == other.labelSent && e.name == other.name &&
		e.status == other.status && e.externalID == other.externalID && e.fields.Equal(other.fields)
}

// changesTo returns what differs in another version of the entry.
func (e entry) changesTo(after entry) audit.Changes {
	var c audit.Changes
	c.Add("label", e.label, after.label)
	c.Add("label_sent", e.labelSent, after.labelSent)
	c.Add("name", e.name, after.name)
	c.Add("status", e.status, after.status)
	c.Add("external_id", e.externalID, after.externalID)
	c.AddFields(e.fields, after.fields)
	return c
}

func (e entry) wire() api.Entry {
	return api.Entry{
		ID: e.id, WorkspaceID: e.workspaceID, Type: e.kind, Label: e.label, Status: e.status,
		Fields: e.fields, Name: e.name, ExternalID: e.externalID, CreatedAt: e.createdAt, UpdatedAt: e.updatedAt,
		MergedInto: e.mergedInto,
	}
}

func (e entry) event(action audit.Action, verb string) audit.Event {
	return audit.Event{
		Action:      action,
		WorkspaceID: e.workspaceID,
		ResourceID:  e.id,
		Description: verb + " " + e.kind + " " + e.label,
	}
}

// statusDeleted is what the log calls the status of an entry while it is deleted.
const statusDeleted = "deleted"

// moved is the event of an entry that is deleted, restored or purged: what the log tells
// as its status before and after.
func (e entry) moved(action audit.Action, verb, before, after string) audit.Event {
	event := e.event(action, verb)
	event.Changes.Add("status", before, after)
	return event
}
