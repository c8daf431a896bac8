package signin

import (
	"strings"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/db"
	"bursar/internal/fault"
	"bursar/internal/identity"
)

var errUseFactor = fault.New(api.CodeSecondFactorRequired, "you have a second factor already: sign in with it")

// lockForFactor locks the caller's sign-in methods before another factor is added.
//
// A person who sets up a first second factor has shown it in that session. But if they already have one and an organization requires it,
// they must sign in with that one. A stolen password must not be enough to add another factor.
func (s *Service) lockForFactor(tx *db.Tx, by db.Caller) error {
	if err := lockCaller(tx, by); err != nil {
		return err
	}
	has, err := access.HasFactor(tx.Q, by.ID, s.provider != nil)
	switch {
	case err != nil:
		return err
	case !has:
		return identity.ShowSecondFactor(tx, by.SessionID)
	case by.NeedsFactor:
		return errUseFactor
	}
	return nil
}

// keepsFactor returns an error if a person has no second factor left and an organization requires one.
func (s *Service) keepsFactor(q db.Q, userID string) error {
	demands, err := access.DemandsOn(q, userID)
	if err != nil || len(demands) == 0 {
		return err
	}
	has, err := access.HasFactor(q, userID, s.provider != nil)
	if err == nil && !has {
		err = fault.New(api.CodeLastFactor, "%s demands a second factor, and this is your only one: add another one first", strings.Join(demands, ", "))
	}
	return err
}
