package payout

import (
	"context"
	"errors"
	"fmt"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/approval"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/fault"
	"bursar/internal/institution"
	"bursar/internal/ledger"
	"bursar/internal/mail"
	"bursar/internal/vault"
)

// The kinds of approvals: of one payout, and of a batch.
const (
	KindPayout = "payout"
	KindBatch  = "payout_batch"
)

func (s *Service) kinds() []approval.Kind {
	one := approval.KindOf[terms]{
		Kind: approval.Kind{
			Name: KindPayout, Read: access.PayoutsRead, Make: access.PayoutsCreate, Pair: access.Payouts, Mail: mail.APayout,
			Actions: approval.Actions(audit.PayoutApproved, audit.PayoutRejected, audit.PayoutWithdrawn, audit.PayoutExpired),
			Lock: func(tx *db.Tx, a approval.Approval) error {
				_, err := lock(tx, a.SubjectID)
				return err
			},
		},
		Apply: s.apply, Drop: s.drop, Show: terms.show,
	}.Decoding()
	many := one
	many.Name = KindBatch
	many.Actions = approval.Actions(audit.PayoutBatchApproved, audit.PayoutBatchRejected,
		audit.PayoutBatchWithdrawn, audit.PayoutBatchExpired)
	many.Lock = func(tx *db.Tx, a approval.Approval) error { return lockBatch(tx, a.SubjectID) }
	many.Parts = s.parts(one.Actions)
	return []approval.Kind{one, many, s.recheckKind(), s.resolveKind()}
}

// subject reads the payouts that an approval is for, in their order, with their account numbers.
func (s *Service) subject(tx *db.Tx, a approval.Approval) ([]*draft, error) {
	var rows []Payout
	var err error
	if a.Kind == KindBatch {
		if err := tx.Exec(`UPDATE payout SET updated_at = updated_at WHERE batch_id = $1`, a.SubjectID); err != nil {
			return nil, err
		}
		rows, err = db.Collect(tx.Q, wholeRow.Read, selectPayouts+` WHERE p.batch_id = $1 ORDER BY p.id`, a.SubjectID)
	} else {
		rows = make([]Payout, 1)
		rows[0], err = lock(tx, a.SubjectID)
	}
	if err != nil {
		return nil, err
	}
	list := make([]*draft, len(rows))
	for i, p := range rows {
		list[i] = &draft{Payout: p}
		if list[i].number, err = number(s.vault, p); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// apply reserves the money of approved payouts and makes them ready to send. If that fails, the last approver gets the error, and nothing
// changes.
func (s *Service) apply(tx *db.Tx, a approval.Approval, shown terms) (changes audit.Changes, of string, err error) {
	all, err := s.subject(tx, a)
	if err != nil {
		return nil, "", err
	}
	source, err := ledger.FindAccount(tx.Q, shown.AccountID)
	if err != nil {
		return nil, "", err
	}
	if now := termsOf(source, all, a.Kind); now.Digest != shown.Digest || now.Total != shown.Total || a.Kind == KindPayout && all[0].Version != a.Version {
		return nil, "", fault.New(api.CodeApprovalChanged, "the payout has changed since this was asked for")
	}
	var list []*draft
	total := int64(0)
	for _, d := range all {
		if d.Status != Initiated { // cancelled meanwhile
			continue
		}
		if err := s.stillPayable(tx, d); err != nil {
			return nil, "", named(a, d, err)
		}
		d.ApprovalsNeeded = a.Needed()
		if err := d.pend(tx); err != nil {
			return nil, "", err
		}
		list, total = append(list, d), total+d.Amount
	}
	if len(list) == 0 {
		return nil, "", fault.New(api.CodeApprovalChanged, "the payout is no longer waiting")
	}
	refused, err := s.reserve(tx, source, list)
	if err != nil {
		return nil, "", err
	}
	for i, err := range refused {
		if err != nil {
			return nil, "", named(a, list[i], ofAll(err, source, total))
		}
		if err := tx.Exec(`UPDATE payout SET status = 'pending', reserved_at = $2, send_at = $3, expected_at = $4, updated_at = $2,
				terms_mac = $5, approvals_needed = $6, overrides = '' WHERE id = $1`,
			list[i].ID, list[i].ReservedAt, list[i].SendAt, list[i].ExpectedAt, list[i].TermsMAC, list[i].ApprovalsNeeded); err != nil {
			return nil, "", err
		}
	}
	changes.Add("status", Initiated, Pending)
	return changes, shown.words(), nil
}

// named adds to a fault the id of the payout of a batch that it is about.
func named(a approval.Approval, d *draft, err error) error {
	var f *fault.Fault
	if a.Kind != KindBatch || !errors.As(err, &f) {
		return err
	}
	about := *f
	about.Message = d.ID + ": " + f.Message
	return &about
}

// ofAll replaces a fault about the money for one payout of a group by one with the total of the group.
func ofAll(err error, a ledger.Account, total int64) error {
	var f *fault.Fault
	if !errors.As(err, &f) || f.Code != api.CodeInsufficientFunds {
		return err
	}
	return ledger.Insufficient(a.Currency, a.Available, total)
}

// stillPayable returns a fault if a payout that was checked when it was published can no longer be paid. A rail or a bank that is down is
// no fault: the payout waits for it.
func (s *Service) stillPayable(tx *db.Tx, d *draft) error {
	if err := notContradicted(d.Payout); err != nil {
		return err
	}
	if d.on = s.rails.Named(d.Rail, d.sandbox()); d.on == nil {
		return fault.New(api.CodeRailUnavailable, "there is no rail %s any more", d.Rail)
	}
	if err := d.on.Check(d.payment(&attempt{Number: 1, CreatedAt: tx.Now()}, d.number)); err != nil {
		return err
	}
	if d.MethodID != "" {
		payee, err := s.directory.Payee(tx.Q, d.WorkspaceNumber, d.MethodID)
		if err != nil {
			return fault.Replace(err, api.CodeNotFound, fault.New(api.CodeMethodNotPayable, "the receiving method was removed"))
		}
		number, err := s.directory.Number(payee)
		if err != nil {
			return err
		}
		if payee.Institution != d.Institution || payee.AccountName != d.AccountName || vault.NormalNumber(number) != vault.NormalNumber(d.number) {
			return fault.New(api.CodeMethodNotPayable, "the receiving method has changed since this was asked for")
		}
	}
	return s.reportedClosed(tx.Q, d.Payout)
}

// drop cancels payouts whose approval was not given.
func (s *Service) drop(tx *db.Tx, a approval.Approval, shown terms) (changes audit.Changes, of string, err error) {
	var state, reason string
	if _, err := tx.Row(`SELECT state, reason FROM approval WHERE id = $1`, a.ID).Scan(&state, &reason); err != nil {
		return nil, "", err
	}
	if reason == "" {
		reason = "the request was " + state
		if state == api.ApprovalExpired {
			reason = "nobody approved it in time"
		}
	}
	column := "id"
	if a.Kind == KindBatch {
		column = "batch_id"
	}
	changes.Add("status", Initiated, Cancelled)
	list, err := db.Collect(tx.Q, readSent, `UPDATE payout SET status = 'cancelled', cancel_reason = $2, send_at = 0, expected_at = 0, updated_at = $3, ended_at = $3
		WHERE `+column+` = $1 AND status = 'initiated' RETURNING `+sentRow.Columns, a.SubjectID, reason, tx.Now())
	for _, p := range list {
		if err == nil {
			err = s.rules.DiscountSums(tx, p.spending())
		}
	}
	return changes, shown.words(), err
}

// parts returns the audit rows of the payouts of a decided batch.
func (s *Service) parts(actions map[string]audit.Action) func(*db.Tx, approval.Approval, string) ([]audit.Event, error) {
	return func(tx *db.Tx, a approval.Approval, state string) (rows []audit.Event, err error) {
		all, err := s.subject(tx, a)
		for _, d := range all {
			if d.Status == Initiated {
				rows = append(rows, d.event(actions[state], "With the batch "+a.SubjectID+", "+state+":"))
			}
		}
		return rows, err
	}
}

// words describes what an approval is for.
func (t terms) words() string {
	if t.Payee == "" {
		return fmt.Sprintf("a batch of %s from %s, payouts: %d", api.FormatAmount(t.Total, t.Currency), t.AccountName, t.Payouts)
	}
	return fmt.Sprintf("a payout of %s to %s (%s, %s) from %s", api.FormatAmount(t.Total, t.Currency), t.Payee, institution.Name(t.Institution), audit.Mask(t.Number), t.AccountName)
}

// show returns the text and the fields of an approval. The account number stays masked: approvers read it in full with the payout, which
// the audit log records.
func (t terms) show(bool) (string, []api.ApprovalField) {
	fields := []api.ApprovalField{
		{Field: "source_account", After: t.AccountName + " (" + t.AccountID + ", " + t.Mode + ")"},
		{Field: "amount", After: api.FormatAmount(t.Total, t.Currency)},
	}
	if t.Payee == "" {
		return "Pay" + t.words()[len("a batch of"):], append(fields, api.ApprovalField{Field: "payouts", After: fmt.Sprint(t.Payouts)})
	}
	for _, f := range []api.ApprovalField{
		{Field: "settlement_rail", After: t.Rail},
		{Field: "bank_account_name", After: t.Payee},
		{Field: "bank_account_number", After: audit.Mask(t.Number)},
		{Field: "bank_code", After: t.Institution + " " + institution.Name(t.Institution)},
		{Field: "receiving_method_id", After: t.MethodID},
		{Field: "external_id", After: t.ExternalID},
		{Field: "description", After: t.Description},
	} {
		if f.After != "" {
			fields = append(fields, f)
		}
	}
	return "Pay" + t.words()[len("a payout of"):], fields
}

// Approve approves a payout, or the whole batch that it is part of. It is equivalent to approving the approval itself.
func (s *Service) Approve(ctx context.Context, by db.Caller, in ApproveInput) (api.Payout, error) {
	p, err := s.waiting(ctx, by, in.ID, "approved")
	if err != nil {
		return api.Payout{}, err
	}
	defer s.wake()
	return approval.ApproveAs(ctx, s.approvals, by,
		approval.ApproveInput{ID: p.ApprovalID, ApprovalApprove: api.ApprovalApprove{Digest: in.Digest, Verification: in.Verification}}, s.as(p.ID))
}

// Reject rejects a payout that waits for approval, or the whole batch that it is part of.
func (s *Service) Reject(ctx context.Context, by db.Caller, in RejectInput) (api.Payout, error) {
	p, err := s.waiting(ctx, by, in.ID, "rejected")
	if err != nil {
		return api.Payout{}, err
	}
	return approval.RejectAs(ctx, s.approvals, by, approval.RejectInput{ID: p.ApprovalID, ApprovalReject: api.ApprovalReject{Reason: in.Reason}}, s.as(p.ID))
}

// waiting finds a payout that waits for an approval.
func (s *Service) waiting(ctx context.Context, by db.Caller, id, step string) (Payout, error) {
	p, _, err := s.authorize(ctx, by, id, access.PayoutsApprove)
	if err == nil && p.Status != Initiated {
		err = wrongState(p, step)
	}
	return p, err
}

// as returns the payout as the response to a decision.
func (s *Service) as(id string) approval.As[api.Payout] {
	return func(tx *db.Tx, _ api.Approval) (api.Payout, error) {
		p, err := Find(tx.Q, id)
		if err != nil {
			return api.Payout{}, err
		}
		return s.shown(p)
	}
}
