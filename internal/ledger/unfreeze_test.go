package ledger_test

import (
	"net/http"
	"testing"

	"bursar/internal/server/servertest"
)

func TestALiveAccountIsUnfrozenByTwo(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		path := "/v2/accounts/" + x.LiveAccount()
		status := func() string {
			return x.Owner.Get(path).OK().Text("status") + " " + x.Owner.Get(path).OK().Text("name")
		}
		expect := func(when, want string) {
			t.Helper()
			if got := status(); got != want {
				t.Errorf("%s the account is %q, want %q", when, got, want)
			}
		}
		freeze := func() { x.Owner.Patch(path, body{"status": "frozen"}).OK() }
		ask := func(change body) string {
			t.Helper()
			return x.Owner.Patch(path, change).Fails(403, "SECOND_PERSON_REQUIRED").Detail("approval_id")
		}
		freeze()
		x.Owner.Patch(path, body{"status": "active"}).OK()
		expect("unfrozen by a sole person,", "active Real")

		second := n.Person(t, x.Member("admin"))
		x.EverybodyCounts()
		freeze()
		key := []string{"Idempotency-Key", "thaw"}
		waits := x.Owner.Do(http.MethodPatch, path, body{"status": "active"}, key...).Fails(403, "SECOND_PERSON_REQUIRED").Detail("approval_id")
		if again := x.Owner.Do(http.MethodPatch, path, body{"status": "active"}, key...).Fails(403, "SECOND_PERSON_REQUIRED").Detail("approval_id"); again != waits {
			t.Errorf("a retry names %s, want %s", again, waits)
		}
		if again := ask(body{"status": "active"}); again != waits {
			t.Errorf("the same request names %s, want %s", again, waits)
		}
		expect("while it waits,", "frozen Real")
		n.Person(t, x.Owner).Approve(waits).Fails(403, "FORBIDDEN")
		if added := x.RowsAdded(freeze); added != 1 {
			t.Errorf("to freeze it again leaves %d rows", added)
		}
		second.Approve(waits).Fails(422, "APPROVAL_DECIDED")
		if added := x.RowsAdded(freeze); added != 0 {
			t.Errorf("to freeze what is frozen leaves %d rows", added)
		}

		first := ask(body{"status": "active"})
		waits = ask(body{"status": "active", "name": "Wages"})
		second.Approve(first).Fails(422, "APPROVAL_DECIDED")
		expect("while both changes wait,", "frozen Real")
		second.Approve(waits).OK()
		expect("approved,", "active Wages")

		freeze()
		waits = ask(body{"status": "active"})
		x.Owner.Patch(path, body{"name": "Payroll"}).OK()
		second.Approve(waits).Fails(422, "APPROVAL_DECIDED")
		second.Post("/v1/approvals/"+ask(body{"status": "active"})+"/reject", body{"reason": "no"}).OK()
		expect("rejected,", "frozen Payroll")
		n.Tenant(t).Owner.Patch(path, body{"status": "active"}).Fails(404, "RESOURCE_NOT_FOUND")
		x.Member("viewer").Patch(path, body{"status": "active"}).Fails(403, "FORBIDDEN")

		sandbox := "/v2/accounts/" + x.Account(0)
		x.Owner.Patch(sandbox, body{"status": "frozen"}).OK()
		x.Owner.Patch(sandbox, body{"status": "active"}).OK()
	})
}
