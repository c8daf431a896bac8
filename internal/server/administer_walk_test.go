package server_test

import (
	"strings"
	"testing"
	"time"

	"bursar/api"
	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
)

// administerSometimes are operations whose request in operations needs no administer, and the one here does. GET /v1/auth/me returns it.
func administerSometimes() map[api.Operation]ask {
	return map[api.Operation]ask{
		api.GetMe: nil,
		api.AddMember: func(x *servertest.Tenant, _ *servertest.Client) request {
			return request{args: []string{x.WorkspaceID}, body: body{"email": servertest.NewEmail(), "role": "admin"}}
		},
		api.AssignRole: func(x *servertest.Tenant, _ *servertest.Client) request {
			return request{args: []string{x.WorkspaceID}, body: body{"user_id": x.Member("viewer").UserID, "role": "admin"}}
		},
		api.PutRole: func(x *servertest.Tenant, _ *servertest.Client) request {
			key := roleKey()
			x.Define(key, "ws.read")
			x.Member(key)
			return request{args: []string{x.WorkspaceID, key}, body: body{"name": "Decides", "permissions": []string{"ws.read", "ws.write"}}}
		},
	}
}

// The contract names administer for each operation that a key without it is refused for, and for no other. It also says so if a person
// needs a recent login.
func TestTheContractNamesAdminister(t *testing.T) {
	t.Parallel()
	contract := readContract(t)
	n := servertest.Start(t, dbtest.SQLite(t))
	for _, o := range operations() {
		if o.need == nothing {
			continue
		}
		x := n.Tenant(t)
		key := keyOf(t, x, body{})
		r := o.ask(x, x.Owner)
		r.headers = nil // of a person
		answer := o.do(key.On(t), r)
		refused := answer.Status == 403 && answer.Detail("permission") == "administer"
		described := contract.operations[o.Name()]
		named := strings.Contains(described.Description, "administer")
		person := n.Person(t, x.Owner)
		n.Clock.Advance(16 * time.Minute)
		stale := o.do(person.On(t), r)
		text := strings.Join(strings.Fields(described.Description), " ")
		if stale.Status == 403 && stale.Code() == "RECENT_LOGIN_REQUIRED" && !strings.Contains(text, "last 15 minutes") && !strings.Contains(text, "RECENT_LOGIN_REQUIRED") {
			t.Errorf("%s needs a recent login, and the contract does not say so", o)
		}
		other, sometimes := administerSometimes()[o.Operation]
		if other != nil {
			o.do(key.On(t), other(x, x.Owner)).Lacks("administer")
		}
		switch {
		case sometimes && !refused && named:
		case sometimes, refused != named:
			t.Errorf("%s: without administer it answers %d %s, and the contract names it: %v", o, answer.Status, answer.Code(), named)
		}
	}
}
