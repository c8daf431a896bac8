package payout

import (
	"context"
	"crypto/hmac"
	"fmt"

	"bursar/api"
	"bursar/internal/approval"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/fault"
	"bursar/internal/ledger"
	"bursar/internal/rail"
	"bursar/internal/vault"
)

// termsCode returns the code of the terms under which the money of a payout was reserved. They are the amount, the source and the
// destination, the approval that allows it, and the attempt that it pays for.
func (p Payout) termsCode(i *db.Integrity, number string, pays turn) []byte {
	return i.MAC("payout terms", p.ID, p.WorkspaceID, p.AccountID, p.Amount, p.Currency, p.Mode, p.Rail, p.Institution, vault.NormalNumber(number), p.AccountName,
		p.ApprovalsNeeded, p.ApprovalID, p.Overrides, p.CreatedAt, p.ReservedAt, pays.attempt, pays.notPaid)
}

// turn is the attempt that a reservation pays for.
type turn struct {
	attempt int64
	notPaid int64 // its newest submission that people had determined not to be paid when the money was reserved
}

// turn returns which attempt the money of a payout pays for if it is reserved now. That is the next attempt or, if the last one was not
// received or not paid, the last one again. The money of a payout that a rail has pays for the last one.
func (p Payout) turn(q db.Q) (turn, error) {
	state, notPaid, err := p.lastAttempt(q)
	if state == rail.NotReceived || p.Attempts > 0 && p.Status == Processing {
		return turn{p.Attempts, notPaid}, err
	}
	return turn{attempt: p.Attempts + 1}, err
}

// lastAttempt returns the state of the last attempt of a payout, "" if there is none. It also returns its newest submission that people
// have determined not to be paid.
func (p Payout) lastAttempt(q db.Q) (state rail.State, notPaid int64, err error) {
	if p.Attempts == 0 {
		return "", 0, nil
	}
	var text string
	_, err = q.Row(`SELECT state, not_paid FROM payout_attempt WHERE payout_id = $1 AND number = $2`, p.ID, p.Attempts).Scan(&text, &notPaid)
	return rail.State(text), notPaid, err
}

// maxNotPaid bounds the submissions that asReserved tries: a row of the store may contain any number.
const maxNotPaid = 1000

// asReserved returns which attempt the money of a payout was reserved for, or a fault if its row was changed in the store since then.
func (d *draft) asReserved(tx *db.Tx) (turn, error) {
	list := []turn{{attempt: d.Attempts + 1}}
	err := tx.Each(func(r db.Rows) error { // an earlier attempt, if a restored store has learned of later ones
		for n := range min(r.Int(1), maxNotPaid) + 1 {
			list = append(list, turn{r.Int(0), n})
		}
		return nil
	}, `SELECT number, not_paid FROM payout_attempt WHERE payout_id = $1 ORDER BY number DESC`, d.ID)
	if err != nil {
		return turn{}, err
	}
	for _, pays := range list {
		if hmac.Equal(d.TermsMAC, d.termsCode(tx.Integrity(), d.number, pays)) {
			return pays, nil
		}
	}
	return turn{}, &fault.Fault{Code: api.CodePayoutState, Details: api.PayoutStateDetails{Status: d.Status},
		Message: "the payout is not what it was when its money was reserved: someone has changed it in the store. Make a new one"}
}

// notOpen returns a fault if the last attempt of a payout has not ended, whatever the payout's row contains: its rail may pay it.
func (d *draft) notOpen(q db.Q) error {
	state, _, err := d.lastAttempt(q)
	if err == nil && isOpen(state) {
		err = &fault.Fault{Code: api.CodePayoutState, Details: api.PayoutStateDetails{Status: d.Status},
			Message: "the rail has this payout and has not decided yet: someone has changed the payout in the store"}
	}
	return err
}

// unpaid returns a fault if the payout was paid according to the ledger, whatever its row contains.
func (d *draft) unpaid(tx *db.Tx) error {
	all, err := ledger.Held(tx.Q, tx.Integrity(), []any{d.ID})
	if err == nil && all[d.ID].Paid != 0 {
		err = &fault.Fault{Code: api.CodePayoutState, Details: api.PayoutStateDetails{Status: d.Status},
			Message: "the ledger says that the payout was paid: someone has changed it in the store"}
	}
	return err
}

// sameTerms reports whether a payout that is checked again has the same terms as before.
func (d *draft) sameTerms(then *draft) bool {
	return d.Amount == then.Amount && d.Rail == then.Rail && d.Institution == then.Institution && d.AccountName == then.AccountName &&
		vault.NormalNumber(d.number) == vault.NormalNumber(then.number)
}

// held returns the money that the ledger holds for a payout, whatever its row contains. It is forged if a transaction of it was changed in
// the store.
func (p Payout) held(tx *db.Tx) (r ledger.Reserved, forged bool, err error) {
	all, err := ledger.Held(tx.Q, tx.Integrity(), []any{p.ID})
	r = p.reserved()
	r.AccountID, r.Amount = all[p.ID].AccountID, all[p.ID].Amount
	return r, all[p.ID].Forged != "", err
}

// forgedLedger returns the fault that refuses to end a payout if the ledger does not show for certain what is reserved.
func (p Payout) forgedLedger() error {
	return &fault.Fault{Code: api.CodePayoutState, Details: api.PayoutStateDetails{Status: p.Status},
		Message: "a ledger transaction of this payout was changed in the store, so what is reserved for it is not certain: 'bursar admin ledger verify' names it"}
}

// suspect is an attempt that is not submitted, because the store differs from what was reserved or approved.
type suspect struct {
	endToEndID, why string
}

// examine verifies claimed payouts before they are submitted: their terms, the reservation of their money, and their approval. numbers
// contains their account numbers, by payout. The row of a payout alone sends nothing. A payout whose number is lost is not sent, so only
// the reservation that its failure releases is verified.
func (s *Sending) examine(ctx context.Context, claimed []*attempt, numbers map[string]string) (suspects []suspect, err error) {
	i := s.db.Integrity()
	if len(claimed) == 0 {
		return nil, nil
	}
	if i == nil {
		return nil, fmt.Errorf("send payouts: the key that authenticates them is not loaded")
	}
	var payouts, approvals []any
	asked := map[string]bool{}
	for _, a := range claimed {
		payouts = append(payouts, a.payout.ID)
		if id := a.payout.ApprovalID; id != "" && !asked[id] {
			asked[id] = true
			approvals = append(approvals, id)
		}
	}
	var held map[string]ledger.Holding
	var granted map[string]approval.Grant
	err = s.db.Read(ctx, func(q db.Q) (err error) {
		if held, err = ledger.Held(q, i, payouts); err == nil {
			granted, err = approval.Grants(q, i, approvals)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("verify payouts before they are sent: %w", err)
	}
	for _, a := range claimed {
		p := a.payout
		lost := numbers[p.ID] == audit.LostNumber
		why := ""
		if !lost && !a.ofTerms(i, numbers[p.ID]) {
			why = "its terms are not those under which its money was reserved"
		} else if why = p.notHeld(i, held[p.ID]); why == "" && !lost {
			why = p.notGranted(granted[p.ApprovalID])
		}
		if why != "" {
			suspects = append(suspects, suspect{a.EndToEndID, why})
		}
	}
	return suspects, nil
}

// ofTerms reports whether the attempt is the one for which the money of its payout was reserved.
func (a *attempt) ofTerms(i *db.Integrity, number string) bool {
	return hmac.Equal(a.payout.TermsMAC, a.payout.termsCode(i, number, turn{a.Number, a.NotPaid}))
}

// notAuthentic returns why the transactions of a payout in the ledger may be forged, "" if they are authentic. A transaction older than the
// key is also accepted for a payout whose money was reserved before the key was made.
func (p *Payout) notAuthentic(i *db.Integrity, h ledger.Holding) string {
	switch {
	case h.Forged != "":
		return "the code of the ledger transaction " + h.Forged + " is wrong"
	case h.Earlier && i != nil && p.ReservedAt >= i.Since:
		return "a ledger transaction of it has no authentication code"
	}
	return ""
}

// notHeld returns why the ledger does not hold the money of a payout, "" if it does.
func (p *Payout) notHeld(i *db.Integrity, h ledger.Holding) string {
	why := p.notAuthentic(i, h)
	switch {
	case why != "":
	case h.Amount != p.Amount || h.AccountID != p.AccountID:
		why = fmt.Sprintf("the ledger holds %s for it in account %q", api.FormatAmount(h.Amount, p.Currency), h.AccountID)
	case h.Paid != 0:
		why = "the ledger says that it was paid"
	}
	return why
}

// notInLedger returns how the ledger contradicts the row of a payout whose money a rail's answer may move, "" if it does not.
func (p *Payout) notInLedger(i *db.Integrity, h ledger.Holding) string {
	switch {
	case !p.isReserved():
		return ""
	case p.Status == Pending || p.Status == Processing:
		return p.notHeld(i, h)
	case p.Status == Completed && p.notAuthentic(i, h) != "":
		return p.notAuthentic(i, h)
	case p.Status == Completed && (h.Paid != p.Amount || h.AccountID != p.AccountID):
		return fmt.Sprintf("the ledger says that %s was paid from account %q", api.FormatAmount(h.Paid, p.Currency), h.AccountID)
	}
	return ""
}

// notGranted returns why an approval does not allow a payout, "" if it does or none was needed.
func (p *Payout) notGranted(g approval.Grant) string {
	subject, kind := p.ID, KindPayout
	if g.Kind == KindBatch {
		subject, kind = p.Batch, KindBatch
	}
	switch {
	case p.ApprovalID == "" && p.ApprovalsNeeded == 0:
		return ""
	case g.State != api.ApprovalApproved || g.Votes < p.ApprovalsNeeded:
		return "the approval " + p.ApprovalID + " does not allow it"
	case g.Kind != kind || g.SubjectID != subject || g.WorkspaceID != p.WorkspaceID:
		return "the approval " + p.ApprovalID + " is for something else"
	}
	return ""
}

// withhold ends attempts that were claimed and not submitted. Their payouts wait for a person.
func (s *Sending) withhold(ctx context.Context, suspects []suspect) error {
	ids := make([]any, len(suspects))
	for i, one := range suspects {
		ids[i] = one.endToEndID
	}
	c, err := db.Write(ctx, s.db, db.SystemCaller(), func(tx *db.Tx) (*change, audit.Event, error) {
		c := newChange(s.now(), s)
		found, err := findAttempts(tx.Q, ids, tx.ForUpdate)
		if err != nil {
			return nil, audit.Event{}, err
		}
		for _, one := range suspects {
			if a := found[one.endToEndID]; a != nil && a.State == sending {
				c.notSent(a, one.why)
			}
		}
		return c, c.event(), c.store(tx, s.rules)
	})
	if err == nil {
		s.alarm(c)
	}
	return err
}

// notSent ends an attempt that was not submitted.
func (c *change) notSent(a *attempt, why string) {
	c.attempts[a.ID] = a
	a.AnsweredAt, a.Text = c.now, "not sent: "+why
	a.State = rail.NotReceived
	c.become(a.payout, Pending)
	c.contradict(a, "it was not sent: "+why)
}
