package directory

import (
	"context"
	"slices"
	"strings"
	"time"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/directory/entryfile"
	"bursar/internal/fault"
	"bursar/internal/web"
)

// keepMerge is how long a merge can be undone.
const keepMerge = 30 * 24 * time.Hour

// fieldPrefix begins the name of a value that is one of an entry's fields.
const fieldPrefix = "fields."

// MergeInput names an entry and the others that are merged into it.
type MergeInput struct {
	ID string `path:"id"`
	api.MergeRequest
}

// Validate checks the request without reading the database.
func (in *MergeInput) Validate(v *fault.Violations) {
	if len(in.Sources) == 0 || len(in.Sources) > api.MaxMergeSources {
		v.Add("sources", "must have 1 to 20 elements")
	}
	for i, id := range in.Sources {
		if id == "" {
			v.Add("sources", "must be ids of entries")
		}
		if id == in.ID || slices.Contains(in.Sources[:i], id) {
			v.Add("sources", "must be other entries, each of them once")
		}
	}
	for field, from := range in.Fields {
		if !strings.HasPrefix(field, fieldPrefix) && !entryfile.IsProperty(field) {
			v.Add("fields", "must name a property of the entry or fields.KEY, not "+field)
		}
		if from != in.ID && !slices.Contains(in.Sources, from) {
			v.Add("fields", "must say the id of the entry or of one of the sources for "+field)
		}
	}
}

// MergesInput is a request for a page of the merges of a workspace, or of those into one entry.
type MergesInput struct {
	WorkspaceID string  `query:"workspace_id" required:"true"`
	EntryID     *string `query:"entry_id"`
	web.PageParams
}

// OneMergeInput names a merge.
type OneMergeInput struct {
	ID string `path:"id"`
}

// party is an entry that takes part in a merge, with everything that belongs to it.
type party struct {
	entry
	tags    []api.Tag
	methods []api.ReceivingMethod // that are or may become payable
	chosen  map[string]int64      // when they were made the default
}

// lockParty locks an entry and reads what belongs to it. The vault must be ready.
func (s *Service) lockParty(tx *db.Tx, at entryRef) (p party, err error) {
	if p.entry, err = lockAny(tx, at); err != nil || p.ID == "" {
		return p, err
	}
	if p.tags, err = tagsOfEntry(tx.Q, p.ID); err != nil {
		return p, err
	}
	all, err := s.lockedMethods(tx, p.entry)
	if err != nil {
		return p, err
	}
	p.methods = live(all)
	p.chosen, err = chosenAt(tx.Q, p.ID)
	return p, err
}

// lockParties locks entries of one workspace in the order of their ids, so that two merges cannot wait for each other. It returns them in
// the order given. Entries of other workspaces are not found.
func (s *Service) lockParties(tx *db.Tx, at entryRef, ids []string) ([]party, error) {
	parties := make([]party, len(ids))
	for _, id := range slices.Sorted(slices.Values(ids)) {
		where, err := locate(tx.Q, id)
		if err == nil && where.workspaceID != at.workspaceID {
			err = fault.Missing("directory entry " + id)
		}
		if err != nil {
			return nil, err
		}
		if parties[slices.Index(ids, id)], err = s.lockParty(tx, where); err != nil {
			return nil, err
		}
	}
	return parties, nil
}

// Merge merges entries into another. They stay readable under their ids and name the entry that they were merged into. Their tags, their
// receiving methods and their rows in the audit log go to that entry. A merge can be undone for 30 days.
func (s *Service) Merge(ctx context.Context, by db.Caller, in MergeInput) (api.Merge, error) {
	at, held, err := s.authorize(ctx, by, in.ID, access.DirectoryWrite)
	if err != nil {
		return api.Merge{}, partNotFound(err)
	}
	if !held.Has(access.DirectoryRead) { // the response contains what the entries have
		return api.Merge{}, fault.Denied(string(access.DirectoryRead), fault.Scope{WorkspaceID: at.workspaceID})
	}
	if err := s.vault.Ready(ctx, at.workspace); err != nil {
		return api.Merge{}, err
	}
	merged, err := db.Write(ctx, s.db, by, func(tx *db.Tx) (api.Merge, audit.Event, error) {
		parties, err := s.lockParties(tx, at, append([]string{in.ID}, in.Sources...))
		for _, p := range parties {
			if err == nil {
				err = access.RequireModeOfPayee(tx.Q, by.Actor, at.workspaceID, p.ID, false)
			}
		}
		if err != nil {
			return api.Merge{}, audit.Event{}, err
		}
		target, sources := parties[0], parties[1:]
		plan, err := planMerge(target, sources, in.Fields, held)
		answer := mergeAnswer(target, in.Sources, sources, plan)
		if !held.Has(access.ReceivingRead) { // callers who may not see methods do not learn their ids
			answer.ReceivingMethods = nil
		}
		if err != nil {
			return answer, audit.Event{}, err
		}
		if in.DryRun {
			return answer, audit.None("a rehearsal of a merge changes nothing"), nil
		}
		added := sourceMethods(sources)
		change, noted, err := s.splitMerge(tx, target, plan.after, target.methods, added, mergeInto)
		if err != nil {
			return answer, audit.Event{}, err
		}
		if !change.isEmpty() {
			waits, event, err := s.requestMerge(tx, by, change, heldMerge{Fields: in.Fields}, target, sources)
			answer.ApprovalID = waits.approvalID
			return answer, event, err
		}
		if err := s.endIdentity(tx, by, target.entry, "others were merged into the entry"); err != nil {
			return answer, audit.Event{}, err
		}
		answer.ID, answer.CreatedAt = tx.NewID("mrg"), tx.Now()
		answer.UndoUntil = answer.CreatedAt + keepMerge.Milliseconds()
		event, err := s.merge(tx, by, answer, target, sources, plan)
		if err == nil && plan.after.ExternalID != target.ExternalID {
			err = notHeld(tx.Q, target.workspace, plan.after.ExternalID, target.ID)
		}
		if err != nil {
			return answer, audit.Event{}, err
		}
		if len(noted) > 0 {
			event.Each()[0].Changes = append(event.Each()[0].Changes, noted...)
		}
		return answer, event, err
	})
	return merged, externalIDTaken(err)
}

// mergeAnswer returns the response to a merge, or to a rehearsal of one.
func mergeAnswer(target party, ids []string, sources []party, plan mergePlan) api.Merge {
	answer := api.Merge{WorkspaceID: target.WorkspaceID, TargetID: target.ID, Sources: ids, Changes: target.changesTo(plan.after)}
	for _, t := range plan.tags {
		answer.Tags = append(answer.Tags, t.Name)
	}
	for _, m := range sourceMethods(sources) {
		answer.ReceivingMethods = append(answer.ReceivingMethods, m.ID)
	}
	return answer
}

// sourceMethods returns the methods that a merge moves.
func sourceMethods(sources []party) (moved []api.ReceivingMethod) {
	for _, p := range sources {
		moved = append(moved, onlyActive(p.methods)...)
	}
	return moved
}

// mergePlan is the result of a merge for its target.
type mergePlan struct {
	after entry
	tags  []api.Tag // added to it
}

// planMerge decides the result of a merge for its target, or returns why the merge is not possible.
func planMerge(target party, sources []party, fields map[string]string, held access.Set) (plan mergePlan, err error) {
	for _, p := range append([]party{target}, sources...) {
		if err := p.live(); err != nil {
			return plan, fault.Replace(err, api.CodeEntryNotFound, fault.Missing("directory entry "+p.ID))
		}
		if p.Type != target.Type {
			return plan, fault.Invalid("sources", "must be of the type "+target.Type+", as the entry is: "+p.ID+" is of the type "+p.Type)
		}
	}
	tags, methods := len(target.tags), len(target.methods)
	for _, p := range sources {
		for _, t := range p.tags {
			if !hasTag(target.tags, t.ID) && !hasTag(plan.tags, t.ID) {
				plan.tags = append(plan.tags, t)
			}
		}
		methods += len(onlyActive(p.methods))
	}
	switch tags += len(plan.tags); {
	case methods > len(target.methods) && !held.Has(access.ReceivingWrite):
		return plan, fault.Denied(string(access.ReceivingWrite), fault.Scope{WorkspaceID: target.WorkspaceID})
	case tags > api.MaxEntryTags:
		return plan, fault.New(api.CodeTooMany, "the entry would have %d tags, and can have at most %d: remove some of them first", tags, api.MaxEntryTags)
	case methods > maxMethods:
		return plan, fault.New(api.CodeTooMany, "the entry would have %d receiving methods, and can have at most %d: remove some of them first", methods, maxMethods)
	}
	plan.after, err = target.mergedWith(sources, fields)
	return plan, err
}

// mergedWith returns the target of a merge with the values that it takes over.
func (p party) mergedWith(sources []party, fields map[string]string) (entry, error) {
	e := p.entry
	// from returns the entry whose value is used: the named one, otherwise the first that has a value, beginning with the target.
	from := func(field string, has func(e entry) bool) entry {
		all := append([]party{p}, sources...)
		i := slices.IndexFunc(all, func(one party) bool { return one.ID == fields[field] })
		if i < 0 {
			i = max(0, slices.IndexFunc(all, func(one party) bool { return has(one.entry) }))
		}
		return all[i].entry
	}
	for _, property := range entryfile.Properties() {
		if !property.Derived {
			one := from(property.Name, func(e entry) bool { return *property.Of(&e.Entry) != "" })
			*property.Of(&e.Entry) = *property.Of(&one.Entry)
		}
	}
	var names []string
	for _, one := range append([]party{p}, sources...) {
		for _, field := range one.Fields {
			if !slices.Contains(names, field.Key) {
				names = append(names, field.Key)
			}
		}
	}
	for field := range fields { // fields that no entry has
		if key, ok := strings.CutPrefix(field, fieldPrefix); ok && !slices.Contains(names, key) {
			return e, fault.Invalid("fields", "must name fields that one of the entries has, not "+field)
		}
	}
	e.Fields = nil
	for _, key := range names {
		if one, ok := from(fieldPrefix+key, func(e entry) bool { return e.Fields.Index(key) >= 0 }).Fields.Get(key); ok {
			e.Fields = append(e.Fields, one)
		}
	}
	var v fault.Violations
	e.Fields.Check(v.Add)
	if id := fields["label"]; id != "" && id != p.ID {
		label := from("label", nil).Label
		e.setLabel(&label)
	} else {
		e.setLabel(nil)
	}
	return e, v.Err()
}

// merge carries out a merge.
func (s *Service) merge(tx *db.Tx, by db.Caller, m api.Merge, target party, sources []party, plan mergePlan) (audit.Event, error) {
	state := mergeState{Target: target.state()}
	event := plan.after.event(audit.EntryMerged, "Merged others into")
	event.Changes = target.changesTo(plan.after)
	event.Changes.AddItems("tags", nil, m.Tags)
	event.Changes.AddItems("sources", nil, m.Sources)
	events := []audit.Event{event}
	for _, p := range sources {
		was := p.state()
		was.Methods = onlyActive(p.methods)
		state.Sources = append(state.Sources, was)
		events = append(events, p.mergedEvent(audit.EntryMerged, "Merged", "into", "", target.entry))
		// The sources are hidden first: the target may take over the external id of one.
		if err := tx.Exec(`UPDATE directory_entry SET deleted_at = $2, merged_into = $3 WHERE id = $1`, stored(p.ID), tx.Now(), stored(target.ID)); err != nil {
			return event, err
		}
		if err := unlist(tx, p.entry); err != nil {
			return event, err
		}
		moved, err := moveHistory(tx, p.ID, target.ID)
		if err != nil {
			return event, err
		}
		state.History = append(state.History, moved...)
	}
	if err := update(tx, target.entry, plan.after); err != nil {
		return event, err
	}
	if err := s.moveMethods(tx, by, &events[0], sources, target.methods, plan.after); err != nil {
		return event, err
	}
	if err := attach(tx, target.ID, plan.tags); err != nil {
		return event, err
	}
	after, err := s.lockParty(tx, target.ref())
	if err != nil {
		return event, err
	}
	state.After = after.state()
	return audit.All(events...), s.insertMerge(tx, m, target.entry, state)
}

// moveHistory makes the audit rows about an entry, and about the methods that it has or had, part of the history of another. It returns
// what was not part of that before. The entry itself becomes an explicit part of its own history, so that it moves with the rest.
func moveHistory(tx *db.Tx, from, to string) ([]string, error) {
	err := tx.Exec(`INSERT INTO entry_method_log (entry_id, method_id) VALUES ($1, $2) ON CONFLICT (entry_id, method_id) DO NOTHING`, stored(from), from)
	if err != nil {
		return nil, err
	}
	return db.Collect(tx.Q, func(r db.Rows) string { return r.Text(0) },
		`INSERT INTO entry_method_log (entry_id, method_id)
			SELECT e.id, l.method_id FROM directory_entry e, entry_method_log l WHERE e.id = $2 AND l.entry_id = $1
			ON CONFLICT (entry_id, method_id) DO NOTHING RETURNING method_id`, stored(from), stored(to))
}

// mergedEvent returns the event of a source of a merge, or of an undone one.
func (p party) mergedEvent(action audit.Action, verb, way, before string, target entry) audit.Event {
	event := p.event(action, verb)
	event.Description += " " + way + " " + target.Label
	after := target.ID
	if before != "" {
		after = ""
	}
	event.Changes.Add("merged_into", before, after)
	return event
}

// Merges returns a page of the merges of a workspace, newest first.
func (s *Service) Merges(ctx context.Context, by db.Caller, in MergesInput) (web.Page[api.Merge], error) {
	workspace, err := s.authority.Enter(ctx, by.Actor, in.WorkspaceID, access.DirectoryRead)
	if err != nil {
		return web.Page[api.Merge]{}, err
	}
	window, err := s.cursors.Paged(in.PageParams, web.Descending, "merges", in.WorkspaceID, scope(in.EntryID))
	if err != nil {
		return web.Page[api.Merge]{}, err
	}
	var rows []api.Merge
	err = s.db.ReadList(ctx, func(q db.Q) (err error) {
		rows, err = mergesOf(q, workspace, in.EntryID, window)
		return err
	})
	if err != nil {
		return web.Page[api.Merge]{}, err
	}
	return web.NewPage(window, rows, func(m api.Merge) string { return m.ID }), nil
}

// GetMerge returns one merge.
func (s *Service) GetMerge(ctx context.Context, by db.Caller, in OneMergeInput) (api.Merge, error) {
	m, _, err := s.mayMerge(ctx, by, in.ID, access.DirectoryRead)
	return m, err
}

// mayMerge requires a permission in the workspace of a merge. It returns the merge and the number
// of the workspace.
func (s *Service) mayMerge(ctx context.Context, by db.Caller, id string, need access.Permission) (m api.Merge, workspace int64, err error) {
	err = s.db.Read(ctx, func(q db.Q) (err error) {
		m, err = findMerge(q, id)
		return err
	})
	if err == nil {
		workspace, err = s.authority.Enter(ctx, by.Actor, m.WorkspaceID, need)
	}
	return m, workspace, fault.Replace(err, api.CodeNotFound, fault.Missing("merge"))
}
