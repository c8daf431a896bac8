package access

import (
	"maps"
	"slices"
	"time"

	"bursar/internal/db"
)

// noteTwo is the maximum age of two_seen_at while two people are there. Every change of members and roles stores it exactly.
const noteTwo = time.Hour

// FindSecondPerson reads the demand for a second person of a pair in a workspace.
func FindSecondPerson(q db.Q, pair Pair, workspaceID string, now int64) (SecondPerson, error) {
	all, err := staffOf(q, workspaceID)
	if err != nil {
		return SecondPerson{}, err
	}
	return findSecondPerson(q, pair, workspaceID, all, now)
}

// person contains a member's permissions in a workspace, and the roles that grant them.
type person struct {
	may   Set
	roles []heldRole
}

// requestsCountFrom returns the time before which requests do not count as those of another person. A member who may not request may hold
// a machine client, by the role that came last.
func (p person) requestsCountFrom(need Permission) (at int64) {
	if p.may.Has(need) {
		return p.since(need)
	}
	for _, r := range p.roles {
		at = max(at, r.notBefore)
	}
	return at
}

// since returns the time before which a permission does not count that a person holds through several roles.
func (p person) since(need Permission) int64 {
	first := int64(never)
	for _, r := range p.roles {
		if r.permissions.Has(need) {
			first = min(first, r.notBefore)
		}
	}
	return first
}

// byTwo reports whether two people have granted a person's permission.
func (p person) byTwo(need Permission) bool {
	return slices.ContainsFunc(p.roles, func(r heldRole) bool { return r.byTwo && r.permissions.Has(need) })
}

// staff are the members of a workspace, and those who were recorded as approvers.
type staff struct {
	people, clients map[string]person
	recorded        []recorded
}

// recorded is a recorded approver of a pair.
type recorded struct {
	userID, pair string
	came         arrival
	gone         bool // they may have returned
}

// staffOf returns the permissions of each member of a workspace. It reads the recorded approvers first, because another transaction may add
// a member meanwhile: a recorded person who is not a member has left.
func staffOf(q db.Q, workspaceID string) (staff, error) {
	all := staff{people: map[string]person{}, clients: map[string]person{}}
	var err error
	all.recorded, err = db.Collect(q, func(r db.Rows) recorded {
		return recorded{r.Text(0), r.Text(1), arrival{r.Int(2), r.Int(3)}, !r.Null(4)}
	}, `SELECT account_id, pair, since, not_before, gone_at FROM approver WHERE workspace_id = $1`, workspaceID)
	if err != nil {
		return all, err
	}
	err = q.Each(func(r db.Rows) error {
		role, builtIn := BuiltInRole(r.Text(1))
		if !builtIn {
			role.Permissions = ParseSet(r.Text(2))
		}
		held := all.people
		if r.Text(6) == "client" {
			held = all.clients
		}
		one := held[r.Text(0)]
		held[r.Text(0)] = person{one.may | role.Permissions, append(one.roles, heldRole{r.Text(1), role.Permissions, r.Int(3), r.Int(4), r.Bool(5)})}
		return nil
	}, `SELECT m.account_id, m.role, r.permissions, m.granted_at, m.not_before, m.by_two, a.kind FROM member_role m
		JOIN workspace_member w ON w.workspace_id = m.workspace_id AND w.account_id = m.account_id
		JOIN account a ON a.id = m.account_id LEFT JOIN workspace_role r ON r.workspace_id = m.workspace_id AND r.role = m.role
		WHERE m.workspace_id = $1 AND w.accepted = TRUE AND a.status = 'active'`, workspaceID)
	return all, err
}

func findSecondPerson(q db.Q, pair Pair, workspaceID string, all staff, now int64) (SecondPerson, error) {
	p := SecondPerson{Stored: Policy{Approval: Automatic}, makers: map[string]int64{}, members: map[string]int64{}, roles: map[string][]heldRole{}, since: map[string]arrival{}, now: now}
	err := q.Each(func(r db.Rows) error {
		p.Version, p.twoSeen, p.MadeAlone, p.extendedAt, p.other.seen = r.Int(2), r.Int(3), r.Bool(5), r.Int(6), r.Int(7)
		if pair == Receiving {
			p.Stored.Approval = r.Text(0)
		}
		p.Stored.Hours, p.Stored.Demand = optional(r, 1), optional(r, 4)
		return nil
	}, `SELECT approval, cooling_hours, version, `+pair.seenColumn()+`, second_person_hours, made_alone, extended_at, `+pair.other().seenColumn()+`
		FROM receiving_policy WHERE workspace_id = $1`,
		workspaceID)
	if err != nil {
		return p, err
	}
	for id, one := range all.clients {
		p.members[id] = one.requestsCountFrom(pair.Make)
	}
	for id, one := range all.people {
		p.members[id] = one.requestsCountFrom(pair.Make)
		if one.may.Has(pair.Approve) {
			p.people, p.roles[id] = append(p.people, id), one.roles
		}
		if one.may.Has(pair.Make) {
			p.makers[id] = one.since(pair.Make)
		}
	}
	slices.Sort(p.people)
	p.Present, p.other.present = pair.present(all.people), pair.other().present(all.people)
	for _, one := range all.recorded {
		switch {
		case one.pair != pair.name:
		case !slices.Contains(p.people, one.userID):
			p.gone = append(p.gone, one.userID)
		case !one.gone:
			p.since[one.userID] = one.came
		}
	}
	return p.inForce(), nil
}

// present reports whether one person may request and another may approve.
func (p Pair) present(held map[string]person) bool {
	for requester, one := range held {
		for approver, other := range held {
			if requester != approver && one.may.Has(p.Make) && other.may.Has(p.Approve) {
				return true
			}
		}
	}
	return false
}

func optional(r db.Rows, column int) *int64 {
	if r.Null(column) {
		return nil
	}
	n := r.Int(column)
	return &n
}

// ObserveSecondPerson is FindSecondPerson that also records who may approve. It runs before every change of members, roles and users,
// and before every decision whether a second person is needed. This prevents one person from becoming two by inviting themselves, or the
// only one by removing the others. Those present when the workspace first has two eligible people count at once. Later ones count after a
// wait.
func ObserveSecondPerson(tx *db.Tx, pair Pair, workspaceID string) (SecondPerson, error) {
	all, err := staffOf(tx.Q, workspaceID)
	if err != nil {
		return SecondPerson{}, err
	}
	return observe(tx, pair, workspaceID, all)
}

func observe(tx *db.Tx, pair Pair, workspaceID string, all staff) (SecondPerson, error) {
	p, err := findSecondPerson(tx.Q, pair, workspaceID, all, tx.Now())
	if err != nil || p.twoSeen == 0 && !p.Present {
		return p, err
	}
	before := p // new people may also request
	before.makers = maps.Clone(p.makers)
	maps.DeleteFunc(before.makers, func(id string, _ int64) bool { return p.isNew(id) })
	two, notBefore := p.two(), before.GrantNotBefore()
	for _, id := range p.people {
		if !p.isNew(id) {
			continue
		}
		var came arrival
		if p.twoSeen != 0 {
			came = arrival{p.now, all.people[id].since(pair.Approve)}
			if before.Vacant() || !all.people[id].byTwo(pair.Approve) {
				came.notBefore = max(came.notBefore, notBefore)
			}
		}
		p.since[id] = came
		if err := tx.Exec(`INSERT INTO approver (workspace_id, pair, account_id, since, not_before) VALUES ($1, $2, $3, $4, $5)
			ON CONFLICT (workspace_id, pair, account_id) DO UPDATE SET since = excluded.since, not_before = excluded.not_before, gone_at = NULL
			WHERE approver.gone_at IS NOT NULL`, workspaceID, pair.name, id, came.since, came.notBefore); err != nil {
			return p, err
		}
	}
	for _, id := range p.gone {
		if err := tx.Exec(`UPDATE approver SET gone_at = $4 WHERE workspace_id = $1 AND pair = $2 AND account_id = $3 AND gone_at IS NULL`,
			workspaceID, pair.name, id, p.now); err != nil {
			return p, err
		}
	}
	if two && p.now-p.twoSeen >= noteTwo.Milliseconds() {
		if err := seeTwo(tx, pair, workspaceID); err != nil {
			return p, err
		}
		p.twoSeen = p.now
	}
	return p.inForce(), nil
}

// seeTwo records that a workspace has two people who count.
func seeTwo(tx *db.Tx, pair Pair, workspaceID string) error {
	receiving, payouts := tx.Now(), int64(0)
	if pair == Payouts {
		receiving, payouts = 0, tx.Now()
	}
	return tx.Exec(`INSERT INTO receiving_policy (workspace_id, approval, two_seen_at, payouts_seen_at, version) VALUES ($1, $2, $3, $4, 0)
		ON CONFLICT (workspace_id) DO UPDATE SET `+pair.seenColumn()+` = excluded.`+pair.seenColumn(), workspaceID, Automatic, receiving, payouts)
}

// NoteApprovers records who may approve after a grant, so that their wait begins with the grant and not with their first approval.
func NoteApprovers(tx *db.Tx, workspaceID string) error {
	all, err := staffOf(tx.Q, workspaceID)
	for _, pair := range Pairs() {
		if err == nil {
			_, err = observe(tx, pair, workspaceID, all)
		}
	}
	return err
}

// beforeChange records who may approve in a workspace before a change of members, roles or users. It also schedules the check whether
// the change leaves a second person.
func beforeChange(tx *db.Tx, workspaceID string) error {
	all, err := staffOf(tx.Q, workspaceID)
	two := false
	for _, pair := range Pairs() {
		var p SecondPerson
		if err == nil {
			p, err = observe(tx, pair, workspaceID, all)
		}
		if err == nil && p.two() {
			two, err = true, seeTwo(tx, pair, workspaceID)
		}
	}
	if err == nil && two {
		err = tx.Exec(`UPDATE receiving_policy SET members_changed = TRUE WHERE workspace_id = $1`, workspaceID)
	}
	return err
}

// BeforeDisabling records who may approve wherever a user is a member, because it is about to lose its access. Call it before the
// user is locked.
func BeforeDisabling(tx *db.Tx, userID string) error {
	workspaces, err := db.Collect(tx.Q, func(r db.Rows) string { return r.Text(0) }, `SELECT workspace_id FROM live_member WHERE account_id = $1 ORDER BY workspace_id`, userID)
	for _, workspaceID := range workspaces {
		if err == nil {
			err = beforeChange(tx, workspaceID)
		}
	}
	return err
}

// SavePolicy stores the second-person policy of a workspace, unless it was changed since it was read. Nil hours are the default. alone
// means that one person decides it while there is no second one.
func SavePolicy(tx *db.Tx, workspaceID string, version int64, after Policy, alone bool) (saved bool, err error) {
	return tx.Row(`INSERT INTO receiving_policy (workspace_id, approval, cooling_hours, second_person_hours, made_alone, two_seen_at, version)
		VALUES ($1, $2, $3, $4, $5, 0, $6 + 1)
		ON CONFLICT (workspace_id) DO UPDATE SET approval = excluded.approval, cooling_hours = excluded.cooling_hours,
			second_person_hours = excluded.second_person_hours, made_alone = excluded.made_alone, version = excluded.version
		WHERE receiving_policy.version = $6 RETURNING workspace_id`, workspaceID, after.Approval, nullHours(after.Hours), nullHours(after.Demand), alone, version).
		Scan(new(string))
}

func nullHours(hours *int64) any {
	if hours == nil {
		return nil
	}
	return *hours
}

// ExtendDemand extends the demand for a second person, once, after the last one has left. It also delays approvers whom one person has
// added, once each. It returns the new end, or 0 if there is nothing to extend. The caller has locked the members.
func ExtendDemand(tx *db.Tx, workspaceID string) (until int64, err error) {
	all, err := staffOf(tx.Q, workspaceID)
	if err != nil {
		return 0, err
	}
	hours := int64(0)
	for _, pair := range Pairs() {
		p, err := observe(tx, pair, workspaceID, all)
		if err != nil {
			return 0, err
		}
		if hours = p.DemandHours(); p.Extendable() {
			until = max(until, p.DemandEnds()+Extension.Milliseconds())
		}
	}
	if until != 0 {
		err = tx.Exec(`UPDATE receiving_policy SET extended_at = $2 WHERE workspace_id = $1`, workspaceID, tx.Now())
	}
	if err != nil {
		return 0, err
	}
	if _, extendable, err := GrantedAlone(tx.Q, workspaceID, hours, tx.Now()); err != nil || until == 0 && !extendable {
		return 0, err
	}
	for _, table := range [][2]string{{"member_role", "granted_at"}, {"approver", "since"}} {
		if err := tx.Exec(`UPDATE `+table[0]+` SET not_before = not_before + $2 WHERE workspace_id = $1 AND not_before > $3 AND not_before <= `+table[1]+` + $4`,
			workspaceID, Extension.Milliseconds(), tx.Now(), hours*time.Hour.Milliseconds()); err != nil {
			return 0, err
		}
	}
	granted, _, err := GrantedAlone(tx.Q, workspaceID, hours, tx.Now())
	return max(until, granted), err
}

// GrantedAlone returns when the last approver added by one person counts, or 0 if all of them do. The time is extendable if one of them was
// not extended before: those count no later than hours after they were added.
func GrantedAlone(q db.Q, workspaceID string, hours, now int64) (until int64, extendable bool, err error) {
	note := func(since, notBefore int64) {
		until, extendable = max(until, notBefore), extendable || notBefore <= since+hours*time.Hour.Milliseconds()
	}
	err = q.Each(func(r db.Rows) error {
		note(r.Int(0), r.Int(1))
		return nil
	}, `SELECT since, not_before FROM approver WHERE workspace_id = $1 AND not_before > $2 AND gone_at IS NULL`, workspaceID, now)
	if err != nil {
		return 0, false, err
	}
	roles, err := db.Collect(q, func(r db.Rows) heldRole { return heldRole{key: r.Text(0), grantedAt: r.Int(1), notBefore: r.Int(2)} },
		`SELECT role, granted_at, not_before FROM member_role WHERE workspace_id = $1 AND not_before > $2`, workspaceID, now)
	for _, one := range roles { // including those of open invitations
		if err != nil {
			return 0, false, err
		}
		var role Role
		if role, _, err = FindRole(q, workspaceID, one.key); role.Permissions.Has(ReceivingApprove) || role.Permissions.Has(PayoutsApprove) {
			note(one.grantedAt, one.notBefore)
		}
	}
	return until, extendable, err
}

// Former returns the people who may approve in a workspace or could while there last were two, and the owners of its organization.
func Former(q db.Q, workspaceID string) ([]string, error) {
	return db.Collect(q, func(r db.Rows) string { return r.Text(0) }, `SELECT a.account_id FROM approver a JOIN receiving_policy p ON p.workspace_id = a.workspace_id
		WHERE a.workspace_id = $1 AND (a.gone_at IS NULL OR a.gone_at >= p.two_seen_at OR a.gone_at >= p.payouts_seen_at)
		UNION SELECT m.account_id FROM workspace w JOIN organization_member m ON m.organization_id = w.organization_id
		WHERE w.id = $1 AND m.role = 'owner' ORDER BY 1`, workspaceID)
}

// AfterChange returns and removes one scheduled workspace: its members changed while it had a second person, or an operator appointed an
// approver. Only one of several nodes gets it. It returns "" if there is none.
func AfterChange(tx *db.Tx) (workspaceID, appointed string, err error) {
	if _, err = tx.Row(`SELECT workspace_id, appointed FROM receiving_policy WHERE members_changed = TRUE AND workspace_id > $1 ORDER BY workspace_id LIMIT 1`, "").
		Scan(&workspaceID, &appointed); err != nil || workspaceID == "" {
		return "", "", err
	}
	// Unless the operator has appointed another one since it was read.
	mine, err := tx.Row(`UPDATE receiving_policy SET members_changed = FALSE, appointed = NULL
		WHERE workspace_id = $1 AND members_changed = TRUE AND COALESCE(appointed, '') = $2 RETURNING workspace_id`, workspaceID, appointed).Scan(new(string))
	if err != nil || !mine {
		return "", "", err
	}
	return workspaceID, appointed, nil
}
