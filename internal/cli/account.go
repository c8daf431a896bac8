package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
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

// accounts lists the accounts of a workspace.
func (s *session) accounts(ctx context.Context, workspaceID string) ([]api.Account, error) {
	all, err := collect(s.Accounts.All(ctx, workspaceID, client.ListParams{}))
	if err != nil {
		return nil, fmt.Errorf("list the accounts: %w", err)
	}
	return all, nil
}

// findAccount finds an account by id or name. Without a reference it returns the only account that is not closed.
func (r *remote) findAccount(ctx context.Context, s *session, ref string) (api.Account, error) {
	if strings.HasPrefix(ref, "acc_") && !term.IsShortID(ref) {
		a, err := s.Accounts.Get(ctx, ref)
		if err != nil {
			return api.Account{}, fmt.Errorf("read the account %s: %w", term.Printable(ref), err)
		}
		return *a, nil
	}
	w, err := r.currentWorkspace(ctx, s)
	if err != nil {
		return api.Account{}, err
	}
	all, err := s.accounts(ctx, w.ID)
	if err != nil {
		return api.Account{}, err
	}
	var list []candidate[api.Account]
	for _, a := range all {
		if ref != "" || a.Status != api.AccountClosed {
			list = append(list, candidate[api.Account]{a, a.ID, []string{a.Name}, a.Name + "  " + marked(a.Mode, a.Status) + "  " + a.ID})
		}
	}
	switch {
	case ref != "":
		return pick(ctx, s.terminal, "account", ref, list)
	case len(list) == 0:
		return api.Account{}, errors.New("the workspace has no account: open one with 'bursar accounts create NAME'")
	case len(list) > 1:
		return api.Account{}, term.Usagef("the workspace has several accounts: choose one with --from")
	}
	return list[0].value, nil
}

// marked adds 'sandbox' to the status of everything in the sandbox.
func marked(mode, status string) string {
	if mode == api.ModeSandbox {
		return status + " (sandbox)"
	}
	return status
}

func (r *remote) completeAccounts() cobra.CompletionFunc {
	return r.completeHere(func(ctx context.Context, s *session, workspaceID string) ([]string, error) {
		all, err := s.accounts(ctx, workspaceID)
		words := make([]string, len(all))
		for i, a := range all {
			words[i] = described(a.Name, api.FormatAmount(a.AvailableBalance, a.Currency)+" available, "+marked(a.Mode, a.Status))
		}
		return words, err
	})
}

func newAccountList(r *remote) *cobra.Command {
	return r.inWorkspace(listCommand(r.terminal, &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List the accounts with their balances",
		Example: `  bursar accounts list
  bursar accounts list --jq '.[] | {name, available_balance}'`,
	}, list[api.Account]{
		noun: "accounts",
		rows: func(ctx context.Context, limit int) (iter.Seq2[api.Account, error], error) {
			s, w, err := r.connectWorkspace(ctx)
			if err != nil {
				return nil, err
			}
			return s.Accounts.All(ctx, w.ID, client.ListParams{Limit: limit}), nil
		},
		table: func(term.Format) *term.Table {
			return &term.Table{Columns: []string{"name", "available", "reserved", "pending", "currency", "mode", "status", "id"}, Detail: []string{"pending"},
				Empty: "There are no accounts. Open one with 'bursar accounts create NAME'."}
		},
		cells: func(f term.Format, a api.Account) []string {
			return []string{a.Name, amountText(f, a.AvailableBalance, a.Currency), amountText(f, a.ReservedBalance, a.Currency), amountText(f, a.PendingBalance, a.Currency), a.Currency, a.Mode, a.Status, a.ID}
		},
	}))
}

func newAccountShow(r *remote) *cobra.Command {
	var f term.Format
	c := &cobra.Command{
		Use: "show ACCOUNT", Aliases: []string{"get"}, Short: "Show an account with its balances",
		Example: `  bursar accounts show Payroll
  bursar accounts show Payroll --jq .available_balance`,
		Args: cobra.ExactArgs(1), ValidArgsFunction: byPosition(r.completeAccounts()),
		RunE: func(c *cobra.Command, args []string) error {
			s, err := r.connect()
			if err != nil {
				return err
			}
			a, err := r.findAccount(c.Context(), s, args[0])
			if err != nil {
				return err
			}
			return f.Write(r.terminal, a, func(w io.Writer) error {
				return term.WritePairs(r.terminal, w, "Name", a.Name, "Id", a.ID, "Mode", a.Mode, "Status", a.Status,
					"Available", api.FormatAmount(a.AvailableBalance, a.Currency), "Reserved", api.FormatAmount(a.ReservedBalance, a.Currency),
					"Pending", api.FormatAmount(a.PendingBalance, a.Currency), "Total", api.FormatAmount(a.TotalBalance, a.Currency),
					"Created", localTime(a.CreatedAt))
			})
		},
	}
	f.Bind(c, false)
	return r.inWorkspace(c)
}

func newAccountCreate(r *remote) *cobra.Command {
	var f term.Format
	var currency, mode string
	modes := []string{api.ModeSandbox, api.ModeLive}
	c := &cobra.Command{
		Use: "create NAME", Short: "Open an account",
		Long: `Open an account and print its id. Its currency and whether it is in the
sandbox or live stay as they are for ever. Without --mode it is live if the
server has a live rail, else in the sandbox.`,
		Example: `  bursar accounts create Payroll
  bursar accounts create "Trial run" --mode sandbox --json`,
		Args: cobra.ExactArgs(1), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, args []string) error {
			if err := oneOf("mode", mode, modes); err != nil {
				return err
			}
			s, w, err := r.connectWorkspace(c.Context())
			if err != nil {
				return err
			}
			made, err := s.Accounts.Create(c.Context(), client.AccountCreateParams{WorkspaceID: &w.ID, Name: args[0], Currency: notEmpty(strings.ToUpper(currency)), Mode: notEmpty(mode)})
			if err != nil {
				return fmt.Errorf("open the account: %w", err)
			}
			if err := r.say("Opened the account %s in %s: %s, %s.", made.Name, w.Name, made.Currency, made.Mode); err != nil {
				return err
			}
			return f.Write(r.terminal, made, func(w io.Writer) error {
				_, err := fmt.Fprintln(w, made.ID)
				return err
			})
		},
	}
	c.Flags().StringVar(&currency, "currency", "", "its currency; default PHP")
	c.Flags().StringVar(&mode, "mode", "", "sandbox or live")
	completeFlag(c, "currency", cobra.NoFileCompletions)
	completeWords(c, "mode", modes)
	f.Bind(c, false)
	return r.inWorkspace(c)
}

func newAccountRename(r *remote) *cobra.Command {
	return r.newAccountChange(&cobra.Command{
		Use: "rename ACCOUNT NAME", Aliases: []string{"update"}, Short: "Rename an account",
		Long:    `Rename an account. Nothing else about it changes.`,
		Example: `  bursar accounts rename Payroll Wages`,
		Args:    cobra.ExactArgs(2),
	}, "Renamed the account %s to %s.", func(args []string) client.AccountUpdateParams { return client.AccountUpdateParams{Name: &args[1]} })
}

func newAccountFreeze(r *remote) *cobra.Command {
	return r.newAccountChange(&cobra.Command{
		Use: "freeze ACCOUNT", Short: "Stop everything that would leave an account",
		Long: `Freeze an account. Nothing leaves it any more: new payouts and transfers are
refused, and payouts that no rail has yet fail and give their money back.`,
		Example: `  bursar accounts freeze Payroll`,
	}, "Froze the account %s.", toStatus(api.AccountFrozen))
}

func newAccountUnfreeze(r *remote) *cobra.Command {
	return r.newAccountChange(&cobra.Command{
		Use: "unfreeze ACCOUNT", Short: "Let a frozen account pay again",
		Long: `Make a frozen account active again. A live account takes a second person where
there is one: 'bursar approvals' shows what waits for them.`,
		Example: `  bursar accounts unfreeze Payroll`,
	}, "The account %s is active again.", toStatus(api.AccountActive))
}

func newAccountClose(r *remote) *cobra.Command {
	var yes bool
	c := r.newAccountChange(&cobra.Command{
		Use: "close ACCOUNT", Short: "Close an empty account for ever",
		Long: `Close an account for ever. It must be empty: available, reserved and pending
are at zero. Its statement can still be read.`,
		Example: `  bursar accounts close Payroll
  bursar accounts close Payroll --yes`,
	}, "Closed the account %s.", toStatus(api.AccountClosed))
	run := c.RunE
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := r.terminal.Confirm(c.Context(), term.Printable("Close the account "+args[0]+" for ever?"), yes); err != nil {
			return err
		}
		return run(c, args)
	}
	c.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return c
}

func toStatus(status string) func([]string) client.AccountUpdateParams {
	return func([]string) client.AccountUpdateParams { return client.AccountUpdateParams{Status: &status} }
}

// newAccountChange completes a command that changes the account of its first argument. The text receives the account's old and new name.
func (r *remote) newAccountChange(c *cobra.Command, text string, change func(args []string) client.AccountUpdateParams) *cobra.Command {
	var f term.Format
	if c.Args == nil {
		c.Args = cobra.ExactArgs(1)
	}
	c.ValidArgsFunction = byPosition(r.completeAccounts())
	c.RunE = func(c *cobra.Command, args []string) error {
		s, err := r.connect()
		if err != nil {
			return err
		}
		a, err := r.findAccount(c.Context(), s, args[0])
		if err != nil {
			return err
		}
		changed, err := s.Accounts.Update(c.Context(), a.ID, change(args))
		if err != nil {
			return fmt.Errorf("change the account %s: %w", a.Name, err)
		}
		names := []any{a.Name, changed.Name}
		if err := r.say(text, names[:strings.Count(text, "%s")]...); err != nil {
			return err
		}
		return f.Write(r.terminal, changed, nothing)
	}
	f.Bind(c, false)
	return r.inWorkspace(c)
}

// period contains the flags that bound a list by time.
type period struct{ since, until string }

func (p *period) bind(c *cobra.Command) {
	c.Flags().StringVar(&p.since, "since", "", "not before: a date, a time, or a duration before now such as 7d")
	c.Flags().StringVar(&p.until, "until", "", "not after: a date, a time, or a duration before now")
	completeFlag(c, "since", cobra.NoFileCompletions)
	completeFlag(c, "until", cobra.NoFileCompletions)
}

func (p *period) read(now time.Time) (since, until time.Time, err error) {
	if p.since != "" {
		if since, err = parseMoment(p.since, now, false); err != nil {
			return since, until, term.Usagef("--since: %w", err)
		}
	}
	if p.until != "" {
		if until, err = parseMoment(p.until, now, true); err != nil {
			return since, until, term.Usagef("--until: %w", err)
		}
	}
	return since, until, nil
}

func newAccountStatement(r *remote) *cobra.Command {
	var span period
	var bucket, reference, currency, ref string
	buckets := []string{api.BucketAvailable, api.BucketReserved, api.BucketPending}
	c := listCommand(r.terminal, &cobra.Command{
		Use: "statement ACCOUNT", Aliases: []string{"postings"}, Short: "List what happened to an account",
		Long: `List what happened to an account, newest first. Every line has the balance
that its part of the account had after it. Lines are numbered without gaps and
are never changed: a correction is a new line.`,
		Example: `  bursar accounts statement Payroll
  bursar accounts statement Payroll --bucket available --since 2026-11-01 --until 2026-11-30 --all --csv
  bursar accounts statement Payroll --reference po_01jd3a1b2c3d4e5f6g7h8j9k0m`,
		Args: cobra.ExactArgs(1), ValidArgsFunction: byPosition(r.completeAccounts()),
	}, list[api.Posting]{
		noun: "postings",
		rows: func(ctx context.Context, limit int) (iter.Seq2[api.Posting, error], error) {
			since, until, err := span.read(time.Now())
			if err = errors.Join(oneOf("bucket", bucket, buckets), err); err != nil {
				return nil, err
			}
			s, err := r.connect()
			if err != nil {
				return nil, err
			}
			a, err := r.findAccount(ctx, s, ref)
			if err != nil {
				return nil, err
			}
			currency = a.Currency
			return s.Accounts.AllPostings(ctx, a.ID, client.PostingListParams{Bucket: bucket, Reference: reference, Since: since, Until: until, Limit: limit}), nil
		},
		table: func(term.Format) *term.Table {
			return &term.Table{Columns: []string{"number", "time", "kind", "description", "reference", "bucket", "amount", "balance", "currency"},
				Detail: []string{"currency", "description"}, Empty: "Nothing happened to the account."}
		},
		cells: func(f term.Format, p api.Posting) []string {
			at := localTime(p.CreatedAt)
			if f.CSV {
				at = exactTime(p.CreatedAt)
			}
			return []string{strconv.FormatInt(p.Number, 10), at, p.Kind, p.Description, p.Reference, p.Bucket, amountText(f, p.Amount, currency), amountText(f, p.Balance, currency), currency}
		},
	})
	withArgument(c, &ref)
	c.Flags().StringVar(&bucket, "bucket", "", "only this part of the money: available, reserved or pending")
	c.Flags().StringVar(&reference, "reference", "", "only what a payout, a transfer or a deposit did: its id")
	span.bind(c)
	completeWords(c, "bucket", buckets)
	completeFlag(c, "reference", cobra.NoFileCompletions)
	return r.inWorkspace(c)
}

// withArgument gives a list command an optional argument.
func withArgument(c *cobra.Command, argument *string) {
	run := c.RunE
	c.RunE = func(c *cobra.Command, args []string) error {
		*argument = strings.Join(args, "")
		return run(c, args)
	}
}

func newAccountTransfer(r *remote) *cobra.Command {
	var f term.Format
	var description string
	c := &cobra.Command{
		Use: "transfer FROM TO AMOUNT", Short: "Move money between two accounts of the workspace",
		Long: `Move money between two accounts of a workspace, at once. Both have the same
currency and mode.`,
		Example: `  bursar accounts transfer Treasury Payroll 250,000.00
  bursar accounts transfer Treasury Payroll "PHP 1,500.50" --description "wages of May"`,
		Args: cobra.ExactArgs(3), ValidArgsFunction: byPosition(r.completeAccounts(), r.completeAccounts()),
		RunE: func(c *cobra.Command, args []string) error {
			if _, _, err := parseAmount(args[2], anyCurrency); err != nil {
				return term.Usage(err)
			}
			s, err := r.connect()
			if err != nil {
				return err
			}
			from, err := r.findAccount(c.Context(), s, args[0])
			if err != nil {
				return err
			}
			to, err := r.findAccount(c.Context(), s, args[1])
			if err != nil {
				return err
			}
			amount, err := amountIn(args[2], from)
			if err != nil {
				return err
			}
			made, err := s.Accounts.Transfer(c.Context(), client.TransferParams{SourceAccountID: from.ID, DestinationAccountID: to.ID, Amount: amount, Description: notEmpty(description)})
			if err != nil {
				return fmt.Errorf("transfer: %w", err)
			}
			if err := r.say("Moved %s from %s to %s.", api.FormatAmount(made.Amount, made.Currency), from.Name, to.Name); err != nil {
				return err
			}
			return f.Write(r.terminal, made, func(w io.Writer) error {
				_, err := fmt.Fprintln(w, made.ID)
				return err
			})
		},
	}
	c.Flags().StringVar(&description, "description", "", "what it is for")
	completeFlag(c, "description", cobra.NoFileCompletions)
	f.Bind(c, false)
	return r.inWorkspace(c)
}

func newAccountDeposits(r *remote) *cobra.Command {
	var ref string
	c := listCommand(r.terminal, &cobra.Command{
		Use: "deposits [ACCOUNT]", Short: "List what came in",
		Long: `List what came into the accounts of the workspace, or into one of them, newest
first: from a bank's file, from an operator, or simulated in the sandbox.`,
		Example: `  bursar accounts deposits
  bursar accounts deposits Payroll --csv`,
		Args: cobra.MaximumNArgs(1), ValidArgsFunction: byPosition(r.completeAccounts()),
	}, list[api.Deposit]{
		noun: "deposits",
		rows: func(ctx context.Context, limit int) (iter.Seq2[api.Deposit, error], error) {
			s, w, err := r.connectWorkspace(ctx)
			if err != nil {
				return nil, err
			}
			p := client.DepositListParams{WorkspaceID: w.ID, Limit: limit}
			if ref != "" {
				a, err := r.findAccount(ctx, s, ref)
				if err != nil {
					return nil, err
				}
				p = client.DepositListParams{WorkspaceID: a.WorkspaceID, AccountID: a.ID, Limit: limit}
			}
			return s.Accounts.AllDeposits(ctx, p), nil
		},
		table: func(term.Format) *term.Table {
			return &term.Table{Columns: []string{"time", "amount", "currency", "source", "status", "reference", "account", "id"}, Detail: []string{"account"}, Empty: "Nothing came in."}
		},
		cells: func(f term.Format, d api.Deposit) []string {
			at := localTime(d.CreatedAt)
			if f.CSV {
				at = exactTime(d.CreatedAt)
			}
			return []string{at, amountText(f, d.Amount, d.Currency), d.Currency, d.Source, d.Status, d.Reference, d.AccountID, d.ID}
		},
	})
	withArgument(c, &ref)
	return r.inWorkspace(c)
}
