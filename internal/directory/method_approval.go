package directory

import (
	"strings"

	stdjson "encoding/json"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/approval"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/fault"
	"bursar/internal/institution"
	"bursar/internal/mail"
)

// methodKind is the kind of approvals of receiving methods.
const methodKind = "receiving_method"

// methodChange is what an approval of a receiving method is for.
type methodChange struct {
	EntryLabel string              `json:"entry_label"`
	Entry      knownBy             `json:"entry"` // the identity of the payee, besides its label, at the time of the request
	Why        string              `json:"why"`   // added, changed, default, promoted, restored, merged or unmerged
	Method     api.ReceivingMethod `json:"method"`
	Old        api.ReceivingMethod `json:"old"` // the method that it replaces, empty if there is none
	Default    bool                `json:"default"`
	OldDefault api.ReceivingMethod `json:"old_default"`
}

// knownBy identifies a payee besides its label.
type knownBy struct {
	Name       string `json:"name"`
	ExternalID string `json:"external_id"`
}

// isOf reports whether a change still applies to an entry in its current state.
func (c methodChange) isOf(e entry) bool {
	return e.Label == c.EntryLabel && c.Entry == knownBy{e.Name, e.ExternalID}
}

func (s *Service) methodApprovals() approval.Kind {
	return approval.KindOf[methodChange]{
		Kind: approval.Kind{
			Name: methodKind, Read: access.ReceivingRead, Make: access.ReceivingWrite, Pair: access.Receiving, Mail: mail.BankDetailsChange,
			Actions: approval.Actions(audit.ReceivingMethodApproved, audit.ReceivingMethodRejected,
				audit.ReceivingMethodWithdrawn, audit.ReceivingMethodExpired),
			Lock: func(tx *db.Tx, a approval.Approval) error {
				_, err := s.lockAbout(tx, a)
				return err
			},
			Complete: s.completePayee,
		},
		Apply: s.applyMethod, Drop: s.dropMethod, Show: methodChange.show,
	}.Decoding()
}

// lockAbout locks the entry of an approval.
func (s *Service) lockAbout(tx *db.Tx, a approval.Approval) (entry, error) {
	at, err := locate(tx.Q, a.AboutID)
	if err != nil {
		return entry{}, err
	}
	e, err := lock(tx, at)
	return e, fault.Replace(err, api.CodeEntryNotFound, fault.New(api.CodeApprovalChanged, "the entry was deleted since this was asked for"))
}

// applyMethod makes an approved method payable, or the default.
func (s *Service) applyMethod(tx *db.Tx, a approval.Approval, c methodChange) (audit.Changes, string, error) {
	e, err := s.lockAbout(tx, a)
	if err != nil {
		return nil, "", err
	}
	methods, err := s.lockedMethods(tx, e)
	if err != nil {
		return nil, "", err
	}
	same, err := tx.Row(`SELECT id FROM receiving_method WHERE id = $1 AND version = $2`, a.SubjectID, a.Version).Scan(new(string))
	if err == nil && (!same || c.Method.ID != a.SubjectID || !c.isOf(e) || c.Default && defaultOf(methods).ID != c.OldDefault.ID) {
		err = fault.New(api.CodeApprovalChanged, "the payee or its receiving methods have changed since this was asked for: withdraw it and ask again")
	}
	if err != nil {
		return nil, "", err
	}
	people, err := access.ObserveSecondPerson(tx, access.Receiving, a.WorkspaceID)
	if err != nil {
		return nil, "", err
	}
	var changes audit.Changes
	changes.Add("entry_id", nil, e.ID)
	err = s.approve(tx, e, c, methods, people.CoolingHours(), &changes)
	return changes, "a receiving method of " + e.Label + " (" + c.Method.Provider + ")", err
}

// dropMethod ends a method that will not be approved. One that was payable before stays payable.
func (s *Service) dropMethod(tx *db.Tx, a approval.Approval, c methodChange) (audit.Changes, string, error) {
	var changes audit.Changes
	changes.Add("entry_id", nil, a.AboutID)
	err := reject(tx, a.SubjectID, &changes)
	return changes, "a receiving method of " + c.EntryLabel + " (" + c.Method.Provider + ")", err
}

// show returns old and new values, with account numbers in full or masked.
func (c methodChange) show(full bool) (string, []api.ApprovalField) {
	number := func(m api.ReceivingMethod) string {
		if full || m.AccountID == "" {
			return m.AccountID
		}
		return audit.Mask(m.AccountID)
	}
	bank := func(m api.ReceivingMethod) string {
		if m.InstitutionCode == "" {
			return ""
		}
		return strings.TrimSpace(m.InstitutionCode + " " + institution.Name(m.InstitutionCode))
	}
	summary := map[string]string{
		"added": "New receiving method of ", "changed": "Changed receiving method of ", "default": "Another default receiving method of ",
		"promoted": "Another default receiving method of ", "restored": "Receiving method of the restored entry ",
		"merged": "Receiving method that a merge brings to ", "unmerged": "Receiving method that the undo of a merge gives back to ",
	}[c.Why] + c.EntryLabel
	before, defaultBefore := c.Old, ""
	if c.Default && c.Old.ID == "" {
		before = c.OldDefault
	}
	if c.OldDefault.ID != "" {
		defaultBefore = c.OldDefault.Provider + ", " + c.OldDefault.AccountName + ", " + number(c.OldDefault)
	}
	fields := []api.ApprovalField{
		{Field: "provider", Before: before.Provider, After: c.Method.Provider},
		{Field: "account_name", Before: before.AccountName, After: c.Method.AccountName},
		{Field: "account_id", Before: number(before), After: number(c.Method)},
		{Field: "institution_code", Before: bank(before), After: bank(c.Method)},
	}
	if c.Default {
		fields = append(fields, api.ApprovalField{Field: "default", Before: defaultBefore,
			After: c.Method.Provider + ", " + c.Method.AccountName + ", " + number(c.Method)})
	}
	if c.Entry.ExternalID != "" {
		fields = append(fields, api.ApprovalField{Field: "external_id", Before: c.Entry.ExternalID, After: c.Entry.ExternalID})
	}
	return summary, fields
}

// plain returns a JSON value as text for people.
func plain[T ~[]byte](value T) string {
	var text string
	if stdjson.Unmarshal(value, &text) == nil {
		return text
	}
	if string(value) == "null" {
		return ""
	}
	return string(value)
}
