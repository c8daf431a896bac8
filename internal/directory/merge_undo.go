package directory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/directory/entryfile"
	"bursar/internal/fault"
	"bursar/internal/vault"
)

// UndoMerge restores the entries of a merge exactly as they were before it. If any of them was changed since, it changes nothing and
// returns what was changed. A merge that is undone stays undone.
func (s *Service) UndoMerge(ctx context.Context, by db.Caller, in OneMergeInput) (api.Merge, error) {
	m, workspace, err := s.mayMerge(ctx, by, in.ID, access.DirectoryWrite)
	if err != nil {
		return api.Merge{}, err
	}
	held, err := s.authority.Permissions(ctx, by.Actor, m.WorkspaceID)
	if err == nil {
		err = s.vault.Ready(ctx, workspace)
	}
	if err != nil {
		return api.Merge{}, err
	}
	at := entryRef{id: m.TargetID, workspaceID: m.WorkspaceID, workspace: workspace}
	done, err := db.Write(ctx, s.db, by, func(tx *db.Tx) (api.Merge, audit.Event, error) {
		m, state, err := s.undoable(tx, in.ID, at)
		if err != nil {
			return m, audit.Event{}, err
		}
		if m.UndoneAt != 0 {
			return m, audit.None("the merge is undone already"), nil
		}
		parties, err := s.lockParties(tx, at, append([]string{m.TargetID}, m.Sources...))
		if err != nil {
			return m, audit.Event{}, asChanged(err)
		}
		for _, p := range parties {
			if err := access.RequireModeOfPayee(tx.Q, by.Actor, at.workspaceID, p.ID, false); err != nil {
				return m, audit.Event{}, err
			}
		}
		if err := state.unchanged(parties[0], parties[1:]); err != nil {
			return m, audit.Event{}, err
		}
		if state.movedMethods() && !held.Has(access.ReceivingWrite) {
			return m, audit.Event{}, fault.Denied(string(access.ReceivingWrite), fault.Scope{WorkspaceID: m.WorkspaceID})
		}
		target, sources := parties[0], parties[1:]
		stay, back := state.divideMethods(target.methods)
		change, noted, err := s.splitMerge(tx, target, state.Target.of(target.entry), stay, back, undoMerge)
		if err != nil {
			return m, audit.Event{}, err
		}
		if !change.isEmpty() {
			waits, event, err := s.requestMerge(tx, by, change, heldMerge{ID: m.ID}, target, sources)
			m.ApprovalID = waits.approvalID
			return m, event, err
		}
		if err := s.endIdentity(tx, by, target.entry, "a merge into the entry was undone"); err != nil {
			return m, audit.Event{}, err
		}
		m.UndoneAt = tx.Now()
		event, err := s.unmerge(tx, by, m, state, target, sources)
		for _, p := range sources {
			if err == nil {
				err = fault.Replace(notHeld(tx.Q, p.workspace, p.ExternalID, p.ID), api.CodeExternalIDTaken, errHeldSince)
			}
		}
		if err != nil {
			return m, audit.Event{}, err
		}
		if len(noted) > 0 {
			event.Each()[0].Changes = append(event.Each()[0].Changes, noted...)
		}
		return m, event, err
	})
	if db.IsUnique(err) {
		err = changedSince("another entry has the external_id of one of the sources since", []string{"external_id"})
	}
	return done, err
}

// undoable locks a merge that can be undone, and opens its stored state. One that is undone already has no state.
func (s *Service) undoable(tx *db.Tx, id string, at entryRef) (m api.Merge, state mergeState, err error) {
	m, sealed, err := lockMerge(tx, id)
	if err != nil || m.UndoneAt != 0 {
		return m, state, err
	}
	if m.UndoUntil <= tx.Now() || len(sealed) == 0 {
		return m, state, fault.New(api.CodeMergeFinal, "a merge can be undone for 30 days")
	}
	if state, err = s.openState(at.workspace, m, sealed); err != nil {
		return m, state, err
	}
	later, err := laterMerge(tx.Q, m)
	if err == nil && later != "" {
		err = changedSince("others were merged into the entry since: undo "+later+" first", nil)
	}
	return m, state, err
}

// divideMethods separates the methods that the target keeps when the merge is undone from those that it returns.
func (s mergeState) divideMethods(methods []api.ReceivingMethod) (stay, back []api.ReceivingMethod) {
	for _, m := range methods {
		if slices.ContainsFunc(s.Sources, func(e entryState) bool {
			return slices.ContainsFunc(e.Methods, func(was api.ReceivingMethod) bool { return was.ID == m.ID })
		}) {
			back = append(back, m)
		} else {
			stay = append(stay, m)
		}
	}
	return stay, back
}

func (s *Service) openState(workspace int64, m api.Merge, sealed []byte) (state mergeState, err error) {
	text, err := s.vault.Open(workspace, vault.MergeState(m.ID), sealed)
	if errors.Is(err, vault.ErrLost) {
		return state, fault.New(api.CodeMergeFinal, "what the entries were before the merge cannot be opened any more, because its vault key is lost")
	}
	if err == nil {
		err = json.Unmarshal(text, &state)
	}
	if err != nil {
		return state, fmt.Errorf("read what entries were before %s: %w", m.ID, err)
	}
	return state, nil
}

// ChangedDetails lists what was changed about entries since they were merged.
type ChangedDetails struct {
	Fields []string `json:"fields"`
}

func changedSince(why string, fields []string) error {
	f := fault.New(api.CodeMergeChanged, "the merge cannot be undone: %s", why)
	f.Details = ChangedDetails{Fields: append([]string{}, fields...)}
	return f
}

var errHeldSince, _ = changedSince("the external_id of one of the sources waits for approval as that of another entry", []string{"external_id"}).(*fault.Fault)

// asChanged returns the fault for an entry of the merge that was permanently removed.
func asChanged(err error) error {
	var no *fault.Fault
	if errors.As(err, &no) && no.Code == api.CodeNotFound {
		return changedSince(no.Message, nil)
	}
	return err
}

// unchanged returns a fault if the entries differ from the result of the merge.
func (s mergeState) unchanged(target party, sources []party) error {
	switch {
	case target.MergedInto != "":
		return changedSince("the entry was merged into "+target.MergedInto+" since: undo that first", nil)
	case target.deletedAt != 0:
		return changedSince("the entry was deleted since: restore it first", []string{"status"})
	}
	fields := s.After.changedTo(target.state())
	for i, p := range sources {
		was := s.Sources[i]
		was.Methods = nil // the target has them
		if p.MergedInto != target.ID || len(was.changedTo(p.state())) > 0 {
			fields = append(fields, "tags") // the only thing about it that can change: a tag was deleted
		}
	}
	slices.Sort(fields)
	if fields = slices.Compact(fields); len(fields) > 0 {
		return changedSince("changed since: "+strings.Join(fields, ", "), fields)
	}
	return nil
}

// changedTo returns the names of what differs in a later state, except for the time of the change.
func (s entryState) changedTo(now entryState) (fields []string) {
	var c audit.Changes
	for _, p := range entryfile.Properties() {
		c.Add(p.Name, s.Properties[p.Name], now.Properties[p.Name])
	}
	c.Add("label", s.LabelSent, now.LabelSent)
	c.AddFields(api.SplitFields([]byte(s.Fields)), api.SplitFields([]byte(now.Fields)))
	for _, change := range c {
		fields = append(fields, change.Field)
	}
	if len(fields) == 0 && s.Fields != now.Fields { // only their order differs
		fields = append(fields, "fields")
	}
	byID := func(tags []string) []string { return slices.Sorted(slices.Values(tags)) } // a tag may have been renamed
	if !slices.Equal(byID(s.Tags), byID(now.Tags)) {
		fields = append(fields, "tags")
	}
	if !slices.Equal(s.Methods, now.Methods) {
		fields = append(fields, "receiving_methods")
	}
	return fields
}

func (s mergeState) movedMethods() bool {
	return slices.ContainsFunc(s.Sources, func(e entryState) bool { return len(e.Methods) > 0 })
}

// unmerge restores the entries as they were. They still are as the merge has left them.
func (s *Service) unmerge(tx *db.Tx, by db.Caller, m api.Merge, state mergeState, target party, sources []party) (audit.Event, error) {
	before := state.Target.of(target.entry)
	event := before.event(audit.EntryUnmerged, "Undid a merge into")
	event.Changes = target.changesTo(before)
	event.Changes.AddItems("sources", m.Sources, nil)
	if err := updateAt(tx, target.entry, before, state.Target.UpdatedAt); err != nil {
		return event, err
	}
	for _, t := range target.tags {
		if slices.Contains(state.Target.Tags, t.ID) {
			continue
		}
		event.Changes.Add("tags", t.Name, nil)
		if err := tx.Exec(`DELETE FROM directory_entry_tag WHERE entry_id = $1 AND tag_id = $2`, stored(target.ID), t.ID); err != nil {
			return event, err
		}
	}
	for _, id := range state.History {
		if err := tx.Exec(`DELETE FROM entry_method_log WHERE entry_id = $1 AND method_id = $2`, stored(target.ID), id); err != nil {
			return event, err
		}
	}
	events := []audit.Event{}
	for i, p := range sources {
		if err := tx.Exec(`UPDATE directory_entry SET deleted_at = NULL, merged_into = NULL WHERE id = $1`, stored(p.ID)); err != nil {
			return event, err
		}
		if err := listAgain(tx, p.entry); err != nil {
			return event, err
		}
		back := p.mergedEvent(audit.EntryUnmerged, "Took", "out of", target.ID, before)
		if err := s.returnMethods(tx, by, &back, state.Sources[i], p.entry); err != nil {
			return event, err
		}
		events = append(events, back)
	}
	return audit.All(append([]audit.Event{event}, events...)...),
		tx.Exec(`UPDATE directory_merge SET undone_at = $2, state_sealed = NULL, sealed_by = NULL WHERE id = $1`, m.ID, m.UndoneAt)
}
