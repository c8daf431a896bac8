package access

import (
	"slices"
	"strings"
	"time"

	"bursar/internal/audit"
	"bursar/internal/db"
)

// FindRole finds a role of a workspace by its key, either built in or defined there.
func FindRole(q db.Q, workspaceID, key string) (role Role, found bool, err error) {
	if role, found = BuiltInRole(key); found {
		return role, true, nil
	}
	var permissions string
	found, err = q.Row(`SELECT role, name, color, permissions FROM workspace_role WHERE workspace_id = $1 AND role = $2`, workspaceID, key).
		Scan(&role.Key, &role.Name, &role.Color, &permissions)
	role.Permissions = ParseSet(permissions)
	return role, found, err
}

// RolesOf returns the roles of a member, whether they have accepted the invitation or not.
func RolesOf(q db.Q, workspaceID, userID string) ([]Role, error) {
	keys, err := db.Collect(q, func(r db.Rows) string { return r.Text(0) },
		`SELECT role FROM member_role WHERE workspace_id = $1 AND account_id = $2 ORDER BY role`, workspaceID, userID)
	if err != nil {
		return nil, err
	}
	var roles []Role
	for _, key := range keys {
		role, found, err := FindRole(q, workspaceID, key)
		if err != nil {
			return nil, err
		}
		if found {
			roles = append(roles, role)
		}
	}
	return roles, nil
}

// HeldBy returns the permissions of a member, whether they have accepted the invitation or not.
func HeldBy(q db.Q, workspaceID, userID string) (held Set, err error) {
	roles, err := RolesOf(q, workspaceID, userID)
	if err != nil {
		return 0, err
	}
	for _, role := range roles {
		held |= role.Permissions
	}
	machine, err := q.Row(`SELECT id FROM account WHERE id = $1 AND kind = 'client'`, userID).Scan(new(string))
	if machine {
		held = held.OfMachine()
	}
	return held, err
}

// LockMembers serializes changes of a workspace's members and roles. Two transactions at once could violate rules such as "a workspace
// keeps an admin". It records who may approve before the change.
func LockMembers(tx *db.Tx, workspaceID string) (organizationID string, found bool, err error) {
	found, err = tx.Row(`UPDATE workspace SET member_version = member_version + 1 WHERE id = $1 RETURNING organization_id`, workspaceID).
		Scan(&organizationID)
	if err == nil && found {
		err = beforeChange(tx, workspaceID)
	}
	return organizationID, found, err
}

// Join makes a user a member of a workspace with a role, without an invitation. The user is a person who created the workspace, a
// person whom Knows reports, or a machine client.
func Join(tx *db.Tx, workspaceID, userID, role string) error {
	if err := tx.Exec(`INSERT INTO workspace_member (workspace_id, account_id, member_id, joined_at, accepted) VALUES ($1, $2, $2, $3, TRUE)`,
		workspaceID, userID, tx.Now()); err != nil {
		return err
	}
	return Grant(tx, workspaceID, userID, role)
}

// InvitationLifetime is how long an invitation can be accepted.
const InvitationLifetime = 7 * 24 * time.Hour

// Invite invites a user to a workspace with a role. It has no access until it
// accepts: see the view live_member.
func Invite(tx *db.Tx, workspaceID, userID, role, inviter string) (invitationID string, err error) {
	invitationID = tx.NewID("inv")
	if err := tx.Exec(`INSERT INTO workspace_member (workspace_id, account_id, member_id, invitation_id, invited_by, joined_at, invitation_expires_at)
		VALUES ($1, $2, $3, $3, $4, $5, $6)`,
		workspaceID, userID, invitationID, inviter, tx.Now(), tx.Now()+InvitationLifetime.Milliseconds()); err != nil {
		return "", err
	}
	return invitationID, Grant(tx, workspaceID, userID, role)
}

// Prolong renews the lifetime of an invitation, and returns when it ends.
func Prolong(tx *db.Tx, workspaceID, userID, inviter string) (end int64, err error) {
	end = tx.Now() + InvitationLifetime.Milliseconds()
	return end, tx.Exec(`UPDATE workspace_member SET invited_by = $3, invitation_expires_at = $4 WHERE workspace_id = $1 AND account_id = $2`,
		workspaceID, userID, inviter, end)
}

// Grant gives a role to a member, whether they have accepted the invitation or not.
func Grant(tx *db.Tx, workspaceID, userID, role string) error {
	given, _, err := FindRole(tx.Q, workspaceID, role)
	if err != nil {
		return err
	}
	notBefore, err := grantedNotBefore(tx, workspaceID, given.Permissions)
	if err != nil {
		return err
	}
	if err := tx.Exec(`INSERT INTO member_role (workspace_id, account_id, role, granted_at, not_before) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (workspace_id, account_id, role) DO NOTHING`, workspaceID, userID, role, tx.Now(), notBefore); err != nil {
		return err
	}
	return NoteApprovers(tx, workspaceID)
}

// grantedNotBefore returns the time before which a newly granted role does not count. It applies to any role while the workspace is vacant,
// and to a role that approves while a single approver is left. Pairs for which two people agreed to the grant do not delay it.
func grantedNotBefore(tx *db.Tx, workspaceID string, given Set, agreed ...Pair) (notBefore int64, err error) {
	for _, pair := range Pairs() {
		if slices.Contains(agreed, pair) {
			continue
		}
		p, err := FindSecondPerson(tx.Q, pair, workspaceID, tx.Now())
		if err != nil {
			return 0, err
		}
		if p.Vacant() || given.Has(pair.Approve) {
			notBefore = max(notBefore, p.GrantNotBefore())
		}
	}
	return notBefore, nil
}

// DelayRole delays a role for all its holders while the workspace is vacant, as if it was newly granted. In the other states it does
// nothing: holders can continue to request, and those who become approvers by it count after the wait.
func DelayRole(tx *db.Tx, workspaceID, role string) error {
	notBefore, err := grantedNotBefore(tx, workspaceID, 0)
	if err != nil || notBefore == 0 {
		return err
	}
	return tx.Exec(`UPDATE member_role SET not_before = $3 WHERE workspace_id = $1 AND role = $2 AND not_before < $3`, workspaceID, role, notBefore)
}

// DelayClient delays the requests of a machine client that gets a new secret while the workspace is vacant, as if it was newly created.
func DelayClient(tx *db.Tx, workspaceID, clientID string) error {
	notBefore, err := grantedNotBefore(tx, workspaceID, 0)
	if err != nil || notBefore == 0 {
		return err
	}
	return tx.Exec(`UPDATE member_role SET not_before = $3 WHERE workspace_id = $1 AND account_id = $2 AND not_before < $3`, workspaceID, clientID, notBefore)
}

// ConfirmGrant records that two people have granted a role.
func ConfirmGrant(tx *db.Tx, workspaceID, userID, role string) error {
	return tx.Exec(`UPDATE member_role SET by_two = TRUE WHERE workspace_id = $1 AND account_id = $2 AND role = $3`, workspaceID, userID, role)
}

// AgreedPairs returns the pairs in which all these people count as approvers.
func AgreedPairs(q db.Q, workspaceID string, now int64, people ...string) (agreed []Pair, err error) {
	for _, pair := range Pairs() {
		p, err := FindSecondPerson(q, pair, workspaceID, now)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(people, func(id string) bool { return !p.Counts(id, "", now) }) {
			agreed = append(agreed, pair)
		}
	}
	return agreed, nil
}

// CountAfterWait lets new holders of a role, or new approvers by it, count after the wait of a new approver. It applies to those since a
// time, in the pairs in which two people who count agreed to it. It returns when they count in the other pairs if that is later, or else 0.
// The members have been locked since.
func CountAfterWait(tx *db.Tx, workspaceID, role string, since int64, agreed []Pair) (until int64, err error) {
	given, _, err := FindRole(tx.Q, workspaceID, role)
	if err == nil {
		until, err = grantedNotBefore(tx, workspaceID, given.Permissions, agreed...)
	}
	if err == nil {
		err = tx.Exec(`UPDATE member_role SET not_before = $4 WHERE workspace_id = $1 AND role = $2 AND granted_at >= $3 AND not_before > $4`,
			workspaceID, role, since, until)
	}
	for _, pair := range agreed {
		if err == nil {
			err = tx.Exec(`UPDATE approver SET not_before = 0 WHERE workspace_id = $1 AND pair = $4 AND since >= $3
				AND account_id IN (SELECT account_id FROM member_role WHERE workspace_id = $1 AND role = $2)`, workspaceID, role, since, pair.name)
		}
	}
	return until, err
}

// Appoint gives a member a role, as the operator of the server. They count after the usual wait, even if there is no second person or never
// was. A person who could already approve keeps counting as before.
func Appoint(tx *db.Tx, workspaceID, userID, role, email string) error {
	before, err := HeldBy(tx.Q, workspaceID, userID)
	if err == nil {
		err = Grant(tx, workspaceID, userID, role)
	}
	if err == nil {
		err = tx.Exec(`UPDATE member_role SET by_two = TRUE, not_before = 0 WHERE workspace_id = $1 AND account_id = $2 AND role = $3`, workspaceID, userID, role)
	}
	for _, pair := range Pairs() {
		if err == nil && !before.Has(pair.Approve) {
			err = tx.Exec(`UPDATE approver SET not_before = 0, since = $4 WHERE workspace_id = $1 AND pair = $2 AND account_id = $3`,
				workspaceID, pair.name, userID, tx.Now())
		}
	}
	if err != nil {
		return err
	}
	return tx.Exec(`INSERT INTO receiving_policy (workspace_id, approval, two_seen_at, version, members_changed, appointed) VALUES ($1, $2, 0, 0, TRUE, $3)
		ON CONFLICT (workspace_id) DO UPDATE SET members_changed = TRUE,
			appointed = COALESCE(receiving_policy.appointed || ', ', '') || excluded.appointed`, workspaceID, Automatic, email)
}

// Accept makes an invited user a member. If the user began with an invitation and has no home, the organization becomes its home.
// Joining changes no other home, because an inviter could otherwise read the user's logins. The caller must have locked the members of
// the workspace.
func Accept(tx *db.Tx, workspaceID, userID string) error {
	if err := tx.Exec(`UPDATE workspace_member SET accepted = TRUE, member_id = account_id, joined_at = $3 WHERE workspace_id = $1 AND account_id = $2`,
		workspaceID, userID, tx.Now()); err != nil {
		return err
	}
	if err := NoteApprovers(tx, workspaceID); err != nil {
		return err
	}
	return tx.Exec(`UPDATE account SET awaits_home = FALSE, home_org_id = COALESCE(home_org_id, (SELECT w.organization_id FROM workspace w WHERE w.id = $1))
		WHERE id = $2 AND awaits_home = TRUE`, workspaceID, userID)
}

// AskAgain turns all memberships of a user back into invitations. It is for a user that was completed by someone other than the
// owner of its address, who agreed in the owner's place. The user also has no home until its owner accepts an invitation.
func AskAgain(tx *db.Tx, userID string) error {
	workspaces, err := db.Collect(tx.Q, func(r db.Rows) string { return r.Text(0) }, `SELECT workspace_id FROM live_member WHERE account_id = $1`, userID)
	if err != nil {
		return err
	}
	for _, workspaceID := range workspaces {
		if err := beforeChange(tx, workspaceID); err != nil {
			return err
		}
		if err := tx.Exec(`UPDATE workspace_member SET accepted = FALSE, invitation_id = COALESCE(invitation_id, $3), member_id = COALESCE(invitation_id, $3), invitation_expires_at = $4
			WHERE workspace_id = $1 AND account_id = $2`, workspaceID, userID, tx.NewID("inv"), tx.Now()+InvitationLifetime.Milliseconds()); err != nil {
			return err
		}
	}
	return tx.Exec(`UPDATE account SET home_org_id = NULL, awaits_home = TRUE WHERE id = $1`, userID)
}

// Knows reports whether a user already belongs to an organization, with a verified address. Such a user joins further workspaces
// there without an invitation. An address that someone else could have completed through the link of one workspace does not count.
func Knows(q db.Q, organizationID, userID string) (bool, error) {
	return q.Row(`SELECT a.id FROM account a WHERE a.id = $2 AND a.status = 'active' AND a.email_proof = '*' AND (
		EXISTS (SELECT 1 FROM organization_member o WHERE o.account_id = a.id AND o.organization_id = $1) OR
		EXISTS (SELECT 1 FROM live_member l WHERE l.account_id = a.id AND l.organization_id = $1))`, organizationID, userID).Scan(new(string))
}

// Member is a user in a workspace. ID identifies it there in the API: the id of the invitation until it is accepted, then that of the
// user. So an invitation does not reveal whether an address belongs to a user.
type Member struct {
	ID      string
	UserID  string
	Invited bool
}

// Statuses of a member in the API.
const (
	MemberInvited   = "invited"
	MemberActive    = "active"
	MemberSuspended = "suspended" // only for a leaver
)

// Status returns the status of the member in the API.
func (m Member) Status() string {
	if m.Invited {
		return MemberInvited
	}
	return MemberActive
}

// Accepted returns the changes, as logged, of accepting an invitation.
func Accepted() audit.Changes {
	var c audit.Changes
	c.Add("status", MemberInvited, MemberActive)
	return c
}

// FindMember finds a member by the id of the user or of the invitation. The id of the invitation stays valid after it is accepted.
func FindMember(q db.Q, workspaceID, id string) (m Member, found bool, err error) {
	where := `account_id = $2 AND accepted = TRUE`
	if strings.HasPrefix(id, "inv_") {
		where = `invitation_id = $2`
	}
	return scanMember(q.Row(`SELECT member_id, account_id, accepted FROM workspace_member WHERE workspace_id = $1 AND `+where, workspaceID, id))
}

// MemberOf finds a user in a workspace, whether it has accepted or not.
func MemberOf(q db.Q, workspaceID, userID string) (m Member, found bool, err error) {
	return scanMember(q.Row(`SELECT member_id, account_id, accepted FROM workspace_member WHERE workspace_id = $1 AND account_id = $2`, workspaceID, userID))
}

// InvitationOf returns the id of the invitation by which a user has come into a workspace, or "".
func InvitationOf(q db.Q, workspaceID, userID string) (id string, err error) {
	_, err = q.Row(`SELECT COALESCE(invitation_id, '') FROM workspace_member WHERE workspace_id = $1 AND account_id = $2`, workspaceID, userID).Scan(&id)
	return id, err
}

func scanMember(row db.Row) (m Member, found bool, err error) {
	var accepted bool
	found, err = row.Scan(&m.ID, &m.UserID, &accepted)
	m.Invited = !accepted
	return m, found, err
}

// LeaveHome gives users that no longer belong to their home organization a new one: of the remaining organizations, the one that they
// joined first.
func LeaveHome(tx *db.Tx, userIDs ...string) error {
	for piece := range db.Pieces(userIDs) {
		sql := db.NewStatement(`UPDATE account SET home_org_id = COALESCE(
			(SELECT o.id FROM organization o WHERE o.id = account.home_org_id AND (
				EXISTS (SELECT 1 FROM organization_member x WHERE x.account_id = account.id AND x.organization_id = o.id) OR
				EXISTS (SELECT 1 FROM live_member m WHERE m.account_id = account.id AND m.organization_id = o.id))),
			(SELECT m.organization_id FROM live_member m WHERE m.account_id = account.id ORDER BY m.joined_at, m.workspace_id LIMIT 1),
			(SELECT x.organization_id FROM organization_member x WHERE x.account_id = account.id ORDER BY x.organization_id LIMIT 1))
			WHERE home_org_id IS NOT NULL AND id IN (`, db.Args(piece)...)
		sql.Add(`)`)
		if err := tx.ExecOf(sql); err != nil {
			return err
		}
	}
	return nil
}

// HomeOrg returns the organization whose owners can read what a user does outside of workspaces, such as its logins. There may be none.
func HomeOrg(q db.Q, userID string) (organizationID string, err error) {
	_, err = q.Row(`SELECT home_org_id FROM account WHERE id = $1`, userID).Scan(&organizationID)
	return organizationID, err
}

// AuditOrganization returns the organization whose audit log records an operator's action. It is the affected one, or else the first one of
// the store, which is the operator's own.
func AuditOrganization(q db.Q, organizationID string) (string, error) {
	if organizationID != "" {
		return organizationID, nil
	}
	_, err := q.Row(`SELECT id FROM organization ORDER BY id LIMIT 1`).Scan(&organizationID)
	return organizationID, err
}

// ProvedAddress is the email_proof of a user with a verified address.
const ProvedAddress = "*"

// RemoveMember removes a membership, which removes its roles, too.
func RemoveMember(tx *db.Tx, workspaceID, userID string) error {
	return tx.Exec(`DELETE FROM workspace_member WHERE workspace_id = $1 AND account_id = $2`, workspaceID, userID)
}

// RemoveInvitation removes a membership that is not accepted yet.
func RemoveInvitation(tx *db.Tx, workspaceID, userID string) error {
	return tx.Exec(`DELETE FROM workspace_member WHERE workspace_id = $1 AND account_id = $2 AND accepted = FALSE`, workspaceID, userID)
}

// RemoveRole takes a role from a member.
func RemoveRole(tx *db.Tx, workspaceID, userID, role string) error {
	return tx.Exec(`DELETE FROM member_role WHERE workspace_id = $1 AND account_id = $2 AND role = $3`, workspaceID, userID, role)
}

// SetOwner makes a user an owner of an organization.
func SetOwner(tx *db.Tx, organizationID, userID string) error {
	return tx.Exec(`INSERT INTO organization_member (organization_id, account_id, role) VALUES ($1, $2, $3)
		ON CONFLICT (account_id, organization_id) DO UPDATE SET role = excluded.role`,
		organizationID, userID, Owner)
}

// GiveHome makes an organization the home of a user that has none.
func GiveHome(tx *db.Tx, organizationID, userID string) error {
	return tx.Exec(`UPDATE account SET home_org_id = $1 WHERE id = $2 AND home_org_id IS NULL`, organizationID, userID)
}
