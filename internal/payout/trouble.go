package payout

import (
	"context"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/db"
	"bursar/internal/rail"
)

// maxTrouble bounds how many payouts of a kind Troubles returns, and how many accounts tell which rails
// a workspace uses.
const maxTrouble = 50

// Troubles are what somebody has to look at in a workspace.
type Troubles struct {
	Attention []api.Payout // their outcome is unknown, or their rail contradicts itself
	Failed    []api.Payout // since a time
	Down      []*rail.Rail // that accounts of the workspace use
}

// Troubles returns what somebody has to look at in a workspace, with the payouts that failed since a
// time.
func (s *Service) Troubles(ctx context.Context, by db.Caller, workspaceID string, since int64) (t Troubles, err error) {
	if err := s.authority.RequireInWorkspace(ctx, by.Actor, workspaceID, access.PayoutsRead); err != nil {
		return t, err
	}
	var attention, failed []Payout
	err = s.db.Read(ctx, func(q db.Q) (err error) {
		t = Troubles{}
		if attention, err = db.Collect(q, readRow, `SELECT `+columns+` WHERE p.workspace_id = $1 AND p.attention <> '' ORDER BY p.id DESC LIMIT $2`, workspaceID, maxTrouble); err != nil {
			return err
		}
		if failed, err = db.Collect(q, readRow, `SELECT `+columns+` WHERE p.workspace_id = $1 AND p.status = 'failed' ORDER BY p.id DESC LIMIT $2`, workspaceID, maxTrouble); err != nil {
			return err
		}
		t.Down, err = s.down(q, workspaceID)
		return err
	})
	for _, p := range attention {
		t.Attention = append(t.Attention, wire(p, ""))
	}
	for _, p := range failed {
		if p.EndedAt >= since {
			t.Failed = append(t.Failed, wire(p, ""))
		}
	}
	return t, err
}

// down lists the rails that accounts of a workspace use and that are down.
func (s *Service) down(q db.Q, workspaceID string) (list []*rail.Rail, err error) {
	type kind struct{ currency, mode string }
	used := map[kind]bool{}
	err = q.Each(func(r db.Rows) error {
		used[kind{r.Text(0), r.Text(1)}] = true
		return nil
	}, `SELECT currency, mode FROM ledger_account WHERE workspace_id = $1 ORDER BY id LIMIT $2`, workspaceID, maxTrouble)
	if err != nil {
		return nil, err
	}
	for _, r := range s.rails.All() {
		if !used[kind{r.Currency, mode(r.Sandbox())}] {
			continue
		}
		statuses, err := rail.Statuses(q, r.Sandbox())
		if err != nil {
			return nil, err
		}
		if statuses.Down(r.Name) || statuses.Down(r.Connector.Name()) {
			list = append(list, r)
		}
	}
	return list, nil
}
