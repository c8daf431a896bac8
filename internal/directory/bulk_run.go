package directory

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/audit"
	"bursar/internal/directory/entryfile"
	"bursar/internal/fault"
)

// bulkFile reads the lines of a bulk. Each is the id of an entry; if a deletion is undone, the time at which the entry was deleted follows
// it.
type bulkFile struct {
	in *bufio.Reader
	at entryfile.Position
}

func newBulkFile(in io.Reader) *bulkFile { return &bulkFile{in: bufio.NewReader(in)} }

func (f *bulkFile) Next() (*entryfile.Row, error) {
	line, err := f.in.ReadString('\n')
	if err != nil {
		return nil, err // includes a last line without an end, which no bulk writes
	}
	f.at.Offset, f.at.Lines = f.at.Offset+int64(len(line)), f.at.Lines+1
	return &entryfile.Row{Line: f.at.Lines, ID: strings.TrimSuffix(line, "\n")}, nil
}

func (f *bulkFile) all() (rows []*entryfile.Row, err error) {
	for {
		row, err := f.Next()
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
}

func (f *bulkFile) Position() entryfile.Position { return f.at }

func (f *bulkFile) Resume(in io.Reader, at entryfile.Position) { f.in, f.at = bufio.NewReader(in), at }

func (f *bulkFile) Format() string { return "" }

// RefusedHead and Refused return nothing: the reason of the first refusal is enough.
func (f *bulkFile) RefusedHead() []byte { return nil }

func (f *bulkFile) Refused(*entryfile.Row, string) []byte { return nil }

// beginBulk finds the tag, and sorts the rows in the order in which entries are locked, so that two bulks cannot deadlock.
func (a *applier) beginBulk(rows []*entryfile.Row) error {
	slices.SortFunc(rows, func(x, y *entryfile.Row) int { return strings.Compare(x.ID, y.ID) })
	if a.bulk.TagID == "" {
		return nil
	}
	t, found, err := findTag(a.tx, a.workspaceID, a.bulk.TagID)
	if err == nil && !found {
		err = fault.Missing("tag " + a.bulk.TagName)
	}
	a.tags = map[string]api.Tag{a.bulk.TagID: t}
	return err
}

// applyBulk changes the entry of a row.
func (a *applier) applyBulk(row *entryfile.Row) (result, error) {
	id, moment, _ := strings.Cut(row.ID, " ")
	if a.bulk.Action == api.BulkRestore {
		return a.bulkRestore(id, moment)
	}
	at := entryRef{id: id, workspaceID: a.workspaceID, workspace: a.workspace}
	e, err := read(a.tx.Q, `UPDATE directory_entry SET updated_at = updated_at WHERE id = $1 AND workspace_number = $2 AND deleted_at IS NULL RETURNING `+columns, at, a.workspace)
	if err == nil && e.ID == "" {
		if a.bulk.Undoes != "" {
			return result{action: rowUnchanged, id: id}, nil // it was deleted since
		}
		err = errNoEntry
	}
	if err == nil {
		err = access.RequireModeOfPayee(a.tx.Q, a.by.Actor, a.workspaceID, e.ID, false)
	}
	if err != nil {
		return result{}, err
	}
	changed := false
	undo := id + "\n"
	switch a.bulk.Action {
	case api.BulkActivate:
		changed, err = a.bulkStatus(e, api.StatusActive)
	case api.BulkDeactivate:
		changed, err = a.bulkStatus(e, api.StatusInactive)
	case api.BulkTag:
		changed, err = a.bulkTag(e)
	case api.BulkUntag:
		changed, err = a.bulkUntag(e)
	case api.BulkDelete:
		now := a.tx.Now() // only once: the undo looks for exactly this moment
		changed, undo = true, fmt.Sprintf("%s %d\n", id, now)
		var event audit.Event
		event, err = a.service.remove(a.tx, a.by, e, now)
		a.events = append(a.events, event)
	}
	if err != nil || !changed {
		return result{action: rowUnchanged, id: id}, err
	}
	return result{action: rowUpdated, id: id, undo: undo}, nil
}

func (a *applier) bulkStatus(before entry, status string) (changed bool, err error) {
	after := before
	after.Status = status
	done, err := a.editor.update(before, after, &status, nil)
	return done.stored, err
}

func (a *applier) bulkTag(e entry) (changed bool, err error) {
	t := a.tags[a.bulk.TagID]
	names, err := tagNames(a.tx.Q, e.ID)
	if err != nil || slices.Contains(names, t.Name) {
		return false, err
	}
	if len(names) >= api.MaxEntryTags {
		return false, fault.Invalid("tags", fmt.Sprintf("must have at most %d elements", api.MaxEntryTags))
	}
	if err := canTag(a.tags, e, t.ID, a.held); err != nil {
		return false, err
	}
	if err := attach(a.tx, e.ID, []api.Tag{t}); err != nil {
		return false, err
	}
	return true, a.bulkTagged(e, nil, []string{t.Name})
}

func (a *applier) bulkUntag(e entry) (changed bool, err error) {
	t := a.tags[a.bulk.TagID]
	had, err := a.tx.Row(`DELETE FROM directory_entry_tag WHERE entry_id = $1 AND tag_id = $2 RETURNING tag_id`, stored(e.ID), t.ID).Scan(new(string))
	if err != nil || !had {
		return false, err
	}
	return true, a.bulkTagged(e, []string{t.Name}, nil)
}

func (a *applier) bulkTagged(e entry, gone, added []string) error {
	event := e.event(audit.EntryUpdated, "Updated")
	event.Changes.AddItems("tags", gone, added)
	a.events = append(a.events, event)
	return touch(a.tx, e.ID)
}

// bulkRestore restores an entry that was deleted at the given moment, and not at a later one.
func (a *applier) bulkRestore(id, moment string) (result, error) {
	unchanged := result{action: rowUnchanged, id: id}
	deletedAt, err := strconv.ParseInt(moment, 10, 64)
	if err != nil {
		return result{}, fmt.Errorf("read when %s was deleted: %w", id, err)
	}
	var external string
	found, err := a.tx.Row(`SELECT COALESCE(external_id, '') FROM directory_entry WHERE id = $1 AND workspace_number = $2 AND deleted_at = $3`,
		stored(id), a.workspace, deletedAt).Scan(&external)
	if err != nil || !found {
		return unchanged, err
	}
	if external != "" {
		taken, err := withExternalIDs(a.tx.Q, a.workspace, []string{external})
		if err != nil {
			return result{}, err
		}
		if len(taken) > 0 {
			return result{}, errTaken
		}
		if err := notHeld(a.tx.Q, a.workspace, external, id); err != nil {
			return result{}, err
		}
		a.given[external] = id
	}
	e, event, err := a.service.bringBack(a.tx, a.by, entryRef{id: id, workspaceID: a.workspaceID, workspace: a.workspace}, max(deletedAt-1, a.tx.Now()-keepDeleted.Milliseconds()))
	if err != nil || e.ID == "" {
		return unchanged, err
	}
	a.events = append(a.events, event)
	return result{action: rowUpdated, id: id, undo: id + "\n"}, nil
}
