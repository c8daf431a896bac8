package subject

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"bursar/bench/load"
	"bursar/bench/plan"
)

const (
	deposit = 1_000_000_000_000 // into each account, in cents: more than a run pays out
	paid    = 100               // by each payout, in cents

	// later is a rail whose only cycle is half a day away, so that creates are measured without the
	// dispatcher's work; at once is one of the product's.
	later  = "later"
	atOnce = "instapay"
)

// addMoney adds the stores on which money is measured.
func (s *Subject) addMoney(setup Setup, fresh func(context.Context) (*bursar, error)) {
	if setup.unsequenced {
		return
	}
	s.Stores = append(s.Stores, Store{Fill: func(ctx context.Context) (*Server, error) {
		m, server, err := newMoney(ctx, setup, fresh)
		if err == nil {
			err = m.during(ctx, server, func() error { return m.open(ctx, plan.Callers) })
		}
		return server, err
	}})
}

// money is the product over a store with accounts.
type money struct {
	*bursar
	accounts []string
}

func newMoney(ctx context.Context, setup Setup, fresh func(context.Context) (*bursar, error)) (*money, *Server, error) {
	b, err := fresh(ctx)
	if err != nil {
		return nil, nil, err
	}
	server, err := b.server()
	if err != nil {
		return nil, nil, err
	}
	rails := filepath.Join(setup.Dir, "rails.json")
	err = os.WriteFile(rails, fmt.Appendf(nil, `{"rails": [{"name": %q, "currency": "PHP", "minimum_cents": 100, "connector": "simulator",
		"cycles": [%q], "time_zone": "UTC", "members": "I"}]}`, later, time.Now().UTC().Add(12*time.Hour).Format("15:04")), 0o600)
	if err != nil {
		return nil, nil, fmt.Errorf("write the rails: %w", err)
	}
	m := &money{bursar: b}
	server.client, server.Money, server.args = m, true, append(server.args, "--rails", rails)
	return m, server, nil
}

// during starts the server for a while, to make what is measured later.
func (m *money) during(ctx context.Context, server *Server, do func() error) error {
	err := server.SignIn(ctx)
	if err == nil {
		err = do()
	}
	if stopErr := server.Stop(); err == nil {
		err = stopErr
	}
	return err
}

// open opens accounts with money in them.
func (m *money) open(ctx context.Context, n int) error {
	for i := range n {
		id, err := m.create(ctx, "/v2/accounts", fmt.Sprintf(`{"workspace_id":%q,"name":"Payroll %d"}`, m.plan.WorkspaceID, i))
		if err == nil {
			_, err = m.create(ctx, "/v2/simulations/deposits", fmt.Sprintf(`{"account_id":%q,"amount_cents":%d}`, id, deposit))
		}
		if err != nil {
			return fmt.Errorf("open an account: %w", err)
		}
		m.accounts = append(m.accounts, id)
	}
	return nil
}

// payment is the body of a request that pays from an account. Nobody has to approve it, because the
// workspace has one person.
func payment(account, rail string) string {
	return fmt.Sprintf(`{"source_account_id":%q,"currency":"PHP","amount_cents":%d,"description":"Salary {n}","settlement_rail":%q,`+
		`"settlement_account":{"bank_account_name":"Ada Lovelace","bank_account_number":"1234567890","bank_code":"BOPIPHMMXXX"}}`, account, paid, rail)
}

func (m *money) requests(_ context.Context, w plan.Workload) (base string, requests []load.Request, ok bool, err error) {
	switch w.Kind {
	case plan.Payout:
		from := m.accounts
		if w.Filter == plan.FromOne {
			from = from[:1]
		}
		for _, account := range from {
			requests = append(requests, m.change(http.MethodPost, "/v2/payout-requests", payment(account, later)))
		}
	}
	return m.base, requests, len(requests) > 0, nil
}
