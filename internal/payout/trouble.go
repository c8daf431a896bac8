package payout

import (
	"context"
	"slices"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/db"
	"bursar/internal/rail"
)

// maxTrouble bounds how many payouts of a kind Troubles returns, and how many accounts are read to find the rails that a workspace uses.
const maxTrouble = 50

// Troubles contains what needs a person's attention in a workspace.
type Troubles struct {
	Attention []api.Payout // their outcome is unknown, or their rail's answers conflict
	Failed    []api.Payout // since a time
	Down      []*rail.Rail // rails that accounts of the workspace use; only of the sandbox, since the store has no status of others
	Stopped   bool         // all rails are stopped, since the store was restored
}

// Troubles returns what needs a person's attention in a workspace, with the payouts that failed since a time.
func (s *Service) Troubles(ctx context.Context, by db.Caller, workspaceID string, since int64) (t Troubles, err error) {
	if err := s.authority.RequireInWorkspace(ctx, by.Actor, workspaceID, access.PayoutsRead); err != nil {
		return t, err
	}
	var attention, failed []Payout
	err = s.db.Read(ctx, func(q db.Q) (err error) {
		t = Troubles{}
		if attention, err = db.Collect(q, wholeRow.Read, selectPayouts+` WHERE p.workspace_id = $1 AND p.attention <> '' ORDER BY p.id DESC LIMIT $2`, workspaceID, maxTrouble); err != nil {
			return err
		}
		if failed, err = db.Collect(q, wholeRow.Read, selectPayouts+` WHERE p.workspace_id = $1 AND p.status = 'failed' ORDER BY p.id DESC LIMIT $2`, workspaceID, maxTrouble); err != nil {
			return err
		}
		if t.Stopped, err = q.Row(readSetting, stoppedSetting).Scan(new(string)); err != nil {
			return err
		}
		t.Down, err = s.down(q, workspaceID)
		return err
	})
	other := func(p Payout) bool { return !by.Scope.InMode(p.Mode) }
	attention, failed = slices.DeleteFunc(attention, other), slices.DeleteFunc(failed, other)
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

// down lists the rails of the sandbox that accounts of a workspace use and that are down in it.
func (s *Service) down(q db.Q, workspaceID string) (list []*rail.Rail, err error) {
	used := map[string]bool{}
	err = q.Each(func(r db.Rows) error {
		if r.Text(1) == api.ModeSandbox {
			used[r.Text(0)] = true
		}
		return nil
	}, `SELECT currency, mode FROM ledger_account WHERE workspace_id = $1 ORDER BY id LIMIT $2`, workspaceID, maxTrouble)
	if err != nil || len(used) == 0 {
		return nil, err
	}
	services, err := rail.Simulated(q, workspaceID)
	for _, r := range s.rails.All() {
		if r.Sandbox() && used[r.Currency] && (services.Down(r.Name) || services.Down(r.Connector.Name())) {
			list = append(list, r)
		}
	}
	return list, err
}
