package control

import (
	"context"
	"slices"

	"bursar/api"
	"bursar/internal/approval"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/fault"
	"bursar/internal/web"
)

// limits describes the limits of workspaces.
func (s *Service) limits() guarded[limit, api.PayoutLimit] {
	return guarded[limit, api.PayoutLimit]{limitNoun, s, func(l api.PayoutLimit) string { return l.ID }, findLimit, s.limitsOf}
}

var limitNoun = guardNoun{"limit", "limit", "payout_limit", audit.PayoutLimitRequested, "the limit was changed again",
	`UPDATE payout_limit SET approval_id = $2 WHERE id = $1`}

func (l limit) shown() api.PayoutLimit { return l.PayoutLimit }

func (l limit) subject() subject {
	return subject{l.ID, l.WorkspaceID, l.Mode, l.version, l.ApprovalID}
}

// ListLimits returns the limits of a workspace, oldest first.
func (s *Service) ListLimits(ctx context.Context, by db.Caller, in ListInput) (web.Page[api.PayoutLimit], error) {
	return s.limits().list(ctx, by, in)
}

// SetLimit creates a limit, or changes the one with the same scope. An increase waits for approval.
func (s *Service) SetLimit(ctx context.Context, by db.Caller, in LimitInput) (web.Created[api.PayoutLimit], error) {
	return s.limits().create(ctx, by, in.WorkspaceID, in.Mode, func(e *edit[limit], out *web.Created[api.PayoutLimit]) (err error) {
		l := in.limit()
		l.ID, l.WorkspaceID, l.CreatedAt = e.NewID("lim"), e.workspaceID, e.Now()
		if at := slices.IndexFunc(e.all, func(one limit) bool { return sameScope(one.PayoutLimit, l) }); at >= 0 {
			out.Existing = true
			out.Value, err = changeLimit(e, e.all[at], l.AmountCents, l.Count)
			return err
		}
		if len(e.all) >= maxOfEach {
			return fault.New(api.CodeTooMany, "a workspace has at most %d limits", maxOfEach)
		}
		if l.Currency, err = s.checkLimit(e.Q, e.number, l); err != nil {
			return err
		}
		created := wording{action: audit.PayoutLimitCreated, done: "Set the limit: "}
		if _, err := e.request(limit{PayoutLimit: l}.subject(), created, limitChange{After: &l}, false); err != nil {
			return err
		}
		out.Value = l
		return e.Exec(`INSERT INTO payout_limit (`+limitColumns+`)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 1, NULL, $11, $12)`,
			l.ID, l.WorkspaceID, l.AccountID, l.MakerID, l.EntryID, l.Rail, l.Each, l.Per, l.AmountCents, l.Count, l.CreatedAt, l.Mode)
	})
}

func sameScope(a, b api.PayoutLimit) bool {
	return a.Mode == b.Mode && a.AccountID == b.AccountID && a.MakerID == b.MakerID && a.EntryID == b.EntryID && a.Rail == b.Rail && a.Each == b.Each && a.Per == b.Per
}

// changeLimit sets the amount and the count of a limit, or requests approval if it allows more. A change that waited is void.
func changeLimit(e *edit[limit], old limit, amount, count int64) (api.PayoutLimit, error) {
	l := old.PayoutLimit
	l.AmountCents, l.Count = amount, count
	if l == old.PayoutLimit {
		e.event = audit.None("nothing changed")
		return l, nil
	}
	more := amount > old.AmountCents || old.Count > 0 && (count == 0 || count > old.Count)
	changed := wording{audit.PayoutLimitUpdated, "Changed a limit to: ", "Asked for the limit: "}
	waits, err := e.replace(old.subject(), changed, limitChange{&old.PayoutLimit, &l}, more)
	if waits != "" {
		l = old.PayoutLimit
	}
	if l.ApprovalID = waits; err != nil || waits != "" {
		return l, err
	}
	return l, e.Exec(`UPDATE payout_limit SET amount = $2, count = $3, version = version + 1, approval_id = NULL
		WHERE id = $1`, l.ID, amount, count)
}

// RemoveLimit removes a limit. If there is a second person who could approve it, the removal waits for that approval.
func (s *Service) RemoveLimit(ctx context.Context, by db.Caller, in Input) (api.PayoutLimit, error) {
	return s.limits().change(ctx, by, in.ID, func(e *edit[limit], old limit) (l api.PayoutLimit, err error) {
		l = old.PayoutLimit
		removed := wording{audit.PayoutLimitRemoved, "Removed the limit: ", "Asked to remove the limit: "}
		l.ApprovalID, err = e.replace(old.subject(), removed, limitChange{Before: &old.PayoutLimit}, true)
		if err != nil || l.ApprovalID != "" {
			return l, err
		}
		l.Removed = true
		return l, e.Exec(`DELETE FROM payout_limit WHERE id = $1`, l.ID)
	})
}

// checkLimit returns a fault unless everything that a limit names exists and belongs to its workspace. It returns the currency of the
// limit's amount.
func (s *Service) checkLimit(q db.Q, number int64, l api.PayoutLimit) (currency string, err error) {
	if currency, err = foundAccount(q, l.WorkspaceID, l.AccountID, l.Mode); err == nil {
		currency, err = s.meant(currency, l.Rail), s.foundRail(l.Rail)
	}
	if err != nil {
		return "", err
	}
	if err := found(q, "member", l.MakerID, `SELECT account_id FROM live_member WHERE workspace_id = $1 AND account_id = $2`, l.WorkspaceID, l.MakerID); err != nil {
		return "", err
	}
	return currency, found(q, "directory entry", l.EntryID, `SELECT id FROM directory_entry WHERE id = $1 AND workspace_number = $2`, db.PackID("entry", l.EntryID), number)
}

// limitChange is what an approval of a limit that allows more is for. Without After the limit is removed.
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

func (c limitChange) title() string {
	if c.After == nil {
		return "The end of a limit for payouts"
	}
	return "A higher limit for payouts"
}

func limitKind() approval.Kind {
	drops := []string{`UPDATE payout_limit SET approval_id = NULL WHERE id = $1 AND approval_id = $2`}
	actions := approval.Actions(audit.PayoutLimitApproved, audit.PayoutLimitRejected, audit.PayoutLimitWithdrawn, audit.PayoutLimitExpired)
	return guardKind(limitNoun, actions, "the limit has changed since this was asked for: ask again", drops,
		func(tx *db.Tx, a approval.Approval, c limitChange) (bool, error) {
			var change db.Row
			switch {
			case c.Before == nil: // the key of the payload is lost
				return false, nil
			case c.After == nil:
				change = tx.Row(`DELETE FROM payout_limit WHERE id = $1 AND version = $2 RETURNING id`, a.SubjectID, a.Version)
			default:
				change = tx.Row(`UPDATE payout_limit SET amount = $3, count = $4, version = version + 1, approval_id = NULL
					WHERE id = $1 AND version = $2 RETURNING id`, a.SubjectID, a.Version, c.After.AmountCents, c.After.Count)
			}
			return change.Scan(new(string))
		})
}

// keepUsed is how many days counters are kept.
const keepUsed = 7
