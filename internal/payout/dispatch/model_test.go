package dispatch_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"bursar/api"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/fault"
	"bursar/internal/ledger"
	"bursar/internal/payout"
	"bursar/internal/rail"
	"bursar/internal/server/servertest"
	"bursar/internal/torture"
)

// People pay one by one and in batches, approve, reject, cancel, retry and move money between accounts.
// They meet a bank that answers, answers late, refuses, forgets and is down, and nodes that are killed at
// any step.
func TestRandomHistoriesOfPayoutsKeepTheBooks(t *testing.T) {
	torture.Rapid(t, 12, 150, 30)
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		first := openBank(t, store)
		office := openOffice(first)
		second := first.node()
		rapid.Check(t, func(rt *rapid.T) {
			first.t, second.t = rt, rt
			m := &model{office: office, nodes: []*bank{first, second}}
			m.mend(rt)
			m.bringUp(rt)
			m.thaw()
			rt.Repeat(map[string]func(*rapid.T){
				"":               m.check,
				"pay":            m.pay,
				"pay together":   m.payTogether,
				"approve":        m.approve,
				"approve more":   m.approve,
				"reject":         m.reject,
				"transfer":       m.transfer,
				"deposit":        m.deposit,
				"book":           m.book,
				"work":           m.work,
				"work on":        m.work,
				"wait":           m.wait,
				"cut the line":   m.cut,
				"mend the line":  m.mend,
				"drive":          m.drive,
				"cancel":         m.cancel,
				"retry":          m.retry,
				"take down":      m.takeDown,
				"bring up":       m.bringUp,
				"freeze":         m.freeze,
				"tell all again": m.tellAgain,
			})
			m.end()
		})
	})
}

type model struct {
	*office
	nodes     []*bank
	ids       []string
	rejected  []string    // payouts
	announced []announced // deposits that are not booked
}

type announced struct {
	account   int
	cents     int64
	reference string
}

// check looks at what must hold after each step.
func (m *model) check(rt *rapid.T) {
	m.sound()
	for _, id := range m.rejected {
		if p := m.payout(id); p.Status != payout.Cancelled {
			rt.Errorf("%s was rejected and is %s", id, p.Status)
		}
	}
	// The first account is the only one whose payouts no one has to approve.
	if n := m.count(`SELECT count(*) FROM payout WHERE approval_id IS NULL AND account_id <> $1`, m.accounts[0].ID); n != 0 {
		rt.Errorf("%d payouts need no approval from accounts that demand one", n)
	}
}

func (m *model) person(rt *rapid.T) string { return rapid.SampledFrom(m.people).Draw(rt, "person") }

func (m *model) account(rt *rapid.T) int {
	return rapid.IntRange(0, len(m.accounts)-1).Draw(rt, "account")
}

func cents(rt *rapid.T) int64 {
	return rapid.SampledFrom([]int64{100, amount, 60_000}).Draw(rt, "amount")
}

// pay asks for payouts one by one.
func (m *model) pay(rt *rapid.T) {
	for range rapid.IntRange(1, 4).Draw(rt, "payouts") {
		end := rapid.SampledFrom([]string{"0001", "0002", "9001", "9006", "9011", "9012", "9013", "9014"}).Draw(rt, "number")
		account, n := m.account(rt), cents(rt)
		p, err := m.create(m.person(rt), account, m.terms(end, n))
		m.justified(rt, err, account, n)
		if err == nil {
			m.ids = append(m.ids, p.ID)
		}
	}
}

// justified demands that whatever speaks against taking money from an account is true.
func (m *model) justified(rt *rapid.T, err error, account int, cents int64) {
	a, down := m.now(account), m.count(`SELECT count(*) FROM simulated_service WHERE status = 'down'`) > 0
	switch code := codeOf(err); {
	case code == "",
		code == api.CodeAccountFrozen && a.Status == api.AccountFrozen,
		code == api.CodeInsufficientFunds && a.Available < cents,
		(code == api.CodeRailUnavailable || code == api.CodeBankUnavailable) && down:
	default:
		rt.Fatalf("%d of account %d, which is %s with %d, ends with %v", cents, account, a.Status, a.Available, err)
	}
}

// codeOf is the code of a fault, "" of no error, and the text of another error.
func codeOf(err error) api.Code {
	var f *fault.Fault
	switch {
	case err == nil:
		return ""
	case errors.As(err, &f):
		return f.Code
	}
	return api.Code(err.Error())
}

// payTogether asks for a batch. Either all of it is made, or with a batch that is not atomic exactly
// what its results tell.
func (m *model) payTogether(rt *rapid.T) {
	account, atomic := m.account(rt), rapid.Bool().Draw(rt, "atomic")
	amounts := rapid.SliceOfN(rapid.SampledFrom([]int64{1, 100, amount, 60_000}), 1, 5).Draw(rt, "amounts") // 1 is too little
	const made = `SELECT count(*) FROM payout`
	before := m.count(made)
	b, err := m.batch(m.person(rt), account, atomic, amounts...)
	created := 0
	for _, r := range b.Results {
		if r.Result == api.BatchCreated {
			created, m.ids = created+1, append(m.ids, r.ID)
		}
	}
	switch {
	case err != nil && (!atomic || codeOf(err) != api.CodeValidation):
		rt.Fatalf("a batch of %v ends with %v", amounts, err)
	case err == nil && atomic && created != len(amounts):
		rt.Fatalf("%d of %v were made", created, amounts)
	case m.count(made) != before+int64(created):
		rt.Fatalf("%d more payouts are there, and %d were told", m.count(made)-before, created)
	}
}

// approve lets someone approve a payout, or the batch that it is part of.
func (m *model) approve(rt *rapid.T) {
	id, who := m.id(rt), m.person(rt)
	p := m.payout(id)
	voted := m.count(`SELECT count(*) FROM approval_vote WHERE approval_id = $1 AND account_id = $2`, p.ApprovalID, who) > 0
	total := m.count(`SELECT CAST(coalesce(sum(amount), 0) AS BIGINT) FROM payout WHERE approval_id = $1 AND status = 'initiated'`, p.ApprovalID)
	do, waits := m.office.approve, p.Status == payout.Initiated
	if p.ApprovalID != "" && rapid.Bool().Draw(rt, "by the approval") {
		do, id, waits = m.approveIt, p.ApprovalID, total > 0 // others of its batch may wait though this one was cancelled
	}
	err := do(who, id)
	refused := ""
	switch {
	case !waits:
		refused = "is " + p.Status
	case slices.Contains(strings.Fields(p.Involved), who):
		refused = "is theirs"
	case voted:
		refused = "has their vote"
	}
	switch code := codeOf(err); {
	case refused == "":
		m.justified(rt, err, slices.IndexFunc(m.accounts, func(a ledger.Account) bool { return a.ID == p.AccountID }), total)
	case code != api.CodeForbidden && code != api.CodePayoutState && code != api.CodeApprovalDecided:
		rt.Fatalf("%s approves %s, which %s: %v", who, id, refused, err)
	}
}

func (m *model) reject(rt *rapid.T) {
	id := m.id(rt)
	p := m.payout(id)
	rejected := m.lines(`SELECT id, '' FROM payout WHERE approval_id = $1 AND status = 'initiated'`, p.ApprovalID)
	err := m.office.reject(m.person(rt), id)
	if code := codeOf(err); (p.Status == payout.Initiated) != (err == nil) || err != nil && code != api.CodePayoutState {
		rt.Fatalf("to reject %s, which is %s, ends with %v", id, p.Status, err)
	}
	for _, line := range rejected {
		if err == nil {
			m.rejected = append(m.rejected, strings.TrimSpace(line))
		}
	}
}

// transfer moves money between accounts, which none does to where fewer people have to approve.
func (m *model) transfer(rt *rapid.T) {
	from, to, n := m.account(rt), m.account(rt), cents(rt)
	if from == to {
		rt.Skip("the same account")
	}
	before := [2]int64{m.now(from).Available, m.now(to).Available}
	err := m.office.transfer(m.person(rt), from, to, n)
	if (from > to) != (codeOf(err) == api.CodeAccountGuarded) {
		rt.Fatalf("from account %d to %d: %v", from, to, err)
	}
	if from < to {
		m.justified(rt, err, from, n)
	}
	if err != nil {
		n = 0
	}
	if after := [2]int64{m.now(from).Available, m.now(to).Available}; after != [2]int64{before[0] - n, before[1] + n} {
		rt.Fatalf("%d from %v make %v", n, before, after)
	}
}

func (m *model) deposit(rt *rapid.T) {
	one := announced{account: m.account(rt), cents: cents(rt)}
	one.reference = m.announce(one.account, one.cents)
	m.announced = append(m.announced, one)
}

func (m *model) book(rt *rapid.T) {
	if len(m.announced) == 0 {
		rt.Skip("nothing is announced")
	}
	one := m.announced[0]
	m.announced = m.announced[1:]
	m.office.deposit(one.account, one.cents, one.reference, true)
}

func (m *model) node(rt *rapid.T) *bank { return rapid.SampledFrom(m.nodes).Draw(rt, "node") }

func (m *model) id(rt *rapid.T) string {
	if len(m.ids) == 0 {
		rt.Skip("no payouts")
	}
	return rapid.SampledFrom(m.ids).Draw(rt, "payout")
}

func (m *model) work(rt *rapid.T) { m.node(rt).die() }

func (m *model) wait(rt *rapid.T) {
	m.clock.advance(rapid.SampledFrom([]time.Duration{time.Second, 5 * time.Second, lease, time.Minute, 20 * time.Minute}).Draw(rt, "time"))
}

// cut makes a node fail in one way from now on.
func (m *model) cut(rt *rapid.T) {
	b := m.node(rt)
	type call = func(ctx context.Context, r *rail.Rail, list []rail.Payment) ([]rail.Outcome, error)
	after := func(do call, end func(out []rail.Outcome) ([]rail.Outcome, error)) call {
		return func(ctx context.Context, r *rail.Rail, list []rail.Payment) ([]rail.Outcome, error) {
			out, err := do(ctx, r, list)
			if err != nil {
				return out, err
			}
			return end(out)
		}
	}
	killed := func([]rail.Outcome) ([]rail.Outcome, error) { panic("killed") }
	lost := func([]rail.Outcome) ([]rail.Outcome, error) { return nil, errors.New("the line is cut") }
	switch rapid.SampledFrom([]string{"before it sends", "after it has sent", "no answer", "before it asks", "after it has asked", "nothing heard"}).Draw(rt, "how") {
	case "before it sends":
		b.line.submit = func(context.Context, *rail.Rail, []rail.Payment) ([]rail.Outcome, error) { panic("killed") }
	case "after it has sent":
		b.line.submit = after(b.sim.Submit, killed)
	case "no answer":
		b.line.submit = after(b.sim.Submit, lost)
	case "before it asks":
		b.line.lookUp = func(context.Context, *rail.Rail, []rail.Payment) ([]rail.Outcome, error) { panic("killed") }
	case "after it has asked":
		b.line.lookUp = after(b.sim.LookUp, lost)
	case "nothing heard":
		b.line.receive = func() []rail.Message { return nil }
	}
}

func (m *model) mend(*rapid.T) {
	for _, b := range m.nodes {
		*b.line = line{Connector: b.sim}
	}
}

func (m *model) drive(rt *rapid.T) {
	id, how := m.id(rt), rapid.SampledFrom([]string{"settle", "reject", "return"}).Draw(rt, "how")
	m.write(func(tx *db.Tx) (err error) {
		attempt := max(m.payout(id).Attempts, 1)
		switch endToEndID := payout.EndToEndID(id, attempt); how {
		case "settle":
			_, err = m.sim.Settle(tx, endToEndID)
		case "reject":
			_, err = m.sim.Reject(tx, endToEndID, "AC06")
		case "return":
			_, err = m.sim.Return(tx, endToEndID, "AC04")
		}
		return err
	})
}

func (m *model) cancel(rt *rapid.T) {
	id := m.id(rt)
	status := m.payout(id).Status
	_, err := m.payouts.Cancel(context.Background(), m.caller(m.person(rt)), payout.CancelInput{ID: id})
	if may := status == payout.Initiated || status == payout.Pending; may != (err == nil) || err != nil && codeOf(err) != api.CodePayoutState {
		rt.Fatalf("to cancel %s, which is %s, ends with %v", id, status, err)
	}
}

func (m *model) retry(rt *rapid.T) {
	id := m.id(rt)
	p := m.payout(id)
	_, err := m.payouts.Retry(context.Background(), m.caller(m.person(rt)), payout.Input{ID: id})
	if p.Status == payout.Failed && p.Attention != payout.Contradicted {
		m.justified(rt, err, slices.IndexFunc(m.accounts, func(a ledger.Account) bool { return a.ID == p.AccountID }), p.Amount)
	} else if codeOf(err) != api.CodePayoutState {
		rt.Fatalf("to retry %s, which is %s, ends with %v", id, p.Status, err)
	}
}

func (m *model) set(status rail.Status, services ...string) {
	if err := servertest.Simulate(m.db, "ws_1", status, services...); err != nil {
		m.t.Fatal(err)
	}
}

func (m *model) takeDown(rt *rapid.T) {
	m.set(rail.Down, rapid.SampledFrom([]string{"instapay", "simulator", "BOPIPHMMXXX"}).Draw(rt, "service"))
}

func (m *model) bringUp(*rapid.T) { m.set(rail.Up, "instapay", "simulator", "BOPIPHMMXXX") }

func (m *model) freeze(rt *rapid.T) {
	status := rapid.SampledFrom([]string{api.AccountFrozen, api.AccountActive}).Draw(rt, "status")
	_, err := m.books.Update(context.Background(), m.caller(m.person(rt)), ledger.UpdateInput{ID: m.accounts[m.account(rt)].ID, AccountUpdate: api.AccountUpdate{Status: &status}})
	if err != nil {
		rt.Fatal(err)
	}
}

// tellAgain lets the bank repeat everything that it has ever told.
func (m *model) tellAgain(rt *rapid.T) {
	m.write(func(tx *db.Tx) error {
		return tx.Exec(`UPDATE simulated_payment SET tell = 'settled', due_at = $1 WHERE state = 'completed' AND tell IS NULL AND return_code = ''`, tx.Now())
	})
}

func (m *model) thaw() {
	m.write(func(tx *db.Tx) error {
		return tx.Exec(`UPDATE ledger_account SET status = 'active' WHERE kind = 'customer'`)
	})
}

// end lets everything come to its end.
func (m *model) end() {
	m.mend(nil)
	m.bringUp(nil)
	m.thaw()
	m.settle(20 * time.Minute)
	for _, id := range m.ids {
		if p := m.payout(id); p.Status == payout.Processing {
			m.write(func(tx *db.Tx) error {
				_, err := m.sim.Settle(tx, payout.EndToEndID(id, p.Attempts))
				return err
			})
		}
	}
	m.settle(20 * time.Minute)
	m.sound()
	if n := m.count(`SELECT count(*) FROM payout WHERE status IN ('pending', 'processing') OR attention <> ''`); n != 0 {
		m.t.Errorf("%d payouts have not ended", n)
	}
	if n := m.count(`SELECT sum(available) FROM ledger_account WHERE kind = 'clearing'`); n != 0 {
		m.t.Errorf("%d are left in clearing", n)
	}
}
