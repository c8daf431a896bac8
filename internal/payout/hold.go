package payout

import (
	"cmp"
	"slices"

	"bursar/internal/access"
	"bursar/internal/approval"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/mail"
	"bursar/internal/payout/control"
	"bursar/internal/vault"
)

// Recheck marks a payout that is held. A limit or a rule became stricter after its money was reserved, or its request or a vote for it
// came through an API key that turned out to be compromised.
const Recheck = "recheck"

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
	if _, err := approval.VoidKind(tx, db.SystemCaller(), KindRecheck, subject, "other payouts of the batch are held, too"); err != nil {
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
