package control

import (
	"slices"

	"bursar/api"
	"bursar/internal/approval"
	"bursar/internal/db"
	"bursar/internal/fault"
	"bursar/internal/ledger"
)

// GuardTransfer refuses to move money to another account of the workspace if weaker rules or limits would then apply to it. Otherwise one
// person could pay alone what others have to approve. It counts the moved money for the limits by day of the source. The transaction that
// moves the money calls it.
//
// The rules of the source must also apply to the destination. For each rule that names the source there must be one that demands as much of
// the same payouts from the destination. The same goes for limits. No rule that names only the destination may demand less than without
// rules.
func (s *Service) GuardTransfer(tx *db.Tx, by db.Caller, from, to ledger.Account, amount int64) error {
	g, err := s.guard(tx.Q, from.WorkspaceID)
	if err != nil {
		return err
	}
	g.rules = slices.DeleteFunc(slices.Clone(g.rules), func(u rule) bool { return !inMode(u.Mode, from.Mode) })
	g.limits = slices.DeleteFunc(slices.Clone(g.limits), func(l limit) bool { return !inMode(l.Mode, from.Mode) })
	if why := g.looser(from.ID, to.ID, tx.Now()); why != "" {
		return fault.New(api.CodeAccountGuarded, "payouts from %s are guarded less than those from %s: %s", to.ID, from.ID, why)
	}
	ofAccount := slices.DeleteFunc(slices.Clone(g.limits), func(l limit) bool {
		return l.Per != api.LimitPerDay || l.AccountID != from.ID && l.Each != api.EachAccount
	})
	involved, err := approval.Involved(tx.Q, by.Actor)
	if err != nil {
		return err
	}
	slices.Sort(involved)
	return takeLimits(tx, ofAccount, Spending{WorkspaceID: from.WorkspaceID, AccountID: from.ID, Makers: slices.Compact(involved), Mode: from.Mode, Currency: from.Currency, Amount: amount, At: tx.Now()})
}

// looser returns the rule or limit by which the payouts of an account are guarded less than those of another, "" if there is none.
func (g guard) looser(from, to string, now int64) string {
	covered := func(u rule, by string, enough func(other demand) bool) bool {
		return slices.ContainsFunc(g.rules, func(other rule) bool {
			return (other.AccountID == "" || other.AccountID == by) && other.covers(u) && enough(demand(other.ApprovalRuleTerms))
		})
	}
	without := byDefault(g.people.At(now))
	for _, u := range g.rules {
		own := demand(u.ApprovalRuleTerms)
		switch {
		case u.AccountID == from && u.Approvals > 0 && !covered(u, to, func(other demand) bool { return !other.weaker(own) }),
			u.AccountID == to && own.weaker(without) && !covered(u, from, func(other demand) bool { return !own.weaker(other) }):
			return ruleText(u.ApprovalRuleTerms)
		}
	}
	for _, l := range g.limits {
		if l.AccountID == from && !slices.ContainsFunc(g.limits, func(other limit) bool { return other.boundsAs(l, to) }) {
			return limitText(l.PayoutLimit)
		}
	}
	return ""
}

// covers reports whether a rule applies to all payouts that another rule applies to, regardless of their accounts. A payout above an amount
// brings the sum of a day above it, too.
func (u rule) covers(other rule) bool {
	if u.bySum() && (other.AboveCents == nil || other.bySum() && u.Each != other.Each) || other.bySum() && !u.bySum() && u.AboveCents != nil {
		return false
	}
	return (u.Rail == "" || u.Rail == other.Rail) && (u.ClientID == "" || u.ClientID == other.ClientID) &&
		(u.AboveCents == nil || other.AboveCents != nil && *other.AboveCents >= *u.AboveCents) &&
		(u.UpToCents == nil || other.UpToCents != nil && *other.UpToCents <= *u.UpToCents)
}

// boundsAs reports whether a limit allows an account no more than another limit allows its own account.
func (l limit) boundsAs(other limit, account string) bool {
	each := func(l limit) string {
		if l.Each == api.EachAccount { // it applies to one account
			return ""
		}
		return l.Each
	}
	return (l.AccountID == "" || l.AccountID == account) && l.Per == other.Per && (each(l) == "" || each(l) == each(other)) &&
		(l.MakerID == "" || l.MakerID == other.MakerID) && (l.EntryID == "" || l.EntryID == other.EntryID) && (l.Rail == "" || l.Rail == other.Rail) &&
		l.AmountCents <= other.AmountCents && (other.Count == 0 || l.Count > 0 && l.Count <= other.Count)
}
