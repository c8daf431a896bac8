package console

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
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

// newAccountPage is the form of a new account.
type newAccountPage struct {
	Currencies  []choice
	LiveAllowed bool
}

func (c *Console) newAccountPage(v *visit) error {
	if err := v.need(access.AccountsWrite); err != nil {
		return err
	}
	data := newAccountPage{LiveAllowed: c.Rails.HasLive()}
	for _, r := range c.Rails.All() {
		if one := (choice{Value: r.Currency, Text: r.Currency}); !slices.ContainsFunc(data.Currencies, func(other choice) bool { return other.Value == one.Value }) {
			data.Currencies = append(data.Currencies, one)
		}
	}
	return v.show("accounts_new", "Open an account", data)
}

func (c *Console) createAccount(v *visit) error {
	made, err := submit(v, c.Ledger.Create, ledger.CreateInput{AccountCreate: api.AccountCreate{WorkspaceID: &v.workspace.ID}})
	if err != nil {
		return v.again(err, c.newAccountPage)
	}
	return v.done("Account opened. There is nothing in it yet.", v.path("accounts", made.Value.ID))
}

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
	return cmp.Or(map[ledger.Kind]string{
		ledger.KindDeposit:  "Money came in",
		ledger.KindAnnounce: "The bank announced money",
		ledger.KindBook:     "Announced money came in",
		ledger.KindReserve:  "Reserved for a payout",
		ledger.KindRelease:  "No longer reserved",
		ledger.KindComplete: "Paid out",
		ledger.KindReturn:   "Payout returned",
		ledger.KindReopen:   "A payout was not paid after all",
		ledger.KindTransfer: "Moved between accounts",
	}[ledger.Kind(p.Kind)], capitalized(p.Kind))
}

// accountPage is the page of an account.
type accountPage struct {
	accountView
	Chart    chart
	Filtered bool
	Postings []postingView
	Pages    pageLinks
	CSV      string
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
	if err = v.here(a.WorkspaceID, err); err != nil {
		return accountPage{}, err
	}
	days, err := v.console.Ledger.Outflow30(v.R.Context(), v.Caller, a.ID, v.zone)
	query := v.filters(statementFilters()...)
	return accountPage{
		accountView: accountView{a}, Chart: newMoneyChart(days, a.Currency, v.zone), Filtered: len(query) > 0,
		CSV: withQuery(v.path("accounts", a.ID, "statement"), query),
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
	for _, name := range statementFilters() {
		v.preset(name, v.filters(name).Get(name))
	}
	v.preset("name", data.Name)
	err = v.addStatement(&data)
	if wrong(err, "cursor") {
		return v.redirect(withQuery(v.path("accounts", data.ID), v.filters(statementFilters()...)))
	}
	if p, _, ok := formProblems(err); ok {
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
	if err = v.here(a.WorkspaceID, err); err != nil {
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
	_, err := submit(v, c.Ledger.Update, ledger.UpdateInput{ID: v.R.PathValue("id"), AccountUpdate: api.AccountUpdate{Name: new("")}})
	return v.accountStep(err, "Renamed.")
}

func (c *Console) setAccountStatus(v *visit) error {
	text := map[string]string{api.AccountActive: "The account pays again.", api.AccountFrozen: "Frozen. Nothing is paid from it until it is unfrozen.",
		api.AccountClosed: "Closed permanently."}[v.field("status")]
	_, err := submit(v, c.Ledger.Update, ledger.UpdateInput{ID: v.R.PathValue("id"), AccountUpdate: api.AccountUpdate{Status: new("")}})
	return v.accountStep(err, text)
}

// accountStep redirects to an account, or shows it again with the problems.
func (v *visit) accountStep(err error, text string) error {
	if waitsForApprover(err) {
		err, text = nil, "Requested. The account stays frozen until another person approves."
	}
	if err != nil {
		return v.again(err, v.console.accountPage)
	}
	return v.done(text, v.path("accounts", v.R.PathValue("id")))
}
