package payout

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/approval"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/fault"
	"bursar/internal/ledger"
	"bursar/internal/payout/control"
	"bursar/internal/web"
)

// Batch creates many payouts from one account, and returns the result of each. A payout that cannot be created is refused alone, or with
// Atomic all of them are. If one of them needs approval, or if a payout of their total would, one approval is for all.
func (s *Service) Batch(ctx context.Context, by db.Caller, in BatchInput) (web.Created[api.PayoutBatch], error) {
	a, workspace, err := s.source(ctx, by, in.SourceAccountID, access.PayoutsCreate)
	if err == nil {
		err = inCurrency(a, in.Currency)
	}
	if err != nil {
		return web.Created[api.PayoutBatch]{}, err
	}
	a.Available -= in.spent
	defer s.wake()
	return retryOnConflict(func() (web.Created[api.PayoutBatch], error) {
		b := batch{id: s.db.NewID("bat"), account: a, maker: by.ID}
		set(&b.description, in.Description)
		if err := s.checkBatch(ctx, by, &b, workspace, in); err != nil {
			return web.Created[api.PayoutBatch]{}, err
		}
		if in.DryRun {
			return web.Created[api.PayoutBatch]{Value: b.rehearsed(), Existing: true}, nil
		}
		var none web.Created[api.PayoutBatch] // the response if no payout can be created yet
		made, err := db.Write(ctx, s.db, by, func(tx *db.Tx) (web.Created[api.PayoutBatch], audit.Event, error) {
			b := b.clone()
			event, err := s.storeBatch(tx, by, b)
			if err == nil && in.Atomic {
				err = b.allOrNone()
			}
			answer := b.wire()
			answer.Results = b.results(api.BatchCreated)
			made := web.Created[api.PayoutBatch]{Value: answer, Existing: b.payouts == 0}
			if err == nil && b.payouts == 0 && b.mayPass() {
				none, err = made, errNoneYet
			}
			return made, event, err
		})
		if !errors.Is(err, errNoneYet) {
			return made, err
		}
		if by.IdempotencyKey != nil { // the first try may have succeeded
			if err := s.db.Answered(ctx, by.IdempotencyKey); err != nil {
				return web.Created[api.PayoutBatch]{}, err
			}
		}
		return none, nil
	})
}

// errNoneYet rolls back the transaction of a batch in which no payout could be created for a temporary reason. The response is not stored
// under the idempotency key, so a retry can succeed.
var errNoneYet = errors.New("no payout of the batch can be made yet")

// mayPass reports whether one of the payouts was refused for a temporary reason.
func (b *batch) mayPass() bool {
	return slices.ContainsFunc(b.all, func(d *draft) bool {
		var f *fault.Fault
		return len(d.faults) > 0 && errors.As(d.faults[0], &f) && f.Code != api.CodeIdempotencyConflict && f.Temporary()
	})
}

// batch is a batch that is being created or is stored.
type batch struct {
	id          string
	account     ledger.Account
	description string
	maker       string
	all         []*draft
	need        control.Need

	payouts, total, refused int64
	approvalID, approvalWhy string
	createdAt               int64
}

// clone returns a copy, since a transaction may run more than once.
func (b batch) clone() *batch {
	all := make([]*draft, len(b.all))
	for i, d := range b.all {
		one := *d
		one.faults = append([]error{}, d.faults...)
		all[i] = &one
	}
	b.all = all
	return &b
}

// open lists the payouts that are still to be created.
func (b *batch) open() (list []*draft) {
	for _, d := range b.all {
		if !d.existed && len(d.faults) == 0 {
			list = append(list, d)
		}
	}
	return list
}

func (s *Service) checkBatch(ctx context.Context, by db.Caller, b *batch, workspace int64, in BatchInput) error {
	seen := map[string]bool{} // external ids
	for i, t := range in.Payouts {
		d := s.newDraft(by, b.account, workspace, t)
		if i < len(in.faults) && in.faults[i] != nil {
			d.faults = append(d.faults, in.faults[i])
		}
		if d.ExternalID != "" && seen[d.ExternalID] {
			d.faults = append(d.faults, fault.New(api.CodeIdempotencyConflict, "another payout of the batch has this external_id"))
		}
		seen[d.ExternalID] = true
		d.Batch = b.id
		b.all = append(b.all, d)
	}
	if err := s.matchExternalIDs(ctx, b.open(), true); err != nil {
		return err
	}
	list := b.open()
	if len(list) == 0 {
		return nil
	}
	if err := s.evaluate(ctx, by, b.account, list, in.counted); err != nil {
		return err
	}
	if err := s.screen(ctx, list); err != nil {
		return err
	}
	if err := s.stillMay(ctx, by, b.account.WorkspaceID); err != nil {
		return err
	}
	return s.db.Read(ctx, func(q db.Q) (err error) {
		involved, err := approval.Involved(q, by.Actor)
		if err == nil {
			b.need, err = s.needsBatch(q, by, involved, b.open())
		}
		return err
	})
}

// needsBatch returns the approvals that a batch needs: the strictest of three needs. The first is that of its payouts. The second is that
// of one payout of their total on a rail. The third is that of one payout of the whole total, by the rules that name no rail. So splitting
// a payment into small payouts, or over two rails, avoids no rule.
func (s *Service) needsBatch(q db.Q, by db.Caller, involved []string, list []*draft) (control.Need, error) {
	var most control.Need
	sums := map[string]Payout{} // by rail, "" for all
	for _, d := range list {
		most = most.Or(d.need)
		for _, rail := range []string{d.Rail, ""} {
			sum := d.Payout
			sum.Rail = rail
			sum.Amount += sums[rail].Amount
			sums[rail] = sum
		}
	}
	for _, sum := range sums {
		need, err := s.needs(q, by, involved, sum)
		if err != nil {
			return most, err
		}
		most = most.Or(need)
	}
	return most, nil
}

// storeBatch stores a batch with the payouts that have no faults.
func (s *Service) storeBatch(tx *db.Tx, by db.Caller, b *batch) (audit.Event, error) {
	list := b.open()
	if len(list) > 0 && b.need.Approvals > 0 {
		id, err := s.ask(tx, by, b.account, b.id, 1, KindBatch, list, b.need)
		if err != nil {
			return audit.Event{}, err
		}
		b.approvalID = id
		for _, d := range list {
			d.Status, d.SendAt, d.ApprovalID, d.ApprovalWhy, d.CountedAt = Initiated, 0, id, b.need.Why, tx.Now()
		}
		if err := store(tx, list...); err != nil {
			return audit.Event{}, err
		}
		for _, d := range list {
			if err := s.rules.CountSums(tx, d.spending(), d.exceeds); err != nil {
				return audit.Event{}, err
			}
		}
	} else if len(list) > 0 {
		for _, d := range list {
			d.need = b.need
		}
		refused, err := s.publish(tx, by, b.account, list)
		if err != nil {
			return audit.Event{}, err
		}
		for i, d := range list {
			if errors.Is(refused[i], control.ErrSumsMoved) {
				return audit.Event{}, refused[i]
			}
			if refused[i] != nil {
				d.faults = append(d.faults, refused[i])
			}
		}
	}
	var rows []audit.Event
	for _, d := range b.all {
		switch {
		case len(d.faults) > 0:
			b.refused++
		case !d.existed:
			b.payouts, b.total = b.payouts+1, b.total+d.Amount
			rows = append(rows, d.createdEvent(audit.PayoutCreated, "Asked to pay", ""))
		}
	}
	if b.payouts == 0 {
		return audit.None("no payout was made"), nil
	}
	b.createdAt, b.approvalWhy = tx.Now(), b.need.Why
	event := audit.Event{Action: audit.PayoutBatchCreated, WorkspaceID: b.account.WorkspaceID, ResourceID: b.id,
		Description: fmt.Sprintf("Asked for a batch of %s, payouts: %d: %s", api.FormatAmount(b.total, b.account.Currency), b.payouts, b.approvalWhy)}
	event.Changes.Add("source_account_id", nil, b.account.ID)
	event.Changes.Add("payouts", nil, b.payouts)
	event.Changes.Add("total_cents", nil, b.total)
	event.Changes.Add("refused", nil, b.refused)
	event.Changes.Add("approval_id", nil, b.approvalID)
	return audit.All(append([]audit.Event{event}, rows...)...), tx.Exec(`INSERT INTO payout_batch (id, workspace_id, account_id, currency, description, payouts, total, refused,
			maker_id, approval_id, approval_why, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
		b.id, b.account.WorkspaceID, b.account.ID, b.account.Currency, b.description, b.payouts, b.total, b.refused,
		b.maker, db.NullText(b.approvalID), b.approvalWhy, b.createdAt)
}

// allOrNone returns an error that names all refused payouts, if there are any.
func (b *batch) allOrNone() error {
	var wrong fault.Violations
	for i, d := range b.all {
		if len(d.faults) > 0 {
			f := faultOf(d.faults[0])
			wrong.Add("payouts."+strconv.Itoa(i), string(f.Code)+": "+f.Message)
		}
	}
	err := wrong.Err()
	var f *fault.Fault
	if errors.As(err, &f) {
		f.Passing = b.mayPass()
	}
	return err
}

func (b *batch) wire() api.PayoutBatch {
	out := api.PayoutBatch{WorkspaceID: b.account.WorkspaceID, SourceAccountID: b.account.ID, Currency: b.account.Currency, Description: b.description,
		Payouts: b.payouts, TotalCents: b.total, Refused: b.refused, MakerID: b.maker, ApprovalID: b.approvalID, ApprovalReason: b.approvalWhy,
		CreatedAt: b.createdAt, Statuses: map[string]int64{}}
	if b.payouts > 0 {
		out.ID = b.id
	}
	for _, d := range b.all {
		if !d.existed && len(d.faults) == 0 {
			out.Statuses[d.Status]++
		}
	}
	return out
}

// rehearsed returns what the result of a batch would be.
func (b *batch) rehearsed() api.PayoutBatch {
	for _, d := range b.all {
		switch {
		case len(d.faults) > 0:
			b.refused++
		case !d.existed:
			b.payouts, b.total = b.payouts+1, b.total+d.Amount
		}
	}
	b.approvalWhy = b.need.Why
	out := b.wire()
	out.ID, out.MakerID, out.Statuses, out.Results = "", "", map[string]int64{}, b.results(api.BatchValid)
	return out
}

// results returns the result of each payout.
func (b *batch) results(made string) []api.PayoutBatchResult {
	list := make([]api.PayoutBatchResult, len(b.all))
	for i, d := range b.all {
		one := api.PayoutBatchResult{Result: made, ID: d.ID, ExternalID: d.ExternalID, Status: d.Status, SettlementRail: d.Rail, ExpectedAt: d.ExpectedAt}
		switch {
		case len(d.faults) > 0:
			f := faultOf(d.faults[0])
			one = api.PayoutBatchResult{Result: api.BatchRefused, ExternalID: d.ExternalID, Error: &f}
		case d.existed:
			one.Result = api.BatchExisted
		case made == api.BatchValid:
			one.ID = ""
		}
		list[i] = one
	}
	return list
}

// GetBatch returns a batch with the number of its payouts in each state.
func (s *Service) GetBatch(ctx context.Context, by db.Caller, in Input) (api.PayoutBatch, error) {
	var b batch
	statuses := map[string]int64{}
	err := s.db.Read(ctx, func(q db.Q) error {
		_, err := q.Row(`SELECT id, workspace_id, account_id, currency, description, payouts, total, refused, maker_id, approval_id, approval_why, created_at,
				(SELECT a.mode FROM ledger_account a WHERE a.id = account_id)
			FROM payout_batch WHERE id = $1`, in.ID).Scan(&b.id, &b.account.WorkspaceID, &b.account.ID, &b.account.Currency, &b.description, &b.payouts, &b.total,
			&b.refused, &b.maker, &b.approvalID, &b.approvalWhy, &b.createdAt, &b.account.Mode)
		if err != nil {
			return err
		}
		clear(statuses)
		return q.Each(func(r db.Rows) error {
			statuses[r.Text(0)] = r.Int(1)
			return nil
		}, `SELECT status, count(*) FROM payout WHERE batch_id = $1 GROUP BY status`, in.ID)
	})
	if err == nil {
		err = s.authority.RequireInWorkspace(ctx, by.Actor, b.account.WorkspaceID, access.PayoutsRead)
	}
	if err == nil && !by.Scope.InMode(b.account.Mode) {
		err = fault.Missing("batch of payout requests")
	}
	if err != nil {
		return api.PayoutBatch{}, fault.Replace(err, api.CodeNotFound, fault.Missing("batch of payout requests"))
	}
	out := b.wire()
	out.Statuses = statuses
	return out, nil
}
