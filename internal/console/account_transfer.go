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
	From   accountView
	Others []accountView // possible targets
	Target accountView   // the account that receives the money
	Review bool
	Cents  int64
}

// Targets returns the accounts to choose from.
func (f transferForm) Targets() (list []choice) {
	for _, a := range f.Others {
		list = append(list, choice{Value: a.ID, Text: a.Name + ": " + a.Available() + " available"})
	}
	return list
}

// Money returns the amount for display. FromAfter and ToAfter return the available balances after it.
func (f transferForm) Money() string { return api.FormatAmount(f.Cents, f.From.Currency) }
func (f transferForm) FromAfter() string {
	return api.FormatAmount(f.From.AvailableBalance-f.Cents, f.From.Currency)
}
func (f transferForm) ToAfter() string {
	return api.FormatAmount(f.Target.AvailableBalance+f.Cents, f.From.Currency)
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
			if a.ID == v.field("destination_account_id") {
				f.Target = accountView{a}
			}
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
	in := ledger.TransferInput{TransferCreate: api.TransferCreate{SourceAccountID: f.From.ID}}
	err = v.bind(&in, f.From.Currency, func(wrong *fault.Violations) {
		if f.Target.ID == "" {
			wrong.Add("destination_account_id", "must be chosen")
		}
		if in.Amount > f.From.AvailableBalance {
			wrong.Add("amount_cents", "is more than the account has: "+api.FormatAmount(f.From.AvailableBalance, f.From.Currency)+" is available")
		}
	})
	f.Cents = in.Amount
	switch do := v.field("do"); {
	case err != nil || do == "change":
	case do != "send":
		f.Review = true
	default:
		if _, err = change(v, c.Ledger.Transfer, in); err == nil {
			return v.done("Moved "+f.Money()+" to "+f.Target.Name+".", v.path("accounts", f.From.ID))
		}
	}
	page := func(v *visit) error { return v.show("accounts_transfer", "Move money", f) }
	if err != nil {
		return v.again(err, page)
	}
	return page(v)
}

// addTestMoney adds money to a sandbox account.
func (c *Console) addTestMoney(v *visit) error {
	if err := v.need(access.AccountsWrite); err != nil {
		return err
	}
	to, err := read(v, c.Ledger.Get, ledger.Input{ID: v.R.PathValue("id")})
	if err != nil {
		return err
	}
	in := payout.DepositInput{SimulatedDeposit: api.SimulatedDeposit{AccountID: to.ID}}
	if err = v.bind(&in, to.Currency); err == nil {
		_, err = change(v, c.Sandbox.Deposit, in)
	}
	return v.accountStep(err, "Added test money. No real money moved.")
}
