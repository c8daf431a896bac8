package organization

import (
	"errors"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/fault"
)

// LockOwner locks an organization, and the ownership of a user, until the end of the transaction. An owner who creates a workspace at
// the same moment does so before, or not at all.
func LockOwner(tx *db.Tx, organizationID, userID string) error {
	if _, err := lock(tx, organizationID); err != nil {
		return err
	}
	return tx.Exec(`UPDATE organization_member SET role = role WHERE organization_id = $1 AND account_id = $2`, organizationID, userID)
}

// Owns reports whether a user is an owner of an organization.
func Owns(q db.Q, organizationID, userID string) (bool, error) {
	_, owns, err := owner(q, organizationID, userID)
	return owns, err
}

// IsLastOwner reports whether no other owner of an organization can act.
func IsLastOwner(q db.Q, organizationID, userID string) (bool, error) {
	err := notLastOwner(q, organizationID, userID)
	var f *fault.Fault
	if errors.As(err, &f) && f.Code == api.CodeLastOwner {
		return true, nil
	}
	return false, err
}

// EndOwnership ends an ownership. name is the owner's name in the log. The caller has locked the organization.
func EndOwnership(tx *db.Tx, organizationID, userID, name string) (audit.Event, error) {
	event := ownerEvent(audit.OwnerRemoved, organizationID, "Removed the owner "+name)
	event.Changes.Add("owners", userID, nil)
	return event, access.EndOwnership(tx, organizationID, userID)
}
