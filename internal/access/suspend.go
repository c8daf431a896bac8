package access

import (
	"maps"
	"slices"
	"strings"

	"bursar/internal/audit"
	"bursar/internal/db"
)

// Compromise is the report of an API key that someone else may have.
type Compromise struct {
	ownerID string            // owner of the keys
	origins map[string]string // the origins that contain one of the keys, each with that key
}

// FindCompromise returns the report of a key, the keys created with it and their successors.
func FindCompromise(q db.Q, ownerID string, keys []string) (Compromise, error) {
	origins, err := originsThrough(q, keys)
	return Compromise{ownerID: ownerID, origins: origins}, err
}

// VoidedGrant is a pending invitation that ended, or a role of one.
type VoidedGrant struct {
	WorkspaceID string
	MemberID    string
	Role        string // "" for the invitation
}

func voidedGrant(r db.Rows) VoidedGrant { return VoidedGrant{r.Text(0), r.Text(1), r.Text(2)} }

// VoidInvitationsBy ends the pending invitations that a user has made, or has made with its live keys, and the roles that it has added to
// other pending invitations. Its own membership of a workspace that it created stays: AskAgain may have made that an invitation. The caller
// has locked the user, so that it makes no more.
func VoidInvitationsBy(tx *db.Tx, userID string, withKeys bool) ([]VoidedGrant, error) {
	const chosen = ` given_by = $1 AND account_id <> $1 AND ($2 = FALSE OR given_key_id IN (SELECT k.id FROM api_key k
			WHERE k.account_id = $1 AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > $3)))`
	invitations, err := db.Collect(tx.Q, voidedGrant, `DELETE FROM workspace_member WHERE accepted = FALSE AND`+chosen+`
		RETURNING workspace_id, member_id, ''`, userID, withKeys, tx.Now())
	if err != nil {
		return nil, err
	}
	roles, err := db.Collect(tx.Q, voidedGrant, `DELETE FROM member_role WHERE`+chosen+` AND EXISTS (SELECT 1 FROM workspace_member m
			WHERE m.workspace_id = member_role.workspace_id AND m.account_id = member_role.account_id AND m.accepted = FALSE)
		RETURNING workspace_id, (SELECT m.member_id FROM workspace_member m
			WHERE m.workspace_id = member_role.workspace_id AND m.account_id = member_role.account_id), role`, userID, withKeys, tx.Now())
	return append(invitations, roles...), err
}

// VoidInvitations ends the pending invitations to a workspace that were given with API keys, and the roles that were added with them to
// other pending invitations. For compromised keys it ends the invitations that came through them in any way: SuspendMembers suspends the
// roles. The caller has locked the members of the workspace.
func VoidInvitations(tx *db.Tx, workspaceID string, keys []string, compromised bool) (voided []VoidedGrant, err error) {
	add := func(r db.Rows) error {
		voided = append(voided, voidedGrant(r))
		return nil
	}
	for piece := range db.Pieces(keys) {
		invitations := db.NewStatement(`DELETE FROM workspace_member WHERE accepted = FALSE AND workspace_id = `, workspaceID)
		if compromised {
			invitations.Add(` AND origin_id IN (SELECT id FROM access_origin WHERE key_id IN (`, db.Args(piece)...)
			invitations.Add(`)) RETURNING workspace_id, member_id, ''`)
		} else {
			invitations.Add(` AND given_key_id IN (`, db.Args(piece)...)
			invitations.Add(`) RETURNING workspace_id, member_id, ''`)
		}
		if err := tx.EachOf(invitations, add); err != nil {
			return nil, err
		}
		if compromised {
			continue
		}
		roles := db.NewStatement(`DELETE FROM member_role WHERE workspace_id = `, workspaceID)
		roles.Add(` AND given_key_id IN (`, db.Args(piece)...)
		roles.Add(`) AND account_id IN (SELECT account_id FROM workspace_member WHERE accepted = FALSE AND workspace_id = `, workspaceID)
		roles.Add(`) RETURNING workspace_id, (SELECT m.member_id FROM workspace_member m
			WHERE m.workspace_id = member_role.workspace_id AND m.account_id = member_role.account_id), role`)
		if err := tx.EachOf(roles, add); err != nil {
			return nil, err
		}
	}
	return voided, nil
}

// grant is a membership, or a role of a member, and its origin.
type grant struct{ userID, role, originID string }

// SuspendMembers suspends the memberships and roles in a workspace that came through compromised keys. The owner of the keys stays a
// member, and the workspace keeps its last admin. The caller has locked the members of the workspace.
func (c Compromise) SuspendMembers(tx *db.Tx, by audit.Actor, workspaceID string) ([]Suspension, error) {
	read := func(r db.Rows) grant { return grant{r.Text(0), r.Text(1), r.Text(2)} }
	members, err := db.Collect(tx.Q, read, `SELECT account_id, '', origin_id FROM workspace_member
		WHERE workspace_id = $1 AND accepted = TRUE ORDER BY account_id`, workspaceID)
	if err != nil {
		return nil, err
	}
	roles, err := db.Collect(tx.Q, read, `SELECT account_id, role, origin_id FROM member_role WHERE workspace_id = $1 ORDER BY account_id, role`, workspaceID)
	if err != nil {
		return nil, err
	}
	held := map[string][]string{}
	for _, one := range roles {
		held[one.userID] = append(held[one.userID], one.role)
	}
	suspended := map[string]bool{} // users
	var list []Suspension
	for _, one := range members {
		if key, through := c.origins[one.originID]; through && one.userID != c.ownerID {
			suspended[one.userID] = true
			list = append(list, Suspension{UserID: one.userID, KeyID: key, Kind: SuspendedMember, Roles: held[one.userID]})
		}
	}
	for _, one := range roles {
		if key, through := c.origins[one.originID]; through && !suspended[one.userID] {
			list = append(list, Suspension{UserID: one.userID, KeyID: key, Kind: SuspendedRole, Roles: []string{one.role}})
		}
	}
	if len(list) == 0 {
		return nil, nil
	}
	if err := keepAdmin(tx.Q, workspaceID, list); err != nil {
		return nil, err
	}
	for i := range list {
		list[i].ID, list[i].WorkspaceID, list[i].At = tx.NewID("sus"), workspaceID, tx.Now()
	}
	return list, suspend(tx, by, list)
}

// keepAdmin marks the admin who stays because there would be no other one: the last of the list.
func keepAdmin(q db.Q, workspaceID string, list []Suspension) error {
	admins, err := db.Collect(q, func(r db.Rows) string { return r.Text(0) }, `SELECT m.account_id FROM member_role m JOIN account a ON a.id = m.account_id
		JOIN live_member l ON l.workspace_id = m.workspace_id AND l.account_id = m.account_id
		WHERE m.workspace_id = $1 AND m.role = 'admin' AND a.kind = 'person' AND a.status = 'active' ORDER BY m.account_id`, workspaceID)
	if err != nil {
		return err
	}
	last := -1
	for i, s := range list {
		if at, isAdmin := slices.BinarySearch(admins, s.UserID); isAdmin && slices.Contains(s.Roles, Admin) {
			admins, last = slices.Delete(admins, at, at+1), i
		}
	}
	if last >= 0 && len(admins) == 0 {
		list[last].LastAdmin = true
	}
	return nil
}

// suspend stores the suspensions, and ends the access.
func suspend(tx *db.Tx, by audit.Actor, list []Suspension) error {
	list = slices.DeleteFunc(slices.Clone(list), func(s Suspension) bool { return s.LastAdmin })
	var rows [][]any
	for _, s := range list {
		rows = append(rows, []any{s.ID, s.WorkspaceID, s.UserID, s.KeyID, s.Kind, strings.Join(s.Roles, " "), s.At, db.NullText(by.ID)})
	}
	if err := tx.InsertRows(`INSERT INTO suspended_access (id, workspace_id, account_id, key_id, kind, roles, suspended_at, suspended_by, state) VALUES `,
		`($1, $2, $3, $4, $5, $6, $7, $8, 'suspended')`, rows); err != nil {
		return err
	}
	return endAccess(tx, list)
}

// endAccess ends memberships and roles of one workspace, many in one statement.
func endAccess(tx *db.Tx, list []Suspension) error {
	var members []string
	roles := map[string][]string{} // users by role
	for _, s := range list {
		if s.Kind == SuspendedMember {
			members = append(members, s.UserID)
			continue
		}
		roles[s.Roles[0]] = append(roles[s.Roles[0]], s.UserID)
	}
	for _, role := range slices.Sorted(maps.Keys(roles)) {
		for piece := range db.Pieces(roles[role]) {
			sql := db.NewStatement(`DELETE FROM member_role WHERE workspace_id = `, list[0].WorkspaceID)
			sql.Add(` AND role = `, role)
			sql.Add(` AND account_id IN (`, db.Args(piece)...)
			sql.Add(`)`)
			if err := tx.ExecOf(sql); err != nil {
				return err
			}
		}
	}
	for piece := range db.Pieces(members) {
		sql := db.NewStatement(`DELETE FROM workspace_member WHERE workspace_id = `, list[0].WorkspaceID)
		sql.Add(` AND account_id IN (`, db.Args(piece)...)
		sql.Add(`)`)
		if err := tx.ExecOf(sql); err != nil {
			return err
		}
	}
	return LeaveHome(tx, members...)
}
