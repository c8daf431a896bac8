package identity

import (
	"context"

	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/fault"
)

// CreateClient makes a machine client that holds one role in a workspace. The
// secret is shown here and never again.
func (s *Service) CreateClient(ctx context.Context, by db.Caller, workspaceID, name, role string) (id, secret string, err error) {
	type made struct{ id, secret string }
	got, err := db.Write(ctx, s.db, by, func(tx *db.Tx) (made, audit.Event, error) {
		org, found, err := LockMembers(tx, workspaceID)
		if err == nil && !found {
			err = fault.Missing("workspace " + workspaceID)
		}
		if err != nil {
			return made{}, audit.Event{}, err
		}
		if _, known, err := FindRole(tx.Q, workspaceID, role); err != nil || !known {
			if err == nil {
				err = fault.Invalid("role", "is not a role of the workspace")
			}
			return made{}, audit.Event{}, err
		}
		m := made{tx.NewID("cli"), newSecret(clientSecretPrefix)}
		if err := tx.Exec(`INSERT INTO account (id, kind, email, name, status, home_org_id, secret_hash, created_at)
			VALUES ($1, $2, '', $3, $4, $5, $6, $7)`,
			m.id, kindClient, name, statusActive, org, hashSecret(m.secret), tx.Now()); err != nil {
			return made{}, audit.Event{}, err
		}
		return m, audit.Event{
			Action:      audit.ClientCreated,
			WorkspaceID: workspaceID,
			ResourceID:  m.id,
			Description: "Created machine client " + name + " with role " + role,
		}, Join(tx, workspaceID, m.id, role)
	})
	return got.id, got.secret, err
}

// RevokeClient turns a machine client off for good and ends its sessions.
func (s *Service) RevokeClient(ctx context.Context, by db.Caller, id string) error {
	_, err := db.Write(ctx, s.db, by, func(tx *db.Tx) (string, audit.Event, error) {
		var name, org string
		found, err := tx.Row(`UPDATE account SET status = 'disabled' WHERE id = $1 AND kind = 'client' AND status <> 'disabled'
			RETURNING name, home_org_id`, id).Scan(&name, &org)
		if err == nil && !found {
			err = fault.Missing("live client " + id)
		}
		if err == nil {
			err = tx.Exec(`UPDATE session SET revoked_at = $2 WHERE account_id = $1 AND revoked_at IS NULL`, id, tx.Now())
		}
		return id, audit.Event{
			Action:         audit.ClientRevoked,
			OrganizationID: org,
			ResourceID:     id,
			Description:    "Revoked machine client " + name,
		}, err
	})
	return err
}
