package payout_test

import (
	"strings"
	"testing"

	"bursar/api"
	"bursar/internal/server/servertest"
)

const evidence = "BPI statement of 16 November, line 12"

func TestWhoMayResolveAPayout(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		id := x.Stuck(api.ModeSandbox)
		resolve := func(c *servertest.Client, content body, headers ...string) *servertest.Answer {
			return c.Do("POST", payouts+"/"+id+"/resolve", content, headers...)
		}
		found := body{"as": "not_paid", "evidence": evidence}
		resolve(n.Tenant(t).Owner, found).Fails(404, "RESOURCE_NOT_FOUND")
		for _, role := range []string{"viewer", "disbursement_manager"} {
			resolve(x.Member(role), found).Fails(403, "FORBIDDEN")
		}
		x.Owner.PayoutIs(id, "processing")

		first := resolve(x.Owner, found, "Idempotency-Key", "once").OK()
		again := resolve(x.Owner, found, "Idempotency-Key", "once").OK()
		if string(first.Body) != string(again.Body) || first.Text("status") != "failed" || first.Text("attention") != "" {
			t.Errorf("answered %s, then %s", first.Body, again.Body)
		}
		resolve(x.Owner, found).Fails(422, "PAYOUT_STATE")
		if n := n.Count(t, `SELECT count(*) FROM payout_attempt WHERE payout_id = $1 AND resolved = 'not_paid' AND submission = 1`, id); n != 1 {
			t.Errorf("%d attempts are resolved", n)
		}
	})
}

func TestALiveResolutionWaitsForAnother(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, maker, second := n.Pair(t)
		id := x.Stuck(api.ModeLive)
		resolve := func(headers ...string) string {
			return maker.Do("POST", payouts+"/"+id+"/resolve", body{"as": "not_paid", "evidence": evidence}, headers...).
				Fails(403, "SECOND_PERSON_REQUIRED").Detail("approval_id")
		}
		waits := resolve("Idempotency-Key", "once")
		if again := resolve("Idempotency-Key", "once"); again != waits {
			t.Errorf("repeated, it waits for %s, not for %s", again, waits)
		}
		var shown api.Approval
		second.Get("/v1/approvals/" + waits).OK().Data(&shown)
		fields := map[string]string{}
		for _, f := range shown.Fields {
			fields[f.Field] = f.After
		}
		if shown.Kind != "payout_resolve" || !shown.CanApprove || fields["evidence"] != evidence || fields["resolved"] != "not paid" ||
			!strings.Contains(fields["result"], "available again") || !strings.HasPrefix(shown.Summary, "Resolve PHP 1,000.00 to Juan dela Cruz") {
			t.Errorf("the approval is %+v", shown)
		}
		second.Post("/v1/approvals/"+waits+"/reject", body{"reason": "the statement is of another day"}).OK()
		maker.PayoutIs(id, "processing")
		waits = resolve()
		n.Person(t, maker).Approve(waits).Fails(403, "FORBIDDEN")
		second.Approve(waits).OK()
		maker.PayoutIs(id, "failed")
		if got := maker.Get(payouts + "/" + id).OK().Text("resolve_approval_id"); got != "" {
			t.Errorf("it still waits for %s", got)
		}
	})
}
