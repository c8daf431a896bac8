package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
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

// guardModes are the values of --mode.
var guardModes = []string{api.ModeSandbox, api.ModeLive, api.GuardBothModes}

// rulePers and ruleEachs are the values of --per and --each of rules.
var (
	rulePers  = []string{api.LimitPerPayout, api.LimitPerDay}
	ruleEachs = []string{api.EachMaker, api.EachPayee}
)

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

// guardAmount parses an amount of a rule or a limit. Its currency is that of the account or, without one, that of all accounts of the
// workspace. If those have several, the currency has to be typed.
func (s *session) guardAmount(ctx context.Context, text, workspaceID string, from api.Account) (*int64, error) {
	currency := from.Currency
	if currency == "" {
		for a, err := range s.Accounts.All(ctx, workspaceID, client.ListParams{}) {
			var refused *client.Error
			if errors.As(err, &refused) && refused.Permission() != "" {
				break // a person who may set limits but not see accounts types the currency
			}
			if err != nil {
				return nil, fmt.Errorf("list the accounts: %w", err)
			}
			if currency != "" && currency != a.Currency {
				currency = ""
				break
			}
			currency = a.Currency
		}
	}
	cents, meant, err := parseAmount(text, currency)
	switch {
	case err != nil:
	case meant == "":
		err = fmt.Errorf("say in which currency %s is, such as PHP 1,500.00", text)
	case currency != "" && meant != currency:
		err = fmt.Errorf("it is about payouts in %s, not in %s", currency, meant)
	}
	if err != nil {
		return nil, term.Usage(err)
	}
	return &cents, nil
}

func newRuleList(r *remote) *cobra.Command {
	return r.inWorkspace(listCommand(r.terminal, &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List the rules for approvals of payouts",
		Example: `  bursar rules list
  bursar rules list --json`,
	}, list[api.ApprovalRule]{
		noun: "rules",
		rows: func(ctx context.Context, _ int) (iter.Seq2[api.ApprovalRule, error], error) {
			s, w, err := r.connectWorkspace(ctx)
			if err != nil {
				return nil, err
			}
			return s.ApprovalRules.All(ctx, w.ID), nil
		},
		table: func(term.Format) *term.Table {
			return &term.Table{Columns: []string{"for", "approvals", "role", "status", "waits for", "id"}, Detail: []string{"waits for", "role"}, Empty: "There are no rules."}
		},
		cells: func(_ term.Format, u api.ApprovalRule) []string {
			return []string{ruleText(u), fmt.Sprint(u.Approvals), u.Role, u.Status, u.ApprovalID, u.ID}
		},
	}))
}

func newRuleAdd(r *remote) *cobra.Command {
	var f term.Format
	var mode, per, each, from, rail, machine, above, upTo, role string
	var approvals int64
	var keys bool
	c := &cobra.Command{
		Use: "add --approvals N", Aliases: []string{"create"}, Short: "Add a rule",
		Long: `Add a rule and print its id. Whatever is left out matches every payout. One
that demands less than what holds without it waits for another person.`,
		Example: `  bursar rules add --above 100,000.00 --approvals 2 --role treasurer
  bursar rules add --client payroll-bot --up-to 5,000.00 --approvals 0`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			p := client.ApprovalRuleParams{Mode: notEmpty(mode), Per: notEmpty(per), Each: notEmpty(each), Rail: notEmpty(rail), Approvals: &approvals}
			var problems []error
			if !c.Flags().Changed("approvals") || approvals < 0 || approvals > 3 {
				problems = append(problems, errors.New("--approvals is required, and is 0, 1, 2 or 3"))
			}
			for _, text := range []string{above, upTo} {
				if text != "" {
					_, _, err := parseAmount(text, anyCurrency)
					problems = append(problems, err)
				}
			}
			if err := errors.Join(append(problems, oneOf("mode", mode, guardModes), oneOf("per", per, rulePers), oneOf("each", each, ruleEachs))...); err != nil {
				return term.Usage(err)
			}
			if keys {
				p.KeysMayApprove = &keys
			}
			s, w, err := r.connectWorkspace(c.Context())
			if err != nil {
				return err
			}
			p.WorkspaceID = &w.ID
			var a api.Account
			if from != "" {
				if a, err = r.findAccount(c.Context(), s, from); err != nil {
					return err
				}
				p.AccountID = &a.ID
			}
			if above != "" {
				if p.AboveCents, err = s.guardAmount(c.Context(), above, w.ID, a); err != nil {
					return err
				}
			}
			if upTo != "" {
				if p.UpToCents, err = s.guardAmount(c.Context(), upTo, w.ID, a); err != nil {
					return err
				}
			}
			if machine != "" {
				m, err := s.findMachineClient(c.Context(), w.ID, machine)
				if err != nil {
					return err
				}
				p.ClientID = &m.ID
			}
			if role != "" {
				held, err := s.findRole(c.Context(), w.ID, role)
				if err != nil {
					return err
				}
				p.Role = &held.Key
			}
			made, err := s.ApprovalRules.Create(c.Context(), p)
			if err != nil {
				return fmt.Errorf("add the rule: %w", err)
			}
			text := fmt.Sprintf("From now on %s take %s", ruleText(*made), counted(int(made.Approvals), "approval", "approvals"))
			if made.ApprovalID != "" {
				text = "The rule demands less than what holds now, and waits for approval " + made.ApprovalID
			}
			if err := r.say("%s.", text); err != nil {
				return err
			}
			return f.Write(r.terminal, made, func(w io.Writer) error {
				_, err := fmt.Fprintln(w, made.ID)
				return err
			})
		},
	}
	flags := c.Flags()
	flags.Int64Var(&approvals, "approvals", 0, "how many people have to approve, 0 to 3 (required)")
	flags.StringVar(&above, "above", "", "for payouts of more than this")
	flags.StringVar(&upTo, "up-to", "", "for payouts of this at most")
	flags.StringVar(&mode, "mode", "", "for payouts of this mode: sandbox, live or both (default both)")
	flags.StringVar(&per, "per", "", "whether --above is for each payout or a day's sum: payout or day")
	flags.StringVar(&each, "each", "", "whose sum of the day: maker or payee; with --per day")
	flags.StringVar(&from, "from", "", "for payouts from this account")
	flags.StringVar(&rail, "rail", "", "for payouts over this rail")
	flags.StringVar(&machine, "client", "", "for payouts that this machine client makes")
	flags.StringVar(&role, "role", "", "role that every approver must have")
	flags.BoolVar(&keys, "keys-may-approve", false, "let sessions of people's API keys approve")
	completeFlag(c, "from", r.completeAccounts())
	completeFlag(c, "rail", r.completeRails())
	completeWords(c, "mode", guardModes)
	completeWords(c, "per", rulePers)
	completeWords(c, "each", ruleEachs)
	completeFlag(c, "client", r.completeMachineClients())
	completeFlag(c, "role", r.completeRoles())
	for _, flag := range []string{"approvals", "above", "up-to"} {
		completeFlag(c, flag, cobra.NoFileCompletions)
	}
	f.Bind(c, false)
	return r.inWorkspace(c)
}

// ruleCommand completes a command that finds a rule by its id and runs do.
func (r *remote) ruleCommand(c *cobra.Command, do func(ctx context.Context, s *session, id string) (*api.ApprovalRule, error)) *cobra.Command {
	var f term.Format
	c.Args = cobra.ExactArgs(1)
	c.ValidArgsFunction = byPosition(r.completeHere(func(ctx context.Context, s *session, workspaceID string) (words []string, err error) {
		for u, err := range s.ApprovalRules.All(ctx, workspaceID) {
			if err != nil {
				return nil, err
			}
			words = append(words, described(u.ID, ruleText(u)))
		}
		return words, nil
	}))
	c.RunE = func(c *cobra.Command, args []string) error {
		s, w, err := r.connectWorkspace(c.Context())
		if err != nil {
			return err
		}
		all, err := collect(s.ApprovalRules.All(c.Context(), w.ID))
		if err != nil {
			return fmt.Errorf("list the rules: %w", err)
		}
		list := make([]candidate[string], len(all))
		for i, u := range all {
			list[i] = candidate[string]{value: u.ID, id: u.ID, text: u.ID + "  " + ruleText(u)}
		}
		id, err := pick(c.Context(), s.terminal, "rule", args[0], list)
		if err != nil {
			return err
		}
		changed, err := do(c.Context(), s, id)
		if err != nil {
			return err
		}
		return f.Write(r.terminal, changed, nothing)
	}
	f.Bind(c, false)
	return r.inWorkspace(c)
}

func newRuleConfirm(r *remote) *cobra.Command {
	return r.ruleCommand(&cobra.Command{
		Use: "confirm RULE", Short: "Confirm a suspended rule",
		Long: `Confirm a suspended rule by its id, so that it holds again. That waits for
another person, where there is one who could approve it.`,
		Example: `  bursar rules confirm rul_01jd3a1b2c3d4e5f6g7h8j9k0m`,
	}, func(ctx context.Context, s *session, id string) (*api.ApprovalRule, error) {
		kept, err := s.ApprovalRules.Confirm(ctx, id)
		if err != nil {
			return nil, fmt.Errorf("confirm the rule: %w", err)
		}
		if kept.ApprovalID != "" {
			return kept, r.say("The rule for %s waits for approval %s. Until then it does not hold.", ruleText(*kept), kept.ApprovalID)
		}
		return kept, r.say("The rule for %s holds.", ruleText(*kept))
	})
}

func newRuleRemove(r *remote) *cobra.Command {
	return r.ruleCommand(&cobra.Command{
		Use: "remove RULE", Aliases: []string{"rm"}, Short: "Remove a rule",
		Long: `Remove a rule by its id. Where payouts need fewer approvals without it, that
waits for another person.`,
		Example: `  bursar rules remove rul_01jd3a1b2c3d4e5f6g7h8j9k0m`,
	}, func(ctx context.Context, s *session, id string) (*api.ApprovalRule, error) {
		gone, err := s.ApprovalRules.Delete(ctx, id)
		if err != nil {
			return nil, fmt.Errorf("remove the rule: %w", err)
		}
		return gone, r.sayRemoved("rule for "+ruleText(*gone), gone.ApprovalID)
	})
}

// sayRemoved reports that a rule or a limit is removed, or that its removal waits for another person.
func (r *remote) sayRemoved(what, approvalID string) error {
	if approvalID != "" {
		return r.say("The end of the %s waits for approval %s. Until then it holds.", what, approvalID)
	}
	return r.say("Removed the %s.", what)
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

func newLimitList(r *remote) *cobra.Command {
	return r.inWorkspace(listCommand(r.terminal, &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List the limits of payouts",
		Example: `  bursar limits list
  bursar limits list --json`,
	}, list[api.PayoutLimit]{
		noun: "limits",
		rows: func(ctx context.Context, _ int) (iter.Seq2[api.PayoutLimit, error], error) {
			s, w, err := r.connectWorkspace(ctx)
			if err != nil {
				return nil, err
			}
			return s.PayoutLimits.All(ctx, w.ID), nil
		},
		table: func(term.Format) *term.Table {
			return &term.Table{Columns: []string{"limit", "amount", "count", "waits for", "id"}, Detail: []string{"waits for", "count"}, Empty: "There are no limits."}
		},
		cells: func(f term.Format, l api.PayoutLimit) []string {
			count := ""
			if l.Count > 0 {
				count = fmt.Sprint(l.Count)
			}
			return []string{limitText(l), guardAmountText(f, l.AmountCents, l.Currency), count, l.ApprovalID, l.ID}
		},
	}))
}

func newLimitAdd(r *remote) *cobra.Command {
	var f term.Format
	var mode, per, each, amount, from, to, maker, rail string
	var count int64
	pers := []string{api.LimitPerPayout, api.LimitPerDay}
	eachs := []string{api.EachAccount, api.EachMaker, api.EachPayee}
	c := &cobra.Command{
		Use: "add --per payout|day --amount AMOUNT", Aliases: []string{"set"}, Short: "Add a limit, or change the one of the same scope",
		Long: `Add a limit and print its id. Whatever is left out matches every payout. If
there is a limit of the same scope, it gets the new amount and count; where
that is more than before, it waits for another person.`,
		Example: `  bursar limits add --per payout --amount 250,000.00
  bursar limits add --per day --from Payroll --amount "PHP 2,000,000" --count 500`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := require(c, "per", "amount"); err != nil {
				return err
			}
			_, _, err := parseAmount(amount, anyCurrency)
			if err != nil {
				err = term.Usage(err)
			}
			if per == api.LimitPerPayout && (each != "" || c.Flags().Changed("count")) {
				err = errors.Join(err, term.Usagef("--count and --each are for limits by day: give --per day"))
			}
			if err = errors.Join(oneOf("mode", mode, guardModes), oneOf("per", per, pers), oneOf("each", each, eachs), err); err != nil {
				return err
			}
			s, w, err := r.connectWorkspace(c.Context())
			if err != nil {
				return err
			}
			p := client.PayoutLimitParams{WorkspaceID: &w.ID, Mode: notEmpty(mode), Per: per, Each: notEmpty(each), Rail: notEmpty(rail)}
			if c.Flags().Changed("count") {
				p.Count = &count
			}
			var a api.Account
			if from != "" {
				if a, err = r.findAccount(c.Context(), s, from); err != nil {
					return err
				}
				p.AccountID = &a.ID
			}
			if p.AmountCents, err = s.guardAmount(c.Context(), amount, w.ID, a); err != nil {
				return err
			}
			if to != "" {
				e, err := r.findEntry(c.Context(), s, to)
				if err != nil {
					return err
				}
				p.EntryID = &e.ID
			}
			if maker != "" {
				m, err := s.findMember(c.Context(), w.ID, maker)
				if err != nil {
					return err
				}
				p.MakerID = &m.ID
			}
			made, err := s.PayoutLimits.Set(c.Context(), p)
			if err != nil {
				return fmt.Errorf("add the limit: %w", err)
			}
			text := "From now on at most " + guardAmountText(f, made.AmountCents, made.Currency) + " " + limitText(*made)
			if made.ApprovalID != "" {
				text = "More than before waits for approval " + made.ApprovalID + "; until then at most " + guardAmountText(f, made.AmountCents, made.Currency) + " " + limitText(*made)
			}
			if err := r.say("%s.", text); err != nil {
				return err
			}
			return f.Write(r.terminal, made, func(w io.Writer) error {
				_, err := fmt.Fprintln(w, made.ID)
				return err
			})
		},
	}
	flags := c.Flags()
	flags.StringVar(&per, "per", "", "what it is for: payout or day (required)")
	flags.StringVar(&amount, "amount", "", "how much at most (required)")
	flags.Int64Var(&count, "count", 0, "how many payouts at most; with --per day")
	flags.StringVar(&each, "each", "", "the limit holds for each account, maker or payee by itself; with --per day")
	flags.StringVar(&from, "from", "", "for payouts from this account")
	flags.StringVar(&mode, "mode", "", "for payouts of this mode: sandbox, live or both (default both)")
	flags.StringVar(&maker, "maker", "", "for payouts that this member makes")
	flags.StringVar(&to, "to", "", "for payouts to this entry of the directory")
	flags.StringVar(&rail, "rail", "", "for payouts over this rail")
	completeWords(c, "mode", guardModes)
	completeWords(c, "per", pers)
	completeWords(c, "each", eachs)
	completeFlag(c, "from", r.completeAccounts())
	completeFlag(c, "maker", r.completeMembers())
	completeFlag(c, "to", r.completeEntry(true))
	completeFlag(c, "rail", r.completeRails())
	completeFlag(c, "amount", cobra.NoFileCompletions)
	completeFlag(c, "count", cobra.NoFileCompletions)
	f.Bind(c, false)
	return r.inWorkspace(c)
}

func newLimitRemove(r *remote) *cobra.Command {
	var f term.Format
	c := &cobra.Command{
		Use: "remove LIMIT", Aliases: []string{"rm"}, Short: "Remove a limit",
		Long: `Remove a limit by its id. That waits for another person, where there is one
who could approve it.`,
		Example: `  bursar limits remove lim_01jd3a1b2c3d4e5f6g7h8j9k0m`,
		Args:    cobra.ExactArgs(1),
		ValidArgsFunction: byPosition(r.completeHere(func(ctx context.Context, s *session, workspaceID string) (words []string, err error) {
			for l, err := range s.PayoutLimits.All(ctx, workspaceID) {
				if err != nil {
					return nil, err
				}
				words = append(words, described(l.ID, limitText(l)))
			}
			return words, nil
		})),
		RunE: func(c *cobra.Command, args []string) error {
			s, w, err := r.connectWorkspace(c.Context())
			if err != nil {
				return err
			}
			all, err := collect(s.PayoutLimits.All(c.Context(), w.ID))
			if err != nil {
				return fmt.Errorf("list the limits: %w", err)
			}
			list := make([]candidate[string], len(all))
			for i, l := range all {
				list[i] = candidate[string]{value: l.ID, id: l.ID, text: l.ID + "  " + limitText(l)}
			}
			id, err := pick(c.Context(), s.terminal, "limit", args[0], list)
			if err != nil {
				return err
			}
			gone, err := s.PayoutLimits.Delete(c.Context(), id)
			if err != nil {
				return fmt.Errorf("remove the limit: %w", err)
			}
			if err := r.sayRemoved("limit of "+guardAmountText(f, gone.AmountCents, gone.Currency)+" "+limitText(*gone), gone.ApprovalID); err != nil {
				return err
			}
			return f.Write(r.terminal, gone, nothing)
		},
	}
	f.Bind(c, false)
	return r.inWorkspace(c)
}
