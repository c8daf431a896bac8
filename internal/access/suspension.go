package access

import (
	"strings"

	"bursar/internal/audit"
	"bursar/internal/db"
)

// Kinds of suspended access.
const (
	SuspendedMember = "member" // a membership with all its roles
	SuspendedRole   = "role"   // roles of a member who keeps others
)

// Suspension is access that was granted with a compromised API key. It is back in force once an admin has confirmed it.
type Suspension struct {
	ID          string
	WorkspaceID string
	UserID      string
	KeyID       string
	Kind        string
	Roles       []string
	At          int64
	LastAdmin   bool // nothing was suspended, because the workspace has no other admin
}

const suspensionColumns = `id, workspace_id, account_id, key_id, kind, roles, suspended_at`

func readSuspension(r db.Rows) Suspension {
	return Suspension{ID: r.Text(0), WorkspaceID: r.Text(1), UserID: r.Text(2), KeyID: r.Text(3), Kind: r.Text(4), Roles: strings.Fields(r.Text(5)), At: r.Int(6)}
}

// Suspensions lists the suspended access in a workspace, oldest first.
func Suspensions(q db.Q, workspaceID, after string, take int) ([]Suspension, error) {
	return db.Collect(q, readSuspension, `SELECT `+suspensionColumns+` FROM suspended_access
		WHERE workspace_id = $1 AND state = 'suspended' AND id > $2 ORDER BY id LIMIT $3`, workspaceID, after, take)
}

// FindSuspension finds suspended access in a workspace by the id of the suspension.
func FindSuspension(q db.Q, workspaceID, id string) (s Suspension, found bool, err error) {
	list, err := db.Collect(q, readSuspension, `SELECT `+suspensionColumns+` FROM suspended_access WHERE id = $1 AND workspace_id = $2 AND state = 'suspended'`, id, workspaceID)
	if len(list) > 0 {
		return list[0], true, err
	}
	return s, false, err
}

// Reinstate restores suspended access. The caller has locked the members of the workspace.
func Reinstate(tx *db.Tx, by audit.Actor, s Suspension) error {
	if err := decideSuspension(tx, by, s, "confirmed"); err != nil {
		return err
	}
	_, member, err := MemberOf(tx.Q, s.WorkspaceID, s.UserID)
	if err != nil {
		return err
	}
	if !member {
		if s.Kind == SuspendedRole {
			return nil // they have left since
		}
		if err := tx.Exec(`INSERT INTO workspace_member (workspace_id, account_id, member_id, joined_at, accepted) VALUES ($1, $2, $2, $3, TRUE)`,
			s.WorkspaceID, s.UserID, tx.Now()); err != nil {
			return err
		}
	}
	for _, role := range s.Roles {
		if _, defined, err := FindRole(tx.Q, s.WorkspaceID, role); err != nil || !defined {
			if err != nil {
				return err
			}
			continue
		}
		if err := Grant(tx, s.WorkspaceID, s.UserID, role); err != nil {
			return err
		}
		if err := NoteRoleOrigin(tx, by, s.WorkspaceID, s.UserID, role); err != nil {
			return err
		}
	}
	if member {
		return nil
	}
	return NoteOrigin(tx, by, s.WorkspaceID, s.UserID)
}

// SuspendedMembership is a membership of a workspace that is suspended.
type SuspendedMembership struct {
	WorkspaceID, WorkspaceName string
	Roles                      []string
}

// SuspendedIn lists the suspended memberships of a user in the workspaces of an organization, and reports whether its ownership is
// suspended.
func SuspendedIn(q db.Q, organizationID, userID string) (list []SuspendedMembership, owner bool, err error) {
	list, err = db.Collect(q, func(r db.Rows) SuspendedMembership {
		return SuspendedMembership{r.Text(0), r.Text(1), strings.Fields(r.Text(2))}
	},
		`SELECT w.id, w.name, s.roles FROM suspended_access s JOIN workspace w ON w.id = s.workspace_id
		WHERE s.account_id = $1 AND s.state = 'suspended' AND s.kind = 'member' AND w.organization_id = $2 ORDER BY w.id`, userID, organizationID)
	if err == nil {
		owner, err = q.Row(`SELECT id FROM suspended_owner WHERE account_id = $1 AND state = 'suspended' AND organization_id = $2 LIMIT 1`, userID, organizationID).
			Scan(new(string))
	}
	return list, owner, err
}

// DropAllSuspended ends the suspended access of a user in the workspaces of an organization, because the user leaves it.
func DropAllSuspended(tx *db.Tx, organizationID, userID string) error {
	if err := tx.Exec(`UPDATE suspended_owner SET state = 'removed', decided_at = $3 WHERE account_id = $1 AND state = 'suspended' AND organization_id = $2`,
		userID, organizationID, tx.Now()); err != nil {
		return err
	}
	return tx.Exec(`UPDATE suspended_access SET state = 'removed', decided_at = $3 WHERE account_id = $1 AND state = 'suspended'
		AND workspace_id IN (SELECT id FROM workspace WHERE organization_id = $2)`, userID, organizationID, tx.Now())
}

// DropSuspended ends suspended access permanently. The caller has locked the members of the workspace.
func DropSuspended(tx *db.Tx, by audit.Actor, s Suspension) error {
	return decideSuspension(tx, by, s, "removed")
}

func decideSuspension(tx *db.Tx, by audit.Actor, s Suspension, state string) error {
	return tx.Exec(`UPDATE suspended_access SET state = $2, decided_by = $3, decided_at = $4 WHERE id = $1`, s.ID, state, db.NullText(by.ID), tx.Now())
}
