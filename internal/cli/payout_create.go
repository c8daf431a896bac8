package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"bursar/api"
	"bursar/client"
	"bursar/internal/cli/term"
)

// destination is where a payout goes, as typed: a payee of the directory, or an account.
type destination struct {
	To       payeeName `flag:"to" usage:"PAYEE or PAYEE/METHOD of the directory"`
	BankCode bankCode  `flag:"bank-code" usage:"bank or wallet of the payee; see 'bursar institutions list'"`
	Number   string    `flag:"account-number" usage:"number of the payee's account, or - to read it from standard input"`
	Name     string    `flag:"account-name" usage:"name of the payee's account"`
}

// payeeName is PAYEE or PAYEE/METHOD.
type payeeName string

func (*payeeName) completion(r *remote) cobra.CompletionFunc { return entries().completion(r) }

// check validates the destination before any request to the server.
func (d destination) check() error {
	switch account := d.BankCode != "" || d.Number != "" || d.Name != ""; {
	case d.To != "" && account:
		return term.Usagef("either a payee or an account, not both")
	case d.To == "" && !account:
		return term.Usagef("nobody to pay: name a payee, or an account by bank code, account number and account name")
	case account && (d.BankCode == "" || d.Number == "" || d.Name == ""):
		return term.Usagef("an account takes a bank code, an account number and an account name")
	}
	return nil
}

// fill sets the destination in the terms of a payout.
func (d destination) fill(c *call, terms *api.PayoutTerms) error {
	if d.To == "" {
		terms.SettlementAccount = &api.SettlementAccount{BankAccountName: d.Name, BankAccountNumber: d.Number, BankCode: string(d.BankCode)}
		return nil
	}
	m, err := findPayee(c, string(d.To))
	terms.ReceivingMethodID = &m.ID
	return err
}

// findPayee finds the default receiving method of PAYEE, or the method of PAYEE/METHOD.
func findPayee(c *call, ref string) (api.ReceivingMethod, error) {
	if at := strings.LastIndex(ref, "/"); at >= 0 {
		return findEntryMethod(c, ref[:at], ref[at+1:])
	}
	e, err := entries().find(c, ref)
	if err != nil {
		return api.ReceivingMethod{}, err
	}
	if e.ReceivingMethods == nil {
		return api.ReceivingMethod{}, errMethodsHidden
	}
	i := slices.IndexFunc(*e.ReceivingMethods, func(m api.ReceivingMethod) bool { return m.IsDefault })
	if i < 0 {
		return api.ReceivingMethod{}, fmt.Errorf("%s has no receiving method that can be paid: add one with 'bursar receiving-methods add'", named(&e))
	}
	return (*e.ReceivingMethods)[i], nil
}

// payoutCreation are the inputs of 'payouts create'.
type payoutCreation struct {
	From        api.Account `flag:"from" usage:"account that pays; default the only one of the workspace"`
	Amount      typedAmount `flag:"amount" usage:"how much, such as 1500 or 1,500.00 (required)" required:"true"`
	Rail        railName    `flag:"rail" usage:"rail that carries it; default chosen by amount and time"`
	ExternalID  string      `flag:"external-id" usage:"your own id of the payout, unique in the workspace for ever"`
	Description string      `flag:"description" usage:"what it is for; the payee may see it"`
	Draft       bool        `flag:"draft" usage:"keep it as a draft"`
	Validate    bool        `flag:"validate" usage:"only tell what would become of it"`
	destination
}

func (in *payoutCreation) params(c *call) (p client.PayoutCreateParams, err error) {
	p = client.PayoutCreateParams{SourceAccountID: in.From.ID, Currency: in.From.Currency, PayoutTerms: api.PayoutTerms{
		ExternalID: notEmpty(in.ExternalID), Description: notEmpty(in.Description), SettlementRail: notEmpty(string(in.Rail))}}
	if in.Draft {
		p.Status = notEmpty(api.PayoutDraft)
	}
	if in.Number, err = readNumber(c, c.terminal, "account-number", in.Number); err != nil {
		return p, err
	}
	if p.AmountCents, err = amountIn(string(in.Amount), in.From); err != nil {
		return p, err
	}
	return p, in.fill(c, &p.PayoutTerms)
}

func newPayoutCreate(r *remote) *cobra.Command {
	var in payoutCreation
	c := newCommand(r, workspaceIfNeeded, &in, &cobra.Command{
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
	}, func(c *call) error {
		p, err := in.params(c)
		if err != nil {
			return err
		}
		if in.Validate {
			return rehearse(c, p)
		}
		made, err := c.Payouts.Create(c, p)
		if err != nil {
			return fmt.Errorf("pay: %w", err)
		}
		c.sayPayout(made)
		return c.writeLine(made, made.ID)
	})
	c.MarkFlagsMutuallyExclusive("draft", "validate")
	return c
}

// sayPayout prints the status of a payout, and the next step.
func (c *call) sayPayout(p *api.Payout) {
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
	c.say("%s.", text)
}

// rehearse prints the dry-run result of a payout.
func rehearse(c *call, p client.PayoutCreateParams) error {
	got, err := c.Payouts.Validate(c, p)
	if err != nil {
		return fmt.Errorf("rehearse the payout: %w", err)
	}
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
	pairs = append(pairs, filled("Expected", localTime(got.ExpectedAt))...)
	err = c.writePairs(got, append(pairs, "Approval", got.ApprovalReason)...)
	if err == nil && !got.Valid {
		err = errors.New("the payout would be refused. Nothing was paid")
	}
	return err
}
