package organization

import (
	"context"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/fault"
	"bursar/internal/identity"
	"bursar/internal/web"
)

// SuspensionInput identifies a suspended owner of an organization.
type SuspensionInput struct {
	ID           string `path:"id"`
	SuspensionID string `path:"suspensionId"`
}

// SuspendedOwners lists the owners who were added through a compromised API key and wait for an owner's decision, oldest first.
func (s *Service) SuspendedOwners(ctx context.Context, by db.Caller, in OwnersInput) (web.Page[api.SuspendedOwner], error) {
	if err := s.authority.RequireInOrganization(ctx, by.Actor, in.ID, access.OrgRead); err != nil {
		return web.Page[api.SuspendedOwner]{}, err
	}
	return web.ReadUnpaged(ctx, s.db, s.cursors, in.PageParams, func(o api.SuspendedOwner) string { return o.ID },
		func(q db.Q, after string, take int) ([]api.SuspendedOwner, error) {
			rows, err := access.SuspendedOwners(q, in.ID, after, take)
			list := make([]api.SuspendedOwner, len(rows))
			for i, row := range rows {
				if err == nil {
					list[i], err = wireSuspension(q, row)
				}
			}
			return list, err
		}, "suspended owners", in.ID)
}

func wireSuspension(q db.Q, s access.OwnerSuspension) (api.SuspendedOwner, error) {
	o := api.SuspendedOwner{ID: s.ID, OrganizationID: s.OrganizationID, UserID: s.UserID, KeyID: s.KeyID, SuspendedAt: s.At}
	_, err := q.Row(`SELECT email, name FROM account WHERE id = $1`, s.UserID).Scan(&o.Email, &o.Name)
	return o, err
}

// ConfirmOwner restores a suspended owner.
func (s *Service) ConfirmOwner(ctx context.Context, by db.Caller, in SuspensionInput) (api.SuspendedOwner, error) {
	return s.decide(ctx, by, in, audit.OwnerReinstated)
}

// RemoveSuspendedOwner ends suspended ownership permanently.
func (s *Service) RemoveSuspendedOwner(ctx context.Context, by db.Caller, in SuspensionInput) (api.SuspendedOwner, error) {
	return s.decide(ctx, by, in, audit.OwnerRemoved)
}

func (s *Service) decide(ctx context.Context, by db.Caller, in SuspensionInput, action audit.Action) (api.SuspendedOwner, error) {
	if err := s.authority.RequireInOrganization(ctx, by.Actor, in.ID, access.OrgSettingsWrite); err != nil {
		return api.SuspendedOwner{}, err
	}
	if err := access.RequireAdministration(by.Actor, s.db.Now()); err != nil {
		return api.SuspendedOwner{}, err
	}
	return db.Write(ctx, s.db, by, func(tx *db.Tx) (api.SuspendedOwner, audit.Event, error) {
		row, err := s.suspended(tx, by, in)
		if err != nil {
			return api.SuspendedOwner{}, audit.Event{}, err
		}
		shown, err := wireSuspension(tx.Q, row)
		if err != nil {
			return shown, audit.Event{}, err
		}
		if action == audit.OwnerReinstated {
			event := ownerEvent(action, in.ID, "Confirmed the owner "+shown.Email)
			event.Changes.Add("suspension_id", row.ID, nil)
			event.Changes.Add("owners", nil, row.UserID)
			return shown, event, reinstate(tx, by, row)
		}
		event := ownerEvent(action, in.ID, "Removed the suspended owner "+shown.Email)
		event.Changes.Add("suspension_id", row.ID, nil)
		ended, err := remove(tx, by, row)
		if ended {
			event.Changes.Add("owners", row.UserID, nil)
		}
		return shown, event, err
	})
}

// suspended finds a suspended owner for the caller's decision, with the organization locked. A caller cannot decide about themselves, or if
// they came through a compromised key.
func (s *Service) suspended(tx *db.Tx, by db.Caller, in SuspensionInput) (access.OwnerSuspension, error) {
	if _, err := lock(tx, in.ID); err != nil {
		return access.OwnerSuspension{}, err
	}
	if err := identity.LockCaller(tx, by); err != nil {
		return access.OwnerSuspension{}, err
	}
	if err := access.StillOwner(tx, by.Actor, in.ID); err != nil { // they may have been suspended meanwhile
		return access.OwnerSuspension{}, err
	}
	if err := access.RequireModeOfOrganization(tx.Q, by.Actor, in.ID); err != nil {
		return access.OwnerSuspension{}, err
	}
	row, found, err := access.FindSuspendedOwner(tx.Q, in.ID, in.SuspensionID)
	if err == nil && !found {
		err = fault.Missing("suspended owner")
	}
	if err == nil {
		err = access.RequireOwnOrigin(tx.Q, by.Actor, in.ID)
	}
	if err == nil && row.UserID == by.ID {
		f := fault.New(api.CodeForbidden, "this is your own ownership: another owner decides")
		f.Scope.OrganizationID = in.ID
		err = f
	}
	return row, err
}

// reinstate restores a suspended owner, if they are still a member.
func reinstate(tx *db.Tx, by db.Caller, row access.OwnerSuspension) error {
	if err := access.DecideSuspendedOwner(tx, by.Actor, row, "confirmed"); err != nil {
		return err
	}
	_, owns, err := owner(tx.Q, row.OrganizationID, row.UserID)
	if err != nil {
		return err
	}
	if !owns {
		_, member, err := activeMember(tx.Q, row.OrganizationID, row.UserID)
		if err == nil && !member {
			err = fault.New(api.CodeForbidden, "this person is no longer a member of the organization: remove them, or add them to a workspace first")
		}
		if err == nil {
			err = access.SetOwner(tx, row.OrganizationID, row.UserID)
		}
		if err != nil {
			return err
		}
	}
	return access.NoteOwnerOrigin(tx, by.Actor, row.OrganizationID, row.UserID)
}

// remove ends a suspended ownership permanently. If the person was made an owner again since, it ends that ownership and reports it.
func remove(tx *db.Tx, by db.Caller, row access.OwnerSuspension) (ended bool, err error) {
	if err := access.DecideSuspendedOwner(tx, by.Actor, row, "removed"); err != nil {
		return false, err
	}
	_, owns, err := owner(tx.Q, row.OrganizationID, row.UserID)
	if err != nil || !owns {
		return false, err
	}
	if err := notLastOwner(tx.Q, row.OrganizationID, row.UserID); err != nil {
		return false, err
	}
	return true, access.EndOwnership(tx, row.OrganizationID, row.UserID)
}
