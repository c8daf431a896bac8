package console

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/approval"
	"bursar/internal/audit"
	"bursar/internal/payout"
	"bursar/internal/web"
)

func (c *Console) approvalRoutes() []Route {
	page := func(v *visit) string {
		if v.field("from") == "list" {
			return v.path("approvals")
		}
		return v.path("approvals", v.R.PathValue("id"))
	}
	return []Route{
		c.getIn("/approvals", c.approvalsPage),
		c.getIn("/approvals/{id}", c.approvalPage),
		c.postIn("/approvals/decide", audit.ReceivingMethodApproved, c.recentForm(func(v *visit) string { return v.path("approvals") }, c.decideMany)),
		c.postIn("/approvals/{id}/approve", audit.ReceivingMethodApproved, c.recentForm(page, c.approve)),
		c.postIn("/approvals/{id}/reject", audit.ReceivingMethodRejected, c.reject),
		c.postIn("/approvals/{id}/withdraw", audit.ReceivingMethodWithdrawn, c.withdraw),
		c.postIn("/approvals/second-person", audit.SecondPersonExtended, c.extendSecondPerson),
		c.postIn("/organization/receiving", audit.ReceivingPolicyUpdated, c.updatePolicy),
	}
}

// approvalsPage is a page of the approvals of a workspace.
type approvalsPage struct {
	Approvals []approvalRow
	Vacancies []approval.Vacancy
	All       bool   // not only pending ones
	Next      string // address of the next page
	Many      bool   // some of them can be decided together
}

// approvalRow is an approval in the list.
type approvalRow struct {
	api.Approval
	Sandbox   bool // no real money moves
	Changes   []approvalField
	MayReject bool
	InLines   bool   // its subject is a list of lines on its own page
	Decidable bool   // can be decided in the list, which shows all that matters
	Shown     string // the value of its checkbox: id and digest
	Selected  bool
	Typed     typedDecision
}

// typedDecision is what was typed about one approval in the list.
type typedDecision struct{ Approval, Verification, Reason string }

// newApprovalRow prepares an approval for the list. Changes of receiving methods can be decided only on the approval's own page, which
// shows how to reach the payee.
func (v *visit) newApprovalRow(a api.Approval, typed typedDecision) approvalRow {
	kind := v.console.Approvals.Kind(a.Kind)
	a.CannotBecause = sentence(a.CannotBecause)
	row := approvalRow{Approval: a, Sandbox: ofSandbox(a), MayReject: a.State == api.ApprovalPending && v.can(kind.Pair.Approve), InLines: kind.HasLines}
	row.Decidable = kind.Pair == access.Payouts && (row.MayReject || a.CanApprove)
	if a.Kind != payout.KindPayout && a.Kind != payout.KindBatch {
		row.Changes = approvalFields(a.Fields)
	}
	if typed.Approval == a.ID {
		row.Typed = typed
	}
	return row
}

// ofSandbox reports whether an approval is for a payout without real money.
func ofSandbox(a api.Approval) bool {
	return slices.ContainsFunc(a.Fields, func(f api.ApprovalField) bool {
		return f.Field == "source_account" && strings.HasSuffix(f.After, ", "+api.ModeSandbox+")")
	})
}

// approvalsPage shows the list, with what was typed into it.
func (c *Console) approvalsPage(v *visit) error {
	v.refill()
	query, typed := v.R.URL.Query(), typedDecision{cmp.Or(v.R.PathValue("id"), v.values.Get("approval")), v.values.Get("verification"), v.values.Get("reason")}
	in := approval.ListInput{WorkspaceID: v.workspace.ID, PageParams: web.PageParams{Cursor: optional(query.Get("cursor"))}}
	data := approvalsPage{All: query.Get("state") == "all"}
	if !data.All {
		in.State = new(api.ApprovalPending)
	}
	list, err := read(v, c.Approvals.List, in)
	if stale(err, query.Get("cursor")) {
		return v.redirect(v.path("approvals"))
	}
	if err != nil {
		return err
	}
	for _, a := range list.Rows() {
		row := v.newApprovalRow(a, typed)
		if !row.InLines && (row.MayReject || a.CanApprove) {
			row.Shown, data.Many = a.ID+" "+a.Digest, true
			row.Selected = slices.ContainsFunc(v.values["shown"], func(s string) bool { return strings.HasPrefix(s, a.ID+" ") })
		}
		data.Approvals = append(data.Approvals, row)
	}
	if cursor, more := list.Next(); more {
		data.Next = v.path("approvals") + "?state=" + url.QueryEscape(query.Get("state")) + "&cursor=" + url.QueryEscape(cursor)
	}
	if data.Vacancies, err = v.vacancies(); err != nil {
		return err
	}
	title := "Waiting for you"
	if data.All {
		title = "All approvals"
	}
	return v.show("approvals", title, data)
}

// approvalPage is one approval.
type approvalPage struct {
	api.Approval
	Fields      []approvalField
	Recent      []approvalChange
	Roles       []approvalChange // of the requester and the approvers
	Changed     []approvalField  // of the payee in the last 30 days
	MayReject   bool
	MayWithdraw bool
	Pays        string // the page of its payout or batch, if it has one
	Sandbox     bool
	Lines       *linesPage // of an import or a bulk change
}

// approvalField is a value that changes, with the label of its field.
type approvalField struct {
	Caption       string
	Before, After string
	Number        bool
}

// approvalFields returns the fields with an old or a new value.
func approvalFields(fields []api.ApprovalField) (shown []approvalField) {
	for _, f := range fields {
		if f.Before != "" || f.After != "" {
			shown = append(shown, approvalField{changeCaption(f.Field), f.Before, f.After, f.Field == "account_id" || f.Field == "bank_account_number"})
		}
	}
	return shown
}

// approvalChange is another recent change of the payee, or of the roles of people.
type approvalChange struct {
	api.ApprovalChange
	Changes []shownChange
}

// approval reads the approval named in the URL. An approval of another workspace is not found.
func (v *visit) approval() (approvalPage, error) {
	a, err := read(v, v.console.Approvals.Get, approval.Input{ID: v.R.PathValue("id")})
	if err = v.here(a.WorkspaceID, err); err != nil {
		return approvalPage{}, err
	}
	a.CannotBecause = sentence(a.CannotBecause)
	pending := a.State == api.ApprovalPending
	kind := v.console.Approvals.Kind(a.Kind)
	data := approvalPage{Approval: a, Sandbox: ofSandbox(a), MayReject: pending && v.can(kind.Pair.Approve), MayWithdraw: pending && v.can(kind.Make)}
	switch a.Kind {
	case payout.KindPayout, payout.KindResolve:
		data.Pays = v.path("payouts", a.SubjectID)
	case payout.KindRecheck:
		data.Pays = v.path("payouts", a.SubjectID)
		if strings.HasPrefix(a.SubjectID, "bat_") {
			data.Pays = v.path("payouts", "batches", a.SubjectID)
		}
	case payout.KindBatch:
		data.Pays = v.path("payouts", "batches", a.SubjectID)
	}
	data.Fields = approvalFields(a.Fields)
	if a.Lines != nil {
		if data.Lines, err = v.lines(a); err != nil {
			return data, err
		}
	}
	data.Contacts = captioned(a.Contacts)
	data.Changed = changedFields(a.ChangedFields)
	data.Recent, data.Roles = v.approvalChanges(a.RecentChanges), v.approvalChanges(a.RoleChanges)
	return data, nil
}

// changedFields adds labels to the recent changes of a payee.
func changedFields(list []api.ApprovalFieldChange) (shown []approvalField) {
	for _, f := range list {
		shown = append(shown, approvalField{Caption: changeCaption(f.Field), Before: f.Before, After: f.After})
	}
	return shown
}

func (v *visit) approvalChanges(list []api.ApprovalChange) (shown []approvalChange) {
	for _, change := range list {
		shown = append(shown, approvalChange{change, shownChanges(change.Changes, v.zone)})
	}
	return shown
}

// captioned adds labels to the contacts of a payee.
func captioned(list []api.ApprovalContact) []api.ApprovalContact {
	list = slices.Clone(list)
	for i := range list {
		list[i].Field = caption(list[i].Field)
	}
	return list
}

func (c *Console) approvalPage(v *visit) error {
	v.refill()
	data, err := v.approval()
	if err != nil {
		return err
	}
	return v.show("approvals_one", data.Summary, data)
}

func (c *Console) approve(v *visit) error {
	done, err := submit(v, c.Approvals.Approve, approval.ApproveInput{ID: v.R.PathValue("id"), ApprovalApprove: api.ApprovalApprove{LeaveOut: leftOut(v.form)}})
	return v.decided(err, approvedText(done))
}

// approvedText returns how many approvals are still missing.
func approvedText(a api.Approval) string {
	switch missing := a.ApprovalsNeeded - int64(len(a.Approvals)); {
	case a.State != api.ApprovalPending:
		return "Approved."
	case missing == 1:
		return "Approved. One more person must approve."
	default:
		return fmt.Sprintf("Approved. %d more people must approve.", missing)
	}
}

func (c *Console) reject(v *visit) error {
	_, err := submit(v, c.Approvals.Reject, approval.RejectInput{ID: v.R.PathValue("id")})
	return v.decided(err, "Rejected.")
}

func (c *Console) withdraw(v *visit) error {
	_, err := change(v, c.Approvals.Withdraw, approval.Input{ID: v.R.PathValue("id")})
	return v.decided(err, "Withdrawn.")
}

// decided redirects to the pending approvals, or shows the approval again with its problems.
func (v *visit) decided(err error, text string) error {
	if err == nil {
		return v.done(text, v.path("approvals"))
	}
	if v.field("from") == "list" {
		return v.again(err, v.console.approvalsPage)
	}
	return v.again(err, v.console.approvalPage)
}

func (c *Console) updatePolicy(v *visit) error {
	done, err := submit(v, c.Approvals.UpdatePolicy, approval.UpdatePolicyInput{ID: v.workspace.ID})
	switch {
	case err != nil:
		return v.again(err, c.organizationPage)
	case done.ApprovalID != "":
		return v.done("This protects less than before, so it waits for a second person's approval.", v.path("organization"))
	}
	return v.done("Policy saved.", v.path("organization"))
}
