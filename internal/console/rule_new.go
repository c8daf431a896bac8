package console

import (
	"cmp"
	"slices"
	"strconv"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/directory"
	"bursar/internal/fault"
	"bursar/internal/payout/control"
)

// ruleForm is the form of a new rule.
type ruleForm struct {
	Above, UpTo, Approvals         string // as typed
	Mode, Sum                      string // which payouts, and whose daily sum
	KeysMay                        bool
	Accounts, Rails, Makers, Roles []choice
}

// guardChoices lists the accounts and rails to choose for rules and limits.
func (v *visit) guardChoices(account, rail string) (accounts, rails []choice, err error) {
	all, err := v.accounts()
	all = slices.DeleteFunc(all, func(a api.Account) bool { return a.Status == api.AccountClosed })
	return accountChoices(all, account), v.console.railChoices(rail), err
}

// makerChoices lists the members who create payouts, or only the machine clients among them.
func (v *visit) makerChoices(machines bool, chosen string) (list []choice, err error) {
	if !v.can(access.MembersRead) {
		return nil, nil
	}
	members, err := v.members()
	for _, m := range members {
		if m.Status == "active" && (isMachine(m) || !machines) {
			text := m.Name
			if text == "" {
				text = m.Email
			}
			list = append(list, choice{m.ID, text, m.ID == chosen})
		}
	}
	return list, err
}

// guardMode returns the chosen mode. The default for a new rule or limit is the mode of the workspace's accounts, if they all have the
// same.
func (v *visit) guardMode() (mode string, err error) {
	if mode = v.field("mode"); mode != "" {
		return mode, nil
	}
	accounts, err := v.accounts()
	for _, a := range accounts {
		if mode != "" && mode != a.Mode {
			return api.GuardBothModes, err
		}
		mode = a.Mode
	}
	return cmp.Or(mode, api.GuardBothModes), err
}

func (v *visit) ruleForm() (f ruleForm, err error) {
	if err := v.need(access.WSWrite); err != nil {
		return f, err
	}
	f = ruleForm{Above: v.field("above_cents"), UpTo: v.field("up_to_cents"), Approvals: v.field("approvals"), KeysMay: v.field("keys_may_approve") != "",
		Sum: v.field("each")}
	if f.Mode, err = v.guardMode(); err != nil {
		return f, err
	}
	if f.Approvals == "" {
		f.Approvals = "1"
	}
	if f.Accounts, f.Rails, err = v.guardChoices(v.field("account_id"), v.field("rail")); err != nil {
		return f, err
	}
	if f.Makers, err = v.makerChoices(true, v.field("client_id")); err != nil || !v.can(access.MembersRead) {
		return f, err
	}
	roles, err := v.roles()
	for _, r := range roles {
		if permissionSet(r.Permissions).Has(access.PayoutsApprove) {
			f.Roles = append(f.Roles, choice{r.Key, r.Name, r.Key == v.field("role")})
		}
	}
	return f, err
}

func (c *Console) newRulePage(v *visit) error {
	f, err := v.ruleForm()
	if err != nil {
		return err
	}
	return v.show("rules_new", "Add a rule", f)
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

// typedCents parses an optional amount.
func typedCents(wrong *fault.Violations, field, text, currency string) *int64 {
	if text == "" {
		return nil
	}
	if currency == "" {
		wrong.Add(field, "has no currency yet: choose an account or a rail")
		return nil
	}
	cents, err := api.ParseAmount(text, currency)
	if err != nil {
		wrong.Add(field, "must be a number such as 1,500.00")
	}
	return &cents
}

func (c *Console) addRule(v *visit) error {
	f, err := v.ruleForm()
	if err != nil {
		return err
	}
	currency, err := v.guardCurrency()
	if err != nil {
		return err
	}
	var wrong fault.Violations
	in := control.RuleInput{ApprovalRuleCreate: api.ApprovalRuleCreate{
		WorkspaceID: &v.workspace.ID, Mode: &f.Mode, AccountID: optional(v.field("account_id")), Rail: optional(v.field("rail")), ClientID: optional(v.field("client_id")),
		AboveCents: typedCents(&wrong, "above_cents", f.Above, currency), UpToCents: typedCents(&wrong, "up_to_cents", f.UpTo, currency),
		Role: optional(v.field("role")), KeysMayApprove: &f.KeysMay,
	}}
	if in.Each = optional(f.Sum); f.Sum != "" {
		in.Per = new(api.LimitPerDay)
	}
	n, notNumber := strconv.ParseInt(f.Approvals, 10, 64)
	if in.Approvals = &n; notNumber != nil {
		wrong.Add("approvals", "must be chosen")
	}
	if in.AboveCents != nil && in.UpToCents != nil && *in.UpToCents <= *in.AboveCents {
		wrong.Add("up_to_cents", "must be more than the amount above which the rule begins")
	}
	var made api.ApprovalRule
	if err = wrong.Err(); err == nil {
		one, failed := change(v, c.Rules.CreateRule, in)
		made, err = one.Value, failed
	}
	if p, status, ok := formProblems(err, "mode", "each", "approvals", "role", "above_cents", "up_to_cents", "account_id", "rail", "client_id"); ok {
		return v.showAgain(status, "rules_new", "Add a rule", p, f)
	}
	switch {
	case err != nil:
		return err
	case made.ApprovalID != "":
		return v.done("This rule demands less than what holds now, so it waits for a second person's approval.", v.path("rules"))
	}
	return v.done("Rule added. It holds for payouts that are made from now on.", v.path("rules"))
}

// limitForm is the form of a limit.
type limitForm struct {
	Mode                     string
	Per, Each, Amount, Count string
	EntryID, Payee           string // the payee that it applies to
	Accounts, Rails, Makers  []choice
}

func (v *visit) limitForm(entryID string) (f limitForm, err error) {
	if err := v.need(access.WSWrite); err != nil {
		return f, err
	}
	f = limitForm{Per: v.field("per"), Each: v.field("each"), Amount: v.field("amount_cents"), Count: v.field("count"), EntryID: entryID}
	if f.Mode, err = v.guardMode(); err != nil {
		return f, err
	}
	if f.Accounts, f.Rails, err = v.guardChoices(v.field("account_id"), v.field("rail")); err != nil {
		return f, err
	}
	if f.Makers, err = v.makerChoices(false, v.field("maker_id")); err != nil || entryID == "" {
		return f, err
	}
	e, err := read(v, v.console.Directory.Show, directory.ShowInput{ID: entryID})
	if err == nil && e.WorkspaceID != v.workspace.ID {
		err = errNoPage
	}
	f.Payee = e.Label
	return f, err
}

func (c *Console) newLimitPage(v *visit) error {
	f, err := v.limitForm(v.R.URL.Query().Get("entry_id"))
	if err != nil {
		return err
	}
	return v.show("rules_limit", "Set a limit", f)
}

func (c *Console) setLimit(v *visit) error {
	f, err := v.limitForm(v.field("entry_id"))
	if err != nil {
		return err
	}
	currency, err := v.guardCurrency()
	if err != nil {
		return err
	}
	var wrong fault.Violations
	in := control.LimitInput{PayoutLimitSet: api.PayoutLimitSet{
		WorkspaceID: &v.workspace.ID, Mode: &f.Mode, AccountID: optional(v.field("account_id")), MakerID: optional(v.field("maker_id")), EntryID: optional(f.EntryID), Rail: optional(v.field("rail")),
		Per: f.Per, Each: optional(f.Each), AmountCents: typedCents(&wrong, "amount_cents", f.Amount, currency),
	}}
	if f.Amount == "" {
		wrong.Add("amount_cents", "must be given")
	}
	if f.Count != "" {
		n, err := strconv.ParseInt(f.Count, 10, 64)
		if in.Count = &n; err != nil {
			wrong.Add("count", "must be a whole number")
		}
	}
	if f.Per == api.LimitPerPayout && (in.Count != nil || in.Each != nil) {
		wrong.Add("per", "must be a day if the limit counts payouts or holds for each by itself")
	}
	var made api.PayoutLimit
	if err = wrong.Err(); err == nil {
		one, failed := change(v, c.Rules.SetLimit, in)
		made, err = one.Value, failed
	}
	if p, status, ok := formProblems(err, "mode", "per", "amount_cents", "count", "each", "account_id", "rail", "maker_id"); ok {
		return v.showAgain(status, "rules_limit", "Set a limit", p, f)
	}
	switch {
	case err != nil:
		return err
	case made.ApprovalID != "":
		return v.done("This allows more than the limit that holds now, so it waits for a second person's approval.", v.path("rules"))
	}
	return v.done("Limit set. It holds from now on.", v.path("rules"))
}
