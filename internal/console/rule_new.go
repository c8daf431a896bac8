package console

import (
	"cmp"
	"slices"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/directory"
	"bursar/internal/fault"
	"bursar/internal/payout/control"
)

// guardPage is the form of a new rule or of a limit: what to choose from.
type guardPage struct {
	Accounts, Rails, Makers, Roles []choice
	EntryID, Payee                 string // the payee that a limit applies to
}

// guardPage lists the accounts, the rails and who makes payouts: the active members, or only the machine clients among them.
func (v *visit) guardPage(machines bool) (g guardPage, err error) {
	if err := v.need(access.WSWrite); err != nil {
		return g, err
	}
	accounts, err := v.accounts()
	if err != nil {
		return g, err
	}
	v.preset("mode", guardMode(accounts))
	accounts = slices.DeleteFunc(accounts, func(a api.Account) bool { return a.Status == api.AccountClosed })
	g = guardPage{Accounts: accountChoices(accounts), Rails: v.console.railChoices()}
	if !v.can(access.MembersRead) {
		return g, nil
	}
	members, err := v.members()
	for _, m := range members {
		if m.Status == "active" && (isMachine(m) || !machines) {
			g.Makers = append(g.Makers, choice{Value: m.ID, Text: cmp.Or(m.Name, m.Email)})
		}
	}
	return g, err
}

// guardMode returns the default mode of a new rule or limit: that of the workspace's accounts, if they all have the same.
func guardMode(accounts []api.Account) (mode string) {
	for _, a := range accounts {
		if mode != "" && mode != a.Mode {
			return api.GuardBothModes
		}
		mode = a.Mode
	}
	return cmp.Or(mode, api.GuardBothModes)
}

func (c *Console) newRulePage(v *visit) error {
	g, err := v.guardPage(true)
	if err != nil {
		return err
	}
	v.preset("approvals", "1")
	if !v.can(access.MembersRead) {
		return v.show("rules_new", "Add a rule", g)
	}
	roles, err := v.roles()
	if err != nil {
		return err
	}
	g.Roles = roleChoices(slices.DeleteFunc(roles, func(r api.Role) bool { return !permissionSet(r.Permissions).Has(access.PayoutsApprove) }))
	return v.show("rules_new", "Add a rule", g)
}

// guardCurrency returns the currency of the chosen account or rail, or of all rails. It is empty if they have several.
func (v *visit) guardCurrency() (string, error) {
	accounts, err := v.accounts()
	if a := accountsByID(accounts)[v.field("account_id")]; a.ID != "" || err != nil {
		return a.Currency, err
	}
	var all []string
	for _, r := range v.console.Rails.All() {
		if name := v.field("rail"); (name == "" || r.Name == name) && !slices.Contains(all, r.Currency) {
			all = append(all, r.Currency)
		}
	}
	if len(all) != 1 {
		return "", nil
	}
	return all[0], nil
}

func (c *Console) addRule(v *visit) error {
	if err := v.need(access.WSWrite); err != nil {
		return err
	}
	currency, err := v.guardCurrency()
	if err != nil {
		return err
	}
	in := control.RuleInput{ApprovalRuleCreate: api.ApprovalRuleCreate{WorkspaceID: &v.workspace.ID, KeysMayApprove: new(false)}}
	err = v.bind(&in, currency, func(wrong *fault.Violations) {
		if in.Each != nil {
			in.Per = new(api.LimitPerDay)
		}
		if in.AboveCents != nil && in.UpToCents != nil && *in.UpToCents <= *in.AboveCents {
			wrong.Add("up_to_cents", "must be more than the amount above which the rule begins")
		}
	})
	if err != nil {
		return v.again(err, c.newRulePage)
	}
	made, err := change(v, c.Rules.CreateRule, in)
	switch {
	case err != nil:
		return v.again(err, c.newRulePage)
	case made.Value.ApprovalID != "":
		return v.done("This rule demands less than what holds now, so it waits for a second person's approval.", v.path("rules"))
	}
	return v.done("Rule added. It holds for payouts that are made from now on.", v.path("rules"))
}

func (c *Console) newLimitPage(v *visit) error {
	g, err := v.guardPage(false)
	if err != nil {
		return err
	}
	v.preset("entry_id", v.R.URL.Query().Get("entry_id"))
	if g.EntryID = v.values.Get("entry_id"); g.EntryID == "" {
		return v.show("rules_limit", "Set a limit", g)
	}
	e, err := read(v, c.Directory.Show, directory.ShowInput{ID: g.EntryID})
	if err = v.here(e.WorkspaceID, err); err != nil {
		return err
	}
	g.Payee = e.Label
	return v.show("rules_limit", "Set a limit", g)
}

func (c *Console) setLimit(v *visit) error {
	if err := v.need(access.WSWrite); err != nil {
		return err
	}
	currency, err := v.guardCurrency()
	if err != nil {
		return err
	}
	in := control.LimitInput{PayoutLimitSet: api.PayoutLimitSet{WorkspaceID: &v.workspace.ID}}
	err = v.bind(&in, currency, func(wrong *fault.Violations) {
		if in.Per == api.LimitPerPayout && (in.Count != nil || in.Each != nil) {
			wrong.Add("per", "must be a day if the limit counts payouts or holds for each by itself")
		}
	})
	if err != nil {
		return v.again(err, c.newLimitPage)
	}
	made, err := change(v, c.Rules.SetLimit, in)
	switch {
	case err != nil:
		return v.again(err, c.newLimitPage)
	case made.Value.ApprovalID != "":
		return v.done("This allows more than the limit that holds now, so it waits for a second person's approval.", v.path("rules"))
	}
	return v.done("Limit set. It holds from now on.", v.path("rules"))
}
