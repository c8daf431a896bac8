package ledger_test

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"bursar/api"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/ledger"
	"bursar/internal/server/servertest"
)

type body = servertest.Body

func transfer(c *servertest.Client, from, to string, amount int64, headers ...string) *servertest.Answer {
	return c.Do("POST", "/v2/transfers", body{"source_account_id": from, "destination_account_id": to, "amount_cents": amount}, headers...)
}

// inLedger changes the ledger as other parts of the server do.
func inLedger(t *testing.T, n *servertest.Node, fn func(tx *db.Tx) error) {
	t.Helper()
	mustWrite(t, n.DB, fn)
}

func account(t *testing.T, n *servertest.Node, id string) ledger.Account { return find(t, n.DB, id) }

func TestAnAccountIsOpenedRenamedFrozenAndClosed(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		c := x.Owner
		c.Post("/v2/accounts", body{"workspace_id": x.WorkspaceID, "name": "Live", "mode": "live"}).Invalid("mode")
		c.Post("/v2/accounts", body{"workspace_id": x.WorkspaceID, "name": "Dollars", "currency": "USD", "mode": "live"}).Invalid("mode", "currency")
		c.Post("/v2/accounts", body{"name": "Nowhere"}).Invalid("workspace_id")
		c.Post("/v2/accounts", body{"workspace_id": x.WorkspaceID, "name": " ", "mode": "toy"}).Invalid("name", "mode")
		id := c.Post("/v2/accounts", body{"workspace_id": x.WorkspaceID, "name": "Payroll", "currency": "PHP", "mode": "sandbox"}).Created().Text("id")
		path := "/v2/accounts/" + id
		c.Patch(path, body{"name": "Wages"}).OK()
		x.Deposit(id, 100)
		c.Patch(path, body{"status": "closed"}).Fails(422, "ACCOUNT_NOT_EMPTY")
		other := x.Account(0)

		c.Patch(path, body{"status": "frozen"}).OK()
		frozen := transfer(c, id, other, 10).Fails(422, "ACCOUNT_FROZEN")
		if frozen.Detail("status") != "frozen" {
			t.Errorf("the details are %s", frozen.Body)
		}
		codes, _ := reserve(t, n.DB, account(t, n, id), 10)
		if codes[0] != "ACCOUNT_FROZEN" {
			t.Errorf("a frozen account reserves: %q", codes)
		}
		x.Deposit(id, 1) // it receives
		c.Patch(path, body{"status": "active"}).OK()

		transfer(c, id, other, 101).Created()
		book(t, n, id, 5, "ref", false)
		c.Patch(path, body{"status": "closed"}).Fails(422, "ACCOUNT_NOT_EMPTY") // something is pending
		book(t, n, id, 5, "ref", true)
		transfer(c, id, other, 5).Created()
		c.Patch(path, body{"status": "closed", "name": "Former"}).OK()
		c.Patch(path, body{"status": "closed"}).OK() // nothing changes
		for _, change := range []body{{"status": "active"}, {"name": "Back"}} {
			c.Patch(path, change).Fails(422, "ACCOUNT_CLOSED")
		}
		if got := transfer(c, id, other, 1).Fails(422, "ACCOUNT_FROZEN"); got.Detail("status") != "closed" {
			t.Errorf("the details are %s", got.Body)
		}
		transfer(c, other, id, 1).Fails(422, "ACCOUNT_CLOSED")
		err := write(t, n.DB, func(tx *db.Tx) error {
			_, _, err := ledger.Deposit(tx, account(t, n, id), 1, api.DepositFromBank, "", true)
			return err
		})
		if code(err) != "ACCOUNT_CLOSED" {
			t.Errorf("a deposit to a closed account: %v", err)
		}
		want := []string{"money.account.closed", "money.account.unfrozen", "money.account.frozen", "money.account.updated", "money.account.created"}
		if got := c.Get("/v1/audit?resource_type=account&resource_id=" + id + "&workspace_id=" + x.WorkspaceID).OK().Column("action"); !slices.Equal(got, want) {
			t.Errorf("the log has %v, want %v", got, want)
		}
		verified(t, n.DB)
	})
}

// What comes back for an account that was closed meanwhile belongs to no one until someone looks.
func TestAReturnToAClosedAccountGoesToSuspense(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		d := open(t, store)
		a, open := newAccount(t, d, 10), newAccount(t, d, 10)
		reserve(t, d, a, 10)
		reserve(t, d, open, 10)
		all := append(of(a, 10), of(open, 10)...)
		mustWrite(t, d, func(tx *db.Tx) error {
			for _, step := range []func(*db.Tx, []ledger.Reserved) error{ledger.Complete, ledger.Settle} {
				if err := step(tx, all); err != nil {
					return err
				}
			}
			return tx.Exec(`UPDATE ledger_account SET status = 'closed' WHERE id = $1`, a.ID)
		})
		mustWrite(t, d, func(tx *db.Tx) error { return ledger.Return(tx, all) })
		for id, want := range map[string]int64{a.ID: 0, open.ID: 10, "sys_suspense_PHP_sandbox": 10, "sys_bank_PHP_sandbox": -20, "sys_clearing_PHP_sandbox": 0} {
			if got := find(t, d, id).Available; got != want {
				t.Errorf("%s has %d, want %d", id, got, want)
			}
		}
		verified(t, d)
	})
}

func TestSuspenseHoldsUnexplainedMoney(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		d := open(t, store)
		newAccount(t, d, 100)
		for _, amount := range []int64{30, -50, -81} { // the last is more than the books say that the bank has
			mustWrite(t, d, func(tx *db.Tx) error {
				id, err := ledger.Suspend(tx, "PHP", api.ModeSandbox, amount, "NTRY-1", "a statement")
				if err == nil && id == "" {
					t.Error("the transaction has no id")
				}
				return err
			})
		}
		for id, want := range map[string]int64{"sys_suspense_PHP_sandbox": -101, "sys_bank_PHP_sandbox": 1} {
			if got := find(t, d, id).Available; got != want {
				t.Errorf("%s has %d, want %d", id, got, want)
			}
		}
		verified(t, d)
	})
}

func TestTransfersStayWithinAWorkspaceACurrencyAndAMode(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, other := n.Tenant(t), n.Tenant(t)
		c, from, to := x.Owner, x.Account(100), x.Account(0)
		strange := other.Account(0)
		transfer(c, from, strange, 1).Fails(404, "RESOURCE_NOT_FOUND")
		transfer(c, strange, to, 1).Fails(404, "RESOURCE_NOT_FOUND")
		transfer(c, from, "sys_bank_PHP_sandbox", 1).Fails(404, "RESOURCE_NOT_FOUND")
		transfer(c, "sys_suspense_PHP_sandbox", to, 1).Fails(404, "RESOURCE_NOT_FOUND")
		transfer(c, from, from, 1).Invalid("destination_account_id")
		elsewhere := c.Post("/v1/workspaces", body{"name": "Second", "organization_id": x.OrganizationID}).OK().Text("id")
		second := c.Post("/v2/accounts", body{"workspace_id": elsewhere, "name": "Second"}).Created().Text("id")
		transfer(c, from, second, 1).Invalid("destination_account_id")
		var live ledger.Account
		inLedger(t, n, func(tx *db.Tx) (err error) {
			live, err = ledger.NewAccount(tx, x.WorkspaceID, "Live", "PHP", api.ModeLive)
			return err
		})
		transfer(c, from, live.ID, 1).Invalid("destination_account_id")
		answer := transfer(c, from, to, 101).Fails(422, "INSUFFICIENT_FUNDS")
		var shown struct {
			Error struct{ Details api.FundsDetails }
		}
		answer.Decode(&shown)
		if shown.Error.Details != (api.FundsDetails{AvailableBalance: 100, RequestedAmount: 101}) {
			t.Errorf("the details are %s", answer.Body)
		}
		transfer(c, from, to, 100).Created()
		if got := [][3]int64{c.Balances(from), c.Balances(to)}; got[0] != [3]int64{} || got[1] != [3]int64{100} {
			t.Errorf("the balances are %v", got)
		}
		// A maker of payouts, who does not set the rules of accounts, cannot move money under other rules.
		transfer(x.Member("disbursement_manager"), to, from, 1).Fails(403, "FORBIDDEN")
		x.Define("keeper", "ws.read", "ws.accounts.read", "ws.accounts.write")
		if got := transfer(x.Member("keeper"), to, from, 1).Fails(403, "FORBIDDEN"); got.Detail("permission") != "ws.payouts.create" {
			t.Errorf("the answer is %s", got.Body)
		}
		verified(t, n.DB)
	})
}

// A retry with the same key succeeds once there is money, and moves it once.
func TestAShortageIsNotKeptUnderAnIdempotencyKey(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		c, from, to := x.Owner, x.Account(0), x.Account(0)
		for range 2 {
			transfer(c, from, to, 50, "Idempotency-Key", "payday").Fails(422, "INSUFFICIENT_FUNDS")
		}
		x.Deposit(from, 80)
		c.Patch("/v2/accounts/"+from, body{"status": "frozen"}).OK()
		transfer(c, from, to, 50, "Idempotency-Key", "payday").Fails(422, "ACCOUNT_FROZEN")
		c.Patch("/v2/accounts/"+from, body{"status": "active"}).OK()
		first := transfer(c, from, to, 50, "Idempotency-Key", "payday").Created()
		again := transfer(c, from, to, 50, "Idempotency-Key", "payday").Created()
		if first.Text("id") != again.Text("id") || again.Header.Get("Idempotent-Replayed") != "true" {
			t.Errorf("the second answer is %s", again.Body)
		}
		transfer(c, from, to, 51, "Idempotency-Key", "payday").Fails(409, "IDEMPOTENCY_CONFLICT")
		if got := c.Balances(from); got != [3]int64{30} {
			t.Errorf("the balances are %v", got)
		}
	})
}

func TestManyWhoSpendTheSameMoneyAtOnce(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		one, other := x.Account(10_000), x.Account(10_000)
		var moved, short atomic.Int64
		var all sync.WaitGroup
		for i := range 40 { // both ways at once, so that the order of locks matters
			all.Go(func() {
				from, to := one, other
				if i%4 == 0 {
					from, to = other, one
				}
				switch answer := transfer(x.Owner, from, to, 1_000); {
				case answer.Status == 201:
					moved.Add(1)
				case answer.Code() == "INSUFFICIENT_FUNDS":
					short.Add(1)
				default:
					t.Errorf("the answer is %d %s", answer.Status, answer.Body)
				}
			})
		}
		for range 8 {
			all.Go(func() {
				answer := x.Owner.Post("/v2/payout-requests", body{"source_account_id": one, "amount_cents": 700, "currency": "PHP",
					"settlement_account": body{"bank_account_name": "Ada", "bank_account_number": "1234567890", "bank_code": "BOPIPHMMXXX"}})
				if answer.Status != 201 && answer.Code() != "INSUFFICIENT_FUNDS" {
					t.Errorf("the answer is %d %s", answer.Status, answer.Body)
				}
			})
		}
		all.Wait()
		a, b := account(t, n, one), account(t, n, other)
		if a.Available+a.Reserved+b.Available != 20_000 || moved.Load()+short.Load() != 40 {
			t.Errorf("there is %d and %d of 20,000 after %d moves", a.Available+a.Reserved, b.Available, moved.Load())
		}
		verified(t, n.DB)
	})
}

// While money moves between buckets, whoever looks sees all of it at one moment.
func TestBalancesAreOfOneMoment(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		id := x.Account(100)
		done := make(chan struct{})
		go func() {
			defer close(done)
			for range 30 {
				mustWrite(t, n.DB, func(tx *db.Tx) error {
					_, err := ledger.Reserve(tx, ledger.Account{ID: id, WorkspaceID: x.WorkspaceID}, []ledger.Want{{Reference: "po_1", Amount: 60}})
					return err
				})
				mustWrite(t, n.DB, func(tx *db.Tx) error {
					return ledger.Release(tx, []ledger.Reserved{{AccountID: id, Reference: "po_1", Amount: 60}})
				})
			}
		}()
		for ended := false; !ended; {
			select {
			case <-done:
				ended = true
			default:
			}
			var b api.AccountBalances
			x.Owner.Get("/v2/accounts/" + id + "/balances").OK().Data(&b)
			if b.AvailableBalance+b.ReservedBalance != 100 || b.TotalBalance != 100 || b.Currency != "PHP" || b.AsOf == 0 {
				t.Errorf("the balances are %+v", b)
			}
		}
	})
}

func TestPostingsAreNumberedFilteredAndPaged(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		x := n.Tenant(t)
		id := x.Account(1000)
		a := account(t, n, id)
		var noon int64
		inLedger(t, n, func(tx *db.Tx) (err error) {
			_, err = ledger.Reserve(tx, a, []ledger.Want{{Reference: "po_1", Amount: 100, Description: "Wages"}, {Reference: "po_2", Amount: 50}})
			return err
		})
		n.Clock.Advance(time.Second)
		noon = n.DB.Now()
		n.Clock.Advance(time.Second)
		inLedger(t, n, func(tx *db.Tx) error {
			return ledger.Complete(tx, []ledger.Reserved{{AccountID: id, Currency: "PHP", Mode: "sandbox", Reference: "po_1", Amount: 100}})
		})
		x.Deposit(id, 7)
		list := func(query string) (got []string) {
			t.Helper()
			for cursor := ""; ; {
				answer := x.Owner.Get("/v2/accounts/" + id + "/postings?limit=2" + query + cursor).OK()
				var rows []api.Posting
				answer.Data(&rows)
				for _, p := range rows {
					got = append(got, fmt.Sprint(p.Number, " ", p.Kind, " ", p.Bucket, " ", p.Amount, " ", p.Balance))
				}
				next, more := answer.Page()
				if !more {
					return got
				}
				cursor = "&cursor=" + next
			}
		}
		all := []string{
			"7 deposit available 7 857", "6 complete reserved -100 50", "5 reserve reserved 50 150", "4 reserve available -50 850",
			"3 reserve reserved 100 100", "2 reserve available -100 900", "1 deposit available 1000 1000",
		}
		for query, want := range map[string][]string{
			"":                                 all,
			"&bucket=reserved":                 {all[1], all[2], all[4]},
			"&bucket=available":                {all[0], all[3], all[5], all[6]},
			"&bucket=pending":                  nil,
			"&reference=po_1":                  {all[1], all[4], all[5]},
			"&reference=po_1&bucket=available": {all[5]},
			"&reference=po_3":                  nil,
			fmt.Sprint("&since=", noon):        all[:2],
			fmt.Sprint("&until=", noon):        all[2:],
			fmt.Sprint("&since=", noon, "&until=", noon):    nil,
			"&since=0&until=281474976710655":                all,
			fmt.Sprint("&until=", noon, "&bucket=reserved"): {all[2], all[4]},
		} {
			if got := list(query); !slices.Equal(got, want) {
				t.Errorf("%s: %q, want %q", query, got, want)
			}
		}
		path := "/v2/accounts/" + id + "/postings"
		cursor, _ := x.Owner.Get(path + "?limit=2").OK().Page()
		x.Owner.Get(path + "?limit=2&bucket=reserved&cursor=" + cursor).Invalid("cursor")
		x.Owner.Get(path+"?since=tomorrow&until=-1&bucket=gold").Invalid("since", "until", "bucket")
		ids := x.Owner.Get(path).OK().Column("id")
		if len(slices.Compact(slices.Sorted(slices.Values(ids)))) != 7 {
			t.Errorf("the ids are %v", ids)
		}
	})
}

// When the clock goes back, the times of an account's postings do not.
func TestTimesOfPostingsNeverGoBack(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		var clock clock
		d := openAt(t, store, clock.now)
		a := newAccount(t, d, 1)
		clock.advance(-10)
		mustWrite(t, d, func(tx *db.Tx) error { _, err := ledger.Post(tx, deposit(a, 1)); return err })
		verified(t, d)
	})
}

func TestDepositsAreListed(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		one, other := x.Account(5), x.Account(6)
		book(t, n, one, 9, "REF-1", false)
		read := func(query string) (list []api.Deposit) {
			x.Owner.Get("/v2/deposits?workspace_id=" + x.WorkspaceID + query).OK().Data(&list)
			return list
		}
		if got := read(""); len(got) != 3 || got[0].Status != "pending" || got[0].BookedAt != 0 || got[1].AccountID != other || got[2].Amount != 5 || got[2].BookedAt == 0 {
			t.Errorf("the deposits are %+v", got)
		}
		if got := read("&account_id=" + other); len(got) != 1 || got[0].Amount != 6 || got[0].Currency != "PHP" {
			t.Errorf("the deposits of one account are %+v", got)
		}
		if got := x.Owner.Balances(one); got != [3]int64{5, 0, 9} {
			t.Errorf("the balances are %v", got)
		}
		for range 2 { // of which the second is another one of the same reference
			book(t, n, one, 9, "REF-1", true)
		}
		if got := x.Owner.Balances(one); got != [3]int64{23, 0, 0} {
			t.Errorf("the balances are %v", got)
		}
		if got := read("&account_id=" + one); len(got) != 3 || got[1].Status != "booked" || got[1].ID != read("")[1].ID {
			t.Errorf("the deposits are %+v", got)
		}
		verified(t, n.DB)
	})
}

func TestAWorkspaceHasABoundedNumberOfAccounts(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, other := n.Tenant(t), n.Tenant(t)
		mustWrite(t, n.DB, func(tx *db.Tx) error {
			for range 999 {
				if _, err := ledger.NewAccount(tx, x.WorkspaceID, "Old", "PHP", api.ModeSandbox); err != nil {
					return err
				}
			}
			return nil
		})
		create := func(x *servertest.Tenant) *servertest.Answer {
			return x.Owner.Post("/v2/accounts", servertest.Body{"workspace_id": x.WorkspaceID, "name": "New"})
		}
		answers := servertest.Statuses(servertest.SideBySide(3, func(int) *servertest.Answer { return create(x) }))
		if answers["201"] != 1 || answers["422 TOO_MANY"] != 2 {
			t.Errorf("there is room for one, and the answers are %v", answers)
		}
		create(other).Created()
	})
}

// book announces or books a deposit of the bank, as a statement does.
func book(t *testing.T, n *servertest.Node, accountID string, amount int64, reference string, booked bool) {
	t.Helper()
	to := account(t, n, accountID)
	_, err := db.Write(t.Context(), n.DB, db.Caller{}, func(tx *db.Tx) (api.Deposit, audit.Event, error) {
		return ledger.Deposit(tx, to, amount, api.DepositFromBank, reference, booked)
	})
	if err != nil {
		t.Fatal(err)
	}
}
