package directory

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

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

// methodKind is the name of approvals of receiving methods.
const methodKind = "receiving_method"

// methodChange is what an approval of a receiving method is for.
type methodChange struct {
	EntryLabel string              `json:"entry_label"`
	Why        string              `json:"why"` // added, changed, default, promoted, restored, merged or unmerged
	Method     api.ReceivingMethod `json:"method"`
	Old        api.ReceivingMethod `json:"old"` // that it replaces, empty if it replaces none
	Default    bool                `json:"default"`
	OldDefault api.ReceivingMethod `json:"old_default"`
}

func (s *Service) methodApprovals() approval.Kind {
	return approval.Kind{
		Name: methodKind, Read: access.ReceivingRead, Make: access.ReceivingWrite, Pair: access.Receiving, Mail: mail.AChangeOfWhereMoneyGoes,
		Actions: map[string]audit.Action{
			api.ApprovalApproved: audit.ReceivingMethodApproved, api.ApprovalRejected: audit.ReceivingMethodRejected,
			api.ApprovalWithdrawn: audit.ReceivingMethodWithdrawn, api.ApprovalExpired: audit.ReceivingMethodExpired,
		},
		Lock: func(tx *db.Tx, a approval.Approval) error {
			_, err := s.lockAbout(tx, a)
			return err
		},
		Apply: s.applyMethod, Drop: s.dropMethod, Show: showMethod,
	}
}

// lockAbout locks the entry that an approval is about.
func (s *Service) lockAbout(tx *db.Tx, a approval.Approval) (entry, error) {
	at, err := locate(tx.Q, a.AboutID)
	if err != nil {
		return entry{}, err
	}
	e, err := lock(tx, at)
	return e, fault.Instead(err, fault.NotFound, fault.New(fault.ApprovalChanged, "the entry was deleted since this was asked for"))
}

// applyMethod makes an approved method payable, or the default.
func (s *Service) applyMethod(tx *db.Tx, a approval.Approval) (audit.Changes, string, error) {
	var c methodChange
	if err := a.Payload(&c); err != nil {
		return nil, "", err
	}
	e, err := s.lockAbout(tx, a)
	if err != nil {
		return nil, "", err
	}
	methods, err := s.lockedMethods(tx, e)
	if err != nil {
		return nil, "", err
	}
	same, err := tx.Row(`SELECT id FROM receiving_method WHERE id = $1 AND version = $2`, a.SubjectID, a.Version).Scan(new(string))
	if err == nil && (!same || c.Method.ID != a.SubjectID || e.label != c.EntryLabel || c.Default && defaultOf(methods).ID != c.OldDefault.ID) {
		err = fault.New(fault.ApprovalChanged, "the payee or its receiving methods have changed since this was asked for: withdraw it and ask again")
	}
	if err != nil {
		return nil, "", err
	}
	people, err := access.ObserveSecondPerson(tx, access.Receiving, a.WorkspaceID)
	if err != nil {
		return nil, "", err
	}
	m, err := s.activate(tx, e, methods, c, people.CoolingHours())
	var changes audit.Changes
	changes.Add("entry_id", nil, e.id)
	changes.Add("status", c.Method.Status, m.Status)
	changes.AddMasked("account_id", c.Old.AccountID, m.AccountID)
	if c.Default {
		changes.Add("default_method", c.OldDefault.ID, m.ID)
	}
	changes.Add("payable_at", nil, m.PayableAt)
	return changes, "a receiving method of " + e.label + " (" + m.Provider + ")", err
}

// dropMethod ends a method that will not be approved. One that was payable before stays so.
func (s *Service) dropMethod(tx *db.Tx, a approval.Approval) (audit.Changes, string, error) {
	var c methodChange
	if err := a.Payload(&c); err != nil {
		return nil, "", err
	}
	var changes audit.Changes
	changes.Add("entry_id", nil, a.AboutID)
	ended, err := tx.Row(`UPDATE receiving_method SET status = 'rejected', version = version + 1 WHERE id = $1 AND status = 'pending' RETURNING id`, a.SubjectID).
		Scan(new(string))
	if err != nil {
		return nil, "", err
	}
	if ended {
		changes.Add("status", api.MethodPending, api.MethodRejected)
	}
	return changes, "a receiving method of " + c.EntryLabel + " (" + c.Method.Provider + ")", nil
}

// showMethod tells old beside new.
func showMethod(a approval.Approval, full bool) (string, []api.ApprovalField, error) {
	var c methodChange
	if err := a.Payload(&c); err != nil {
		return "", nil, err
	}
	summary, fields := c.show(full)
	return summary, fields, nil
}

// show returns old beside new, with account numbers in full or masked.
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
	return summary, fields
}

// Approval returns one approval in full: old beside new, who asked, how to reach the payee, and
// what else about them changed lately. If account numbers are among it, the log tells so.
func (s *Service) Approval(ctx context.Context, by db.Caller, in approval.Input) (api.Approval, error) {
	a, shown, err := s.approvals.Find(ctx, by, in.ID, true)
	if err == nil && (a.Kind == ImportKind || a.Kind == BulkKind) {
		err = s.db.Read(ctx, func(q db.Q) (err error) {
			shown.Lines, err = countJob(q, a.SubjectID)
			return err
		})
	}
	if err != nil || a.Kind != methodKind {
		return shown, err
	}
	var e entry
	var untold bool
	err = s.db.Read(ctx, func(q db.Q) error {
		at, err := locate(q, a.AboutID)
		if err != nil {
			return err
		}
		if e, err = read(q, `SELECT `+columns+` FROM directory_entry WHERE id = $1`, at); err != nil || e.id == "" {
			return err
		}
		var earlier map[string]string
		if shown.RecentChanges, earlier, err = recentChanges(q, e, a.SubjectID, s.db.Now()); err != nil {
			return err
		}
		shown.Contacts = contacts(e.fields, earlier)
		untold, err = revealing(by, e).Left(q, s.db.Now())
		return err
	})
	if err == nil && untold && e.id != "" {
		err = s.reveal(ctx, by, e)
	}
	return shown, err
}

const (
	// recent is how far back an approver is shown what changed about a payee.
	recent = 30 * 24 * time.Hour
	// maxRecent bounds how many rows of the log they are shown.
	maxRecent = 50
	// maxAbout bounds how many receiving methods are looked at for that.
	maxAbout = 50
)

// recentChanges returns what changed lately about an entry and its other receiving methods,
// newest first, and what the entry's fields were before. Whoever approves sees it without the
// permission to read the whole log. The earlier fields come from all rows: nobody hides a new phone
// number behind many later changes. They come from no row of an entry that was merged into this one:
// nobody makes their own number the one to call back by merging an entry that once had it.
func recentChanges(q db.Q, e entry, subjectID string, now int64) (list []api.ApprovalChange, earlier map[string]string, err error) {
	about, err := db.Collect(q, func(r db.Rows) string { return r.Text(0) },
		`SELECT method_id FROM entry_method_log WHERE entry_id = $1 ORDER BY method_id DESC LIMIT $2`, stored(e.id), maxAbout)
	list, earlier = []api.ApprovalChange{}, map[string]string{}
	for _, resource := range append(about, e.id) {
		if err != nil || resource == subjectID {
			continue
		}
		var id []byte
		shown := 0
		err = q.Each(func(r db.Rows) error {
			id = db.AppendID(id[:0], "aud", r.Raw(0))
			row, err := audit.ReadStored(string(id), r.Raw(1), r.Raw(2), 0)
			if err != nil || row.Outcome != string(audit.Success) || r.Int(3) != e.workspace || row.Action == string(audit.ReceivingMethodRevealed) {
				return err
			}
			if shown++; shown <= maxRecent {
				list = append(list, api.ApprovalChange{Action: row.Action, Description: row.Description, ActorName: row.ActorName,
					Timestamp: row.Timestamp, Changes: row.Changes})
			}
			for _, c := range row.Changes {
				if key, isField := strings.CutPrefix(c.Field, "fields."); isField && isContact(key) && resource == e.id {
					earlier[key] = plain(c.Before) // newest first, so the oldest value stays
				}
			}
			return nil
		}, `SELECT id, entry, personal, workspace_number FROM audit_log WHERE resource_id_key = $1 AND id >= $2 ORDER BY id DESC`,
			audit.FilterKey(audit.ByResource, e.workspaceID, resource), db.PackID("aud", db.FirstID("aud", now-recent.Milliseconds())))
	}
	slices.SortStableFunc(list, func(a, b api.ApprovalChange) int { return cmp.Compare(b.Timestamp, a.Timestamp) })
	return list[:min(len(list), maxRecent)], earlier, err
}

// contacts are the fields of an entry by which one reaches the payee, with what they were before
// the recent changes: whoever put in another account may have put in their own phone number.
func contacts(fields api.Fields, earlier map[string]string) []api.ApprovalContact {
	list := []api.ApprovalContact{}
	for _, f := range fields {
		if !isContact(f.Key) {
			continue
		}
		one := api.ApprovalContact{Field: f.Key, Now: plain(f.Value)}
		if before := earlier[f.Key]; before != one.Now {
			one.Earlier = before
		}
		list = append(list, one)
		delete(earlier, f.Key)
	}
	for _, key := range slices.Sorted(maps.Keys(earlier)) { // that the entry has no longer
		if earlier[key] != "" {
			list = append(list, api.ApprovalContact{Field: key, Earlier: earlier[key]})
		}
	}
	return list
}

// isContact tells by its name whether a field says how to reach somebody.
func isContact(key string) bool {
	key = strings.ToLower(key)
	for _, part := range []string{"phone", "mobile", "email", "e-mail", "whatsapp", "viber", "telegram"} {
		if strings.Contains(key, part) {
			return true
		}
	}
	return false
}

// plain is a JSON value as people read it.
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
