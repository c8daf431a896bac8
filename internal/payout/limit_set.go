package payout

import (
	"context"
	"slices"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/approval"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/fault"
	"bursar/internal/identity"
	"bursar/internal/mail"
	"bursar/internal/web"
)

// ListLimits returns the limits of a workspace, oldest first.
func (r *Rules) ListLimits(ctx context.Context, by db.Caller, in GuardsInput) (web.Page[api.PayoutLimit], error) {
	workspaceID, err := r.mayRead(ctx, by, in.WorkspaceID)
	if err != nil {
		return web.Page[api.PayoutLimit]{}, err
	}
	return web.ReadUnpaged(ctx, r.db, r.cursors, in.PageParams, func(l api.PayoutLimit) string { return l.ID },
		func(q db.Q, after string, take int) ([]api.PayoutLimit, error) {
			rows, err := r.limitsOf(q, workspaceID, access.ModeOf(by.Actor), after, take)
			list := make([]api.PayoutLimit, len(rows))
			for i, one := range rows {
				list[i] = one.PayoutLimit
			}
			return list, err
		}, "limits", workspaceID, access.ModeOf(by.Actor))
}

// SetLimit creates a limit, or changes the one with the same scope. An increase waits for approval.
func (r *Rules) SetLimit(ctx context.Context, by db.Caller, in SetLimitInput) (web.Created[api.PayoutLimit], error) {
	var none web.Created[api.PayoutLimit]
	workspaceID, number, err := r.enterGiven(ctx, by, in.WorkspaceID)
	if err == nil {
		err = access.RequireMode(by.Actor, workspaceID, modesOf(guardMode(in.Mode))...)
	}
	if err != nil {
		return none, err
	}
	return db.Write(ctx, r.db, by, func(tx *db.Tx) (web.Created[api.PayoutLimit], audit.Event, error) {
		l := in.limit()
		l.ID, l.WorkspaceID, l.CreatedAt = tx.NewID("lim"), workspaceID, tx.Now()
		all, people, err := r.limitsForChange(tx, by, workspaceID)
		if err != nil {
			return none, audit.Event{}, err
		}
		at := slices.IndexFunc(all, func(one limit) bool { return sameScope(one.PayoutLimit, l) })
		if at >= 0 {
			l, event, err := r.changeLimit(tx, by, number, people, all[at], l.AmountCents, l.Count)
			return web.Created[api.PayoutLimit]{Value: l, Existing: true}, event, err
		}
		if len(all) >= maxOfEach {
			return none, audit.Event{}, fault.New(api.CodeTooMany, "a workspace has at most %d limits", maxOfEach)
		}
		if l.Currency, err = r.checkLimit(tx.Q, number, l); err != nil {
			return none, audit.Event{}, err
		}
		event := audit.Event{Action: audit.PayoutLimitCreated, WorkspaceID: workspaceID, ResourceID: l.ID, Description: "Set the limit: " + limitText(l),
			Changes: limitChange{After: &l}.changes()}
		return web.Created[api.PayoutLimit]{Value: l}, event, tx.Exec(`INSERT INTO payout_limit (`+limitColumns+`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 1, NULL, $11, $12)`,
			l.ID, l.WorkspaceID, l.AccountID, l.MakerID, l.EntryID, l.Rail, l.Each, l.Per, l.AmountCents, l.Count, l.CreatedAt, l.Mode)
	})
}

func sameScope(a, b api.PayoutLimit) bool {
	return a.Mode == b.Mode && a.AccountID == b.AccountID && a.MakerID == b.MakerID && a.EntryID == b.EntryID && a.Rail == b.Rail && a.Each == b.Each && a.Per == b.Per
}

// changeLimit sets the amount and the count of a limit, or requests approval if it allows more. A change that waited is void.
func (r *Rules) changeLimit(tx *db.Tx, by db.Caller, number int64, people access.SecondPerson, old limit, amount, count int64) (api.PayoutLimit, audit.Event, error) {
	l := old.PayoutLimit
	l.AmountCents, l.Count = amount, count
	if l == old.PayoutLimit {
		return l, audit.None("nothing changed"), nil
	}
	more := amount > old.AmountCents || old.Count > 0 && (count == 0 || count > old.Count)
	c := limitChange{Before: &old.PayoutLimit, After: &l}
	event := audit.Event{Action: audit.PayoutLimitUpdated, WorkspaceID: l.WorkspaceID, ResourceID: l.ID, Description: "Changed a limit to: " + limitText(l), Changes: c.changes()}
	waits, err := r.askForLimit(tx, by, number, people, old, c, more)
	if err != nil {
		return l, event, err
	}
	if waits != "" {
		event.Action, event.Description = audit.PayoutLimitRequested, "Asked for the limit: "+limitText(l)
		event.Changes.Add("approval_id", nil, waits)
		l = old.PayoutLimit
		l.ApprovalID = waits
		return l, event, nil
	}
	l.ApprovalID = ""
	return l, event, tx.Exec(`UPDATE payout_limit SET amount = $2, count = $3, version = version + 1, approval_id = NULL WHERE id = $1`, l.ID, amount, count)
}

// RemoveLimit removes a limit. If there is a second person who could approve it, the removal waits for that approval.
func (r *Rules) RemoveLimit(ctx context.Context, by db.Caller, in GuardInput) (api.PayoutLimit, error) {
	var l limit
	err := r.db.Read(ctx, func(q db.Q) (err error) {
		l, err = findLimit(q, in.ID)
		return err
	})
	if err != nil {
		return api.PayoutLimit{}, err
	}
	number, err := r.enterGuard(ctx, by, l.WorkspaceID, l.Mode)
	if err != nil {
		return api.PayoutLimit{}, fault.Replace(err, api.CodeNotFound, fault.Missing("limit"))
	}
	return db.Write(ctx, r.db, by, func(tx *db.Tx) (api.PayoutLimit, audit.Event, error) {
		all, people, err := r.limitsForChange(tx, by, l.WorkspaceID)
		at := slices.IndexFunc(all, func(one limit) bool { return one.ID == in.ID })
		if err == nil && at < 0 {
			err = fault.Missing("limit")
		}
		if err != nil {
			return api.PayoutLimit{}, audit.Event{}, err
		}
		old := all[at].PayoutLimit
		c := limitChange{Before: &old}
		event := audit.Event{Action: audit.PayoutLimitRemoved, WorkspaceID: old.WorkspaceID, ResourceID: old.ID, Description: "Removed the limit: " + limitText(old), Changes: c.changes()}
		waits, err := r.askForLimit(tx, by, number, people, all[at], c, true)
		if err != nil {
			return old, event, err
		}
		if old.ApprovalID = waits; waits != "" {
			event.Action, event.Description = audit.PayoutLimitRequested, "Asked to remove the limit: "+limitText(old)
			event.Changes.Add("approval_id", nil, waits)
			return old, event, nil
		}
		old.Removed = true
		return old, event, tx.Exec(`DELETE FROM payout_limit WHERE id = $1`, old.ID)
	})
}

// askForLimit voids what waits about a limit, and requests approval of a change that allows more.
func (r *Rules) askForLimit(tx *db.Tx, by db.Caller, number int64, people access.SecondPerson, old limit, c limitChange, more bool) (waits string, err error) {
	if old.ApprovalID != "" {
		if _, err := r.approvals.Void(tx, by, old.ID, "the limit was changed again"); err != nil {
			return "", err
		}
	}
	if more {
		waits, err = r.approvals.RequestRelaxation(tx, by, people, approval.Request{Kind: limitKind, Mode: onlyMode(old.Mode), WorkspaceID: old.WorkspaceID, Workspace: number,
			SubjectID: old.ID, Version: old.version, Payload: c})
	}
	if err != nil || waits == "" {
		return "", err
	}
	return waits, tx.Exec(`UPDATE payout_limit SET approval_id = $2 WHERE id = $1`, old.ID, waits)
}

// limitsForChange reads all limits of a workspace and who could approve. The caller must still be allowed to change them.
func (r *Rules) limitsForChange(tx *db.Tx, by db.Caller, workspaceID string) (all []limit, people access.SecondPerson, err error) {
	if err = lockGuard(tx, workspaceID); err == nil {
		people, err = access.ObserveSecondPerson(tx, access.Payouts, workspaceID)
	}
	if err == nil {
		all, err = r.limitsOf(tx.Q, workspaceID, "", "", maxOfEach)
	}
	if err == nil {
		_, err = identity.HeldNow(tx, by, workspaceID, access.WSWrite)
	}
	return all, people, err
}

// checkLimit returns a fault unless everything that a limit names exists and belongs to its workspace. It returns the currency of the
// limit's amount.
func (r *Rules) checkLimit(q db.Q, number int64, l api.PayoutLimit) (currency string, err error) {
	if currency, err = foundAccount(q, l.WorkspaceID, l.AccountID, l.Mode); err == nil {
		currency, err = r.meant(currency, l.Rail), r.foundRail(l.Rail)
	}
	if err != nil {
		return "", err
	}
	if err := found(q, "member", l.MakerID, `SELECT account_id FROM live_member WHERE workspace_id = $1 AND account_id = $2`, l.WorkspaceID, l.MakerID); err != nil {
		return "", err
	}
	return currency, found(q, "directory entry", l.EntryID, `SELECT id FROM directory_entry WHERE id = $1 AND workspace_number = $2`, db.PackID("entry", l.EntryID), number)
}

// limitKind is the kind of approvals of limits that allow more.
const limitKind = "payout_limit"

// limitChange is what such an approval is for. Without After the limit is removed.
type limitChange struct {
	Before *api.PayoutLimit `json:"before,omitzero"`
	After  *api.PayoutLimit `json:"after,omitzero"`
}

func (c limitChange) texts() (before, after string) {
	if c.Before != nil {
		before = limitText(*c.Before)
	}
	if c.After != nil {
		after = limitText(*c.After)
	}
	return before, after
}

func (c limitChange) changes() audit.Changes {
	var changes audit.Changes
	before, after := c.texts()
	changes.Add("limit", orNil(before), orNil(after))
	return changes
}

func orNil(text string) any {
	if text == "" {
		return nil
	}
	return text
}

func (c limitChange) String() string {
	if before, after := c.texts(); after == "" {
		return "the end of the limit: " + before
	} else {
		return "the limit: " + after
	}
}

func (r *Rules) limitKind() approval.Kind {
	return approval.KindOf[limitChange]{
		Kind: approval.Kind{
			Name: limitKind, Read: access.PayoutsRead, Make: access.WSWrite, Pair: access.Payouts, Mail: mail.APayoutChange,
			Actions: map[string]audit.Action{
				api.ApprovalApproved: audit.PayoutLimitApproved, api.ApprovalRejected: audit.PayoutLimitRejected,
				api.ApprovalWithdrawn: audit.PayoutLimitWithdrawn, api.ApprovalExpired: audit.PayoutLimitExpired,
			},
			Lock: func(tx *db.Tx, a approval.Approval) error { return lockGuard(tx, a.WorkspaceID) },
		},
		Apply: func(tx *db.Tx, a approval.Approval, c limitChange) (audit.Changes, string, error) {
			var done bool
			var err error
			switch {
			case c.Before == nil: // the key of the payload is lost
			case c.After == nil:
				done, err = tx.Row(`DELETE FROM payout_limit WHERE id = $1 AND version = $2 RETURNING id`, a.SubjectID, a.Version).Scan(new(string))
			default:
				done, err = tx.Row(`UPDATE payout_limit SET amount = $3, count = $4, version = version + 1, approval_id = NULL
					WHERE id = $1 AND version = $2 RETURNING id`, a.SubjectID, a.Version, c.After.AmountCents, c.After.Count).Scan(new(string))
			}
			if err == nil && !done {
				err = fault.New(api.CodeApprovalChanged, "the limit has changed since this was asked for: ask again")
			}
			return c.changes(), c.String(), err
		},
		Drop: func(tx *db.Tx, a approval.Approval, c limitChange) (audit.Changes, string, error) {
			return nil, c.String(), tx.Exec(`UPDATE payout_limit SET approval_id = NULL WHERE id = $1 AND approval_id = $2`, a.SubjectID, a.ID)
		},
		Show: func(c limitChange, _ bool) (string, []api.ApprovalField) {
			before, after := c.texts()
			title := "A higher limit for payouts"
			if c.After == nil {
				title = "The end of a limit for payouts"
			}
			return title, []api.ApprovalField{{Field: "limit", Before: before, After: after}}
		},
	}.Decoding()
}

// keepUsed is how many days counters are kept.
const keepUsed = 7
