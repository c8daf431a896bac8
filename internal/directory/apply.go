package directory

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/audit"
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
	service     *Service
	tx          *db.Tx
	by          db.Caller
	workspaceID string
	workspace   int64 // its number
	held        access.Set
	match       string
	onMatch     string
	onDuplicate string // what is done with new entries that may be duplicates
	dry         bool
	bulk        *bulkOptions // for a bulk: its rows contain only ids
	job         bool         // changes that need a second person become lines of the approval of an import or a bulk

	accounts *vault.Finder // for match=account, and for jobs

	wrong    map[*entryfile.Row]error // why rows cannot be applied, whatever the store contains
	tags     map[string]api.Tag       // the existing ones, by nameKey
	external map[string]string        // the entries that have the external ids of the rows
	given    map[string]string        // those that got them in this transaction
	waiting  map[string]string        // the entries that wait for approval to have them
	matches  matches
	common   []string // words that have become common
	events   []audit.Event
}

// errNewKey means that the workspace has a new data key, which the search did not include.
var errNewKey = errors.New("the workspace has another data key since a moment ago")

// errHeldNow means that an external id that a row gave to an entry has just been held for another one.
var errHeldNow = errors.New("an external id waits for approval since a moment ago")

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
		var done applier
		out, err := db.Write(ctx, a.service.db, by, func(tx *db.Tx) (T, audit.Event, error) {
			done = a
			done.tx, done.by, done.given = tx, by, map[string]string{}
			out, err := fn(&done)
			if err == nil {
				err = done.noneHeld()
			}
			if err == nil && a.accounts != nil {
				var current bool
				if current, err = a.accounts.Current(tx.Q); err == nil && !current {
					err = errNewKey
				}
			}
			event := audit.None("none of the many changed anything")
			if len(done.events) > 0 {
				event = audit.All(done.events...)
			}
			return out, event, err
		})
		if again < 3 && (db.IsUnique(err) || errors.Is(err, errNewKey) || errors.Is(err, errHeldNow)) {
			continue
		}
		if err == nil {
			a.service.common.Learn(a.workspaceID, done.common)
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
	found, err := doubles(a.tx, e, a.onDuplicate, a.held)
	if err != nil || a.dry {
		return result{action: rowCreated, doubles: found}, err
	}
	e.ID = a.tx.NewID("entry")
	tags, err := resolveTags(a.tx, a.tags, e, row.Tags, a.held)
	if err != nil {
		return result{}, err
	}
	words, doubtful := a.service.common.Split(e.WorkspaceID, strings.Fields(e.words))
	if err := insert(a.tx, e, words); err != nil {
		return result{}, err
	}
	common, err := declareCommon(a.tx, e.workspace, doubtful)
	if err != nil {
		return result{}, err
	}
	a.common = append(a.common, common...)
	a.name(e, "")
	a.matched(e.ID, nil, e.Fields)
	a.events = append(a.events, e.event(audit.EntryCreated, "Created"))
	if err := attach(a.tx, e.ID, tags); err != nil {
		return result{}, err
	}
	return result{action: rowCreated, id: e.ID, doubles: found}, a.addMethods(e, nil, row.Methods)
}

// noneHeld returns errHeldNow if another entry waits for approval to have an external id that a row has given.
func (a *applier) noneHeld() error {
	held, err := heldExternalIDs(a.tx.Q, a.workspace, slices.Sorted(maps.Keys(a.given)))
	for external, id := range held {
		if err == nil && id != a.given[external] {
			err = errHeldNow
		}
	}
	return err
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
	delete(a.external, before)
	if e.ExternalID != "" {
		a.external[e.ExternalID] = e.ID
	}
	if delete(a.given, before); e.ExternalID != "" && e.ExternalID != before {
		a.given[e.ExternalID] = e.ID
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
	after, held, noted, err := a.service.splitIdentity(a.tx, a.by, before, after, row.Status)
	if err != nil {
		return result{}, err
	}
	changed := !after.same(before)
	event := after.event(audit.EntryUpdated, "Updated")
	if changed {
		event.Changes = before.changesTo(after)
		if err := update(a.tx, before, after); err != nil {
			return result{}, err
		}
		a.name(after, before.ExternalID)
		a.matched(id, before.Fields, after.Fields)
	}
	event.Changes = append(event.Changes, noted...)
	if slices.ContainsFunc(noted, func(c api.AuditChange) bool { return c.Field == "approval_id" }) { // what waited has ended
		a.freeWaiting(id)
	}
	if change.Tags != nil {
		gone, added, err := replaceTags(a.tx, a.tags, after, change.Tags, a.held)
		event.Changes.AddItems("tags", gone, added)
		retagged := len(gone)+len(added) > 0
		if err == nil && retagged && !changed {
			err = touch(a.tx, id)
		}
		if err != nil {
			return result{}, err
		}
		changed = changed || retagged
	}
	changed = changed || len(noted) > 0
	if !held.isEmpty() {
		requested, err := a.hold(after, held, &done)
		if err != nil {
			return result{}, err
		}
		event.Changes = append(event.Changes, requested...)
		changed = changed || len(requested) > 0
	}
	if changed {
		a.events = append(a.events, event)
	} else if len(added) == 0 {
		done = result{action: rowUnchanged, id: id} // the same tag was given by its id
	}
	return done, a.addMethods(after, methods, added)
}

// hold creates an approval of a held change of an entry. It returns what the audit log contains about it: nothing if the same change
// already waits.
func (a *applier) hold(e entry, c identityChange, done *result) (audit.Changes, error) {
	held, requested, err := a.service.requestIdentity(a.tx, a.by, e, c, nil)
	if err != nil {
		return nil, err
	}
	done.approvalID = held.shownID
	a.freeWaiting(e.ID)
	if external := c.After.ExternalID; external != c.Before.ExternalID && external != "" && a.waiting != nil {
		a.waiting[external] = e.ID
	}
	return requested, nil
}

// freeWaiting records that an entry no longer waits to have an external id.
func (a *applier) freeWaiting(entryID string) {
	maps.DeleteFunc(a.waiting, func(_, id string) bool { return id == entryID })
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

func (a *applier) addMethods(e entry, have []api.ReceivingMethod, added []api.ReceivingMethodCreate) error {
	for _, m := range added {
		made, event, err := a.service.addMethod(a.tx, a.by, e, have, m)
		if err != nil {
			return err
		}
		for i := range have {
			have[i].IsDefault = have[i].IsDefault && !made.IsDefault
		}
		have = append(have, made)
		for _, key := range a.keysOf(nil, []api.ReceivingMethodCreate{m}) {
			a.matches.add(matchKey(key), e.ID)
		}
		a.events = append(a.events, event)
	}
	return nil
}
