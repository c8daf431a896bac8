package console

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/approval"
	"bursar/internal/audit"
	"bursar/internal/payout"
	"bursar/internal/rail"
)

func (c *Console) payoutRoutes() []Route {
	page := func(v *visit) string { return v.path("payouts", v.R.PathValue("id")) }
	return []Route{
		c.getIn("/payouts", c.payoutsPage),
		c.postIn("/payouts/stop", audit.PayoutSendingStopped, c.stopPayouts),
		c.postIn("/payouts/resume", audit.PayoutSendingResumed, c.resumePayouts),
		c.getIn("/payouts/{id}", c.payoutPage),
		c.getIn("/payouts/{id}/receipt", c.receiptPage),
		c.postIn("/payouts/{id}/approve", audit.PayoutApproved, c.recentForm(page, c.approvePayout)),
		c.postIn("/payouts/{id}/reject", audit.PayoutRejected, c.rejectPayout),
		c.postIn("/payouts/{id}/publish", audit.PayoutPublished, c.publishPayout),
		c.postIn("/payouts/{id}/confirm", audit.PayoutRecheckApproved, c.recentForm(page, c.confirmPayout)),
		c.postIn("/payouts/{id}/cancel", audit.PayoutCancelled, c.cancelPayout),
		c.postIn("/payouts/{id}/retry", audit.PayoutRetried, c.retryPayout),
		c.postIn("/payouts/{id}/resolve", audit.PayoutResolved, c.resolvePayout),
	}
}

// payoutView is a payout, for display.
type payoutView struct {
	api.Payout
	Account string // the name of the account that pays
	Rail    string // for people, such as InstaPay
	Later   bool   // waits for its scheduled time
}

func (v *visit) payoutView(p api.Payout, accounts map[string]api.Account) payoutView {
	return payoutView{Payout: p, Account: accounts[p.SourceAccountID].Name, Rail: v.railTitle(p.SettlementRail, p.Mode), Later: p.SendAt > v.console.endpoints.DB.Now()}
}

// Amount returns the amount for display.
func (p payoutView) Amount() string { return api.FormatAmount(p.AmountCents, p.Currency) }

// Sandbox reports whether no real money moves.
func (p payoutView) Sandbox() bool { return p.Mode == api.ModeSandbox }

// State returns the state of the payout in words.
func (p payoutView) State() string {
	switch {
	case p.Attention != "":
		return attentionText(p.Attention)
	case p.SendingStopped:
		return "Stopped"
	case p.Status == api.PayoutPending && p.Later:
		return "Scheduled"
	case p.Rejected:
		return "Rejected"
	case p.Status == api.PayoutCancelled:
		return "Cancelled"
	}
	return payoutState(p.Status)
}

// Kind returns the style of the state's badge.
func (p payoutView) Kind() string {
	switch {
	case p.Attention != "" || p.Status == api.PayoutFailed:
		return "bad"
	case p.Status == api.PayoutCompleted:
		return "good"
	case p.Status == api.PayoutInitiated || p.Status == api.PayoutReversed || p.SendingStopped:
		return "warn"
	case p.Status == api.PayoutDraft || p.Status == api.PayoutCancelled:
		return "muted"
	}
	return ""
}

// Moving reports whether the payout is about to change without anyone's action.
func (p payoutView) Moving() bool {
	return p.Attention == "" && !p.SendingStopped && (p.Status == api.PayoutProcessing || p.Status == api.PayoutPending && !p.Later)
}

// payoutState returns a state of payouts in words. State is more precise for a single payout.
func payoutState(status string) string {
	return cmp.Or(map[string]string{
		api.PayoutInitiated:  "Waits for approval",
		api.PayoutPending:    "Queued",
		api.PayoutProcessing: "On its way",
		api.PayoutReversed:   "Came back",
		api.PayoutCancelled:  "Cancelled or rejected",
	}[status], capitalized(status))
}

// attentionText returns why a person has to look at a payout.
func attentionText(why string) string {
	return cmp.Or(map[string]string{
		payout.OutcomeUnknown: "Outcome unknown",
		payout.Contradicted:   "Contradicted",
		payout.Recheck:        "On hold",
	}[why], capitalized(why))
}

// How returns the rail of the payout, and why it was chosen.
func (p payoutView) How() string { return railWhy(p.Rail, p.RailReason) }

// railWhy returns the display name of a rail with the reason for it. The reason may begin with the name.
func railWhy(title, why string) string {
	if why == "" || strings.HasPrefix(why, title) {
		return title + strings.TrimPrefix(why, title)
	}
	return title + ": " + why
}

// railTitle returns the display name of a rail.
func (v *visit) railTitle(name, mode string) string {
	if r := v.console.Rails.Named(name, mode == api.ModeSandbox); r != nil {
		return r.Title
	}
	return name
}

// payoutFilters returns the query parameters that filter the list of payouts.
func payoutFilters() []string { return []string{"q", "status", "account", "rail", "payee", "batch"} }

// payoutsPage is the list of payouts.
type payoutsPage struct {
	Payee, Batch            string
	States, Accounts, Rails []choice
	Filtered                bool
	Payouts                 []payoutView
	Pages                   pageLinks
	Stops                   []stopView
	StopModes               []choice
}

func (c *Console) payoutsPage(v *visit) error {
	data, err := v.payoutList()
	if wrong(err, "cursor") {
		return v.redirect(withQuery(v.path("payouts"), v.filters(payoutFilters()...))) // the cursor belongs to other filters
	}
	if p, _, ok := formProblems(err); ok {
		return v.showAgain(http.StatusUnprocessableEntity, "payouts", "Payouts", p, data)
	}
	if err != nil {
		return err
	}
	return v.show("payouts", "Payouts", data)
}

// payoutList reads the payouts that the filters in the URL select.
func (v *visit) payoutList() (payoutsPage, error) {
	c, query := v.console, v.filters(payoutFilters()...)
	accounts, err := v.accounts()
	if err != nil {
		return payoutsPage{}, err
	}
	data := payoutsPage{Payee: query.Get("payee"), Batch: query.Get("batch"), Filtered: len(query) > 0}
	for _, status := range api.PayoutStates() {
		data.States = append(data.States, choice{Value: status, Text: payoutState(status)})
	}
	for name := range query {
		v.preset(name, query.Get(name))
	}
	data.Accounts, data.Rails = accountChoices(accounts), c.railChoices()
	list, err := read(v, c.Payouts.List, payout.ListInput{
		WorkspaceID: &v.workspace.ID, Q: optional(query.Get("q")), Status: optional(query.Get("status")), AccountID: optional(query.Get("account")),
		Rail: optional(query.Get("rail")), EntryID: optional(query.Get("payee")), BatchID: optional(query.Get("batch")), PageParams: v.pageParams(),
	})
	if err != nil {
		return data, err
	}
	byID := accountsByID(accounts)
	for _, p := range list.Rows() {
		data.Payouts = append(data.Payouts, v.payoutView(p, byID))
	}
	next, _ := list.Next()
	data.Pages = v.pageLinks(v.path("payouts"), query, next)
	data.Stops, data.StopModes, err = v.stops()
	return data, err
}

// railChoices lists the rails by name. A rail that exists for the sandbox and for real money is listed once.
func (c *Console) railChoices() (list []choice) {
	for _, r := range c.Rails.All() {
		if !slices.ContainsFunc(list, func(one choice) bool { return one.Value == r.Name }) {
			list = append(list, choice{Value: r.Name, Text: r.Title})
		}
	}
	return list
}

// payoutPage is the page of a payout.
type payoutPage struct {
	payoutView
	Clear       bool   // the account number is not masked
	NotApproved string // why it was not approved
	Approval    *api.Approval
	Roles       []approvalChange // of the requester and the approvers
	OfBatch     bool             // the approval is for a whole batch
	MayReject   bool
	HeldBy      string // why it is held, in a sentence
	Mine        bool   // the visitor has requested it
	Steps       []homeRow
	Attempts    []attemptView
	Stops       []stopView // stops of its mode
}

// MayCancel reports whether the payout was not handed to its rail.
func (p payoutPage) MayCancel() bool {
	return p.Status == api.PayoutDraft || p.Status == api.PayoutInitiated || p.Status == api.PayoutPending
}

// attemptView is an attempt to send a payout, for display.
type attemptView struct{ api.PayoutAttempt }

// What returns the result of the attempt in words.
func (a attemptView) What() string {
	switch a.Resolved {
	case api.ResolvePaid:
		return "Resolved as paid"
	case api.ResolveNotPaid:
		return "Resolved as not paid"
	}
	switch rail.State(a.State) {
	case rail.Completed:
		return "The payee has the money"
	case rail.Accepted:
		return "The rail has it, and has not decided"
	case rail.Rejected:
		return "The rail refused it"
	case rail.NotReceived:
		return "Not received by the rail"
	case rail.Unknown:
		return "Nobody knows: the rail is asked"
	}
	return "Being sent"
}

// Why returns the rail's own code and message.
func (a attemptView) Why() string { return strings.TrimSpace(a.Reason + " " + a.Message) }

// payout reads the payout named in the URL. A payout of another workspace is not found.
func (v *visit) payout(reveal bool) (payoutPage, error) {
	c := v.console
	in := payout.GetInput{ID: v.R.PathValue("id")}
	if reveal {
		in.Reveal = new("true")
	}
	p, err := read(v, c.Payouts.Get, in)
	if err = v.here(p.WorkspaceID, err); err != nil {
		return payoutPage{}, err
	}
	accounts, err := v.accounts()
	if err != nil {
		return payoutPage{}, err
	}
	data := payoutPage{payoutView: v.payoutView(p, accountsByID(accounts)), Clear: reveal, Mine: p.MakerID == v.Caller.ID}
	story, err := read(v, c.Payouts.Story, payout.Input{ID: p.ID})
	if err != nil {
		return data, err
	}
	for _, row := range story.Steps {
		data.Steps = append(data.Steps, newHomeRow(v, row))
		holds := slices.ContainsFunc(row.Changes, func(c api.AuditChange) bool { return c.Field == "held_by" })
		if p.Attention == payout.Recheck && data.HeldBy == "" && holds {
			data.HeldBy = row.Description
		}
	}
	for _, a := range story.Attempts {
		data.Attempts = append(data.Attempts, attemptView{a})
	}
	if p.SendingStopped {
		if data.Stops, _, err = v.stops(); err != nil {
			return data, err
		}
		data.Stops = slices.DeleteFunc(data.Stops, func(s stopView) bool { return s.Mode != p.Mode })
	}
	if data.NotApproved, err = v.notApproved(p); err != nil {
		return data, err
	}
	if p.Status != api.PayoutInitiated || p.ApprovalID == "" {
		return data, nil
	}
	a, err := read(v, c.Approvals.Get, approval.Input{ID: p.ApprovalID})
	if err != nil {
		return data, err
	}
	a.CannotBecause = sentence(a.CannotBecause)
	data.Roles = v.approvalChanges(a.RoleChanges)
	data.Approval, data.OfBatch, data.MayReject = &a, p.BatchID != "", a.State == api.ApprovalPending && v.can(access.PayoutsApprove)
	return data, nil
}

func (c *Console) payoutPage(v *visit) error {
	query := v.R.URL.Query()
	v.preset("verification", query.Get("verification"))
	data, err := v.payout(query.Get("reveal") == "true")
	if err != nil {
		return err
	}
	return v.show("payouts_one", "Payout to "+data.SettlementAccount.BankAccountName, data)
}

func (c *Console) approvePayout(v *visit) error {
	done, err := submit(v, c.Payouts.Approve, payout.ApproveInput{ID: v.R.PathValue("id")})
	if err != nil || done.Status != api.PayoutInitiated {
		return v.payoutStep(err, "Approved.")
	}
	a, err := read(v, c.Approvals.Get, approval.Input{ID: done.ApprovalID})
	if err != nil {
		return err
	}
	return v.payoutStep(nil, approvedText(a))
}

func (c *Console) rejectPayout(v *visit) error {
	_, err := submit(v, c.Payouts.Reject, payout.RejectInput{ID: v.R.PathValue("id")})
	return v.payoutStep(err, "Rejected. Nothing is paid.")
}

func (c *Console) publishPayout(v *visit) error {
	done, err := change(v, c.Payouts.Publish, payout.Input{ID: v.R.PathValue("id")})
	return v.payoutStep(err, askedText(done))
}

func (c *Console) confirmPayout(v *visit) error {
	_, err := change(v, c.Payouts.Confirm, payout.Input{ID: v.R.PathValue("id")})
	if waitsForApprover(err) {
		return v.payoutStep(nil, "Not released: it needs approval by another person.")
	}
	return v.payoutStep(err, "Released. The payout is sent at the next opportunity.")
}

func (c *Console) cancelPayout(v *visit) error {
	_, err := change(v, c.Payouts.Cancel, payout.CancelInput{ID: v.R.PathValue("id")})
	return v.payoutStep(err, "Cancelled. Nothing is paid.")
}

func (c *Console) retryPayout(v *visit) error {
	done, err := change(v, c.Payouts.Retry, payout.Input{ID: v.R.PathValue("id")})
	return v.payoutStep(err, askedText(done))
}

func (c *Console) resolvePayout(v *visit) error {
	_, err := submit(v, c.Payouts.Resolve, payout.ResolveInput{ID: v.R.PathValue("id")})
	if waitsForApprover(err) {
		return v.payoutStep(nil, "Sent for approval.")
	}
	return v.payoutStep(err, "Resolved.")
}

// askedText returns the next step of a requested payout.
func askedText(p api.Payout) string {
	if p.Status == api.PayoutInitiated {
		return "Asked for. " + sentence(p.ApprovalReason)
	}
	return "On its way. " + sentence(p.ApprovalReason)
}

// payoutStep redirects to the payout, or shows it again with the problems of a form.
func (v *visit) payoutStep(err error, text string) error {
	if err != nil {
		return v.again(err, v.console.payoutPage)
	}
	return v.done(text, v.path("payouts", v.R.PathValue("id")))
}
