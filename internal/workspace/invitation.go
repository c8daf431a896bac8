package workspace

import (
	"context"
	"maps"
	"slices"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/fault"
	"bursar/internal/identity"
	"bursar/internal/web"
)

// Invitations lists the open invitations of the caller, oldest first. A user whose address is not verified has none. A person who
// completed it through someone's link must neither see nor accept what others send to the same address. Each of those invitations needs its
// own link.
func (s *Service) Invitations(ctx context.Context, by db.Caller, in InvitationsInput) (web.Page[api.Invitation], error) {
	return web.ReadUnpaged(ctx, s.db, s.cursors, in.PageParams, func(i api.Invitation) string { return i.ID },
		func(q db.Q, after string, take int) ([]api.Invitation, error) {
			return invitationsOf(q, by.Actor, s.db.Now(), after, take)
		}, "invitations", by.ID)
}

// InvitationCount returns the number of open invitations of the caller.
func (s *Service) InvitationCount(ctx context.Context, by db.Caller) (n int, err error) {
	err = s.db.Read(ctx, func(q db.Q) (err error) {
		_, err = q.Row(`SELECT count(*)`+openInvitations, by.ID, s.db.Now(), by.Scope.WorkspaceList()).Scan(&n)
		return err
	})
	return n, err
}

// AcceptInvitation makes the caller a member of the workspace of an invitation.
func (s *Service) AcceptInvitation(ctx context.Context, by db.Caller, in InvitationInput) (api.InvitationDecision, error) {
	return db.Write(ctx, s.db, by, func(tx *db.Tx) (api.InvitationDecision, audit.Event, error) {
		workspaceID, err := lockInvitation(tx, by.Actor, in.ID)
		if err == nil {
			err = identity.LockCaller(tx, by)
		}
		if err == nil {
			err = access.Accept(tx, workspaceID, by.ID)
		}
		if err == nil {
			err = identity.EndLinks(tx, by.ID, workspaceID)
		}
		return api.InvitationDecision{ID: in.ID, WorkspaceID: workspaceID, Status: "accepted"}, audit.Event{
			Action:      audit.MemberAccepted,
			WorkspaceID: workspaceID,
			ResourceID:  by.ID,
			Description: by.Email + " accepted the invitation",
			Changes:     access.Accepted(),
		}, err
	})
}

// DeclineInvitation declines an invitation of the caller. The workspace learns that the address declined, and nothing about a user with
// that address.
func (s *Service) DeclineInvitation(ctx context.Context, by db.Caller, in InvitationInput) (api.InvitationDecision, error) {
	nobody := db.Caller{IdempotencyKey: by.IdempotencyKey,
		Actor: audit.Actor{Type: audit.User, ID: in.ID, Email: by.Email, RequestID: by.RequestID}}
	return db.Write(ctx, s.db, nobody, func(tx *db.Tx) (api.InvitationDecision, audit.Event, error) {
		workspaceID, err := lockInvitation(tx, by.Actor, in.ID)
		var roles map[string]bool
		if err == nil {
			roles, err = rolesOf(tx.Q, workspaceID, by.ID)
		}
		if err == nil {
			err = leave(tx, workspaceID, by.ID)
		}
		if err == nil {
			err = identity.EndLinks(tx, by.ID, workspaceID)
		}
		return api.InvitationDecision{ID: in.ID, WorkspaceID: workspaceID, Status: "declined"}, audit.Event{
			Action:      audit.MemberDeclined,
			WorkspaceID: workspaceID,
			ResourceID:  in.ID,
			Description: by.Email + " declined the invitation",
			Changes:     memberChanges(access.MemberInvited, "", slices.Sorted(maps.Keys(roles)), nil),
		}, err
	})
}

// lockInvitation finds an open invitation of a user and locks its workspace, so that it is accepted, declined or withdrawn only once.
func lockInvitation(tx *db.Tx, by audit.Actor, id string) (workspaceID string, err error) {
	if _, err := tx.Row(`SELECT workspace_id FROM workspace_member WHERE invitation_id = $1 AND account_id = $2`, id, by.ID).Scan(&workspaceID); err != nil {
		return "", err
	}
	if workspaceID != "" {
		if _, err := lockMembers(tx, workspaceID); err != nil {
			return "", err
		}
	}
	open, err := tx.Row(`SELECT m.invitation_id`+openInvitations+` AND m.invitation_id = $4`, by.ID, tx.Now(), by.Scope.WorkspaceList(), id).Scan(new(string))
	if err == nil && !open {
		err = fault.Foreign("invitation", fault.Scope{})
	}
	return workspaceID, err
}
