package console

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/audit"
	"bursar/internal/fault"
	"bursar/internal/ledger"
	"bursar/internal/rail"
	"bursar/internal/spreadsheet"
	"bursar/internal/web"
)

func (c *Console) accountRoutes() []Route {
	return []Route{
		c.getIn("/accounts", c.accountsPage),
		c.getIn("/accounts/new", c.newAccountPage),
		c.postIn("/accounts", audit.LedgerAccountCreated, c.createAccount),
		c.getIn("/accounts/{id}", c.accountPage),
		c.getIn("/accounts/{id}/statement", c.statement),
		c.postIn("/accounts/{id}", audit.LedgerAccountUpdated, c.renameAccount),
		c.postIn("/accounts/{id}/status", audit.LedgerAccountUpdated, c.setAccountStatus),
	}
}

func (c *Console) accountsPage(v *visit) error {
	if err := v.need(access.AccountsRead); err != nil {
		return err
	}
	list, err := v.accounts()
	if err != nil {
		return err
	}
	data := make([]accountView, len(list))
	for i, a := range list {
		data[i] = accountView{a}
	}
	return v.show("accounts", "Accounts", data)
}

// accountForm is the form of a new account.
type accountForm struct {
	Name, Currency, Mode string
	Currencies           []string
	LiveAllowed          bool
}

func (v *visit) accountForm() accountForm {
	f := accountForm{Name: v.field("name"), Currency: v.field("currency"), Mode: v.field("mode"), LiveAllowed: v.console.Rails.HasLive()}
	seen := map[string]bool{}
	for _, r := range v.console.Rails.All() {
		if !seen[r.Currency] {
			f.Currencies = append(f.Currencies, r.Currency)
		}
		seen[r.Currency] = true
	}
	return f
}

func (c *Console) newAccountPage(v *visit) error {
	if err := v.need(access.AccountsWrite); err != nil {
		return err
	}
	return v.show("accounts_new", "Open an account", v.accountForm())
}

func (c *Console) createAccount(v *visit) error {
	f := v.accountForm()
	made, err := change(v, c.Ledger.Create, ledger.CreateInput{AccountCreate: api.AccountCreate{
		WorkspaceID: &v.workspace.ID, Name: f.Name, Currency: optional(f.Currency), Mode: optional(f.Mode)}})
	if p, status, ok := formProblems(err, "name", "currency", "mode"); ok {
		return v.showAgain(status, "accounts_new", "Open an account", p, f)
	}
	if err != nil {
		return err
	}
	return v.done("Account opened. There is nothing in it yet.", v.path("accounts", made.Value.ID))
}

// statementFilter selects a part of an account's statement.
type statementFilter struct{ Bucket, From, To, Reference string }

// postingView is a line of a statement, for display.
type postingView struct {
	api.Posting
	Currency string
	Path     string // the page of its payout, transfer or deposit
}

// Money and After return the amount and the balance of the bucket after it, for display.
func (p postingView) Money() string { return api.FormatAmount(p.Amount, p.Currency) }
func (p postingView) After() string { return api.FormatAmount(p.Balance, p.Currency) }

// What describes the line.
func (p postingView) What() string {
	switch ledger.Kind(p.Kind) {
	case ledger.KindDeposit:
		return "Money came in"
	case ledger.KindAnnounce:
		return "The bank announced money"
	case ledger.KindBook:
		return "Announced money came in"
	case ledger.KindReserve:
		return "Reserved for a payout"
	case ledger.KindRelease:
		return "No longer reserved"
	case ledger.KindComplete:
		return "Paid out"
	case ledger.KindReturn:
		return "A payout came back"
	case ledger.KindReopen:
		return "A payout was not paid after all"
	case ledger.KindTransfer:
		return "Moved between accounts"
	}
	return capitalized(p.Kind)
}

// accountPage is the page of an account.
type accountPage struct {
	accountView
	NewName string
	// TestMoney is the typed amount to add to a sandbox account.
	TestMoney string
	Chart     chart
	Filter    statementFilter
	Filtered  bool
	Postings  []postingView
	Pages     pageLinks
	CSV       string
}

// statementFilters returns the query parameters that filter a statement.
func statementFilters() []string { return []string{"bucket", "from", "to", "reference"} }

// postingsInput reads the filters of a statement. Days are in the visitor's time zone.
func (v *visit) postingsInput(query url.Values) (ledger.PostingsInput, error) {
	in := ledger.PostingsInput{ID: v.R.PathValue("id"), Bucket: optional(query.Get("bucket")), Reference: optional(query.Get("reference"))}
	var wrong fault.Violations
	day := func(name string, days int, less int64) *string {
		text := query.Get(name)
		if text == "" {
			return nil
		}
		at, err := time.ParseInLocation(time.DateOnly, text, v.zone)
		if err != nil {
			wrong.Add(name, "must be a date such as 2026-11-30")
			return nil
		}
		return new(strconv.FormatInt(at.AddDate(0, 0, days).UnixMilli()-less, 10))
	}
	in.Since, in.Until = day("from", 0, 0), day("to", 1, 1)
	return in, wrong.Err()
}

// account reads the account named in the URL, with its chart. An account of another workspace is not found.
func (v *visit) account() (accountPage, error) {
	a, err := read(v, v.console.Ledger.Get, ledger.Input{ID: v.R.PathValue("id")})
	if err == nil && a.WorkspaceID != v.workspace.ID {
		err = errNoPage
	}
	if err != nil {
		return accountPage{}, err
	}
	days, err := v.console.Ledger.Outflow30(v.R.Context(), v.Caller, a.ID, v.zone)
	query := v.filters(statementFilters()...)
	return accountPage{
		accountView: accountView{a}, NewName: a.Name, Chart: newMoneyChart(days, a.Currency, v.zone), Filtered: len(query) > 0,
		Filter: statementFilter{query.Get("bucket"), query.Get("from"), query.Get("to"), query.Get("reference")},
		CSV:    withQuery(v.path("accounts", a.ID, "statement"), query),
	}, err
}

// addStatement adds a page of the statement.
func (v *visit) addStatement(data *accountPage) error {
	query := v.filters(statementFilters()...)
	in, err := v.postingsInput(query)
	if err != nil {
		return err
	}
	in.PageParams = v.pageParams()
	list, err := read(v, v.console.Ledger.Postings, in)
	if err != nil {
		return err
	}
	for _, p := range list.Rows() {
		line := postingView{Posting: p, Currency: data.Currency}
		if strings.HasPrefix(p.Reference, "po_") && v.can(access.PayoutsRead) {
			line.Path = v.path("payouts", p.Reference)
		}
		data.Postings = append(data.Postings, line)
	}
	next, _ := list.Next()
	data.Pages = v.pageLinks(v.path("accounts", data.ID), query, next)
	return nil
}

func (c *Console) accountPage(v *visit) error {
	data, err := v.account()
	if err != nil {
		return err
	}
	err = v.addStatement(&data)
	if wrong(err, "cursor") {
		return v.redirect(withQuery(v.path("accounts", data.ID), v.filters(statementFilters()...)))
	}
	if p, _, ok := formProblems(err, statementFilters()...); ok {
		return v.showAgain(http.StatusUnprocessableEntity, "accounts_one", data.Name, p, data)
	}
	if err != nil {
		return err
	}
	return v.show("accounts_one", data.Name, data)
}

// statement downloads a whole statement as CSV.
func (c *Console) statement(v *visit) error {
	a, err := read(v, c.Ledger.Get, ledger.Input{ID: v.R.PathValue("id")})
	if err == nil && a.WorkspaceID != v.workspace.ID {
		err = errNoPage
	}
	if err != nil {
		return err
	}
	in, err := v.postingsInput(v.filters(statementFilters()...))
	if err != nil {
		return err
	}
	return v.SendFile(func(file *web.File) error {
		file.Type, file.Name = "text/csv; charset=utf-8", "statement-"+a.ID+".csv"
		out := spreadsheet.NewWriter(file, ',', false)
		if err := out.Write("number", "time", "kind", "reference", "description", "bucket", "amount", "balance", "currency", "transaction_id"); err != nil {
			return err
		}
		in.Limit = new("100")
		for {
			list, err := read(v, c.Ledger.Postings, in)
			if err != nil {
				return err
			}
			for _, p := range list.Rows() {
				if err := out.Write(strconv.FormatInt(p.Number, 10), time.UnixMilli(p.CreatedAt).UTC().Format(time.RFC3339), p.Kind, p.Reference, p.Description, p.Bucket,
					rail.Decimal(p.Amount, a.Currency), rail.Decimal(p.Balance, a.Currency), a.Currency, p.TransactionID); err != nil {
					return err
				}
			}
			if err := out.Flush(); err != nil {
				return err
			}
			next, more := list.Next()
			if !more {
				return nil
			}
			in.Cursor = &next
		}
	})
}

func (c *Console) renameAccount(v *visit) error {
	name := v.field("name")
	return v.updateAccount(api.AccountUpdate{Name: &name}, "Renamed.", func(data *accountPage) { data.NewName = name })
}

func (c *Console) setAccountStatus(v *visit) error {
	status := v.field("status")
	text := map[string]string{api.AccountActive: "The account pays again.", api.AccountFrozen: "Frozen. Nothing is paid from it until somebody unfreezes it.",
		api.AccountClosed: "Closed for ever."}[status]
	return v.updateAccount(api.AccountUpdate{Status: &status}, text, func(*accountPage) {})
}

func (v *visit) updateAccount(update api.AccountUpdate, text string, typed func(*accountPage)) error {
	_, err := change(v, v.console.Ledger.Update, ledger.UpdateInput{ID: v.R.PathValue("id"), AccountUpdate: update})
	return v.accountStep(err, text, typed)
}

// accountStep redirects to an account, or shows it again with the typed values and the problems.
func (v *visit) accountStep(err error, text string, typed func(*accountPage)) error {
	if waitsForApprover(err) {
		err, text = nil, "Requested. The account stays frozen until another person approves."
	}
	if err == nil {
		return v.done(text, v.path("accounts", v.R.PathValue("id")))
	}
	p, status, ok := formProblems(err, "name", "amount_cents")
	if !ok {
		return err
	}
	data, failed := v.account()
	if failed == nil {
		failed = v.addStatement(&data)
	}
	if failed != nil {
		return failed
	}
	typed(&data)
	return v.showAgain(status, "accounts_one", data.Name, p, data)
}
