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
	"bursar/internal/vault"
)

// Recheck marks a payout that is held. A limit or a rule became stricter after its money was reserved, or its request or a vote for it
// came through an API key that turned out to be compromised.
const Recheck = "recheck"

// KindRecheck is the kind of approvals that release held payouts.
const KindRecheck = "payout_recheck"

// obstacles returns what holds payouts that are claimed or held, all of one batch or a single one.
func obstacles(q db.Q, rules *control.Service, list ...*Payout) ([]control.Obstacle, error) {
	some := make([]control.Reserved, len(list))
	for i, p := range list {
		some[i] = p.controlled()
	}
	return rules.Obstacles(q, some, func(batch string) ([]control.Reserved, error) {
		return db.Collect(q, func(r db.Rows) control.Reserved { return readSent(r).controlled() },
			`SELECT `+sentRow.Columns+` FROM payout WHERE batch_id = $1 ORDER BY id`, batch)
	})
}

// controlled returns a payout whose money is reserved as rules and limits know it.
func (p *Payout) controlled() control.Reserved {
	return control.Reserved{Spending: p.spending(), WorkspaceNumber: p.WorkspaceNumber, Batch: p.Batch, Waits: p.Status == Pending && p.Attention != Contradicted,
		MakerID: p.MakerID, KeyID: p.KeyID, ApprovalID: p.ApprovalID, ApprovalsNeeded: p.ApprovalsNeeded, Overrides: p.Overrides, CreatedAt: p.CreatedAt}
}

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

// subjectOf returns what is approved with a payout: its batch, or itself.
func (p Payout) subjectOf() (column, id string) {
	if p.Batch != "" {
		return "batch_id", p.Batch
	}
	return "id", p.ID
}

// holding is a payout or a batch that is held.
type holding struct {
	mail.HeldPayout
	workspaceID string
	maker       db.Caller
	approvalID  string        // that releases it; "" if its requester confirms it
	events      []audit.Event // of payouts that are held with the one that was claimed
}

// holds holds payouts, and lets people know.
type holds struct {
	vault     *vault.Vault
	approvals *approval.Service
}

// hold holds the remaining payouts of a held payout's batch, and requests their approval if a second person could give it. That approval
// replaces one that waits for payouts of the batch. The caller has stored the payout.
func (r holds) hold(tx *db.Tx, p *Payout, why []control.Obstacle) (h holding, err error) {
	people, err := access.ObserveSecondPerson(tx, access.Payouts, p.WorkspaceID)
	if err != nil {
		return h, err
	}
	waits := people.Demanded() || people.Available()
	if waits && !r.vault.Loaded(p.WorkspaceNumber) {
		return h, &control.UnreadyError{Workspace: p.WorkspaceNumber}
	}
	column, subject := p.subjectOf()
	more, err := db.Collect(tx.Q, firstText, `UPDATE payout SET attention = $2, updated_at = $3 WHERE `+column+` = $1 AND status = 'pending' AND attention = '' RETURNING id`,
		subject, Recheck, tx.Now())
	if err != nil {
		return h, err
	}
	list, err := db.Collect(tx.Q, readSent, `SELECT `+sentRow.Columns+` FROM payout WHERE `+column+` = $1 AND status = 'pending' AND attention = 'recheck' ORDER BY id`, subject)
	if err != nil || len(list) == 0 {
		return h, err
	}
	if _, err := approval.VoidKind(tx, systemCaller(), KindRecheck, subject, "other payouts of the batch are held, too"); err != nil {
		return h, err
	}
	h.workspaceID, h.ID, h.Why = p.WorkspaceID, subject, control.ObstacleTexts(why)
	if p.Batch != "" {
		h.Batch = len(list)
	}
	for _, id := range more {
		e := audit.Event{Action: audit.PayoutAttention, WorkspaceID: p.WorkspaceID, ResourceID: id, Description: "The payout is held with the batch " + subject + ": " + h.Why}
		e.Changes.Add("held_by", nil, h.Why)
		h.events = append(h.events, e)
	}
	h.maker = db.Caller{Actor: audit.Actor{ID: p.MakerID, Type: audit.User}}
	var kind string
	if _, err := tx.Row(`SELECT kind, name, email FROM account WHERE id = $1`, p.MakerID).Scan(&kind, &h.maker.Name, &h.maker.Email); err != nil {
		return h, err
	}
	if kind == "client" {
		h.maker.Type = audit.Client
	}
	if waits {
		if h.approvalID, err = r.askToRelease(tx, h.maker, list, why); err != nil {
			return h, err
		}
	}
	return h, tx.Exec(`UPDATE payout SET recheck_id = $2 WHERE `+column+` = $1 AND status = 'pending' AND attention = 'recheck'`, subject, db.NullText(h.approvalID))
}

// askToRelease requests the approval of held payouts of one batch, or of a single one.
func (r holds) askToRelease(tx *db.Tx, maker db.Caller, list []*Payout, why []control.Obstacle) (id string, err error) {
	p := list[0]
	t := recheckTerms{AccountID: p.AccountID, Currency: p.Currency, Payouts: len(list), Obstacles: why}
	if p.Batch == "" {
		t.Payee = p.AccountName
	}
	need := control.Need{Approvals: 1}
	for _, o := range why {
		need = need.Or(control.Need{Approvals: o.Approvals, Role: o.Role, Why: o.Text})
	}
	all, ids := make([]*draft, len(list)), make([]string, len(list))
	for i, one := range list {
		t.Total += one.Amount
		all[i], ids[i] = &draft{Payout: *one}, one.ID
	}
	t.Digest = digestOf(ids)
	by, err := behind(tx.Q, maker, all)
	if err != nil {
		return "", err
	}
	_, subject := p.subjectOf()
	return r.approvals.Make(tx, by, approval.Request{Kind: KindRecheck, Mode: p.Mode, WorkspaceID: p.WorkspaceID, Workspace: p.WorkspaceNumber, SubjectID: subject,
		Payload: t, Needed: need.Approvals, Role: need.Role, Mailed: true})
}

// firstText reads a column of text.
func firstText(r db.Rows) string { return r.Text(0) }

// mail mails requesters and approvers which payouts are held. Each gets one mail for everything that one transaction holds. The caller
// gets none.
func (r holds) mail(tx *db.Tx, by db.Caller, list ...holding) error {
	type reader struct {
		workspaceID, accountID, client string
		task                           mail.HeldTask
	}
	var readers []reader
	news := map[reader][]holding{}
	tell := func(to reader, h holding) {
		if to.accountID == by.ID {
			return
		}
		if news[to] == nil {
			readers = append(readers, to)
		}
		news[to] = append(news[to], h)
	}
	for _, h := range list {
		task, client := mail.ConfirmHeld, ""
		if h.maker.Type == audit.Client {
			task, client = mail.EndHeld, h.maker.Name
		}
		if h.approvalID != "" {
			task = mail.AwaitHeld
			approvers, err := r.approvals.Approvers(tx.Q, h.approvalID)
			if err != nil {
				return err
			}
			for _, id := range approvers {
				tell(reader{h.workspaceID, id, "", mail.ApproveHeld}, h)
			}
		}
		requesters, err := approval.Involved(tx.Q, audit.Actor{ID: h.maker.ID}) // with the owners of a machine client
		if err != nil {
			return err
		}
		slices.Sort(requesters)
		for _, id := range slices.Compact(requesters) {
			tell(reader{h.workspaceID, id, client, task}, h)
		}
	}
	// In a fixed order, because the budget of each reader is locked.
	slices.SortFunc(readers, func(a, b reader) int {
		return cmp.Or(cmp.Compare(a.accountID, b.accountID), cmp.Compare(a.workspaceID, b.workspaceID), cmp.Compare(a.task, b.task), cmp.Compare(a.client, b.client))
	})
	for _, to := range readers {
		err := r.approvals.Mail(tx, to.workspaceID, to.accountID, func(email, workspace, page string) mail.Message {
			m := mail.HeldPayouts{To: email, Workspace: workspace, Task: to.task, Client: to.client}
			for _, h := range news[to] {
				m.Payouts = append(m.Payouts, h.HeldPayout)
			}
			m.Link = page + heldPath(to.task, news[to])
			return m.Message()
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// heldPath is the page of a workspace that shows what is held.
func heldPath(task mail.HeldTask, list []holding) string {
	one := len(list) == 1
	switch {
	case task == mail.ApproveHeld && one:
		return "/approvals/" + list[0].approvalID
	case task == mail.ApproveHeld:
		return "/approvals"
	case one && list[0].Batch > 0:
		return "/payouts/batches/" + list[0].ID
	case one:
		return "/payouts/" + list[0].ID
	}
	return "/payouts?status=pending"
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
	done, err := db.Write(ctx, s.db, by, func(tx *db.Tx) (out approval.Outcome[api.Payout], none audit.Event, err error) {
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
		if _, err := approval.VoidKind(tx, by, KindRecheck, subject, "the payout was confirmed, because no limit or rule holds it any more"); err != nil {
			return out, none, err
		}
		rows := make([]audit.Event, len(list))
		for i, d := range list {
			rows[i] = d.event(audit.PayoutRecheckApproved, "Confirmed the payout of")
			rows[i].Changes.Add("attention", Recheck, "")
			rows[i].Changes.Add("held_by", nil, control.ObstacleTexts(why))
		}
		if err := s.override(tx, list, why); err != nil {
			return out, none, err
		}
		now, err := Find(tx.Q, p.ID)
		out.Answer = wire(now, list[0].number)
		return out, audit.All(rows...), cmp.Or(err, identity.StillHolds(tx, by, p.WorkspaceID, access.PayoutsCreate))
	})
	if err != nil {
		return api.Payout{}, err
	}
	return done.Result()
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

// endHold voids the approval that a held payout waits for, unless other payouts of its batch wait for it. The payout keeps the approval's
// id, because the approval was for it, too.
func endHold(tx *db.Tx, by db.Caller, p Payout, why string) error {
	column, subject := p.subjectOf()
	others, err := tx.Row(`SELECT id FROM payout WHERE `+column+` = $1 AND attention = 'recheck' AND status = 'pending' AND id <> $2 LIMIT 1`, subject, p.ID).Scan(new(string))
	if err == nil && !others {
		_, err = approval.VoidKind(tx, by, KindRecheck, subject, why)
	}
	return err
}
