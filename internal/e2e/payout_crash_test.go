package e2e_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
	"bursar/internal/setup"
	"bursar/internal/torture"
	"bursar/internal/wait"
)

// becomes is what becomes of a payout by the last four digits of the number that it is paid to,
// whatever is killed meanwhile.
var becomes = map[string]string{
	"0001": "completed", "0002": "completed", "0003": "completed", "0004": "completed",
	"9001": "failed", "9002": "failed", "9003": "failed", "9004": "failed", "9005": "failed", "9006": "failed",
	"9011": "processing", "9012": "completed", "9013": "completed", "9014": "reversed",
}

const (
	payers    = 8
	deposited = 20_000_000 // into each account
)

// payday is a load of payouts, and what the payers were told.
type payday struct {
	store    dbtest.Store
	flags    []string // of nodes
	ends     []string // of the numbers that are paid to
	made     setup.Result
	token    string
	client   *http.Client
	accounts []string
	random   *rand.Rand // of the test; each payer has its own
	db       *db.DB     // as the test looks into it, once all were killed

	mu    sync.Mutex
	nodes []*process // of which any may be dead

	told atomic.Int64
	ids  sync.Map // external id to the id that was answered
}

// beginPayday sets a service of some nodes up, with accounts that have money.
func beginPayday(t *testing.T, store dbtest.Store, nodes int) *payday {
	t.Helper()
	seed := rand.Uint64()
	t.Logf("the seed is %d", seed)
	d := &payday{store: store, made: initialise(t, store), client: &http.Client{Timeout: wait.Limit()}, random: rand.New(rand.NewPCG(seed, 0)),
		ends: []string{"0001", "0002", "0003", "0004", "9001", "9002", "9003", "9004", "9005", "9006", "9011", "9012", "9013", "9014"}}
	d.start(t, nodes)
	for range 3 {
		admin := d.admin(t)
		id := admin.Post("/v2/accounts", servertest.Body{"workspace_id": d.made.WorkspaceID, "name": "Payroll"}).Created().Text("id")
		admin.Post("/v2/simulations/deposits", servertest.Body{"account_id": id, "amount_cents": deposited}).Created()
		d.accounts = append(d.accounts, id)
	}
	return d
}

// start starts some nodes.
func (d *payday) start(t *testing.T, nodes int) {
	t.Helper()
	for range nodes {
		d.nodes = append(d.nodes, startNode(t, d.store, d.flags...))
	}
	d.token = servertest.Remote(t, d.url(0), d.made).Admin(t).Token
}

// url is where a node listens, or did.
func (d *payday) url(node int) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.nodes[node%len(d.nodes)].URL
}

// admin calls the first node.
func (d *payday) admin(t *testing.T) *servertest.Client {
	t.Helper()
	return servertest.Remote(t, d.url(0), d.made).Holder(t, d.token)
}

// payout is the request number i of a payer. No two pay to the same account number.
func (d *payday) payout(payer, i int, random *rand.Rand) servertest.Body {
	end := d.ends[random.IntN(len(d.ends))]
	return servertest.Body{
		"source_account_id": d.accounts[random.IntN(len(d.accounts))], "amount_cents": 100 + random.IntN(900), "currency": "PHP",
		"external_id": fmt.Sprintf("%s-%d-%d", end, payer, i),
		"settlement_account": servertest.Body{
			"bank_account_name": "Juan dela Cruz", "bank_account_number": fmt.Sprintf("%d%05d%s", payer+1, i, end), "bank_code": "BOPIPHMMXXX",
		},
	}
}

// pay lets a payer make so many payouts, each of which it asks for until it is answered. It retries
// with the same external id, at whatever node, and with an idempotency key that no one has seen.
func (d *payday) pay(t *testing.T, payer, count int, random *rand.Rand) {
	for i := range count {
		body := d.payout(payer, i, random)
		for try := 0; !t.Failed(); try++ {
			c := call{method: http.MethodPost, path: "/v2/payout-requests", body: body, key: fmt.Sprint(body["external_id"], "/", try)}
			got, err := send(d.client, d.url(payer+try), d.token, c)
			if err == nil && (got.status == http.StatusCreated || got.status == http.StatusOK) {
				d.ids.Store(body["external_id"], got.id)
				d.told.Add(1)
				break
			}
			if err == nil && got.status != http.StatusInternalServerError {
				t.Errorf("a payout is answered %d %s", got.status, got.code)
			}
			<-time.After(10 * time.Millisecond) // a client pauses before it retries
		}
	}
}

// torment lets everyone pay while the disasters happen, one after the other, at random moments.
func (d *payday) torment(t *testing.T, count, disasters int, disaster func()) {
	t.Helper()
	var all sync.WaitGroup
	defer all.Wait()
	for payer := range payers {
		random := rand.New(rand.NewPCG(d.random.Uint64(), 0))
		all.Go(func() { d.pay(t, payer, count/payers, random) })
	}
	for i := range disasters {
		moment := int64((i*count + d.random.IntN(count)) / (disasters + 1))
		wait.UntilWithin(t, 10, "payouts are answered", func() bool { return d.told.Load() >= moment || t.Failed() })
		disaster()
	}
}

// restart kills a node and starts another in its place.
func (d *payday) restart(t *testing.T, node int) {
	t.Helper()
	d.nodes[node].kill()
	p := startNode(t, d.store, d.flags...)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.nodes[node] = p
}

func TestNoPayoutIsLostOrPaidTwiceWhenTheServerIsKilled(t *testing.T) {
	t.Parallel()
	d := beginPayday(t, dbtest.SQLite(t), 1)
	d.torment(t, torture.Rounds(320, 10_000), torture.Rounds(3, 60), func() { d.restart(t, 0) })
	d.end(t)
}

func TestNoPayoutIsLostOrPaidTwiceWhenNodesAndTheDatabaseAreKilled(t *testing.T) {
	t.Parallel()
	store, cluster := ownPostgres(t)
	d := beginPayday(t, store, 2)
	d.torment(t, torture.Rounds(320, 10_000), torture.Rounds(4, 60), func() {
		if node := d.random.IntN(3); node < 2 {
			d.restart(t, node)
			return
		}
		if err := cluster.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := cluster.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
	d.end(t)
	// Anyone who moves money of several accounts locks them in one order.
	log, err := os.ReadFile(filepath.Join(cluster.Dir(), "postgres.log"))
	if err != nil {
		t.Error(err)
	}
	if _, deadlock, found := strings.Cut(string(log), "deadlock detected"); found {
		t.Errorf("PostgreSQL had to end a deadlock: %.4000s", deadlock)
	}
}

// end kills all nodes once more, lets everything come to its end, and holds the books of Bursar and
// those of the bank against what the payers were told.
func (d *payday) end(t *testing.T) {
	t.Helper()
	for _, p := range d.nodes {
		p.kill()
	}
	d.db = d.store.Open(t)
	// No one lives who could still send, so that the leases, which last a minute, may as well be over.
	_, err := db.Write(t.Context(), d.db, db.Caller{}, func(tx *db.Tx) (struct{}, audit.Event, error) {
		return struct{}{}, audit.None("a test"), tx.Exec(`UPDATE payout_attempt SET ask_at = 0 WHERE state IN ('sending', 'accepted', 'unknown')`)
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range d.nodes {
		d.restart(t, i)
	}
	wait.UntilWithin(t, 10, "all payouts have come to their end", func() bool {
		return d.count(t, `SELECT count(*) FROM simulated_payment WHERE tell IS NOT NULL`) == 0 && d.count(t, `SELECT count(*) FROM payout p WHERE p.status = 'pending'
			OR p.status = 'processing' AND NOT EXISTS (SELECT 1 FROM simulated_payment s WHERE s.payout_id = p.id AND s.digits = '9011' AND s.state = 'accepted')
			OR p.status = 'completed' AND EXISTS (SELECT 1 FROM simulated_payment s WHERE s.payout_id = p.id AND s.digits = '9014')`) == 0
	})
	d.checkPayouts(t)
	d.checkBank(t)
	succeed(t, append([]string{"admin", "ledger", "verify"}, at(d.store)...)...)
	for _, p := range d.nodes {
		p.terminate(t)
	}
}

// count runs a query that returns a single number.
func (d *payday) count(t *testing.T, sql string) (n int64) {
	t.Helper()
	err := d.db.Read(t.Context(), func(q db.Q) error {
		_, err := q.Row(sql).Scan(&n)
		return err
	})
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return n
}

// checkPayouts demands that there are exactly the payouts that were answered, each as its number
// says, and that the accounts have what those have left.
func (d *payday) checkPayouts(t *testing.T) {
	t.Helper()
	admin := d.admin(t)
	told := map[string]string{}
	d.ids.Range(func(external, id any) bool {
		told[external.(string)] = id.(string)
		return true
	})
	left, reserved := map[string]int64{}, map[string]int64{}
	for _, row := range everyRow(admin, "/v2/payout-requests?limit=100&workspace_id="+d.made.WorkspaceID) {
		external, account, amount := row["external_id"].(string), row["source_account_id"].(string), int64(row["amount_cents"].(float64))
		if told[external] != row["id"] {
			t.Errorf("%s is %s, and %q was answered", external, row["id"], told[external])
		}
		delete(told, external)
		if want := becomes[external[:4]]; row["status"] != want {
			t.Errorf("%s is %s, want %s", external, row["status"], want)
		}
		switch row["status"] {
		case "completed":
			left[account] -= amount
		case "processing":
			left[account] -= amount
			reserved[account] += amount
		}
	}
	for external, id := range told {
		t.Errorf("%s was answered as %s and is lost", external, id)
	}
	for _, account := range d.accounts {
		if got, want := admin.Balances(account), [3]int64{deposited + left[account], reserved[account], 0}; got != want {
			t.Errorf("account %s has %v available, reserved and pending, want %v", account, got, want)
		}
	}
}

// checkBank demands that the bank was paid each payout once, and no other.
func (d *payday) checkBank(t *testing.T) {
	t.Helper()
	for sql, what := range map[string]string{
		`SELECT count(*) FROM (SELECT payout_id FROM simulated_payment WHERE state NOT IN ('rejected', 'lost', 'not_received') GROUP BY payout_id HAVING count(*) > 1) x`: "payouts that the bank has accepted twice",
		`SELECT count(*) FROM payout p WHERE p.status IN ('completed', 'reversed', 'processing') AND NOT EXISTS (SELECT 1 FROM simulated_payment s
			WHERE s.payout_id = p.id AND s.amount = p.amount AND s.state IN ('completed', 'accepted'))`: "payouts that the bank does not know, or not with their amount",
		`SELECT count(*) FROM simulated_payment s WHERE s.state NOT IN ('rejected', 'lost', 'not_received') AND NOT EXISTS (SELECT 1 FROM payout p
			WHERE p.id = s.payout_id AND p.status IN ('completed', 'reversed', 'processing'))`: "payments of the bank that are no payouts",
		`SELECT count(*) FROM payout WHERE attention <> ''`:                              "payouts that somebody has to look at",
		`SELECT available FROM ledger_account WHERE kind = 'clearing'`:                   "are left in clearing",
		`SELECT count(*) FROM ledger_account WHERE kind = 'suspense' AND available <> 0`: "suspense accounts that are not empty",
		`SELECT count(*) FROM (SELECT reference FROM ledger_transaction WHERE kind IN ('release', 'complete', 'settle', 'return') GROUP BY reference, kind HAVING count(*) > 1) x`: "payouts whose money moved twice",
		`SELECT (SELECT count(*) FROM audit_entry WHERE action = 'payout.request.completed') - count(*) FROM payout WHERE status IN ('completed', 'reversed')`:                     "rows of the log too many about completed payouts",
	} {
		if n := d.count(t, sql); n != 0 {
			t.Errorf("%d %s", n, what)
		}
	}
}
