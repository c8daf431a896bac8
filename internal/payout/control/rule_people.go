package control

import (
	"cmp"
	"fmt"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/approval"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/fault"
)

// A rule that no set of people can satisfy is refused. For none of those who can request its payouts there are enough others who may
// approve them. Approvers who do not count as second persons yet are included, since they will. Rules do not prevent people from losing
// access later.

// checkPeople returns a fault unless people can satisfy a new rule, alone and with each other rule in force for some of the same payouts.
func checkPeople(q db.Q, u api.ApprovalRule, all []rule, people access.SecondPerson) error {
	if u.Approvals == 0 {
		return nil
	}
	own := rule{ApprovalRule: u}
	for _, other := range append([]rule{own}, all...) {
		if other.ID != u.ID && !(other.guards() && own.meets(other)) {
			continue
		}
		need, less := demand(u.ApprovalRuleTerms), demand(other.ApprovalRuleTerms)
		if need.compare(less) < 0 {
			need, less = less, need
		}
		if need.Role == "" && less.Approvals > 0 {
			need.Role = less.Role // as Need does
		}
		most, err := mostApprovers(q, u.WorkspaceID, cmp.Or(u.ClientID, other.ClientID), need, people)
		if err != nil {
			return err
		}
		if int64(most) < need.Approvals {
			return fault.Invalid("approvals", tooMany(u, other, need, most))
		}
	}
	return nil
}

// tooMany describes which people a rule lacks.
func tooMany(u api.ApprovalRule, other rule, need demand, most int) string {
	of := ""
	if need.Role != "" {
		of = " with the role " + need.Role
	}
	lacks := fmt.Sprintf("ask for more people than there are: besides the requester %d%s have to approve, and the workspace has %d", need.Approvals, of, most)
	if other.ID != u.ID {
		lacks += ", together with the rule " + other.ID
	}
	return lacks
}

// meets reports whether two rules can apply to the same payout.
func (u rule) meets(other rule) bool {
	same := func(a, b string) bool { return a == "" || b == "" || a == b }
	above := func(one, than rule) bool {
		return one.AboveCents != nil && than.UpToCents != nil && *one.AboveCents >= *than.UpToCents
	}
	return meet(u.Mode, other.Mode) && same(u.AccountID, other.AccountID) && same(u.Rail, other.Rail) && same(u.ClientID, other.ClientID) &&
		(u.bySum() || other.bySum() || !above(u, other) && !above(other, u))
}

// mostApprovers returns how many people at most may approve what any member requests, or what a client requests if one is named.
func mostApprovers(q db.Q, workspaceID, clientID string, need demand, people access.SecondPerson) (most int, err error) {
	clients := []string{clientID}
	if clientID == "" {
		for _, maker := range people.Makers() {
			most = max(most, people.Others(need.Role, maker))
		}
		if int64(most) >= need.Approvals {
			return most, nil
		}
		if clients, err = makingClients(q, workspaceID); err != nil {
			return 0, err
		}
	}
	for _, id := range clients {
		involved, err := approval.Involved(q, audit.Actor{Type: audit.Client, ID: id})
		if err != nil {
			return 0, err
		}
		most = max(most, people.Others(need.Role, involved...))
	}
	return most, nil
}

// makingClients lists machine clients that may request payouts.
func makingClients(q db.Q, workspaceID string) (list []string, err error) {
	type member struct{ id, kind string }
	all, err := db.Collect(q, func(r db.Rows) member { return member{r.Text(0), r.Text(1)} }, `SELECT a.id, a.kind FROM workspace_member m JOIN account a ON a.id = m.account_id
		WHERE m.workspace_id = $1 AND a.status = 'active'`, workspaceID)
	for _, one := range all {
		if err != nil {
			return nil, err
		}
		if one.kind != "client" {
			continue
		}
		var held access.Set
		if held, err = access.HeldBy(q, workspaceID, one.id); held.Has(access.PayoutsCreate) {
			list = append(list, one.id)
		}
	}
	return list, err
}
