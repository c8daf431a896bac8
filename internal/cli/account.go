package cli

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"bursar/api"
	"bursar/client"
	"bursar/internal/cli/term"
)

func newAccounts(r *remote) *cobra.Command {
	return commandGroup(&cobra.Command{
		Use: "accounts", Aliases: []string{"account"},
		Short: "Look after the money of a workspace",
		Long: `Accounts hold the money of a workspace, from which payouts are made. Of the
money of an account a part is available, a part is reserved for payouts that
are on their way, and a part is pending: a bank has announced it.

ACCOUNT is the name of an account, in upper or lower case, or its id. An
account is in the sandbox, where no real money moves, or live.

Amounts are typed as people write them: 1500, 1,500.00 or "PHP 1,500.00".`,
		Example: `  bursar accounts list
  bursar accounts statement Payroll --since 30d --csv
  bursar accounts transfer Treasury Payroll 250,000.00`,
	}, newAccountList(r), newAccountShow(r), newAccountCreate(r), newAccountRename(r), newAccountFreeze(r), newAccountUnfreeze(r), newAccountClose(r),
		newAccountStatement(r), newAccountTransfer(r), newAccountDeposits(r))
}

// accounts finds accounts. Without a name it finds the only account that is not closed.
func accounts() *resource[api.Account] {
	return &resource[api.Account]{
		noun: "account",
		list: func(c *call, at string, p client.ListParams) iter.Seq2[api.Account, error] {
			return c.Accounts.All(c, at, p)
		},
		item: func(a api.Account) item {
			return item{a.ID, []string{a.Name}, a.Name + "  " + marked(a.Mode, a.Status) + "  " + a.ID,
				described(a.Name, api.FormatAmount(a.AvailableBalance, a.Currency)+" available, "+marked(a.Mode, a.Status))}
		},
		direct: func(c *call, ref string) (api.Account, bool, error) {
			if !strings.HasPrefix(ref, "acc_") || term.IsShortID(ref) {
				return api.Account{}, false, nil
			}
			a, err := c.Accounts.Get(c, ref)
			if err != nil {
				return api.Account{}, false, fmt.Errorf("read the account %s: %w", term.Printable(ref), err)
			}
			return *a, true, nil
		},
		only: func(c *call, _ string) (api.Account, error) {
			all, err := accounts().all(c)
			if err != nil {
				return api.Account{}, err
			}
			open := slices.DeleteFunc(all, func(a api.Account) bool { return a.Status == api.AccountClosed })
			switch len(open) {
			case 0:
				return api.Account{}, errors.New("the workspace has no account: open one with 'bursar accounts create NAME'")
			case 1:
				return open[0], nil
			}
			return api.Account{}, term.Usagef("the workspace has several accounts: choose one with --from")
		},
	}
}

// marked adds 'sandbox' to the status of everything in the sandbox.
func marked(mode, status string) string {
	if mode == api.ModeSandbox {
		return status + " (sandbox)"
	}
	return status
}

func newAccountList(r *remote) *cobra.Command {
	return accounts().newList(r, &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List the accounts with their balances",
		Example: `  bursar accounts list
  bursar accounts list --jq '.[] | {name, available_balance}'`,
	}, &term.Table{Columns: []string{"name", "available", "reserved", "pending", "currency", "mode", "status", "id"},
		Detail: []string{"pending"},
		Empty:  "There are no accounts. Open one with 'bursar accounts create NAME'."}, func(c *call, a api.Account) []string {
		return []string{a.Name, amountText(c.format, a.AvailableBalance, a.Currency),
			amountText(c.format, a.ReservedBalance, a.Currency), amountText(c.format, a.PendingBalance, a.Currency), a.Currency,
			a.Mode, a.Status, a.ID}
	})
}

func newAccountShow(r *remote) *cobra.Command {
	var in struct{ Account api.Account }
	return newCommand(r, workspaceIfNeeded, &in, &cobra.Command{
		Use: "show ACCOUNT", Aliases: []string{"get"}, Short: "Show an account with its balances",
		Example: `  bursar accounts show Payroll
  bursar accounts show Payroll --jq .available_balance`,
	}, func(c *call) error {
		a := in.Account
		return c.writePairs(a, "Name", a.Name, "Id", a.ID, "Mode", a.Mode, "Status", a.Status,
			"Available", api.FormatAmount(a.AvailableBalance, a.Currency), "Reserved", api.FormatAmount(a.ReservedBalance, a.Currency),
			"Pending", api.FormatAmount(a.PendingBalance, a.Currency), "Total", api.FormatAmount(a.TotalBalance, a.Currency),
			"Created", localTime(a.CreatedAt))
	})
}

func newAccountCreate(r *remote) *cobra.Command {
	var in struct {
		Name     string
		Currency string `flag:"currency" usage:"its currency; default PHP"`
		Mode     string `flag:"mode" usage:"sandbox or live" words:"sandbox,live"`
	}
	return newCommand(r, inWorkspace, &in, &cobra.Command{
		Use: "create NAME", Short: "Open an account",
		Long: `Open an account and print its id. Its currency and whether it is in the
sandbox or live stay as they are for ever. Without --mode it is live if the
server has a live rail, else in the sandbox.`,
		Example: `  bursar accounts create Payroll
  bursar accounts create "Trial run" --mode sandbox --json`,
	}, func(c *call) error {
		made, err := c.Accounts.Create(c, client.AccountCreateParams{WorkspaceID: &c.workspace.ID, Name: in.Name,
			Currency: notEmpty(strings.ToUpper(in.Currency)), Mode: notEmpty(in.Mode)})
		if err != nil {
			return fmt.Errorf("open the account: %w", err)
		}
		c.say("Opened the account %s in %s: %s, %s.", made.Name, c.workspace.Name, made.Currency, made.Mode)
		return c.writeLine(made, made.ID)
	})
}

func newAccountRename(r *remote) *cobra.Command {
	var in struct {
		Account api.Account
		Name    string
	}
	return newCommand(r, workspaceIfNeeded, &in, &cobra.Command{
		Use: "rename ACCOUNT NAME", Aliases: []string{"update"}, Short: "Rename an account",
		Long:    `Rename an account. Nothing else about it changes.`,
		Example: `  bursar accounts rename Payroll Wages`,
	}, func(c *call) error {
		return changeAccount(c, in.Account, client.AccountUpdateParams{Name: &in.Name}, "Renamed the account %s to %s.")
	})
}

func newAccountFreeze(r *remote) *cobra.Command {
	return newAccountStatus(r, api.AccountFrozen, "Froze the account %s.", &cobra.Command{
		Use: "freeze ACCOUNT", Short: "Stop everything that would leave an account",
		Long: `Freeze an account. Nothing leaves it any more: new payouts and transfers are
refused, and payouts that no rail has yet fail and give their money back.`,
		Example: `  bursar accounts freeze Payroll`,
	})
}

func newAccountUnfreeze(r *remote) *cobra.Command {
	return newAccountStatus(r, api.AccountActive, "The account %s is active again.", &cobra.Command{
		Use: "unfreeze ACCOUNT", Short: "Let a frozen account pay again",
		Long: `Make a frozen account active again. A live account takes a second person where
there is one: 'bursar approvals' shows what waits for them.`,
		Example: `  bursar accounts unfreeze Payroll`,
	})
}

func newAccountClose(r *remote) *cobra.Command {
	var in struct {
		Account api.Account
		confirmation
	}
	return newCommand(r, workspaceIfNeeded, &in, &cobra.Command{
		Use: "close ACCOUNT", Short: "Close an empty account for ever",
		Long: `Close an account for ever. It must be empty: available, reserved and pending
are at zero. Its statement can still be read.`,
		Example: `  bursar accounts close Payroll
  bursar accounts close Payroll --yes`,
	}, func(c *call) error {
		if err := c.confirm(in.confirmation, "Close the account %s for ever?", c.args[0]); err != nil {
			return err
		}
		return changeAccount(c, in.Account, client.AccountUpdateParams{Status: client.String(api.AccountClosed)}, "Closed the account %s.")
	})
}

// newAccountStatus completes a command that changes the status of an account.
func newAccountStatus(r *remote, status, text string, c *cobra.Command) *cobra.Command {
	var in struct{ Account api.Account }
	return newCommand(r, workspaceIfNeeded, &in, c, func(c *call) error {
		return changeAccount(c, in.Account, client.AccountUpdateParams{Status: &status}, text)
	})
}

// changeAccount changes an account. The text receives its old and new name.
func changeAccount(c *call, a api.Account, change client.AccountUpdateParams, text string) error {
	changed, err := c.Accounts.Update(c, a.ID, change)
	if err != nil {
		return fmt.Errorf("change the account %s: %w", a.Name, err)
	}
	names := []any{a.Name, changed.Name}
	c.say(text, names[:strings.Count(text, "%s")]...)
	return c.done(changed)
}

// period contains the flags that bound a list by time.
type period struct {
	Since    string `flag:"since" usage:"not before: a date, a time, or a duration before now such as 7d"`
	Until    string `flag:"until" usage:"not after: a date, a time, or a duration before now"`
	from, to time.Time
}

func (p *period) check() (err error) {
	now := time.Now()
	if p.Since != "" {
		if p.from, err = parseMoment(p.Since, now, false); err != nil {
			return term.Usagef("--since: %w", err)
		}
	}
	if p.Until != "" {
		if p.to, err = parseMoment(p.Until, now, true); err != nil {
			return term.Usagef("--until: %w", err)
		}
	}
	return nil
}

func newAccountStatement(r *remote) *cobra.Command {
	var in struct {
		Account   api.Account
		Bucket    string `flag:"bucket" usage:"only this part of the money: available, reserved or pending" words:"available,reserved,pending"`
		Reference string `flag:"reference" usage:"only what a payout, a transfer or a deposit did: its id"`
		period
	}
	return newList(r, workspaceIfNeeded, &in, &cobra.Command{
		Use: "statement ACCOUNT", Aliases: []string{"postings"}, Short: "List what happened to an account",
		Long: `List what happened to an account, newest first. Every line has the balance
that its part of the account had after it. Lines are numbered without gaps and
are never changed: a correction is a new line.`,
		Example: `  bursar accounts statement Payroll
  bursar accounts statement Payroll --bucket available --since 2026-11-01 --until 2026-11-30 --all --csv
  bursar accounts statement Payroll --reference po_01jd3a1b2c3d4e5f6g7h8j9k0m`,
	}, list[api.Posting]{
		noun: "postings",
		rows: func(c *call, limit int) (iter.Seq2[api.Posting, error], error) {
			return c.Accounts.AllPostings(c, in.Account.ID, client.PostingListParams{Bucket: in.Bucket, Reference: in.Reference,
				Since: in.period.from, Until: in.period.to, Limit: limit}), nil
		},
		table: &term.Table{Columns: []string{"number", "time", "kind", "description", "reference", "bucket", "amount", "balance",
			"currency"},
			Detail: []string{"currency", "description"}, Empty: "Nothing happened to the account."},
		cells: func(c *call, p api.Posting) []string {
			currency := in.Account.Currency
			return []string{strconv.FormatInt(p.Number, 10), c.time(p.CreatedAt), p.Kind, p.Description, p.Reference, p.Bucket,
				amountText(c.format, p.Amount, currency),
				amountText(c.format, p.Balance, currency), currency}
		},
	})
}

func newAccountTransfer(r *remote) *cobra.Command {
	var in struct {
		From        api.Account
		To          api.Account
		Amount      typedAmount
		Description string `flag:"description" usage:"what it is for"`
	}
	return newCommand(r, workspaceIfNeeded, &in, &cobra.Command{
		Use: "transfer FROM TO AMOUNT", Short: "Move money between two accounts of the workspace",
		Long: `Move money between two accounts of a workspace, at once. Both have the same
currency and mode.`,
		Example: `  bursar accounts transfer Treasury Payroll 250,000.00
  bursar accounts transfer Treasury Payroll "PHP 1,500.50" --description "wages of May"`,
	}, func(c *call) error {
		amount, err := amountIn(string(in.Amount), in.From)
		if err != nil {
			return err
		}
		made, err := c.Accounts.Transfer(c, client.TransferParams{SourceAccountID: in.From.ID, DestinationAccountID: in.To.ID,
			Amount:      amount,
			Description: notEmpty(in.Description)})
		if err != nil {
			return fmt.Errorf("transfer: %w", err)
		}
		c.say("Moved %s from %s to %s.", api.FormatAmount(made.Amount, made.Currency), in.From.Name, in.To.Name)
		return c.writeLine(made, made.ID)
	})
}

func newAccountDeposits(r *remote) *cobra.Command {
	var in struct{ Account *api.Account }
	return newList(r, inWorkspace, &in, &cobra.Command{
		Use: "deposits [ACCOUNT]", Short: "List what came in",
		Long: `List what came into the accounts of the workspace, or into one of them, newest
first: from a bank's file, from an operator, or simulated in the sandbox.`,
		Example: `  bursar accounts deposits
  bursar accounts deposits Payroll --csv`,
	}, list[api.Deposit]{
		noun: "deposits",
		rows: func(c *call, limit int) (iter.Seq2[api.Deposit, error], error) {
			p := client.DepositListParams{WorkspaceID: c.workspace.ID, Limit: limit}
			if in.Account != nil {
				p.WorkspaceID, p.AccountID = in.Account.WorkspaceID, in.Account.ID
			}
			return c.Accounts.AllDeposits(c, p), nil
		},
		table: &term.Table{Columns: []string{"time", "amount", "currency", "source", "status", "reference", "account", "id"},
			Detail: []string{"account"}, Empty: "Nothing came in."},
		cells: func(c *call, d api.Deposit) []string {
			return []string{c.time(d.CreatedAt), amountText(c.format, d.Amount, d.Currency), d.Currency, d.Source, d.Status,
				d.Reference, d.AccountID, d.ID}
		},
	})
}
