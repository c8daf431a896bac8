package control

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/audit"
	"bursar/internal/db"
)

// Need contains the approvals that a payout needs before it is sent, and the reason as a sentence.
type Need struct {
	Approvals int
	Role      string
	KeysMay   bool
	Why       string
}

// Need returns the approvals that a payout needs. Of the rules that match it the strictest one applies, and API keys may approve only if
// all of them allow it. If the strictest names no role, the role of another one applies, so that adding a rule removes no role. A rule by
// sum matches if it is among those that the payout exceeds. A later change of rules does not affect the payout.
func (s *Service) Need(q db.Q, p Spending, by db.Caller, exceeds ...string) (Need, error) {
	g, err := s.guard(q, p.WorkspaceID)
	if err != nil {
		return Need{}, err
	}
	var holds, ofRole *rule
	people := ""
	for i, one := range g.rules {
		if !one.matches(p, p.Rail, p.Amount, by) && !slices.Contains(exceeds, one.ID) {
			continue
		}
		if one.Approvals > 0 && !one.KeysMayApprove {
			people = one.ID
		}
		if holds == nil || demand(one.ApprovalRuleTerms).compare(demand(holds.ApprovalRuleTerms)) > 0 {
			holds = &g.rules[i]
		}
		if one.Approvals > 0 && one.Role != "" && (ofRole == nil || demand(one.ApprovalRuleTerms).compare(demand(ofRole.ApprovalRuleTerms)) > 0) {
			ofRole = &g.rules[i]
		}
	}
	switch {
	case holds != nil:
		need := Need{int(holds.Approvals), holds.Role, holds.KeysMayApprove, "The rule " + holds.ID + " holds: " + ruleText(holds.ApprovalRuleTerms) + "."}
		if need.Role == "" && ofRole != nil {
			need.Role = ofRole.Role
			need.Why += " By the rule " + ofRole.ID + " only members with the role " + ofRole.Role + " may approve."
		}
		if need.KeysMay && people != "" {
			need.KeysMay = false
			need.Why += " By the rule " + people + " API keys may not approve."
		}
		return need, nil
	case g.people.At(s.db.Now()).Demanded():
		return Need{Approvals: 1, Why: "Needs approval from an approver."}, nil
	}
	return Need{Why: "No approval needed: the workspace has no second person."}, nil
}

// Or returns the stricter of two needs. API keys may approve only if both needs allow them, and a role that either names is required.
func (n Need) Or(other Need) Need {
	rank := func(n Need) int {
		r := 4 * n.Approvals
		if n.Role != "" {
			r += 2
		}
		if !n.KeysMay {
			r++
		}
		return r
	}
	keys := (n.Approvals == 0 || n.KeysMay) && (other.Approvals == 0 || other.KeysMay)
	if n.Why == "" || rank(other) > rank(n) {
		n, other = other, n
	}
	n.KeysMay, n.Role = n.KeysMay && keys, cmp.Or(n.Role, other.Role)
	return n
}

// rule is a row of the table payout_rule.
type rule struct {
	api.ApprovalRule
	activeAt int64 // when it came into force
	alone    bool  // one person alone made it, and no second person has counted since
}

// holds reports whether a rule is in force.
func (u rule) holds() bool { return u.Status == api.RuleActive }

// guards reports whether payouts wait because of a rule. A suspended rule that demands approvals still guards, without API keys.
func (u rule) guards() bool { return u.holds() || u.Status == api.RuleSuspended && u.Approvals > 0 }

// demand returns the approvals that a rule demands while it guards.
func (u rule) demand() demand {
	d := demand(u.ApprovalRuleTerms)
	d.KeysMayApprove = d.KeysMayApprove && u.holds()
	return d
}

// about reports whether a rule applies to payouts such as this one, if it were on a rail, whatever its amount.
func (u rule) about(p Spending, rail string, by db.Caller) bool {
	return inMode(u.Mode, p.Mode) && (u.AccountID == "" || u.AccountID == p.AccountID) && (u.Rail == "" || u.Rail == rail) &&
		(u.ClientID == "" || by.Type == audit.Client && by.ID == u.ClientID)
}

// matches reports whether a rule for single payouts applies to one, if it were on a rail and of an amount.
func (u rule) matches(p Spending, rail string, amount int64, by db.Caller) bool {
	return !u.bySum() && u.about(p, rail, by) && (u.AboveCents == nil || amount > *u.AboveCents) && (u.UpToCents == nil || amount <= *u.UpToCents)
}

// demand is the approvals that the terms of a rule demand, whatever the rule applies to.
type demand api.ApprovalRuleTerms

// compare orders demands by strictness: more approvals first, then approvals by a role, then approvals without API keys.
func (d demand) compare(other demand) int {
	rank := func(d demand) int64 {
		n := d.Approvals * 4
		if d.Approvals > 0 && d.Role != "" {
			n += 2
		}
		if d.Approvals > 0 && !d.KeysMayApprove {
			n++
		}
		return n
	}
	return cmp.Compare(rank(d), rank(other))
}

// weaker reports whether a demand guards less than another in any way. Even many approvals are weaker than a single one if API keys may
// give the former and only people the latter. The same goes for members of another role.
func (d demand) weaker(than demand) bool {
	return d.compare(than) < 0 || d.KeysMayApprove && than.Approvals > 0 && !than.KeysMayApprove || than.Approvals > 0 && than.Role != "" && d.Role != than.Role
}

// overrides reports whether a demand could replace one that names another role, for payouts that match both.
func (d demand) overrides(other demand) bool {
	return d.Approvals > 0 && d.Role != "" && other.Approvals > 0 && other.Role != "" && d.Role != other.Role
}

// ofTwo is the demand without rules where there are two people.
var ofTwo = demand{Approvals: 1}

// byDefault returns the demand for payouts that no rule matches.
func byDefault(people access.SecondPerson) demand {
	if people.Demanded() {
		return ofTwo
	}
	return demand{}
}

// ruleText describes what a rule applies to and what it demands.
func ruleText(u api.ApprovalRuleTerms) string {
	var b strings.Builder
	switch u.Approvals {
	case 0:
		b.WriteString("no approval")
	case 1:
		b.WriteString("one approval")
	default:
		fmt.Fprintf(&b, "%d approvals", u.Approvals)
	}
	if u.Role != "" && u.Approvals > 0 {
		b.WriteString(" by members with the role " + u.Role)
	}
	if u.KeysMayApprove && u.Approvals > 0 {
		b.WriteString(", also with API keys,")
	}
	b.WriteString(cmp.Or(modeText(u.Mode), " of payouts"))
	if u.AboveCents != nil {
		b.WriteString(" above " + centsText(*u.AboveCents, u.Currency))
	}
	if u.Per == api.LimitPerDay {
		b.WriteString(" a day for each " + u.Each)
	}
	if u.UpToCents != nil {
		b.WriteString(" up to " + centsText(*u.UpToCents, u.Currency))
	}
	if u.AccountID != "" {
		b.WriteString(" from the account " + u.AccountID)
	}
	if u.Rail != "" {
		b.WriteString(" by " + u.Rail)
	}
	if u.ClientID != "" {
		b.WriteString(" that the machine client " + u.ClientID + " makes")
	}
	return b.String()
}

// centsText returns an amount as text for people. If it applies to several currencies, it is in the minor unit, as stored.
func centsText(cents int64, currency string) string {
	if currency == "" {
		return fmt.Sprintf("%d of the minor unit", cents)
	}
	return strings.TrimPrefix(api.FormatAmount(cents, currency), currency+" ")
}

// holderChanged is a column: whether someone else has rotated the secret of the client that a rule names since the rule was made.
const holderChanged = `(CASE WHEN client_id <> '' AND COALESCE(client_holder, '') <> COALESCE((SELECT c.secret_seen_by FROM account c WHERE c.id = client_id), '')
	THEN 1 ELSE 0 END)`

// madeAlone is a column. It is 0 unless one person alone made a rule that demands less than without rules, and no other has agreed to it.
// It is 1 if a second person has counted since, otherwise 2.
const madeAlone = `(CASE WHEN alone = FALSE THEN 0
	WHEN (SELECT p.payouts_seen_at FROM receiving_policy p WHERE p.workspace_id = payout_rule.workspace_id) >= active_at THEN 1 ELSE 2 END)`

const ruleColumns = `id, workspace_id, account_id, rail, client_id, above, up_to, approvals, role, keys_may, status, approval_id, created_at, active_at, mode, per, each_of`

func readRule(r db.Rows) rule {
	u := api.ApprovalRule{ID: r.Text(0), WorkspaceID: r.Text(1), Status: r.Text(10), ApprovalID: r.Text(11), CreatedAt: r.Int(12),
		ApprovalRuleTerms: api.ApprovalRuleTerms{AccountID: r.Text(2), Rail: r.Text(3), ClientID: r.Text(4), Mode: r.Text(14), Per: r.Text(15), Each: r.Text(16), Currency: r.Text(17),
			Approvals: r.Int(7), Role: r.Text(8), KeysMayApprove: r.Bool(9)}}
	if !r.Null(5) {
		u.AboveCents = new(r.Int(5))
	}
	if !r.Null(6) {
		u.UpToCents = new(r.Int(6))
	}
	switch {
	case u.Status != api.RuleActive:
	case r.Int(19) == 1:
		u.Status, u.SuspendedBecause = api.RuleSuspended, api.RuleMadeAlone
	case u.Approvals == 0 && r.Int(18) == 1: // anyone who gives a client a new secret could pay with it, and no one has agreed to that
		u.Status, u.SuspendedBecause = api.RuleSuspended, api.RuleClientSecret
	}
	return rule{u, r.Int(13), r.Int(19) == 2}
}

// rulesOf lists the rules of a workspace that apply in a mode, or all. A rule that one person made alone is suspended as soon as there is a
// second person, before that person counts.
func (s *Service) rulesOf(q db.Q, workspaceID, mode, after string, take int) ([]rule, error) {
	list, err := db.Collect(q, readRule, `SELECT `+ruleColumns+`, `+accountCurrency+`, `+holderChanged+`, `+madeAlone+` FROM payout_rule
		WHERE workspace_id = $1 AND id > $2 AND ($3 = '' OR mode = $3 OR mode = 'both') ORDER BY id LIMIT $4`, workspaceID, after, mode, take)
	if err != nil {
		return nil, err
	}
	present := false
	if slices.ContainsFunc(list, func(u rule) bool { return u.alone }) {
		people, err := access.FindSecondPerson(q, access.Payouts, workspaceID, s.db.Now())
		if err != nil {
			return nil, err
		}
		present = people.Present
	}
	for i := range list {
		u := &list[i]
		u.Currency = s.meant(u.Currency, u.Rail)
		if present && u.alone && u.holds() {
			u.Status, u.SuspendedBecause = api.RuleSuspended, api.RuleMadeAlone
		}
	}
	return list, nil
}

// findRule reads a rule; its id is empty if there is none.
func findRule(q db.Q, id string) (rule, error) {
	return db.First(q, readRule, `SELECT `+ruleColumns+`, `+accountCurrency+`, `+holderChanged+`, `+madeAlone+` FROM payout_rule
		WHERE id = $1`, id)
}
