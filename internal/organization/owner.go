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

// Owners lists the owners of an organization, in the order in which they were
// created.
func (s *Service) Owners(ctx context.Context, by db.Caller, in OwnersInput) (web.Page[api.User], error) {
	if err := s.authority.RequireInOrganization(ctx, by.Actor, in.ID, access.OrgRead); err != nil {
		return web.Page[api.User]{}, err
	}
	return web.ReadUnpaged(ctx, s.db, s.cursors, in.PageParams, func(u api.User) string { return u.ID },
		func(q db.Q, after string, take int) ([]api.User, error) { return owners(q, in.ID, after, take) }, "owners", in.ID)
}

// AddOwner makes a person an owner of an organization. The caller must be an owner, and the person already a member. So no one becomes an
// owner who has not agreed to belong to the organization.
func (s *Service) AddOwner(ctx context.Context, by db.Caller, in AddOwnerInput) (api.Ownership, error) {
	if err := s.authority.RequireInOrganization(ctx, by.Actor, in.ID, access.OrgSettingsWrite); err != nil {
		return api.Ownership{}, err
	}
	if err := access.RequireAdministration(by.Actor, s.db.Now()); err != nil {
		return api.Ownership{}, err
	}
	return db.Write(ctx, s.db, by, func(tx *db.Tx) (api.Ownership, audit.Event, error) {
		added := api.Ownership{OrganizationID: in.ID, UserID: in.UserID}
		if _, err := lock(tx, in.ID); err != nil {
			return added, audit.Event{}, err
		}
		if err := stillOwner(tx, by, in.ID); err != nil {
			return added, audit.Event{}, err
		}
		if _, owns, err := owner(tx.Q, in.ID, in.UserID); err != nil || owns {
			return added, audit.None("is an owner already"), err
		}
		name, member, err := activeMember(tx.Q, in.ID, in.UserID)
		if err == nil && !member {
			err = fault.Missing("member of the organization")
		}
		if err == nil {
			err = access.SetOwner(tx, in.ID, in.UserID)
		}
		if err == nil {
			err = access.NoteOwnerOrigin(tx, by.Actor, in.ID, in.UserID)
		}
		event := ownerEvent(audit.OwnerAdded, in.ID, "Made "+name+" an owner")
		event.Changes.Add("owners", nil, in.UserID)
		return added, event, err
	})
}

// RemoveOwner ends a person's ownership. The caller must be an owner, and may remove themselves. The last owner cannot be removed.
func (s *Service) RemoveOwner(ctx context.Context, by db.Caller, in OwnerInput) (api.Ownership, error) {
	err := s.authority.RequireToGiveUp(ctx, by.Actor, in.ID)
	if in.UserID != by.ID {
		err = s.authority.RequireInOrganization(ctx, by.Actor, in.ID, access.OrgSettingsWrite)
	}
	if err != nil {
		return api.Ownership{}, err
	}
	if err := access.RequireAdministration(by.Actor, s.db.Now()); err != nil {
		return api.Ownership{}, err
	}
	return db.Write(ctx, s.db, by, func(tx *db.Tx) (api.Ownership, audit.Event, error) {
		removed := api.Ownership{OrganizationID: in.ID, UserID: in.UserID}
		// Two owners who remove each other at once must not leave the organization without an owner.
		if _, err := lock(tx, in.ID); err != nil {
			return removed, audit.Event{}, err
		}
		if err := stillOwner(tx, by, in.ID); err != nil {
			return removed, audit.Event{}, err
		}
		name, owns, err := owner(tx.Q, in.ID, in.UserID)
		if err == nil && !owns {
			err = fault.Missing("owner")
		}
		if err == nil {
			err = notLastOwner(tx.Q, in.ID, in.UserID)
		}
		if err == nil {
			err = access.EndOwnership(tx, in.ID, in.UserID)
		}
		event := ownerEvent(audit.OwnerRemoved, in.ID, "Removed the owner "+name)
		event.Changes.Add("owners", in.UserID, nil)
		return removed, event, err
	})
}

// stillOwner returns an error unless the caller is an owner in a live session that covers the organization's money. The organization is locked. Another owner may have removed
// the caller after the request was authorized.
func stillOwner(tx *db.Tx, by db.Caller, organizationID string) error {
	if err := identity.LockCaller(tx, by); err != nil {
		return err
	}
	_, owns, err := owner(tx.Q, organizationID, by.ID)
	if err == nil && !owns {
		err = fault.Denied(string(access.OrgSettingsWrite), fault.Scope{OrganizationID: organizationID})
	}
	if err == nil {
		err = access.RequireModeOfOrganization(tx.Q, by.Actor, organizationID)
	}
	return err
}

func ownerEvent(action audit.Action, organizationID, description string) audit.Event {
	return audit.Event{Action: action, OrganizationID: organizationID, ResourceID: organizationID, Description: description}
}
