package control_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"bursar/api"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
)

// summed is a workspace of two people in which payouts of up to 10,000.00 need no approval, but for a rule by sum.
type summed struct {
	*servertest.Tenant
	maker, second *servertest.Client
	account       string
}

func newSummed(t *testing.T, n *servertest.Node, rule body) *summed {
	t.Helper()
	x, maker, second := n.Pair(t)
	x.Staff("disbursement_authorizer", 1)
	s := &summed{x, maker, second, x.Account(100_000_000)}
	second.Approve(s.rule(body{"approvals": 0, "up_to_cents": 1_000_000}).Text("approval_id")).OK()
	if waits := s.rule(rule).Text("approval_id"); waits != "" {
		second.Approve(waits).OK()
	}
	return s
}

func (s *summed) rule(terms body) *servertest.Answer {
	s.maker.T().Helper()
	terms["workspace_id"] = s.WorkspaceID
	return s.maker.Post("/v2/approval-rules", terms).Created()
}

// pay requests a payout and returns its id and status.
func (s *summed) pay(by *servertest.Client, amount int64, more ...body) (id, status string) {
	s.maker.T().Helper()
	made := by.Post(payouts, request(s.account, amount, more...)).Created()
	return made.Text("id"), made.Text("status")
}

// toNumber is the destination of a payout without an entry.
func toNumber(digits string) body { return body{"settlement_account": to(bpi, digits)} }

func TestManyPayoutsToOnePayeeWaitOnceTheirSumOfADayIsAboveTheRule(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		s := newSummed(t, n, body{"approvals": 1, "per": "day", "each": "payee", "above_cents": 5_000_000})
		var got []string
		for range 20 {
			_, status := s.pay(s.maker, 1_000_000)
			got = append(got, status)
		}
		if want := append(slices.Repeat([]string{"pending"}, 5), slices.Repeat([]string{"initiated"}, 15)...); !slices.Equal(got, want) {
			t.Errorf("20 payouts of 10,000.00 are %v", got)
		}
		if _, status := s.pay(s.maker, 1_000_000, toNumber("9876543210")); status != "pending" {
			t.Errorf("one to another payee is %s", status)
		}
		n.Clock.Advance(24 * time.Hour)
		again := s.maker.Again(t)
		if _, status := s.pay(again, 1_000_000); status != "pending" {
			t.Errorf("one on the next day is %s", status)
		}
	})
}

func TestASumCountsWhatWaitsAndNotWhatIsCancelledRejectedOrFailed(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		s := newSummed(t, n, body{"approvals": 1, "per": "day", "each": "payee", "above_cents": 2_000_000})
		sent, _ := s.pay(s.maker, 1_000_000)
		s.pay(s.maker, 900_000)
		waits, status := s.pay(s.maker, 1_000_000) // 2,900,000
		if status != "initiated" {
			t.Fatalf("the one above the sum is %s", status)
		}
		expect := func(what string, amount int64, want string) (id string) {
			t.Helper()
			id, got := s.pay(s.maker, amount)
			if got != want {
				t.Errorf("%s: %s, want %s", what, got, want)
			}
			return id
		}
		s.maker.Post(payouts+"/"+expect("beside one that waits", 100_000, "initiated")+"/cancel", nil).OK()
		rejected := s.maker.Get(payouts + "/" + waits).OK().Text("approval_id")
		s.second.Post("/v1/approvals/"+rejected+"/reject", body{"reason": "no"}).OK()
		s.maker.Post(payouts+"/"+expect("after both are gone", 100_000, "pending")+"/cancel", nil).OK()
		expect("after that one is gone, too", 100_000, "pending")
		expect("more than the sum", 100_000, "initiated")
		s.maker.Post(payouts+"/"+sent+"/cancel", nil).OK()
		expect("after one of before is cancelled", 900_000, "pending")
		expect("more than the sum again", 100_000, "initiated")

		refused := toNumber("1234569003") // by the bank
		failed, _ := s.pay(s.maker, 999_900, refused)
		if _, got := s.pay(s.maker, 1_000_000, refused); got != "pending" {
			t.Fatalf("the second that the bank refuses is %s", got)
		}
		if _, got := s.pay(s.maker, 200, refused); got != "initiated" {
			t.Errorf("above the sum: %s", got)
		}
		n.RunPayouts(t)
		s.maker.PayoutIs(failed, "failed")
		if _, got := s.pay(s.maker, 1_000_000, refused); got != "pending" {
			t.Errorf("after those that failed: %s", got)
		}
	})
}

func TestASumOfAPayeeCountsTheirEntryAndTheirNumber(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		s := newSummed(t, n, body{"approvals": 1, "per": "day", "each": "payee", "above_cents": 2_000_000})
		payee := s.Entry("Ada")
		method := func(digits string) body {
			asked := s.maker.Post("/v1/directory/"+payee+"/receiving-methods", servertest.Account(digits, body{"institution_code": bpi})).OK()
			s.second.Approve(asked.Text("approval_id")).OK()
			return body{"receiving_method_id": asked.Text("id"), "settlement_account": nil}
		}
		first, second := method("1111111111"), method("2222222222")
		n.Clock.Advance(25 * time.Hour) // they cool
		maker := s.maker.Again(t)
		for _, one := range []struct {
			where body
			want  string
		}{{first, "pending"}, {toNumber("1111111111"), "pending"}, {second, "initiated"}, {toNumber("1111111111"), "initiated"}, {toNumber("3333333333"), "pending"}} {
			if _, got := s.pay(maker, 1_000_000, one.where); got != one.want {
				t.Errorf("%v: %s, want %s", one.where, got, one.want)
			}
		}
	})
}

func TestASumOfARequesterCountsTheirKeysAndMachineClients(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		s := newSummed(t, n, body{"approvals": 1, "per": "day", "each": "maker", "above_cents": 2_500_000})
		robot := s.Tenant.Machine(s.maker, "disbursement_manager")
		for i, one := range []struct {
			by   *servertest.Client
			want string
		}{{n.Person(t, s.maker), "pending"}, {robot, "pending"}, {s.maker, "initiated"}, {robot, "initiated"}, {n.Person(t, s.maker), "initiated"}} { // s.maker is a key
			if _, got := s.pay(one.by, 1_000_000, toNumber(fmt.Sprint(1_000_000_000+i))); got != one.want {
				t.Errorf("payout %d: %s, want %s", i, got, one.want)
			}
		}
	})
}

// A rule for both modes has a sum for each: the sandbox uses up nothing of live payouts.
func TestASumIsOfOneMode(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n, _, _ := servertest.StartLive(t, store)
		s := newSummed(t, n, body{"approvals": 1, "per": "day", "each": "payee", "above_cents": 1_000_000})
		live := s.LiveAccount()
		s.Deposit(live, 100_000_000)
		for i, one := range []struct{ account, want string }{{s.account, "pending"}, {s.account, "initiated"}, {live, "pending"}, {live, "initiated"}, {s.account, "initiated"}} {
			if got := s.maker.Post(payouts, request(one.account, 900_000)).Created().Text("status"); got != one.want {
				t.Errorf("payout %d: %s, want %s", i, got, one.want)
			}
		}
	})
}

// A sum is of one day in Manila and of one currency. No account has another currency than PHP yet, so what was counted is made one.
func TestASumIsOfOneDayInManilaAndOfOneCurrency(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		s := newSummed(t, n, body{"approvals": 1, "per": "day", "each": "payee", "above_cents": 1_000_000})
		now := n.Clock.Now().UTC().Add(8 * time.Hour)
		n.Clock.Advance(now.Truncate(24 * time.Hour).Add(24*time.Hour - time.Minute).Sub(now)) // 23:59 in Manila
		expect := func(what, want string) (id string) {
			t.Helper()
			id, status := s.pay(s.maker.Again(t), 600_000)
			if status != want {
				t.Errorf("%s: %s, want %s", what, status, want)
			}
			return id
		}
		expect("before midnight", "pending")
		yesterday := expect("another one before midnight", "initiated")
		n.Clock.Advance(2 * time.Minute)
		expect("after midnight", "pending")
		s.maker.Again(t).Post(payouts+"/"+yesterday+"/cancel", nil).OK()
		expect("after one of yesterday was cancelled", "initiated")
		n.Write(t, func(tx *db.Tx) error { return tx.Exec(`UPDATE payout_counted SET currency = 'USD'`) })
		expect("after what was paid in another currency", "pending")
	})
}

func TestABatchCountsItsOwnLinesForASum(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		s := newSummed(t, n, body{"approvals": 2, "per": "day", "each": "payee", "above_cents": 250_000})
		batch := func(numbers ...string) api.PayoutBatch {
			t.Helper()
			var lines []body
			for _, digits := range numbers {
				lines = append(lines, body{"amount_cents": 100_000, "settlement_account": to(bpi, digits)})
			}
			return servertest.Decoded[api.PayoutBatch](s.maker.Post(batches, body{"source_account_id": s.account, "currency": "PHP", "payouts": lines}).Created())
		}
		if got := batch("1111111111", "2222222222", "1111111111", "3333333333"); got.Statuses["pending"] != 4 {
			t.Errorf("a batch below the sum of each payee is %+v", got)
		}
		if got := batch("4444444444", "5555555555", "4444444444", "4444444444"); got.Statuses["initiated"] != 4 || got.ApprovalID == "" {
			t.Errorf("a batch above the sum of one is %+v", got)
		}
		if got := batch("1111111111"); got.Statuses["initiated"] != 1 {
			t.Errorf("one more of the first is %+v", got)
		}
	})
}

// However many request at once, no more go without approval than fit under the amount.
func TestASumHoldsWhenManyRequestAtOnce(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		s := newSummed(t, n, body{"approvals": 1, "per": "day", "each": "payee", "above_cents": 500_000})
		free := 0
		for _, status := range servertest.SideBySide(12, func(int) string {
			return s.maker.Post(payouts, request(s.account, 100_000)).Created().Text("status")
		}) {
			if status == "pending" {
				free++
			}
		}
		if free != 5 {
			t.Errorf("%d payouts need no approval", free)
		}
	})
}

func TestARuleBySumNamesTheSum(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		g := newGuarded(t, n)
		post := func(terms body) *servertest.Answer {
			terms["workspace_id"] = g.WorkspaceID
			return g.Owner.Post("/v2/approval-rules", terms)
		}
		post(body{"approvals": 0, "per": "day", "up_to_cents": 5, "client_id": "usr_x"}).Invalid("approvals", "each", "above_cents", "up_to_cents", "client_id")
		post(body{"approvals": 1, "each": "payee"}).Invalid("each")
	})
}

// What a day's sum counts was counted when it was requested, so only what is above the amount by itself is held.
func TestALaterRuleBySumHoldsWhatIsAboveItAlone(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		s := newSummed(t, n, body{"approvals": 1, "above_cents": 90_000_000})
		large, _ := s.pay(s.maker, 500_000)
		small := []string{}
		for range 3 {
			id, _ := s.pay(s.maker, 200_000, toNumber("2222222222"))
			small = append(small, id)
		}
		batch := servertest.Decoded[api.PayoutBatch](s.maker.Post(batches, body{"source_account_id": s.account, "currency": "PHP", "payouts": []body{
			{"amount_cents": 200_000, "settlement_account": to(bpi, "3333333333")}, {"amount_cents": 200_000, "settlement_account": to(bpi, "3333333333")}}}).Created())
		s.rule(body{"approvals": 1, "per": "day", "each": "payee", "above_cents": 300_000})
		s.maker.PayoutHeld(large)
		for _, id := range small {
			s.maker.PayoutIs(id, "completed")
		}
		for _, r := range batch.Results {
			s.maker.PayoutHeld(r.ID)
		}
	})
}

// A merge makes two payees one, and what either was paid that day counts for it.
func TestASumOfAPayeeOutlivesAMerge(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		s := newSummed(t, n, body{"approvals": 1, "per": "day", "each": "payee", "above_cents": 2_000_000})
		s.maker.Post("/v2/limits", body{"workspace_id": s.WorkspaceID, "per": "day", "each": "payee", "amount_cents": 2_300_000}).Created()
		payee := func(name, digits string) (entry string, method body) {
			entry = s.Entry(name)
			asked := s.maker.Post("/v1/directory/"+entry+"/receiving-methods", servertest.Account(digits, body{"institution_code": bpi})).OK()
			s.second.Approve(asked.Text("approval_id")).OK()
			return entry, body{"receiving_method_id": asked.Text("id"), "settlement_account": nil}
		}
		ada, toAda := payee("Ada", "1111111111")
		bob, toBob := payee("Bob", "2222222222")
		n.Clock.Advance(25 * time.Hour) // they cool
		maker := s.maker.Again(t)
		first, status := s.pay(maker, 900_000, toAda)
		if status != "pending" {
			t.Fatalf("the first payout is %s", status)
		}
		n.Clock.Advance(time.Second)
		maker.Post("/v1/directory/"+bob+"/merge", body{"sources": []string{ada}}).OK()
		n.Clock.Advance(time.Second)
		for _, one := range []struct {
			amount int64
			want   string
		}{{1_000_000, "pending"}, {200_000, "initiated"}} {
			if _, got := s.pay(maker, one.amount, toBob); got != one.want {
				t.Errorf("a payout of %d after the merge is %s, want %s", one.amount, got, one.want)
			}
		}
		maker.Post(payouts, request(s.account, 500_000, toBob)).Fails(422, "LIMIT_EXCEEDED")
		maker.Post(payouts+"/"+first+"/cancel", nil).OK()
		if _, got := s.pay(maker, 700_000, toBob); got != "pending" {
			t.Errorf("a payout after that of before is cancelled is %s", got)
		}
		if _, got := s.pay(maker, 400_000, toBob); got != "initiated" {
			t.Errorf("what the target was paid itself is given back: %s", got)
		}
	})
}
