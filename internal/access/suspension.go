package access

import (
	"cmp"
	"slices"
	"strings"

	"bursar/internal/audit"
	"bursar/internal/db"
)

// What a suspension is of.
const (
	SuspendedMember = "member" // a membership with all its roles
	SuspendedRole   = "role"   // roles of a member who keeps others
)

// Suspension is access that was given with a compromised API key. It is in force again once an admin has confirmed it.
type Suspension struct {
	ID          string
	WorkspaceID string
	AccountID   string
	KeyID       string
	Kind        string
	Roles       []string
	At          int64
	LastAdmin   bool // nothing was suspended, because the workspace has no other admin
}

// NoteOrigin stores who has just given a new membership with its roles, and with which API key.
func NoteOrigin(tx *db.Tx, by audit.Actor, workspaceID, accountID string) error {
	if by.ID == "" {
		return nil
	}
	for _, table := range []string{"workspace_member", "member_role"} {
		if err := tx.Exec(`UPDATE `+table+` SET given_by = $3, given_key_id = $4 WHERE workspace_id = $1 AND account_id = $2 AND given_by IS NULL`,
			workspaceID, accountID, by.ID, db.NullText(by.KeyID)); err != nil {
			return err
		}
	}
	return nil
}

// NoteRoleOrigin is NoteOrigin for one more role of a member.
func NoteRoleOrigin(tx *db.Tx, by audit.Actor, workspaceID, accountID, role string) error {
	if by.ID == "" {
		return nil
	}
	return tx.Exec(`UPDATE member_role SET given_by = $4, given_key_id = $5 WHERE workspace_id = $1 AND account_id = $2 AND role = $3 AND given_by IS NULL`,
		workspaceID, accountID, role, by.ID, db.NullText(by.KeyID))
}

// Given names the API keys with which access to a workspace was given.
type Given struct {
	WorkspaceID string
	KeyIDs      []string
	ownerID     string
}

// GivenWith lists the workspaces in which the owner of an API key gave access with it, or with a key that was made with it, in the
// order in which they are locked. Of a compromised one that is also what was given with its successors.
func GivenWith(q db.Q, ownerID, keyID string, compromised bool) (list []Given, err error) {
	within := MadeWith
	if compromised {
		within = cameFrom
	}
	var all []Given
	for _, table := range []string{"workspace_member", "member_role"} {
		some, err := db.Collect(q, func(r db.Rows) Given { return Given{r.Text(0), []string{r.Text(1)}, ownerID} },
			`SELECT DISTINCT workspace_id, given_key_id FROM `+table+` WHERE given_by = $1 AND given_key_id IS NOT NULL`, ownerID)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	slices.SortFunc(all, func(a, b Given) int {
		return cmp.Or(cmp.Compare(a.WorkspaceID, b.WorkspaceID), cmp.Compare(a.KeyIDs[0], b.KeyIDs[0]))
	})
	for _, g := range all {
		with, err := within(q, g.KeyIDs[0], keyID)
		if err != nil {
			return nil, err
		}
		switch n := len(list); {
		case !with:
		case n == 0 || list[n-1].WorkspaceID != g.WorkspaceID:
			list = append(list, g)
		case !slices.Contains(list[n-1].KeyIDs, g.KeyIDs[0]):
			list[n-1].KeyIDs = append(list[n-1].KeyIDs, g.KeyIDs[0])
		}
	}
	return list, nil
}

// MadeWith reports whether an API key is another one or was made with it, directly or by keys between.
func MadeWith(q db.Q, id, ancestor string) (bool, error) {
	for id != "" && id != ancestor {
		var parentID string
		if _, err := q.Row(`SELECT parent_id FROM api_key WHERE id = $1`, id).Scan(&parentID); err != nil {
			return false, err
		}
		id = parentID
	}
	return id == ancestor, nil
}

// cameFrom is MadeWith that follows rotation, too.
func cameFrom(q db.Q, id, ancestor string) (bool, error) {
	for all, i := []string{id}, 0; i < len(all); i++ {
		if all[i] == ancestor {
			return true, nil
		}
		var parentID, rotatedFrom string
		if _, err := q.Row(`SELECT parent_id, rotated_from FROM api_key WHERE id = $1`, all[i]).Scan(&parentID, &rotatedFrom); err != nil {
			return false, err
		}
		for _, next := range []string{parentID, rotatedFrom} {
			if next != "" && !slices.Contains(all, next) {
				all = append(all, next)
			}
		}
	}
	return false, nil
}

// VoidInvitations ends the invitations that were made with API keys and that no one has accepted. It returns the ids of
// the invitations. The caller has locked the members of the workspace.
func VoidInvitations(tx *db.Tx, g Given) (voided []string, err error) {
	for _, keyID := range g.KeyIDs {
		type invitation struct{ id, accountID string }
		list, err := db.Collect(tx.Q, func(r db.Rows) invitation { return invitation{r.Text(0), r.Text(1)} },
			`SELECT member_id, account_id FROM workspace_member WHERE given_by = $1 AND given_key_id = $2 AND workspace_id = $3 AND accepted = FALSE`,
			g.ownerID, keyID, g.WorkspaceID)
		if err != nil {
			return nil, err
		}
		for _, one := range list {
			if err := tx.Exec(`DELETE FROM workspace_member WHERE workspace_id = $1 AND account_id = $2`, g.WorkspaceID, one.accountID); err != nil {
				return nil, err
			}
			voided = append(voided, one.id)
		}
	}
	return voided, nil
}

// grant is a membership or a role.
type grant struct{ accountID, role, by, keyID string }

// SuspendGiven suspends the memberships and roles in a workspace that were given with API keys, and those that the members whom it
// suspends have given since. The owner of the keys stays a member, and the workspace keeps its last admin. The caller has locked the
// members of the workspace.
func SuspendGiven(tx *db.Tx, by audit.Actor, ownerID string, g Given) ([]Suspension, error) {
	read := func(r db.Rows) grant { return grant{r.Text(0), r.Text(1), r.Text(2), r.Text(3)} }
	members, err := db.Collect(tx.Q, read, `SELECT account_id, '', given_by, given_key_id FROM workspace_member
		WHERE workspace_id = $1 AND accepted = TRUE ORDER BY account_id`, g.WorkspaceID)
	if err != nil {
		return nil, err
	}
	roles, err := db.Collect(tx.Q, read, `SELECT account_id, role, given_by, given_key_id FROM member_role WHERE workspace_id = $1 ORDER BY account_id, role`, g.WorkspaceID)
	if err != nil {
		return nil, err
	}
	through := map[string]string{} // the key through which an account became a member
	source := func(one grant) string {
		if slices.Contains(g.KeyIDs, one.keyID) {
			return one.keyID
		}
		return through[one.by]
	}
	for found := true; found; {
		found = false
		for _, one := range members {
			if key := source(one); key != "" && through[one.accountID] == "" && one.accountID != ownerID {
				through[one.accountID], found = key, true
			}
		}
	}
	var list []Suspension
	add := func(s Suspension) error {
		s.ID, s.WorkspaceID, s.At = tx.NewID("sus"), g.WorkspaceID, tx.Now()
		last, err := IsLastAdmin(tx.Q, g.WorkspaceID, s.AccountID)
		if err != nil {
			return err
		}
		if s.LastAdmin = last && slices.Contains(s.Roles, Admin); s.LastAdmin {
			list = append(list, s)
			return nil
		}
		list = append(list, s)
		return suspend(tx, by, s)
	}
	for _, one := range members {
		if key := through[one.accountID]; key != "" {
			if err := add(Suspension{AccountID: one.accountID, KeyID: key, Kind: SuspendedMember, Roles: rolesHeld(roles, one.accountID)}); err != nil {
				return nil, err
			}
		}
	}
	for _, one := range roles {
		if key := source(one); key != "" && through[one.accountID] == "" {
			if err := add(Suspension{AccountID: one.accountID, KeyID: key, Kind: SuspendedRole, Roles: []string{one.role}}); err != nil {
				return nil, err
			}
		}
	}
	return list, nil
}

func rolesHeld(all []grant, accountID string) (held []string) {
	for _, one := range all {
		if one.accountID == accountID {
			held = append(held, one.role)
		}
	}
	return held
}

func suspend(tx *db.Tx, by audit.Actor, s Suspension) error {
	if err := tx.Exec(`INSERT INTO suspended_access (id, workspace_id, account_id, key_id, kind, roles, suspended_at, suspended_by, state)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 'suspended')`,
		s.ID, s.WorkspaceID, s.AccountID, s.KeyID, s.Kind, strings.Join(s.Roles, " "), s.At, db.NullText(by.ID)); err != nil {
		return err
	}
	if s.Kind == SuspendedRole {
		return tx.Exec(`DELETE FROM member_role WHERE workspace_id = $1 AND account_id = $2 AND role = $3`, s.WorkspaceID, s.AccountID, s.Roles[0])
	}
	if err := tx.Exec(`DELETE FROM workspace_member WHERE workspace_id = $1 AND account_id = $2`, s.WorkspaceID, s.AccountID); err != nil {
		return err
	}
	return LeaveHome(tx, s.AccountID)
}

const suspensionColumns = `id, workspace_id, account_id, key_id, kind, roles, suspended_at`

func readSuspension(r db.Rows) Suspension {
	return Suspension{ID: r.Text(0), WorkspaceID: r.Text(1), AccountID: r.Text(2), KeyID: r.Text(3), Kind: r.Text(4), Roles: strings.Fields(r.Text(5)), At: r.Int(6)}
}

// Suspensions lists what is suspended in a workspace, oldest first.
func Suspensions(q db.Q, workspaceID, after string, take int) ([]Suspension, error) {
	return db.Collect(q, readSuspension, `SELECT `+suspensionColumns+` FROM suspended_access
		WHERE workspace_id = $1 AND state = 'suspended' AND id > $2 ORDER BY id LIMIT $3`, workspaceID, after, take)
}

// FindSuspension finds what is suspended in a workspace by its id.
func FindSuspension(q db.Q, workspaceID, id string) (s Suspension, found bool, err error) {
	list, err := db.Collect(q, readSuspension, `SELECT `+suspensionColumns+` FROM suspended_access WHERE id = $1 AND workspace_id = $2 AND state = 'suspended'`, id, workspaceID)
	if len(list) > 0 {
		return list[0], true, err
	}
	return s, false, err
}

// Reinstate gives suspended access back. The caller has locked the members of the workspace.
func Reinstate(tx *db.Tx, by audit.Actor, s Suspension) error {
	if err := decideSuspension(tx, by, s, "confirmed"); err != nil {
		return err
	}
	_, member, err := MemberOf(tx.Q, s.WorkspaceID, s.AccountID)
	if err != nil {
		return err
	}
	if !member {
		if s.Kind == SuspendedRole {
			return nil // they have left since
		}
		if err := tx.Exec(`INSERT INTO workspace_member (workspace_id, account_id, member_id, joined_at, accepted) VALUES ($1, $2, $2, $3, TRUE)`,
			s.WorkspaceID, s.AccountID, tx.Now()); err != nil {
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
		if err := Grant(tx, s.WorkspaceID, s.AccountID, role); err != nil {
			return err
		}
		if err := NoteRoleOrigin(tx, by, s.WorkspaceID, s.AccountID, role); err != nil {
			return err
		}
	}
	if member {
		return nil
	}
	return NoteOrigin(tx, by, s.WorkspaceID, s.AccountID)
}

// DropAllSuspended ends what is suspended of an account in the workspaces of an organization, because they leave it.
func DropAllSuspended(tx *db.Tx, organizationID, accountID string) error {
	return tx.Exec(`UPDATE suspended_access SET state = 'removed', decided_at = $3 WHERE account_id = $1 AND state = 'suspended'
		AND workspace_id IN (SELECT id FROM workspace WHERE organization_id = $2)`, accountID, organizationID, tx.Now())
}

// DropSuspended ends suspended access permanently.
func DropSuspended(tx *db.Tx, by audit.Actor, s Suspension) error {
	return decideSuspension(tx, by, s, "removed")
}

func decideSuspension(tx *db.Tx, by audit.Actor, s Suspension, state string) error {
	return tx.Exec(`UPDATE suspended_access SET state = $2, decided_by = $3, decided_at = $4 WHERE id = $1`, s.ID, state, db.NullText(by.ID), tx.Now())
}
