package directory

import (
	"errors"
	"fmt"

	"bursar/api"
	"bursar/internal/audit"
	"bursar/internal/vault"
)

// number is an account number as it is stored.
type number struct {
	sealed []byte
	key    []byte // finds methods with the same number
	tail   []byte // finds those with the same last four digits
}

// sealNumber seals the account number of a method. The vault must be ready.
func (s *Service) sealNumber(e entry, m api.ReceivingMethod) (n number, err error) {
	if n.sealed, err = s.vault.Seal(e.workspace, vault.Account(m.ID), []byte(m.AccountID)); err != nil {
		return n, err
	}
	if n.key, err = s.vault.Index(n.sealed, vault.NormalNumber(m.AccountID)); err != nil {
		return n, err
	}
	n.tail, err = s.vault.TailIndex(n.sealed, m.AccountID)
	return n, err
}

// openMethods opens the account numbers of methods. It may read a key from the store, so call it after db.Read: readers that each wait for
// a second connection would deadlock.
func (s *Service) openMethods(e entry, sealed []storedMethod) ([]api.ReceivingMethod, error) {
	methods := make([]api.ReceivingMethod, len(sealed))
	for i, m := range sealed {
		text, err := s.vault.Open(e.workspace, vault.Account(m.ID), m.sealed)
		if errors.Is(err, vault.ErrLost) {
			text, err = []byte(audit.LostNumber), nil
		}
		if err != nil {
			return nil, fmt.Errorf("the account number of %s: %w", m.ID, err)
		}
		methods[i] = m.ReceivingMethod
		methods[i].AccountID = string(text)
	}
	return methods, nil
}
