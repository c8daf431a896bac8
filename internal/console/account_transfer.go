package console

import (
	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/audit"
	"bursar/internal/fault"
	"bursar/internal/ledger"
	"bursar/internal/payout"
)

func (c *Console) transferRoutes() []Route {
	return []Route{
		c.getIn("/accounts/{id}/transfer", c.transferPage),
		c.postIn("/accounts/{id}/transfer", audit.TransferCreated, c.transfer),
		c.postIn("/accounts/{id}/deposit", audit.DepositBooked, c.addTestMoney),
	}
}

// transferForm moves money from one account to another.
type transferForm struct {
	From                    accountView
	Others                  []accountView // possible targets
	To, Amount, Description string
	Review                  bool
	Cents                   int64
}

// Target returns the account that receives the money.
func (f transferForm) Target() (a accountView) {
	for _, one := range f.Others {
		if one.ID == f.To {
			a = one
		}
	}
	return a
}

// Money returns the amount for display. FromAfter and ToAfter return the available balances after it.
func (f transferForm) Money() string { return api.FormatAmount(f.Cents, f.From.Currency) }
func (f transferForm) FromAfter() string {
	return api.FormatAmount(f.From.AvailableBalance-f.Cents, f.From.Currency)
}
func (f transferForm) ToAfter() string {
	return api.FormatAmount(f.Target().AvailableBalance+f.Cents, f.From.Currency)
}

// transferForm reads the account named in the URL, and the accounts that its money can go to.
func (v *visit) transferForm() (f transferForm, err error) {
	for _, p := range []access.Permission{access.AccountsWrite, access.PayoutsCreate} {
		if err := v.need(p); err != nil {
			return f, err
		}
	}
	all, err := v.accounts()
	if err != nil {
		return f, err
	}
	from, found := accountsByID(all)[v.R.PathValue("id")]
	if !found {
		return f, errNoPage
	}
	f.From = accountView{from}
	for _, a := range all {
		if a.ID != from.ID && a.Currency == from.Currency && a.Mode == from.Mode && a.Status != api.AccountClosed {
			f.Others = append(f.Others, accountView{a})
		}
	}
	return f, nil
}

func (c *Console) transferPage(v *visit) error {
	f, err := v.transferForm()
	if err != nil {
		return err
	}
	return v.show("accounts_transfer", "Move money", f)
}

// transfer shows the resulting balances of both accounts, and moves the money after the person has reviewed them.
func (c *Console) transfer(v *visit) error {
	f, err := v.transferForm()
	if err != nil {
		return err
	}
	f.To, f.Amount, f.Description = v.field("destination_account_id"), v.field("amount_cents"), v.field("description")
	var wrong fault.Violations
	if f.Target().ID == "" {
		wrong.Add("destination_account_id", "must be chosen")
	}
	if f.Cents, err = api.ParseAmount(f.Amount, f.From.Currency); err != nil || f.Cents == 0 {
		wrong.Add("amount_cents", "must be a number such as 1,500.00")
	} else if f.Cents > f.From.AvailableBalance {
		wrong.Add("amount_cents", "is more than the account has: "+api.FormatAmount(f.From.AvailableBalance, f.From.Currency)+" is available")
	}
	err = wrong.Err()
	switch do := v.field("do"); {
	case err != nil || do == "change":
	case do != "send":
		f.Review = true
	default:
		_, err = change(v, c.Ledger.Transfer, ledger.TransferInput{TransferCreate: api.TransferCreate{
			SourceAccountID: f.From.ID, DestinationAccountID: f.To, Amount: f.Cents, Description: optional(f.Description)}})
		if err == nil {
			return v.done("Moved "+f.Money()+" to "+f.Target().Name+".", v.path("accounts", f.From.ID))
		}
	}
	if p, status, ok := formProblems(err, "destination_account_id", "amount_cents", "description"); ok {
		return v.showAgain(status, "accounts_transfer", "Move money", p, f)
	}
	if err != nil {
		return err
	}
	return v.show("accounts_transfer", "Move money", f)
}

// addTestMoney adds money to a sandbox account.
func (c *Console) addTestMoney(v *visit) error {
	typed := v.field("amount_cents")
	if refused := v.need(access.AccountsWrite); refused != nil {
		return refused
	}
	to, err := read(v, c.Ledger.Get, ledger.Input{ID: v.R.PathValue("id")})
	if err != nil {
		return err
	}
	cents, err := api.ParseAmount(typed, to.Currency)
	if err != nil || cents == 0 {
		err = fault.Invalid("amount_cents", "must be a number such as 1,500.00")
	}
	if err == nil {
		_, err = change(v, c.Sandbox.Deposit, payout.DepositInput{SimulatedDeposit: api.SimulatedDeposit{AccountID: v.R.PathValue("id"), AmountCents: cents}})
	}
	return v.accountStep(err, "Added test money. No real money moved.", func(data *accountPage) { data.TestMoney = typed })
}
