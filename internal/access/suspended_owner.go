package access

import (
	"bursar/internal/audit"
	"bursar/internal/db"
)

// OwnerSuspension is the ownership of an organization that came through a compromised API key. It is back in force once an owner who did
// not come through one has confirmed it.
type OwnerSuspension struct {
	ID             string
	OrganizationID string
	UserID         string
	KeyID          string
	At             int64
	LastOwner      bool // nothing was suspended, because the organization has no other owner
}

// SuspendOwners suspends the owners of an organization who came through compromised keys. The owner of the keys is not suspended, and the
// organization keeps its last owner. The caller has locked the organization.
func (c Compromise) SuspendOwners(tx *db.Tx, by audit.Actor, organizationID string) ([]OwnerSuspension, error) {
	type owner struct {
		userID, originID string
		active           bool
	}
	owners, err := db.Collect(tx.Q, func(r db.Rows) owner { return owner{r.Text(0), r.Text(1), r.Text(2) == "active"} },
		`SELECT m.account_id, m.origin_id, a.status FROM organization_member m JOIN account a ON a.id = m.account_id
		WHERE m.organization_id = $1 AND m.role = 'owner' ORDER BY m.account_id`, organizationID)
	if err != nil {
		return nil, err
	}
	others := 0
	var list []OwnerSuspension
	last := -1 // the last of those who can act
	for _, o := range owners {
		key, through := c.origins[o.originID]
		if o.userID == c.ownerID || !through {
			if o.active {
				others++
			}
			continue
		}
		if o.active {
			last = len(list)
		}
		list = append(list, OwnerSuspension{OrganizationID: organizationID, UserID: o.userID, KeyID: key, At: tx.Now()})
	}
	if others == 0 && last >= 0 {
		list[last].LastOwner = true
	}
	for i := range list {
		list[i].ID = tx.NewID("sus")
		if err := suspendOwner(tx, by, list[i]); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func suspendOwner(tx *db.Tx, by audit.Actor, s OwnerSuspension) error {
	if s.LastOwner {
		return nil
	}
	if err := tx.Exec(`INSERT INTO suspended_owner (id, organization_id, account_id, key_id, suspended_at, suspended_by, state)
		VALUES ($1, $2, $3, $4, $5, $6, 'suspended')`, s.ID, s.OrganizationID, s.UserID, s.KeyID, s.At, db.NullText(by.ID)); err != nil {
		return err
	}
	return EndOwnership(tx, s.OrganizationID, s.UserID)
}

// EndOwnership ends an ownership. A member of a workspace stays a member.
func EndOwnership(tx *db.Tx, organizationID, userID string) error {
	if err := tx.Exec(`DELETE FROM organization_member WHERE organization_id = $1 AND account_id = $2`, organizationID, userID); err != nil {
		return err
	}
	return LeaveHome(tx, userID)
}

const suspendedOwnerColumns = `id, organization_id, account_id, key_id, suspended_at`

func readSuspendedOwner(r db.Rows) OwnerSuspension {
	return OwnerSuspension{ID: r.Text(0), OrganizationID: r.Text(1), UserID: r.Text(2), KeyID: r.Text(3), At: r.Int(4)}
}

// SuspendedOwners lists the owners of an organization who wait for an owner's decision, oldest first.
func SuspendedOwners(q db.Q, organizationID, after string, take int) ([]OwnerSuspension, error) {
	return db.Collect(q, readSuspendedOwner, `SELECT `+suspendedOwnerColumns+` FROM suspended_owner
		WHERE organization_id = $1 AND state = 'suspended' AND id > $2 ORDER BY id LIMIT $3`, organizationID, after, take)
}

// FindSuspendedOwner finds a suspended owner of an organization by the id of the suspension.
func FindSuspendedOwner(q db.Q, organizationID, id string) (s OwnerSuspension, found bool, err error) {
	list, err := db.Collect(q, readSuspendedOwner, `SELECT `+suspendedOwnerColumns+` FROM suspended_owner
		WHERE id = $1 AND organization_id = $2 AND state = 'suspended'`, id, organizationID)
	if len(list) > 0 {
		return list[0], true, err
	}
	return s, false, err
}

// DecideSuspendedOwner stores an owner's decision to confirm or remove a suspended owner.
func DecideSuspendedOwner(tx *db.Tx, by audit.Actor, s OwnerSuspension, state string) error {
	return tx.Exec(`UPDATE suspended_owner SET state = $2, decided_by = $3, decided_at = $4 WHERE id = $1`, s.ID, state, db.NullText(by.ID), tx.Now())
}
