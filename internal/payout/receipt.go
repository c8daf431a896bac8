package payout

import (
	"context"
	"net/http"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/db"
	"bursar/internal/fault"
	"bursar/internal/ledger"
	"bursar/internal/rail"
)

// attempts returns the attempts of a payout, the first one first.
func attempts(q db.Q, payoutID string) ([]api.PayoutAttempt, error) {
	return db.Collect(q, func(r db.Rows) api.PayoutAttempt {
		a := readAttempt(r, 0)
		return api.PayoutAttempt{
			ID: a.ID, Number: a.Number, Submission: a.Submission, EndToEndID: a.EndToEndID, State: string(a.State), Reason: a.Code, Message: a.Text, Reference: a.Reference,
			CreatedAt: a.CreatedAt, AnsweredAt: a.AnsweredAt, SettledAt: a.SettledAt, Resolved: a.Resolved,
		}
	}, `SELECT `+attemptRow.Columns+` FROM payout_attempt a WHERE a.payout_id = $1 ORDER BY a.number`, payoutID)
}

// Receipt returns the receipt of a payout that was paid. For a payout that failed or was returned it returns a fault with its code and the
// rail's own.
func (s *Service) Receipt(ctx context.Context, by db.Caller, in Input) (api.PayoutReceipt, error) {
	p, _, err := s.authorize(ctx, by, in.ID, access.PayoutsRead)
	switch {
	case err != nil:
		return api.PayoutReceipt{}, err
	case p.FailureCode != "":
		return api.PayoutReceipt{}, noReceipt(p)
	case p.Status != Completed:
		return api.PayoutReceipt{}, wrongState(p, "shown as a receipt before it is completed")
	}
	var account ledger.Account
	var list []api.PayoutAttempt
	err = s.db.Read(ctx, func(q db.Q) (err error) {
		if account, err = ledger.FindAccount(q, p.AccountID); err == nil {
			list, err = attempts(q, p.ID)
		}
		return err
	})
	if err != nil {
		return api.PayoutReceipt{}, err
	}
	shown, err := s.shown(p)
	out := api.PayoutReceipt{
		PayoutID: p.ID, WorkspaceID: p.WorkspaceID, SourceAccountID: p.AccountID, SourceName: account.Name, AmountCents: p.Amount, Currency: p.Currency, Mode: p.Mode,
		ExternalID: p.ExternalID, Description: p.Description, SettlementRail: p.Rail, SettlementAccount: shown.SettlementAccount, BankName: shown.BankName,
		CreatedAt: p.CreatedAt, CompletedAt: p.EndedAt,
	}
	for _, a := range list {
		if a.State == string(rail.Completed) {
			out.EndToEndID, out.Reference = a.EndToEndID, a.Reference
		}
	}
	return out, err
}

// noReceipt returns the fault for a payout that was not paid. Its code is that of the failure, unless that code would mean that the request
// was wrong.
func noReceipt(p Payout) error {
	code := api.Code(p.FailureCode)
	if code.Info().Status != http.StatusUnprocessableEntity {
		code = api.CodeProcessingFailed
	}
	f := fault.New(code, "the payout is %s: %s", p.Status, why(&p))
	f.Details = api.ReceiptDetails{FailureCode: p.FailureCode, Reason: p.FailureReason, Message: p.FailureText}
	return f
}
