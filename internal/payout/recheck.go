package payout

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/approval"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/fault"
	"bursar/internal/ledger"
	"bursar/internal/mail"
)

// Recheck marks a payout that is held, because a limit or a rule became stricter after its money was reserved.
const Recheck = "recheck"

// KindRecheck is the kind of approvals that release held payouts.
const KindRecheck = "payout_recheck"

// obstacle is a limit or a rule that holds a payout.
type obstacle struct {
	Name      string `json:"name"` // of the limit, with its version, or of the rule
	Text      string `json:"text"`
	Approvals int    `json:"approvals"`
	Role      string `json:"role,omitzero"`
}

// ruleLag is how long before its money is reserved it may have been decided what a payout needs: it is screened after that, and
// another node may not have heard of a new rule yet.
const ruleLag = 2 * time.Minute

// obstacles returns what became stricter since the money of payouts of one workspace was reserved and was not overridden: limits
// per payout that they exceed, and rules by amount that demand more approvals than they had, or those of another role. What they
// take of a day's limit was counted then. A rule is stricter if it came after their approval was requested.
func (r *Rules) obstacles(q db.Q, list ...*Payout) (found []obstacle, err error) {
	for _, p := range list {
		g, err := r.guard(q, p.WorkspaceID)
		if err != nil || len(g.limits) == 0 && len(g.rules) == 0 {
			return nil, err
		}
		spending := p.spending()
		if err := spending.findPayees(q, g.limits); err != nil {
			return nil, err
		}
		over := func(name string) bool {
			return slices.Contains(strings.Fields(p.Overrides), name) || slices.ContainsFunc(found, func(o obstacle) bool { return o.Name == name })
		}
		for _, l := range matchingLimits(g.limits, spending) {
			name := fmt.Sprintf("%s@%d", l.ID, l.version)
			if l.Per == api.LimitPerPayout && p.Amount > l.AmountCents && !over(name) {
				found = append(found, obstacle{Name: name, Text: "the limit " + l.ID + ": " + limitText(l.PayoutLimit), Approvals: 1})
			}
		}
		decided := int64(0)
		for _, u := range g.rules {
			if u.AboveCents == nil && u.UpToCents == nil || u.activeAt <= p.CreatedAt-ruleLag.Milliseconds() || over(u.ID) {
				continue
			}
			if decided == 0 {
				if decided, err = p.demandedAt(q); err != nil {
					return nil, err
				}
			}
			if u.activeAt <= decided-ruleLag.Milliseconds() {
				continue
			}
			stricter, err := u.stricter(q, p)
			if err != nil {
				return nil, err
			}
			if stricter {
				found = append(found, obstacle{u.ID, "the rule " + u.ID + ": " + ruleText(u.ApprovalRuleTerms), int(u.Approvals), u.Role})
			}
		}
	}
	return found, nil
}

// demandedAt returns when it was decided how many approvals a payout needs: when the approval by which its money was reserved was
// requested, or when its money was reserved by an earlier approval or none.
func (p *Payout) demandedAt(q db.Q) (at int64, err error) {
	if p.ApprovalID == "" {
		return p.ReservedAt, nil
	}
	found, err := q.Row(`SELECT created_at FROM approval WHERE id = $1 AND decided_at = $2`, p.ApprovalID, p.ReservedAt).Scan(&at)
	if !found {
		at = p.ReservedAt
	}
	return at, err
}

// stricter reports whether a rule matches a payout, or its batch, and demands more than was demanded when its money was reserved.
func (u rule) stricter(q db.Q, p *Payout) (bool, error) {
	maker := db.Caller{Actor: audit.Actor{ID: p.MakerID, Type: audit.Client}} // rules for clients name their id
	matches := u.matches(p.AccountID, p.Rail, p.Amount, maker)
	if !matches && p.Batch != "" {
		var total int64
		if _, err := q.Row(`SELECT total FROM payout_batch WHERE id = $1`, p.Batch).Scan(&total); err != nil {
			return false, err
		}
		matches = u.matches(p.AccountID, p.Rail, total, maker)
	}
	if !matches || u.Approvals > p.ApprovalsNeeded || u.Approvals == 0 {
		return matches && u.Approvals > p.ApprovalsNeeded, nil
	}
	var role string
	var keysMay bool
	_, err := q.Row(`SELECT role, keys_may FROM approval WHERE id = $1`, p.ApprovalID).Scan(&role, &keysMay)
	return u.Role != "" && role != u.Role || keysMay && !u.KeysMayApprove, err
}

// recheckTerms are what an approval of held payouts is for.
type recheckTerms struct {
	AccountID string     `json:"account_id"`
	Payee     string     `json:"payee,omitzero"` // of a single one
	Total     int64      `json:"total"`
	Currency  string     `json:"currency"`
	Payouts   int        `json:"payouts"`
	Obstacles []obstacle `json:"obstacles"`
}

func (t recheckTerms) words() string {
	what := api.FormatAmount(t.Total, t.Currency)
	if t.Payee != "" {
		return "a payout of " + what + " to " + t.Payee
	}
	return fmt.Sprintf("a batch of %d payouts, %s", t.Payouts, what)
}

// subjectOf returns what is approved with a payout: its batch, or itself.
func (p Payout) subjectOf() (column, id string) {
	if p.Batch != "" {
		return "batch_id", p.Batch
	}
	return "id", p.ID
}

// unreadyError is that the vault has to be ready for a workspace before the transaction.
type unreadyError struct{ workspace int64 }

func (e *unreadyError) Error() string {
	return fmt.Sprintf("the vault is not ready for workspace %d", e.workspace)
}

// hold holds the rest of a held payout's batch, and asks for their approval where a second person could give it. The caller has
// stored the payout.
func (r *Rules) hold(tx *db.Tx, p *Payout) error {
	people, err := access.ObserveSecondPerson(tx, access.Payouts, p.WorkspaceID)
	if err != nil {
		return err
	}
	column, subject := p.subjectOf()
	if err := tx.Exec(`UPDATE payout SET attention = $2, updated_at = $3 WHERE `+column+` = $1 AND status = 'pending' AND attention = ''`, subject, Recheck, tx.Now()); err != nil {
		return err
	}
	if !people.Demanded() && !people.Available() {
		return nil // the requester confirms it
	}
	if !r.vault.Loaded(p.workspace) {
		return &unreadyError{p.workspace}
	}
	list, err := db.Collect(tx.Q, readSent, `SELECT `+sentColumns+` FROM payout WHERE `+column+` = $1 AND status = 'pending' AND attention = 'recheck' ORDER BY id`, subject)
	if err != nil {
		return err
	}
	t := recheckTerms{AccountID: p.AccountID, Currency: p.Currency, Payouts: len(list)}
	if p.Batch == "" {
		t.Payee = p.AccountName
	}
	if t.Obstacles, err = r.obstacles(tx.Q, list...); err != nil {
		return err
	}
	need := Need{Approvals: 1}
	for _, o := range t.Obstacles {
		need = need.or(Need{Approvals: o.Approvals, Role: o.Role, Why: o.Text})
	}
	by := db.Caller{Actor: audit.Actor{ID: p.MakerID, Type: audit.User}}
	var kind string
	if _, err := tx.Row(`SELECT kind, name, email FROM account WHERE id = $1`, p.MakerID).Scan(&kind, &by.Name, &by.Email); err != nil {
		return err
	}
	if kind == "client" {
		by.Type = audit.Client
	}
	all := make([]*draft, len(list))
	for i, one := range list {
		t.Total += one.Amount
		all[i] = &draft{Payout: *one}
	}
	if by, err = behind(tx.Q, by, all); err != nil {
		return err
	}
	id, err := r.approvals.Make(tx, by, approval.Request{Kind: KindRecheck, WorkspaceID: p.WorkspaceID, Workspace: p.workspace, SubjectID: subject,
		Payload: t, Needed: need.Approvals, Role: need.Role})
	if err != nil {
		return err
	}
	return tx.Exec(`UPDATE payout SET recheck_id = $2 WHERE `+column+` = $1 AND status = 'pending' AND attention = 'recheck'`, subject, id)
}

// recheckKind releases held payouts. One that is not approved cancels them.
func (s *Service) recheckKind() approval.Kind {
	kind := approval.Kind{
		Name: KindRecheck, Read: access.PayoutsRead, Make: access.PayoutsCreate, Pair: access.Payouts, Mail: mail.AHeldPayout, NotifyMaker: true,
		Actions: map[string]audit.Action{
			api.ApprovalApproved: audit.PayoutRecheckApproved, api.ApprovalRejected: audit.PayoutRecheckRejected,
			api.ApprovalWithdrawn: audit.PayoutRecheckWithdrawn, api.ApprovalExpired: audit.PayoutRecheckExpired,
		},
		Lock: func(tx *db.Tx, a approval.Approval) error {
			if strings.HasPrefix(a.SubjectID, "bat_") {
				return lockBatch(tx, a.SubjectID)
			}
			_, err := lock(tx, a.SubjectID)
			return err
		},
		Apply: func(tx *db.Tx, a approval.Approval) (audit.Changes, string, error) {
			var t recheckTerms
			if err := a.Payload(&t); err != nil {
				return nil, "", err
			}
			list, err := s.heldBy(tx, "recheck_id", a.ID)
			if err == nil && len(list) == 0 {
				err = fault.New(fault.ApprovalChanged, "the payout is no longer held")
			}
			if err != nil {
				return nil, "", err
			}
			var changes audit.Changes
			changes.Add("attention", Recheck, "")
			return changes, t.words() + ", which " + obstacleTexts(t.Obstacles) + " held", s.override(tx, list, t.Obstacles)
		},
		Drop: func(tx *db.Tx, a approval.Approval) (audit.Changes, string, error) {
			var t recheckTerms
			if err := a.Payload(&t); err != nil {
				return nil, "", err
			}
			list, err := s.heldBy(tx, "recheck_id", a.ID)
			for _, d := range list {
				if err == nil {
					err = s.release(tx, d)
				}
				if err == nil {
					_, err = cancel(tx, d.ID, Pending, "it was held and not released")
				}
			}
			var changes audit.Changes
			changes.Add("status", Pending, Cancelled)
			return changes, t.words(), err
		},
		Show: func(a approval.Approval, _ bool) (string, []api.ApprovalField, error) {
			var t recheckTerms
			err := a.Payload(&t)
			return "Release " + t.words(), []api.ApprovalField{
				{Field: "amount", After: api.FormatAmount(t.Total, t.Currency)},
				{Field: "payouts", After: fmt.Sprint(t.Payouts)},
				{Field: "held_by", After: obstacleTexts(t.Obstacles)},
			}, err
		},
	}
	kind.Parts = func(tx *db.Tx, a approval.Approval, state string) (rows []audit.Event, err error) {
		list, err := s.heldBy(tx, "recheck_id", a.ID)
		for _, d := range list {
			if d.ID != a.SubjectID {
				rows = append(rows, d.event(kind.Actions[state], "With the batch "+a.SubjectID+", "+state+":"))
			}
		}
		return rows, err
	}
	return kind
}

func obstacleTexts(list []obstacle) string {
	texts := make([]string, len(list))
	for i, o := range list {
		texts[i] = o.Text
	}
	return strings.Join(texts, "; ")
}

// heldBy reads and locks held payouts, with their account numbers.
func (s *Service) heldBy(tx *db.Tx, column, value string) ([]*draft, error) {
	if err := tx.Exec(`UPDATE payout SET updated_at = updated_at WHERE `+column+` = $1 AND status = 'pending' AND attention = 'recheck'`, value); err != nil {
		return nil, err
	}
	rows, err := db.Collect(tx.Q, readRow, `SELECT `+columns+` WHERE p.`+column+` = $1 AND p.status = 'pending' AND p.attention = 'recheck' ORDER BY p.id`, value)
	list := make([]*draft, len(rows))
	for i, p := range rows {
		list[i] = &draft{Payout: p}
		if err == nil {
			list[i].number, err = number(s.vault, p)
		}
	}
	return list, err
}

// override lets held payouts be sent at the next window of their rail, whatever the obstacles say.
func (s *Service) override(tx *db.Tx, list []*draft, over []obstacle) error {
	for _, d := range list {
		pays, err := d.asReserved(tx)
		if err != nil {
			return err
		}
		names := strings.Fields(d.Overrides)
		for _, o := range over {
			names = append(names, o.Name)
		}
		d.Overrides = strings.Join(names, " ")
		send, arrive := d.SendAt, d.ExpectedAt
		if on := s.rails.Named(d.Rail, d.sandbox()); on != nil {
			next, then := on.Next(time.UnixMilli(tx.Now()))
			send, arrive = next.UnixMilli(), then.UnixMilli()
		}
		if err := tx.Exec(`UPDATE payout SET attention = '', recheck_id = NULL, overrides = $2, terms_mac = $3, send_at = $4, expected_at = $5, updated_at = $6 WHERE id = $1`,
			d.ID, d.Overrides, d.termsCode(tx.Integrity(), d.number, pays), send, arrive, tx.Now()); err != nil {
			return err
		}
	}
	return nil
}

// release gives back the money of a payout that is not sent, and what it took of limits.
func (s *Service) release(tx *db.Tx, d *draft) error {
	if err := s.rules.GiveBack(tx, d.spending()); err != nil {
		return err
	}
	held, forged, err := d.held(tx)
	if err == nil && forged {
		err = d.forgedLedger()
	}
	if err == nil && held.Amount > 0 {
		err = ledger.Release(tx, []ledger.Reserved{held})
	}
	return err
}

// Confirm releases a held payout, with its batch. What still holds it is overridden only by its requester, who signs in again for
// it, and only where no other person could approve that.
func (s *Service) Confirm(ctx context.Context, by db.Caller, in Input) (api.Payout, error) {
	p, _, err := s.may(ctx, by, in.ID, access.PayoutsCreate)
	if err != nil {
		return api.Payout{}, err
	}
	if p.Status != Pending || p.Attention != Recheck {
		return api.Payout{}, wrongState(p, "confirmed: it is not held")
	}
	if p.RecheckID != "" {
		_, err := approval.Outcome[api.Payout]{ApprovalID: p.RecheckID}.Result()
		return api.Payout{}, err
	}
	if err := s.vault.Ready(ctx, p.workspace); err != nil {
		return api.Payout{}, err
	}
	defer s.wake()
	done, err := db.Write(ctx, s.db, by, func(tx *db.Tx) (out approval.Outcome[api.Payout], none audit.Event, err error) {
		column, subject := p.subjectOf()
		list, err := s.heldBy(tx, column, subject)
		if err != nil {
			return out, none, err
		}
		list = slices.DeleteFunc(list, func(d *draft) bool { return d.RecheckID != "" })
		at := slices.IndexFunc(list, func(d *draft) bool { return d.ID == p.ID })
		if at < 0 {
			return out, none, changed()
		}
		all := make([]*Payout, len(list))
		for i, d := range list {
			all[i] = &d.Payout
		}
		why, err := s.rules.obstacles(tx.Q, all...)
		if err != nil {
			return out, none, err
		}
		if len(why) > 0 {
			if err := s.mayOverride(by, p); err != nil {
				return out, none, err
			}
			// A second person may be there by now.
			if err := s.rules.hold(tx, all[at]); err != nil {
				return out, none, err
			}
			if _, err := tx.Row(`SELECT recheck_id FROM payout WHERE id = $1`, p.ID).Scan(&out.ApprovalID); err != nil {
				return out, none, err
			}
		}
		if out.ApprovalID != "" {
			e := list[at].event(audit.PayoutAttention, "Requested approval of the held payout of")
			e.Changes.Add("approval_id", nil, out.ApprovalID)
			return out, e, nil
		}
		e := list[at].event(audit.PayoutRecheckApproved, "Confirmed the payout of")
		e.Changes.Add("attention", Recheck, "")
		e.Changes.Add("held_by", nil, obstacleTexts(why))
		if err := s.override(tx, list, why); err != nil {
			return out, e, err
		}
		now, err := find(tx.Q, p.ID)
		out.Answer = wire(now, list[at].number)
		return out, e, err
	})
	if err != nil {
		return api.Payout{}, err
	}
	return done.Result()
}

// mayOverride reports whether the caller may override what holds a payout, where nobody else could.
func (s *Service) mayOverride(by db.Caller, p Payout) error {
	why := ""
	switch {
	case by.Type == audit.Client || by.ID != p.MakerID:
		why = "only the person who requested the payout can confirm it"
	case by.Type != audit.User || by.KeyID != "":
		why = "an API key cannot confirm a held payout: log in for it"
	default:
		return access.RequireRecentLogin(by.Actor, s.db.Now())
	}
	f := fault.New(fault.Forbidden, "%s", why)
	f.Scope.WorkspaceID = p.WorkspaceID
	return f
}

// endHold ends the approval that a held payout waits for, unless others of its batch wait for it.
func endHold(tx *db.Tx, by db.Caller, p Payout, why string) error {
	if err := tx.Exec(`UPDATE payout SET recheck_id = NULL WHERE id = $1`, p.ID); err != nil {
		return err
	}
	column, subject := p.subjectOf()
	others, err := tx.Row(`SELECT id FROM payout WHERE `+column+` = $1 AND attention = 'recheck' AND status = 'pending' AND id <> $2 LIMIT 1`, subject, p.ID).Scan(new(string))
	if err == nil && !others {
		_, err = approval.VoidKind(tx, by, KindRecheck, subject, why)
	}
	return err
}
