package dispatch_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/approval"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/ledger"
	"bursar/internal/payout"
	"bursar/internal/payout/control"
	"bursar/internal/payout/dispatch"
	"bursar/internal/rail"
	"bursar/internal/rail/simulator"
	"bursar/internal/vault"
	"bursar/internal/web"
)

// bank is a store with an account that has money, and the simulator behind a line that a test can cut.
type bank struct {
	events  []audit.Event // of the write that runs
	t       tester
	db      *db.DB
	vault   *vault.Vault
	account ledger.Account
	sim     *simulator.Simulator
	line    *line
	rails   *rail.Rails
	clock   *clock
	log     *strings.Builder
	*dispatch.Dispatcher
}

// tester is what a test and a random history have in common.
type tester interface {
	Helper()
	Error(args ...any)
	Errorf(format string, args ...any)
	Fatal(args ...any)
}

type clock struct {
	mu   sync.Mutex
	now  time.Time
	read func() // runs whenever the time is read, if it is set
}

func (c *clock) Now() time.Time {
	if c.read != nil {
		c.read()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// line is the way to the simulator. Each hook replaces a call if it is set.
type line struct {
	rail.Connector
	submit  func(ctx context.Context, r *rail.Rail, list []rail.Payment) ([]rail.Outcome, error)
	lookUp  func(ctx context.Context, r *rail.Rail, list []rail.Payment) ([]rail.Outcome, error)
	receive func() []rail.Message
}

func (l *line) Submit(ctx context.Context, r *rail.Rail, list []rail.Payment) ([]rail.Outcome, error) {
	if l.submit != nil {
		return l.submit(ctx, r, list)
	}
	return l.Connector.Submit(ctx, r, list)
}

func (l *line) LookUp(ctx context.Context, r *rail.Rail, list []rail.Payment) ([]rail.Outcome, error) {
	if l.lookUp != nil {
		return l.lookUp(ctx, r, list)
	}
	return l.Connector.LookUp(ctx, r, list)
}

func (l *line) Receive(ctx context.Context) ([]rail.Message, error) {
	if l.receive != nil {
		return l.receive(), nil
	}
	return l.Connector.Receive(ctx)
}

func (l *line) Done(ctx context.Context, m rail.Message) error {
	if l.receive != nil {
		return nil
	}
	return l.Connector.Done(ctx, m)
}

// openBank makes a bank on a new store, whose account has PHP 1,000,000.00.
func openBank(t testing.TB, store dbtest.Store) *bank {
	t.Helper()
	b := &bank{t: t, clock: &clock{now: time.Date(2026, 11, 16, 9, 0, 0, 0, time.UTC)}, log: &strings.Builder{}}
	b.db = store.OpenAt(t, b.clock.Now)
	b.vault = store.Vault(b.db)
	startVault(t, b.db, b.vault)
	b.write(func(tx *db.Tx) error {
		if err := tx.Exec(`INSERT INTO organization (id, name, slug, created_at) VALUES ('org_1', 'One', 'one', 0)`); err != nil {
			return err
		}
		return tx.Exec(`INSERT INTO workspace (id, number, organization_id, name, slug, member_version, created_at) VALUES ('ws_1', 1, 'org_1', 'One', 'one', 0, 0)`)
	})
	b.account = b.newAccount(100_000_000)
	b.connect()
	return b
}

// startVault loads the keys of a store, as a server that starts does.
func startVault(t testing.TB, d *db.DB, v *vault.Vault) {
	t.Helper()
	if err := v.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := payout.LoadIntegrity(t.Context(), d, v, false); err != nil {
		t.Fatal(err)
	}
}

// connect makes a dispatcher, as a node that starts does.
func (b *bank) connect() {
	b.t.Helper()
	b.sim = simulator.New(b.db)
	b.line = &line{Connector: b.sim}
	rails, err := rail.Load("", rail.Config{Simulator: b.line})
	if err != nil {
		b.t.Fatal(err)
	}
	b.rails = rails
	b.Dispatcher = newDispatcher(b.db, b.vault, rails, slog.NewTextHandler(b.log, nil))
}

// newDispatcher returns the dispatcher of a node that starts.
func newDispatcher(d *db.DB, v *vault.Vault, rails *rail.Rails, log slog.Handler) *dispatch.Dispatcher {
	authority, cursors := access.NewAuthority(d), web.NewCursors(nil)
	approvals := approval.New(d, v, authority, cursors, nil, nil, "")
	return dispatch.New(d, v, rails, control.New(d, v, authority, cursors, approvals, rails, control.Screening{}), approvals, slog.New(log))
}

// node is a second node on the same store.
func (b *bank) node() *bank {
	second := *b
	second.log = &strings.Builder{}
	second.connect()
	return &second
}

func (b *bank) write(fn func(tx *db.Tx) error) {
	b.t.Helper()
	_, err := db.Write(context.Background(), b.db, db.Caller{}, func(tx *db.Tx) (struct{}, audit.Event, error) {
		b.events = nil
		if err := fn(tx); err != nil || len(b.events) == 0 {
			return struct{}{}, audit.None("a test"), err
		}
		return struct{}{}, audit.All(b.events...), nil
	})
	if err != nil {
		b.t.Fatal(err)
	}
}

// logs lets the write that runs leave a row of the audit log about each payout.
func (b *bank) logs(action audit.Action, ids ...string) {
	for _, id := range ids {
		b.events = append(b.events, audit.Event{Action: action, WorkspaceID: "ws_1", ResourceID: id, Description: "A test"})
	}
}

func (b *bank) newAccount(amount int64) ledger.Account {
	return b.newAccountIn(api.ModeSandbox, amount)
}

func (b *bank) newAccountIn(mode string, amount int64) (a ledger.Account) {
	b.t.Helper()
	b.write(func(tx *db.Tx) (err error) {
		if a, err = ledger.NewAccount(tx, "ws_1", "Payroll", "PHP", mode); err != nil {
			return err
		}
		_, event, err := ledger.Deposit(tx, a, amount, api.DepositFromSimulation, "", true)
		b.events = append(b.events, event)
		return err
	})
	return a
}

const amount = 12_345

// pay stores payouts that are due, one to each number, and returns their ids.
func (b *bank) pay(numbers ...string) (ids []string) {
	b.t.Helper()
	return b.payBy("instapay", numbers...)
}

// payBy is pay by a rail.
func (b *bank) payBy(rail string, numbers ...string) (ids []string) {
	b.t.Helper()
	if err := b.vault.Ready(context.Background(), 1); err != nil {
		b.t.Fatal(err)
	}
	b.write(func(tx *db.Tx) (err error) {
		ids, err = putPending(tx, b.vault, b.account, 1, rail, amount, numbers...)
		b.logs(audit.PayoutCreated, ids...)
		return err
	})
	return ids
}

// bpi is a bank that both rails reach.
const bpi = "BOPIPHMMXXX"

// number is an account number that ends in four digits.
func number(end string) string { return "123456" + end }

// turn works until there is nothing to do.
func (b *bank) turn() {
	b.t.Helper()
	for range 100 {
		worked, err := b.Turn(context.Background())
		if err != nil {
			b.t.Fatal(err)
		}
		if !worked {
			return
		}
	}
	b.t.Fatal("the dispatcher finds no end")
}

// settle lets time pass, a little at a time, and works.
func (b *bank) settle(long time.Duration) {
	b.t.Helper()
	b.turn()
	for step := time.Second; long > 0; step *= 2 {
		step = min(step, long)
		b.clock.advance(step)
		long -= step
		b.turn()
	}
}

func (b *bank) payout(id string) (p payout.Payout) {
	b.t.Helper()
	b.read(func(q db.Q) (err error) {
		p, err = find(q, id)
		return err
	})
	return p
}

func (b *bank) read(fn func(q db.Q) error) {
	b.t.Helper()
	if err := b.db.Read(context.Background(), fn); err != nil {
		b.t.Fatal(err)
	}
}

// is checks the state of a payout: status, failure code, the rail's own, and attention.
func (b *bank) is(id, want string) {
	b.t.Helper()
	p := b.payout(id)
	got := strings.TrimSpace(strings.Join(strings.Fields(strings.Join([]string{p.Status, p.FailureCode, p.FailureReason, p.Attention}, " ")), " "))
	if got != want {
		b.t.Errorf("payout %s is %q, want %q", id, got, want)
	}
}

// attempts returns the attempts of a payout as "number state", with the submission if it is not the first.
func (b *bank) attempts(id string) []string {
	b.t.Helper()
	return b.lines(`SELECT CAST(number AS TEXT), state || CASE WHEN submission > 1 THEN ', submission ' || CAST(submission AS TEXT) ELSE '' END
		FROM payout_attempt WHERE payout_id = $1 ORDER BY number`, id)
}

// lines returns rows with two columns.
func (b *bank) lines(sql string, args ...any) (list []string) {
	b.t.Helper()
	b.read(func(q db.Q) (err error) {
		list, err = db.Collect(q, func(r db.Rows) string { return r.Text(0) + " " + r.Text(1) }, sql, args...)
		return err
	})
	return list
}

func (b *bank) count(sql string, args ...any) (n int64) {
	b.t.Helper()
	b.read(func(q db.Q) error {
		_, err := q.Row(sql, args...).Scan(&n)
		return err
	})
	return n
}

// told returns the actions that the audit log has about a payout, oldest first.
func (b *bank) told(id string) []string {
	b.t.Helper()
	list := []string{}
	b.read(func(q db.Q) error {
		return q.Each(func(r db.Rows) error {
			if text := r.Text(0); strings.Contains(text, id) {
				_, rest, _ := strings.Cut(text, `payout.request.`)
				if action, _, _ := strings.Cut(rest, `"`); action != "created" {
					list = append(list, action)
				}
			}
			return nil
		}, `SELECT entry FROM audit_log ORDER BY id`)
	})
	return list
}

func (b *bank) balances(a ledger.Account) string {
	b.t.Helper()
	b.read(func(q db.Q) (err error) {
		a, err = ledger.FindAccount(q, a.ID)
		return err
	})
	return fmt.Sprint(a.Available, " ", a.Reserved)
}

func equal(t tester, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: got %q, want %q", what, got, want)
	}
}
