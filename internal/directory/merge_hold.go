package directory

import (
	"slices"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/approval"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/fault"
)

// The operations that a held change of an entry can be.
const (
	mergeInto = "merge"
	undoMerge = "undo_merge"
)

// heldMerge is a merge, or the undo of one, that waits for approval because it changes the identity of a payee.
type heldMerge struct {
	ID      string            `json:"id,omitempty"` // of the merge that is undone
	Sources []string          `json:"sources"`
	Labels  []string          `json:"labels"` // of the sources
	Fields  map[string]string `json:"fields,omitempty"`
	// States are the states of the entry and the sources at the time of the request, in that order. They contain account numbers.
	States []entryState `json:"states"`
}

// splitMerge is splitIdentity for an entry into which others are merged, or out of which they are taken. No part of such a change applies
// before all of it is approved. methods are those that the entry keeps, and added those that it gets.
func (s *Service) splitMerge(tx *db.Tx, target party, after entry, methods, added []api.ReceivingMethod, operation string) (c identityChange, noted audit.Changes, err error) {
	_, c = divide(target.entry, after)
	if c.isEmpty() || len(onlyActive(methods)) == 0 && !(c.activates() && len(methods) > 0) {
		return identityChange{}, nil, nil
	}
	people, err := access.ObserveSecondPerson(tx, access.Receiving, target.WorkspaceID)
	if err != nil {
		return identityChange{}, nil, err
	}
	if !people.Demanded() {
		noted.Add("approval", nil, access.OnePerson)
		return identityChange{}, noted, nil
	}
	c.Operation, c.Methods = operation, slices.Concat(methods, added)
	return c, nil, nil
}

// requestMerge holds a merge, or the undo of one.
func (s *Service) requestMerge(tx *db.Tx, by db.Caller, c identityChange, m heldMerge, target party, sources []party) (heldIdentity, audit.Event, error) {
	m.States = []entryState{target.state()}
	for _, p := range sources {
		m.Sources, m.Labels, m.States = append(m.Sources, p.ID), append(m.Labels, p.Label), append(m.States, p.state())
	}
	held, noted, err := s.requestIdentity(tx, by, target.entry, c, &m)
	event := target.event(audit.EntryUpdated, "Asked to change")
	event.Changes = noted
	return held, event, err
}

// applyHeldMerge carries out a merge, or the undo of one, on behalf of its requester, if the entries have not changed.
func (s *Service) applyHeldMerge(tx *db.Tx, a approval.Approval, r identityRequest) (audit.Changes, error) {
	at, err := locate(tx.Q, a.AboutID)
	if err != nil {
		return nil, err
	}
	waiting, err := pendingIdentity(tx.Q, a.AboutID)
	if err != nil {
		return nil, err
	}
	changed := fault.New(api.CodeApprovalChanged, "the entries have changed since this was asked for: withdraw it and ask again")
	if waiting.approvalID != a.ID {
		return nil, changed
	}
	parties, err := s.lockParties(tx, at, append([]string{a.AboutID}, r.Merge.Sources...))
	if err != nil {
		return nil, fault.Replace(err, api.CodeNotFound, changed)
	}
	for i, p := range parties {
		if !r.Merge.States[i].holds(p) {
			return nil, changed
		}
	}
	if err := dropIdentity(tx, a.AboutID, a.ID); err != nil {
		return nil, err
	}
	event, err := s.carryMergeOut(tx, a, r, parties[0], parties[1:])
	for _, code := range []api.Code{api.CodeEntryNotFound, api.CodeNotFound, api.CodeEntryMerged, api.CodeMergeChanged, api.CodeMergeFinal, api.CodeTooMany} {
		err = fault.Replace(err, code, changed)
	}
	if db.IsUnique(err) {
		err = changed // another entry has received the external_id of one of them since
	}
	if err != nil {
		return nil, err
	}
	return event.Each()[0].Changes, nil
}

func (s *Service) carryMergeOut(tx *db.Tx, a approval.Approval, r identityRequest, target party, sources []party) (audit.Event, error) {
	by := db.Caller{Actor: audit.Actor{Type: audit.ActorType(a.Maker.Type), ID: a.Maker.ID, Name: a.Maker.Name, Email: a.Maker.Email,
		IP: a.Maker.IP, KeyID: a.Maker.KeyID, SessionID: a.Maker.SessionID}}
	if r.Change.Operation == undoMerge {
		m, state, err := s.undoable(tx, r.Merge.ID, target.ref())
		if err == nil {
			err = state.unchanged(target, sources)
		}
		if err != nil {
			return audit.Event{}, err
		}
		m.UndoneAt = tx.Now()
		return s.unmerge(tx, by, m, state, target, sources)
	}
	plan, err := planMerge(target, sources, r.Merge.Fields, access.SetOf(access.ReceivingWrite))
	if err != nil {
		return audit.Event{}, err
	}
	m := mergeAnswer(target, r.Merge.Sources, sources, plan)
	m.ID, m.CreatedAt = tx.NewID("mrg"), tx.Now()
	return s.merge(tx, by, m, target, sources, plan)
}

// holds reports whether an entry is unchanged, except for its tags: it has no additional method that is payable or about to be.
func (s entryState) holds(p party) bool {
	now := p.state()
	now.Methods, now.Tags = s.Methods, s.Tags
	return len(s.changedTo(now)) == 0 && !slices.ContainsFunc(onlyActive(p.methods), func(m api.ReceivingMethod) bool {
		return !slices.ContainsFunc(s.Methods, func(was api.ReceivingMethod) bool { return was.ID == m.ID })
	})
}

// identityParts returns the audit rows of the sources of an approved merge.
func (s *Service) identityParts(tx *db.Tx, a approval.Approval, state string) (rows []audit.Event, err error) {
	var r identityRequest
	if err := a.Payload(&r); err != nil || state != api.ApprovalApproved || r.Merge == nil {
		return nil, err
	}
	for i, id := range r.Merge.Sources {
		row := audit.Event{Action: audit.EntryMerged, WorkspaceID: a.WorkspaceID, ResourceID: id, Description: "Merged " + r.Merge.Labels[i] + " into " + r.Label}
		if r.Change.Operation == undoMerge {
			row.Action, row.Description = audit.EntryUnmerged, "Took "+r.Merge.Labels[i]+" out of "+r.Label
		}
		rows = append(rows, row)
	}
	return rows, nil
}
