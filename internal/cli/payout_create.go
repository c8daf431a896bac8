package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"bursar/api"
	"bursar/client"
	"bursar/internal/cli/term"
)

// destination is where a payout goes, as typed: a payee of the directory, or an account.
type destination struct {
	to, bankCode, number, name string
}

// check validates the destination before any request to the server.
func (d destination) check() error {
	switch account := d.bankCode != "" || d.number != "" || d.name != ""; {
	case d.to != "" && account:
		return errors.New("either a payee or an account, not both")
	case d.to == "" && !account:
		return errors.New("nobody to pay: name a payee, or an account by bank code, account number and account name")
	case account && (d.bankCode == "" || d.number == "" || d.name == ""):
		return errors.New("an account takes a bank code, an account number and an account name")
	}
	return nil
}

// fill sets the destination in the terms of a payout.
func (d destination) fill(ctx context.Context, r *remote, s *session, terms *api.PayoutTerms) error {
	if d.to == "" {
		terms.SettlementAccount = &api.SettlementAccount{BankAccountName: d.name, BankAccountNumber: d.number, BankCode: d.bankCode}
		return nil
	}
	m, err := r.findPayee(ctx, s, d.to)
	terms.ReceivingMethodID = &m.ID
	return err
}

// findPayee finds the default receiving method of PAYEE, or the method of PAYEE/METHOD.
func (r *remote) findPayee(ctx context.Context, s *session, ref string) (api.ReceivingMethod, error) {
	if at := strings.LastIndex(ref, "/"); at >= 0 {
		_, m, err := r.findMethod(ctx, s, ref[:at], ref[at+1:])
		return m, err
	}
	e, err := r.findEntry(ctx, s, ref)
	if err != nil {
		return api.ReceivingMethod{}, err
	}
	if e.ReceivingMethods == nil {
		return api.ReceivingMethod{}, errMethodsHidden
	}
	i := slices.IndexFunc(*e.ReceivingMethods, func(m api.ReceivingMethod) bool { return m.IsDefault })
	if i < 0 {
		return api.ReceivingMethod{}, fmt.Errorf("%s has no receiving method that can be paid: add one with 'bursar receiving-methods add'", named(e))
	}
	return (*e.ReceivingMethods)[i], nil
}

func newPayoutCreate(r *remote) *cobra.Command {
	var f term.Format
	var to destination
	var from, amount, rail, externalID, description string
	var draft, validate bool
	c := &cobra.Command{
		Use: "create --to PAYEE --amount AMOUNT", Aliases: []string{"pay"}, Short: "Pay somebody",
		Long: `Make a payout and print its id. PAYEE is the id or label of an entry of the
directory, which is paid at its default receiving method; PAYEE/METHOD names
another one by id, provider or account name. Or give an account by
--bank-code, --account-number and --account-name; '--account-number -' reads
the number from standard input.

Without --from the only account of the workspace pays. Without --rail the
server chooses one by amount and time. With --external-id, your own id of the
payout, the same command again changes nothing and prints the same payout.

--validate tells everything that speaks against the payout, and pays nothing.
--draft keeps it until 'bursar payouts publish'.`,
		Example: `  bursar payouts create --to "Ada Lovelace" --amount 1,500.00
  bursar payouts create --from Payroll --to "Ada Lovelace/gcash" --amount "PHP 1,500.00" --external-id wages-2026-11-ada
  bursar payouts create --bank-code BOPIPHMMXXX --account-number - --account-name "Ada Lovelace" --amount 1500 --validate`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := require(c, "amount"); err != nil {
				return err
			}
			_, _, err := parseAmount(amount, anyCurrency)
			if err = errors.Join(err, to.check()); err != nil {
				return term.Usage(err)
			}
			if to.number, err = readNumber(c.Context(), r.terminal, "account-number", to.number); err != nil {
				return err
			}
			s, err := r.connect()
			if err != nil {
				return err
			}
			a, err := r.findAccount(c.Context(), s, from)
			if err != nil {
				return err
			}
			p := client.PayoutCreateParams{SourceAccountID: a.ID, Currency: a.Currency,
				PayoutTerms: api.PayoutTerms{ExternalID: notEmpty(externalID), Description: notEmpty(description), SettlementRail: notEmpty(rail)}}
			if p.AmountCents, err = amountIn(amount, a); err != nil {
				return err
			}
			if err := to.fill(c.Context(), r, s, &p.PayoutTerms); err != nil {
				return err
			}
			if draft {
				p.Status = notEmpty(api.PayoutDraft)
			}
			if validate {
				return r.rehearse(c.Context(), s, p, f)
			}
			made, err := s.Payouts.Create(c.Context(), p)
			if err != nil {
				return fmt.Errorf("pay: %w", err)
			}
			if err := r.sayPayout(made); err != nil {
				return err
			}
			return f.Write(r.terminal, made, func(w io.Writer) error {
				_, err := fmt.Fprintln(w, made.ID)
				return err
			})
		},
	}
	flags := c.Flags()
	flags.StringVar(&from, "from", "", "account that pays; default the only one of the workspace")
	flags.StringVar(&to.to, "to", "", "PAYEE or PAYEE/METHOD of the directory")
	flags.StringVar(&to.bankCode, "bank-code", "", "bank or wallet of the payee; see 'bursar institutions list'")
	flags.StringVar(&to.number, "account-number", "", "number of the payee's account, or - to read it from standard input")
	flags.StringVar(&to.name, "account-name", "", "name of the payee's account")
	flags.StringVar(&amount, "amount", "", "how much, such as 1500 or 1,500.00 (required)")
	flags.StringVar(&rail, "rail", "", "rail that carries it; default chosen by amount and time")
	flags.StringVar(&externalID, "external-id", "", "your own id of the payout, unique in the workspace for ever")
	flags.StringVar(&description, "description", "", "what it is for; the payee may see it")
	flags.BoolVar(&draft, "draft", false, "keep it as a draft")
	flags.BoolVar(&validate, "validate", false, "only tell what would become of it")
	c.MarkFlagsMutuallyExclusive("draft", "validate")
	completeFlag(c, "from", r.completeAccounts())
	completeFlag(c, "to", r.completeEntry(true))
	completeFlag(c, "bank-code", r.completeInstitutions())
	completeFlag(c, "rail", r.completeRails())
	for _, flag := range []string{"account-number", "account-name", "amount", "external-id", "description"} {
		completeFlag(c, flag, cobra.NoFileCompletions)
	}
	f.Bind(c, false)
	return r.inWorkspace(c)
}

// sayPayout prints the status of a payout, and the next step.
func (r *remote) sayPayout(p *api.Payout) error {
	text := payoutText(p) + " is " + marked(p.Mode, payoutStatus(p))
	switch {
	case p.Status == api.PayoutDraft:
		text += ". Publish it with 'bursar payouts publish " + p.ID + "'"
	case p.Status == api.PayoutInitiated:
		text += ": " + p.ApprovalReason + " (" + p.ApprovalID + ")"
	case p.Failure != nil:
		text += ": " + failureText(p.Failure)
	case p.CancelReason != "":
		text += ": " + p.CancelReason
	case p.SendingStopped:
		text += ", and not sent until 'bursar payouts resume'"
	case p.Status == api.PayoutPending && p.ExpectedAt != 0:
		text += ", over " + p.SettlementRail + ", expected at " + localTime(p.ExpectedAt)
	}
	if p.Attention != "" {
		text += ", and needs attention: " + attentionText(p)
	}
	return r.say("%s.", text)
}

// rehearse prints the dry-run result of a payout.
func (r *remote) rehearse(ctx context.Context, s *session, p client.PayoutCreateParams, f term.Format) error {
	got, err := s.Payouts.Validate(ctx, p)
	if err != nil {
		return fmt.Errorf("rehearse the payout: %w", err)
	}
	err = f.Write(r.terminal, got, func(w io.Writer) error {
		valid := "yes"
		if !got.Valid {
			valid = "no"
		}
		pairs := []string{"Valid", valid}
		for _, one := range got.Faults {
			pairs = append(pairs, string(one.Code), one.Message)
		}
		if got.SettlementRail != "" {
			pairs = append(pairs, "Rail", got.SettlementRail+": "+got.RailReason)
		}
		if got.ExpectedAt != 0 {
			pairs = append(pairs, "Expected", localTime(got.ExpectedAt))
		}
		return term.WritePairs(r.terminal, w, append(pairs, "Approval", got.ApprovalReason)...)
	})
	if err == nil && !got.Valid {
		err = errors.New("the payout would be refused. Nothing was paid")
	}
	return err
}
