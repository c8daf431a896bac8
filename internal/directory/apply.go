package directory

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/db"
	"bursar/internal/directory/entryfile"
	"bursar/internal/fault"
	"bursar/internal/vault"
	"bursar/internal/web"
)

// What matches a row with an existing entry.
const (
	matchID       = "id"
	matchExternal = "external_id"
	matchEmail    = "email"
	matchPhone    = "phone"
	matchAccount  = "account"
)

// What is done with a row that matches an existing entry.
const (
	onMatchUpdate = "update"
	onMatchSkip   = "skip"
	onMatchRefuse = "refuse"
)

// The results of a row.
const (
	rowCreated   = "created"
	rowUpdated   = "updated"
	rowUnchanged = "unchanged"
	rowRefused   = "refused"
)

// applier applies many rows in one transaction: lines of a file, or items of a batch.
type applier struct {
	*editor
	match   string
	onMatch string
	dry     bool
	bulk    *bulkOptions // for a bulk: its rows contain only ids
	job     bool         // changes that need a second person become lines of the approval of an import or a bulk

	accounts *vault.Finder // for match=account, and for jobs

	wrong    map[*entryfile.Row]error // why rows cannot be applied, whatever the store contains
	external map[string]string        // the entries that have the external ids of the rows
	waiting  map[string]string        // the entries that wait for approval to have them
	matches  matches
}

// errNewKey means that the workspace has a new data key, which the search did not include.
var errNewKey = errors.New("the workspace has another data key since a moment ago")

// applyMany runs fn with an applier in a transaction. It retries the transaction if another one has just used or held an external id, or
// created a data key.
func applyMany[T any](ctx context.Context, by db.Caller, a applier, fn func(a *applier) (T, error)) (T, error) {
	for again := 0; ; again++ {
		if a.match == matchAccount || a.job {
			var err error
			if a.accounts, err = a.service.vault.Finder(ctx, a.workspace); err != nil {
				return *new(T), err
			}
		}
		out, err := edit(ctx, by, *a.editor, func(w *editor) (T, error) {
			many := a
			many.editor = w
			out, err := fn(&many)
			if err == nil && a.accounts != nil {
				var current bool
				if current, err = a.accounts.Current(w.tx.Q); err == nil && !current {
					err = errNewKey
				}
			}
			return out, err
		})
		if again < 3 && (db.IsUnique(err) || errors.Is(err, errNewKey) || errors.Is(err, errWaiting)) {
			continue
		}
		return out, err
	}
}

// begin locks the tags of rows, and looks up their external ids and their entries, all at once. A lookup for each row would cost a round
// trip.
func (a *applier) begin(rows []*entryfile.Row) (err error) {
	if a.bulk != nil {
		return a.beginBulk(rows)
	}
	if err := oneAtATime(a.tx, a.workspace, a.onDuplicate); err != nil {
		return err
	}
	a.wrong = map[*entryfile.Row]error{}
	var tags, external []string
	for _, row := range rows {
		if wrong := checkRow(row); wrong != nil {
			a.wrong[row] = wrong
			continue
		}
		tags = append(tags, row.Tags...)
		if row.ExternalID != nil && *row.ExternalID != "" {
			external = append(external, *row.ExternalID)
		}
	}
	slices.Sort(tags)
	if a.tags, err = knownTags(a.tx, a.workspaceID, slices.Compact(tags)); err != nil {
		return err
	}
	if a.external, err = withExternalIDs(a.tx.Q, a.workspace, external); err != nil {
		return err
	}
	if a.waiting, err = heldExternalIDs(a.tx.Q, a.workspace, external); err != nil {
		return err
	}
	return a.look(rows)
}

// result is the result of a row, or of a rehearsal of it.
type result struct {
	action     string
	id         string
	changes    []string // made by an update, for people
	doubles    []api.Duplicate
	undo       string // the line of the bulk that undoes it
	approvalID string // of the approval that a part of the row waits for
}

// apply creates or updates the entry of a row. A fault is why the row cannot be applied. Nothing was changed in that case: everything is
// checked before the first change.
func (a *applier) apply(row *entryfile.Row) (result, error) {
	if a.bulk != nil {
		return a.applyBulk(row)
	}
	if err := a.wrong[row]; err != nil {
		return result{}, err
	}
	// Before any search: callers who may not write accounts must not learn which entries share one.
	if len(row.Methods) > 0 && !a.held.Has(access.ReceivingWrite) {
		return result{}, fault.Denied(string(access.ReceivingWrite), fault.Scope{WorkspaceID: a.workspaceID})
	}
	if len(row.Methods) > 0 {
		if err := access.RequireModeOfPayee(a.tx.Q, a.by.Actor, a.workspaceID, row.ID, true); err != nil {
			return result{}, err
		}
	}
	id, err := a.find(row)
	if err != nil {
		return result{}, err
	}
	if id == "" {
		return a.create(row)
	}
	switch a.onMatch {
	case onMatchSkip:
		return result{action: rowUnchanged, id: id}, nil
	case onMatchRefuse:
		return result{}, fault.Invalid(a.match, "is that of an entry that exists: "+id)
	}
	return a.update(row, id)
}

// checkRow checks a row by the rules for a request with the same content.
func checkRow(row *entryfile.Row) error {
	if row.Problem != "" {
		return &fault.Fault{Code: api.CodeValidation, Message: row.Problem}
	}
	var v fault.Violations
	if row.Type != "" {
		web.CheckOneOf(&v, "type", &row.Type, api.EntryTypes()...)
	}
	in := UpdateInput{EntryUpdate: row.EntryUpdate}
	in.Validate(&v)
	for _, m := range row.Methods {
		checkMethod(&v, &m.Provider, &m.AccountName, &m.AccountID, m.InstitutionCode)
	}
	return v.Err()
}

func (a *applier) create(row *entryfile.Row) (result, error) {
	var v fault.Violations
	if row.Type == "" {
		v.Add("type", "is missing, and no default type is given")
	}
	if row.SaysNothing() {
		v.Add("name", "is missing: nothing says who it is, no label, no name and no field")
	}
	if len(row.Methods) > maxMethods {
		v.Add("receiving_methods", fmt.Sprintf("must be at most %d", maxMethods))
	}
	if err := v.Err(); err != nil {
		return result{}, err
	}
	e := newEntry(a.workspace, row.Create(a.workspaceID))
	set(&e.Status, row.Status)
	if err := a.free(e); err != nil {
		return result{}, err
	}
	if err := a.mayTag(e, row.Tags); err != nil {
		return result{}, err
	}
	if a.dry {
		found, err := doubles(a.tx, e, a.onDuplicate, a.held)
		return result{action: rowCreated, doubles: found}, err
	}
	found, err := a.editor.create(&e, row.Tags)
	if err == nil {
		err = a.addMethods(e, nil, row.Methods)
	}
	if err != nil {
		return result{}, err
	}
	a.name(e, "")
	a.matched(e.ID, nil, e.Fields, row.Methods)
	return result{action: rowCreated, id: e.ID, doubles: found}, nil
}

// free refuses an external id that another entry has. The index would refuse it, too, but its error ends the transaction. If another
// transaction uses the id a moment later, this one is retried.
func (a *applier) free(e entry) error {
	if a.external[e.ExternalID] != "" {
		return errTaken
	}
	if id := a.waiting[e.ExternalID]; id != "" && id != e.ID {
		return errWaiting
	}
	return nil
}

// name records that an entry has its external id in place of an earlier one.
func (a *applier) name(e entry, before string) {
	if delete(a.external, before); e.ExternalID != "" {
		a.external[e.ExternalID] = e.ID
	}
}

// mayTag refuses tags that the entry cannot have, before any of them is created.
func (a *applier) mayTag(e entry, given []string) error {
	for _, text := range given {
		if err := canTag(a.tags, e, text, a.held); err != nil {
			return err
		}
	}
	return nil
}

func (a *applier) update(row *entryfile.Row, id string) (result, error) {
	before, err := a.read(entryRef{id: id, workspaceID: a.workspaceID})
	if err != nil {
		return result{}, err
	}
	if row.Type != "" && row.Type != before.Type {
		return result{}, fault.Invalid("type", "cannot change: the entry is a "+before.Type)
	}
	have := before.Entry
	if row.Tags != nil {
		if have.Tags, err = tagNames(a.tx.Q, id); err != nil {
			return result{}, err
		}
	}
	change, changes := row.Difference(&have)
	methods, added, err := a.newMethods(before, row.Methods)
	if err != nil {
		return result{}, err
	}
	if len(added) > 0 {
		changes = append(changes, "receiving_methods")
	}
	if len(changes) == 0 && row.Status != nil && *row.Status == api.StatusInactive {
		waiting, err := pendingIdentity(a.tx.Q, id)
		if err != nil {
			return result{}, err
		}
		if waiting.change.activates() {
			changes = append(changes, "status")
		}
	}
	if len(changes) == 0 {
		return result{action: rowUnchanged, id: id}, nil
	}
	after, err := before.with(change)
	if err == nil && after.ExternalID != before.ExternalID {
		err = a.free(after)
	}
	if err == nil {
		err = a.mayTag(after, change.Tags)
	}
	done := result{action: rowUpdated, id: id, changes: changes}
	if err != nil || a.dry {
		return done, err
	}
	if err := access.RequireModeOfPayee(a.tx.Q, a.by.Actor, a.workspaceID, id, false); err != nil {
		return result{}, err
	}
	updated, err := a.editor.update(before, after, row.Status, change.Tags)
	if err == nil {
		err = a.addMethods(updated.entry, methods, added)
	}
	if err != nil {
		return result{}, err
	}
	a.updated(before, updated, added)
	if !updated.changed && len(added) == 0 {
		return result{action: rowUnchanged, id: id}, nil // the same tag was given by its id
	}
	done.approvalID = updated.held.shownID
	return done, nil
}

// updated records what later rows find after an update of an entry.
func (a *applier) updated(before entry, done edited, added []api.ReceivingMethodCreate) {
	if done.stored {
		a.name(done.entry, before.ExternalID)
	}
	a.matched(done.ID, before.Fields, done.Fields, added)
	if done.ended || done.held.approvalID != "" {
		maps.DeleteFunc(a.waiting, func(_, id string) bool { return id == done.ID })
	}
	if c := done.held.change; c.After.ExternalID != c.Before.ExternalID && c.After.ExternalID != "" {
		a.waiting[c.After.ExternalID] = done.ID
	}
}

func (a *applier) read(at entryRef) (entry, error) {
	if !a.dry {
		return lock(a.tx, at)
	}
	e, err := find(a.tx.Q, at)
	if err == nil {
		err = e.live()
	}
	return e, err
}

// newMethods returns the receiving methods of an entry that have not ended, and those of a row that it lacks. A method that waits for a
// second person is not requested again. A row never changes an existing method: an account under another name, or at another institution,
// is refused.
func (a *applier) newMethods(e entry, given []api.ReceivingMethodCreate) (have []api.ReceivingMethod, added []api.ReceivingMethodCreate, err error) {
	if len(given) == 0 {
		return nil, nil, nil
	}
	if a.dry {
		have, err = a.service.allMethods(a.tx.Q, e)
	} else {
		have, err = a.service.lockedMethods(a.tx, e)
	}
	if err != nil {
		return nil, nil, err
	}
	have = live(have)
	for _, m := range given {
		i := slices.IndexFunc(have, func(h api.ReceivingMethod) bool { return h.Provider == m.Provider && h.AccountID == m.AccountID })
		switch {
		case i < 0:
			added = append(added, m)
		case have[i].AccountName != m.AccountName:
			return nil, nil, fault.Invalid("receiving_methods", "has an account that the entry has under another name")
		case m.InstitutionCode != nil && have[i].InstitutionCode != *m.InstitutionCode:
			return nil, nil, fault.Invalid("receiving_methods", "has an account that the entry has at another institution")
		}
	}
	if len(have)+len(added) > maxMethods {
		return nil, nil, fault.Invalid("receiving_methods", fmt.Sprintf("would be more than %d", maxMethods))
	}
	return have, added, nil
}
