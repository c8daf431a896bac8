package identity

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/fault"
)

// RevokeKey revokes a key of the caller. It ends the sessions and keys that depend on it, and the pending invitations that were created
// with it.
func (s *Service) RevokeKey(ctx context.Context, by db.Caller, in KeyInput) (api.Revoked, error) {
	return writeRevocation(ctx, s.db, by, func(tx *db.Tx) (api.Revoked, audit.Event, error) {
		r, err := revokeKey(tx, by, in.ID, by.ID, false)
		if err == nil {
			err = limitRevocation(tx.Q, by.Actor, in.ID)
		}
		return api.Revoked{ID: in.ID, Revoked: true}, r.events(keyRevoked(in.ID, r.name)), err
	})
}

// RevokeCompromisedKey is RevokeKey that also suspends what came through the key: members, roles and machine clients. An admin of each
// workspace confirms or removes them. A key that is already revoked can be reported as compromised, too.
func (s *Service) RevokeCompromisedKey(ctx context.Context, by db.Caller, in KeyInput) (api.CompromisedKey, error) {
	return writeRevocation(ctx, s.db, by, func(tx *db.Tx) (api.CompromisedKey, audit.Event, error) {
		r, err := revokeKey(tx, by, in.ID, by.ID, true)
		if err == nil {
			err = limitRevocation(tx.Q, by.Actor, in.ID)
		}
		return r.report(in.ID, by.ID), r.events(keyCompromised(in.ID, r.name)), err
	})
}

// revocation is the result of revoking a key.
type revocation struct {
	name      string
	createdAt int64
	at        int64
	voided    map[string][]string // ids of invitations, by workspace
	order     []string            // of the workspaces
	suspended []access.Suspension
	owners    []access.OwnerSuspension
}

var errNoKey = fault.Foreign("API key", fault.Scope{})

// errReachChanged means that access was given with the key, in a place that was not locked, before its account was locked.
var errReachChanged = errors.New("the key has given access in another place meanwhile")

// writeRevocation is db.Write for revokeKey: it repeats the transaction while the key gives access in other places.
func writeRevocation[T any](ctx context.Context, d *db.DB, by db.Caller, fn func(tx *db.Tx) (T, audit.Event, error)) (out T, err error) {
	for range 20 {
		if out, err = db.Write(ctx, d, by, fn); !errors.Is(err, errReachChanged) {
			return out, err
		}
	}
	return out, fmt.Errorf("revoke an API key: %w", err)
}

// revokeKey revokes a key and what depends on it. Organizations are locked before workspaces and those before the account, in the order
// of their ids.
func revokeKey(tx *db.Tx, by db.Caller, id, accountID string, compromised bool) (r revocation, err error) {
	own, err := tx.Row(`SELECT id FROM api_key WHERE id = $1 AND account_id = $2`, id, accountID).Scan(new(string))
	if err == nil && !own {
		err = errNoKey
	}
	if err != nil {
		return r, err
	}
	family := access.KeysMadeWith
	if compromised {
		family = access.KeyFamily
	}
	keys, err := family(tx.Q, id)
	if err != nil {
		return r, err
	}
	organizations, workspaces, err := lockPlaces(tx, keys, compromised)
	if err != nil {
		return r, err
	}
	if err := LockAccount(tx, accountID); err != nil {
		return r, err
	}
	// From here on no key is made with the key, and no access is given with it: both lock the account, too.
	if keys, err = family(tx.Q, id); err != nil {
		return r, err
	}
	organizationsNow, workspacesNow, err := placesThrough(tx.Q, keys, compromised)
	if err == nil && !(slices.Equal(organizations, organizationsNow) && slices.Equal(workspaces, workspacesNow)) {
		err = errReachChanged
	}
	if err != nil {
		return r, err
	}
	var revokedAt int64
	_, err = tx.Row(`SELECT name, created_at, revoked_at FROM api_key WHERE id = $1`, id).Scan(&r.name, &r.createdAt, &revokedAt)
	if err == nil && revokedAt != 0 && !compromised {
		err = errNoKey
	}
	if err != nil {
		return r, err
	}
	r.at = tx.Now()
	c := access.Compromise{OwnerID: accountID, Keys: keys}
	if compromised {
		if err = noteCompromised(tx, keys); err == nil {
			err = revokeAll(tx, keys)
		}
	} else {
		err = endKeys(tx, id)
	}
	if err != nil {
		return r, err
	}
	if err := r.voidInvitations(tx, workspaces, keys, compromised); err != nil || !compromised {
		return r, err
	}
	return r, r.suspend(tx, by, c, organizations, workspaces)
}

// placesThrough returns the organizations whose owners came through compromised keys, and the workspaces into which someone came through
// keys.
func placesThrough(q db.Q, keys []string, compromised bool) (organizations, workspaces []string, err error) {
	if compromised {
		organizations, err = access.OrganizationsThrough(q, keys)
	}
	if err == nil {
		workspaces, err = access.WorkspacesThrough(q, keys)
	}
	return organizations, workspaces, err
}

// lockPlaces locks what placesThrough returns.
func lockPlaces(tx *db.Tx, keys []string, compromised bool) (organizations, workspaces []string, err error) {
	organizations, workspaces, err = placesThrough(tx.Q, keys, compromised)
	if err != nil {
		return nil, nil, err
	}
	for _, id := range organizations {
		if err = tx.Exec(`UPDATE organization SET name = name WHERE id = $1`, id); err != nil {
			return nil, nil, err
		}
	}
	for _, id := range workspaces {
		if _, _, err = access.LockMembers(tx, id); err != nil {
			return nil, nil, err
		}
	}
	return organizations, workspaces, err
}

func (r *revocation) voidInvitations(tx *db.Tx, workspaces, keys []string, compromised bool) error {
	r.voided = map[string][]string{}
	for _, id := range workspaces {
		voided, err := access.VoidInvitations(tx, id, keys, compromised)
		if err != nil {
			return err
		}
		if len(voided) > 0 {
			r.order, r.voided[id] = append(r.order, id), voided
		}
	}
	return nil
}

// suspend suspends the owners, members and roles that came through compromised keys.
func (r *revocation) suspend(tx *db.Tx, by db.Caller, c access.Compromise, organizations, workspaces []string) error {
	for _, id := range organizations {
		owners, err := c.SuspendOwners(tx, by.Actor, id)
		if err != nil {
			return err
		}
		r.owners = append(r.owners, owners...)
	}
	for _, id := range workspaces {
		suspended, err := c.SuspendMembers(tx, by.Actor, id)
		if err != nil {
			return err
		}
		r.suspended = append(r.suspended, suspended...)
	}
	return nil
}

// endKeys revokes a key, all live keys that depend on it, and their sessions.
func endKeys(tx *db.Tx, id string) error {
	ending, err := dependents(tx, id)
	if err != nil {
		return err
	}
	return revokeAll(tx, ending)
}

func revokeAll(tx *db.Tx, keys []string) error {
	for piece := range db.Pieces(keys) {
		for _, of := range [][2]string{{"api_key", "id"}, {"session", "api_key_id"}} {
			sql := db.NewStatement(`UPDATE `+of[0]+` SET revoked_at = `, tx.Now())
			sql.Add(` WHERE revoked_at IS NULL AND `+of[1]+` IN (`, db.Args(piece)...)
			sql.Add(`)`)
			if err := tx.ExecOf(sql); err != nil {
				return err
			}
		}
	}
	return nil
}

// noteCompromised stores that a key and others of its family may have been used by someone else, even if they have ended.
func noteCompromised(tx *db.Tx, keys []string) error {
	for piece := range db.Pieces(keys) {
		sql := db.NewStatement(`INSERT INTO compromised_key (id, reported_at) SELECT id, CAST(`, tx.Now())
		sql.Add(` AS BIGINT) FROM api_key WHERE id IN (`, db.Args(piece)...)
		sql.Add(`) ON CONFLICT (id) DO NOTHING`)
		if err := tx.ExecOf(sql); err != nil {
			return err
		}
	}
	return nil
}

// events returns the audit rows: one for the key, and one for each invitation, member and role in the log of its workspace.
func (r revocation) events(own audit.Event) audit.Event {
	all := []audit.Event{own}
	for _, workspaceID := range r.order {
		for _, id := range r.voided[workspaceID] {
			event := audit.Event{Action: audit.MemberRemoved, WorkspaceID: workspaceID, ResourceID: id,
				Description: "Ended an invitation, because the API key with which it was made is revoked"}
			event.Changes.Add("status", access.MemberInvited, nil)
			all = append(all, event)
		}
	}
	for _, s := range r.suspended {
		event := audit.Event{Action: audit.MemberSuspended, WorkspaceID: s.WorkspaceID, ResourceID: s.AccountID,
			Description: "Suspended access that was given with a compromised API key"}
		if s.LastAdmin {
			event.Outcome, event.Description = audit.Failure, "Kept the last admin, whose access was given with a compromised API key"
		}
		event.Changes.Add("suspension_id", nil, s.ID)
		event.Changes.AddItems("roles", s.Roles, nil)
		all = append(all, event)
	}
	for _, o := range r.owners {
		all = append(all, ownerSuspended(o))
	}
	return audit.All(all...)
}

// ownerSuspended is the event of an owner who came through a compromised key.
func ownerSuspended(o access.OwnerSuspension) audit.Event {
	event := audit.Event{Action: audit.OwnerSuspended, OrganizationID: o.OrganizationID, ResourceID: o.OrganizationID,
		Description: "Suspended an owner who was added through a compromised API key"}
	if o.LastOwner {
		event.Outcome, event.Description = audit.Failure, "Kept the last owner, who was added through a compromised API key"
	}
	event.Changes.Add("suspension_id", nil, o.ID)
	event.Changes.Add("owners", o.AccountID, nil)
	return event
}

// keyCompromised is the event of a key that is revoked because someone else may have it.
func keyCompromised(id, name string) audit.Event {
	event := keyRevoked(id, name)
	event.Description += ", which is compromised"
	event.Changes.Add("compromised", false, true)
	return event
}

// maxShown is the maximum number of suspensions in the response. The log has all of them.
const maxShown = 1000

func (r revocation) report(id, accountID string) api.CompromisedKey {
	report := api.CompromisedKey{ID: id, Revoked: true, Suspended: []api.SuspendedAccess{}, SuspendedOwners: []api.SuspendedOwner{},
		SuspendedCount: int64(len(r.suspended)), Activity: api.KeyActivity{Actor: accountID, KeyID: id, From: r.createdAt, To: r.at}}
	for _, list := range r.voided {
		report.InvitationsEnded += int64(len(list))
	}
	for _, s := range r.suspended[:min(len(r.suspended), maxShown)] {
		report.Suspended = append(report.Suspended, api.SuspendedAccess{ID: s.ID, WorkspaceID: s.WorkspaceID, UserID: s.AccountID, KeyID: s.KeyID, Kind: s.Kind,
			Roles: s.Roles, SuspendedAt: s.At, LastAdmin: s.LastAdmin})
	}
	for _, o := range r.owners {
		report.SuspendedOwners = append(report.SuspendedOwners, api.SuspendedOwner{ID: o.ID, OrganizationID: o.OrganizationID, UserID: o.AccountID, KeyID: o.KeyID,
			SuspendedAt: o.At, LastOwner: o.LastOwner})
	}
	return report
}

// limitRevocation returns an error unless the caller may revoke a key of theirs. A key that administers and is not limited can revoke all
// keys of its owner. Another session of a key can revoke that key and those created with it. A limited key can revoke only itself, and no
// other key is visible to it.
func limitRevocation(q db.Q, by audit.Actor, id string) error {
	switch {
	case by.KeyID == "" || by.KeyID == id:
		return nil
	case by.Scope.Limited():
		return errNoKey
	case by.Scope.Administer:
		return nil
	}
	within, err := access.MadeWith(q, id, by.KeyID)
	if err == nil && !within {
		err = fault.New(fault.Forbidden,
			"you are logged in with an API key that does not administer: it can revoke only itself and the keys that were made with it")
	}
	return err
}
