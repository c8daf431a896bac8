package access

import (
	"maps"
	"math"
	"slices"
	"time"
)

// How many people a change of receiving methods needs in a workspace.
const (
	Automatic  = "automatic" // two once two people are eligible
	TwoPersons = "two_persons"
	OnePerson  = "one_person"
)

const (
	// defaultCooling is how many hours an approved change waits if the workspace has not set it. It is also the wait of a new approver in a
	// workspace without cooling.
	defaultCooling = 24
	// defaultDemand is how many hours the demand outlives the last second person.
	defaultDemand = 72
	// Extension is the one-time extension of the demand by an approver or an owner.
	Extension = 72 * time.Hour
)

// never is a time that is never reached.
const never = math.MaxInt64

// Pair is the permission to request a change and the permission to approve it.
type Pair struct {
	Make, Approve Permission
	name          string // in the table approver
}

// The pairs: Receiving changes receiving methods, Payouts moves money.
var (
	Receiving = Pair{ReceivingWrite, ReceivingApprove, "receiving"}
	Payouts   = Pair{PayoutsCreate, PayoutsApprove, "payouts"}
)

// Pairs returns all pairs.
func Pairs() []Pair { return []Pair{Receiving, Payouts} }

// other returns the other pair.
func (p Pair) other() Pair {
	if p == Payouts {
		return Receiving
	}
	return Payouts
}

// seenColumn returns the column of receiving_policy with the time when there last were two people.
func (p Pair) seenColumn() string {
	if p == Payouts {
		return "payouts_seen_at"
	}
	return "two_seen_at"
}

// Policy is the second-person policy of a workspace.
type Policy struct {
	// Approval is Automatic, TwoPersons or OnePerson. For payouts it is Automatic, because they have rules.
	Approval string
	Hours    *int64 // cooling, and wait of a new approver; nil if not set
	Demand   *int64 // hours that the demand outlives the last second person; nil if not set
}

// strict returns the policy, with the default in place of anything looser.
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

// DemandHours returns how many hours the demand outlives the last second person.
func (p Policy) DemandHours() int64 {
	if p.Demand != nil {
		return *p.Demand
	}
	return defaultDemand
}

// wait returns how many hours pass before a new approver counts.
func (p Policy) wait() int64 {
	if p.Hours != nil && *p.Hours > 0 {
		return *p.Hours
	}
	return defaultCooling
}

// Loosens reports whether a policy requires less of the approvers of every pair than another one.
func (p Policy) Loosens(before Policy) bool {
	return p.wait() < before.wait() || p.DemandHours() < before.DemandHours()
}

// SecondPerson is the demand for a second person in a workspace, and its candidates: see doc.go.
type SecondPerson struct {
	Policy        // in force
	Stored Policy // the workspace's setting, of which less is in force while MadeAlone and Suspended
	// MadeAlone reports that one person made the stored policy while there was no second person.
	MadeAlone bool
	Version   int64 // of the policy

	// Present reports whether one person may request and another may approve.
	Present bool

	people     []string              // those who may approve
	makers     map[string]int64      // those who may request, with the time before which they do not count as another person
	members    map[string]int64      // all members, and machine clients, with that time
	roles      map[string][]heldRole // of those who may approve
	since      map[string]arrival    // when each approver was first recorded
	gone       []string              // recorded people who are gone
	twoSeen    int64
	other      sighting // of the other pair, which shares the policy
	extendedAt int64
	now        int64
}

// sighting records whether there are two people for a pair, and when there last were.
type sighting struct {
	present bool
	seen    int64
}

// arrival is when an approver was first recorded, and before when they do not count.
type arrival struct{ since, notBefore int64 }

// heldRole is a role of a person, since when they hold it, and how it was granted.
type heldRole struct {
	key                  string
	permissions          Set
	grantedAt, notBefore int64
	byTwo                bool
}

// At returns the state at another time, if no access has changed since it was read.
func (p SecondPerson) At(now int64) SecondPerson {
	p.now = now
	return p.inForce()
}

// inForce decides which part of the stored policy is in force.
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

// Suspended reports whether the stored policy waits for confirmation by a second person, because one person made it alone.
func (p SecondPerson) Suspended() bool { return p.MadeAlone && p.Policy != p.Stored }

// Demanded reports whether a change needs a second person. The demand lasts for a while after only one person is left. Otherwise a person
// could remove the others and act alone.
func (p SecondPerson) Demanded() bool {
	return p.Approval == TwoPersons || p.Approval == Automatic && p.Available()
}

// Available reports whether two people could act, or could until recently.
func (p SecondPerson) Available() bool { return p.Present || p.now < p.DemandEnds() }

// DemandEnds returns when the demand ends, unless another approver counts before. It returns 0 if there never were two people.
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

// Vacant reports whether there were two people who counted, there no longer are, and the demand continues.
func (p SecondPerson) Vacant() bool { return p.now < p.DemandEnds() && !p.two() }

// Extendable reports whether the demand can be extended.
func (p SecondPerson) Extendable() bool { return p.Vacant() && !p.extended() }

// two reports whether one person may request, and another one may approve and counts.
func (p SecondPerson) two() bool {
	for requester, notBefore := range p.makers {
		if notBefore <= p.now && p.OtherCounts(requester) {
			return true
		}
	}
	return false
}

// MakerCountsFrom returns from when on the requests of a member or a machine client may be approved. A person who joined while there was no
// second person may be a puppet user of the approver, and so may the holder of a client that was created then.
func (p SecondPerson) MakerCountsFrom(userID string) int64 {
	from, may := p.makers[userID]
	if !p.Vacant() {
		return from
	}
	if !may {
		from = p.members[userID]
	}
	if from > p.now {
		from = max(from, p.DemandEnds()) // which may have been extended
	}
	return from
}

// FormerMakerCountsFrom is MakerCountsFrom for a request at a time by a user that may have been removed since. While there is no second
// person, the approver may have added and removed it.
func (p SecondPerson) FormerMakerCountsFrom(userID string, requestedAt int64) int64 {
	if _, is := p.members[userID]; !is && p.Vacant() && requestedAt > p.twoSeen {
		return p.DemandEnds()
	}
	return p.MakerCountsFrom(userID)
}

// OtherCounts reports whether a person other than the given ones may approve and counts.
func (p SecondPerson) OtherCounts(but ...string) bool {
	return slices.ContainsFunc(p.people, func(id string) bool { return !slices.Contains(but, id) && p.CountsFrom(id) <= p.now })
}

// CoolingHours returns how long an approved change waits before it can be paid.
func (p SecondPerson) CoolingHours() int64 {
	switch {
	case p.Hours != nil:
		return *p.Hours
	case p.Demanded():
		return defaultCooling
	}
	return 0
}

// CountsFrom returns when a person who may approve counts as the second person, or 0 for always.
func (p SecondPerson) CountsFrom(userID string) int64 {
	came, known := p.since[userID]
	switch {
	case p.twoSeen == 0 || known && came.since == 0:
		return 0
	case !known:
		came.since = p.now
	}
	return max(came.since+p.wait()*time.Hour.Milliseconds(), came.notBefore)
}

// isNew reports whether a person who may approve has not been recorded.
func (p SecondPerson) isNew(userID string) bool {
	_, known := p.since[userID]
	return !known && slices.Contains(p.people, userID)
}

// RoleCountsFrom returns when a role of a person counts for a request made at a time. It counts at once if they held it by then, or a while
// after two people granted it. Otherwise a person could give themselves the required role.
func (p SecondPerson) RoleCountsFrom(userID, role string, requestedAt int64) int64 {
	i := slices.IndexFunc(p.roles[userID], func(r heldRole) bool { return r.key == role })
	if i < 0 {
		return never
	}
	switch r := p.roles[userID][i]; {
	case r.grantedAt <= requestedAt:
		return r.notBefore
	case r.byTwo:
		return max(r.grantedAt+p.wait()*time.Hour.Milliseconds(), r.notBefore)
	}
	return never
}

// Makers returns the people who may request.
func (p SecondPerson) Makers() []string { return slices.Sorted(maps.Keys(p.makers)) }

// Others counts the people other than the given ones who may approve, with a role if one is given. It includes those who do not count yet.
func (p SecondPerson) Others(role string, but ...string) (n int) {
	for _, id := range p.people {
		if !slices.Contains(but, id) && (role == "" || slices.ContainsFunc(p.roles[id], func(r heldRole) bool { return r.key == role })) {
			n++
		}
	}
	return n
}

// Approvers returns the people who may approve.
func (p SecondPerson) Approvers() []string { return p.people }

// Counts reports whether a person may approve and counts as a second person. If role is set, they must hold it for a request made at a
// time.
func (p SecondPerson) Counts(userID, role string, requestedAt int64) bool {
	return slices.Contains(p.people, userID) && p.CountsFrom(userID) <= p.now &&
		(role == "" || p.RoleCountsFrom(userID, role, requestedAt) <= p.now)
}

// WillCount reports whether a person may approve, now or after a wait. If role is set, they must hold it for a request made at a time.
func (p SecondPerson) WillCount(userID, role string, requestedAt int64) bool {
	return slices.Contains(p.people, userID) && (role == "" || p.RoleCountsFrom(userID, role, requestedAt) < never)
}

// GrantNotBefore returns the time before which an approver does not count whom one person adds because no one else who counts could agree.
// It is when the demand would end if the approvers who count had just gone. It is 0 if there are several, or there never were two people.
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
