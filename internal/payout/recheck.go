package payout

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
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
	"bursar/internal/identity"
	"bursar/internal/ledger"
	"bursar/internal/mail"
	"bursar/internal/payout/control"
)

// KindRecheck is the kind of approvals that release held payouts.
const KindRecheck = "payout_recheck"

// recheckTerms are what an approval of held payouts is for.
type recheckTerms struct {
	AccountID string             `json:"account_id"`
	Payee     string             `json:"payee,omitzero"` // of a single one
	Total     int64              `json:"total"`
	Currency  string             `json:"currency"`
	Payouts   int                `json:"payouts"`
	Digest    string             `json:"digest"` // of their ids
	Obstacles []control.Obstacle `json:"obstacles"`
}

// digestOf returns a digest of the ids of payouts. The terms of each payout have a code of their own.
func digestOf(ids []string) string {
	sum := sha256.Sum256([]byte(strings.Join(ids, " ")))
	return hex.EncodeToString(sum[:])
}

func (t recheckTerms) words() string {
	what := api.FormatAmount(t.Total, t.Currency)
	if t.Payee != "" {
		return "a payout of " + what + " to " + t.Payee
	}
	return fmt.Sprintf("a batch of %d payouts, %s", t.Payouts, what)
}

// recheckKind returns the kind of approvals that release held payouts. Without approval the payouts are cancelled.
func (s *Service) recheckKind() approval.Kind {
	kind := approval.KindOf[recheckTerms]{
		Kind: approval.Kind{
			Name: KindRecheck, Read: access.PayoutsRead, Make: access.PayoutsCreate, Pair: access.Payouts, Mail: mail.AHeldPayout,
			Actions: approval.Actions(audit.PayoutRecheckApproved, audit.PayoutRecheckRejected,
				audit.PayoutRecheckWithdrawn, audit.PayoutRecheckExpired),
			Lock: func(tx *db.Tx, a approval.Approval) error {
				if strings.HasPrefix(a.SubjectID, "bat_") {
					return lockBatch(tx, a.SubjectID)
				}
				_, err := lock(tx, a.SubjectID)
				return err
			},
		},
		Apply: func(tx *db.Tx, a approval.Approval, t recheckTerms) (audit.Changes, string, error) {
			list, err := s.heldBy(tx, "recheck_id", a.ID)
			if err != nil {
				return nil, "", err
			}
			asked, err := db.Collect(tx.Q, firstText, `SELECT id FROM payout WHERE recheck_id = $1 ORDER BY id`, a.ID) // including those that are no longer held
			switch {
			case err != nil:
				return nil, "", err
			case len(list) == 0:
				return nil, "", fault.New(api.CodeApprovalChanged, "the payout is no longer held")
			case digestOf(asked) != t.Digest:
				return nil, "", fault.New(api.CodeApprovalChanged, "these are not the payouts that were held when this was asked for: someone has changed them in the store")
			}
			var changes audit.Changes
			changes.Add("attention", Recheck, "")
			return changes, t.words() + ", which " + control.ObstacleTexts(t.Obstacles) + " held", s.override(tx, list, t.Obstacles)
		},
		Drop: func(tx *db.Tx, a approval.Approval, t recheckTerms) (audit.Changes, string, error) {
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
		Show: func(t recheckTerms, _ bool) (string, []api.ApprovalField) {
			return "Release " + t.words(), []api.ApprovalField{
				{Field: "amount", After: api.FormatAmount(t.Total, t.Currency)},
				{Field: "payouts", After: fmt.Sprint(t.Payouts)},
				{Field: "held_by", After: control.ObstacleTexts(t.Obstacles)},
			}
		},
	}.Decoding()
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

// heldBy reads and locks held payouts, with their account numbers.
func (s *Service) heldBy(tx *db.Tx, column, value string) ([]*draft, error) {
	if err := tx.Exec(`UPDATE payout SET updated_at = updated_at WHERE `+column+` = $1 AND status = 'pending' AND attention = 'recheck'`, value); err != nil {
		return nil, err
	}
	rows, err := db.Collect(tx.Q, wholeRow.Read, selectPayouts+` WHERE p.`+column+` = $1 AND p.status = 'pending' AND p.attention = 'recheck' ORDER BY p.id`, value)
	list := make([]*draft, len(rows))
	for i, p := range rows {
		list[i] = &draft{Payout: p}
		if err == nil {
			list[i].number, err = number(s.vault, p)
		}
	}
	return list, err
}

// override lets held payouts be sent at the next window of their rail, despite the obstacles.
func (s *Service) override(tx *db.Tx, list []*draft, over []control.Obstacle) error {
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

// release returns the reserved money of a payout that is not sent, and removes it from the limits.
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

// Confirm releases a held payout, with its batch. If limits or rules still hold it, only its requester can override them, after a recent
// login. That is possible only if no other person could approve it.
func (s *Service) Confirm(ctx context.Context, by db.Caller, in Input) (api.Payout, error) {
	p, _, err := s.authorize(ctx, by, in.ID, access.PayoutsCreate)
	if err != nil {
		return api.Payout{}, err
	}
	if p.Status != Pending || p.Attention != Recheck {
		return api.Payout{}, wrongState(p, "confirmed, because it is not held")
	}
	if err := s.vault.Ready(ctx, p.WorkspaceNumber); err != nil {
		return api.Payout{}, err
	}
	defer s.wake()
	done, err := db.Write(ctx, s.db, by, func(tx *db.Tx) (approval.Outcome[api.Payout], audit.Event, error) { return s.confirm(tx, by, p) })
	if err != nil {
		return api.Payout{}, err
	}
	return done.Result()
}

// confirm is Confirm in its transaction, for a payout as it was read before.
func (s *Service) confirm(tx *db.Tx, by db.Caller, p Payout) (out approval.Outcome[api.Payout], none audit.Event, err error) {
	if p.Batch != "" {
		if err := lockBatch(tx, p.Batch); err != nil {
			return out, none, err
		}
	}
	column, subject := p.subjectOf()
	list, err := s.heldBy(tx, column, subject)
	if err != nil {
		return out, none, err
	}
	at := slices.IndexFunc(list, func(d *draft) bool { return d.ID == p.ID })
	if at < 0 {
		return out, none, changed()
	}
	list[0], list[at] = list[at], list[0]
	all := make([]*Payout, len(list))
	for i, d := range list {
		all[i] = &d.Payout
	}
	why, err := obstacles(tx.Q, s.rules, all...)
	if err == nil && len(why) > 0 {
		out.ApprovalID, err = approval.PendingOf(tx.Q, KindRecheck, subject)
	}
	switch {
	case err != nil:
		return out, none, err
	case out.ApprovalID != "":
		_, err := out.Result()
		return out, none, err
	case len(why) > 0:
		if err := s.mayOverride(by, p); err != nil {
			return out, none, err
		}
		h, err := s.holds.hold(tx, all[0], why) // a second person may be there by now
		if err == nil {
			err = s.holds.mail(tx, by, h)
		}
		if err != nil {
			return out, none, err
		}
		if out.ApprovalID = h.approvalID; out.ApprovalID != "" {
			e := list[0].event(audit.PayoutAttention, "Requested approval of the held payout of")
			e.Changes.Add("approval_id", nil, out.ApprovalID)
			return out, audit.All(append([]audit.Event{e}, h.events...)...), nil
		}
	}
	event, err := s.confirmed(tx, by, list, subject, why)
	if err != nil {
		return out, none, err
	}
	now, err := Find(tx.Q, p.ID)
	out.Answer = wire(now, list[0].number)
	return out, event, cmp.Or(err, identity.StillHolds(tx, by, p.WorkspaceID, access.PayoutsCreate))
}

// confirmed releases held payouts despite what holds them.
func (s *Service) confirmed(tx *db.Tx, by db.Caller, list []*draft, subject string, why []control.Obstacle) (audit.Event, error) {
	if _, err := approval.VoidKind(tx, by, KindRecheck, subject, "the payout was confirmed, because no limit or rule holds it any more"); err != nil {
		return audit.Event{}, err
	}
	rows := make([]audit.Event, len(list))
	for i, d := range list {
		rows[i] = d.event(audit.PayoutRecheckApproved, "Confirmed the payout of")
		rows[i].Changes.Add("attention", Recheck, "")
		rows[i].Changes.Add("held_by", nil, control.ObstacleTexts(why))
	}
	return audit.All(rows...), s.override(tx, list, why)
}

// mayOverride returns a fault unless the caller may override what holds a payout, where no one else could.
func (s *Service) mayOverride(by db.Caller, p Payout) error {
	why := ""
	switch {
	case by.Type == audit.Client || by.ID != p.MakerID:
		why = "only the person who requested the payout can confirm it"
	case by.Type != audit.User || by.KeyID != "":
		why = "an API key cannot confirm a held payout: its requester has to log in"
	default:
		return access.RequireRecentLogin(by.Actor, s.db.Now())
	}
	f := fault.New(api.CodeForbidden, "%s", why)
	f.Scope.WorkspaceID = p.WorkspaceID
	return f
}
