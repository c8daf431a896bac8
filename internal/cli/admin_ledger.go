package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"bursar/api"
	"bursar/internal/audit"
	"bursar/internal/cli/term"
	"bursar/internal/config"
	"bursar/internal/db"
	"bursar/internal/ledger"
	ops "bursar/internal/operator"
	"bursar/internal/payout"
)

func newLedgerDeposit(t Terminal) *cobra.Command {
	var store config.Store
	var note, reference string
	var asJSON bool
	c := &cobra.Command{
		Use: "deposit ACCOUNT AMOUNT", Short: "Put money into an account", Args: cobra.ExactArgs(2),
		Long: `Put money into an account that the bank has booked and no file of the bank
tells of, such as an opening balance. The amount is in the currency of the
account, such as 1250.50. --note says where it came from; the audit log shows
it.

A deposit into a live account needs --reference, such as that of the bank,
which no other such deposit has: a command that is repeated books nothing
twice. Where the store has two operators, the deposit waits until one of them
with ops.money confirms it at /ops or with 'bursar ops deposits approve'.`,
		Example: `  bursar admin ledger deposit acc_01jd3a1b2c3d4e5f6g7h8j9k0m 250000.00 --reference OPEN-2026 --note "Opening balance, statement of 2 January"`,
		RunE: func(c *cobra.Command, args []string) error {
			if len(note) > 140 {
				return term.Usagef("--note must have at most 140 characters")
			}
			if len(reference) > 140 {
				return term.Usagef("--reference must have at most 140 characters")
			}
			return withAdminStore(c, t, &store, []string{"note"}, func(s openedStore) error {
				if err := payout.LoadIntegrity(c.Context(), s.db, s.vault, false); err != nil {
					return err
				}
				var to ledger.Account
				done, err := db.Write(c.Context(), s.db, operator(), func(tx *db.Tx) (ops.Outcome, audit.Event, error) {
					var err error
					if to, err = ledger.FindAccount(tx.Q, args[0]); err != nil || to.Kind != ledger.Customer {
						return ops.Outcome{}, audit.Event{}, errors.Join(err, fmt.Errorf("there is no account %s", args[0]))
					}
					amount, err := api.ParseAmount(args[1], to.Currency)
					if err == nil && amount < 1 {
						err = errors.New("must be more than zero")
					}
					if err != nil {
						return ops.Outcome{}, audit.Event{}, term.Usagef("the amount %w, such as %s", err, strings.TrimPrefix(api.FormatAmount(125050, to.Currency), to.Currency+" "))
					}
					if to.Mode == api.ModeLive && reference == "" {
						return ops.Outcome{}, audit.Event{}, term.Usagef("--reference is required for a live account")
					}
					return ops.Deposit(tx, operator(), to, amount, reference, note)
				})
				if err != nil {
					return err
				}
				if done.RequestID != "" {
					if asJSON {
						return printJSON(t.Out, map[string]string{"request_id": done.RequestID})
					}
					_, err = fmt.Fprintf(t.Out, "Request  %s\n\nAn operator with ops.money has to confirm it: at /ops, or with 'bursar ops deposits approve %s'.\n", done.RequestID, done.RequestID)
					return err
				}
				d := done.Deposit
				if asJSON {
					return printJSON(t.Out, d)
				}
				_, err = fmt.Fprintf(t.Out, "Deposit  %s\nAmount   %s\nAccount  %s (%s)\n", d.ID, api.FormatAmount(d.Amount, d.Currency), to.Name, to.Mode)
				return err
			})
		},
	}
	store.BindStore(c.Flags())
	c.Flags().StringVar(&note, "note", "", "where the money came from")
	c.Flags().StringVar(&reference, "reference", "", "a reference that no other deposit has; required for a live account")
	c.Flags().BoolVar(&asJSON, "json", false, "print the result as JSON")
	return c
}

func newLedgerSuspense(t Terminal) *cobra.Command {
	var currency string
	c := adminCommand{
		use: "suspense", short: "Show what is in suspense",
		long: `Show how much money is in suspense: what a bank's statement shows and nobody
can explain, and what comes back for an account that was closed meanwhile. It
belongs to no workspace, and no workspace sees it. The audit log of the
operator says where each movement came from (money.suspense.added).`,
		example: `  bursar admin ledger suspense
  bursar admin ledger suspense --currency USD --json`,
		required: []string{"currency"},
		run: func(c *cobra.Command, s openedStore) (any, string, error) {
			amounts, currency := map[string]int64{}, strings.ToUpper(currency)
			err := s.db.Read(c.Context(), func(q db.Q) error {
				for _, mode := range []string{api.ModeLive, api.ModeSandbox} {
					a, err := ledger.FindAccount(q, ledger.SystemAccount(ledger.Suspense, currency, mode))
					if err != nil {
						return err
					}
					amounts[mode] = a.Available
				}
				return nil
			})
			if err != nil {
				return nil, "", fmt.Errorf("read what is in suspense: %w", err)
			}
			return amounts, fmt.Sprintf("Live     %s\nSandbox  %s", api.FormatAmount(amounts[api.ModeLive], currency),
				api.FormatAmount(amounts[api.ModeSandbox], currency)), nil
		},
	}.command(t)
	c.Flags().StringVar(&currency, "currency", "PHP", "which currency")
	return c
}

var errLedger = errors.New("the ledger does not verify")

func newLedgerReauthenticate(t Terminal) *cobra.Command {
	var yes bool
	c := adminCommand{
		use: "reauthenticate", short: "Accept the ledger as it is, after its integrity key was lost",
		long: `Accept the ledger as it is and make a new integrity key. The vault keeps this
key; every ledger transaction and every payout that waits to be sent has an
authentication code of it. A server does not start on a store whose key is
gone, because someone may have deleted it to hide a change.

Run 'bursar admin ledger verify' and compare with a backup first. Stop all
servers: one that runs keeps the old key, and would go on with it. The command
is refused until then. The audit log records the new key.`,
		example: `  bursar admin ledger reauthenticate --yes`,
		alone:   true,
		run: func(c *cobra.Command, s openedStore) (any, string, error) {
			if !yes {
				return nil, "", term.Usage(errors.New("this accepts every transaction and payout as it is: pass --yes"))
			}
			found, err := payout.FindIntegrity(c.Context(), s.db, s.vault)
			if err == nil && found {
				err = errors.New("the integrity key is not lost: the store has it")
			}
			if err == nil {
				err = payout.LoadIntegrity(c.Context(), s.db, s.vault, true)
			}
			if err != nil {
				return nil, "", err
			}
			n := s.db.Integrity().Count
			return map[string]int64{"transactions": n}, fmt.Sprintf("Transactions  %d accepted as they are", n), nil
		},
	}.command(t)
	c.Flags().BoolVar(&yes, "yes", false, "accept the ledger as it is")
	return c
}

func newLedgerVerify(t Terminal) *cobra.Command {
	var store config.Store
	var online, asJSON bool
	c := &cobra.Command{
		Use: "verify", Short: "Recompute the whole ledger", Args: cobra.NoArgs,
		Long: `Recompute the whole ledger: that every transaction sums to zero, that every
running balance follows from the one before, that postings are numbered
without gaps, that balances are those of the postings, that nothing is below
zero, that no payout took more than was reserved for it, and that the books
have of each payout what its state says. With the vault key it also checks the
authentication code of every transaction, and that deposits, transfers and
payouts are those of the audit log. A mismatch names the transaction, the
account, and the posting or the payout, and the command exits with 1.

All of it is read in one snapshot. With --online it is read in many small
ones, so that a busy store does not have to keep what it was for long. Both
work while servers run.`,
		Example: `  bursar admin ledger verify
  bursar admin ledger verify --online --database-url postgres://db.internal/bursar`,
		RunE: func(c *cobra.Command, _ []string) error {
			return withAdminStore(c, t, &store, nil, func(s openedStore) error {
				found, missing := payout.FindIntegrity(c.Context(), s.db, s.vault)
				if missing != nil {
					fmt.Fprintf(t.Err, "Authentication codes are not checked: %v\n", missing)
				}
				var bar *term.Progress
				report, err := ledger.Verify(c.Context(), s.db, online, func(done, total int64) {
					if bar == nil {
						bar = term.NewProgress(t, "postings", total)
					}
					bar.Set(int(done), done, 0)
				})
				if bar != nil {
					bar.Close()
				}
				if err == nil && !found && missing == nil {
					err = s.db.Read(c.Context(), func(q db.Q) error {
						deleted, err := ledger.HasTransactions(q)
						if deleted {
							report.Mismatches = append(report.Mismatches, ledger.Mismatch{Problem: payout.ErrNoIntegrity.Error()})
						}
						return err
					})
				}
				if err != nil {
					return err
				}
				if asJSON {
					err = printJSON(t.Out, report)
				} else {
					codes := map[bool]string{true: "authenticated", false: "authentication codes not checked"}
					for _, m := range report.Mismatches {
						fmt.Fprintln(t.Out, "Mismatch      "+m.String())
					}
					_, err = fmt.Fprintf(t.Out, "Accounts      %d\nPostings      %d\nTransactions  %d, %s\nPayouts       %d\nMismatches    %d\n",
						report.Accounts, report.Postings, report.Transactions, codes[report.Authenticated], report.Payouts, len(report.Mismatches))
				}
				if err == nil && len(report.Mismatches) > 0 {
					err = errLedger
				}
				return err
			})
		},
	}
	store.BindStore(c.Flags())
	c.Flags().BoolVar(&online, "online", false, "read in many small snapshots")
	c.Flags().BoolVar(&asJSON, "json", false, "print the result as JSON")
	return c
}
