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
	return writeRevocation(ctx, s.db, by, func(tx *db.Tx, p part) (api.Revoked, audit.Event, error) {
		r, err := revokeOwnKey(tx, by, in.ID, false, p)
		return api.Revoked{ID: in.ID, Revoked: true}, r.events(keyRevoked(in.ID, r.name)), err
	})
}

// RevokeCompromisedKey is RevokeKey that also suspends what came through the key: members, roles and machine clients. An admin of each
// workspace confirms or removes them. A key that is already revoked can be reported as compromised, too.
func (s *Service) RevokeCompromisedKey(ctx context.Context, by db.Caller, in KeyInput) (api.CompromisedKey, error) {
	return writeRevocation(ctx, s.db, by, func(tx *db.Tx, p part) (api.CompromisedKey, audit.Event, error) {
		r, err := revokeOwnKey(tx, by, in.ID, true, p)
		return r.report(by.ID), r.events(keyCompromised(in.ID, r.name)), err
	})
}

func revokeOwnKey(tx *db.Tx, by db.Caller, id string, compromised bool, p part) (*revocation, error) {
	r := &revocation{id: id, userID: by.ID, compromised: compromised, part: p}
	own, err := tx.Row(`SELECT id FROM api_key WHERE id = $1 AND account_id = $2`, id, by.ID).Scan(new(string))
	if err == nil && !own {
		err = errNoKey
	}
	if err == nil {
		err = r.run(tx, by)
	}
	if err == nil {
		err = limitRevocation(tx.Q, by.Actor, id)
	}
	return r, err
}

// part is the part of a revocation that one transaction does.
type part int

const (
	all     part = iota
	endOnly      // end the key, so that no more access is given with it
	rest         // what remains after endOnly
)

// revocation is the revocation of a key, with its result.
type revocation struct {
	id, userID  string
	compromised bool // someone else may have the key
	leaked      bool // the key itself is known, so the keys that replaced it are revoked with it
	part        part

	name      string
	createdAt int64
	at        int64
	voided    []access.VoidedGrant
	suspended []access.Suspension
	owners    []access.OwnerSuspension
}

var errNoKey = fault.Foreign("API key", fault.Scope{})

// errReachChanged means that access was given with the key, in a place that was not locked, before its user was locked.
var errReachChanged = errors.New("the key has given access in another place meanwhile")

// writeRevocation is db.Write for a revocation. If the key gives access in other places meanwhile, the key ends first, in a transaction of
// its own. Otherwise whoever has the key could delay the end of it by giving access all the time.
func writeRevocation[T any](ctx context.Context, d *db.DB, by db.Caller, fn func(tx *db.Tx, p part) (T, audit.Event, error)) (T, error) {
	write := func(by db.Caller, p part) (T, error) {
		return db.Write(ctx, d, by, func(tx *db.Tx) (T, audit.Event, error) { return fn(tx, p) })
	}
	out, err := write(by, all)
	if !errors.Is(err, errReachChanged) {
		return out, err
	}
	first := by
	first.IdempotencyKey = nil // the answer comes with the rest
	if out, err = write(first, endOnly); err != nil {
		return out, err
	}
	for range 20 { // for what was under way
		if out, err = write(by, rest); !errors.Is(err, errReachChanged) {
			return out, err
		}
	}
	return out, fmt.Errorf("revoke an API key: %w", err)
}

// run revokes a key and what depends on it. Organizations are locked before workspaces and those before the user, in the order of their
// ids.
func (r *revocation) run(tx *db.Tx, by db.Caller) error {
	if r.part == endOnly {
		err := LockUser(tx, r.userID)
		var keys []string
		if err == nil {
			keys, err = r.keys(tx.Q)
		}
		if err != nil {
			return err
		}
		return r.end(tx, keys)
	}
	keys, err := r.keys(tx.Q)
	if err != nil {
		return err
	}
	organizations, workspaces, err := lockPlaces(tx, keys, r.compromised)
	if err != nil {
		return err
	}
	if err := LockUser(tx, r.userID); err != nil {
		return err
	}
	// From here on no key is made with the key, and no access is given with it: both lock the user, too.
	if keys, err = r.keys(tx.Q); err != nil {
		return err
	}
	organizationsNow, workspacesNow, err := placesThrough(tx.Q, keys, r.compromised)
	if err == nil && !(slices.Equal(organizations, organizationsNow) && slices.Equal(workspaces, workspacesNow)) {
		err = errReachChanged
	}
	if err == nil {
		err = r.end(tx, keys)
	}
	if err == nil {
		err = r.voidInvitations(tx, workspaces, keys)
	}
	if err != nil || !r.compromised {
		return err
	}
	return r.suspend(tx, by, keys, organizations, workspaces)
}

// keys returns the keys that the revocation is about.
func (r *revocation) keys(q db.Q) ([]string, error) {
	if r.compromised || r.leaked {
		return access.KeyFamily(q, r.id)
	}
	return access.KeysMadeWith(q, r.id)
}

// end ends the keys and their sessions, unless another part has done so.
func (r *revocation) end(tx *db.Tx, keys []string) error {
	r.at = tx.Now()
	var revokedAt int64
	_, err := tx.Row(`SELECT name, created_at, revoked_at FROM api_key WHERE id = $1`, r.id).Scan(&r.name, &r.createdAt, &revokedAt)
	if err != nil || r.part == rest {
		return err
	}
	if revokedAt != 0 && !r.compromised && !r.leaked {
		return errNoKey
	}
	if !r.compromised && !r.leaked {
		return endKeys(tx, r.id)
	}
	if r.compromised {
		if err := noteCompromised(tx, keys); err != nil {
			return err
		}
	}
	return revokeAll(tx, keys)
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

// lockPlaces locks what placesThrough returns. It finds the workspaces after it has locked the organizations: until then an owner who came
// through the keys could create one after another, and delay the revocation by that.
func lockPlaces(tx *db.Tx, keys []string, compromised bool) (organizations, workspaces []string, err error) {
	if compromised {
		if organizations, err = access.OrganizationsThrough(tx.Q, keys); err != nil {
			return nil, nil, err
		}
	}
	for _, id := range organizations {
		if err = tx.Exec(`UPDATE organization SET name = name WHERE id = $1`, id); err == nil {
			err = access.LockOwnersThrough(tx, id, keys) // one of them may be creating a workspace
		}
		if err != nil {
			return nil, nil, err
		}
	}
	if workspaces, err = access.WorkspacesThrough(tx.Q, keys); err != nil {
		return nil, nil, err
	}
	for _, id := range workspaces {
		if _, _, err = access.LockMembers(tx, id); err != nil {
			return nil, nil, err
		}
	}
	return organizations, workspaces, err
}

func (r *revocation) voidInvitations(tx *db.Tx, workspaces, keys []string) error {
	for _, id := range workspaces {
		voided, err := access.VoidInvitations(tx, id, keys, r.compromised)
		if err != nil {
			return err
		}
		r.voided = append(r.voided, voided...)
	}
	return nil
}

// suspend suspends the owners, members and roles that came through compromised keys.
func (r *revocation) suspend(tx *db.Tx, by db.Caller, keys, organizations, workspaces []string) error {
	c, err := access.FindCompromise(tx.Q, r.userID, keys)
	if err != nil {
		return err
	}
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
	var lost []string
	for _, one := range r.suspended {
		lost = append(lost, one.UserID)
	}
	return LockUsers(tx, lost)
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
func (r *revocation) events(own audit.Event) audit.Event {
	var events []audit.Event
	if r.part != rest {
		events = append(events, own)
	}
	for _, one := range r.voided {
		events = append(events, voidedEvent(one, keyEnded))
	}
	for _, s := range r.suspended {
		event := audit.Event{Action: audit.MemberSuspended, WorkspaceID: s.WorkspaceID, ResourceID: s.UserID,
			Description: "Suspended access that was given with a compromised API key"}
		if s.LastAdmin {
			event.Outcome, event.Description = audit.Failure, "Kept the last admin, whose access was given with a compromised API key"
		}
		event.Changes.Add("suspension_id", nil, s.ID)
		event.Changes.AddItems("roles", s.Roles, nil)
		events = append(events, event)
	}
	for _, o := range r.owners {
		events = append(events, ownerSuspended(o))
	}
	if len(events) == 0 {
		return audit.None("the key had ended before")
	}
	return audit.All(events...)
}

// keyEnded is why an invitation ends with a key.
const keyEnded = "the API key with which it was made is revoked"

// voidedEvent is the event of an invitation that ended, or of a role of one.
func voidedEvent(one access.VoidedGrant, because string) audit.Event {
	event := audit.Event{Action: audit.MemberRemoved, WorkspaceID: one.WorkspaceID, ResourceID: one.MemberID,
		Description: "Ended an invitation, because " + because}
	if one.Role == "" {
		event.Changes.Add("status", access.MemberInvited, nil)
	} else {
		event.Action = audit.MemberRoleRemoved
		event.Description = "Removed role " + one.Role + " from an invitation, because " + because
		event.Changes.Add("roles", one.Role, nil)
	}
	return event
}

// ownerSuspended is the event of an owner who came through a compromised key.
func ownerSuspended(o access.OwnerSuspension) audit.Event {
	event := audit.Event{Action: audit.OwnerSuspended, OrganizationID: o.OrganizationID, ResourceID: o.OrganizationID,
		Description: "Suspended an owner who was added through a compromised API key"}
	if o.LastOwner {
		event.Outcome, event.Description = audit.Failure, "Kept the last owner, who was added through a compromised API key"
	}
	event.Changes.Add("suspension_id", nil, o.ID)
	event.Changes.Add("owners", o.UserID, nil)
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

func (r *revocation) report(userID string) api.CompromisedKey {
	report := api.CompromisedKey{ID: r.id, Revoked: true, Suspended: []api.SuspendedAccess{}, SuspendedOwners: []api.SuspendedOwner{},
		InvitationsEnded: int64(len(r.voided)), SuspendedCount: int64(len(r.suspended)), Activity: api.KeyActivity{Actor: userID, KeyID: r.id, From: r.createdAt, To: r.at}}
	for _, s := range r.suspended[:min(len(r.suspended), maxShown)] {
		report.Suspended = append(report.Suspended, api.SuspendedAccess{ID: s.ID, WorkspaceID: s.WorkspaceID, UserID: s.UserID, KeyID: s.KeyID, Kind: s.Kind,
			Roles: s.Roles, SuspendedAt: s.At, LastAdmin: s.LastAdmin})
	}
	for _, o := range r.owners {
		report.SuspendedOwners = append(report.SuspendedOwners, api.SuspendedOwner{ID: o.ID, OrganizationID: o.OrganizationID, UserID: o.UserID, KeyID: o.KeyID,
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
		err = access.RequireAdministration(by, 0)
	}
	return err
}
