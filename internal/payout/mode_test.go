package payout_test

import (
	"strings"
	"testing"

	"bursar/api"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/identity"
	"bursar/internal/server/servertest"
)

// limitedTo is a session of an API key of the same person that is for money of a mode.
func limitedTo(t *testing.T, c *servertest.Client, mode string) *servertest.Client {
	t.Helper()
	_, key, err := c.Node.Identity.CreateKeyFor(t.Context(), db.Caller{}, c.Get("/v1/auth/me").OK().Text("email"),
		identity.NewKey{Name: mode, Scope: audit.Scope{Mode: mode, Administer: true}})
	if err != nil {
		t.Fatal(err)
	}
	return c.Node.Login(t, key)
}

func TestACredentialOfAModeSeesAndMovesNoOtherMoney(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, maker, _ := n.Pair(t)
		tests, real := x.Account(1_000_000), x.LiveAccount()
		sandbox, live := limitedTo(t, maker, "sandbox"), limitedTo(t, maker, "live")
		paid := maker.Post(payouts, request(tests, 10_000)).Created()
		batch := maker.Post(batches, body{"source_account_id": tests, "currency": "PHP", "payouts": []body{{"amount_cents": 10_000, "settlement_account": to(bpi, "1234567890")}}}).Created()
		ofWorkspace := "?workspace_id=" + x.WorkspaceID
		approvals := "/v1/approvals" + ofWorkspace
		for _, path := range []string{"/v2/accounts/" + tests, "/v2/accounts/" + tests + "/balances", "/v2/accounts/" + tests + "/postings", payouts + "/" + paid.Text("id"),
			batches + "/" + batch.Text("id"), "/v1/approvals/" + paid.Text("approval_id")} {
			sandbox.Get(path).OK()
			live.Get(path).Fails(404, "RESOURCE_NOT_FOUND")
		}
		sandbox.Get("/v2/accounts/"+real).Fails(404, "RESOURCE_NOT_FOUND")
		for path, rows := range map[string]int{"/v2/accounts" + ofWorkspace: 1, payouts + ofWorkspace: 2, payouts + ofWorkspace + "&status=initiated": 2, approvals: 2,
			"/v2/deposits" + ofWorkspace: 1} {
			if got := len(sandbox.Get(path).OK().List()); got != rows {
				t.Errorf("a sandbox credential sees %d of %s", got, path)
			}
			left := 0
			if path == "/v2/accounts"+ofWorkspace {
				left = 1
			}
			if got := len(live.Get(path).OK().List()); got != left {
				t.Errorf("a live credential sees %d of %s", got, path)
			}
		}
		live.Post(payouts+"/"+paid.Text("id")+"/cancel", nil).Fails(404, "RESOURCE_NOT_FOUND")
		denied := live.Post(payouts, request(tests, 10_000)).Fails(403, "FORBIDDEN")
		if got := denied.Detail("permission"); got != "mode:sandbox" {
			t.Errorf("the refusal names %q", got)
		}
		live.Post(payouts+"/validate", request(tests, 10_000)).Fails(403, "FORBIDDEN")
		sandbox.Post(payouts, request(real, 10_000)).Fails(403, "FORBIDDEN")
		sandbox.Post(batches, body{"source_account_id": real, "currency": "PHP", "payouts": []body{{"amount_cents": 10_000, "settlement_account": to(bpi, "1234567890")}}}).Fails(403, "FORBIDDEN")
		sandbox.Post(payouts+"/"+paid.Text("id")+"/cancel", nil).OK()
	})
}

func TestASandboxCredentialOpensAccountsOfTheSandboxAlone(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		live := limitedTo(t, x.Owner, "live")
		live.Post("/v2/accounts", body{"workspace_id": x.WorkspaceID, "name": "Tests", "mode": "sandbox"}).Fails(403, "FORBIDDEN")
		limitedTo(t, x.Owner, "sandbox").Post("/v2/accounts", body{"workspace_id": x.WorkspaceID, "name": "Tests"}).Created()
		live.Post("/v2/transfers", body{"source_account_id": x.Account(100), "destination_account_id": x.Account(0), "amount_cents": 100}).Fails(404, "RESOURCE_NOT_FOUND")
	})
}

func TestASandboxCredentialChangesNoRuleOrLimitThatHoldsForLivePayouts(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		sandbox := limitedTo(t, x.Owner, "sandbox")
		for path, terms := range map[string]body{"/v2/approval-rules": {"approvals": 0}, "/v2/limits": {"per": "payout", "amount_cents": 5_000}} {
			made := map[string]string{}
			for _, mode := range []string{"sandbox", "live", "both"} {
				terms["mode"], terms["workspace_id"] = mode, x.WorkspaceID
				made[mode] = x.Owner.Post(path, terms).Created().Text("id")
			}
			if got := sandbox.Get(path + "?workspace_id=" + x.WorkspaceID).OK().Column("mode"); len(got) != 2 || got[0] == "live" || got[1] == "live" {
				t.Errorf("%s shows those for %v", path, got)
			}
			sandbox.Delete(path+"/"+made["live"]).Fails(404, "RESOURCE_NOT_FOUND")
			sandbox.Delete(path+"/"+made["both"]).Fails(403, "FORBIDDEN")
			sandbox.Delete(path + "/" + made["sandbox"]).OK()
			for _, mode := range []any{"live", "both", nil} {
				if terms["mode"] = mode; mode == nil {
					delete(terms, "mode")
				}
				sandbox.Post(path, terms).Fails(403, "FORBIDDEN")
			}
			terms["mode"] = "sandbox"
			sandbox.Post(path, terms).Created()
		}
	})
}

func TestASandboxCredentialChangesNoPayeeOfLivePayouts(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.FirstTenant(t)
		sandbox := limitedTo(t, x.Owner, "sandbox")
		payee, other := x.Entry("Ada"), x.Entry("Bob")
		methods := "/v1/directory/" + payee + "/receiving-methods"
		id := sandbox.Post(methods, servertest.Account("1234567890", body{"institution_code": bpi})).OK().Text("id")
		x.LiveAccount()
		for _, refused := range []*servertest.Answer{
			sandbox.Post(methods, servertest.Account("1234567891", body{"institution_code": bpi})),
			sandbox.Patch(methods+"/"+id, body{"account_id": "5555555555"}),
			sandbox.Delete(methods + "/" + id),
			sandbox.Patch("/v1/directory/"+payee, body{"external_id": "PWR"}),
			sandbox.Delete("/v1/directory/" + payee),
			sandbox.Post("/v1/directory/"+other+"/merge", body{"sources": []string{payee}}),
			sandbox.Post("/v1/directory/"+payee+"/merge", body{"sources": []string{other}}),
			sandbox.Post("/v1/directory/"+other+"/receiving-methods", servertest.Account("1234567892", body{"institution_code": bpi})),
		} {
			refused.Fails(403, "FORBIDDEN")
		}
		header := "type,name,external_id,method.provider,method.account_name,method.account_id\n"
		if done := sandbox.Import(header+"person,Eve,EVE,bank,Eve,7777777777\n", "match", "external_id").OK(); done.Number("refused") != 1 || done.Number("created") != 0 {
			t.Errorf("the import answers %s", done.Body)
		}
		if left := n.Count(t, `SELECT count(*) FROM directory_entry WHERE external_id = 'EVE'`); left != 0 {
			t.Error("a refused line has left an entry")
		}
		x.Owner.Delete("/v1/directory/" + payee).OK()
		sandbox.Post("/v1/directory/"+payee+"/restore", nil).Fails(403, "FORBIDDEN")
		bulk := func(by *servertest.Client, path string, terms any) *servertest.Answer {
			return by.Post("/v1/directory/bulk"+path, terms).OK()
		}
		x.Owner.Post("/v1/directory/"+payee+"/restore", nil).OK()
		for action, terms := range map[string]body{"deactivate": {}, "tag": {"tag": "vip"}, "delete": {}} {
			terms["workspace_id"], terms["action"], terms["ids"] = x.WorkspaceID, action, []string{payee}
			if done := bulk(sandbox, "", terms); done.Number("refused") != 1 || done.Number("changed") != 0 {
				t.Errorf("%s answers %s", action, done.Body)
			}
		}
		gone := bulk(x.Owner, "", body{"workspace_id": x.WorkspaceID, "action": "delete", "ids": []string{payee}}).Text("id")
		if back := bulk(sandbox, "/"+gone+"/undo", nil); back.Number("refused") != 1 {
			t.Errorf("the undo of a deletion answers %s", back.Body)
		}
		x.Owner.Get("/v1/directory/"+payee).Fails(404, "NOT_FOUND")
		bulk(x.Owner, "/"+gone+"/undo", nil)
		x.Owner.Get("/v1/directory/" + payee).OK()
		sandbox.Patch("/v1/directory/"+other, body{"external_id": "PWR"}).OK() // which nothing can pay
		x.Owner.Patch("/v1/directory/"+payee, body{"external_id": "ADA"}).OK()
	})
}

func TestWhatIsReportedInTheSandboxHoldsUpNoLivePayout(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n, x, live := servertest.StartLive(t, store)
		sandbox := x.Account(10_000)
		closed := x.Owner.Pay(sandbox, 1_000)
		fail(t, n, closed, "ACCOUNT_CLOSED")
		x.Owner.Post(payouts, request(sandbox, 1_000)).Fails(422, "ACCOUNT_CLOSED")
		reported := x.Owner.Pay(live, 1_000)
		fail(t, n, reported, "ACCOUNT_CLOSED")
		x.Owner.Post(payouts, request(live, 1_000)).Fails(422, "ACCOUNT_CLOSED")
	})
}

func TestAConflictDoesNotIdentifyThePayoutOfTheOtherMode(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		named := body{"external_id": "salary of May"}
		sandbox := x.Account(10_000)
		first := x.Owner.Pay(sandbox, 1_000, named)
		refused := limitedTo(t, x.Owner, "live").Post(payouts, request(x.LiveAccount(), 1_000, named)).Fails(409, "IDEMPOTENCY_CONFLICT")
		if strings.Contains(string(refused.Body), first) {
			t.Errorf("the conflict of a live payout identifies one of the sandbox: %s", refused.Body)
		}
		same := x.Owner.Post(payouts, request(sandbox, 2_000, named)).Fails(409, "IDEMPOTENCY_CONFLICT")
		if !strings.Contains(string(same.Body), first) {
			t.Errorf("the conflict in one mode does not identify the payout: %s", same.Body)
		}
	})
}

func TestACredentialOfAModeStopsNoOtherMoney(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		sandbox, stop := limitedTo(t, x.Owner, "sandbox"), x.Path("/payout-stop")
		for _, refused := range []body{{"reason": "x", "mode": "live"}, {"reason": "x"}} {
			if got := sandbox.Post(stop, refused).Fails(403, "FORBIDDEN").Detail("permission"); got != "mode:live" {
				t.Errorf("the refusal of %v names %q", refused, got)
			}
		}
		now := servertest.Decoded[api.PayoutSending](sandbox.Post(stop, body{"reason": "x", "mode": "sandbox"}).OK())
		if now.Live.Stopped || !now.Sandbox.Stopped {
			t.Errorf("stopped: %+v", now)
		}
	})
}

func TestDecidingManyReportsNoDecisionOfTheOtherMode(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n, x, real := servertest.StartLive(t, store)
		second := n.Person(t, x.Member("admin"))
		decide := func(c *servertest.Client, ids ...string) string {
			list := []body{}
			for _, id := range ids {
				list = append(list, body{"id": id, "digest": second.Get("/v1/approvals/" + id).OK().Text("digest")})
			}
			var got []string
			in := body{"workspace_id": x.WorkspaceID, "decision": "approve", "verification": "called them", "approvals": list}
			for _, r := range servertest.Decoded[api.ApprovalsDecided](c.Post("/v1/approvals/decide", in)).Results {
				if r.OK {
					got = append(got, r.State)
				} else {
					got = append(got, r.Error.Code)
				}
			}
			return strings.Join(got, " ")
		}
		waiting := func(account string) string {
			return x.Owner.Post(payouts, request(account, 1_000)).Created().Text("approval_id")
		}
		ofSandbox, ofLive := waiting(x.Account(10_000)), waiting(real)
		for _, step := range []struct {
			by        *servertest.Client
			ids       []string
			want, why string
		}{
			{second, []string{ofSandbox}, "approved", "by a person"},
			{second, []string{ofSandbox}, "approved", "repeated"},
			{limitedTo(t, second, "live"), []string{ofSandbox, ofLive}, "RESOURCE_NOT_FOUND FORBIDDEN", "by a key for live money"},
		} {
			if got := decide(step.by, step.ids...); got != step.want {
				t.Errorf("%s: %s, want %s", step.why, got, step.want)
			}
		}
	})
}
