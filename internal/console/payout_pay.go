package console

import (
	"net/http"
	"time"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/audit"
	"bursar/internal/fault"
	"bursar/internal/payout"
)

func (c *Console) payRoutes() []Route {
	return []Route{
		c.getIn("/directory/{id}/pay", c.payPage),
		c.postIn("/directory/{id}/pay", audit.PayoutCreated, c.pay),
	}
}

// payForm is the form that pays one payee.
type payForm struct {
	EntryID, Label string
	SeesMethods    bool
	Methods        []method // payable methods
	Waiting        int      // number of methods that are not payable yet
	Accounts       []accountView
	Rails          []railOffer

	Chosen method      // the chosen receiving method
	Source accountView // the account that pays

	Faults   []string             // all problems
	Review   *api.PayoutRehearsal // the dry-run result
	How      string               // the rail, in words
	Currency string
	Cents    int64
}

// railOffer is a rail to choose, with its amounts and arrival times.
type railOffer struct {
	Name, Title, Limits string
	Send                int64 // when it sends, 0 for at once
}

// Targets and Sources return the receiving methods and the accounts to choose from.
func (f payForm) Targets() (list []choice) {
	for _, m := range f.Methods {
		list = append(list, choice{Value: m.ID, Text: m.Provider + " " + m.AccountID + ", " + m.AccountName + when(m.IsDefault, " (default)")})
	}
	return list
}
func (f payForm) Sources() []choice { return sourceChoices(f.Accounts) }

// Money returns the amount for display.
func (f payForm) Money() string { return api.FormatAmount(f.Cents, f.Currency) }

// Left returns the balance that stays available.
func (f payForm) Left() string {
	return api.FormatAmount(f.Source.AvailableBalance-f.Cents, f.Currency)
}

// railOffers describes the rails: the amounts that they carry, and when a payout submitted now would arrive.
func (v *visit) railOffers() (list []railOffer) {
	now := time.UnixMilli(v.console.endpoints.DB.Now())
	seen := map[string]bool{}
	for _, r := range v.console.Rails.All() {
		if seen[r.Name] {
			continue
		}
		seen[r.Name] = true
		one := railOffer{Name: r.Name, Title: r.Title, Limits: "From " + api.FormatAmount(r.Minimum, r.Currency)}
		if r.Maximum > 0 {
			one.Limits += " to " + api.FormatAmount(r.Maximum, r.Currency)
		}
		if r.Hours != nil {
			send, _ := r.Next(now)
			one.Send = send.UnixMilli()
		}
		list = append(list, one)
	}
	return list
}

// payForm reads the payee and the accounts to pay from.
func (v *visit) payForm() (payForm, error) {
	e, err := v.entry()
	if err == nil {
		err = v.need(access.PayoutsCreate)
	}
	if err != nil {
		return payForm{}, err
	}
	f := payForm{EntryID: e.ID, Label: e.Label, SeesMethods: e.ReceivingMethods != nil, Rails: v.railOffers()}
	all, err := v.shownMethods(e, "")
	if err != nil {
		return f, err
	}
	preferred := ""
	for _, m := range all {
		switch {
		case m.Status == api.MethodActive && !m.Cools:
			f.Methods = append(f.Methods, m)
			if m.IsDefault {
				preferred = m.ID
			}
		case !m.Ended():
			f.Waiting++
		}
	}
	v.preset("method", preferred)
	for _, m := range f.Methods {
		if m.ID == v.field("method") {
			f.Chosen = m
		}
	}
	f.Accounts, err = v.payingAccounts()
	for _, a := range f.Accounts {
		if a.ID == v.field("account") {
			f.Source = a
		}
	}
	return f, err
}

// payingAccounts lists the accounts that can pay.
func (v *visit) payingAccounts() (list []accountView, err error) {
	all, err := v.accounts()
	for _, a := range all {
		if a.Status == api.AccountActive {
			list = append(list, accountView{a})
		}
	}
	return list, err
}

func payTitle(f payForm) string { return "Pay " + f.Label }

func (c *Console) payPage(v *visit) error {
	f, err := v.payForm()
	if err != nil {
		return err
	}
	return v.show("payouts_pay", payTitle(f), f)
}

// pay shows the dry-run result of a payout, and creates it after the person has reviewed that.
func (c *Console) pay(v *visit) error {
	f, err := v.payForm()
	if err != nil {
		return err
	}
	if v.field("do") == "change" {
		return v.show("payouts_pay", payTitle(f), f)
	}
	terms, err := v.payTerms(&f)
	if err != nil {
		return v.payAgain(err, f)
	}
	in := payout.CreateInput{PayoutCreate: api.PayoutCreate{SourceAccountID: f.Source.ID, Currency: f.Currency, PayoutTerms: terms}}
	if v.field("do") == "send" {
		made, err := change(v, c.Payouts.Create, in)
		if err != nil {
			return v.payAgain(err, f)
		}
		if made.Existing {
			return v.done("A payout with this reference was there already: this one. Nothing is paid again.", v.path("payouts", made.Value.ID))
		}
		return v.done(askedText(made.Value), v.path("payouts", made.Value.ID))
	}
	review, err := read(v, c.Payouts.Validate, in)
	if err != nil {
		return v.payAgain(err, f)
	}
	if !review.Valid {
		for _, one := range review.Faults {
			f.Faults = append(f.Faults, sentence(one.Message))
		}
		return v.showAgain(http.StatusUnprocessableEntity, "payouts_pay", payTitle(f), problems{}, f)
	}
	f.Review, f.How = &review, railWhy(v.railTitle(review.SettlementRail, f.Source.Mode), review.RailReason)
	return v.show("payouts_review", payTitle(f), f)
}

// payTerms returns the terms of the form. It reports all problems of the form at once.
func (v *visit) payTerms(f *payForm) (t api.PayoutTerms, err error) {
	var wrong fault.Violations
	if v.field("method") == "" {
		wrong.Add("method", "must be chosen")
	}
	if f.Source.ID == "" {
		wrong.Add("account", "must be chosen")
	}
	f.Currency = f.Source.Currency
	if f.Cents, err = api.ParseAmount(v.field("amount"), f.Currency); err != nil || f.Cents == 0 {
		wrong.Add("amount", "must be a number such as 1,500.00")
	}
	return api.PayoutTerms{AmountCents: f.Cents, ReceivingMethodID: new(v.field("method")), SettlementRail: optional(v.field("rail")),
		Description: optional(v.field("description")), ExternalID: optional(v.field("reference"))}, wrong.Err()
}

// payAgain shows the form with its problems.
func (v *visit) payAgain(err error, f payForm) error {
	return v.again(err, func(v *visit) error { return v.show("payouts_pay", payTitle(f), f) })
}
