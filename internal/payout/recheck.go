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
)

// Recheck marks a payout that is held. A limit or a rule became stricter after its money was reserved, or its request or a vote for it
// came through an API key that turned out to be compromised.
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

// ruleLag bounds the time from determining the approvals that a payout needs to reserving its money. The payout is screened in between, and
// another node may not have learned of a new rule yet.
const ruleLag = 2 * time.Minute

// comparison compares payouts of one batch, or a single one, with the current rules and limits of their workspace.
type comparison struct {
	rules     *Rules
	q         db.Q
	limits    []limit            // per payout
	demanding []rule             // rules that demand approvals
	freed     []rule             // suspended rules by which payouts needed no approval
	sums      map[batchSum]int64 // of the whole batch
	demands   map[string]demand  // of approvals, by their ids
	leaks     bool               // an API key was reported as compromised
	leaked    map[string]leaked  // by approval
}

// compare returns a comparison, or nil if nothing in the workspace could hold a payout.
func (r *Rules) compare(q db.Q, g guard) *comparison {
	c := &comparison{rules: r, q: q, demands: map[string]demand{}, leaks: g.leaks, leaked: map[string]leaked{}}
	for _, l := range g.limits {
		if l.Per == api.LimitPerPayout {
			c.limits = append(c.limits, l)
		}
	}
	for _, u := range g.rules {
		if u.Approvals > 0 {
			c.demanding = append(c.demanding, u)
		}
	}
	for _, u := range g.alone {
		if u.Approvals == 0 {
			c.freed = append(c.freed, u)
		}
	}
	if len(c.limits) == 0 && len(c.demanding) == 0 && len(c.freed) == 0 && !c.leaks {
		return nil
	}
	return c
}

// checkedBatch is a batch of which no waiting payout was held, at an epoch of the store.
type checkedBatch struct {
	epoch uint64
	sums  map[batchSum]int64
}

// maxBatches bounds how many batches are cached.
const maxBatches = 1000

// obstacles returns what holds payouts that are claimed or held, all of one batch or a single one. A batch is held if any of its waiting
// payouts is, even one that is not due yet. Its payouts are read once, and again after a limit or rule may have changed: a large batch is
// claimed in many parts.
func (r *Rules) obstacles(q db.Q, list ...*Payout) ([]obstacle, error) {
	g, err := r.guard(q, list[0].WorkspaceID)
	if err != nil {
		return nil, err
	}
	c, batch := r.compare(q, g), list[0].Batch
	if c == nil || batch == "" {
		return c.obstacles(list)
	}
	if known, ok := r.batches.GetIfPresent(batch); ok && known.epoch == g.epoch {
		c.sums = known.sums
		return c.obstacles(list)
	}
	var waiting []*Payout
	if waiting, c.sums, err = c.members(batch); err != nil {
		return nil, err
	}
	found, err := c.obstacles(append(waiting, list...))
	if err == nil && len(found) == 0 {
		r.batches.Set(batch, checkedBatch{g.epoch, c.sums})
	}
	return found, err
}

// members reads the payouts of a batch that wait to be sent, and the sums of all its payouts.
func (c *comparison) members(batch string) (waiting []*Payout, sums map[batchSum]int64, err error) {
	byPayee := slices.ContainsFunc(c.demanding, func(u rule) bool { return u.Each == api.EachPayee })
	sums = map[batchSum]int64{}
	err = c.q.Each(func(r db.Rows) error {
		p := readSent(r)
		p.addTo(sums, byPayee)
		if p.Status == Pending && p.Attention != Contradicted {
			waiting = append(waiting, p)
		}
		return nil
	}, `SELECT `+sentRow.Columns+` FROM payout WHERE batch_id = $1 ORDER BY id`, batch)
	return waiting, sums, err
}

// obstacles returns what became stricter since the money of payouts was reserved and was not overridden. These are limits per payout that
// they exceed, and rules that demand more approvals than they had, or approvals by another role. Limits by day have counted the
// payouts when their money was reserved. A rule is stricter if it was made after their approval was requested.
func (c *comparison) obstacles(list []*Payout) (found []obstacle, err error) {
	if c == nil {
		return nil, nil
	}
	for _, p := range list {
		over := func(name string) bool {
			return slices.Contains(strings.Fields(p.Overrides), name) || slices.ContainsFunc(found, func(o obstacle) bool { return o.Name == name })
		}
		for _, find := range []func(*Payout) (leaked, error){c.leakedVote, c.leakedRequest} {
			key, err := find(p)
			if err != nil {
				return nil, err
			}
			if key.id != "" && !over(key.obstacle().Name) {
				found = append(found, key.obstacle())
			}
		}
		var exceeded []limit
		for _, l := range c.limits {
			if p.Amount > l.AmountCents && !over(l.edition()) {
				exceeded = append(exceeded, l)
			}
		}
		spending := p.spending()
		if err := spending.findPayees(c.q, exceeded); err != nil {
			return nil, err
		}
		for _, l := range matchingLimits(exceeded, spending) {
			found = append(found, obstacle{Name: l.edition(), Text: "the limit " + l.ID + ": " + limitText(l.PayoutLimit), Approvals: 1})
		}
		o, err := c.suspended(p)
		if err != nil {
			return nil, err
		}
		if o.Name != "" && !over(o.Name) {
			found = append(found, o)
		}
		decided := int64(0)
		for _, u := range c.demanding {
			if u.activeAt <= p.CreatedAt-ruleLag.Milliseconds() || over(u.ID) {
				continue
			}
			if decided == 0 {
				if decided, err = p.demandedAt(c.q); err != nil {
					return nil, err
				}
			}
			if u.activeAt <= decided-ruleLag.Milliseconds() {
				continue
			}
			stricter, err := c.stricter(u, p)
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

// suspended returns the suspended rule that let a payout go without approval, if an approval is needed by now. One person alone made that
// rule, and a second person has joined since.
func (c *comparison) suspended(p *Payout) (o obstacle, err error) {
	if p.ApprovalsNeeded > 0 {
		return o, nil
	}
	maker := db.Caller{Actor: audit.Actor{ID: p.MakerID, Type: audit.Client}} // rules for clients contain their id
	at := slices.IndexFunc(c.freed, func(u rule) bool { return u.matches(*p, p.Rail, p.Amount, maker) })
	if at < 0 {
		return o, nil
	}
	need, err := c.rules.Need(c.q, *p, maker)
	if err != nil || need.Approvals == 0 {
		return o, err
	}
	u := c.freed[at]
	return obstacle{fmt.Sprintf("%s@%d", u.ID, u.activeAt), "the rule " + u.ID + " is suspended, because one person alone has made it: " + ruleText(u.ApprovalRuleTerms),
		need.Approvals, need.Role}, nil
}

// edition names the current version of a limit.
func (l limit) edition() string { return fmt.Sprintf("%s@%d", l.ID, l.version) }

// demandedAt returns when it was determined how many approvals a payout needs. That is when the approval by which its money was reserved
// was requested. If the money was reserved by an earlier approval or none, it is when the money was reserved.
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

// stricter reports whether a rule matches a payout, or its batch as in needsBatch, and demands more than when its money was reserved. A
// rule by sum matches if the payout, or its batch, is above the amount without others.
func (c *comparison) stricter(u rule, p *Payout) (bool, error) {
	maker := db.Caller{Actor: audit.Actor{ID: p.MakerID, Type: audit.Client}} // rules for clients contain their id
	sum, summed := c.sums[batchSum{u.Rail, ""}]
	if u.bySum() {
		if !u.about(*p, p.Rail, maker) || c.alone(u, p) <= *u.AboveCents {
			return false, nil
		}
	} else if !u.matches(*p, p.Rail, p.Amount, maker) && !(summed && u.matches(*p, u.Rail, sum, maker)) {
		return false, nil
	}
	if u.Approvals > p.ApprovalsNeeded || u.Approvals == 0 || u.Role == "" && u.KeysMayApprove {
		return u.Approvals > p.ApprovalsNeeded, nil
	}
	had, err := c.demanded(p)
	return u.Role != "" && had.Role != u.Role || had.KeysMayApprove && !u.KeysMayApprove, err
}

// demanded returns which votes the approval of a payout needed.
func (c *comparison) demanded(p *Payout) (demand, error) {
	if had, known := c.demands[p.ApprovalID]; known {
		return had, nil
	}
	if !c.rules.vault.Loaded(p.WorkspaceNumber) {
		return demand{}, &unreadyError{p.WorkspaceNumber}
	}
	role, keysMay, err := c.rules.approvals.Demanded(c.q, p.ApprovalID)
	had := demand{Role: role, KeysMayApprove: keysMay}
	c.demands[p.ApprovalID] = had
	return had, err
}

// recheckTerms are what an approval of held payouts is for.
type recheckTerms struct {
	AccountID string     `json:"account_id"`
	Payee     string     `json:"payee,omitzero"` // of a single one
	Total     int64      `json:"total"`
	Currency  string     `json:"currency"`
	Payouts   int        `json:"payouts"`
	Digest    string     `json:"digest"` // of their ids
	Obstacles []obstacle `json:"obstacles"`
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

// unreadyError reports that the vault must be made ready for a workspace before the transaction.
type unreadyError struct{ workspace int64 }

func (e *unreadyError) Error() string {
	return fmt.Sprintf("the vault is not ready for workspace %d", e.workspace)
}

// holding is a payout or a batch that is held.
type holding struct {
	mail.HeldPayout
	workspaceID string
	maker       db.Caller
	approvalID  string        // that releases it; "" if its requester confirms it
	events      []audit.Event // of payouts that are held with the one that was claimed
}

// hold holds the remaining payouts of a held payout's batch, and requests their approval if a second person could give it. That approval
// replaces one that waits for payouts of the batch. The caller has stored the payout.
func (r *Rules) hold(tx *db.Tx, p *Payout, why []obstacle) (h holding, err error) {
	people, err := access.ObserveSecondPerson(tx, access.Payouts, p.WorkspaceID)
	if err != nil {
		return h, err
	}
	waits := people.Demanded() || people.Available()
	if waits && !r.vault.Loaded(p.WorkspaceNumber) {
		return h, &unreadyError{p.WorkspaceNumber}
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
	if _, err := approval.VoidKind(tx, db.SystemCaller(), KindRecheck, subject, "other payouts of the batch are held, too"); err != nil {
		return h, err
	}
	h.workspaceID, h.ID, h.Why = p.WorkspaceID, subject, obstacleTexts(why)
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
func (r *Rules) askToRelease(tx *db.Tx, maker db.Caller, list []*Payout, why []obstacle) (id string, err error) {
	p := list[0]
	t := recheckTerms{AccountID: p.AccountID, Currency: p.Currency, Payouts: len(list), Obstacles: why}
	if p.Batch == "" {
		t.Payee = p.AccountName
	}
	need := Need{Approvals: 1}
	for _, o := range why {
		need = need.or(Need{Approvals: o.Approvals, Role: o.Role, Why: o.Text})
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

// mailHeld mails requesters and approvers which payouts are held. Each gets one mail for everything that one transaction holds. The caller
// gets none.
func (r *Rules) mailHeld(tx *db.Tx, by db.Caller, list ...holding) error {
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
			return changes, t.words() + ", which " + obstacleTexts(t.Obstacles) + " held", s.override(tx, list, t.Obstacles)
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
				{Field: "held_by", After: obstacleTexts(t.Obstacles)},
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

// release returns the reserved money of a payout that is not sent, and removes it from the limits.
func (s *Service) release(tx *db.Tx, d *draft) error {
	if err := s.rules.giveBack(tx, d.Payout); err != nil {
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
		why, err := s.rules.obstacles(tx.Q, all...)
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
			h, err := s.rules.hold(tx, all[0], why) // a second person may be there by now
			if err == nil {
				err = s.rules.mailHeld(tx, by, h)
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
			rows[i].Changes.Add("held_by", nil, obstacleTexts(why))
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
