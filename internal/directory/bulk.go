package directory

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/directory/entryfile"
	"bursar/internal/fault"
)

// Bulk is one change of many entries.
type Bulk struct {
	Action  string `json:"action"`
	TagID   string `json:"tag_id,omitzero"`
	TagName string `json:"tag_name,omitzero"`
	Undoes  string `json:"undoes,omitzero"` // the id of another bulk
}

// ResolveTag finds the tag of a bulk. A bulk that adds a tag can create it.
func (b *Bulk) ResolveTag(tx *db.Tx, workspaceID, given string, held access.Set) error {
	t, found, err := findTag(tx, workspaceID, given)
	switch {
	case err != nil:
		return err
	case found:
	case b.Action == api.BulkUntag, looksLikeTagID(given):
		return fault.Invalid("tag", "is not a tag of the workspace")
	case !held.Has(access.TagsWrite):
		denied := fault.Denied(string(access.TagsWrite), fault.Scope{WorkspaceID: workspaceID})
		denied.Message += " to create the tag " + given
		return denied
	default:
		if t, err = makeTag(tx, workspaceID, given); err != nil {
			return err
		}
	}
	b.TagID, b.TagName = t.ID, t.Name
	return nil
}

// bulkApplier applies rows that have only the id of an entry. If a deletion is undone, the time of the deletion follows the id.
type bulkApplier struct {
	*Applier
	bulk Bulk
}

// ForBulk returns what applies the rows of a bulk.
func (a *Applier) ForBulk(b Bulk) RowApplier { return &bulkApplier{a, b} }

// Begin finds the tag, and sorts the rows in the order in which entries are locked, so that two bulks cannot deadlock.
func (a *bulkApplier) Begin(rows []*entryfile.Row) error {
	slices.SortFunc(rows, func(x, y *entryfile.Row) int { return strings.Compare(x.ID, y.ID) })
	if a.bulk.TagID == "" {
		return nil
	}
	t, found, err := findTag(a.tx, a.WorkspaceID, a.bulk.TagID)
	if err == nil && !found {
		err = fault.Missing("tag " + a.bulk.TagName)
	}
	a.tags = map[string]api.Tag{a.bulk.TagID: t}
	return err
}

// Apply changes the entry of a row.
func (a *bulkApplier) Apply(row *entryfile.Row) (Result, error) {
	a.service.at(row)
	id, moment, _ := strings.Cut(row.ID, " ")
	if a.bulk.Action == api.BulkRestore {
		return a.restore(id, moment)
	}
	at := entryRef{id: id, workspaceID: a.WorkspaceID, workspace: a.Workspace}
	e, err := read(a.tx.Q, `UPDATE directory_entry SET updated_at = updated_at WHERE id = $1 AND workspace_number = $2 AND deleted_at IS NULL RETURNING `+columns, at, a.Workspace)
	if err == nil && e.ID == "" {
		if a.bulk.Undoes != "" {
			return Result{Action: entryfile.Unchanged, ID: id}, nil // it was deleted since
		}
		err = errNoEntry
	}
	if err == nil {
		err = access.RequireModeOfPayee(a.tx.Q, a.by.Actor, a.WorkspaceID, e.ID, false)
	}
	if err != nil {
		return Result{}, err
	}
	changed := false
	undo := id + "\n"
	switch a.bulk.Action {
	case api.BulkActivate:
		changed, err = a.status(e, api.StatusActive)
	case api.BulkDeactivate:
		changed, err = a.status(e, api.StatusInactive)
	case api.BulkTag:
		changed, err = a.tag(e)
	case api.BulkUntag:
		changed, err = a.untag(e)
	case api.BulkDelete:
		now := a.tx.Now() // only once: the undo looks for exactly this moment
		changed, undo = true, fmt.Sprintf("%s %d\n", id, now)
		var event audit.Event
		event, err = a.service.remove(a.tx, a.by, e, now)
		a.events = append(a.events, event)
	}
	if err != nil || !changed {
		return Result{Action: entryfile.Unchanged, ID: id}, err
	}
	return Result{Action: entryfile.Updated, ID: id, Undo: undo}, nil
}

func (a *bulkApplier) status(before entry, status string) (changed bool, err error) {
	after := before
	after.Status = status
	done, err := a.editor.update(before, after, &status, nil)
	return done.stored, err
}

func (a *bulkApplier) tag(e entry) (changed bool, err error) {
	t := a.tags[a.bulk.TagID]
	names, err := tagNames(a.tx.Q, e.ID)
	if err != nil || slices.Contains(names, t.Name) {
		return false, err
	}
	if len(names) >= api.MaxEntryTags {
		return false, fault.Invalid("tags", fmt.Sprintf("must have at most %d elements", api.MaxEntryTags))
	}
	if err := canTag(a.tags, e, t.ID, a.Held); err != nil {
		return false, err
	}
	if err := attach(a.tx, e.ID, []api.Tag{t}); err != nil {
		return false, err
	}
	return true, a.tagged(e, nil, []string{t.Name})
}

func (a *bulkApplier) untag(e entry) (changed bool, err error) {
	t := a.tags[a.bulk.TagID]
	had, err := a.tx.Row(`DELETE FROM directory_entry_tag WHERE entry_id = $1 AND tag_id = $2 RETURNING tag_id`, stored(e.ID), t.ID).Scan(new(string))
	if err != nil || !had {
		return false, err
	}
	return true, a.tagged(e, []string{t.Name}, nil)
}

func (a *bulkApplier) tagged(e entry, gone, added []string) error {
	event := e.event(audit.EntryUpdated, "Updated")
	event.Changes.AddItems("tags", gone, added)
	a.events = append(a.events, event)
	return touch(a.tx, e.ID)
}

// restore restores an entry that was deleted at the given moment, and not at a later one.
func (a *bulkApplier) restore(id, moment string) (Result, error) {
	unchanged := Result{Action: entryfile.Unchanged, ID: id}
	deletedAt, err := strconv.ParseInt(moment, 10, 64)
	if err != nil {
		return Result{}, fmt.Errorf("read when %s was deleted: %w", id, err)
	}
	var external string
	found, err := a.tx.Row(`SELECT COALESCE(external_id, '') FROM directory_entry WHERE id = $1 AND workspace_number = $2 AND deleted_at = $3`,
		stored(id), a.Workspace, deletedAt).Scan(&external)
	if err != nil || !found {
		return unchanged, err
	}
	if external != "" {
		taken, err := withExternalIDs(a.tx.Q, a.Workspace, []string{external})
		if err != nil {
			return Result{}, err
		}
		if len(taken) > 0 {
			return Result{}, errTaken
		}
		if err := notHeld(a.tx.Q, a.Workspace, external, id); err != nil {
			return Result{}, err
		}
		a.give(entry{Entry: api.Entry{ID: id, ExternalID: external}}, "")
	}
	e, event, err := a.service.bringBack(a.tx, a.by, entryRef{id: id, workspaceID: a.WorkspaceID, workspace: a.Workspace}, max(deletedAt-1, a.tx.Now()-keepDeleted.Milliseconds()))
	if err != nil || e.ID == "" {
		return unchanged, err
	}
	a.events = append(a.events, event)
	return Result{Action: entryfile.Updated, ID: id, Undo: id + "\n"}, nil
}
