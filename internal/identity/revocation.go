package identity

import (
	"context"
	"slices"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/fault"
)

// RevokeKey revokes a key of the caller. It ends the sessions and keys that depend on it, and the invitations that were made with it and
// that no one has accepted.
func (s *Service) RevokeKey(ctx context.Context, by db.Caller, in KeyInput) (api.Revoked, error) {
	return db.Write(ctx, s.db, by, func(tx *db.Tx) (api.Revoked, audit.Event, error) {
		r, err := revokeKey(tx, by, in.ID, by.ID, false)
		if err == nil {
			err = limitRevocation(tx.Q, by.Actor, in.ID)
		}
		return api.Revoked{ID: in.ID, Revoked: true}, r.events(keyRevoked(in.ID, r.name)), err
	})
}

// RevokeCompromisedKey is RevokeKey that suspends what came through the key: members, roles and machine clients. An admin of each
// workspace confirms or removes them. A key that is revoked already can be compromised, too.
func (s *Service) RevokeCompromisedKey(ctx context.Context, by db.Caller, in KeyInput) (api.CompromisedKey, error) {
	return db.Write(ctx, s.db, by, func(tx *db.Tx) (api.CompromisedKey, audit.Event, error) {
		r, err := revokeKey(tx, by, in.ID, by.ID, true)
		if err == nil {
			err = limitRevocation(tx.Q, by.Actor, in.ID)
		}
		return r.report(in.ID, by.ID), r.events(keyCompromised(in.ID, r.name)), err
	})
}

// revocation is what the revocation of a key did.
type revocation struct {
	name      string
	createdAt int64
	at        int64
	voided    map[string][]string // ids of invitations, by workspace
	order     []string            // of the workspaces
	suspended []access.Suspension
}

// revokeKey revokes a key and what depends on it. Workspaces are locked before the account, in the order of their ids.
func revokeKey(tx *db.Tx, by db.Caller, id, accountID string, compromised bool) (r revocation, err error) {
	given, err := access.GivenWith(tx.Q, accountID, id, compromised)
	if err != nil {
		return r, err
	}
	for _, g := range given {
		if _, _, err := access.LockMembers(tx, g.WorkspaceID); err != nil {
			return r, err
		}
	}
	if err := lockKeys(tx, accountID); err != nil {
		return r, err
	}
	var revokedAt int64
	found, err := tx.Row(`SELECT name, created_at, revoked_at FROM api_key WHERE id = $1 AND account_id = $2`, id, accountID).Scan(&r.name, &r.createdAt, &revokedAt)
	if err == nil && (!found || revokedAt != 0 && !compromised) {
		err = fault.Foreign("API key", fault.Scope{})
	}
	if err != nil {
		return r, err
	}
	r.at = tx.Now()
	if err := endKeys(tx, id, compromised); err != nil {
		return r, err
	}
	r.voided = map[string][]string{}
	for _, g := range given {
		voided, err := access.VoidInvitations(tx, g)
		if err != nil {
			return r, err
		}
		if len(voided) > 0 {
			r.order, r.voided[g.WorkspaceID] = append(r.order, g.WorkspaceID), voided
		}
		if !compromised {
			continue
		}
		suspended, err := access.SuspendGiven(tx, by.Actor, accountID, g)
		if err != nil {
			return r, err
		}
		r.suspended = append(r.suspended, suspended...)
	}
	return r, nil
}

// endKeys revokes a key, all keys that depend on it, and their sessions. With a compromised one end its successors.
func endKeys(tx *db.Tx, id string, compromised bool) error {
	ending, err := dependents(tx, id)
	if err == nil && compromised {
		ending, err = noteCompromised(tx, id)
	}
	if err != nil {
		return err
	}
	for _, id := range ending {
		if err := tx.Exec(`UPDATE api_key SET revoked_at = $2 WHERE id = $1 AND revoked_at IS NULL`, id, tx.Now()); err != nil {
			return err
		}
		if err := tx.Exec(`UPDATE session SET revoked_at = $2 WHERE api_key_id = $1 AND revoked_at IS NULL`, id, tx.Now()); err != nil {
			return err
		}
	}
	return nil
}

// noteCompromised stores that a key, and each that was made with it or replaced it, may have been used by someone else, also if it has
// ended. It returns those keys.
func noteCompromised(tx *db.Tx, id string) ([]string, error) {
	all := []string{id}
	for i := 0; i < len(all); i++ {
		if err := tx.Exec(`INSERT INTO compromised_key (id, reported_at) VALUES ($1, $2) ON CONFLICT (id) DO NOTHING`, all[i], tx.Now()); err != nil {
			return nil, err
		}
		for _, column := range []string{"parent_id", "rotated_from"} {
			made, err := db.Collect(tx.Q, func(r db.Rows) string { return r.Text(0) }, `SELECT id FROM api_key WHERE `+column+` = $1`, all[i])
			if err != nil {
				return nil, err
			}
			for _, next := range made {
				if !slices.Contains(all, next) {
					all = append(all, next)
				}
			}
		}
	}
	return all, nil
}

// events returns the rows of the log: that of the key, and one for each invitation, member and role in the log of its workspace.
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
	return audit.All(all...)
}

// keyCompromised is the event of a key that is revoked because someone else may have it.
func keyCompromised(id, name string) audit.Event {
	event := keyRevoked(id, name)
	event.Description += ", which is compromised"
	event.Changes.Add("compromised", false, true)
	return event
}

func (r revocation) report(id, accountID string) api.CompromisedKey {
	report := api.CompromisedKey{ID: id, Revoked: true, Suspended: []api.SuspendedAccess{}, Activity: api.KeyActivity{Actor: accountID, From: r.createdAt, To: r.at}}
	for _, list := range r.voided {
		report.InvitationsEnded += int64(len(list))
	}
	for _, s := range r.suspended {
		report.Suspended = append(report.Suspended, api.SuspendedAccess{ID: s.ID, WorkspaceID: s.WorkspaceID, UserID: s.AccountID, KeyID: s.KeyID, Kind: s.Kind,
			Roles: s.Roles, SuspendedAt: s.At, LastAdmin: s.LastAdmin})
	}
	return report
}

// limitRevocation returns an error unless the caller may revoke a key of theirs. A session that depends on a key can revoke that key and those
// that were made with it; a limited key only itself, and to it no other key exists. A key that administers and is not limited can
// revoke all keys of its owner.
func limitRevocation(q db.Q, by audit.Actor, id string) error {
	switch {
	case by.KeyID == "" || by.KeyID == id:
		return nil
	case by.Scope.Limited():
		return fault.Foreign("API key", fault.Scope{})
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
