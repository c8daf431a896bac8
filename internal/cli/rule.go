package cli

import (
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/spf13/cobra"

	"bursar/api"
	"bursar/client"
	"bursar/internal/cli/term"
)

func newRules(r *remote) *cobra.Command {
	return commandGroup(&cobra.Command{
		Use: "rules", Aliases: []string{"rule"},
		Short: "Say who has to approve payouts",
		Long: `Rules say how many people have to approve payouts, by amount, account, rail
and machine client. Of the rules that match a payout the most demanding holds.
Without a rule a payout takes one approval as soon as the workspace has two
people of whom one may make payouts and another one may approve them.

A rule that demands more holds at once, for payouts that are made from then
on. One that demands less, and the end of a rule, wait for another person.`,
		Example: `  bursar rules list
  bursar rules add --above 100,000.00 --approvals 2
  bursar rules add --per day --each payee --above 50,000.00 --approvals 1
  bursar rules add --client payroll-bot --up-to 5,000.00 --approvals 0`,
	}, newRuleList(r), newRuleAdd(r), newRuleConfirm(r), newRuleRemove(r))
}

// rules finds rules by id.
func rules() *resource[api.ApprovalRule] {
	return &resource[api.ApprovalRule]{
		noun: "rule",
		list: func(c *call, at string, _ client.ListParams) iter.Seq2[api.ApprovalRule, error] {
			return c.ApprovalRules.All(c, at)
		},
		item: func(u api.ApprovalRule) item {
			return item{id: u.ID, line: u.ID + "  " + ruleText(u), word: described(u.ID, ruleText(u))}
		},
	}
}

// ruleText describes the payouts that a rule applies to.
func ruleText(u api.ApprovalRule) string {
	var parts []string
	for _, part := range []struct {
		name  string
		cents *int64
	}{{"above ", u.AboveCents}, {"up to ", u.UpToCents}} {
		if part.cents != nil {
			parts = append(parts, part.name+guardAmountText(term.Format{}, *part.cents, u.Currency))
		}
	}
	if u.Per == api.LimitPerDay {
		parts = append(parts, "a day for each "+u.Each)
	}
	for _, part := range [][2]string{{"from ", u.AccountID}, {"over ", u.Rail}, {"by ", u.ClientID}} {
		if part[1] != "" {
			parts = append(parts, part[0]+part[1])
		}
	}
	what := guardModeText(u.Mode) + "payouts"
	if len(parts) == 0 {
		return "all " + what
	}
	return what + " " + strings.Join(parts, " ")
}

// guardModeText returns the start of a text about payouts of a mode.
func guardModeText(mode string) string {
	if mode == api.GuardBothModes {
		return ""
	}
	return mode + " "
}

// guardAmountText formats an amount of a rule or a limit. An amount in several currencies is shown as stored.
func guardAmountText(f term.Format, cents int64, currency string) string {
	switch {
	case currency == "" && f.CSV:
		return fmt.Sprint(cents)
	case currency == "":
		return fmt.Sprintf("%d of the minor unit", cents)
	}
	return amountText(f, cents, currency)
}

// guardAmount parses an amount of a rule or a limit, if there is one. Its currency is that of the account or, without one, that of all
// accounts of the workspace. If those have several, the currency has to be typed.
func guardAmount(c *call, typed typedAmount, from *api.Account) (*int64, error) {
	if typed == "" {
		return nil, nil
	}
	currency, err := guardCurrency(c, from)
	if err != nil {
		return nil, err
	}
	cents, meant, err := parseAmount(string(typed), currency)
	switch {
	case err != nil:
	case meant == "":
		err = fmt.Errorf("say in which currency %s is, such as PHP 1,500.00", typed)
	case currency != "" && meant != currency:
		err = fmt.Errorf("it is about payouts in %s, not in %s", currency, meant)
	}
	if err != nil {
		return nil, term.Usage(err)
	}
	return &cents, nil
}

// guardCurrency returns the currency of an account or, without one, that of all accounts of the workspace. It is empty if those have
// several, or for a person who may set limits but not see accounts.
func guardCurrency(c *call, from *api.Account) (currency string, err error) {
	if from != nil {
		return from.Currency, nil
	}
	for a, err := range c.Accounts.All(c, c.workspace.ID, client.ListParams{}) {
		var refused *client.Error
		if errors.As(err, &refused) && refused.Permission() != "" {
			return currency, nil
		}
		if err != nil {
			return "", fmt.Errorf("list the accounts: %w", err)
		}
		if currency != "" && currency != a.Currency {
			return "", nil
		}
		currency = a.Currency
	}
	return currency, nil
}

func newRuleList(r *remote) *cobra.Command {
	return rules().newList(r, &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List the rules for approvals of payouts",
		Example: `  bursar rules list
  bursar rules list --json`,
	}, &term.Table{Columns: []string{"for", "approvals", "role", "status", "waits for", "id"},
		Detail: []string{"waits for", "role"}, Empty: "There are no rules."}, func(_ *call, u api.ApprovalRule) []string {
		return []string{ruleText(u), fmt.Sprint(u.Approvals), u.Role, u.Status, u.ApprovalID, u.ID}
	})
}

// ruleAddition are the inputs of 'rules add'.
type ruleAddition struct {
	Approvals *int64             `flag:"approvals" usage:"how many people have to approve, 0 to 3 (required)"`
	Above     typedAmount        `flag:"above" usage:"for payouts of more than this"`
	UpTo      typedAmount        `flag:"up-to" usage:"for payouts of this at most"`
	Mode      string             `flag:"mode" usage:"for payouts of this mode: sandbox, live or both (default both)" words:"sandbox,live,both"`
	Per       string             `flag:"per" usage:"whether --above is for each payout or a day's sum: payout or day" words:"payout,day"`
	Each      string             `flag:"each" usage:"whose sum of the day: maker or payee; with --per day" words:"maker,payee"`
	From      *api.Account       `flag:"from" usage:"for payouts from this account"`
	Rail      railName           `flag:"rail" usage:"for payouts over this rail"`
	Client    *api.MachineClient `flag:"client" usage:"for payouts that this machine client makes"`
	Role      *api.Role          `flag:"role" usage:"role that every approver must have"`
	Keys      bool               `flag:"keys-may-approve" usage:"let sessions of people's API keys approve"`
}

func (a *ruleAddition) check() error {
	if a.Approvals == nil || *a.Approvals < 0 || *a.Approvals > 3 {
		return term.Usagef("--approvals is required, and is 0, 1, 2 or 3")
	}
	return nil
}

func (a *ruleAddition) params(c *call) (p client.ApprovalRuleParams, err error) {
	p = client.ApprovalRuleParams{WorkspaceID: &c.workspace.ID, Mode: notEmpty(a.Mode), Per: notEmpty(a.Per), Each: notEmpty(a.Each),
		Rail: notEmpty(string(a.Rail)), Approvals: a.Approvals}
	if a.Keys {
		p.KeysMayApprove = &a.Keys
	}
	if a.From != nil {
		p.AccountID = &a.From.ID
	}
	if a.Client != nil {
		p.ClientID = &a.Client.ID
	}
	if a.Role != nil {
		p.Role = &a.Role.Key
	}
	if p.AboveCents, err = guardAmount(c, a.Above, a.From); err != nil {
		return p, err
	}
	p.UpToCents, err = guardAmount(c, a.UpTo, a.From)
	return p, err
}

func newRuleAdd(r *remote) *cobra.Command {
	var in ruleAddition
	return newCommand(r, inWorkspace, &in, &cobra.Command{
		Use: "add --approvals N", Aliases: []string{"create"}, Short: "Add a rule",
		Long: `Add a rule and print its id. Whatever is left out matches every payout. One
that demands less than what holds without it waits for another person.`,
		Example: `  bursar rules add --above 100,000.00 --approvals 2 --role treasurer
  bursar rules add --client payroll-bot --up-to 5,000.00 --approvals 0`,
	}, func(c *call) error {
		p, err := in.params(c)
		if err != nil {
			return err
		}
		made, err := c.ApprovalRules.Create(c, p)
		if err != nil {
			return fmt.Errorf("add the rule: %w", err)
		}
		if made.ApprovalID != "" {
			c.say("The rule demands less than what holds now, and waits for approval %s.", made.ApprovalID)
		} else {
			c.say("From now on %s take %s.", ruleText(*made), counted(int(made.Approvals), "approval", "approvals"))
		}
		return c.writeLine(made, made.ID)
	})
}

func newRuleConfirm(r *remote) *cobra.Command {
	var in struct{ Rule api.ApprovalRule }
	return newCommand(r, inWorkspace, &in, &cobra.Command{
		Use: "confirm RULE", Short: "Confirm a suspended rule",
		Long: `Confirm a suspended rule by its id, so that it holds again. That waits for
another person, where there is one who could approve it.`,
		Example: `  bursar rules confirm rul_01jd3a1b2c3d4e5f6g7h8j9k0m`,
	}, func(c *call) error {
		kept, err := c.ApprovalRules.Confirm(c, in.Rule.ID)
		if err != nil {
			return fmt.Errorf("confirm the rule: %w", err)
		}
		if kept.ApprovalID != "" {
			c.say("The rule for %s waits for approval %s. Until then it does not hold.", ruleText(*kept), kept.ApprovalID)
		} else {
			c.say("The rule for %s holds.", ruleText(*kept))
		}
		return c.done(kept)
	})
}

func newRuleRemove(r *remote) *cobra.Command {
	var in struct{ Rule api.ApprovalRule }
	return newCommand(r, inWorkspace, &in, &cobra.Command{
		Use: "remove RULE", Aliases: []string{"rm"}, Short: "Remove a rule",
		Long: `Remove a rule by its id. Where payouts need fewer approvals without it, that
waits for another person.`,
		Example: `  bursar rules remove rul_01jd3a1b2c3d4e5f6g7h8j9k0m`,
	}, func(c *call) error {
		gone, err := c.ApprovalRules.Delete(c, in.Rule.ID)
		if err != nil {
			return fmt.Errorf("remove the rule: %w", err)
		}
		c.sayRemoved("rule for "+ruleText(*gone), gone.ApprovalID)
		return c.done(gone)
	})
}

// sayRemoved reports that a rule or a limit is removed, or that its removal waits for another person.
func (c *call) sayRemoved(what, approvalID string) {
	if approvalID != "" {
		c.say("The end of the %s waits for approval %s. Until then it holds.", what, approvalID)
	} else {
		c.say("Removed the %s.", what)
	}
}

func newLimits(r *remote) *cobra.Command {
	return commandGroup(&cobra.Command{
		Use: "limits", Aliases: []string{"limit"},
		Short: "Say how much may be paid",
		Long: `Limits say how much one payout may be, or how much and how many payouts one
day in Manila may have: altogether, or for an account, a maker, a payee or a
rail. Every limit that matches a payout holds.

A new or lower limit holds at once. A higher one, and the end of a limit, wait
for another person.`,
		Example: `  bursar limits list
  bursar limits add --per payout --amount 250,000.00
  bursar limits add --per day --each payee --amount 100,000.00`,
	}, newLimitList(r), newLimitAdd(r), newLimitRemove(r))
}

// limits finds limits by id.
func limits() *resource[api.PayoutLimit] {
	return &resource[api.PayoutLimit]{
		noun: "limit",
		list: func(c *call, at string, _ client.ListParams) iter.Seq2[api.PayoutLimit, error] {
			return c.PayoutLimits.All(c, at)
		},
		item: func(l api.PayoutLimit) item {
			return item{id: l.ID, line: l.ID + "  " + limitText(l), word: described(l.ID, limitText(l))}
		},
	}
}

// limitText describes the payouts that a limit applies to.
func limitText(l api.PayoutLimit) string {
	text := "a " + guardModeText(l.Mode) + "payout"
	if l.Per == api.LimitPerDay {
		text = strings.TrimSuffix("a day of "+guardModeText(l.Mode)+"payouts", " of payouts")
	}
	if l.Each != "" {
		text += " for each " + l.Each
	}
	for _, part := range [][2]string{{" from ", l.AccountID}, {" made by ", l.MakerID}, {" to ", l.EntryID}, {" over ", l.Rail}} {
		if part[1] != "" {
			text += part[0] + part[1]
		}
	}
	return text
}

// limitAmountText describes a limit: how much, and for which payouts.
func limitAmountText(l api.PayoutLimit) string {
	return guardAmountText(term.Format{}, l.AmountCents, l.Currency) + " " + limitText(l)
}

func newLimitList(r *remote) *cobra.Command {
	return limits().newList(r, &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List the limits of payouts",
		Example: `  bursar limits list
  bursar limits list --json`,
	}, &term.Table{Columns: []string{"limit", "amount", "count", "waits for", "id"},
		Detail: []string{"waits for", "count"}, Empty: "There are no limits."}, func(c *call, l api.PayoutLimit) []string {
		count := ""
		if l.Count > 0 {
			count = fmt.Sprint(l.Count)
		}
		return []string{limitText(l), guardAmountText(c.format, l.AmountCents, l.Currency), count, l.ApprovalID, l.ID}
	})
}

// limitAddition are the inputs of 'limits add'.
type limitAddition struct {
	Per    string       `flag:"per" usage:"what it is for: payout or day (required)" words:"payout,day" required:"true"`
	Amount typedAmount  `flag:"amount" usage:"how much at most (required)" required:"true"`
	Count  *int64       `flag:"count" usage:"how many payouts at most; with --per day"`
	Each   string       `flag:"each" usage:"the limit holds for each account, maker or payee by itself; with --per day" words:"account,maker,payee"`
	From   *api.Account `flag:"from" usage:"for payouts from this account"`
	Mode   string       `flag:"mode" usage:"for payouts of this mode: sandbox, live or both (default both)" words:"sandbox,live,both"`
	Maker  *api.Member  `flag:"maker" usage:"for payouts that this member makes"`
	To     *api.Entry   `flag:"to" usage:"for payouts to this entry of the directory"`
	Rail   railName     `flag:"rail" usage:"for payouts over this rail"`
}

func (a *limitAddition) check() error {
	if a.Per == api.LimitPerPayout && (a.Each != "" || a.Count != nil) {
		return term.Usagef("--count and --each are for limits by day: give --per day")
	}
	return nil
}

func (a *limitAddition) params(c *call) (p client.PayoutLimitParams, err error) {
	p = client.PayoutLimitParams{WorkspaceID: &c.workspace.ID, Mode: notEmpty(a.Mode), Per: a.Per, Each: notEmpty(a.Each),
		Rail: notEmpty(string(a.Rail)), Count: a.Count}
	if a.From != nil {
		p.AccountID = &a.From.ID
	}
	if a.To != nil {
		p.EntryID = &a.To.ID
	}
	if a.Maker != nil {
		p.MakerID = &a.Maker.ID
	}
	p.AmountCents, err = guardAmount(c, a.Amount, a.From)
	return p, err
}

func newLimitAdd(r *remote) *cobra.Command {
	var in limitAddition
	return newCommand(r, inWorkspace, &in, &cobra.Command{
		Use: "add --per payout|day --amount AMOUNT", Aliases: []string{"set"}, Short: "Add a limit, or change the one of the same scope",
		Long: `Add a limit and print its id. Whatever is left out matches every payout. If
there is a limit of the same scope, it gets the new amount and count; where
that is more than before, it waits for another person.`,
		Example: `  bursar limits add --per payout --amount 250,000.00
  bursar limits add --per day --from Payroll --amount "PHP 2,000,000" --count 500`,
	}, func(c *call) error {
		p, err := in.params(c)
		if err != nil {
			return err
		}
		made, err := c.PayoutLimits.Set(c, p)
		if err != nil {
			return fmt.Errorf("add the limit: %w", err)
		}
		limit := limitAmountText(*made)
		if made.ApprovalID != "" {
			c.say("More than before waits for approval %s; until then at most %s.", made.ApprovalID, limit)
		} else {
			c.say("From now on at most %s.", limit)
		}
		return c.writeLine(made, made.ID)
	})
}

func newLimitRemove(r *remote) *cobra.Command {
	var in struct{ Limit api.PayoutLimit }
	return newCommand(r, inWorkspace, &in, &cobra.Command{
		Use: "remove LIMIT", Aliases: []string{"rm"}, Short: "Remove a limit",
		Long: `Remove a limit by its id. That waits for another person, where there is one
who could approve it.`,
		Example: `  bursar limits remove lim_01jd3a1b2c3d4e5f6g7h8j9k0m`,
	}, func(c *call) error {
		gone, err := c.PayoutLimits.Delete(c, in.Limit.ID)
		if err != nil {
			return fmt.Errorf("remove the limit: %w", err)
		}
		c.sayRemoved("limit of "+limitAmountText(*gone), gone.ApprovalID)
		return c.done(gone)
	})
}
