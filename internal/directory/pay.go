package directory

import (
	"errors"
	"slices"
	"time"

	"bursar/api"
	"bursar/internal/db"
	"bursar/internal/fault"
	"bursar/internal/vault"
)

// Payee is the destination of a payment to a receiving method.
type Payee struct {
	EntryID     string
	Label       string
	MethodID    string
	Institution string // its code
	AccountName string

	workspace int64
	sealed    []byte
}

// Payee finds a receiving method, in the workspace with a number, that can currently be paid.
func (s *Service) Payee(q db.Q, workspace int64, methodID string) (p Payee, err error) {
	var entryStatus string
	var deleted bool
	list, err := db.Collect(q, func(r db.Rows) storedMethod {
		p.EntryID, p.Label, entryStatus, deleted = db.UnpackID("entry", r, 9), r.Text(10), r.Text(11), !r.Null(12)
		return readMethod(r)
	}, `SELECT m.id, m.provider, m.account_name, m.account_sealed, m.status, m.institution_code, m.replaces, m.payable_at, m.default_since,
			m.entry_id, e.label, e.status, e.deleted_at
		FROM receiving_method asked JOIN directory_entry e ON e.id = asked.entry_id JOIN receiving_method m ON m.entry_id = asked.entry_id
		WHERE asked.id = $1 AND e.workspace_number = $2 ORDER BY m.id`, methodID, workspace)
	if err != nil {
		return p, err
	}
	now := s.db.Now()
	settle(list, now)
	i := slices.IndexFunc(list, func(m storedMethod) bool { return m.ID == methodID })
	if i < 0 {
		return p, fault.Missing("receiving method")
	}
	m := list[i]
	p.MethodID, p.Institution, p.AccountName, p.workspace, p.sealed = m.ID, m.InstitutionCode, m.AccountName, workspace, m.sealed
	switch {
	case deleted:
		return p, notPayable(m, "the payee was deleted, or merged into another")
	case entryStatus != api.StatusActive:
		return p, notPayable(m, "the payee is "+entryStatus)
	case m.Status != api.MethodActive:
		return p, notPayable(m, "the receiving method is "+m.Status)
	case m.PayableAt > now:
		return p, notPayable(m, "the receiving method is new: it can be paid from "+time.UnixMilli(m.PayableAt).UTC().Format("2006-01-02 15:04 UTC")+" on")
	}
	return p, nil
}

func notPayable(m storedMethod, why string) error {
	return &fault.Fault{Code: api.CodeMethodNotPayable, Message: why, Details: api.MethodDetails{Status: m.Status, PayableAt: m.PayableAt}}
}

// Number opens the account number of a payee. It may read a key from the store, so call it after
// db.Read, or in a transaction for which the vault is ready.
func (s *Service) Number(p Payee) (string, error) {
	text, err := s.vault.Open(p.workspace, vault.Account(p.MethodID), p.sealed)
	if errors.Is(err, vault.ErrLost) {
		return "", fault.New(api.CodeMethodNotPayable, "the account number was sealed with a vault key that is lost: enter it again")
	}
	return string(text), err
}
