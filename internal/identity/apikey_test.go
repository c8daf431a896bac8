package identity_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/identity"
	"bursar/internal/server/servertest"
)

func createKey(by *servertest.Client, body servertest.Body) (id, secret string) {
	if body["name"] == nil {
		body["name"] = "test"
	}
	answer := by.Post("/v1/api-keys", body).OK()
	return answer.Text("id"), answer.Text("api_key")
}

// listed is a key in the caller's list, nil where it is not there.
func listed(by *servertest.Client, id string) servertest.Body {
	for _, key := range by.Get("/v1/api-keys").OK().List() {
		if key["id"] == id {
			return key
		}
	}
	return nil
}

func TestAPIKeyCreation(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		user := n.User(t, servertest.NewEmail())
		t.Run("the answer carries the secret once", func(t *testing.T) {
			user := user.On(t)
			end := n.DB.Now() + time.Hour.Milliseconds()
			made := user.Post("/v1/api-keys", servertest.Body{
				"name": "Nightly", "expires_at": end, "allowed_cidrs": []string{"10.1.2.3/8", "2001:DB8::1/32"},
			}).OK()
			if made.Number("expires_at") != end || made.Text("name") != "Nightly" || made.Number("created_at") == 0 {
				t.Errorf("the answer is %s", made.Body)
			}
			if got, want := fmt.Sprint(made.Object()["allowed_cidrs"]), "[10.0.0.0/8 2001:db8::/32]"; got != want {
				t.Errorf("allowed_cidrs are %s, want %s", got, want)
			}
			key := listed(user, made.Text("id"))
			if key["name"] != "Nightly" || key["expires_at"] != float64(end) || key["last_used_at"] != nil || key["api_key"] != nil {
				t.Errorf("it is listed as %v", key)
			}
			if key["created_at"] != float64(made.Number("created_at")) {
				t.Errorf("it was made at %d and is listed with %v", made.Number("created_at"), key["created_at"])
			}
		})
		t.Run("the key logs its owner in", func(t *testing.T) {
			_, secret := createKey(user.On(t), servertest.Body{})
			if got := n.Login(t, secret).UserID; got != user.UserID {
				t.Errorf("the key belongs to %s, want %s", got, user.UserID)
			}
		})
		t.Run("a name may be used twice", func(t *testing.T) {
			first, _ := createKey(user.On(t), servertest.Body{"name": "twin"})
			if second, _ := createKey(user.On(t), servertest.Body{"name": "twin"}); first == second {
				t.Error("both are the same key")
			}
		})
		t.Run("allowed_cidrs limit where the key works", func(t *testing.T) {
			_, here := createKey(user.On(t), servertest.Body{"allowed_cidrs": []string{"127.0.0.0/8", "::1/128"}})
			n.Login(t, here)
			_, elsewhere := createKey(user.On(t), servertest.Body{"allowed_cidrs": []string{"203.0.113.0/24"}})
			n.Exchange(t, "Bearer "+elsewhere).Fails(401, "UNAUTHORIZED")
		})
		t.Run("a key ends when it expires", func(t *testing.T) {
			_, secret := createKey(user.On(t), servertest.Body{"expires_at": n.DB.Now() + 60_000})
			n.Login(t, secret)
			n.Clock.Advance(61 * time.Second)
			n.Exchange(t, "Bearer "+secret).Fails(401, "UNAUTHORIZED")
		})
	})
}

func TestAPIKeyValidation(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		user := n.User(t, servertest.NewEmail())
		for name, c := range map[string]struct {
			body   any
			fields []string
		}{
			"a blank name":                   {servertest.Body{"name": "  "}, []string{"name"}},
			"control characters in the name": {servertest.Body{"name": "a\tb"}, []string{"name"}},
			"an expiry in the past":          {servertest.Body{"name": "k", "expires_at": 1}, []string{"expires_at"}},
			"an expiry in seconds":           {servertest.Body{"name": "k", "expires_at": time.Now().Unix() + 3600}, []string{"expires_at"}},
			"an expiry of nothing":           {servertest.Body{"name": "k", "expires_at": 0}, []string{"expires_at"}},
			"an address for a network":       {servertest.Body{"name": "k", "allowed_cidrs": []string{"192.0.2.1"}}, []string{"allowed_cidrs"}},
			"a network that is none":         {servertest.Body{"name": "k", "allowed_cidrs": []string{"192.0.2.0/33"}}, []string{"allowed_cidrs"}},
			"everything":                     {servertest.Body{"expires_at": 1, "allowed_cidrs": []string{"x"}}, []string{"name", "expires_at", "allowed_cidrs"}},
		} {
			t.Run("refuses "+name, func(t *testing.T) { user.On(t).Post("/v1/api-keys", c.body).Invalid(c.fields...) })
		}
		for name, body := range map[string]servertest.Body{
			"a name of 100 letters": {"name": strings.Repeat("é", 100)},
			"no networks":           {"allowed_cidrs": []string{}},
			"32 networks":           {"allowed_cidrs": slices.Repeat([]string{"192.0.2.0/24"}, 32)},
		} {
			t.Run("takes "+name, func(t *testing.T) { createKey(user.On(t), body) })
		}
	})
}

func TestAPIKeysBelongToTheirOwner(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		admin, user := n.Admin(t), n.User(t, servertest.NewEmail())
		id, secret := createKey(user, servertest.Body{})
		t.Run("nobody else lists, rotates or revokes them", func(t *testing.T) {
			admin := admin.On(t)
			if key := listed(admin, id); key != nil {
				t.Errorf("somebody else's key is listed: %v", key)
			}
			admin.Post("/v1/api-keys/"+id+"/rotate", nil).Fails(404, "RESOURCE_NOT_FOUND")
			admin.Delete("/v1/api-keys/"+id).Fails(404, "RESOURCE_NOT_FOUND")
			n.Login(t, secret)
		})
		t.Run("what does not exist cannot be told from what is somebody else's", func(t *testing.T) {
			foreign, unknown := admin.On(t).Delete("/v1/api-keys/"+id), admin.On(t).Delete("/v1/api-keys/key_nobody")
			if string(foreign.Body) != string(unknown.Body) {
				t.Errorf("%s differs from %s", foreign.Body, unknown.Body)
			}
		})
		t.Run("a machine client has none", func(t *testing.T) {
			id, secret, err := n.Identity.CreateClient(t.Context(), db.Caller{}, n.First.WorkspaceID, "Payroll", "admin")
			if err != nil {
				t.Fatalf("create a client: %v", err)
			}
			client := n.Holder(t, n.Exchange(t, servertest.Basic(id, secret)).OK().Text("token"))
			client.Post("/v1/api-keys", servertest.Body{"name": "mine"}).Fails(403, "FORBIDDEN")
			if keys := client.Get("/v1/api-keys").OK().List(); len(keys) != 0 {
				t.Errorf("its keys are %v", keys)
			}
			path := "/v1/audit?outcome=denied&actor=" + id + "&organization_id=" + n.First.OrganizationID
			admin.On(t).Get(path).LastRow("auth.key.created")
		})
	})
}

func TestRevokedAPIKeyIsOutAtOnce(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		user := n.User(t, servertest.NewEmail())
		id, secret := createKey(user, servertest.Body{})
		session := n.Login(t, secret)
		session.Get("/v1/auth/me").OK()
		if got := user.Delete("/v1/api-keys/" + id).OK().Object(); got["id"] != id || got["revoked"] != true {
			t.Errorf("revoking answers %v", got)
		}
		session.Get("/v1/auth/me").Fails(401, "UNAUTHORIZED")
		n.Exchange(t, "Bearer "+secret).Fails(401, "UNAUTHORIZED")
		user.Get("/v1/auth/me").OK()
		if key := listed(user, id); key != nil {
			t.Errorf("it is still listed: %v", key)
		}
		user.Delete("/v1/api-keys/"+id).Fails(404, "RESOURCE_NOT_FOUND")
		user.Post("/v1/api-keys/"+id+"/rotate", nil).Fails(404, "RESOURCE_NOT_FOUND")
		t.Run("also by a session of its own", func(t *testing.T) {
			id, secret := createKey(user.On(t), servertest.Body{})
			own := n.Login(t, secret)
			own.Delete("/v1/api-keys/" + id).OK()
			own.Get("/v1/auth/me").Fails(401, "UNAUTHORIZED")
		})
	})
}

func TestAPIKeyLimit(t *testing.T) {
	t.Parallel()
	const most = 100
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		email := servertest.NewEmail()
		user := n.User(t, email) // has one key
		for range most - 1 - 4 {
			if _, _, err := n.Identity.CreateKeyFor(t.Context(), db.Caller{}, email, identity.NewKey{Name: "test"}); err != nil {
				t.Fatalf("create a key: %v", err)
			}
		}
		answers := make([]*servertest.Answer, 12)
		atOnce(len(answers), func(i int) { answers[i] = user.Post("/v1/api-keys", servertest.Body{"name": "racer"}) })
		for _, answer := range answers {
			if answer.Status != 200 {
				answer.Fails(422, "TOO_MANY")
			}
		}
		keys := user.Get("/v1/api-keys").OK().Column("id")
		if len(keys) != most {
			t.Fatalf("there are %d keys, want %d", len(keys), most)
		}
		last := "/v1/api-keys/" + keys[most-1]
		t.Run("one more is refused", func(t *testing.T) {
			user.On(t).Post("/v1/api-keys", servertest.Body{"name": "one more"}).Fails(422, "TOO_MANY")
		})
		t.Run("so is a rotation that leaves both alive", func(t *testing.T) {
			user.On(t).Post(last+"/rotate", nil).Fails(422, "TOO_MANY")
		})
		t.Run("one that ends the old key at once is not", func(t *testing.T) {
			last = "/v1/api-keys/" + user.On(t).Post(last+"/rotate", servertest.Body{"grace_seconds": 0}).OK().Text("id")
		})
		t.Run("a revoked key makes room", func(t *testing.T) {
			user.On(t).Delete(last).OK()
			createKey(user.On(t), servertest.Body{})
		})
	})
}
