package console

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/audit"
	"bursar/internal/fault"
	"bursar/internal/payout"
)

func (c *Console) manyRoutes() []Route {
	return []Route{
		c.getIn("/payouts/many", c.manyPage),
		c.postIn("/payouts/many", audit.PayoutBatchCreated, c.payMany),
		c.postIn("/payouts/many/file", audit.PayoutBatchCreated, c.uploadMany),
		c.getIn("/payouts/batches/{id}", c.batchPage),
	}
}

// manyForm is the form for many payments: a file, or amounts for the payees of a tag.
type manyForm struct {
	Accounts             []accountView
	Tags                 []api.Tag
	Account, Description string
	Tag                  string
	Payees               []manyPayee

	Review  []manyLine
	Lines   string // the valid payments as JSON, which the review passes on
	Batch   api.PayoutBatch
	Faulty  int
	Total   int64       // sum of the readable lines that were not sent before
	Existed int         // lines that were sent before
	Earlier *api.Payout // the first of those, if the visitor may see it
}

// Repeated reports whether all lines were sent before, so that there is nothing to do.
func (f manyForm) Repeated() bool { return f.Existed > 0 && f.Existed == len(f.Review) }

// manyLine is one payment of many.
type manyLine struct {
	payout.Line
	Rail       string
	ExpectedAt int64
	Earlier    string // the existing payout of the line, which is not created again
	State      string // its state in words
}

// manyPayee is a payee of a tag.
type manyPayee struct {
	ID, Label, Method, Where, Amount string
}

// New returns the number of payments that were not sent before.
func (f manyForm) New() int { return len(f.Review) - f.Existed }

// Source returns the account that pays.
func (f manyForm) Source() (a accountView) {
	for _, one := range f.Accounts {
		if one.ID == f.Account {
			a = one
		}
	}
	return a
}

// Sum returns the total of all lines, for display.
func (f manyForm) Sum() string { return api.FormatAmount(f.Total, f.Source().Currency) }

// Missing returns the amount that the account lacks for all lines, for display. It is empty if the account has enough.
func (f manyForm) Missing() string {
	if missing := f.Total - f.Source().AvailableBalance; missing > 0 {
		return api.FormatAmount(missing, f.Source().Currency)
	}
	return ""
}

// maxManyFile is the maximum size of a file of payments. The review includes its lines in a form, which has its own limit.
const maxManyFile = 512 << 10

func (v *visit) manyForm() (manyForm, error) {
	f := manyForm{}
	if err := v.need(access.PayoutsCreate); err != nil {
		return f, err
	}
	var err error
	if f.Accounts, err = v.payingAccounts(); err != nil {
		return f, err
	}
	if len(f.Accounts) > 0 {
		f.Account = f.Accounts[0].ID
	}
	if v.can(access.DirectoryRead) && v.can(access.ReceivingRead) {
		f.Tags, err = v.tags()
	}
	return f, err
}

func (c *Console) manyPage(v *visit) error {
	f, err := v.manyForm()
	if err != nil {
		return err
	}
	query := v.R.URL.Query()
	if account := query.Get("account"); account != "" {
		f.Account = account
	}
	f.Tag, f.Description = query.Get("tag"), query.Get("description")
	if f.Tag != "" && len(f.Tags) > 0 {
		if f.Payees, err = v.payeesOf(f.Tag); err != nil {
			return err
		}
	}
	return v.show("payouts_many", "Pay many", f)
}

// review sets the payments to review.
func (f *manyForm) review(lines []payout.Line) {
	for _, l := range lines {
		l.Fault = sentence(l.Fault)
		f.Review = append(f.Review, manyLine{Line: l})
	}
}

// payMany shows the review of payments, and makes them after the person has seen it.
func (c *Console) payMany(v *visit) error {
	f, err := v.manyForm()
	if err != nil {
		return err
	}
	f.Account, f.Description, f.Tag = v.field("account"), v.field("description"), v.field("tag")
	lines := v.typedLines(f.Source().Account)
	if reviewed := v.form.Get("lines"); reviewed != "" && json.Unmarshal([]byte(reviewed), &lines) != nil {
		return v.manyAgain(fault.New(api.CodeValidation, "the payments could not be read: start again"), f)
	}
	if len(lines) == 0 {
		return v.manyAgain(fault.New(api.CodeValidation, "type an amount for at least one payee"), f)
	}
	f.review(lines)
	if v.field("do") == "send" {
		return v.sendMany(f)
	}
	return v.reviewMany(f, problems{})
}

// reviewMany shows the dry-run result of each payment, with all its problems.
func (v *visit) reviewMany(f manyForm, p problems) error {
	if err := v.rehearseMany(&f); err != nil {
		return v.manyAgain(err, f)
	}
	status := http.StatusOK
	if f.Faulty > 0 || p.Any() {
		status = http.StatusUnprocessableEntity
	}
	return v.showAgain(status, "payouts_many_review", "Pay many", p, f)
}

// rehearseMany runs a dry run of the readable lines. Only valid lines are passed on, because the errors of others would no longer be
// visible.
func (v *visit) rehearseMany(f *manyForm) error {
	if f.Source().ID == "" {
		return fault.Invalid("account", "must be chosen")
	}
	var at []int
	in := f.batch(true)
	for i, line := range f.Review {
		if line.Fault == "" {
			at, in.Payouts = append(at, i), append(in.Payouts, line.PayoutTerms)
		}
	}
	if len(at) > 0 {
		made, err := read(v, v.console.Payouts.Batch, in)
		if err = f.spread(err, at); err != nil {
			return err
		}
		f.Batch = made.Value
		for i, result := range made.Value.Results {
			line := &f.Review[at[i]]
			line.Rail, line.ExpectedAt = v.railTitle(result.SettlementRail, f.Source().Mode), result.ExpectedAt
			if result.Error != nil {
				line.Fault = sentence(result.Error.Message)
			}
			if result.Result == api.BatchExisted {
				line.Earlier, line.State = result.ID, payoutState(result.Status)
			}
		}
	}
	for _, line := range f.Review {
		switch {
		case line.Earlier != "":
			f.Existed++
		case line.Fault != "":
			f.Faulty++
			fallthrough
		default:
			f.Total += line.AmountCents
		}
	}
	if err := f.passOn(); err != nil {
		return err
	}
	if !f.Repeated() || !v.can(access.PayoutsRead) {
		return nil
	}
	earlier, err := read(v, v.console.Payouts.Get, payout.GetInput{ID: f.Review[0].Earlier})
	f.Earlier = &earlier
	return err
}

// passOn writes the lines that the review passes on.
func (f *manyForm) passOn() error {
	var valid []payout.Line
	for _, l := range f.Review {
		if l.Fault == "" {
			valid = append(valid, l.Line)
		}
	}
	lines, err := json.Marshal(valid)
	if err != nil {
		return fmt.Errorf("write the payments: %w", err)
	}
	f.Lines = string(lines)
	return nil
}

func (f manyForm) batch(dry bool) payout.BatchInput {
	return payout.BatchInput{PayoutBatchCreate: api.PayoutBatchCreate{SourceAccountID: f.Account, Currency: f.Source().Currency, Description: optional(f.Description),
		Atomic: !dry, DryRun: dry}}
}

// spread adds the problems of single payments to their lines. It returns any other error.
func (f *manyForm) spread(err error, at []int) error {
	var wrong *fault.Fault
	if !errors.As(err, &wrong) {
		return err
	}
	details, ok := wrong.Details.(fault.ViolationDetails)
	if !ok {
		return err
	}
	for _, one := range details.Fields {
		number, field, _ := strings.Cut(strings.TrimPrefix(one.Field, "payouts."), ".")
		i, notNumber := strconv.Atoi(number)
		if notNumber != nil || i < 0 || i >= len(at) {
			return err
		}
		line := &f.Review[at[i]]
		line.Fault = sentence(field + " " + one.Constraint)
	}
	return nil
}

// sendMany creates all payouts, or none.
func (v *visit) sendMany(f manyForm) error {
	in := f.batch(false)
	for _, line := range f.Review {
		in.Payouts = append(in.Payouts, line.PayoutTerms)
	}
	made, err := change(v, v.console.Payouts.Batch, in)
	if _, _, ok := formProblems(err); ok {
		return v.reviewMany(f, problems{Text: "Nothing was paid, because something has changed or is wrong. Look at it again."})
	}
	switch {
	case err != nil:
		return err
	case made.Value.ID == "":
		return v.reviewMany(f, problems{}) // shows that all of them exist
	}
	text := "Asked for " + strconv.FormatInt(made.Value.Payouts, 10) + " " + nounFor(int(made.Value.Payouts), "payout", "payouts") + ". " + sentence(made.Value.ApprovalReason)
	return v.done(text, v.path("payouts", "batches", made.Value.ID))
}

// manyAgain shows the first page again with its problems.
func (v *visit) manyAgain(err error, f manyForm) error {
	p, status, ok := formProblems(err)
	if !ok {
		return err
	}
	if f.Tag != "" && len(f.Tags) > 0 {
		if f.Payees, err = v.payeesOf(f.Tag); err != nil {
			return err
		}
	}
	return v.showAgain(status, "payouts_many", "Pay many", p, f)
}

// batchPage is the page of a batch.
type batchPage struct {
	api.PayoutBatch
	Account string
	Sandbox bool
	Counts  []stat
	Payouts []payoutView
	Pages   pageLinks
}

// Total returns the sum for display.
func (b batchPage) Total() string { return api.FormatAmount(b.TotalCents, b.Currency) }

func (c *Console) batchPage(v *visit) error {
	b, err := read(v, c.Payouts.GetBatch, payout.Input{ID: v.R.PathValue("id")})
	if err == nil && b.WorkspaceID != v.workspace.ID {
		err = errNoPage
	}
	if err != nil {
		return err
	}
	accounts, err := v.accounts()
	if err != nil {
		return err
	}
	byID := accountsByID(accounts)
	data := batchPage{PayoutBatch: b, Account: byID[b.SourceAccountID].Name}
	for _, status := range slices.Sorted(maps.Keys(b.Statuses)) {
		data.Counts = append(data.Counts, stat{payoutState(status), strconv.FormatInt(b.Statuses[status], 10), v.path("payouts") + "?batch=" + b.ID + "&status=" + status})
	}
	list, err := read(v, c.Payouts.List, payout.ListInput{WorkspaceID: &v.workspace.ID, BatchID: &b.ID, PageParams: v.pageParams()})
	if wrong(err, "cursor") {
		return v.redirect(v.path("payouts", "batches", b.ID))
	}
	if err != nil {
		return err
	}
	for _, p := range list.Rows() {
		data.Payouts, data.Sandbox = append(data.Payouts, v.payoutView(p, byID)), p.Mode == api.ModeSandbox
	}
	next, _ := list.Next()
	data.Pages = v.pageLinks(v.path("payouts", "batches", b.ID), nil, next)
	return v.show("payouts_batch", "Batch of payouts", data)
}
