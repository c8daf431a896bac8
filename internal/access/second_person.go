package access

import (
	"maps"
	"math"
	"slices"
	"time"
)

// How many people a workspace demands for a change of where money goes.
const (
	Automatic  = "automatic" // two as soon as there are two who could
	TwoPersons = "two_persons"
	OnePerson  = "one_person"
)

const (
	// defaultCooling is how many hours an approved change waits where the workspace has not
	// decided. It is also how long a workspace that lets changes be paid at once waits until a new
	// approver counts.
	defaultCooling = 24
	// defaultDemand is how many hours the demand outlives the last second person.
	defaultDemand = 72
	// Extension is by how much an approver or an owner can extend that, once.
	Extension = 72 * time.Hour
)

// never is a time that does not come.
const never = math.MaxInt64

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

// Pairs lists the pairs.
func Pairs() []Pair { return []Pair{Receiving, Payouts} }

// other is the pair that is not this one.
func (p Pair) other() Pair {
	if p == Payouts {
		return Receiving
	}
	return Payouts
}

// seenColumn is the column of receiving_policy that says when there last were two people.
func (p Pair) seenColumn() string {
	if p == Payouts {
		return "payouts_seen_at"
	}
	return "two_seen_at"
}

// Policy is what a workspace has decided about second people.
type Policy struct {
	// Approval is Automatic, TwoPersons or OnePerson. Of payouts it is Automatic: for them there are rules.
	Approval string
	Hours    *int64 // of cooling, and until a new approver counts; nil if the workspace has not decided
	Demand   *int64 // hours for which the demand outlives the last second person; nil if the workspace has not decided
}

// strict is the policy where it is as strict as the default, and the default where it is looser.
func (p Policy) strict() Policy {
	if p.Approval == OnePerson {
		p.Approval = Automatic
	}
	if p.Hours != nil && *p.Hours < defaultCooling {
		p.Hours = nil
	}
	if p.Demand != nil && *p.Demand < defaultDemand {
		p.Demand = nil
	}
	return p
}

// DemandHours is for how many hours the demand outlives the last second person.
func (p Policy) DemandHours() int64 {
	if p.Demand != nil {
		return *p.Demand
	}
	return defaultDemand
}

// wait is how many hours a new approver waits until they count.
func (p Policy) wait() int64 {
	if p.Hours != nil && *p.Hours > 0 {
		return *p.Hours
	}
	return defaultCooling
}

// Loosens reports whether a policy asks for less of the approvers of every pair than another one does.
func (p Policy) Loosens(before Policy) bool {
	return p.wait() < before.wait() || p.DemandHours() < before.DemandHours()
}

// SecondPerson is how a workspace demands a second person, and who could be one: see doc.go.
type SecondPerson struct {
	Policy        // in force
	Stored Policy // what the workspace has decided, of which less is in force while MadeAlone and Suspended
	// MadeAlone says that one person made the stored policy while there was no second person.
	MadeAlone bool
	Version   int64 // of the policy

	// Present says that one person may make what the pair is about and another may approve it.
	Present bool

	people     []string              // who may approve now
	makers     map[string]int64      // who may make, and before when they do not count as another person
	roles      map[string][]heldRole // of those who may approve
	since      map[string]arrival    // since when they are known to
	gone       []string              // of those who are known
	twoSeen    int64
	other      sighting // of the other pair, with which this one shares the policy
	extendedAt int64
	now        int64
}

// sighting is whether there are two people for a pair, and when there last were.
type sighting struct {
	present bool
	seen    int64
}

// arrival is since when an approver is known, and before when they do not count.
type arrival struct{ since, notBefore int64 }

// heldRole is a role of a person, since when they have it, and how it was granted.
type heldRole struct {
	key                  string
	permissions          Set
	grantedAt, notBefore int64
	byTwo                bool
}

// At is what holds at another time, if nobody's access has changed since it was read.
func (p SecondPerson) At(now int64) SecondPerson {
	p.now = now
	return p.inForce()
}

// inForce decides what of the stored policy is in force.
func (p SecondPerson) inForce() SecondPerson {
	p.Policy = p.Stored
	if p.MadeAlone {
		strict := p
		strict.Policy = p.Stored.strict()
		other := strict
		other.Present, other.twoSeen = p.other.present, p.other.seen
		if strict.Available() || other.Available() {
			return strict
		}
	}
	return p
}

// Suspended reports whether the stored policy waits for a second person to confirm it, because one person made it alone.
func (p SecondPerson) Suspended() bool { return p.MadeAlone && p.Policy != p.Stored }

// Demanded reports whether a change needs a second person. Having fallen back to one person
// changes nothing for a while, or whoever removes the others would be alone.
func (p SecondPerson) Demanded() bool {
	return p.Approval == TwoPersons || p.Approval == Automatic && p.Available()
}

// Available reports whether there are two people who could, or were until lately.
func (p SecondPerson) Available() bool { return p.Present || p.now < p.DemandEnds() }

// DemandEnds is until when the demand lasts, unless another approver counts before; 0 if there never were two people.
func (p SecondPerson) DemandEnds() int64 {
	if p.twoSeen == 0 {
		return 0
	}
	end := p.twoSeen + p.DemandHours()*time.Hour.Milliseconds()
	if p.extended() {
		end += Extension.Milliseconds()
	}
	return end
}

// extended reports whether the demand was extended since there last were two people.
func (p SecondPerson) extended() bool { return p.extendedAt >= p.twoSeen }

// Vacant reports whether there were two people who counted, there are not now, and the demand goes on.
func (p SecondPerson) Vacant() bool { return p.now < p.DemandEnds() && !p.two() }

// Extendable reports whether the demand can be extended.
func (p SecondPerson) Extendable() bool { return p.Vacant() && !p.extended() }

// two reports whether one person may make what the pair is about, and another one may approve it and counts.
func (p SecondPerson) two() bool {
	for maker, notBefore := range p.makers {
		if notBefore <= p.now && p.OtherCounts(maker) {
			return true
		}
	}
	return false
}

// MakerCountsFrom returns from when on what a person requests may be approved: one who was allowed to request while there was no
// second person may be whoever approves.
func (p SecondPerson) MakerCountsFrom(accountID string) int64 { return p.makers[accountID] }

// OtherCounts reports whether somebody besides some people may approve now and counts.
func (p SecondPerson) OtherCounts(but ...string) bool {
	return slices.ContainsFunc(p.people, func(id string) bool { return !slices.Contains(but, id) && p.CountsFrom(id) <= p.now })
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

// CountsFrom returns when a person who may approve counts as the second one; 0 is always.
func (p SecondPerson) CountsFrom(accountID string) int64 {
	came, known := p.since[accountID]
	switch {
	case p.twoSeen == 0 || known && came.since == 0:
		return 0
	case !known:
		came.since = p.now
	}
	return max(came.since+p.wait()*time.Hour.Milliseconds(), came.notBefore)
}

// isNew reports whether a person who may approve has not been noted yet.
func (p SecondPerson) isNew(accountID string) bool {
	_, known := p.since[accountID]
	return !known && slices.Contains(p.people, accountID)
}

// RoleCountsFrom returns when a role of a person counts for what was requested at some time: at once if they had it by then, or
// a while after two people have granted it. Otherwise whoever needs a role could give it to themselves.
func (p SecondPerson) RoleCountsFrom(accountID, role string, requestedAt int64) int64 {
	i := slices.IndexFunc(p.roles[accountID], func(r heldRole) bool { return r.key == role })
	if i < 0 {
		return never
	}
	switch r := p.roles[accountID][i]; {
	case r.grantedAt <= requestedAt:
		return r.notBefore
	case r.byTwo:
		return max(r.grantedAt+p.wait()*time.Hour.Milliseconds(), r.notBefore)
	}
	return never
}

// Makers lists who may request now.
func (p SecondPerson) Makers() []string { return slices.Sorted(maps.Keys(p.makers)) }

// Others counts who may approve besides some people, with a role if one is named, whether they count already or not.
func (p SecondPerson) Others(role string, but ...string) (n int) {
	for _, id := range p.people {
		if !slices.Contains(but, id) && (role == "" || slices.ContainsFunc(p.roles[id], func(r heldRole) bool { return r.key == role })) {
			n++
		}
	}
	return n
}

// Approvers lists who may approve now.
func (p SecondPerson) Approvers() []string { return p.people }

// Counts reports whether somebody may approve now and counts as a second person, with a role if what was requested at some time
// asks for one.
func (p SecondPerson) Counts(accountID, role string, requestedAt int64) bool {
	return slices.Contains(p.people, accountID) && p.CountsFrom(accountID) <= p.now &&
		(role == "" || p.RoleCountsFrom(accountID, role, requestedAt) <= p.now)
}

// GrantNotBefore is before when an approver does not count whom one person adds now because no other one who counts could agree: as
// long as the demand would last if the approvers who count had just gone. It is 0 if there are several, or there never were two people.
func (p SecondPerson) GrantNotBefore() int64 {
	counting := 0
	for _, id := range p.people {
		if p.CountsFrom(id) <= p.now {
			counting++
		}
	}
	switch {
	case p.Vacant():
		return p.DemandEnds()
	case counting == 1 && p.two():
		return p.now + p.DemandHours()*time.Hour.Milliseconds()
	}
	return 0
}
