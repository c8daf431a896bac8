package access

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strings"

	"bursar/api"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/fault"
)

// maxOriginKeys is the maximum number of API keys through which access can come.
const maxOriginKeys = 100

// Selections of the API keys through which a user has come into a workspace, and has become an owner of an organization.
const (
	originInWorkspace = `SELECT o.key_id FROM workspace_member m JOIN access_origin o ON o.id = m.origin_id WHERE m.workspace_id = $1 AND m.account_id = $2
		UNION SELECT o.key_id FROM member_role m JOIN access_origin o ON o.id = m.origin_id WHERE m.workspace_id = $1 AND m.account_id = $2`
	originAsOwner = `SELECT o.key_id FROM organization_member m JOIN access_origin o ON o.id = m.origin_id WHERE m.organization_id = $1 AND m.account_id = $2`
)

// originKeys returns the API keys through which a grant by the caller comes: the key of the session, and those through which the caller has
// come to the place.
func originKeys(q db.Q, by audit.Actor, selection, placeID string) ([]string, error) {
	keys, err := db.Collect(q, func(r db.Rows) string { return r.Text(0) }, selection, placeID, by.ID)
	if by.KeyID != "" {
		keys = append(keys, by.KeyID)
	}
	return keys, err
}

// saveOrigin stores a set of API keys and returns its id, which is nil for an empty set. Equal sets have the same id.
func saveOrigin(tx *db.Tx, keys []string) (id any, err error) {
	keys = sortedSet(keys)
	if len(keys) == 0 {
		return nil, nil
	}
	if len(keys) > maxOriginKeys {
		return nil, fault.New(api.CodeForbidden, "your own access came through %d API keys, one after another: an admin whose access did not must do this", len(keys)-1)
	}
	sum := sha256.Sum256([]byte(strings.Join(keys, " ")))
	name := "ori_" + hex.EncodeToString(sum[:16])
	stored, err := tx.Row(`SELECT id FROM access_origin WHERE id = $1 LIMIT 1`, name).Scan(new(string))
	for _, key := range keys {
		if err == nil && !stored {
			err = tx.Exec(`INSERT INTO access_origin (id, key_id) VALUES ($1, $2) ON CONFLICT DO NOTHING`, name, key)
		}
	}
	return name, err
}

// newOrigin returns the id of the origin of a grant by the caller.
func newOrigin(tx *db.Tx, by audit.Actor, selection, placeID string) (id any, err error) {
	keys, err := originKeys(tx.Q, by, selection, placeID)
	if err != nil {
		return nil, err
	}
	return saveOrigin(tx, keys)
}

// OriginOf returns the id of the origin of a member's access. It is nil if the access came through no API key.
func OriginOf(tx *db.Tx, workspaceID, userID string) (id any, err error) {
	return newOrigin(tx, audit.Actor{ID: userID}, originInWorkspace, workspaceID)
}

// NoteOrigin stores who granted a new membership with its roles, and through which API keys it came.
func NoteOrigin(tx *db.Tx, by audit.Actor, workspaceID, userID string) error {
	if by.ID == "" {
		return nil
	}
	origin, err := newOrigin(tx, by, originInWorkspace, workspaceID)
	for _, table := range []string{"workspace_member", "member_role"} {
		if err == nil {
			err = tx.Exec(`UPDATE `+table+` SET given_by = $3, given_key_id = $4, origin_id = $5 WHERE workspace_id = $1 AND account_id = $2 AND given_by IS NULL`,
				workspaceID, userID, by.ID, db.NullText(by.KeyID), origin)
		}
	}
	return err
}

// NoteRoleOrigin is NoteOrigin for an additional role of a member.
func NoteRoleOrigin(tx *db.Tx, by audit.Actor, workspaceID, userID, role string) error {
	if by.ID == "" {
		return nil
	}
	origin, err := newOrigin(tx, by, originInWorkspace, workspaceID)
	if err != nil {
		return err
	}
	return tx.Exec(`UPDATE member_role SET given_by = $3, given_key_id = $4, origin_id = $5
		WHERE workspace_id = $1 AND account_id = $2 AND role = $6 AND given_by IS NULL`, workspaceID, userID, by.ID, db.NullText(by.KeyID), origin, role)
}

// NoteWideningOrigin adds the origin of a grant by the caller to those of the members who have a role, because the caller gives the role more
// permissions.
func NoteWideningOrigin(tx *db.Tx, by audit.Actor, workspaceID, role string) error {
	keys, err := originKeys(tx.Q, by, originInWorkspace, workspaceID)
	if err != nil || len(keys) == 0 {
		return err
	}
	before, err := db.Collect(tx.Q, func(r db.Rows) string { return r.Text(0) },
		`SELECT DISTINCT origin_id FROM member_role WHERE workspace_id = $1 AND role = $2 ORDER BY 1`, workspaceID, role)
	for _, id := range before {
		var had []string
		if err == nil {
			had, err = db.Collect(tx.Q, func(r db.Rows) string { return r.Text(0) }, `SELECT key_id FROM access_origin WHERE id = $1`, id)
		}
		var origin any
		if err == nil {
			origin, err = saveOrigin(tx, slices.Concat(had, keys))
		}
		if err == nil {
			err = tx.Exec(`UPDATE member_role SET origin_id = $4 WHERE workspace_id = $1 AND role = $2 AND COALESCE(origin_id, '') = $3`,
				workspaceID, role, id, origin)
		}
	}
	return err
}

// NoteOwnerOrigin stores through which API keys a new owner of an organization came.
func NoteOwnerOrigin(tx *db.Tx, by audit.Actor, organizationID, userID string) error {
	origin, err := newOrigin(tx, by, originAsOwner, organizationID)
	if err != nil {
		return err
	}
	return tx.Exec(`UPDATE organization_member SET origin_id = $3 WHERE organization_id = $1 AND account_id = $2`, organizationID, userID, origin)
}

// NoteCreatorOrigin stores through which API keys the first admin of a new workspace became an owner of its organization.
func NoteCreatorOrigin(tx *db.Tx, workspaceID, userID, organizationID string) error {
	for _, table := range []string{"workspace_member", "member_role"} {
		if err := tx.Exec(`UPDATE `+table+` SET given_by = $2, origin_id = (SELECT g.origin_id FROM organization_member g
				WHERE g.organization_id = $3 AND g.account_id = $2)
			WHERE workspace_id = $1 AND account_id = $2`, workspaceID, userID, organizationID); err != nil {
			return err
		}
	}
	return nil
}

// RequireOwnOriginInWorkspace returns an error if the caller became a member of a workspace, or got a role there, through a compromised key.
func RequireOwnOriginInWorkspace(q db.Q, by audit.Actor, workspaceID string) error {
	compromised, err := throughCompromised(q, by, originInWorkspace, workspaceID)
	if err == nil && compromised {
		f := fault.New(api.CodeForbidden, "your own access came through a compromised API key: an admin whose access did not decides, or the operator appoints one")
		f.Scope.WorkspaceID = workspaceID
		err = f
	}
	return err
}

// RequireOwnOrigin returns an error if the caller became an owner of an organization through a compromised key.
func RequireOwnOrigin(q db.Q, by audit.Actor, organizationID string) error {
	compromised, err := throughCompromised(q, by, originAsOwner, organizationID)
	if err == nil && compromised {
		f := fault.New(api.CodeForbidden, "you became an owner through a compromised API key yourself: another owner decides")
		f.Scope.OrganizationID = organizationID
		err = f
	}
	return err
}

func throughCompromised(q db.Q, by audit.Actor, selection, placeID string) (bool, error) {
	return q.Row(`SELECT c.id FROM compromised_key c WHERE c.id IN (`+selection+`) LIMIT 1`, placeID, by.ID).Scan(new(string))
}

// WorkspacesThrough lists the workspaces that someone joined through API keys, in lock order.
func WorkspacesThrough(q db.Q, keys []string) ([]string, error) {
	return placesThrough(q, keys, `SELECT DISTINCT workspace_id FROM workspace_member WHERE origin_id IN (`,
		`SELECT DISTINCT workspace_id FROM member_role WHERE origin_id IN (`)
}

// OrganizationsThrough lists the organizations whose owners came through API keys, in lock order.
func OrganizationsThrough(q db.Q, keys []string) ([]string, error) {
	return placesThrough(q, keys, `SELECT DISTINCT organization_id FROM organization_member WHERE origin_id IN (`)
}

// LockOwnersThrough locks the ownership of those who became owners of an organization through API keys. What an owner does meanwhile, such as
// creating a workspace, is finished or refused.
func LockOwnersThrough(tx *db.Tx, organizationID string, keys []string) error {
	for piece := range db.Pieces(keys) {
		sql := db.NewStatement(`UPDATE organization_member SET role = role WHERE organization_id = `, organizationID)
		sql.Add(` AND origin_id IN (SELECT id FROM access_origin WHERE key_id IN (`, db.Args(piece)...)
		sql.Add(`))`)
		if err := tx.ExecOf(sql); err != nil {
			return err
		}
	}
	return nil
}

func placesThrough(q db.Q, keys []string, queries ...string) (list []string, err error) {
	origins, err := originsThrough(q, keys)
	for _, query := range queries {
		if err == nil {
			err = eachOf(q, slices.Sorted(maps.Keys(origins)), query, func(r db.Rows) error {
				list = append(list, r.Text(0))
				return nil
			})
		}
	}
	return sortedSet(list), err
}

// originsThrough returns the ids of the sets that contain one of the keys, each with one of those keys.
func originsThrough(q db.Q, keys []string) (map[string]string, error) {
	origins := map[string]string{}
	err := eachOf(q, keys, `SELECT id, key_id FROM access_origin WHERE key_id IN (`, func(r db.Rows) error {
		if _, known := origins[r.Text(0)]; !known {
			origins[r.Text(0)] = r.Text(1)
		}
		return nil
	})
	return origins, err
}

// eachOf runs a query that ends with a list of ids.
func eachOf(q db.Q, ids []string, query string, fn func(r db.Rows) error) error {
	for piece := range db.Pieces(ids) {
		sql := db.NewStatement(query, db.Args(piece)...)
		sql.Add(`)`)
		if err := q.EachOf(sql, fn); err != nil {
			return err
		}
	}
	return nil
}

func sortedSet(list []string) []string {
	slices.Sort(list)
	return slices.Compact(list)
}
