package access

import (
	"slices"

	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/fault"
)

// cameThrough selects the API key through which a new membership or role of a workspace comes. That is the key of the caller's session, or
// else the one through which the caller became a member.
const cameThrough = `COALESCE($4, (SELECT g.through_key_id FROM workspace_member g WHERE g.workspace_id = $1 AND g.account_id = $3))`

// NoteOrigin stores who granted a new membership with its roles, and with which API key.
func NoteOrigin(tx *db.Tx, by audit.Actor, workspaceID, accountID string) error {
	if by.ID == "" {
		return nil
	}
	for _, table := range []string{"workspace_member", "member_role"} {
		if err := tx.Exec(`UPDATE `+table+` SET given_by = $3, given_key_id = $4, through_key_id = `+cameThrough+`
			WHERE workspace_id = $1 AND account_id = $2 AND given_by IS NULL`, workspaceID, accountID, by.ID, db.NullText(by.KeyID)); err != nil {
			return err
		}
	}
	return nil
}

// NoteRoleOrigin is NoteOrigin for an additional role of a member.
func NoteRoleOrigin(tx *db.Tx, by audit.Actor, workspaceID, accountID, role string) error {
	if by.ID == "" {
		return nil
	}
	return tx.Exec(`UPDATE member_role SET given_by = $3, given_key_id = $4, through_key_id = `+cameThrough+`
		WHERE workspace_id = $1 AND account_id = $2 AND role = $5 AND given_by IS NULL`, workspaceID, accountID, by.ID, db.NullText(by.KeyID), role)
}

// NoteOwnerOrigin stores through which API key a new owner of an organization came.
func NoteOwnerOrigin(tx *db.Tx, by audit.Actor, organizationID, accountID string) error {
	return tx.Exec(`UPDATE organization_member SET through_key_id = COALESCE($4, (SELECT g.through_key_id FROM organization_member g
			WHERE g.organization_id = $1 AND g.account_id = $3))
		WHERE organization_id = $1 AND account_id = $2`, organizationID, accountID, by.ID, db.NullText(by.KeyID))
}

// RequireOwnOriginInWorkspace returns an error if the caller became a member of a workspace, or got a role there, through a compromised key.
func RequireOwnOriginInWorkspace(q db.Q, by audit.Actor, workspaceID string) error {
	for _, table := range []string{"workspace_member", "member_role"} {
		compromised, err := q.Row(`SELECT c.id FROM `+table+` m JOIN compromised_key c ON c.id = m.through_key_id
			WHERE m.workspace_id = $1 AND m.account_id = $2 LIMIT 1`, workspaceID, by.ID).Scan(new(string))
		if err == nil && compromised {
			f := fault.New(fault.Forbidden, "your own access came through a compromised API key: an admin whose access did not decides, or the operator appoints one")
			f.Scope.WorkspaceID = workspaceID
			err = f
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// NoteCreatorOrigin stores through which API key the first admin of a new workspace became an owner of its organization.
func NoteCreatorOrigin(tx *db.Tx, workspaceID, accountID, organizationID string) error {
	for _, table := range []string{"workspace_member", "member_role"} {
		if err := tx.Exec(`UPDATE `+table+` SET given_by = $2, through_key_id = (SELECT g.through_key_id FROM organization_member g
				WHERE g.organization_id = $3 AND g.account_id = $2)
			WHERE workspace_id = $1 AND account_id = $2`, workspaceID, accountID, organizationID); err != nil {
			return err
		}
	}
	return nil
}

// WorkspacesThrough lists the workspaces that someone joined through API keys, in lock order.
func WorkspacesThrough(q db.Q, keys []string) ([]string, error) {
	list, err := placesThrough(q, keys, `SELECT DISTINCT workspace_id FROM workspace_member WHERE through_key_id IN (`)
	if err != nil {
		return nil, err
	}
	more, err := placesThrough(q, keys, `SELECT DISTINCT workspace_id FROM member_role WHERE through_key_id IN (`)
	return sortedSet(append(list, more...)), err
}

// OrganizationsThrough lists the organizations whose owners came through API keys, in lock order.
func OrganizationsThrough(q db.Q, keys []string) ([]string, error) {
	list, err := placesThrough(q, keys, `SELECT DISTINCT organization_id FROM organization_member WHERE through_key_id IN (`)
	return sortedSet(list), err
}

func placesThrough(q db.Q, keys []string, query string) (list []string, err error) {
	for piece := range db.Pieces(keys) {
		sql := db.NewStatement(query, db.Args(piece)...)
		sql.Add(`)`)
		err := q.EachOf(sql, func(r db.Rows) error {
			list = append(list, r.Text(0))
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return list, nil
}

func sortedSet(list []string) []string {
	slices.Sort(list)
	return slices.Compact(list)
}
