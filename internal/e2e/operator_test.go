package e2e_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
	"bursar/internal/wait"
)

func TestOperatorEndpointsAnswer(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		made := initialise(t, store)
		p := start(t, store)
		node := servertest.Remote(t, p.URL, made)
		node.Admin(t).Get("/v1/auth/me").OK()
		for path, want := range map[string]string{
			"/healthz":               `{"status":"ok"}`,
			"/readyz":                `{"status":"ready"}`,
			"/docs":                  "<html",
			"/.well-known/jwks.json": `"crv":"Ed25519"`,
			"/openapi.json":          `"/auth/me"`,
		} {
			if body := string(node.Outside(t, path).OK().Body); !strings.Contains(body, want) {
				t.Errorf("%s does not contain %s:\n%.500s", path, want, body)
			}
		}
		var contract struct{ OpenAPI string }
		if err := json.Unmarshal(node.Outside(t, "/openapi.json").Body, &contract); err != nil || !strings.HasPrefix(contract.OpenAPI, "3.1") {
			t.Errorf("the contract is OpenAPI %q: %v", contract.OpenAPI, err)
		}
		if keys := string(node.Outside(t, "/.well-known/jwks.json").Body); strings.Contains(keys, `"d"`) {
			t.Errorf("private keys are published: %s", keys)
		}
	})
}

func TestMetricsAreServedOnAnAddressOfTheirOwn(t *testing.T) {
	t.Parallel()
	store := dbtest.SQLite(t)
	made := initialise(t, store)
	p := start(t, store, "--metrics-listen", "127.0.0.1:0")
	node := servertest.Remote(t, p.URL, made)
	node.Admin(t).Get("/v1/auth/me").OK()
	aside := servertest.Remote(t, p.aside(t, "metrics"), made)
	if body, want := string(aside.Outside(t, "/metrics").OK().Body), `bursar_http_requests_total{route="GET /v1/auth/me",status="200"} 1`; !strings.Contains(body, want) {
		t.Errorf("the metrics do not contain %s:\n%.500s", want, body)
	}
	wait.Until(t, "metrics include the audit log", func() bool {
		body := string(aside.Outside(t, "/metrics").OK().Body)
		return strings.Contains(body, "\nbursar_audit_tree_size ") && strings.Contains(body, "\nbursar_audit_head_age_seconds ") &&
			strings.Contains(body, `bursar_audit_failures_total{step="witness"} 0`)
	})
	if got := statusAt(t, http.DefaultClient, p.URL+"/metrics"); got != http.StatusNotFound {
		t.Errorf("the service itself answers for metrics with %d", got)
	}
	if got := statusAt(t, http.DefaultClient, aside.URL+"/v1/auth/me"); got != http.StatusNotFound {
		t.Errorf("the address of the metrics answers for the API with %d", got)
	}
}

func TestEveryRequestLeavesOneLineInTheLog(t *testing.T) {
	t.Parallel()
	store := dbtest.SQLite(t)
	made := initialise(t, store)
	p := start(t, store)
	node := servertest.Remote(t, p.URL, made)
	admin := node.Admin(t)
	for _, c := range []struct {
		answer *servertest.Answer
		route  string
		actor  string
	}{
		{admin.Get("/v1/auth/me"), "GET /v1/auth/me", made.UserID},
		{admin.Get("/v1/workspaces/" + made.WorkspaceID), "GET /v1/workspaces/{id}", made.UserID},
		{admin.Do(http.MethodGet, "/v1/directory/entry_none", nil, "X-Request-Id", "mine-1"), "GET /v1/directory/{id}", made.UserID},
		{admin.Post("/v1/directory", servertest.Body{"type": 1}), "POST /v1/directory", made.UserID},
		{node.Stranger(t).Get("/v1/auth/me"), "GET /v1/auth/me", ""},
		{node.Stranger(t).Get("/v1/nowhere"), "unknown", ""},
	} {
		id := c.answer.Header.Get("X-Request-Id")
		var found []map[string]any
		wait.Until(t, "the request is logged", func() bool {
			found = nil
			for _, line := range p.lines(t) {
				if line["msg"] == "request" && line["request_id"] == id {
					found = append(found, line)
				}
			}
			return len(found) > 0
		})
		line := found[0]
		_, timed := line["duration"].(float64)
		if len(found) != 1 || line["route"] != c.route || line["status"] != float64(c.answer.Status) || line["actor"] != c.actor || !timed {
			t.Errorf("%s %d by %q is logged as %v", c.route, c.answer.Status, c.actor, found)
		}
	}
}

// TestLogContainsNoSecrets goes through everything that handles a secret, the right
// way and the wrong way.
func TestLogContainsNoSecrets(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		p := start(t, store, "--log-level", "debug")
		said := p.welcome(t)
		made := setupOf(t, said)
		node := servertest.Remote(t, p.URL, made)
		admin := node.Admin(t)
		const value, query, key, verifier = "tell-nobody-at-all", "tell-no-search", "tell-no-key", "tell-no-verifier-tell-no-verifier-tell-no-verifier"
		id := admin.Do(http.MethodPost, "/v1/directory", servertest.Body{
			"workspace_id": made.WorkspaceID, "type": "person", "name": value, "tags": []string{value}, "fields": servertest.Body{"iban": value, "email": value + "@example.com"},
		}, "Idempotency-Key", key).OK().Text("id")
		method := admin.Post("/v1/directory/"+id+"/receiving-methods", servertest.Body{"provider": "bank", "account_name": value, "account_id": value}).OK().Text("id")
		admin.Patch("/v1/directory/"+id, servertest.Body{"fields": servertest.Body{"iban": value + "2"}}).OK()
		admin.Get("/v1/directory?q=" + query + "&workspace_id=" + made.WorkspaceID).OK()
		admin.Post("/v1/directory", `{"fields": {"iban": "`+value+`"`).Fails(http.StatusBadRequest, "VALIDATION_ERROR")
		admin.Post("/v1/directory", servertest.Body{value: value}).Fails(http.StatusBadRequest, "VALIDATION_ERROR")
		created := admin.Post("/v1/api-keys", servertest.Body{"name": "second"}).OK()
		second := created.Text("api_key")
		rotated := admin.Post("/v1/api-keys/"+created.Text("id")+"/rotate", servertest.Body{"grace_seconds": 0}).OK().Text("api_key")
		code := node.Stranger(t).Post("/v1/auth/device-code", servertest.Body{"intent": value}).OK().Text("code")
		admin.Post("/v1/auth/device-code/"+code+"/approve", nil).OK()
		device := node.Stranger(t).Do(http.MethodGet, "/v1/auth/device-code/"+code, nil, "X-Code-Verifier", verifier).OK().Text("token")
		node.Exchange(t, "Bearer "+second) // rotated out
		node.Exchange(t, "Bearer bk_tell-no-wrong-key").Fails(http.StatusUnauthorized, "UNAUTHORIZED")
		node.Exchange(t, basic("cli_x", "tell-no-client")).Fails(http.StatusUnauthorized, "INVALID_CREDENTIALS")
		node.Holder(t, device+"tell-no-token").Get("/v1/auth/me").Fails(http.StatusUnauthorized, "UNAUTHORIZED")
		node.Holder(t, device).Post("/v1/auth/logout", nil).OK()
		p.terminate(t)

		secrets := []string{
			made.APIKey, second, rotated, admin.Token, device, value, query, key, verifier, "tell-no", code,
			basic("cli_x", "tell-no-client"), id, method,
		}
		for _, secret := range secrets {
			if strings.Contains(p.Log.String(), secret) {
				t.Errorf("%q is in the log", secret)
			}
		}
	})
}
