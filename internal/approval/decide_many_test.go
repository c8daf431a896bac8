package approval_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"bursar/api"
	"bursar/internal/server/servertest"
)

// decideAll decides approvals as they are shown to the caller.
func decideAll(c *servertest.Client, workspaceID, decision string, ids []string, headers ...string) *servertest.Answer {
	c.T().Helper()
	var list []body
	for _, id := range ids {
		shown := c.Get("/v1/approvals/" + id)
		one := body{"id": id}
		if decision == "approve" {
			one["digest"] = "unknown"
			if shown.Status == 200 {
				one["digest"] = shown.Text("digest")
			}
		}
		list = append(list, one)
	}
	in := body{"workspace_id": workspaceID, "decision": decision, "approvals": list}
	in[map[string]string{"approve": "verification", "reject": "reason"}[decision]] = "compared with the list"
	return c.Do("POST", "/v1/approvals/decide", in, headers...)
}

// outcomes lists what became of each, as its state or the code of its error.
func outcomes(a *servertest.Answer) string {
	var decided api.ApprovalsDecided
	a.OK().Data(&decided)
	var list []string
	for _, r := range decided.Results {
		if r.OK {
			list = append(list, r.State)
		} else {
			list = append(list, r.Error.Code)
		}
	}
	return strings.Join(list, " ")
}

func TestManyApprovalsAreDecidedInOneRequest(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, maker, second := n.Pair(t)
		colleague := x.Member("admin")
		x.EverybodyCounts()
		var ids, subjects []string
		for i := range 4 {
			subject, id := add(maker, x.Entry("Ada"), fmt.Sprint("10000000", i))
			ids, subjects = append(ids, id), append(subjects, subject)
		}
		_, own := add(n.Person(t, colleague), x.Entry("Bob"), "20000000")
		voider := n.Person(t, colleague)
		// One of them is withdrawn, one was asked for by the caller, one is unknown: the others are decided.
		maker.Post("/v1/approvals/"+ids[1]+"/withdraw", nil).OK()
		mixed := []string{ids[0], ids[1], own, "apr_01jd2s1t3v5w7x9y1z3a5b7c9d", ids[2]}
		got := decideAll(voider, x.WorkspaceID, "approve", mixed, "Idempotency-Key", "once")
		expect(t, "approved", outcomes(got), "approved APPROVAL_DECIDED FORBIDDEN RESOURCE_NOT_FOUND approved")
		for i, want := range map[int]string{0: "active", 1: "rejected", 2: "active", 3: "pending"} {
			if status := n.Count(t, `SELECT count(*) FROM receiving_method WHERE id = $1 AND status = $2`, subjects[i], want); status != 1 {
				t.Errorf("method %d is not %s", i, want)
			}
		}
		for _, subject := range []string{subjects[0], subjects[2]} {
			if log := n.Audited(t, subject); !slices.Contains(log, "directory.receiving_method.approved") {
				t.Errorf("the log has %v", log)
			}
		}
		denied := x.Audit("&action=directory.receiving_method.approved&outcome=denied")
		if len(denied) != 1 {
			t.Errorf("the log has %v of the refusal", denied)
		}
		// Sent again it answers the same, and under another key finds its own decisions.
		replayed := decideAll(voider, x.WorkspaceID, "approve", mixed, "Idempotency-Key", "once")
		expect(t, "sent again", string(replayed.Body), string(got.Body))
		expect(t, "asked again", outcomes(decideAll(voider, x.WorkspaceID, "approve", []string{ids[0], ids[2]})), "approved approved")
		expect(t, "by another", outcomes(decideAll(second, x.WorkspaceID, "approve", []string{ids[0]})), "APPROVAL_DECIDED")
		expect(t, "rejected", outcomes(decideAll(second, x.WorkspaceID, "reject", []string{ids[3]})), "rejected")
	})
}

func TestWhatManyApprovalsHaveToBe(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, maker, second := n.Pair(t)
		_, method := add(maker, x.Entry("Ada"), "1")
		policy := maker.Patch(x.Path("/receiving-policy"), body{"receiving_cooling_hours": 0}).OK().Text("approval_id")
		decideAll(second, x.WorkspaceID, "approve", []string{method, policy}).Invalid("approvals")
		decideAll(second, x.WorkspaceID, "approve", []string{method, method}).Invalid("approvals.1.id")
		second.Post("/v1/approvals/decide", body{"workspace_id": x.WorkspaceID, "decision": "approve", "approvals": []body{{"id": method}}, "verification": "v"}).
			Invalid("approvals.0.digest")
		// Those of another workspace are not found, whoever may decide them there.
		y := n.Tenant(t)
		decideAll(y.Owner, y.WorkspaceID, "approve", []string{method}).Fails(404, "RESOURCE_NOT_FOUND")
		decideAll(y.Owner, x.WorkspaceID, "approve", []string{method}).Fails(404, "RESOURCE_NOT_FOUND")
		// An API key approves none, and a login of long ago neither.
		expect(t, "by an API key", outcomes(decideAll(maker, x.WorkspaceID, "approve", []string{method})), "FORBIDDEN")
		n.Clock.Advance(16 * 60e9)
		decideAll(second, x.WorkspaceID, "approve", []string{method}).Fails(403, "RECENT_LOGIN_REQUIRED")
		expect(t, "it waits", second.Get("/v1/approvals/"+method).OK().Text("state"), "pending")
	})
}

// No one approves a file among others: the digest of its approval is in the list, where its lines are not.
func TestAFileIsNotApprovedAmongOthers(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.FirstTenant(t)
		maker, second := x.Owner, n.Person(t, x.Member("admin"))
		one, other := imported(maker, fileOf("A", 2)), imported(maker, fileOf("B", 2))
		refused := decideAll(second, x.WorkspaceID, "approve", []string{one, other})
		expect(t, "approved", outcomes(refused), "VALIDATION_ERROR VALIDATION_ERROR")
		if !strings.Contains(string(refused.Body), "/v1/approvals/{id}/approve") {
			t.Errorf("the refusal does not name what to do: %s", refused.Body)
		}
		if payable := methodCount(t, n, "active"); payable != 0 {
			t.Errorf("%d are payable", payable)
		}
		second.Approve(one).OK()
		expect(t, "rejected", outcomes(decideAll(second, x.WorkspaceID, "reject", []string{other})), "rejected")
	})
}
