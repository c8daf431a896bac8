package directory

import (
	"context"
	"slices"
	"time"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/approval"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/fault"
	"bursar/internal/vault"
)

// payable reports whether a method can be paid: it is active and its cooling time is over. A successor that is payable has retired what it
// replaces: see settle.
func payable(m api.ReceivingMethod, now int64) bool {
	return m.Status == api.MethodActive && m.PayableAt <= now
}

// makePayable is the only way for a method to become payable, or the default. That includes a new one, a line of a file, a successor, and
// one that is to become the default. It also includes one that is promoted because the default is removed. The same goes for those of an
// entry that is restored, merged or taken out of a merge. If the workspace demands a second person, the method waits for their approval.
// Otherwise it is payable immediately, and the audit log records that one person sufficed. It returns the method in its new state, and
// further changes for the audit log, which the caller adds to the changes of its event.
//
// A caller has made the vault ready for the workspace, locked the entry with lock, and read its methods with lockedMethods after that. The
// method is one that insertMethod has just stored as pending, or one of the entry's methods that can already be paid. A caller that moves a
// method to another entry, or makes one payable that was not, first stores it as placeMethods does: pending, with default_since NULL. It
// then calls makePayable with a why that showMethod knows: earlier approvals of the method end here.
func (s *Service) makePayable(tx *db.Tx, by db.Caller, e entry, methods []api.ReceivingMethod, m api.ReceivingMethod, wantsDefault bool, why string) (api.ReceivingMethod, audit.Changes, error) {
	var noted audit.Changes
	if err := access.RequireModeOfPayee(tx.Q, by.Actor, e.WorkspaceID, e.ID, true); err != nil {
		return m, nil, err
	}
	people, err := access.ObserveSecondPerson(tx, access.Receiving, e.WorkspaceID)
	if err != nil {
		return m, nil, err
	}
	var takes []string
	if m.ApprovalID != "" || m.Status == api.MethodPending && why != "added" && why != "changed" {
		voided, err := s.voidMethod(tx, by, m.ID, "it was changed again")
		if err != nil {
			return m, nil, err
		}
		if voided || m.ApprovalID != "" {
			takes = []string{m.ID}
		}
		m.ApprovalID = ""
	}
	c := methodChange{
		EntryLabel: e.Label, Entry: knownBy{e.Name, e.ExternalID}, Why: why, Method: m, Old: replaced(methods, m),
		Default: wantsDefault, OldDefault: defaultOf(methods),
	}
	if !people.Demanded() {
		m, err = s.activate(tx, e, methods, c, people.CoolingHours())
		if m.IsDefault && c.OldDefault.ID != "" && c.OldDefault.ID != c.Old.ID {
			noted.Add("default_method", c.OldDefault.ID, m.ID)
		}
		if c.Method.Status == api.MethodPending {
			noted.Add("approval", nil, access.OnePerson)
		}
		return m, noted, err
	}
	version, err := bump(tx, m.ID)
	if err != nil {
		return m, nil, err
	}
	takes = append(takes, sameBefore(methods, m)...)
	if s.lines != nil && len(takes) == 0 {
		noted.Add("approval", nil, api.ApprovalPending)
		return m, noted, s.addMethodLine(tx, e, methods, c, version)
	}
	before, err := involvedInLines(tx.Q, takes)
	if err != nil {
		return m, nil, err
	}
	by.CoInitiators = append(before, by.CoInitiators...)
	m.ApprovalID, err = s.approvals.Make(tx, by, approval.Request{Kind: methodKind, WorkspaceID: e.WorkspaceID, Workspace: e.workspace,
		SubjectID: m.ID, Version: version, AboutID: e.ID, Payload: c, Takes: takes})
	noted.Add("approval", nil, api.ApprovalPending)
	noted.Add("approval_id", nil, m.ApprovalID)
	return m, noted, err
}

// activate makes a method payable after the cooling time of an approved change. It becomes the default if that is wanted, or if it is the
// first one. A method requested beside a default does not become it because that default was removed meanwhile. Nor does a method that was
// not the default of its previous entry, but is approved before the one that was. No one has approved either as the default.
func (s *Service) activate(tx *db.Tx, e entry, methods []api.ReceivingMethod, c methodChange, hours int64) (api.ReceivingMethod, error) {
	m, now := c.Method, tx.Now()
	at := now + hours*time.Hour.Milliseconds()
	others := slices.ContainsFunc(methods, func(other api.ReceivingMethod) bool { return other.ID != m.ID && other.Status == api.MethodActive })
	if m.Status == api.MethodPending {
		payableAt := at
		if hours == 0 {
			payableAt = 0
		}
		if err := tx.Exec(`UPDATE receiving_method SET status = 'active', payable_at = $2, settled = $3, version = version + 1 WHERE id = $1`,
			m.ID, payableAt, hours == 0); err != nil {
			return m, err
		}
	}
	isNew := c.Why == "added" || c.Why == "changed"
	if c.Default || isNew && !others && c.OldDefault.ID == "" {
		if hours == 0 {
			if err := forgetDefault(tx, e); err != nil {
				return m, err
			}
		}
		if err := tx.Exec(`UPDATE receiving_method SET default_since = $2 WHERE id = $1`, m.ID, at); err != nil {
			return m, err
		}
	}
	all, err := s.lockedMethods(tx, e)
	if err != nil {
		return m, err
	}
	i := slices.IndexFunc(all, func(now api.ReceivingMethod) bool { return now.ID == m.ID })
	if i < 0 {
		return m, fault.Missing("receiving method")
	}
	return all[i], nil
}

// sameBefore lists the never approved methods with the same account that a method replaces. So no one gets their own number approved by
// letting a colleague change the rest.
func sameBefore(methods []api.ReceivingMethod, m api.ReceivingMethod) (ids []string) {
	for range methods {
		i := slices.IndexFunc(methods, func(before api.ReceivingMethod) bool { return before.ID == m.Replaces })
		if i < 0 || methods[i].Status != api.MethodRejected || vault.NormalNumber(methods[i].AccountID) != vault.NormalNumber(m.AccountID) {
			break
		}
		m = methods[i]
		ids = append(ids, m.ID)
	}
	return ids
}

// insertMethod stores a new, pending method.
func (s *Service) insertMethod(tx *db.Tx, e entry, m api.ReceivingMethod) error {
	n, err := s.sealNumber(e, m)
	if err == nil {
		err = tx.Exec(`INSERT INTO entry_method_log (entry_id, method_id) VALUES ($1, $2)`, stored(e.ID), m.ID)
	}
	if err == nil {
		err = tx.Exec(`INSERT INTO receiving_method (id, entry_id, provider, account_name, account_sealed, account_key, tail_key, sealed_by, status,
				institution_code, replaces, created_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
			m.ID, stored(e.ID), m.Provider, m.AccountName, n.sealed, n.key, n.tail, vault.KeyOf(n.sealed), api.MethodPending, m.InstitutionCode, db.NullText(m.Replaces), tx.Now())
	}
	return err
}

// removeMethod deletes a method. No earlier default automatically becomes the default again.
func removeMethod(tx *db.Tx, e entry, m api.ReceivingMethod) error {
	err := tx.Exec(`DELETE FROM receiving_method WHERE id = $1`, m.ID)
	if err == nil && m.IsDefault {
		err = forgetDefault(tx, e)
	}
	return err
}

// forgetDefault leaves an entry without a default, except for one that is approved and cooling.
func forgetDefault(tx *db.Tx, e entry) error {
	return tx.Exec(`UPDATE receiving_method SET default_since = NULL WHERE entry_id = $1 AND default_since <= $2`, stored(e.ID), tx.Now())
}

func setStatus(tx *db.Tx, id, status string) error {
	return tx.Exec(`UPDATE receiving_method SET status = $2, version = version + 1 WHERE id = $1 AND status <> $2`, id, status)
}

// bump gives a method a new version, and returns it.
func bump(tx *db.Tx, id string) (version int64, err error) {
	_, err = tx.Row(`UPDATE receiving_method SET version = version + 1 WHERE id = $1 RETURNING version`, id).Scan(&version)
	return version, err
}

// endPending ends what waits about an entry that is removed.
func (s *Service) endPending(tx *db.Tx, by db.Caller, e entry, why string) error {
	if _, err := s.approvals.VoidAbout(tx, by, e.ID, why); err != nil {
		return err
	}
	if err := dropIdentity(tx, e.ID, ""); err != nil {
		return err
	}
	if _, err := dropLines(tx, "entry_id", e.ID); err != nil {
		return err
	}
	return tx.Exec(`UPDATE receiving_method SET status = 'rejected', version = version + 1 WHERE entry_id = $1 AND status = 'pending'`, stored(e.ID))
}

// payAgain decides again about the methods of a restored entry. If two people are demanded, none of its methods can be paid before the
// second one has approved.
func (s *Service) payAgain(tx *db.Tx, by db.Caller, e entry) (audit.Changes, error) {
	all, err := s.lockedMethods(tx, e)
	methods := live(all)
	if err != nil || len(methods) == 0 {
		return nil, err
	}
	people, err := access.ObserveSecondPerson(tx, access.Receiving, e.WorkspaceID)
	if err != nil || !people.Demanded() {
		return nil, err
	}
	if err := tx.Exec(`UPDATE receiving_method SET default_since = NULL WHERE entry_id = $1`, stored(e.ID)); err != nil {
		return nil, err
	}
	was := slices.Clone(methods)
	for i := range methods {
		methods[i].Status, methods[i].PayableAt, methods[i].IsDefault = api.MethodPending, 0, false
		if err := setStatus(tx, methods[i].ID, api.MethodPending); err != nil {
			return nil, err
		}
	}
	var noted audit.Changes
	for i, m := range methods {
		_, more, err := s.makePayable(tx, by, e, methods, m, was[i].IsDefault, "restored")
		if err != nil {
			return nil, err
		}
		noted = append(noted, more...)
	}
	return noted, nil
}

// approve makes a method payable, or the default, as an approval allows. It adds that to the changes for the audit log.
func (s *Service) approve(tx *db.Tx, e entry, c methodChange, methods []api.ReceivingMethod, hours int64, changes *audit.Changes) error {
	m, err := s.activate(tx, e, methods, c, hours)
	changes.Add("status", c.Method.Status, m.Status)
	changes.AddMasked("account_id", c.Old.AccountID, m.AccountID)
	if c.Default {
		changes.Add("default_method", c.OldDefault.ID, m.ID)
	}
	changes.Add("payable_at", nil, m.PayableAt)
	return err
}

// reject ends a method that waits for approval. One that was payable before stays payable. It adds that to the changes for the audit log.
func reject(tx *db.Tx, methodID string, changes *audit.Changes) error {
	ended, err := tx.Row(`UPDATE receiving_method SET status = 'rejected', version = version + 1 WHERE id = $1 AND status = 'pending' RETURNING id`, methodID).Scan(new(string))
	if ended {
		changes.Add("status", api.MethodPending, api.MethodRejected)
	}
	return err
}

// settleBatch is how many methods are read at a time.
const settleBatch = 100

// Settle records in the audit log that the cooling time of methods is over. They can be paid without that.
func (s *Service) Settle(ctx context.Context) error {
	by := db.SystemCaller()
	for {
		var due [][2]string
		err := s.db.Read(ctx, func(q db.Q) (err error) {
			due, err = db.Collect(q, func(r db.Rows) [2]string { return [2]string{r.Text(0), db.UnpackID("entry", r, 1)} },
				`SELECT id, entry_id FROM receiving_method WHERE settled = FALSE AND payable_at <= $1 ORDER BY payable_at LIMIT $2`, s.db.Now(), settleBatch)
			return err
		})
		if err != nil || len(due) == 0 {
			return err
		}
		for _, one := range due {
			if err := s.settleOne(ctx, by, one[0], one[1]); err != nil {
				return err
			}
		}
	}
}

func (s *Service) settleOne(ctx context.Context, by db.Caller, methodID, entryID string) error {
	at, err := s.locate(ctx, entryID)
	if err == nil {
		err = s.vault.Ready(ctx, at.workspace)
	}
	if err != nil {
		return err
	}
	_, err = db.Write(ctx, s.db, by, func(tx *db.Tx) (struct{}, audit.Event, error) {
		e, err := lockAny(tx, at)
		if err != nil {
			return struct{}{}, audit.Event{}, err
		}
		first, err := tx.Row(`UPDATE receiving_method SET settled = TRUE WHERE id = $1 AND settled = FALSE AND payable_at <= $2 RETURNING id`, methodID, tx.Now()).Scan(new(string))
		if err != nil || !first {
			return struct{}{}, audit.None("another node has settled it"), err
		}
		all, err := s.lockedMethods(tx, e)
		if err != nil {
			return struct{}{}, audit.Event{}, err
		}
		i := slices.IndexFunc(all, func(m api.ReceivingMethod) bool { return m.ID == methodID && payable(m, tx.Now()) })
		if i < 0 {
			return struct{}{}, audit.None("the method ended while it cooled"), nil
		}
		m := all[i]
		event := audit.Event{Action: audit.ReceivingMethodActivated, WorkspaceID: e.WorkspaceID, ResourceID: m.ID,
			Description: "A receiving method of " + e.Label + " (" + m.Provider + ") can be paid"}
		event.Changes.Add("payable", false, true)
		event.Changes.Add("is_default", nil, m.IsDefault)
		event.Changes.Add("retired", nil, replaced(all, m).ID)
		return struct{}{}, event, nil
	})
	return err
}
