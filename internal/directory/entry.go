package directory

import (
	"bursar/api"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/directory/entryfile"
	"bursar/internal/directory/entryword"
	"bursar/internal/fault"
)

// entry is a row of the directory.
type entry struct {
	api.Entry       // as in the row: without tags and receiving methods
	workspace int64 // its number
	labelSent bool
	words     string
	deletedAt int64 // or merged; 0 if neither
}

// newEntry returns an entry for a request. It has no id yet.
func newEntry(workspace int64, in api.EntryCreate) entry {
	e := entry{Entry: api.Entry{WorkspaceID: in.WorkspaceID, Type: in.Type, Status: api.StatusActive, Fields: in.Fields}, workspace: workspace}
	for _, p := range entryfile.Properties() {
		if p.Create != nil && !p.Derived {
			set(p.Of(&e.Entry), *p.Create(&in))
		}
	}
	e.setLabel(in.Label)
	return e
}

// with returns the row with a change applied. The fields of both together may be too
// large.
func (e entry) with(change api.EntryUpdate) (entry, error) {
	var v fault.Violations
	if change.Fields != nil {
		e.Fields = e.Fields.Merge(change.Fields)
		e.Fields.Check(v.Add)
	}
	for _, p := range entryfile.Properties() {
		if !p.Derived {
			set(p.Of(&e.Entry), *p.Update(&change))
		}
	}
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
		e.Label, e.labelSent = *sent, true
	}
	if !e.labelSent {
		e.Label = entryword.Label(e.Type, e.Name, e.Fields)
	}
	e.words = entryword.Join(entryword.Of(e.Label, e.Fields))
}

// live returns an error if the entry cannot be changed.
func (e entry) live() error {
	switch {
	case e.MergedInto != "":
		return fault.New(api.CodeEntryMerged, "the entry %s was merged into %s: change that one, or undo the merge", e.ID, e.MergedInto)
	case e.ID == "" || e.deletedAt != 0:
		return errNoEntry
	}
	return nil
}

// nameKey returns the query parameter for the name by which other entries may be duplicates.
func (e entry) nameKey() any {
	if e.labelSent {
		return db.NameKey(e.Name, e.Label, e.Fields)
	}
	return db.NameKey(e.Name, "", e.Fields)
}

func (e entry) same(other entry) bool {
	for _, p := range entryfile.Properties() {
		if *p.Of(&e.Entry) != *p.Of(&other.Entry) {
			return false
		}
	}
	return e.labelSent == other.labelSent && e.Fields.Equal(other.Fields)
}

// changesTo returns what differs in another version of the entry.
func (e entry) changesTo(after entry) audit.Changes {
	var c audit.Changes
	for _, p := range entryfile.Properties() {
		c.Add(p.Name, *p.Of(&e.Entry), *p.Of(&after.Entry))
		if p.Derived {
			c.Add(p.Name+"_sent", e.labelSent, after.labelSent)
		}
	}
	c.AddFields(e.Fields, after.Fields)
	return c
}

func (e entry) event(action audit.Action, verb string) audit.Event {
	return audit.Event{
		Action:      action,
		WorkspaceID: e.WorkspaceID,
		ResourceID:  e.ID,
		Description: verb + " " + e.Type + " " + e.Label,
	}
}

// statusDeleted is the status of a deleted entry in the audit log.
const statusDeleted = "deleted"

// moved returns the event of an entry that is deleted, restored or purged, with its status before and after.
func (e entry) moved(action audit.Action, verb, before, after string) audit.Event {
	event := e.event(action, verb)
	event.Changes.Add("status", before, after)
	return event
}
