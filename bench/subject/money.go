package subject

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"bursar/bench/fill"
	"bursar/bench/load"
	"bursar/bench/plan"
	"bursar/internal/db"
)

const (
	deposit = 1_000_000_000_000 // into each account, in cents: more than a run pays out
	paid    = 100               // by each payout, in cents

	// later is a rail whose only cycle is half a day away, so that creates are measured without the
	// work of the dispatcher.
	later = "later"

	payouts = "/v2/payout-requests"
)

// BarePayoutsCommand makes this program serve bare payouts. Its arguments are the address, the
// store, the workspace and the account.
const BarePayoutsCommand = "serve-bare-payouts"

// addMoney adds the stores on which money is measured.
func (s *Subject) addMoney(setup Setup, fresh func(context.Context) (*bursar, error)) {
	if setup.variant != "" && setup.variant != before {
		return
	}
	for _, store := range []struct {
		of   string
		rows int
		fill func(*money, context.Context, *Server) error
	}{
		{plan.PayoutStore, 0, (*money).forPayouts}, {plan.BareStore, 0, (*money).forBare}, {plan.StatementStore, setup.Sizes.Largest(), (*money).forStatements},
	} {
		s.Stores = append(s.Stores, Store{Rows: store.rows, Money: store.of, Fill: func(ctx context.Context) (*Server, error) {
			b, err := fresh(ctx)
			if err != nil {
				return nil, err
			}
			m := &money{bursar: b, sizes: setup.Sizes}
			server, err := m.server(setup.Dir)
			if err != nil {
				return nil, err
			}
			server.Money = store.of
			return server, store.fill(m, ctx, server)
		}})
	}
}

// money is the product over a store with accounts.
type money struct {
	*bursar
	sizes    plan.Sizes
	accounts []string
	bare     bool // the rows are written without the product
}

// server is the product with the rail for later.
func (m *money) server(dir string) (*Server, error) {
	server, err := m.bursar.server()
	if err != nil {
		return nil, err
	}
	rails := filepath.Join(dir, "rails-"+rand.Text()+".json")
	err = os.WriteFile(rails, fmt.Appendf(nil, `{"rails": [{"name": %q, "currency": "PHP", "minimum_cents": 100, "connector": "simulator",
		"cycles": [%q], "time_zone": "UTC", "members": "I"}]}`, later, time.Now().UTC().Add(12*time.Hour).Format("15:04")), 0o600)
	if err != nil {
		return nil, fmt.Errorf("write the rails: %w", err)
	}
	server.client, server.args = m, append(server.args, "--rails", rails)
	return server, nil
}

// forPayouts opens an account for each caller, and one for payouts that are sent at once.
func (m *money) forPayouts(ctx context.Context, server *Server) error {
	return server.during(ctx, func() error { return m.open(ctx, plan.Callers+1) })
}

// forBare lets the product make the payout whose rows are copied.
func (m *money) forBare(ctx context.Context, server *Server) error {
	err := server.during(ctx, func() error {
		err := m.open(ctx, 1)
		if err == nil {
			_, err = m.pay(ctx, m.accounts[0])
		}
		return err
	})
	if err != nil {
		return err
	}
	store := m.store[1]
	if m.store[0] == "--data" {
		store = filepath.Join(store, db.SQLiteFile)
	}
	self, err := os.Executable()
	address, addressErr := freeAddress()
	m.base, m.bare = "http://"+address, true
	server.path, server.args = self, []string{BarePayoutsCommand, address, store, m.plan.WorkspaceID, m.accounts[0]}
	server.probe = Probe{URL: m.base}
	return errors.Join(err, addressErr)
}

// forStatements opens an account with few postings and one with many, and has the product check
// that the ledger is as it would have made it.
func (m *money) forStatements(ctx context.Context, server *Server) error {
	list := fill.Statements{{Postings: m.sizes.Small}, {Postings: m.sizes.Largest()}}
	before := time.Now().UnixMilli()
	err := server.during(ctx, func() error {
		if err := m.open(ctx, len(list)); err != nil {
			return err
		}
		for i := range list {
			list[i].AccountID, list[i].Before = m.accounts[i], before
			before -= int64(2 * list[i].Copies())
			var err error
			if list[i].PayoutID, err = m.pay(ctx, m.accounts[i]); err == nil {
				_, err = m.create(ctx, payouts+"/"+list[i].PayoutID+"/cancel", "{}")
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	switch {
	case err != nil:
	case m.store[0] == "--data":
		err = fill.SQLite(ctx, m.store[1], list)
	default:
		err = fill.Postgres(ctx, m.store[1], list)
	}
	for _, args := range [][]string{{"reauthenticate", "--yes"}, {"verify"}} {
		if err == nil {
			_, err = output(ctx, m.binary, slices.Concat([]string{"admin", "ledger"}, args, m.store)...)
		}
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

// payment pays from an account. It needs no approval, because the workspace has one person.
func (m *money) payment(account, rail string) load.Request {
	return m.change(http.MethodPost, payouts, fmt.Sprintf(`{"source_account_id":%q,"currency":"PHP","amount_cents":%d,"description":"Salary {n}","settlement_rail":%q,`+
		`"settlement_account":{"bank_account_name":"Ada Lovelace","bank_account_number":"1234567890","bank_code":"BOPIPHMMXXX"}}`, account, paid, rail))
}

// pay makes a payout as those are that are measured.
func (m *money) pay(ctx context.Context, account string) (id string, err error) {
	var made struct{ Data struct{ ID string } }
	r := m.payment(account, later)
	r.Header["Idempotency-Key"] = "made-for-" + account
	r.Body = strings.ReplaceAll(r.Body, "{n}", "0000000000000") // as long as the numbers of the load
	err = call(ctx, http.DefaultClient, r.Method, m.base+r.Path, r.Header, r.Body, &made)
	return made.Data.ID, err
}

func (m *money) signIn(ctx context.Context) (Probe, error) {
	if m.bare {
		return Probe{URL: m.base}, nil
	}
	return m.bursar.signIn(ctx)
}

func (m *money) requests(ctx context.Context, w plan.Workload) (base string, requests []load.Request, ok bool, err error) {
	one := func(r load.Request) (string, []load.Request, bool, error) {
		return m.base, []load.Request{r}, true, nil
	}
	sized := func(suffix string) load.Request {
		return m.get("/v2/accounts/"+m.accounts[map[bool]int{true: 0, false: 1}[w.Store == m.sizes.Small]]+suffix, nil)
	}
	switch w.Kind {
	case plan.Balance:
		return one(sized("/balances"))
	case plan.Postings:
		page := sized("/postings?limit=25")
		if err := m.checkPage(ctx, w, page); err != nil {
			return "", nil, false, err
		}
		return one(page)
	case plan.Payout:
		switch w.Filter {
		case plan.FromOne:
			return one(m.payment(m.accounts[0], later))
		case plan.Through:
			return one(m.payment(m.accounts[plan.Callers], "instapay"))
		case plan.BareRows:
			r := m.payment(m.accounts[0], later)
			r.Path = "/payouts"
			return one(r)
		}
		for _, account := range m.accounts[:plan.Callers] {
			requests = append(requests, m.payment(account, later))
		}
		return m.base, requests, true, nil
	}
	return "", nil, false, nil
}

// throughLimit is how long payouts may take to their end.
const throughLimit = 5 * time.Minute

// Through returns how many payouts a load has made, and how long it took until all were completed: then
// nothing of the account is reserved, and what it has less is what was paid.
func (s *Server) Through(ctx context.Context, run func(context.Context) error) (completed int64, took time.Duration, err error) {
	m := s.client.(*money)
	type balances struct {
		Total    int64 `json:"total_balance"`
		Reserved int64 `json:"reserved_balance"`
	}
	look := func() (balances, error) {
		var answer struct{ Data balances }
		err := call(ctx, http.DefaultClient, http.MethodGet, m.base+"/v2/accounts/"+m.accounts[plan.Callers]+"/balances", m.header(), "", &answer)
		return answer.Data, err
	}
	before, err := look()
	if err != nil {
		return 0, 0, err
	}
	began := time.Now()
	if err := run(ctx); err != nil {
		return 0, 0, err
	}
	for {
		now, err := look()
		if err != nil {
			return 0, 0, err
		}
		took := time.Since(began)
		switch {
		case now.Reserved == 0 && now.Total < before.Total:
			return (before.Total - now.Total) / paid, took, nil
		case took > throughLimit:
			return 0, 0, fmt.Errorf("after %s, %d payouts are not completed", took.Round(time.Second), now.Reserved/paid)
		}
		time.Sleep(20 * time.Millisecond)
	}
}
