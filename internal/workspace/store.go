package workspace

import (
	"cmp"
	"slices"
	"strings"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/fault"
	"bursar/internal/slug"
)

func listOf(q db.Q, by audit.Actor, after string, take int) ([]api.Workspace, error) {
	return db.Collect(q, func(r db.Rows) api.Workspace {
		return api.Workspace{ID: r.Text(0), Name: r.Text(1), Slug: r.Text(2), OrganizationID: r.Text(3), OnDuplicate: shownOnDuplicate(r.Text(4))}
	}, `SELECT w.id, w.name, w.slug, w.organization_id, w.on_duplicate FROM live_member m JOIN workspace w ON w.id = m.workspace_id
		WHERE m.account_id = $1 AND m.workspace_id > $2 AND ($4 = '' OR $4 LIKE '%' || m.workspace_id || '%') ORDER BY m.workspace_id LIMIT $3`,
		by.ID, after, take, by.Scope.WorkspaceList())
}

func find(q db.Q, id string) (api.Workspace, error) {
	return one(q.Row(`SELECT id, name, slug, organization_id, on_duplicate FROM workspace WHERE id = $1`, id))
}

// lock reads a workspace and locks it until the end of the transaction.
func lock(tx *db.Tx, id string) (api.Workspace, error) {
	return one(tx.Row(`UPDATE workspace SET name = name WHERE id = $1 RETURNING id, name, slug, organization_id, on_duplicate`, id))
}

func one(row db.Row) (api.Workspace, error) {
	var w api.Workspace
	found, err := row.Scan(&w.ID, &w.Name, &w.Slug, &w.OrganizationID, &w.OnDuplicate)
	w.OnDuplicate = shownOnDuplicate(w.OnDuplicate)
	if err == nil && !found {
		err = fault.Missing("workspace")
	}
	return w, err
}

// Insert creates a workspace. A given slug must be free; without one, Insert derives a
// free slug from the name.
func Insert(tx *db.Tx, organizationID, name string, given *string) (api.Workspace, error) {
	w := api.Workspace{ID: tx.NewID("ws"), Name: name, OrganizationID: organizationID}
	var number int64
	if _, err := tx.Row(`UPDATE workspace_counter SET last_number = last_number + 1 RETURNING last_number`).Scan(&number); err != nil {
		return w, err
	}
	try := func(candidate string) (free bool, err error) {
		w.Slug = candidate
		return tx.Row(`INSERT INTO workspace (id, number, organization_id, name, slug, member_version, created_at) VALUES ($1, $2, $3, $4, $5, 0, $6)
			ON CONFLICT (organization_id, slug) DO NOTHING RETURNING id`, w.ID, number, w.OrganizationID, w.Name, w.Slug, tx.Now()).Scan(new(string))
	}
	err := slug.Choose(given, name, "workspace", try)
	return w, err
}

func update(tx *db.Tx, w api.Workspace) error {
	return tx.Exec(`UPDATE workspace SET name = $2, slug = $3, on_duplicate = $4 WHERE id = $1`,
		w.ID, w.Name, w.Slug, cmp.Or(w.OnDuplicate, api.OnDuplicateAllow))
}

// shownOnDuplicate returns the setting of duplicates for a response. It is empty while duplicates are allowed.
func shownOnDuplicate(onDuplicate string) string {
	if onDuplicate == api.OnDuplicateAllow {
		return ""
	}
	return onDuplicate
}

func lockMembers(tx *db.Tx, id string) (organizationID string, err error) {
	organizationID, found, err := access.LockMembers(tx, id)
	if err == nil && !found {
		err = fault.Missing("workspace")
	}
	return organizationID, err
}

// members reads one row for each role of a member. Data of a person is hidden until they accept, including whether there is a
// user.
func members(q db.Q, workspaceID, after string, take int) ([]api.Member, error) {
	list := []api.Member{}
	err := q.Each(func(r db.Rows) error {
		if n := len(list); n == 0 || list[n-1].ID != r.Text(0) {
			list = append(list, api.Member{ID: r.Text(0), Name: r.Text(1), Email: r.Text(2), Status: r.Text(3), Roles: []string{}})
			if r.Text(6) == "person" && r.Text(3) != access.MemberInvited {
				proved := r.Text(5) == access.ProvedAddress
				list[n].EmailProved = &proved
			}
		}
		if last := &list[len(list)-1]; !r.Null(4) {
			last.Roles = append(last.Roles, r.Text(4))
		}
		return nil
	}, `SELECT w.member_id, CASE WHEN w.accepted = TRUE THEN a.name ELSE '' END, a.email, CASE WHEN w.accepted = TRUE THEN a.status ELSE 'invited' END, m.role, a.email_proof, a.kind
		FROM (SELECT member_id, account_id, accepted FROM workspace_member WHERE workspace_id = $1 AND member_id > $2 ORDER BY member_id LIMIT $3) w
		JOIN account a ON a.id = w.account_id
		LEFT JOIN member_role m ON m.workspace_id = $1 AND m.account_id = w.account_id
		ORDER BY w.member_id, m.role`, workspaceID, after, take)
	for i := range list {
		slices.SortStableFunc(list[i].Roles, byRank)
	}
	return list, err
}

func invitationExpires(q db.Q, workspaceID, id string) (at int64, err error) {
	_, err = q.Row(`SELECT invitation_expires_at FROM workspace_member WHERE workspace_id = $1 AND invitation_id = $2`, workspaceID, id).Scan(&at)
	return at, err
}

// openInvitations selects the invitations that a user can accept without a link, with a credential that is not limited to other
// workspaces.
const openInvitations = ` FROM workspace_member m JOIN account a ON a.id = m.account_id
	JOIN workspace w ON w.id = m.workspace_id JOIN organization o ON o.id = w.organization_id
	WHERE m.account_id = $1 AND m.accepted = FALSE AND m.invitation_expires_at > $2 AND a.email_proof = '*'
	AND ($3 = '' OR $3 LIKE '%' || m.workspace_id || '%')`

func invitationsOf(q db.Q, by audit.Actor, now int64, after string, take int) ([]api.Invitation, error) {
	list, err := db.Collect(q, func(r db.Rows) api.Invitation {
		return api.Invitation{ID: r.Text(0), WorkspaceID: r.Text(1), WorkspaceName: r.Text(2), OrganizationID: r.Text(3), OrganizationName: r.Text(4),
			InvitedBy: r.Text(5), CreatedAt: r.Int(6), ExpiresAt: r.Int(7), Roles: []api.Role{}}
	}, `SELECT m.invitation_id, w.id, w.name, o.id, o.name, m.invited_by, m.joined_at, m.invitation_expires_at`+openInvitations+`
		AND m.invitation_id > $4 ORDER BY m.invitation_id LIMIT $5`, by.ID, now, by.Scope.WorkspaceList(), after, take)
	if err != nil {
		return nil, err
	}
	for i := range list {
		roles, err := access.RolesOf(q, list[i].WorkspaceID, by.ID)
		if err != nil {
			return nil, err
		}
		for _, role := range roles {
			list[i].Roles = append(list[i].Roles, wire(role))
		}
	}
	return list, nil
}

// byRank sorts roles: built-in roles first, those with the most permissions first.
func byRank(a, b string) int {
	rank := func(key string) int {
		i := slices.IndexFunc(access.BuiltInRoles(), func(r access.Role) bool { return r.Key == key })
		if i < 0 {
			return len(access.BuiltInRoles())
		}
		return i
	}
	if d := rank(a) - rank(b); d != 0 {
		return d
	}
	return strings.Compare(a, b)
}

func rolesOf(q db.Q, workspaceID, userID string) (map[string]bool, error) {
	roles := map[string]bool{}
	err := q.Each(func(r db.Rows) error {
		roles[r.Text(0)] = true
		return nil
	}, `SELECT role FROM member_role WHERE workspace_id = $1 AND account_id = $2`, workspaceID, userID)
	return roles, err
}

// nameOf returns a user's name for the audit log.
func nameOf(q db.Q, userID string) (string, error) {
	var name, email string
	_, err := q.Row(`SELECT name, email FROM account WHERE id = $1`, userID).Scan(&name, &email)
	if email != "" {
		return email, err
	}
	return name, err
}

// leave removes a membership, and with it its roles.
func leave(tx *db.Tx, workspaceID, userID string) error {
	if err := access.RemoveMember(tx, workspaceID, userID); err != nil {
		return err
	}
	return access.LeaveHome(tx, userID)
}

func definedRoles(q db.Q, workspaceID string) ([]api.Role, error) {
	return db.Collect(q, func(r db.Rows) api.Role {
		return wire(access.Role{Key: r.Text(0), Name: r.Text(1), Color: r.Text(2), Permissions: access.ParseSet(r.Text(3))})
	}, `SELECT role, name, color, permissions FROM workspace_role WHERE workspace_id = $1 ORDER BY role`, workspaceID)
}

// storeRole stores a role. A widened role counts for its holders as if newly granted.
func storeRole(tx *db.Tx, workspaceID string, r access.Role, widened bool) error {
	if widened { // before it allows more, or its holders would count as present
		if err := access.DelayRole(tx, workspaceID, r.Key); err != nil {
			return err
		}
	}
	if err := tx.Exec(`INSERT INTO workspace_role (workspace_id, role, name, color, permissions, created_at) VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (workspace_id, role) DO UPDATE SET name = excluded.name, color = excluded.color, permissions = excluded.permissions`,
		workspaceID, r.Key, r.Name, r.Color, r.Permissions.String(), tx.Now()); err != nil {
		return err
	}
	return access.NoteApprovers(tx, workspaceID)
}

func roomForRole(q db.Q, workspaceID string) error {
	var n int
	_, err := q.Row(`SELECT count(*) FROM workspace_role WHERE workspace_id = $1`, workspaceID).Scan(&n)
	if err == nil && n >= maxRoles {
		err = fault.New(api.CodeTooMany, "a workspace can define at most %d roles", maxRoles)
	}
	return err
}

// roleHeld reports whether a member or an invited person has a role.
func roleHeld(q db.Q, workspaceID, role string) (bool, error) {
	return q.Row(`SELECT account_id FROM member_role WHERE workspace_id = $1 AND role = $2 LIMIT 1`, workspaceID, role).Scan(new(string))
}

// holdersOf lists the members and invited people who have a role.
func holdersOf(q db.Q, workspaceID, role string) ([]holder, error) {
	return db.Collect(q, func(r db.Rows) holder { return holder{r.Text(0), cmp.Or(r.Text(1), r.Text(2))} }, `SELECT m.account_id, a.email, a.name
		FROM member_role m JOIN account a ON a.id = m.account_id WHERE m.workspace_id = $1 AND m.role = $2 ORDER BY m.account_id`, workspaceID, role)
}

func roleUnused(q db.Q, workspaceID, role string) error {
	held, err := roleHeld(q, workspaceID, role)
	if err == nil && held {
		err = fault.New(api.CodeRoleInUse, "the role %s is in use: remove it from its members first", role)
	}
	if err != nil {
		return err
	}
	named, err := namedByRule(q, workspaceID, role)
	if err == nil && named {
		err = fault.New(api.CodeRoleInUse, "an approval rule names the role %s: remove the rule first", role)
	}
	return err
}

// namedByRule reports whether an approval rule of the workspace names a role. Rules that wait for approval are included.
func namedByRule(q db.Q, workspaceID, role string) (bool, error) {
	return q.Row(`SELECT id FROM payout_rule WHERE workspace_id = $1 AND role = $2 LIMIT 1`, workspaceID, role).Scan(new(string))
}

func organizationOf(q db.Q, workspaceID string) (id string, err error) {
	_, err = q.Row(`SELECT organization_id FROM workspace WHERE id = $1`, workspaceID).Scan(&id)
	return id, err
}

// memberByEmail finds a member or an invitation by a normalized address.
func memberByEmail(q db.Q, workspaceID, email string) (m access.Member, found bool, err error) {
	var userID string
	if found, err = q.Row(`SELECT id FROM account WHERE email = $1 AND email <> ''`, email).Scan(&userID); err != nil || !found {
		return m, false, err
	}
	return access.MemberOf(q, workspaceID, userID)
}

func removeRole(tx *db.Tx, workspaceID, role string) error {
	return tx.Exec(`DELETE FROM workspace_role WHERE workspace_id = $1 AND role = $2`, workspaceID, role)
}
