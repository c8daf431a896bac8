package control_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/approval"
	"bursar/internal/audit"
	"bursar/internal/config"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/payout/control"
	"bursar/internal/rail"
	"bursar/internal/rail/simulator"
	"bursar/internal/server/servertest"
	"bursar/internal/web"
)

// rulesOn are the rules as another node of the same store has them.
func rulesOn(n *servertest.Node) *control.Service {
	authority, cursors := access.NewAuthority(n.DB), web.NewCursors(nil)
	return control.New(n.DB, n.Vault, authority, cursors, approval.New(n.DB, n.Vault, authority, cursors, nil, nil, ""), simulated(n.DB), control.Screening{})
}

// simulated are the rails as shipped.
func simulated(d *db.DB) *rail.Rails {
	rails, err := rail.Load("", rail.Config{Simulator: simulator.New(d)})
	if err != nil {
		panic(err) // they are embedded
	}
	return rails
}

// guarded is a workspace whose rules a test asks.
type guarded struct {
	*servertest.Tenant
	n     *servertest.Node
	t     *testing.T
	rules *control.Service
	mode  string // of the payouts that it asks about
}

func newGuarded(t *testing.T, n *servertest.Node) *guarded {
	return &guarded{n.Tenant(t), n, t, rulesOn(n), api.ModeSandbox}
}

// need is what a payout needs, as "approvals role keys".
func (g *guarded) need(account, rail string, amount int64, by ...db.Caller) string {
	g.t.Helper()
	var got control.Need
	err := g.n.DB.Read(g.t.Context(), func(q db.Q) (err error) {
		got, err = g.rules.Need(q, control.Spending{WorkspaceID: g.WorkspaceID, AccountID: account, Rail: rail, Amount: amount, Mode: g.mode}, append(by, db.Caller{})[0])
		return err
	})
	if err != nil || got.Why == "" {
		g.t.Fatalf("%+v, %v", got, err)
	}
	text := fmt.Sprint(got.Approvals)
	if got.Role != "" {
		text += " " + got.Role
	}
	if got.KeysMay {
		text += " keys"
	}
	return text
}

func (g *guarded) expect(what, got, want string) {
	g.t.Helper()
	if got != want {
		g.t.Errorf("%s: %q, want %q", what, got, want)
	}
}

// rule makes a rule and returns its id, and the approval that it waits for.
func (g *guarded) rule(terms body) (id, waits string) {
	g.t.Helper()
	full := body{"workspace_id": g.WorkspaceID}
	for k, v := range terms {
		full[k] = v
	}
	made := g.Owner.Post("/v2/approval-rules", full).Created()
	return made.Text("id"), made.Text("approval_id")
}

func TestWithoutRulesTwoPeopleMakeAnApproval(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		g := newGuarded(t, n)
		g.expect("one person", g.need("acc", "instapay", 100), "0")
		g.Member("viewer") // who may do neither
		g.expect("nobody else who may make or approve", g.need("acc", "instapay", 100), "0")
		second := g.Member("disbursement_authorizer")
		g.expect("two people", g.need("acc", "instapay", 100), "1")
		g.Owner.Delete(g.Path("/members/" + second.UserID)).OK()
		g.expect("just after the other has left", g.need("acc", "instapay", 100), "1")
		n.Clock.Advance(25 * time.Hour)
		g.expect("a day later", g.need("acc", "instapay", 100), "1")
		n.Clock.Advance(48 * time.Hour)
		g.expect("three days later", g.need("acc", "instapay", 100), "0")
	})
}

func TestTheStrictestRuleApplies(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		g := newGuarded(t, n) // of one person, who needs no one for any rule
		account, other := g.Account(0), g.Account(0)
		id, secret, err := n.Identity.CreateClient(t.Context(), db.Caller{}, g.WorkspaceID, "Robot", "disbursement_manager")
		if err != nil {
			t.Fatal(err)
		}
		robot := db.Caller{Actor: audit.Actor{Type: audit.Client, ID: id}}
		g.rule(body{"approvals": 0, "client_id": id, "up_to_cents": 5_000})
		for _, terms := range []body{
			{"approvals": 1, "above_cents": 1_000, "keys_may_approve": true},
			{"approvals": 1, "above_cents": 10_000, "role": "disbursement_authorizer"},
			{"approvals": 2, "account_id": account, "rail": "pesonet"},
			{"approvals": 3, "above_cents": 100_000, "up_to_cents": 200_000},
		} {
			g.StoreRule(terms)
		}
		for _, c := range []struct {
			account, rail string
			amount        int64
			by            db.Caller
			want          string
		}{
			{other, "instapay", 1_000, db.Caller{}, "0"}, // above is more than
			{other, "instapay", 1_001, db.Caller{}, "1 keys"},
			{other, "instapay", 10_001, db.Caller{}, "1 disbursement_authorizer"},
			{other, "pesonet", 10_001, db.Caller{}, "1 disbursement_authorizer"},
			{account, "pesonet", 1, db.Caller{}, "2"},
			{account, "instapay", 1, db.Caller{}, "0"},
			{account, "pesonet", 10_000, db.Caller{}, "2"},
			{account, "pesonet", 100_000, db.Caller{}, "2 disbursement_authorizer"}, // a rule takes away no role that another names
			{account, "pesonet", 100_001, db.Caller{}, "3 disbursement_authorizer"},
			{account, "pesonet", 200_000, db.Caller{}, "3 disbursement_authorizer"}, // up to is at most
			{account, "pesonet", 200_001, db.Caller{}, "2 disbursement_authorizer"},
			{other, "instapay", 1_000, robot, "0"},
			{other, "instapay", 1_001, robot, "1 keys"}, // another rule matches, too
		} {
			g.expect(fmt.Sprintf("%+v", c), g.need(c.account, c.rail, c.amount, c.by), c.want)
		}
		// A machine client acts in its own workspace by Basic, and changes no rules.
		basic := n.Stranger(t)
		if rows := basic.Do("GET", "/v2/approval-rules", nil, "Authorization", servertest.Basic(id, secret)).OK().List(); len(rows) != 5 {
			t.Errorf("the client sees %v", rows)
		}
		basic.Do("POST", "/v2/approval-rules", body{"approvals": 1}, "Authorization", servertest.Basic(id, secret)).Fails(403, "FORBIDDEN")
	})
}

func TestALooserRuleWaitsForAnotherPerson(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		g := newGuarded(t, n)
		second := n.Person(t, g.Member("admin"))
		g.expect("without rules", g.need("acc", "instapay", 100), "1")
		g.Staff("disbursement_authorizer", 1)
		tight, waits := g.rule(body{"approvals": 2})
		g.expect("a tighter rule waits for", waits, "")
		g.expect("at once", g.need("acc", "instapay", 100), "2")

		for _, looser := range []body{{"approvals": 0, "rail": "instapay"}, {"approvals": 1, "keys_may_approve": true}} {
			id, waits := g.rule(looser)
			if waits == "" {
				t.Fatalf("%v does not wait", looser)
			}
			n.Person(t, g.Owner).Approve(waits).Fails(403, "FORBIDDEN")
			if row := g.Audit("&action=payout.rule.approved&outcome=denied")[0]; row["resource_id"] != id || row["resource_type"] != "payout_rule" {
				t.Errorf("the refusal is logged as %v", row)
			}
			shown := servertest.Decoded[api.Approval](second.Get("/v1/approvals/" + waits))
			if shown.Kind != "payout_rule" || !shown.CanApprove || len(shown.Fields) != 1 || shown.Fields[0].Before != "" || !strings.Contains(shown.Fields[0].After, "of payouts") {
				t.Errorf("the approval is %+v", shown)
			}
			second.Post("/v1/approvals/"+waits+"/reject", body{"reason": "no"}).OK()
			g.Owner.Delete("/v2/approval-rules/"+id).Fails(404, "RESOURCE_NOT_FOUND")
		}
		gone := g.Owner.Delete("/v2/approval-rules/" + tight).OK()
		if gone.Text("status") != "active" || gone.Text("approval_id") == "" {
			t.Errorf("removing it: %s", gone.Body)
		}
		if twice := g.Owner.Delete("/v2/approval-rules/" + tight).OK(); twice.Text("approval_id") != gone.Text("approval_id") {
			t.Errorf("removing it again: %s", twice.Body)
		}
		g.expect("while its end waits", g.need("acc", "instapay", 100), "2")
		second.Approve(gone.Text("approval_id")).OK()
		g.expect("when that is approved", g.need("acc", "instapay", 100), "1")

		loose, waits := g.rule(body{"approvals": 0, "up_to_cents": 500})
		g.expect("before a looser one is approved", g.need("acc", "instapay", 100), "1")
		second.Approve(waits).OK()
		g.expect("after", g.need("acc", "instapay", 100), "0")
		// Beside a looser one, even a rule that demands as much as none protects.
		beside, waits := g.rule(body{"approvals": 1, "rail": "instapay"})
		g.expect("which waits for", waits, "")
		if g.Owner.Delete("/v2/approval-rules/"+beside).OK().Text("approval_id") == "" {
			t.Error("it goes at once")
		}
		if done := g.Owner.Delete("/v2/approval-rules/" + loose).OK(); done.Text("status") != "removed" {
			t.Errorf("the end of the looser one waits: %s", done.Body)
		}
		pending, waits := g.rule(body{"approvals": 0})
		if done := g.Owner.Delete("/v2/approval-rules/" + pending).OK(); done.Text("status") != "removed" {
			t.Errorf("giving up: %s", done.Body)
		}
		second.Approve(waits).Fails(422, "APPROVAL_DECIDED")
		if got := n.Audited(t, tight); fmt.Sprint(got) != "[payout.rule.created payout.rule.requested payout.rule.approved]" {
			t.Errorf("the log tells %v", got)
		}
	})
}

func TestARuleThatMayTakeThePlaceOfAnotherRoleWaitsForAnotherPerson(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		g := newGuarded(t, n)
		second := n.Person(t, g.Member("admin"))
		g.Staff("disbursement_authorizer", 2)
		g.Staff("admin", 2)
		g.rule(body{"approvals": 1, "role": "disbursement_authorizer"})
		_, waits := g.rule(body{"approvals": 2, "rail": "instapay"})
		g.expect("more approvals wait for", waits, "")
		g.expect("and take no role away", g.need("acc", "instapay", 100), "2 disbursement_authorizer")
		_, waits = g.rule(body{"approvals": 3, "role": "admin"})
		if waits == "" {
			t.Fatal("another role does not wait")
		}
		g.expect("before it is approved", g.need("acc", "instapay", 100), "2 disbursement_authorizer")
		second.Approve(waits).OK()
		g.expect("after", g.need("acc", "instapay", 100), "3 admin")
	})
}

func TestARuleForAClientIsSuspendedWhenAnotherPersonGetsItsSecret(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		g := newGuarded(t, n)
		colleague := g.Member("admin")
		second := n.Person(t, colleague)
		client := g.Machine(g.Owner, "disbursement_manager").UserID
		robot := db.Caller{Actor: audit.Actor{Type: audit.Client, ID: client}}
		terms := body{"approvals": 0, "client_id": client, "up_to_cents": 1_000}
		first, waits := g.rule(terms)
		second.Approve(waits).OK()
		rotate := func(by *servertest.Client) { by.Post(g.Path("/clients/"+client+"/rotate"), nil).OK() }
		g.expect("approved", g.need("acc", "instapay", 100, robot), "0")
		rotate(g.Owner)
		g.expect("with a new secret of who had the old one", g.need("acc", "instapay", 100, robot), "0")
		rotate(colleague)
		g.expect("with one of somebody else", g.need("acc", "instapay", 100, robot), "1")
		if got := g.Owner.Get("/v2/approval-rules?workspace_id=" + g.WorkspaceID).OK().Column("status"); !slices.Equal(got, []string{"suspended"}) {
			t.Errorf("the rules are %v", got)
		}
		_, waits = g.rule(terms)
		g.expect("asked for again", g.need("acc", "instapay", 100, robot), "1")
		second.Approve(waits).OK()
		g.expect("and approved", g.need("acc", "instapay", 100, robot), "0")
		if gone := g.Owner.Delete("/v2/approval-rules/" + first).OK(); gone.Text("status") != "removed" {
			t.Errorf("the end of the suspended one waits: %s", gone.Body)
		}
	})
}

func TestARuleNamesWhatIsThere(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		g := newGuarded(t, n)
		g.Staff("disbursement_authorizer", 1)
		foreign := n.Tenant(t).Account(0)
		post := func(terms body) *servertest.Answer {
			terms["workspace_id"] = g.WorkspaceID
			return g.Owner.Post("/v2/approval-rules", terms)
		}
		post(body{"approvals": 1, "above_cents": 5, "up_to_cents": 5}).Invalid("up_to_cents")
		post(body{"approvals": 1, "role": "viewer"}).Invalid("role")
		if got := post(body{"approvals": 1, "rail": "pigeon"}).Invalid("rail"); !strings.Contains(string(got.Body), "must be one of instapay, pesonet") {
			t.Errorf("an unknown rail: %s", got.Body)
		}
		post(body{"approvals": 1, "account_id": foreign}).Fails(404, "RESOURCE_NOT_FOUND")
		post(body{"approvals": 1, "client_id": g.Owner.UserID}).Fails(404, "RESOURCE_NOT_FOUND")
		g.Owner.Post("/v2/approval-rules", body{"approvals": 1}).Invalid("workspace_id")
		for range 100 {
			g.rule(body{"approvals": 1})
		}
		post(body{"approvals": 1}).Fails(422, "TOO_MANY")
	})
}

// A yen has no cents, and a dinar has a thousand fils: what a rule says must be what it stores.
func TestARuleShowsItsAmountsInTheirCurrency(t *testing.T) {
	file := filepath.Join(t.TempDir(), "rails.json")
	text := `{"rails": [{"name": "zengin", "currency": "JPY", "minimum_cents": 1, "connector": "simulator", "always": true, "members": "I"},
		{"name": "knet", "currency": "KWD", "minimum_cents": 1, "connector": "simulator", "always": true, "members": "I"}]}`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	n := servertest.Start(t, dbtest.SQLite(t), func(c *config.Serve) { c.Rails = file })
	x := n.Tenant(t)
	x.Staff("disbursement_authorizer", 1)
	yen := x.Owner.Post("/v2/accounts", body{"workspace_id": x.WorkspaceID, "name": "Yen", "currency": "JPY"}).Created().Text("id")
	for _, c := range []struct {
		about    body
		currency string
		words    string
	}{
		{body{"rail": "instapay"}, "PHP", "above 12.34"}, {body{"rail": "knet"}, "KWD", "above 1.234"}, {body{"account_id": yen}, "JPY", "above 1,234 "},
		{body{}, "", "above 1234 of the minor unit"},
	} {
		terms := body{"workspace_id": x.WorkspaceID, "approvals": 1, "above_cents": 1234}
		for key, value := range c.about {
			terms[key] = value
		}
		made := x.Owner.Post("/v2/approval-rules", terms).Created()
		row := x.Owner.Get("/v1/audit?workspace_id=" + x.WorkspaceID + "&resource_id=" + made.Text("id")).OK().LastRow("payout.rule.created")
		if got := row["description"].(string); !strings.Contains(got+" ", c.words) {
			t.Errorf("the log says %q, want %q", got, c.words)
		}
		limit := body{"workspace_id": x.WorkspaceID, "per": "day", "amount_cents": 1234}
		for key, value := range c.about {
			limit[key] = value
		}
		x.Owner.Post("/v2/limits", limit).Created()
		for _, list := range []string{"/v2/approval-rules", "/v2/limits"} {
			all := x.Owner.Get(list + "?workspace_id=" + x.WorkspaceID).OK().List()
			if got, _ := all[len(all)-1]["currency"].(string); got != c.currency {
				t.Errorf("%s about %v is in %q, want %q", list, c.about, got, c.currency)
			}
		}
	}
}

// Approvals that keys may give are weaker than those of people, however many there are.
func TestLettingKeysApproveWaitsForAnotherPerson(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		g := newGuarded(t, n)
		second := n.Person(t, g.Member("admin"))
		g.Staff("disbursement_authorizer", 2)
		people, _ := g.rule(body{"approvals": 1})
		keys, waits := g.rule(body{"approvals": 3, "keys_may_approve": true})
		if waits == "" {
			t.Fatal("it holds at once")
		}
		g.expect("before it is approved", g.need("acc", "instapay", 100), "1")
		second.Approve(waits).OK()
		g.expect("beside a rule of people", g.need("acc", "instapay", 100), "3")
		// To end the rule of people lets keys approve, and waits as well.
		gone := g.Owner.Delete("/v2/approval-rules/" + people).OK().Text("approval_id")
		if gone == "" {
			t.Fatal("the rule of people goes at once")
		}
		second.Approve(gone).OK()
		g.expect("without it", g.need("acc", "instapay", 100), "3 keys")
		if done := g.Owner.Delete("/v2/approval-rules/" + keys).OK(); done.Text("approval_id") == "" {
			t.Error("three approvals go at once")
		}
	})
}

func TestKeysApproveOnlyWhereAllRulesLetThem(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		g := newGuarded(t, n)
		g.StoreRule(body{"approvals": 2, "keys_may_approve": true})
		g.expect("alone", g.need("acc", "instapay", 100), "2 keys")
		g.rule(body{"approvals": 0, "rail": "instapay"})
		g.expect("beside a rule that demands nothing", g.need("acc", "instapay", 100), "2 keys")
		g.StoreRule(body{"approvals": 1, "rail": "instapay", "above_cents": 50})
		g.expect("beside a rule that demands a person", g.need("acc", "instapay", 100), "2")
		g.expect("where that does not match", g.need("acc", "instapay", 50), "2 keys")
	})
}
