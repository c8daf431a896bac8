package directory

import (
	"context"
	"maps"
	"slices"
	"strings"

	"bursar/api"
	"bursar/internal/audit"
	"bursar/internal/db"
)

// editor creates and updates entries in one transaction: that of a request, and those of the rows of a batch, a file or a bulk.
type editor struct {
	Rules
	service *Service
	tx      *db.Tx
	by      db.Caller
	tags    map[string]api.Tag // the existing ones among those that are given, by nameKey

	given  map[string]string // the entries that got external ids in this transaction
	common []string          // words that have become common
	events []audit.Event
}

// edit runs fn with an editor in a transaction. The audit log gets the editor's events.
func edit[T any](ctx context.Context, s *Service, by db.Caller, rules Rules, fn func(w *editor) (T, error)) (T, error) {
	var w editor
	out, err := db.Write(ctx, s.db, by, func(tx *db.Tx) (T, audit.Event, error) {
		w = editor{Rules: rules, service: s, tx: tx, by: by}
		out, err := fn(&w)
		if err == nil {
			err = w.noneHeld()
		}
		if len(w.events) == 0 {
			return out, audit.None("nothing changed"), err
		}
		return out, audit.All(w.events...), err
	})
	if err == nil {
		s.common.Learn(rules.WorkspaceID, w.common)
	}
	return out, err
}

// noneHeld returns errWaiting if another entry waits for approval to have an external id that was given in this transaction.
func (w *editor) noneHeld() error {
	held, err := heldExternalIDs(w.tx.Q, w.Workspace, slices.Sorted(maps.Keys(w.given)))
	for external, id := range held {
		if err == nil && id != w.given[external] {
			err = errWaiting
		}
	}
	return err
}

// give records that an entry has its external id in place of an earlier one.
func (w *editor) give(e entry, before string) {
	if e.ExternalID == before {
		return
	}
	if delete(w.given, before); e.ExternalID == "" {
		return
	}
	if w.given == nil {
		w.given = map[string]string{}
	}
	w.given[e.ExternalID] = e.ID
}

// create stores a new entry with its tags. It returns the entry with its id, and its possible duplicates.
func (w *editor) create(e entry, given []string) (entry, []api.Duplicate, error) {
	found, err := doubles(w.tx, e, w.OnDuplicate, w.Held)
	if err != nil {
		return e, nil, err
	}
	e.ID = w.tx.NewID("entry")
	tags, err := resolveTags(w.tx, w.tags, e, given, w.Held)
	if err != nil {
		return e, nil, err
	}
	words, doubtful := w.service.common.Split(e.WorkspaceID, strings.Fields(e.words))
	if err := insert(w.tx, e, words); err != nil {
		return e, nil, err
	}
	common, err := declareCommon(w.tx, e.workspace, doubtful)
	if err != nil {
		return e, nil, err
	}
	w.give(e, "")
	w.common = append(w.common, common...)
	w.events = append(w.events, e.event(audit.EntryCreated, "Created"))
	return e, found, attach(w.tx, e.ID, tags)
}

// edited is the result of an update.
type edited struct {
	entry
	held    heldIdentity // the part that waits for approval
	ended   bool         // a change that waited for the entry has ended
	stored  bool         // the row was changed
	changed bool         // the row or the tags were changed, or a change was requested
}

// update changes a locked entry. A change of the identity of a payee may wait for approval: see splitIdentity. The status and the tags are
// those of the request, if it has any.
func (w *editor) update(before, after entry, status *string, tags []string) (done edited, err error) {
	var c identityChange
	var noted, requested audit.Changes
	if done.entry, c, noted, err = w.service.splitIdentity(w.tx, w.by, before, after, status); err != nil {
		return done, err
	}
	done.ended = slices.ContainsFunc(noted, func(c api.AuditChange) bool { return c.Field == "approval_id" })
	done.stored = !done.same(before)
	event := done.event(audit.EntryUpdated, "Updated")
	if done.stored {
		event.Changes = before.changesTo(done.entry)
		if err := update(w.tx, before, done.entry); err != nil {
			return done, err
		}
		w.give(done.entry, before.ExternalID)
	}
	event.Changes = append(event.Changes, noted...)
	done.changed = done.stored || len(noted) > 0
	if !c.isEmpty() {
		if done.held, requested, err = w.service.requestIdentity(w.tx, w.by, done.entry, c, nil); err != nil {
			return done, err
		}
		if !done.changed && len(requested) > 0 {
			event.Description = "Asked to change " + done.Type + " " + done.Label
		}
		event.Changes = append(event.Changes, requested...)
		done.changed = done.changed || len(requested) > 0
	}
	if tags != nil {
		gone, added, err := replaceTags(w.tx, w.tags, done.entry, tags, w.Held)
		event.Changes.AddItems("tags", gone, added)
		retagged := len(gone)+len(added) > 0
		if err == nil && retagged && !done.stored {
			err = touch(w.tx, done.ID)
		}
		if err != nil {
			return done, err
		}
		done.changed = done.changed || retagged
	}
	if done.changed {
		w.events = append(w.events, event)
	}
	return done, nil
}

// addMethods adds receiving methods to an entry that has others.
func (w *editor) addMethods(e entry, have []api.ReceivingMethod, added []api.ReceivingMethodCreate) error {
	for _, m := range added {
		made, event, err := w.service.addMethod(w.tx, w.by, e, have, m)
		if err != nil {
			return err
		}
		for i := range have {
			have[i].IsDefault = have[i].IsDefault && !made.IsDefault
		}
		have = append(have, made)
		w.events = append(w.events, event)
	}
	return nil
}
