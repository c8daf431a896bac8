package directory

import (
	"slices"
	"strings"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/approval"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/mail"
)

// identityKind is the kind of approvals of changes of the identity of one payee, and of merges and undone merges that lead to one.
const identityKind = "payee_identity"

// identityRequest is what such an approval is for.
type identityRequest struct {
	Label  string         `json:"label"` // of the entry at the time of the request
	Change identityChange `json:"change"`
	Merge  *heldMerge     `json:"merge,omitempty"`
}

func (s *Service) identityApprovals() approval.Kind {
	return approval.KindOf[identityRequest]{
		Kind: approval.Kind{
			Name: identityKind, Read: access.DirectoryRead, Make: access.DirectoryWrite, Pair: access.Receiving, Mail: mail.BankDetailsChange,
			Actions: approval.Actions(audit.PayeeIdentityApproved, audit.PayeeIdentityRejected,
				audit.PayeeIdentityWithdrawn, audit.PayeeIdentityExpired),
			Lock: s.lockIdentity, Parts: s.identityParts, Complete: s.completePayee,
		},
		Apply: s.applyIdentityRequest, Drop: dropIdentityRequest, Show: identityRequest.show,
	}.Decoding()
}

// requestIdentity holds a change of the identity of an entry as an approval of its own. A change that waited for the entry is replaced, and
// everyone who had a part in that has one in this. For the same change again it returns the approval that already waits. It returns the
// changes for the audit log.
func (s *Service) requestIdentity(tx *db.Tx, by db.Caller, e entry, c identityChange, merge *heldMerge) (held heldIdentity, noted audit.Changes, err error) {
	earlier, err := pendingIdentity(tx.Q, e.ID)
	if err != nil {
		return held, nil, err
	}
	if merge == nil && earlier.approvalID != "" && earlier.change.equal(c) {
		return earlier, nil, nil
	}
	held.change, noted = c, c.changes("requested.")
	noted.Add("approval", nil, api.ApprovalPending)
	if s.lines != nil && earlier.approvalID == "" {
		if held.approvalID, err = s.addIdentityLine(tx, e, c); err == nil {
			err = holdIdentity(tx, e, c, held.approvalID)
		}
		return held, noted, err
	}
	if by, err = s.replaceIdentity(tx, by, e, earlier); err != nil {
		return held, nil, err
	}
	held.approvalID, err = s.approvals.Make(tx, by, approval.Request{Kind: identityKind, WorkspaceID: e.WorkspaceID, Workspace: e.workspace,
		SubjectID: e.ID, Version: e.UpdatedAt, AboutID: e.ID, Payload: identityRequest{e.Label, c, merge}})
	if err == nil {
		err = holdIdentity(tx, e, c, held.approvalID)
	}
	held.shownID = held.approvalID
	noted.Add("approval_id", nil, held.approvalID)
	return held, noted, err
}

// replaceIdentity ends the change that waits for an entry, because another replaces it. It returns the caller with everyone who had a part
// in it. So no one gets their own change approved by letting a colleague change the rest.
func (s *Service) replaceIdentity(tx *db.Tx, by db.Caller, e entry, earlier heldIdentity) (db.Caller, error) {
	if earlier.approvalID == "" {
		return by, nil
	}
	var involved []string
	var err error
	if isLine(earlier.approvalID) {
		involved, err = involvedInLine(tx.Q, earlier.approvalID)
	} else {
		involved, err = approval.InvolvedIn(tx.Q, earlier.approvalID)
	}
	if err == nil {
		err = s.endIdentity(tx, by, e, "it was changed again")
	}
	by.CoInitiators = slices.Concat(by.CoInitiators, involved)
	return by, err
}

// lockIdentity locks the entries of an approval, in the order of their ids.
func (s *Service) lockIdentity(tx *db.Tx, a approval.Approval) error {
	var r identityRequest
	if err := a.Payload(&r); err != nil {
		return err
	}
	if r.Merge == nil {
		_, err := s.lockAbout(tx, a)
		return err
	}
	for _, id := range slices.Sorted(slices.Values(append([]string{a.AboutID}, r.Merge.Sources...))) {
		at, err := locate(tx.Q, id)
		if err == nil {
			_, err = lockAny(tx, at)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// applyIdentityRequest carries out an approved change.
func (s *Service) applyIdentityRequest(tx *db.Tx, a approval.Approval, r identityRequest) (audit.Changes, string, error) {
	if r.Merge != nil {
		changes, err := s.applyHeldMerge(tx, a, r)
		return changes, r.of(), err
	}
	e, err := s.lockAbout(tx, a)
	if err != nil {
		return nil, "", err
	}
	changes, err := s.applyIdentity(tx, e, r.Change, a.ID)
	return changes, r.of(), err
}

// of describes what a request is for.
func (r identityRequest) of() string {
	switch {
	case r.Change.Operation == undoMerge:
		return "the undo of a merge into " + r.Label
	case r.Merge != nil:
		return "a merge into " + r.Label
	}
	return "a change of the identity of " + r.Label
}

// dropIdentityRequest ends what waited for an approval.
func dropIdentityRequest(tx *db.Tx, a approval.Approval, r identityRequest) (audit.Changes, string, error) {
	return nil, r.of(), dropIdentity(tx, a.AboutID, a.ID)
}

// show returns the identity before and after, and with full also which accounts are paid under it.
func (r identityRequest) show(full bool) (string, []api.ApprovalField) {
	c, fields := r.Change, []api.ApprovalField{}
	add := func(field, before, after string) {
		if before != after {
			fields = append(fields, api.ApprovalField{Field: field, Before: before, After: after})
		}
	}
	add("label", c.Before.Label, c.After.Label)
	add("name", c.Before.Name, c.After.Name)
	add("external_id", c.Before.ExternalID, c.After.ExternalID)
	if c.activates() {
		add("status", c.Before.Status, c.After.Status)
	}
	for _, key := range c.fieldKeys() {
		add("fields."+key, c.Before.Fields.Display(key), c.After.Fields.Display(key))
	}
	if r.Merge != nil {
		for i, id := range r.Merge.Sources {
			source := r.Merge.Labels[i] + " (" + id + ")"
			if r.Change.Operation == undoMerge {
				add("merged", source, "")
			} else {
				add("merged", "", source)
			}
		}
	}
	if full {
		fields = append(fields, c.accounts()...)
	}
	summary := map[bool]string{true: "Activation of the payee ", false: "Another identity of the payee "}[c.activates()] + r.Label
	if r.Merge != nil {
		summary = strings.ToUpper(r.of()[:1]) + r.of()[1:]
	}
	return summary, fields
}

// accounts returns the accounts that are paid under the identity, masked.
func (c identityChange) accounts() (fields []api.ApprovalField) {
	for _, m := range c.Methods {
		text := m.Provider + ", " + m.AccountName + ", " + audit.Mask(m.AccountID)
		if m.IsDefault {
			text += ", default"
		}
		if m.Status == api.MethodPending {
			text += ", waits for approval"
		}
		fields = append(fields, api.ApprovalField{Field: "receiving_method", Before: text, After: text})
	}
	return fields
}

// endIdentity ends the change that waits for an entry, because the entry changes in a way that was not part of the request.
func (s *Service) endIdentity(tx *db.Tx, by db.Caller, e entry, why string) error {
	if _, err := approval.VoidKind(tx, by, identityKind, e.ID, why); err != nil {
		return err
	}
	held, err := pendingIdentity(tx.Q, e.ID)
	if err == nil && isLine(held.approvalID) {
		_, err = dropLines(tx, "id", held.approvalID)
	}
	if err != nil {
		return err
	}
	return dropIdentity(tx, e.ID, "")
}

// endOutdated ends the change that waits for an entry, if a change that applies immediately contradicts it. It returns the changes for the
// audit log.
func (s *Service) endOutdated(tx *db.Tx, by db.Caller, before, now entry, status *string) (noted audit.Changes, err error) {
	stops := status != nil && *status == api.StatusInactive
	if !stops && identityOf(before, labelFields()).equal(identityOf(now, labelFields())) {
		return nil, nil
	}
	held, err := pendingIdentity(tx.Q, before.ID)
	if err != nil || held.approvalID == "" || held.change.appliesTo(now) && !(stops && held.change.activates()) {
		return nil, err
	}
	noted.Add("approval", api.ApprovalPending, api.ApprovalVoid)
	noted.Add("approval_id", nil, held.shownID)
	return noted, s.endIdentity(tx, by, before, "the entry was changed")
}
