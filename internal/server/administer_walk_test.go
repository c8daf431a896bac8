package server_test

import (
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"bursar/api/openapi"
	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
)

// administerSometimes are operations whose request in operations needs no administer, and others do.
func administerSometimes() map[string]any {
	return map[string]any{
		"GET /v1/auth/me":                      nil, // which returns it
		"DELETE /v1/api-keys/{id}":             nil, // of a key that was not made with this one
		"PUT /v1/workspaces/{id}/roles/{role}": nil, // of a role that somebody has: see workspace.TestAKeyThatDoesNotAdministerLetsNobodyDecide
		"POST /v1/workspaces/{id}/members":     body{"email": servertest.NewEmail(), "role": "admin"},
		"POST /v1/workspaces/{id}/roles":       body{"role": "admin"},
	}
}

// The contract names administer for each operation that a key without it is refused for, and for no other. It also says so if a person
// needs a recent login.
func TestTheContractNamesAdminister(t *testing.T) {
	t.Parallel()
	text, err := openapi.JSON()
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		Paths map[string]map[string]jsontext.Value `json:"paths"`
	}
	if err := json.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
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
		_, path, _ := strings.Cut(o.route, " ")
		contract := document.Paths["/"+strings.SplitN(path, "/", 3)[2]][strings.ToLower(o.method())]
		var described struct {
			Description string `json:"description"`
		}
		if err := json.Unmarshal(contract, &described); err != nil {
			t.Fatalf("%s: %v", o.route, err)
		}
		named := strings.Contains(described.Description, "administer")
		person := n.Person(t, x.Owner)
		n.Clock.Advance(16 * time.Minute)
		stale := o.do(person.On(t), r)
		text := strings.Join(strings.Fields(described.Description), " ")
		if stale.Status == 403 && stale.Code() == "RECENT_LOGIN_REQUIRED" && !strings.Contains(text, "last 15 minutes") && !strings.Contains(text, "RECENT_LOGIN_REQUIRED") {
			t.Errorf("%s needs a recent login, and the contract does not say so", o.route)
		}
		other, sometimes := administerSometimes()[o.route]
		if content, ok := other.(body); ok {
			if sent, ok := r.body.(body); ok && content["email"] == nil {
				content["user_id"] = sent["user_id"]
			}
			r.body = content
			o.do(key.On(t), r).Lacks("administer")
		}
		switch {
		case sometimes && !refused && named:
		case sometimes, refused != named:
			t.Errorf("%s: without administer it answers %d %s, and the contract names it: %v", o.route, answer.Status, answer.Code(), named)
		}
	}
}
