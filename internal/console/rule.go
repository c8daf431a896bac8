package console

import (
	"fmt"
	"strings"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/audit"
	"bursar/internal/directory"
	"bursar/internal/payout/control"
)

func (c *Console) ruleRoutes() []Route {
	return []Route{
		c.getIn("/rules", c.rulesPage),
		c.getIn("/rules/new", c.newRulePage),
		c.postIn("/rules", audit.PayoutRuleCreated, c.addRule),
		c.postIn("/rules/{id}/remove", audit.PayoutRuleRemoved, c.removeRule),
		c.postIn("/rules/{id}/confirm", audit.PayoutRuleApproved, c.confirmRule),
		c.getIn("/limits/new", c.newLimitPage),
		c.postIn("/limits", audit.PayoutLimitCreated, c.setLimit),
		c.postIn("/limits/{id}/remove", audit.PayoutLimitRemoved, c.removeLimit),
	}
}

// guardList is a list of rules or limits on the page that protects payouts.
type guardList struct {
	Kind   string // rules or limits, as in its path
	Guards []guardView
}

// guardView is a rule or a limit, in a sentence.
type guardView struct {
	ID, Text   string
	ApprovalID string // the approval that its start, its end or a change waits for
	Waiting    string // what waits, or why it is not in effect, in words
	Holds      bool   // in effect, and not waiting for its own approval
	Suspended  bool   // until it is confirmed
}

// Remove returns the label of the button that removes it.
func (g guardView) Remove() string {
	if g.Holds || g.ApprovalID == "" {
		return "Remove"
	}
	return "Give up"
}

// guardNames contains the names of the objects in rules and limits, as far as the visitor may see them.
type guardNames struct {
	byID  map[string]string
	rails map[string]string
}

// of returns the name of an object, or its id if the visitor may not see it or it no longer exists.
func (n guardNames) of(id string) string {
	if name := n.byID[id]; name != "" {
		return name
	}
	return id
}

// guardMoney formats an amount of a rule or a limit. An amount in several currencies is shown as stored.
func guardMoney(cents int64, currency string) string {
	if currency == "" {
		return fmt.Sprintf("%d of the minor unit", cents)
	}
	return api.FormatAmount(cents, currency)
}

// guardPayouts returns the start of a sentence about the payouts of a mode.
func guardPayouts(mode string) string {
	switch mode {
	case api.ModeLive:
		return "Live payouts"
	case api.ModeSandbox:
		return "Sandbox payouts"
	}
	return "Payouts"
}

// scope describes the payouts that a rule or a limit applies to.
func (n guardNames) scope(accountID, rail, makerID, entryID string) (text string) {
	if accountID != "" {
		text += " from " + n.of(accountID)
	}
	if entryID != "" {
		text += " to " + n.of(entryID)
	}
	if rail != "" {
		text += " by " + n.rails[rail]
	}
	if makerID != "" {
		text += " that " + n.of(makerID) + " makes"
	}
	return text
}

// rule describes a rule: the payouts that it applies to, and its requirements.
func (n guardNames) rule(u api.ApprovalRule) string {
	text := guardPayouts(u.Mode)
	all := text
	switch {
	case u.AboveCents != nil && u.UpToCents != nil:
		text += " above " + guardMoney(*u.AboveCents, u.Currency) + ", up to " + guardMoney(*u.UpToCents, u.Currency) + ","
	case u.AboveCents != nil:
		text += " above " + guardMoney(*u.AboveCents, u.Currency)
	case u.UpToCents != nil:
		text += " up to " + guardMoney(*u.UpToCents, u.Currency)
	}
	if u.Per == api.LimitPerDay {
		text = all + " that bring the sum of a day" + eachText(u.Each) + " above " + guardMoney(*u.AboveCents, u.Currency)
	}
	if text += n.scope(u.AccountID, u.Rail, u.ClientID, ""); text == all {
		text = "All " + strings.ToLower(all)
	}
	switch u.Approvals {
	case 0:
		return text + " need no approval."
	case 1:
		text += " need one approval"
	default:
		text += fmt.Sprintf(" need %d approvals", u.Approvals)
	}
	if u.Role != "" {
		text += " by people with the role " + n.of(u.Role)
	}
	if u.KeysMayApprove {
		text += ", which may come from their API keys"
	}
	return text + "."
}

// limit describes how much a limit allows.
func (n guardNames) limit(l api.PayoutLimit) string {
	scope := n.scope(l.AccountID, l.Rail, l.MakerID, l.EntryID)
	if l.Per == api.LimitPerPayout {
		return "One " + strings.TrimSuffix(strings.ToLower(guardPayouts(l.Mode)), "s") + scope + " is at most " + guardMoney(l.AmountCents, l.Currency) + "."
	}
	text := "On one day, all " + strings.ToLower(guardPayouts(l.Mode)) + scope
	if l.Each != "" {
		text += eachText(l.Each)
	}
	text += " together are at most " + guardMoney(l.AmountCents, l.Currency)
	if l.Count > 0 {
		text += fmt.Sprintf(", and no more than %d payouts", l.Count)
	}
	return text + "."
}

// eachText describes what a limit is counted by.
func eachText(each string) string {
	switch each {
	case api.EachAccount:
		return " from any one account"
	case api.EachMaker:
		return " that any one person or client makes"
	}
	return " to any one payee"
}

// guardNames reads the names of accounts, members, clients and roles, and of the payees of limits.
func (v *visit) guardNames(limits []api.PayoutLimit) (guardNames, error) {
	n := guardNames{byID: map[string]string{}, rails: map[string]string{}}
	for _, r := range v.console.Rails.All() {
		n.rails[r.Name] = r.Title
	}
	accounts, err := v.accounts()
	if err != nil {
		return n, err
	}
	for _, a := range accounts {
		n.byID[a.ID] = a.Name
	}
	if v.can(access.MembersRead) {
		members, err := v.members()
		if err != nil {
			return n, err
		}
		for _, m := range members {
			n.byID[m.ID] = m.Name
			if m.Name == "" {
				n.byID[m.ID] = m.Email
			}
		}
		roles, err := v.roles()
		if err != nil {
			return n, err
		}
		for _, r := range roles {
			n.byID[r.Key] = r.Name
		}
	}
	for _, l := range limits {
		if l.EntryID == "" || n.byID[l.EntryID] != "" || !v.can(access.DirectoryRead) {
			continue
		}
		e, err := read(v, v.console.Directory.Show, directory.ShowInput{ID: l.EntryID})
		if err != nil && !hasCode(err, api.CodeEntryNotFound) { // otherwise it was deleted since
			return n, err
		}
		n.byID[l.EntryID] = e.Label
	}
	return n, nil
}

func (c *Console) rulesPage(v *visit) error {
	var approvals, most []guardView
	rules, err := read(v, c.Rules.ListRules, control.ListInput{WorkspaceID: &v.workspace.ID})
	if err != nil {
		return err
	}
	limits, err := read(v, c.Rules.ListLimits, control.ListInput{WorkspaceID: &v.workspace.ID})
	if err != nil {
		return err
	}
	names, err := v.guardNames(limits.Rows())
	if err != nil {
		return err
	}
	for _, u := range rules.Rows() {
		one := guardView{ID: u.ID, Text: names.rule(u), ApprovalID: u.ApprovalID, Holds: u.Status == api.RuleActive, Waiting: "It does not hold until somebody else approves it."}
		if one.Holds {
			one.Waiting = "Its removal waits for somebody else's approval. Until then it holds."
		}
		if u.Status == api.RuleSuspended {
			one.Suspended = u.ApprovalID == ""
			one.Waiting = "It's suspended, because one person alone made it and a second one has joined. Confirm it if it's right."
			if u.SuspendedBecause == api.RuleClientSecret {
				one.Waiting = "It's suspended, because the machine client has a new secret from someone else. Confirm it if it's right."
			}
			if u.ApprovalID != "" {
				one.Waiting = "It's suspended until another person approves it."
			}
		}
		approvals = append(approvals, one)
	}
	for _, l := range limits.Rows() {
		most = append(most, guardView{ID: l.ID, Text: names.limit(l), ApprovalID: l.ApprovalID, Holds: true,
			Waiting: "A higher limit, or its removal, waits for somebody else's approval. Until then this one holds."})
	}
	return v.show("rules", "Payout rules", []guardList{{"rules", approvals}, {"limits", most}})
}

func (c *Console) removeRule(v *visit) error {
	gone, err := change(v, c.Rules.RemoveRule, control.Input{ID: v.R.PathValue("id")})
	return v.guardRemoved(err, "Rule", gone.ApprovalID)
}

func (c *Console) confirmRule(v *visit) error {
	kept, err := change(v, c.Rules.ConfirmRule, control.Input{ID: v.R.PathValue("id")})
	switch {
	case err == nil && kept.ApprovalID != "":
		return v.done("The rule stays suspended until another person approves it.", v.path("rules"))
	case err == nil:
		return v.done("Rule confirmed.", v.path("rules"))
	}
	return v.guardRemoved(err, "Rule", "")
}

func (c *Console) removeLimit(v *visit) error {
	gone, err := change(v, c.Rules.RemoveLimit, control.Input{ID: v.R.PathValue("id")})
	return v.guardRemoved(err, "Limit", gone.ApprovalID)
}

// guardRemoved redirects to the rules, or shows them again with the problems of a form.
func (v *visit) guardRemoved(err error, what, approvalID string) error {
	switch {
	case err == nil && approvalID != "":
		return v.done("Payouts are guarded less without it, so its removal waits for a second person's approval.", v.path("rules"))
	case err == nil:
		return v.done(what+" removed.", v.path("rules"))
	}
	return v.again(err, v.console.rulesPage)
}
