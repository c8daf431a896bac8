package directory

import (
	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/audit"
	"bursar/internal/db"
)

// moveMethods gives the target of a merge the payable receiving methods of its sources. It ends what waits for approval there, which was
// requested for another payee. The default of the target stays. Only if the target has no method, the default of the first source that has
// one becomes its default.
func (s *Service) moveMethods(tx *db.Tx, by db.Caller, event *audit.Event, sources []party, methods []api.ReceivingMethod, target entry) error {
	paid := len(onlyActive(methods)) > 0
	for _, p := range sources {
		if err := s.endPending(tx, by, p.entry, "the entry was merged into another"); err != nil {
			return err
		}
		moved := onlyActive(p.methods)
		for _, m := range moved {
			event.Changes.Add("receiving_methods", nil, m.ID+" ("+m.Provider+" "+audit.Mask(m.AccountID)+")")
		}
		noted, err := s.placeMethods(tx, by, target, moved, !paid, "merged")
		if err != nil {
			return err
		}
		event.Changes = append(event.Changes, noted...)
		paid = paid || len(moved) > 0
	}
	return nil
}

// placeMethods moves methods to another entry, where makePayable decides about them. The default method of their previous entry becomes the
// default if that is wanted.
func (s *Service) placeMethods(tx *db.Tx, by db.Caller, to entry, moved []api.ReceivingMethod, wantsDefault bool, why string) (audit.Changes, error) {
	for _, m := range moved {
		if _, err := s.voidMethod(tx, by, m.ID, "it was moved to another entry"); err != nil {
			return nil, err
		}
		if err := tx.Exec(`UPDATE receiving_method SET entry_id = $2, status = 'pending', payable_at = 0, default_since = NULL, version = version + 1 WHERE id = $1`,
			m.ID, stored(to.ID)); err != nil {
			return nil, err
		}
	}
	var noted audit.Changes
	for _, was := range moved {
		methods, err := s.lockedMethods(tx, to)
		if err != nil {
			return nil, err
		}
		m, err := standIn(methods, was.ID)
		if err != nil {
			return nil, err
		}
		_, more, err := s.makePayable(tx, by, to, methods, m, wantsDefault && was.IsDefault, why)
		if err != nil {
			return nil, err
		}
		noted = append(noted, more...)
	}
	return noted, nil
}

// returnMethods returns to an entry the methods that it had before a merge: unchanged or, if two people are demanded, as makePayable
// decides. Otherwise one person could make a method payable again by undoing the action of a colleague.
func (s *Service) returnMethods(tx *db.Tx, by db.Caller, event *audit.Event, was entryState, to entry) error {
	for _, m := range was.Methods {
		event.Changes.Add("receiving_methods", nil, m.ID+" ("+m.Provider+" "+audit.Mask(m.AccountID)+")")
	}
	people, err := access.ObserveSecondPerson(tx, access.Receiving, to.WorkspaceID)
	if err != nil {
		return err
	}
	if people.Demanded() {
		noted, err := s.placeMethods(tx, by, to, was.Methods, true, "unmerged")
		event.Changes = append(event.Changes, noted...)
		return err
	}
	for _, m := range was.Methods {
		if _, err := s.voidMethod(tx, by, m.ID, "the merge that it was asked for was undone"); err != nil {
			return err
		}
		var chosen any
		if at, ok := was.Chosen[m.ID]; ok {
			chosen = at
		}
		if err := tx.Exec(`UPDATE receiving_method SET entry_id = $2, status = $3, payable_at = $4, default_since = $5, version = version + 1 WHERE id = $1`,
			m.ID, stored(to.ID), m.Status, m.PayableAt, chosen); err != nil {
			return err
		}
	}
	return nil
}
