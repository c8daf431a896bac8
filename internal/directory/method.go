package directory

import (
	"bytes"
	"context"
	"slices"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/fault"
	"bursar/internal/vault"
)

// maxMethods bounds how many receiving methods an entry can have.
const maxMethods = 50

// mayReceive requires the permission to change the receiving methods of an entry.
func (s *Service) mayReceive(ctx context.Context, by db.Caller, entryID string) (place, error) {
	at, _, err := s.may(ctx, by, entryID, access.ReceivingWrite)
	if err != nil {
		return at, asPart(err)
	}
	return at, s.vault.Ready(ctx, at.workspace)
}

// lockForMethods locks the entry whose methods are about to change: two transactions must
// not decide at the same time which method is the default.
func (s *Service) lockForMethods(tx *db.Tx, at place) (entry, []api.ReceivingMethod, error) {
	e, err := lock(tx, at)
	if err != nil {
		return e, nil, fault.Instead(err, fault.NotFound, fault.Missing("directory entry"))
	}
	sealed, err := methodsOf(tx.Q, e)
	if err != nil {
		return e, nil, err
	}
	methods, err := s.openMethods(e, sealed)
	return e, methods, err
}

func pick(methods []api.ReceivingMethod, id string) (api.ReceivingMethod, error) {
	for _, m := range methods {
		if m.ID == id {
			return m, nil
		}
	}
	return api.ReceivingMethod{}, fault.Missing("receiving method")
}

// methodEvent is the event of a change of a receiving method, of which one version is empty
// if it was added or removed. The row is about the method; its changes then tell the entry.
func methodEvent(action audit.Action, e entry, before, after api.ReceivingMethod, text string) audit.Event {
	m := after
	if m.ID == "" {
		m = before
	}
	event := audit.Event{
		Action:      action,
		WorkspaceID: e.workspaceID,
		ResourceID:  m.ID,
		Description: text + " " + e.label + " (" + m.Provider + ")",
	}
	entryOf := func(m api.ReceivingMethod) string {
		if m.ID == "" {
			return ""
		}
		return e.id
	}
	event.Changes.Add("entry_id", entryOf(before), entryOf(after))
	event.Changes.Add("provider", before.Provider, after.Provider)
	event.Changes.Add("account_name", before.AccountName, after.AccountName)
	event.Changes.AddMasked("account_id", before.AccountID, after.AccountID)
	event.Changes.Add("is_default", before.IsDefault, after.IsDefault)
	return event
}

// AddMethod adds a receiving method to an entry. The first one is the default.
func (s *Service) AddMethod(ctx context.Context, by db.Caller, in AddMethodInput) (api.ReceivingMethod, error) {
	at, err := s.mayReceive(ctx, by, in.EntryID)
	if err != nil {
		return api.ReceivingMethod{}, err
	}
	return db.Write(ctx, s.db, by, func(tx *db.Tx) (api.ReceivingMethod, audit.Event, error) {
		e, methods, err := s.lockForMethods(tx, at)
		if err != nil {
			return api.ReceivingMethod{}, audit.Event{}, err
		}
		return s.addMethod(tx, e, methods, in.ReceivingMethodCreate)
	})
}

// addMethod adds a receiving method to an entry that has these. Every way to a new one ends here.
func (s *Service) addMethod(tx *db.Tx, e entry, methods []api.ReceivingMethod, in api.ReceivingMethodCreate) (api.ReceivingMethod, audit.Event, error) {
	if len(methods) >= maxMethods {
		return api.ReceivingMethod{}, audit.Event{}, fault.New(fault.TooMany, "an entry can have at most %d receiving methods", maxMethods)
	}
	m := api.ReceivingMethod{
		ID: tx.NewID("rm"), Provider: in.Provider, AccountName: in.AccountName, AccountID: in.AccountID,
		IsDefault: in.IsDefault || len(methods) == 0,
	}
	event := methodEvent(audit.ReceivingMethodAdded, e, api.ReceivingMethod{}, m, "Added a receiving method to")
	if m.IsDefault && len(methods) > 0 {
		passDefault(&event, methods, m.ID)
		if err := clearDefault(tx, e.id); err != nil {
			return m, audit.Event{}, err
		}
	}
	n, err := s.sealNumber(e, m)
	if err == nil {
		err = tx.Exec(`INSERT INTO entry_method_log (entry_id, method_id) VALUES ($1, $2)`, stored(e.id), m.ID)
	}
	if err != nil {
		return m, audit.Event{}, err
	}
	return m, event, tx.Exec(
		`INSERT INTO receiving_method (id, entry_id, provider, account_name, account_sealed, account_key, sealed_by, is_default, created_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
		m.ID, stored(e.id), m.Provider, m.AccountName, n.sealed, n.key, vault.KeyOf(n.sealed), m.IsDefault, tx.Now())
}

// UpdateMethod changes a receiving method.
func (s *Service) UpdateMethod(ctx context.Context, by db.Caller, in UpdateMethodInput) (api.ReceivingMethod, error) {
	at, err := s.mayReceive(ctx, by, in.EntryID)
	if err != nil {
		return api.ReceivingMethod{}, err
	}
	return db.Write(ctx, s.db, by, func(tx *db.Tx) (api.ReceivingMethod, audit.Event, error) {
		e, methods, err := s.lockForMethods(tx, at)
		if err != nil {
			return api.ReceivingMethod{}, audit.Event{}, err
		}
		before, err := pick(methods, in.MethodID)
		if err != nil {
			return before, audit.Event{}, err
		}
		after := before
		set(&after.Provider, in.Provider)
		set(&after.AccountName, in.AccountName)
		set(&after.AccountID, in.AccountID)
		set(&after.IsDefault, in.IsDefault)
		event := methodEvent(audit.ReceivingMethodUpdated, e, before, after, "Updated a receiving method of")
		switch {
		case after == before && in.Unseen:
			return after, audit.None("nothing changed"), nil
		case after == before:
			event, err := revealed(tx, by, e)
			return after, event, err
		case before.IsDefault && !after.IsDefault:
			return after, audit.Event{}, fault.Invalid("is_default", "cannot be taken from the default: make another one the default")
		case after.IsDefault && !before.IsDefault:
			passDefault(&event, methods, after.ID)
			if err := clearDefault(tx, e.id); err != nil {
				return after, audit.Event{}, err
			}
		}
		if after.AccountID != before.AccountID {
			if err := s.storeNumber(tx, e, after); err != nil {
				return after, audit.Event{}, err
			}
		}
		return after, event, tx.Exec(
			`UPDATE receiving_method SET provider = $2, account_name = $3, is_default = $4 WHERE id = $1`,
			after.ID, after.Provider, after.AccountName, after.IsDefault)
	})
}

// RemoveMethod removes a receiving method. If it was the default, the oldest of the
// others becomes the default.
func (s *Service) RemoveMethod(ctx context.Context, by db.Caller, in MethodInput) (api.Deleted, error) {
	at, err := s.mayReceive(ctx, by, in.EntryID)
	if err != nil {
		return api.Deleted{}, err
	}
	return db.Write(ctx, s.db, by, func(tx *db.Tx) (api.Deleted, audit.Event, error) {
		answer := api.Deleted{ID: in.MethodID, Deleted: true}
		e, methods, err := s.lockForMethods(tx, at)
		if err != nil {
			return answer, audit.Event{}, err
		}
		m, err := pick(methods, in.MethodID)
		if err != nil {
			return answer, audit.Event{}, err
		}
		if err := tx.Exec(`DELETE FROM receiving_method WHERE id = $1`, m.ID); err != nil {
			return answer, audit.Event{}, err
		}
		event := methodEvent(audit.ReceivingMethodRemoved, e, m, api.ReceivingMethod{}, "Removed a receiving method of")
		if next := slices.IndexFunc(methods, func(other api.ReceivingMethod) bool { return other.ID != m.ID }); m.IsDefault && next >= 0 {
			passDefault(&event, methods, methods[next].ID)
			err = tx.Exec(`UPDATE receiving_method SET is_default = TRUE WHERE id = $1`, methods[next].ID)
		}
		return answer, event, err
	})
}

// passDefault tells in an event which other method of the entry has been the default so far,
// or is it from now on.
func passDefault(event *audit.Event, methods []api.ReceivingMethod, to string) {
	for _, m := range methods {
		if m.IsDefault {
			event.Changes.Add("default_method", m.ID, to)
		}
	}
}

func clearDefault(tx *db.Tx, entryID string) error {
	return tx.Exec(`UPDATE receiving_method SET is_default = FALSE WHERE entry_id = $1 AND is_default = TRUE`, stored(entryID))
}

func methodsOf(q db.Q, e entry) ([]sealedMethod, error) {
	return db.Collect(q, func(r db.Rows) sealedMethod {
		m := api.ReceivingMethod{ID: r.Text(0), Provider: r.Text(1), AccountName: r.Text(2), IsDefault: r.Bool(4)}
		return sealedMethod{m, bytes.Clone(r.Raw(3))}
	}, `SELECT id, provider, account_name, account_sealed, is_default FROM receiving_method WHERE entry_id = $1 ORDER BY id`, stored(e.id))
}
