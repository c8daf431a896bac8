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

// Rules say for whom rows are applied to a workspace, and how.
type Rules struct {
	WorkspaceID string
	Workspace   int64      // its number
	Held        access.Set // the permissions of the caller
	Match       string     // what matches a row with an existing entry: see entryfile.Matches
	OnMatch     string     // what is done with a row that matches one: see entryfile.OnMatches
	OnDuplicate string     // what is done with new entries that may be duplicates
	DryRun      bool
	// JobID is the id of the import or the bulk that the rows are of. What needs a second person becomes a line of its approval.
	JobID string
}

// RowApplier applies rows in one transaction.
type RowApplier interface {
	// Begin is called once, with all rows. It may change their order.
	Begin(rows []*entryfile.Row) error
	// Apply applies a row. A fault is why that is not possible; nothing was changed in that case.
	Apply(row *entryfile.Row) (Result, error)
}

// Result is the result of a row, or of a rehearsal of it.
type Result struct {
	Action     string // see entryfile.Created
	ID         string
	Changes    []string // made by an update, for people
	Duplicates []api.Duplicate
	Undo       string // the line of the bulk that undoes it
	ApprovalID string // of the approval that a part of the row waits for
}

// Applier creates and updates entries: by lines of a file, or items of a batch.
type Applier struct {
	*editor

	accounts *vault.Finder // for match=account, and for jobs

	wrong    map[*entryfile.Row]error // why rows cannot be applied, whatever the store contains
	external map[string]string        // the entries that have the external ids of the rows
	waiting  map[string]string        // the entries that wait for approval to have them
	matches  matches
}

// errNewKey means that the workspace has a new data key, which the search did not include.
var errNewKey = errors.New("the workspace has another data key since a moment ago")

// Apply runs fn with an applier in a transaction. It retries the transaction if another one has just used or held an external id, or
// created a data key.
func Apply[T any](ctx context.Context, s *Service, by db.Caller, rules Rules, fn func(tx *db.Tx, a *Applier) (T, error)) (T, error) {
	for again := 0; ; again++ {
		var accounts *vault.Finder
		if rules.Match == entryfile.MatchAccount || rules.JobID != "" {
			var err error
			if accounts, err = s.vault.Finder(ctx, rules.Workspace); err != nil {
				return *new(T), err
			}
		}
		out, err := edit(ctx, s, by, rules, func(w *editor) (T, error) {
			if rules.JobID != "" {
				w.service = s.forJob(rules.JobID, accounts)
			}
			out, err := fn(w.tx, &Applier{editor: w, accounts: accounts})
			if err == nil && accounts != nil {
				var current bool
				if current, err = accounts.Current(w.tx.Q); err == nil && !current {
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

// Begin locks the tags of rows, and looks up their external ids and their entries, all at once. A lookup for each row would cost a round
// trip.
func (a *Applier) Begin(rows []*entryfile.Row) (err error) {
	if err := oneAtATime(a.tx, a.Workspace, a.OnDuplicate); err != nil {
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
	if a.tags, err = knownTags(a.tx, a.WorkspaceID, slices.Compact(tags)); err != nil {
		return err
	}
	if a.external, err = withExternalIDs(a.tx.Q, a.Workspace, external); err != nil {
		return err
	}
	if a.waiting, err = heldExternalIDs(a.tx.Q, a.Workspace, external); err != nil {
		return err
	}
	return a.look(rows)
}

// Apply creates or updates the entry of a row. A fault is why the row cannot be applied. Nothing was changed in that case: everything is
// checked before the first change.
func (a *Applier) Apply(row *entryfile.Row) (Result, error) {
	a.service.at(row)
	if err := a.wrong[row]; err != nil {
		return Result{}, err
	}
	// Before any search: callers who may not write accounts must not learn which entries share one.
	if len(row.Methods) > 0 && !a.Held.Has(access.ReceivingWrite) {
		return Result{}, fault.Denied(string(access.ReceivingWrite), fault.Scope{WorkspaceID: a.WorkspaceID})
	}
	if len(row.Methods) > 0 {
		if err := access.RequireModeOfPayee(a.tx.Q, a.by.Actor, a.WorkspaceID, row.ID, true); err != nil {
			return Result{}, err
		}
	}
	id, err := a.find(row)
	if err != nil {
		return Result{}, err
	}
	if id == "" {
		return a.create(row)
	}
	switch a.OnMatch {
	case entryfile.OnMatchSkip:
		return Result{Action: entryfile.Unchanged, ID: id}, nil
	case entryfile.OnMatchRefuse:
		return Result{}, fault.Invalid(a.Match, "is that of an entry that exists: "+id)
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

func (a *Applier) create(row *entryfile.Row) (Result, error) {
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
		return Result{}, err
	}
	e := newEntry(a.Workspace, row.Create(a.WorkspaceID))
	set(&e.Status, row.Status)
	if err := a.free(e); err != nil {
		return Result{}, err
	}
	if err := a.mayTag(e, row.Tags); err != nil {
		return Result{}, err
	}
	if a.DryRun {
		found, err := doubles(a.tx, e, a.OnDuplicate, a.Held)
		return Result{Action: entryfile.Created, Duplicates: found}, err
	}
	e, found, err := a.editor.create(e, row.Tags)
	if err == nil {
		err = a.addMethods(e, nil, row.Methods)
	}
	if err != nil {
		return Result{}, err
	}
	a.name(e, "")
	a.matched(e.ID, nil, e.Fields, row.Methods)
	return Result{Action: entryfile.Created, ID: e.ID, Duplicates: found}, nil
}

// free refuses an external id that another entry has. The index would refuse it, too, but its error ends the transaction. If another
// transaction uses the id a moment later, this one is retried.
func (a *Applier) free(e entry) error {
	if a.external[e.ExternalID] != "" {
		return errTaken
	}
	if id := a.waiting[e.ExternalID]; id != "" && id != e.ID {
		return errWaiting
	}
	return nil
}

// name records that an entry has its external id in place of an earlier one.
func (a *Applier) name(e entry, before string) {
	if delete(a.external, before); e.ExternalID != "" {
		a.external[e.ExternalID] = e.ID
	}
}

// mayTag refuses tags that the entry cannot have, before any of them is created.
func (a *Applier) mayTag(e entry, given []string) error {
	for _, text := range given {
		if err := canTag(a.tags, e, text, a.Held); err != nil {
			return err
		}
	}
	return nil
}

func (a *Applier) update(row *entryfile.Row, id string) (Result, error) {
	before, err := a.read(entryRef{id: id, workspaceID: a.WorkspaceID})
	if err != nil {
		return Result{}, err
	}
	if row.Type != "" && row.Type != before.Type {
		return Result{}, fault.Invalid("type", "cannot change: the entry is a "+before.Type)
	}
	have := before.Entry
	if row.Tags != nil {
		if have.Tags, err = tagNames(a.tx.Q, id); err != nil {
			return Result{}, err
		}
	}
	change, changes := row.Difference(&have)
	methods, added, err := a.newMethods(before, row.Methods)
	if err != nil {
		return Result{}, err
	}
	if len(added) > 0 {
		changes = append(changes, "receiving_methods")
	}
	if len(changes) == 0 && row.Status != nil && *row.Status == api.StatusInactive {
		waiting, err := pendingIdentity(a.tx.Q, id)
		if err != nil {
			return Result{}, err
		}
		if waiting.change.activates() {
			changes = append(changes, "status")
		}
	}
	if len(changes) == 0 {
		return Result{Action: entryfile.Unchanged, ID: id}, nil
	}
	after, err := before.with(change)
	if err == nil && after.ExternalID != before.ExternalID {
		err = a.free(after)
	}
	if err == nil {
		err = a.mayTag(after, change.Tags)
	}
	done := Result{Action: entryfile.Updated, ID: id, Changes: changes}
	if err != nil || a.DryRun {
		return done, err
	}
	if err := access.RequireModeOfPayee(a.tx.Q, a.by.Actor, a.WorkspaceID, id, false); err != nil {
		return Result{}, err
	}
	updated, err := a.editor.update(before, after, row.Status, change.Tags)
	if err == nil {
		err = a.addMethods(updated.entry, methods, added)
	}
	if err != nil {
		return Result{}, err
	}
	a.updated(before, updated, added)
	if !updated.changed && len(added) == 0 {
		return Result{Action: entryfile.Unchanged, ID: id}, nil // the same tag was given by its id
	}
	done.ApprovalID = updated.held.shownID
	return done, nil
}

// updated records what later rows find after an update of an entry.
func (a *Applier) updated(before entry, done edited, added []api.ReceivingMethodCreate) {
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

func (a *Applier) read(at entryRef) (entry, error) {
	if !a.DryRun {
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
func (a *Applier) newMethods(e entry, given []api.ReceivingMethodCreate) (have []api.ReceivingMethod, added []api.ReceivingMethodCreate, err error) {
	if len(given) == 0 {
		return nil, nil, nil
	}
	if a.DryRun {
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
