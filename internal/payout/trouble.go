package payout

import (
	"context"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/db"
	"bursar/internal/ledger"
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
	Suspense  []Suspense   // only for whoever sets up accounts
}

// Suspense is money of which nobody knows whose it is. It belongs to no workspace.
type Suspense struct {
	Amount         int64
	Currency, Mode string
}

// Troubles returns what somebody has to look at in a workspace, with the payouts that failed since a
// time.
func (s *Service) Troubles(ctx context.Context, by db.Caller, workspaceID string, since int64) (t Troubles, err error) {
	held, err := s.authority.Held(ctx, by.Actor, workspaceID, access.PayoutsRead)
	if err != nil {
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
		return s.around(q, workspaceID, held, &t)
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

// around adds what is not about single payouts: rails that are down, and money in suspense.
func (s *Service) around(q db.Q, workspaceID string, held access.Set, t *Troubles) error {
	type kind struct{ currency, mode string }
	used := map[kind]bool{}
	err := q.Each(func(r db.Rows) error {
		used[kind{r.Text(0), r.Text(1)}] = true
		return nil
	}, `SELECT currency, mode FROM ledger_account WHERE workspace_id = $1 ORDER BY id LIMIT $2`, workspaceID, maxTrouble)
	if err != nil {
		return err
	}
	for _, r := range s.rails.All() {
		if !used[kind{r.Currency, mode(r.Sandbox())}] {
			continue
		}
		statuses, err := rail.Statuses(q, r.Sandbox())
		if err != nil {
			return err
		}
		if statuses.Down(r.Name) || statuses.Down(r.Connector.Name()) {
			t.Down = append(t.Down, r)
		}
	}
	if !held.Has(access.AccountsWrite) {
		return nil
	}
	for _, mode := range []string{api.ModeLive, api.ModeSandbox} {
		for one := range used {
			if one.mode != mode {
				continue
			}
			a, err := ledger.FindAccount(q, ledger.SystemAccount(ledger.Suspense, one.currency, one.mode))
			if err != nil {
				return err
			}
			if a.Available != 0 {
				t.Suspense = append(t.Suspense, Suspense{a.Available, one.currency, one.mode})
			}
		}
	}
	return nil
}
