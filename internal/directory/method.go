package directory

import (
	"context"
	"errors"
	"slices"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/fault"
)

const (
	// maxMethods bounds how many receiving methods of an entry are or may become payable, and maxEnded how many others are kept.
	maxMethods = 50
	maxEnded   = 100
)

// mayReceive requires the permission to change the receiving methods of an entry. It returns all permissions of the caller.
func (s *Service) mayReceive(ctx context.Context, by db.Caller, entryID string) (entryRef, access.Set, error) {
	at, held, err := s.authorize(ctx, by, entryID, access.ReceivingWrite)
	if err != nil {
		return at, held, partNotFound(err)
	}
	return at, held, s.vault.Ready(ctx, at.workspace)
}

// maskedFor returns a method for a response: callers who may write methods and not read them see no account number.
func maskedFor(held access.Set, m api.ReceivingMethod) api.ReceivingMethod {
	if !held.Has(access.ReceivingRead) && m.AccountID != "" {
		m.AccountID = audit.Mask(m.AccountID)
	}
	return m
}

// methodAnswer is the response to a change of a method, which is masked in a stored answer.
type methodAnswer struct{ api.ReceivingMethod }

// Masked returns the response for callers who see no account number.
func (a methodAnswer) Masked() any { return maskedFor(access.SetOf(), a.ReceivingMethod) }

// changeMethod is db.Write for changes whose response is a method. Callers who may read methods get all of a stored answer.
func (s *Service) changeMethod(ctx context.Context, by db.Caller, held access.Set,
	fn func(tx *db.Tx) (api.ReceivingMethod, audit.Event, error)) (api.ReceivingMethod, error) {
	answer, err := db.Write(ctx, s.db, by, func(tx *db.Tx) (methodAnswer, audit.Event, error) {
		m, event, err := fn(tx)
		return methodAnswer{maskedFor(held, m)}, event, err
	})
	var replay *db.Replay
	if errors.As(err, &replay) && held.Has(access.ReceivingRead) {
		replay.Unmask()
	}
	return answer.ReceivingMethod, err
}

// lockForMethods locks the entry whose methods are about to change: two transactions must not decide concurrently which method is the
// default. It returns all of its methods.
func (s *Service) lockForMethods(tx *db.Tx, at entryRef) (entry, []api.ReceivingMethod, error) {
	e, err := lock(tx, at)
	if err != nil {
		return e, nil, fault.Replace(err, api.CodeEntryNotFound, fault.Missing("directory entry"))
	}
	methods, err := s.lockedMethods(tx, e)
	return e, methods, err
}

// methodEvent returns the event of a change of a receiving method. If it was added or removed, one version is empty. The row is about the
// method; its changes name the entry.
func methodEvent(action audit.Action, e entry, before, after api.ReceivingMethod, text string) audit.Event {
	m := after
	if m.ID == "" {
		m = before
	}
	event := audit.Event{
		Action:      action,
		WorkspaceID: e.WorkspaceID,
		ResourceID:  m.ID,
		Description: text + " " + e.Label + " (" + m.Provider + ")",
	}
	entryOf := func(m api.ReceivingMethod) string {
		if m.ID == "" {
			return ""
		}
		return e.ID
	}
	event.Changes.Add("entry_id", entryOf(before), entryOf(after))
	event.Changes.Add("provider", before.Provider, after.Provider)
	event.Changes.Add("account_name", before.AccountName, after.AccountName)
	event.Changes.AddMasked("account_id", before.AccountID, after.AccountID)
	event.Changes.Add("institution_code", before.InstitutionCode, after.InstitutionCode)
	event.Changes.Add("is_default", before.IsDefault, after.IsDefault)
	event.Changes.Add("status", before.Status, after.Status)
	return event
}

// Methods lists all receiving methods of an entry, including those that wait for a second person and those that are no longer paid. If it
// returns account numbers, the audit log records that.
func (s *Service) Methods(ctx context.Context, by db.Caller, in EntryInput) ([]api.ReceivingMethod, error) {
	return s.methods(ctx, by, in.ID, func(api.ReceivingMethod) bool { return true })
}

// ShowMethods is Methods for a page: account numbers are masked, except for that of the receiving method that the visitor requests.
func (s *Service) ShowMethods(ctx context.Context, by db.Caller, in ShowInput) ([]api.ReceivingMethod, error) {
	return s.methods(ctx, by, in.ID, func(m api.ReceivingMethod) bool { return m.ID == in.Reveal })
}

func (s *Service) methods(ctx context.Context, by db.Caller, entryID string, full func(api.ReceivingMethod) bool) ([]api.ReceivingMethod, error) {
	at, _, err := s.authorize(ctx, by, entryID, access.ReceivingRead)
	if err != nil {
		return nil, partNotFound(err)
	}
	_, methods, err := s.shown(ctx, by, at, full, s.withApprovals, func(db.Q, entry) error { return nil })
	return methods, fault.Replace(err, api.CodeEntryNotFound, fault.Missing("directory entry"))
}

// AddMethod adds a receiving method to an entry. The first one is the default.
func (s *Service) AddMethod(ctx context.Context, by db.Caller, in AddMethodInput) (api.ReceivingMethod, error) {
	at, held, err := s.mayReceive(ctx, by, in.EntryID)
	if err != nil {
		return api.ReceivingMethod{}, err
	}
	return s.changeMethod(ctx, by, held, func(tx *db.Tx) (api.ReceivingMethod, audit.Event, error) {
		e, methods, err := s.lockForMethods(tx, at)
		if err != nil {
			return api.ReceivingMethod{}, audit.Event{}, err
		}
		return s.addMethod(tx, by, e, live(methods), in.ReceivingMethodCreate)
	})
}

// addMethod adds a receiving method to an entry that has these methods. Every new method is added by it.
func (s *Service) addMethod(tx *db.Tx, by db.Caller, e entry, methods []api.ReceivingMethod, in api.ReceivingMethodCreate) (api.ReceivingMethod, audit.Event, error) {
	if len(methods) >= maxMethods {
		return api.ReceivingMethod{}, audit.Event{}, fault.New(api.CodeTooMany, "an entry can have at most %d receiving methods", maxMethods)
	}
	m := api.ReceivingMethod{ID: tx.NewID("rm"), Provider: in.Provider, AccountName: in.AccountName, AccountID: in.AccountID, Status: api.MethodPending}
	set(&m.InstitutionCode, in.InstitutionCode)
	if err := s.insertMethod(tx, e, m); err != nil {
		return m, audit.Event{}, err
	}
	m, noted, err := s.makePayable(tx, by, e, methods, m, in.IsDefault, "added")
	event := methodEvent(audit.ReceivingMethodAdded, e, api.ReceivingMethod{}, m, "Added a receiving method to")
	event.Changes = append(event.Changes, noted...)
	return m, event, err
}

// UpdateMethod makes a receiving method the default, or creates a successor that differs. The account of a method never changes, so the old
// method is paid until the new one can be.
func (s *Service) UpdateMethod(ctx context.Context, by db.Caller, in UpdateMethodInput) (api.ReceivingMethod, error) {
	at, held, err := s.mayReceive(ctx, by, in.EntryID)
	if err != nil {
		return api.ReceivingMethod{}, err
	}
	in.Unseen = in.Unseen || !held.Has(access.ReceivingRead)
	return s.changeMethod(ctx, by, held, func(tx *db.Tx) (api.ReceivingMethod, audit.Event, error) { return s.updateMethod(tx, by, at, in) })
}

func (s *Service) updateMethod(tx *db.Tx, by db.Caller, at entryRef, in UpdateMethodInput) (api.ReceivingMethod, audit.Event, error) {
	e, methods, err := s.lockForMethods(tx, at)
	if err != nil {
		return api.ReceivingMethod{}, audit.Event{}, err
	}
	before, err := standIn(methods, in.MethodID)
	if err != nil {
		return before, audit.Event{}, err
	}
	after := before
	set(&after.Provider, in.Provider)
	set(&after.AccountName, in.AccountName)
	set(&after.AccountID, in.AccountID)
	set(&after.InstitutionCode, in.InstitutionCode)
	set(&after.IsDefault, in.IsDefault)
	switch {
	case after == before && in.Unseen:
		return after, audit.None("nothing changed"), nil
	case after == before:
		event, err := revealed(tx, by, e)
		return after, event, err
	case before.IsDefault && !after.IsDefault:
		return after, audit.Event{}, fault.Invalid("is_default", "cannot be taken from the default: make another one the default")
	}
	wantsDefault := after.IsDefault && !before.IsDefault
	if after.IsDefault = before.IsDefault; after == before {
		now, noted, err := s.makePayable(tx, by, e, methods, before, true, "default")
		event := methodEvent(audit.ReceivingMethodUpdated, e, before, now, "Updated a receiving method of")
		event.Changes = append(event.Changes, noted...)
		return now, event, err
	}
	return s.succeed(tx, by, e, methods, before, after, wantsDefault)
}

// succeed creates the successor of a method. A method that was not approved yet never will be: its successor replaces it.
func (s *Service) succeed(tx *db.Tx, by db.Caller, e entry, methods []api.ReceivingMethod, before, after api.ReceivingMethod, wantsDefault bool) (api.ReceivingMethod, audit.Event, error) {
	after.Replaces = newestAfter(methods, before.ID)
	for i, m := range methods {
		if m.Status == api.MethodPending && (m.ID == before.ID || chained(methods, m, after.Replaces)) {
			if err := s.dropPending(tx, by, m, "it was changed again"); err != nil {
				return after, audit.Event{}, err
			}
			methods[i].Status = api.MethodRejected
		}
	}
	after.ID, after.IsDefault, after.Status, after.PayableAt, after.ApprovalID = tx.NewID("rm"), false, api.MethodPending, 0, ""
	if err := s.insertMethod(tx, e, after); err != nil {
		return after, audit.Event{}, err
	}
	after, noted, err := s.makePayable(tx, by, e, methods, after, wantsDefault, "changed")
	event := methodEvent(audit.ReceivingMethodUpdated, e, before, after, "Updated a receiving method of")
	event.Changes.Add("id", before.ID, after.ID)
	event.Changes = append(event.Changes, noted...)
	return after, event, err
}

// newestAfter follows the successors of a method that are approved already.
func newestAfter(methods []api.ReceivingMethod, id string) string {
	for {
		next := slices.IndexFunc(methods, func(m api.ReceivingMethod) bool { return m.Replaces == id && m.Status == api.MethodActive })
		if next < 0 {
			return id
		}
		id = methods[next].ID
	}
}

// dropPending ends a method that waits for a second person.
func (s *Service) dropPending(tx *db.Tx, by db.Caller, m api.ReceivingMethod, why string) error {
	if _, err := s.voidMethod(tx, by, m.ID, why); err != nil {
		return err
	}
	return setStatus(tx, m.ID, api.MethodRejected)
}

// RemoveMethod removes a receiving method. If it was the default, the oldest of the others that can be paid becomes the default. That may
// need the approval of a second person; until then there is no default.
func (s *Service) RemoveMethod(ctx context.Context, by db.Caller, in MethodInput) (api.Deleted, error) {
	at, _, err := s.mayReceive(ctx, by, in.EntryID)
	if err != nil {
		return api.Deleted{}, err
	}
	return db.Write(ctx, s.db, by, func(tx *db.Tx) (api.Deleted, audit.Event, error) {
		answer := api.Deleted{ID: in.MethodID, Deleted: true}
		e, methods, err := s.lockForMethods(tx, at)
		if err == nil {
			err = access.RequireModeOfPayee(tx.Q, by.Actor, at.workspaceID, in.EntryID, false)
		}
		if err != nil {
			return answer, audit.Event{}, err
		}
		m, err := standIn(methods, in.MethodID)
		if err != nil {
			return answer, audit.Event{}, err
		}
		event := methodEvent(audit.ReceivingMethodRemoved, e, m, api.ReceivingMethod{}, "Removed a receiving method of")
		voided, err := s.voidMethod(tx, by, m.ID, "it was removed")
		if err != nil {
			return answer, audit.Event{}, err
		}
		if voided {
			event.Changes.Add("approval", api.ApprovalPending, api.ApprovalVoid)
		}
		if err := removeMethod(tx, e, m); err != nil || !m.IsDefault {
			return answer, event, err
		}
		left := slices.DeleteFunc(live(methods), func(other api.ReceivingMethod) bool { return other.ID == m.ID })
		next := slices.IndexFunc(left, func(m api.ReceivingMethod) bool { return payable(m, tx.Now()) })
		if next < 0 {
			return answer, event, nil
		}
		_, noted, err := s.makePayable(tx, by, e, left, left[next], true, "promoted")
		event.Changes = append(event.Changes, noted...)
		if err == nil && len(noted) == 0 {
			event.Changes.Add("default_method", m.ID, left[next].ID)
		}
		return answer, event, err
	})
}
