package workspace

import (
	"context"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/fault"
	"bursar/internal/identity"
)

// appointedRole is the role of an approver whom an operator appoints.
const appointedRole = "disbursement_authorizer"

// Appoint makes a person an approver of a workspace, as the operator of the server. It applies if no one else is left who could agree. The
// new approver counts after the usual wait. Servers mail the approvers and owners.
func Appoint(ctx context.Context, d *db.DB, by db.Caller, workspaceID, email string) (api.RoleAssignment, error) {
	email = identity.NormalizeEmail(email)
	return db.Write(ctx, d, by, func(tx *db.Tx) (api.RoleAssignment, audit.Event, error) {
		return AppointIn(tx, workspaceID, email, appointedRole)
	})
}

// AppointIn is Appoint in a transaction, with any role that may approve.
func AppointIn(tx *db.Tx, workspaceID, email, role string) (api.RoleAssignment, audit.Event, error) {
	given := api.RoleAssignment{WorkspaceID: workspaceID, Role: role}
	event := audit.Event{Action: audit.ApproverAppointed, WorkspaceID: workspaceID, Description: "Appointed " + email + " as an approver"}
	if _, err := lockMembers(tx, workspaceID); err != nil {
		return given, event, err
	}
	found, err := tx.Row(`SELECT id FROM account WHERE email = $1 AND email <> '' AND kind = 'person' AND status = 'active'`, email).Scan(&given.UserID)
	if err == nil && !found {
		err = fault.Missing("active user with this address")
	}
	if err != nil {
		return given, event, err
	}
	member, exists, err := access.MemberOf(tx.Q, workspaceID, given.UserID)
	switch {
	case err != nil:
		return given, event, err
	case exists && member.Invited:
		if err = access.Accept(tx, workspaceID, given.UserID); err == nil {
			err = identity.EndLinks(tx, given.UserID, workspaceID)
		}
	case !exists:
		err = access.Join(tx, workspaceID, given.UserID, "viewer")
	}
	if err == nil {
		err = access.Appoint(tx, workspaceID, given.UserID, role, email)
	}
	event.ResourceID = given.UserID
	event.Changes.Add("roles", nil, role)
	return given, event, err
}
