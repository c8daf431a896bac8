package workspace

import (
	"context"
	"strings"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/fault"
	"bursar/internal/identity"
	"bursar/internal/web"
)

// SuspensionInput identifies suspended access to a workspace.
type SuspensionInput struct {
	ID           string `path:"id"`
	SuspensionID string `path:"suspensionId"`
}

// SuspendedAccess lists the access that came through a compromised API key and waits for an admin, oldest first.
func (s *Service) SuspendedAccess(ctx context.Context, by db.Caller, in MembersInput) (web.Page[api.SuspendedAccess], error) {
	if err := s.authority.RequireInWorkspace(ctx, by.Actor, in.ID, access.MembersRead); err != nil {
		return web.Page[api.SuspendedAccess]{}, err
	}
	return web.ReadUnpaged(ctx, s.db, s.cursors, in.PageParams, func(a api.SuspendedAccess) string { return a.ID },
		func(q db.Q, after string, take int) ([]api.SuspendedAccess, error) {
			rows, err := access.Suspensions(q, in.ID, after, take)
			list := make([]api.SuspendedAccess, len(rows))
			for i, row := range rows {
				if err == nil {
					list[i], err = wireSuspension(q, row)
				}
			}
			return list, err
		}, "suspended access", in.ID)
}

func wireSuspension(q db.Q, s access.Suspension) (api.SuspendedAccess, error) {
	a := api.SuspendedAccess{ID: s.ID, WorkspaceID: s.WorkspaceID, UserID: s.UserID, KeyID: s.KeyID, Kind: s.Kind, Roles: s.Roles, SuspendedAt: s.At}
	_, err := q.Row(`SELECT email, name FROM account WHERE id = $1`, s.UserID).Scan(&a.Email, &a.Name)
	return a, err
}

// ConfirmSuspended restores suspended access. The caller must be able to grant it.
func (s *Service) ConfirmSuspended(ctx context.Context, by db.Caller, in SuspensionInput) (api.SuspendedAccess, error) {
	return s.decideSuspended(ctx, by, in, audit.MemberReinstated, "Confirmed the access of ", access.Reinstate)
}

// RemoveSuspended ends suspended access permanently.
func (s *Service) RemoveSuspended(ctx context.Context, by db.Caller, in SuspensionInput) (api.SuspendedAccess, error) {
	return s.decideSuspended(ctx, by, in, audit.MemberRemoved, "Removed the suspended access of ", access.DropSuspended)
}

func (s *Service) decideSuspended(ctx context.Context, by db.Caller, in SuspensionInput, action audit.Action, text string,
	decide func(*db.Tx, audit.Actor, access.Suspension) error) (api.SuspendedAccess, error) {
	err := s.authority.RequireInWorkspace(ctx, by.Actor, in.ID, access.MembersWrite)
	if err == nil && action == audit.MemberReinstated {
		err = access.RequireAdministration(by.Actor, s.db.Now())
	}
	if err != nil {
		return api.SuspendedAccess{}, err
	}
	return db.Write(ctx, s.db, by, func(tx *db.Tx) (api.SuspendedAccess, audit.Event, error) {
		if _, err := lockMembers(tx, in.ID); err != nil {
			return api.SuspendedAccess{}, audit.Event{}, err
		}
		row, found, err := access.FindSuspension(tx.Q, in.ID, in.SuspensionID)
		if err == nil && !found {
			err = fault.Missing("suspended access")
		}
		if err != nil {
			return api.SuspendedAccess{}, audit.Event{}, err
		}
		if row.UserID == by.ID {
			f := fault.New(api.CodeForbidden, "this is your own access: another admin decides")
			f.Scope.WorkspaceID = in.ID
			return api.SuspendedAccess{}, audit.Event{}, f
		}
		if err := access.RequireOwnOriginInWorkspace(tx.Q, by.Actor, in.ID); err != nil {
			return api.SuspendedAccess{}, audit.Event{}, err
		}
		all, err := mayReinstate(tx, by, row)
		if err != nil {
			return api.SuspendedAccess{}, audit.Event{}, err
		}
		if action == audit.MemberReinstated {
			if err := access.RequireModeToGrant(tx.Q, by.Actor, in.ID, all); err != nil {
				return api.SuspendedAccess{}, audit.Event{}, err
			}
			if err := s.checkGrants(tx, by, row); err != nil {
				return api.SuspendedAccess{}, audit.Event{}, err
			}
		}
		shown, err := wireSuspension(tx.Q, row)
		if err != nil {
			return shown, audit.Event{}, err
		}
		event := audit.Event{Action: action, WorkspaceID: in.ID, ResourceID: row.UserID, Description: text + strings.TrimSpace(shown.Name+" "+shown.Email)}
		event.Changes.Add("suspension_id", row.ID, nil)
		if action == audit.MemberReinstated {
			event.Changes.AddItems("roles", nil, row.Roles)
		}
		return shown, event, decide(tx, by.Actor, row)
	})
}

// mayReinstate returns the permissions of suspended access, and an error unless the caller holds all of them.
func mayReinstate(tx *db.Tx, by db.Caller, s access.Suspension) (all access.Set, err error) {
	held, err := identity.HeldNow(tx, by, s.WorkspaceID, access.MembersWrite)
	for _, key := range s.Roles {
		var role access.Role
		if err == nil {
			role, _, err = access.FindRole(tx.Q, s.WorkspaceID, key)
		}
		all |= role.Permissions
	}
	if err != nil {
		return all, err
	}
	return all, access.RequireToTouch(held, all, s.WorkspaceID)
}

// checkGrants returns an error if suspended access has a role whose grant needs a second person. It announces a role that counts only later,
// as for a grant.
func (s *Service) checkGrants(tx *db.Tx, by db.Caller, row access.Suspension) error {
	name, err := nameOf(tx.Q, row.UserID)
	if err != nil {
		return err
	}
	for _, key := range row.Roles {
		role, _, err := access.FindRole(tx.Q, row.WorkspaceID, key)
		if err != nil {
			return err
		}
		_, needed, until, err := s.secondPersonFor(tx, by, row.WorkspaceID, key, role.Permissions)
		if err == nil && needed {
			err = fault.New(api.CodeForbidden, "the role %s takes a second person: remove this access, then add the person again", key)
		}
		if err == nil && until != 0 {
			err = s.approvals.AnnounceGrant(tx, row.WorkspaceID, by.Name, grant{RoleName: role.Name, Email: name}.of(), until)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
