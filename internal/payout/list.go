package payout

import (
	"context"
	"strings"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/db"
	"bursar/internal/ledger"
	"bursar/internal/web"
)

// List returns a page of the payouts of a workspace, newest first. Account numbers are masked.
func (s *Service) List(ctx context.Context, by db.Caller, in ListInput) (web.Page[api.Payout], error) {
	workspaceID, err := s.workspace(ctx, by, in)
	if err == nil {
		err = s.authority.RequireInWorkspace(ctx, by.Actor, workspaceID, access.PayoutsRead)
	}
	if err != nil {
		return web.Page[api.Payout]{}, err
	}
	window, err := s.cursors.Paged(in.PageParams, web.Descending, "payouts", workspaceID, scope(in.AccountID), scope(in.Status), scope(in.EntryID),
		scope(in.BatchID), scope(in.Rail), scope(in.ExternalID), scope(in.Since), scope(in.Until), scope(in.Q), access.ModeOf(by.Actor))
	if err != nil {
		return web.Page[api.Payout]{}, err
	}
	var rows []Payout
	err = s.db.ReadList(ctx, func(q db.Q) error {
		rows = rows[:0]
		sql, err := in.statement(q, workspaceID, access.ModeOf(by.Actor), window)
		if err != nil {
			return err
		}
		return q.EachOf(sql, func(r db.Rows) error {
			rows = append(rows, wholeRow.Read(r))
			return nil
		})
	})
	rows = rows[:min(len(rows), window.Limit)] // the statement rounds up
	list := make([]api.Payout, len(rows))
	for i, p := range rows {
		if err == nil {
			list[i], err = s.shown(p)
		}
	}
	if err != nil {
		return web.Page[api.Payout]{}, err
	}
	return web.NewPage(window, list, func(p api.Payout) string { return p.ID }), nil
}

// workspace returns the workspace that a list is of: that of the account, if one is given.
func (s *Service) workspace(ctx context.Context, by db.Caller, in ListInput) (string, error) {
	if in.WorkspaceID != nil || in.AccountID == nil {
		return s.authority.Workspace(ctx, by.Actor, in.WorkspaceID)
	}
	var a ledger.Account
	err := s.db.Read(ctx, func(q db.Q) (err error) {
		a, err = ledger.FindAccount(q, *in.AccountID)
		return err
	})
	return a.WorkspaceID, err
}

// scope distinguishes an absent filter from an empty one.
func scope(filter *string) string {
	if filter == nil {
		return ""
	}
	return "=" + *filter
}

// commonThreshold is how many payouts must match a name before a scan of the newest is faster than to collect and sort all that match.
const commonThreshold = 1000

// unindexed follows a column that must not use an index.
const unindexed = ` || ''`

// statement returns the query for a page. Each filter has an index that ends with the id. Names have one that does not help to read the
// newest first, so the query selects either that index or the others.
func (in ListInput) statement(q db.Q, workspaceID, mode string, w web.Window) (*db.Statement, error) {
	below, others, names := w.After, "", ""
	if in.Until != nil {
		below = min(below, db.FirstID("po", in.until+1))
	}
	var low, high string
	if in.Q != nil {
		low = nameKey(strings.TrimSpace(*in.Q))
		high = low + "\U0010FFFF"
		var n int
		if _, err := q.Row(`SELECT count(*) FROM (SELECT 1 FROM payout WHERE workspace_id = $1 AND name_key >= $2 AND name_key < $3 LIMIT $4) p`,
			workspaceID, low, high, commonThreshold).Scan(&n); err != nil {
			return nil, err
		}
		if others = unindexed; n == commonThreshold {
			others, names = "", unindexed
		}
	}
	sql := db.NewStatement(selectPayouts+` WHERE p.workspace_id = `, workspaceID)
	sql.Add(` AND p.id`+others+` < `, below)
	if in.Since != nil {
		sql.Add(` AND p.id`+others+` >= `, db.FirstID("po", in.since))
	}
	ofMode := others
	for _, filter := range []struct {
		column string
		value  *string
	}{
		{"account_id", in.AccountID}, {"status", in.Status}, {"entry_id", in.EntryID}, {"batch_id", in.BatchID}, {"rail", in.Rail}, {"external_id", in.ExternalID},
	} {
		if filter.value != nil {
			sql.Add(` AND p.`+filter.column+others+` = `, *filter.value)
			ofMode = unindexed
		}
	}
	if mode != "" {
		sql.Add(` AND p.status <> '' AND p.mode`+ofMode+` = `, mode)
	}
	if in.Q != nil {
		sql.Add(` AND p.name_key`+names+` >= `, low)
		sql.Add(` AND p.name_key`+names+` < `, high)
	}
	sql.Add(` ORDER BY p.id` + others + ` DESC`)
	sql.Limit(w.Limit)
	return sql, nil
}
