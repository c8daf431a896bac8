package server_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/identity"
	"bursar/internal/server/servertest"
)

// robot is a machine client that sends its id and secret with every request.
type robot struct {
	*servertest.Client
	id, secret string
}

func newRobot(t *testing.T, x *servertest.Tenant, role string) robot {
	t.Helper()
	id, secret, err := x.Node.Identity.CreateClient(t.Context(), db.Caller{}, x.WorkspaceID, "Robot", role)
	if err != nil {
		t.Fatal(err)
	}
	return robot{x.Node.Stranger(t), id, secret}
}

func (r robot) do(method, path string, content any, headers ...string) *servertest.Answer {
	return r.Do(method, path, content, append([]string{"Authorization", servertest.Basic(r.id, r.secret)}, headers...)...)
}

func TestAMachineClientActsInItsWorkspaceWithItsSecretAlone(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, other := n.Tenant(t), n.Tenant(t)
		r := newRobot(t, x, "admin")
		id := r.do("POST", "/v2/accounts", body{"name": "Payroll"}, keyHeader, "open").Created().Text("id")
		again := r.do("POST", "/v2/accounts", body{"name": "Payroll"}, keyHeader, "open").Created()
		if again.Text("id") != id || again.Header.Get("Idempotent-Replayed") != "true" {
			t.Errorf("the same key answers %s", again.Body)
		}
		r.do("POST", "/v2/accounts", body{"name": "Other"}, keyHeader, "open").Fails(409, "IDEMPOTENCY_CONFLICT")
		if got := r.do("GET", "/v2/accounts", nil).OK().Column("id"); len(got) != 1 || got[0] != id {
			t.Errorf("the accounts are %v", got)
		}
		r.do("GET", "/v2/deposits", nil).OK()
		r.do("GET", "/v2/accounts?workspace_id="+x.WorkspaceID, nil).OK()
		r.do("GET", "/v2/accounts?workspace_id="+other.WorkspaceID, nil).Fails(404, "RESOURCE_NOT_FOUND")
		r.do("GET", "/v2/accounts/"+other.Account(0), nil).Fails(404, "RESOURCE_NOT_FOUND")
		x.Owner.Get("/v2/accounts").Invalid("workspace_id") // a person says which
		// A session of the same client means the same workspace, and keys are those of the client.
		session := n.Holder(t, n.Exchange(t, servertest.Basic(r.id, r.secret)).OK().Text("token"))
		if got := session.Do("POST", "/v2/accounts", body{"name": "Payroll"}, keyHeader, "open").Created().Text("id"); got != id {
			t.Errorf("the session made account %s", got)
		}
		row := x.Owner.Get("/v1/audit?action=money.account.created&resource_id=" + id + "&workspace_id=" + x.WorkspaceID).OK().List()
		if len(row) != 1 || row[0]["actor_id"] != r.id || row[0]["actor_type"] != "client" {
			t.Errorf("the log has %v", row)
		}
		newRobot(t, x, "viewer").do("POST", "/v2/accounts", body{"name": "No"}).Fails(403, "FORBIDDEN")
		// Only /v2 takes it.
		r.do("GET", "/v1/auth/me", nil).Fails(401, "UNAUTHORIZED")
	})
}

func TestWhatIsWrongWithABasicHeader(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		r, stranger := newRobot(t, x, "admin"), n.Stranger(t)
		_, _, key := n.NewKey(t, identity.NewKey{})
		before := n.Count(t, `SELECT count(*) FROM audit_entry WHERE action = 'auth.login.failed'`)
		for header, code := range map[string]string{
			"":                                   "UNAUTHORIZED",
			"Basic":                              "UNAUTHORIZED",
			"Basic !":                            "UNAUTHORIZED",
			"Basic bm8gY29sb24=":                 "UNAUTHORIZED",
			"Digest x":                           "UNAUTHORIZED",
			"Bearer " + key:                      "UNAUTHORIZED", // an API key is exchanged first
			servertest.Basic(r.id, "wrong"):      "INVALID_CREDENTIALS",
			servertest.Basic(r.id, ""):           "INVALID_CREDENTIALS",
			servertest.Basic("cli_no", "x"):      "INVALID_CREDENTIALS",
			servertest.Basic(r.id, r.secret+" "): "INVALID_CREDENTIALS",
		} {
			stranger.Do("GET", "/v2/accounts", nil, authorization(header)...).Fails(401, code)
		}
		if failed := n.Count(t, `SELECT count(*) FROM audit_entry WHERE action = 'auth.login.failed'`) - before; failed != 4 {
			t.Errorf("%d failed logins are in the log", failed)
		}
		r.do("GET", "/v2/accounts", nil).OK()
	})
}

// What was remembered about a secret ends at once, on every node, when the secret does.
func TestASecretThatEndsIsNotRemembered(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		x := n.Tenant(t)
		for name, end := range map[string]func(r robot){
			"rotated": func(r robot) { x.Owner.Post(x.Path("/clients/"+r.id+"/rotate"), nil).OK() },
			"revoked": func(r robot) {
				if err := n.Identity.RevokeClient(t.Context(), db.Caller{}, r.id); err != nil {
					t.Fatal(err)
				}
			},
		} {
			r := newRobot(t, x, "admin")
			for range 2 {
				r.do("GET", "/v2/accounts", nil).OK()
			}
			end(r)
			r.do("GET", "/v2/accounts", nil).Fails(401, "INVALID_CREDENTIALS")
			t.Log(name)
		}
		r := newRobot(t, x, "viewer")
		r.do("GET", "/v2/accounts", nil).OK()
		x.Owner.Delete(x.Path("/roles/" + r.id + "/viewer")).OK()
		r.do("GET", "/v2/accounts", nil).Fails(403, "FORBIDDEN")
	})
}

// A secret that was made in a session of an API key works from the key's networks, and ends with it.
func TestASecretDependsOnTheKeyThatItWasMadeWith(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store, servertest.TrustProxy())
		x := n.Tenant(t)
		r := newRobot(t, x, "admin")
		ends := n.DB.Now() + time.Hour.Milliseconds()
		key := x.Owner.Post("/v1/api-keys", body{"name": "Ops", "expires_at": ends, "allowed_cidrs": []string{"192.0.2.0/24"}, "administer": true}).OK().Text("api_key")
		session := n.Exchange(t, "Bearer "+key, servertest.From("192.0.2.1")...).OK().Text("token")
		r.secret = n.Holder(t, session).Post(x.Path("/clients/"+r.id+"/rotate"), nil).OK().Text("secret")
		for range 2 {
			r.do("GET", "/v2/accounts", nil, servertest.From("192.0.2.9")...).OK()
			r.do("GET", "/v2/accounts", nil, servertest.From("198.51.100.9")...).Fails(401, "INVALID_CREDENTIALS")
		}
		n.Clock.Advance(time.Hour + time.Minute)
		r.do("GET", "/v2/accounts", nil, servertest.From("192.0.2.9")...).Fails(401, "INVALID_CREDENTIALS")
	})
}

func TestGuessingSecretsIsLimited(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store, servertest.TrustProxy(), servertest.RateLimit("1000/s"))
		r := newRobot(t, n.Tenant(t), "admin")
		guess := func(from string) *servertest.Answer {
			return n.Stranger(t).Do("GET", "/v2/accounts", nil, append([]string{"Authorization", servertest.Basic(r.id, strings.Repeat("x", 10))}, servertest.From(from)...)...)
		}
		for range 20 {
			guess("192.0.2.1").Fails(http.StatusUnauthorized, "INVALID_CREDENTIALS")
		}
		guess("192.0.2.1").Fails(http.StatusTooManyRequests, "RATE_LIMITED")
		guess("192.0.2.2").Fails(http.StatusUnauthorized, "INVALID_CREDENTIALS")
	})
}

// A client that is in use is shown as in use, though it has no session.
func TestTheLastUseOfASecretIsNoted(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		r := newRobot(t, x, "viewer")
		r.do("GET", "/v2/accounts", nil).OK()
		list := x.Owner.Get(x.Path("/clients")).OK().List()
		if len(list) != 1 || list[0]["last_used_at"] == nil {
			t.Errorf("the clients are %v", list)
		}
	})
}
