package console

import (
	"errors"
	"net/http"
	"strings"

	"bursar/api"
	"bursar/internal/approval"
	"bursar/internal/fault"
	"bursar/internal/payout"
	"bursar/internal/rail"
)

// failureView is why a payout was not paid, or was returned, for display.
type failureView struct{ api.PayoutFailure }

// Words returns what is wrong.
func (f failureView) Words() string {
	text := map[api.Code]string{
		api.CodeInvalidAccount:     "The bank says that there is no such account",
		api.CodeAccountClosed:      "The bank says that the account is closed",
		api.CodeAccountFrozen:      "The account that pays was frozen before this was sent",
		api.CodeAmountBelowMinimum: "The bank says that the amount is too small",
		api.CodeAmountAboveMaximum: "The bank says that the amount is too large",
		api.CodeInvalidInstitution: "The rail does not know the bank or wallet of the payee",
		api.CodeBankUnavailable:    "The bank or wallet of the payee could not be reached",
		api.CodeRailUnavailable:    "The rail was not available",
	}[f.Code]
	if text != "" {
		return text
	}
	if rail.ReasonOf(f.Reason).Blocked {
		return "The bank says that the account is blocked"
	}
	return "The bank refused it"
}

// Codes returns the code of the API, and the rail's own code and message.
func (f failureView) Codes() string {
	text := string(f.Code)
	if f.Reason != "" {
		text += ", " + f.Reason
	}
	if f.Message != "" {
		text += ": " + strings.TrimSuffix(f.Message, ".")
	}
	return text
}

// Next returns what a person can do about it.
func (f failureView) Next() string {
	switch f.Code {
	case api.CodeInvalidAccount, api.CodeAccountClosed, api.CodeInvalidInstitution:
		return "Ask the payee for another account, and pay that one."
	case api.CodeAccountFrozen:
		return "Unfreeze the account, and retry."
	case api.CodeAmountBelowMinimum, api.CodeAmountAboveMaximum:
		return "Pay another amount, or by another rail."
	case api.CodeBankUnavailable, api.CodeRailUnavailable:
		return "Retry later."
	}
	return "Ask the bank before you retry."
}

// Why returns the failure for display, or nil.
func (p payoutView) Why() *failureView {
	if p.Failure == nil {
		return nil
	}
	return &failureView{*p.Failure}
}

// notApproved returns who rejected a cancelled payout, or why else it was not approved. It is empty if it was cancelled for another reason.
func (v *visit) notApproved(p api.Payout) (string, error) {
	if p.Status != api.PayoutCancelled || p.ApprovalID == "" {
		return "", nil
	}
	a, err := read(v, v.console.Approvals.Get, approval.Input{ID: p.ApprovalID})
	if err != nil {
		return "", err
	}
	switch {
	case p.Rejected:
		who := "somebody"
		if a.DecidedBy != nil {
			who = a.DecidedBy.Name
		}
		return "Rejected by " + who + ": " + sentence(a.Reason), nil
	case a.State == api.ApprovalExpired:
		return "Nobody approved it in time.", nil
	case a.State == api.ApprovalWithdrawn:
		return "Whoever asked for it has taken it back.", nil
	}
	return "", nil
}

// receiptView is a receipt, for display.
type receiptView struct {
	api.PayoutReceipt
	Rail string
}

// Amount returns the amount for display.
func (r receiptView) Amount() string { return api.FormatAmount(r.AmountCents, r.Currency) }

func (c *Console) receiptPage(v *visit) error {
	r, err := read(v, c.Payouts.Receipt, payout.Input{ID: v.R.PathValue("id")})
	var f *fault.Fault
	if errors.As(err, &f) && f.Code.Info().Status == http.StatusUnprocessableEntity {
		data, failed := v.payout(false)
		if failed != nil {
			return failed
		}
		return v.showAgain(f.Code.Info().Status, "payouts_unpaid", "No receipt", problems{}, data)
	}
	if err = v.here(r.WorkspaceID, err); err != nil {
		return err
	}
	return v.show("payouts_receipt", "Receipt", receiptView{r, v.railTitle(r.SettlementRail, r.Mode)})
}
