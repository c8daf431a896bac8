package access

import (
	"slices"
	"time"

	"bursar/internal/db"
)

// How many people a workspace demands for a change of where money goes.
const (
	Automatic  = "automatic" // two as soon as there are two who could
	TwoPersons = "two_persons"
	OnePerson  = "one_person"
)

// defaultCooling is how many hours an approved change waits where the workspace has not
// decided. It is also how long a workspace that lets changes be paid at once waits until a new
// approver counts.
const defaultCooling = 24

// noteTwo is how old two_seen_at may get while two people are there. Every change of members
// and roles stores it exactly.
const noteTwo = time.Hour

// Pair is the permission to ask for something and the one to allow it to somebody else.
type Pair struct {
	Make, Approve Permission
	name          string // in the table approver
}

// The pairs: Receiving changes where money goes, Payouts moves it.
var (
	Receiving = Pair{ReceivingWrite, ReceivingApprove, "receiving"}
	Payouts   = Pair{PayoutsCreate, PayoutsApprove, "payouts"}
)

func pairs() []Pair { return []Pair{Receiving, Payouts} }

// seenColumn is the column of receiving_policy that says when there last were two people.
func (p Pair) seenColumn() string {
	if p == Payouts {
		return "payouts_seen_at"
	}
	return "two_seen_at"
}

// SecondPerson is how a workspace demands a second person, and who could be one.
type SecondPerson struct {
	// Approval is Automatic, TwoPersons or OnePerson. Of payouts it is Automatic: for them there are rules.
	Approval string
	Hours    *int64 // of cooling, nil if the workspace has not decided
	Version  int64  // of both

	// Present says that one person may make what the pair is about and another may approve it.
	Present bool

	people  []string            // who may approve now
	roles   map[string][]string // of those
	since   map[string]int64    // since when they are known to
	twoSeen int64
	now     int64
}

// At is what holds at another time, if nobody's access has changed since it was read.
func (p SecondPerson) At(now int64) SecondPerson {
	p.now = now
	return p
}

// Demanded reports whether a change needs a second person. Having fallen back to one person
// changes nothing for a while, or whoever removes the others would be alone.
func (p SecondPerson) Demanded() bool {
	return p.Approval == TwoPersons || p.Approval == Automatic && p.Available()
}

// Available reports whether there are two people who could, or were a moment ago.
func (p SecondPerson) Available() bool {
	return p.Present || p.twoSeen > 0 && p.now < p.twoSeen+p.wait()
}

// CoolingHours is how long an approved change waits before it can be paid.
func (p SecondPerson) CoolingHours() int64 {
	switch {
	case p.Hours != nil:
		return *p.Hours
	case p.Demanded():
		return defaultCooling
	}
	return 0
}

func (p SecondPerson) wait() int64 {
	hours := int64(defaultCooling)
	if p.Hours != nil && *p.Hours > 0 {
		hours = *p.Hours
	}
	return hours * time.Hour.Milliseconds()
}

// CountsFrom returns when a person who may approve counts as the second one; 0 is always.
func (p SecondPerson) CountsFrom(accountID string) int64 {
	since, known := p.since[accountID]
	switch {
	case p.twoSeen == 0 || known && since == 0:
		return 0
	case !known:
		since = p.now
	}
	return since + p.wait()
}

// Approvers lists who may approve now.
func (p SecondPerson) Approvers() []string { return p.people }

// Counts reports whether somebody may approve now and counts as a second person, with a role if one
// is asked for.
func (p SecondPerson) Counts(accountID, role string) bool {
	return slices.Contains(p.people, accountID) && (role == "" || slices.Contains(p.roles[accountID], role)) && p.CountsFrom(accountID) <= p.now
}

// FindSecondPerson reads how a workspace demands a second person for what a pair is about.
func FindSecondPerson(q db.Q, pair Pair, workspaceID string, now int64) (SecondPerson, error) {
	held, err := peopleOf(q, workspaceID)
	if err != nil {
		return SecondPerson{}, err
	}
	return findSecondPerson(q, pair, workspaceID, held, now)
}

// person is what somebody may do in a workspace, and by which roles.
type person struct {
	may   Set
	roles []string
}

// peopleOf is what each person of a workspace may do.
func peopleOf(q db.Q, workspaceID string) (map[string]person, error) {
	held := map[string]person{}
	err := q.Each(func(r db.Rows) error {
		role, builtIn := BuiltInRole(r.Text(1))
		if !builtIn {
			role.Permissions = ParseSet(r.Text(2))
		}
		one := held[r.Text(0)]
		held[r.Text(0)] = person{one.may | role.Permissions, append(one.roles, r.Text(1))}
		return nil
	}, `SELECT m.account_id, m.role, r.permissions FROM member_role m
		JOIN workspace_member w ON w.workspace_id = m.workspace_id AND w.account_id = m.account_id
		JOIN account a ON a.id = m.account_id LEFT JOIN workspace_role r ON r.workspace_id = m.workspace_id AND r.role = m.role
		WHERE m.workspace_id = $1 AND w.accepted = TRUE AND a.kind = 'person' AND a.status = 'active'`, workspaceID)
	return held, err
}

func findSecondPerson(q db.Q, pair Pair, workspaceID string, held map[string]person, now int64) (SecondPerson, error) {
	p := SecondPerson{Approval: Automatic, roles: map[string][]string{}, since: map[string]int64{}, now: now}
	err := q.Each(func(r db.Rows) error {
		p.Version, p.twoSeen = r.Int(2), r.Int(3)
		if pair == Receiving {
			p.Approval = r.Text(0)
		}
		if !r.Null(1) {
			hours := r.Int(1)
			p.Hours = &hours
		}
		return nil
	}, `SELECT approval, cooling_hours, version, `+pair.seenColumn()+` FROM receiving_policy WHERE workspace_id = $1`, workspaceID)
	if err != nil {
		return p, err
	}
	var makers []string
	for id, one := range held {
		if one.may.Has(pair.Approve) {
			p.people, p.roles[id] = append(p.people, id), one.roles
		}
		if one.may.Has(pair.Make) {
			makers = append(makers, id)
		}
	}
	slices.Sort(p.people)
	for _, maker := range makers {
		p.Present = p.Present || slices.ContainsFunc(p.people, func(id string) bool { return id != maker })
	}
	err = q.Each(func(r db.Rows) error {
		p.since[r.Text(0)] = r.Int(1)
		return nil
	}, `SELECT account_id, since FROM approver WHERE workspace_id = $1 AND pair = $2`, workspaceID, pair.name)
	return p, err
}

// ObserveSecondPerson is FindSecondPerson that also notes who may approve. It runs before every
// change of members, roles and accounts, and whenever it is decided whether a second person is
// needed: nobody becomes two by inviting themselves, or one by removing the others. Those who
// are there when the workspace first has two people who could count at once; whoever comes
// later counts after a while.
func ObserveSecondPerson(tx *db.Tx, pair Pair, workspaceID string) (SecondPerson, error) {
	held, err := peopleOf(tx.Q, workspaceID)
	if err != nil {
		return SecondPerson{}, err
	}
	return observe(tx, pair, workspaceID, held)
}

func observe(tx *db.Tx, pair Pair, workspaceID string, held map[string]person) (SecondPerson, error) {
	p, err := findSecondPerson(tx.Q, pair, workspaceID, held, tx.Now())
	if err != nil || p.twoSeen == 0 && !p.Present {
		return p, err
	}
	since := p.now
	if p.twoSeen == 0 {
		since = 0
	}
	if p.Present && p.now-p.twoSeen >= noteTwo.Milliseconds() {
		if err := seeTwo(tx, pair, workspaceID); err != nil {
			return p, err
		}
		p.twoSeen = p.now
	}
	for _, id := range p.people {
		if _, known := p.since[id]; known {
			continue
		}
		p.since[id] = since
		if err := tx.Exec(`INSERT INTO approver (workspace_id, pair, account_id, since) VALUES ($1, $2, $3, $4)
			ON CONFLICT (workspace_id, pair, account_id) DO NOTHING`, workspaceID, pair.name, id, since); err != nil {
			return p, err
		}
	}
	for id := range p.since {
		if slices.Contains(p.people, id) {
			continue
		}
		delete(p.since, id)
		if err := tx.Exec(`DELETE FROM approver WHERE workspace_id = $1 AND pair = $2 AND account_id = $3`, workspaceID, pair.name, id); err != nil {
			return p, err
		}
	}
	return p, nil
}

// seeTwo notes that a workspace has two people who could at this moment.
func seeTwo(tx *db.Tx, pair Pair, workspaceID string) error {
	receiving, payouts := tx.Now(), int64(0)
	if pair == Payouts {
		receiving, payouts = 0, tx.Now()
	}
	return tx.Exec(`INSERT INTO receiving_policy (workspace_id, approval, two_seen_at, payouts_seen_at, version) VALUES ($1, $2, $3, $4, 0)
		ON CONFLICT (workspace_id) DO UPDATE SET `+pair.seenColumn()+` = excluded.`+pair.seenColumn(), workspaceID, Automatic, receiving, payouts)
}

// NoteApprovers notes who may approve after somebody may have been given that, so that their
// time begins now and not when they first approve.
func NoteApprovers(tx *db.Tx, workspaceID string) error {
	held, err := peopleOf(tx.Q, workspaceID)
	for _, pair := range pairs() {
		if err == nil {
			_, err = observe(tx, pair, workspaceID, held)
		}
	}
	return err
}

// beforeChange notes who may approve in a workspace whose members, roles or accounts are about
// to change.
func beforeChange(tx *db.Tx, workspaceID string) error {
	held, err := peopleOf(tx.Q, workspaceID)
	for _, pair := range pairs() {
		var p SecondPerson
		if err == nil {
			p, err = observe(tx, pair, workspaceID, held)
		}
		if err == nil && p.Present {
			err = seeTwo(tx, pair, workspaceID)
		}
	}
	return err
}

// BeforeDisabling notes who may approve wherever an account is a member, because it is about to
// lose its access. It must come before the account is locked.
func BeforeDisabling(tx *db.Tx, accountID string) error {
	workspaces, err := db.Collect(tx.Q, func(r db.Rows) string { return r.Text(0) }, `SELECT workspace_id FROM live_member WHERE account_id = $1 ORDER BY workspace_id`, accountID)
	for _, workspaceID := range workspaces {
		if err == nil {
			err = beforeChange(tx, workspaceID)
		}
	}
	return err
}

// SavePolicy stores how a workspace demands a second person, unless it was changed since it
// was read. Nil hours are the default.
func SavePolicy(tx *db.Tx, workspaceID string, version int64, approval string, hours *int64) (saved bool, err error) {
	var cooling any
	if hours != nil {
		cooling = *hours
	}
	return tx.Row(`INSERT INTO receiving_policy (workspace_id, approval, cooling_hours, two_seen_at, version) VALUES ($1, $2, $3, 0, $4 + 1)
		ON CONFLICT (workspace_id) DO UPDATE SET approval = excluded.approval, cooling_hours = excluded.cooling_hours, version = excluded.version
		WHERE receiving_policy.version = $4 RETURNING workspace_id`, workspaceID, approval, cooling, version).Scan(new(string))
}
