package server_test

import (
	"bytes"
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
)

const keyHeader = "Idempotency-Key"

// person is a request that makes an entry.
func person(x *servertest.Tenant, name string) body {
	return body{"workspace_id": x.WorkspaceID, "type": "person", "fields": body{}, "name": name}
}

// replayed demands that an answer is an earlier one, byte for byte.
func replayed(t *testing.T, first, again *servertest.Answer) {
	t.Helper()
	if again.Header.Get("Idempotent-Replayed") != "true" || first.Header.Get("Idempotent-Replayed") != "" {
		t.Errorf("Idempotent-Replayed is %q, then %q", first.Header.Get("Idempotent-Replayed"), again.Header.Get("Idempotent-Replayed"))
	}
	if again.Status != first.Status || !bytes.Equal(again.Body, first.Body) || again.Header.Get("Content-Type") != first.Header.Get("Content-Type") {
		t.Errorf("the first answer was %d %s, the second %d %s", first.Status, first.Body, again.Status, again.Body)
	}
}

func TestIdempotentReplay(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)

		t.Run("it happens once and is answered twice", func(t *testing.T) {
			c, name := x.Owner.On(t), "Only Once"
			var first *servertest.Answer
			leaves(t, n, func() { first = c.Once("create-1", "POST", "/v1/directory", person(x, name)).OK() },
				storedRow{"directory.entry.created", "success", "directory_entry"})
			leaves(t, n, func() { replayed(t, first, c.Once("create-1", "POST", "/v1/directory", person(x, name))) })
			if made := n.Count(t, `SELECT count(*) FROM directory_entry WHERE label = $1`, name); made != 1 {
				t.Errorf("%d entries were made", made)
			}
		})

		t.Run("every method that changes something has it", func(t *testing.T) {
			c, entry := x.Owner.On(t), x.Entry("All Methods")
			for _, step := range []struct {
				method, path string
				body         any
			}{
				{"PATCH", "/v1/directory/" + entry, body{"name": "Renamed"}},
				{"DELETE", "/v1/directory/" + entry, nil},
				{"POST", "/v1/directory/" + entry + "/restore", nil},
				{"PUT", x.Path("/roles/repeated"), body{"name": "Repeated", "permissions": []string{}}},
				{"DELETE", x.Path("/roles/repeated"), nil},
			} {
				key := step.method + step.path
				first := c.Once(key, step.method, step.path, step.body).OK()
				leaves(t, n, func() { replayed(t, first, c.Once(key, step.method, step.path, step.body)) })
			}
		})

		t.Run("a key of another request is a conflict", func(t *testing.T) {
			c, entry := x.Owner.On(t), x.Entry("Contested")
			c.Once("used", "PATCH", "/v1/directory/"+entry, body{"name": "Mine"}).OK()
			for name, again := range map[string]func() *servertest.Answer{
				"body": func() *servertest.Answer {
					return c.Once("used", "PATCH", "/v1/directory/"+entry, body{"name": "Yours"})
				},
				"path": func() *servertest.Answer {
					return c.Once("used", "PATCH", "/v1/directory/"+x.Entry("Other"), body{"name": "Mine"})
				},
				"method": func() *servertest.Answer {
					return c.Once("used", "DELETE", "/v1/directory/"+entry, body{"name": "Mine"})
				},
			} {
				if got := again().Fails(409, "IDEMPOTENCY_CONFLICT").Header.Get("Retry-After"); got != "" {
					t.Errorf("another %s is worth retrying after %s", name, got)
				}
			}
			if got := c.Get("/v1/directory/" + entry).OK().Text("name"); got != "Mine" {
				t.Errorf("the entry is named %q", got)
			}
		})

		t.Run("the alias is the same header", func(t *testing.T) {
			c, request := x.Owner.On(t), person(x, "Alias")
			first := c.Once("alias", "POST", "/v1/directory", request).OK()
			replayed(t, first, c.Do("POST", "/v1/directory", request, "X-"+keyHeader, "alias"))
			replayed(t, first, c.Do("POST", "/v1/directory", request, keyHeader, "alias", "X-"+keyHeader, "alias"))
			c.Do("POST", "/v1/directory", request, keyHeader, "alias", "X-"+keyHeader, "other").Invalid(keyHeader)
		})

		t.Run("a key is 1 to 255 visible ASCII characters", func(t *testing.T) {
			c := x.Owner.On(t)
			leaves(t, n, func() {
				for _, key := range []string{"", strings.Repeat("k", 256), "caf\xc3\xa9", "\xff", "two words", "tab\tbed"} {
					c.Once(key, "POST", "/v1/directory", person(x, "Bad Key")).Invalid(keyHeader)
				}
			})
			for _, key := range []string{"!", "~", strings.Repeat("k", 255), `{"a":[1]}/\'<>`} {
				c.Once(key, "POST", "/v1/directory", person(x, "Good Key")).OK()
			}
		})

		t.Run("a read does not care", func(t *testing.T) {
			for range 2 {
				if got := x.Owner.On(t).Once("read", "GET", "/v1/workspaces", nil).OK().Header.Get("Idempotent-Replayed"); got != "" {
					t.Errorf("a read was replayed")
				}
			}
		})

		t.Run("a login is not repeated", func(t *testing.T) {
			secret := x.Owner.On(t).Post("/v1/api-keys", body{"name": "Twice"}).OK().Text("api_key")
			login := func() string {
				return n.Stranger(t).Do("POST", "/v1/auth/token", nil, "Authorization", "Bearer "+secret, keyHeader, "login").OK().Text("token")
			}
			if first, second := login(), login(); first == second {
				t.Error("two logins share a token")
			}
		})
	})
}

func TestIdempotencyIsTheCallers(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		colleague := x.Member("member")
		first := x.Owner.Once("shared", "POST", "/v1/directory", person(x, "Mine")).OK()

		t.Run("another user may use the same key", func(t *testing.T) {
			other := colleague.On(t).Once("shared", "POST", "/v1/directory", person(x, "Mine")).OK()
			if other.Text("id") == first.Text("id") || other.Header.Get("Idempotent-Replayed") != "" {
				t.Errorf("the answer of somebody else came back: %s", other.Body)
			}
		})

		t.Run("another session of the same user replays", func(t *testing.T) {
			session := aSecondSession(x, x.Owner.On(t))
			replayed(t, first, x.Owner.On(t).Do("POST", "/v1/directory", person(x, "Mine"), append(session.headers, keyHeader, "shared")...))
		})
	})
}

func TestRefusalsAreKept(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		c, viewer := x.Owner, x.Member("viewer")
		for name, try := range map[string]struct {
			by           *servertest.Client
			method, path string
			body         any
			status       int
			// mend takes the cause away: without the key the request would succeed.
			mend func()
		}{
			"400": {c, "POST", x.Path("/members"), body{"email": servertest.NewEmail(), "role": "late"}, 400, func() { x.Define("late", "ws.read") }},
			"403": {viewer, "POST", "/v1/directory", person(x, "Refused"), 403, func() { x.Add(viewer.Email(), "member") }},
			"404": {c, "DELETE", x.Path("/roles/later"), nil, 404, func() { x.Define("later", "ws.read") }},
			"422": {c, "POST", "/v1/workspaces", body{"name": "W", "slug": "payroll", "organization_id": x.OrganizationID}, 422,
				func() { c.Patch(x.Path(""), body{"slug": "moved"}).OK() }},
		} {
			t.Run(name, func(t *testing.T) {
				by := try.by.On(t)
				first := by.Once(name, try.method, try.path, try.body)
				if first.Status != try.status {
					t.Fatalf("got %d %s", first.Status, first.Body)
				}
				try.mend()
				leaves(t, n, func() { replayed(t, first, by.Once(name, try.method, try.path, try.body)) })
				by.Do(try.method, try.path, try.body).OK()
			})
		}
	})
}

func TestIdempotencyEndsAfterADay(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		ws := n.First.WorkspaceID
		create := func() *servertest.Answer {
			return n.Admin(t).Once("daily", "POST", "/v1/directory", body{"workspace_id": ws, "type": "person", "fields": body{}}).OK()
		}
		tidy := func() {
			if err := n.Server.Tidy(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		first := create()
		n.Clock.Advance(24*time.Hour - time.Minute)
		tidy()
		replayed(t, first, create())
		n.Clock.Advance(2 * time.Minute)
		second := create()
		if second.Text("id") == first.Text("id") || second.Header.Get("Idempotent-Replayed") != "" {
			t.Errorf("after a day came %s", second.Body)
		}
		replayed(t, second, create())
		n.Clock.Advance(24 * time.Hour)
		for range 24 * 60 {
			n.Clock.Advance(time.Minute)
			tidy()
		}
		if left := n.Count(t, `SELECT count(*) FROM idempotency`); left != 0 {
			t.Errorf("%d records are left", left)
		}
	})
}

func TestReplayedSecretIsStoredNowhereInClear(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		c := n.Tenant(t).Owner
		first := c.Once("new-key", "POST", "/v1/api-keys", body{"name": "CI"}).OK()
		replayed(t, first, c.Once("new-key", "POST", "/v1/api-keys", body{"name": "CI"}))
		n.Login(t, first.Text("api_key"))
		if keys := c.Get("/v1/api-keys").OK().Column("name"); len(keys) != 2 {
			t.Errorf("keys are %v, want one more than at first", keys)
		}
		secret := []byte(first.Text("api_key"))
		err := n.DB.Read(t.Context(), func(q db.Q) error {
			return q.Each(func(r db.Rows) error {
				for i := range 2 {
					decoded, _ := base64.StdEncoding.DecodeString(r.Text(i))
					if bytes.Contains(r.Raw(i), secret) || bytes.Contains(decoded, secret) || strings.Contains(r.Text(i), "new-key") {
						t.Errorf("column %d holds it: %s", i, r.Text(i))
					}
				}
				return nil
			}, `SELECT id, answer FROM idempotency`)
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

func TestReplaySurvivesARestart(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		x := servertest.Start(t, store).Tenant(t)
		first := x.Owner.Once("restart", "POST", "/v1/directory", person(x, "Durable")).OK()
		again := x.Owner.On(t)
		again.Node = servertest.Start(t, store)
		replayed(t, first, again.Once("restart", "POST", "/v1/directory", person(x, "Durable")))
		again.Once("restart", "POST", "/v1/directory", person(x, "Changed")).Fails(409, "IDEMPOTENCY_CONFLICT")
	})
}
