package identity_test

import (
	"encoding/base64"
	"regexp"
	"strings"
	"testing"
	"time"

	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/identity"
	"bursar/internal/server/servertest"
)

func revokedKey(t testing.TB, n *servertest.Node) string {
	_, id, secret := n.NewKey(t, identity.NewKey{})
	if _, err := n.Identity.RevokeAnyKey(t.Context(), db.Caller{}, id); err != nil {
		t.Fatalf("revoke a key: %v", err)
	}
	return secret
}

func expiredKey(t testing.TB, n *servertest.Node) string {
	_, _, secret := n.NewKey(t, identity.NewKey{ExpiresAt: n.DB.Now() - 1})
	return secret
}

func disabledUsersKey(t testing.TB, n *servertest.Node) string {
	email, _, secret := n.NewKey(t, identity.NewKey{})
	if _, err := n.Identity.DisableUser(t.Context(), db.Caller{}, email); err != nil {
		t.Fatalf("disable a user: %v", err)
	}
	return secret
}

// invitedUsersKey cannot be had from the service, which completes the user.
func invitedUsersKey(t testing.TB, n *servertest.Node) string {
	secret, err := db.Write(t.Context(), n.DB, db.Caller{}, func(tx *db.Tx) (string, audit.Event, error) {
		id, _, err := identity.EnsureUser(tx, identity.NewUser{Email: servertest.NewEmail(), Invited: true})
		if err != nil {
			return "", audit.Event{}, err
		}
		key, err := identity.InsertKey(tx, identity.NewKey{UserID: id, Name: "test"})
		return key.APIKey, audit.Event{Action: audit.KeyCreated}, err
	})
	if err != nil {
		t.Fatalf("make an invited user: %v", err)
	}
	return secret
}

func TestAPIKeyIsExchangedForASession(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store, servertest.TrustProxy())
		t.Run("a good key starts a session of its owner for an hour", func(t *testing.T) {
			before := n.DB.Now()
			session := n.Exchange(t, "Bearer "+n.First.APIKey).OK()
			if got := session.Text("user_id"); got != n.First.UserID {
				t.Errorf("user_id is %q, want %q", got, n.First.UserID)
			}
			end, hour := session.Number("expires_at"), time.Hour.Milliseconds()
			if end < before+hour || end > n.DB.Now()+hour {
				t.Errorf("expires_at is %d, an hour from now is %d", end, n.DB.Now()+hour)
			}
			me := n.Holder(t, session.Text("token")).Get("/v1/auth/me").OK().Object()
			if me["id"] != n.First.UserID || me["email"] != "admin@example.com" || me["name"] != "Admin" || len(me) != 3 {
				t.Errorf("the session's user is %v", me)
			}
		})
		t.Run("every exchange starts a session of its own", func(t *testing.T) {
			first, second := n.Admin(t), n.Admin(t)
			first.Post("/v1/auth/logout", nil).OK()
			second.Get("/v1/auth/me").OK()
		})
		t.Run("the name of the scheme may be in any case", func(t *testing.T) {
			n.Exchange(t, "bEARER "+n.First.APIKey).OK()
		})
		t.Run("a key is recognizable", func(t *testing.T) {
			if !regexp.MustCompile(`^bk_[0-9A-Za-z]{36}$`).MatchString(n.First.APIKey) {
				t.Fatalf("the key %q has another form", n.First.APIKey)
			}
			if want := servertest.WithChecksum(n.First.APIKey[3:33]); n.First.APIKey != want {
				t.Errorf("the key is %q, with the right checksum it is %q", n.First.APIKey, want)
			}
		})
	})
}

func TestRefusedAPIKeys(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store, servertest.TrustProxy())
		_, _, elsewhere := n.NewKey(t, identity.NewKey{AllowedCIDRs: []string{"203.0.113.0/24"}})
		for name, key := range map[string]string{
			"garbage":                       "garbage",
			"only the prefix":               "bk_",
			"too short":                     n.First.APIKey[:20],
			"too long":                      n.First.APIKey + "A",
			"another prefix":                "sk_" + n.First.APIKey[3:],
			"wrong checksum":                servertest.OtherEnd(n.First.APIKey),
			"unknown":                       servertest.WithChecksum(strings.Repeat("x", 30)),
			"revoked":                       revokedKey(t, n),
			"expired":                       expiredKey(t, n),
			"of a disabled user":            disabledUsersKey(t, n),
			"of an invited user":            invitedUsersKey(t, n),
			"not allowed from this address": elsewhere,
			"a session token":               n.Admin(t).Token,
		} {
			t.Run(name, func(t *testing.T) {
				refused := n.Exchange(t, "Bearer "+key).Fails(401, "UNAUTHORIZED")
				// Anyone who holds a dead key must not learn why it is dead.
				if got := refused.Message(); got != "invalid API key" {
					t.Errorf("the message is %q", got)
				}
			})
		}
		for name, header := range map[string]string{
			"no header":           "",
			"a scheme alone":      "Bearer",
			"a scheme and spaces": "Bearer  ",
			"no scheme":           n.First.APIKey,
			"another scheme":      "Token " + n.First.APIKey,
			"not UTF-8":           "Bearer \xff\xfe",
		} {
			t.Run(name, func(t *testing.T) { n.Exchange(t, header).Fails(401, "UNAUTHORIZED") })
		}
	})
}

func TestAllowedNetworksOfAnAPIKey(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		behindProxy := servertest.Start(t, store, servertest.TrustProxy())
		_, _, key := behindProxy.NewKey(t, identity.NewKey{AllowedCIDRs: []string{"203.0.113.0/24", "2001:db8::/32"}})
		for from, allowed := range map[string]bool{
			"203.0.113.9":                 true,
			"2001:db8::9":                 true,
			"::ffff:203.0.113.9":          true,
			"198.51.100.1, 203.0.113.9":   true, // what the trusted proxy adds counts
			"203.0.114.9":                 false,
			"2001:db9::9":                 false,
			"203.0.113.9, 198.51.100.1":   false, // the first hop can be made up
			"203.0.113.9, not-an-address": false,
		} {
			t.Run("from "+from, func(t *testing.T) {
				answer := behindProxy.Exchange(t, "Bearer "+key, servertest.From(from)...)
				if allowed {
					answer.OK()
				} else {
					answer.Fails(401, "UNAUTHORIZED")
				}
			})
		}
		t.Run("a forwarded address that no trusted proxy vouches for is not believed", func(t *testing.T) {
			direct := servertest.Start(t, store)
			direct.Exchange(t, "Bearer "+key, servertest.From("203.0.113.9")...).Fails(401, "UNAUTHORIZED")
		})
	})
}

func TestClientCredentials(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		create := func(t *testing.T) (id, secret string) {
			id, secret, err := n.Identity.CreateClient(t.Context(), db.Caller{}, n.First.WorkspaceID, "Payroll", "viewer")
			if err != nil {
				t.Fatalf("create a client: %v", err)
			}
			return id, secret
		}
		id, secret := create(t)
		t.Run("a good pair starts a session of the client", func(t *testing.T) {
			session := n.Exchange(t, servertest.Basic(id, secret)).OK()
			if got := session.Text("user_id"); got != id {
				t.Errorf("user_id is %q, want %q", got, id)
			}
			client := n.Holder(t, session.Text("token"))
			me := client.Get("/v1/auth/me").OK().Object()
			if me["id"] != id || me["email"] != "" || me["name"] != "Payroll" {
				t.Errorf("the session's user is %v", me)
			}
			client.Get("/v1/directory?workspace_id=" + n.First.WorkspaceID).OK()
			client.Get("/v1/audit?workspace_id="+n.First.WorkspaceID).Fails(403, "FORBIDDEN")
		})
		for name, header := range map[string]string{
			"wrong secret":         servertest.Basic(id, servertest.OtherEnd(secret)),
			"empty secret":         servertest.Basic(id, ""),
			"unknown id":           servertest.Basic("cli_01jd2m8k3vq7w5x9y0z1a2b3c4", secret),
			"a user's id":          servertest.Basic(n.First.UserID, n.First.APIKey),
			"a secret with colons": servertest.Basic(id, "a:b:c"),
		} {
			t.Run(name, func(t *testing.T) { n.Exchange(t, header).Fails(401, "INVALID_CREDENTIALS") })
		}
		for name, header := range map[string]string{
			"not base64":         "Basic !!!",
			"nothing":            "Basic",
			"no colon":           "Basic " + base64.StdEncoding.EncodeToString([]byte(id)),
			"no id":              servertest.Basic("", secret),
			"control characters": servertest.Basic("cli_\x00", secret),
			"not UTF-8":          servertest.Basic("cli_\xff", secret),
		} {
			t.Run("malformed: "+name, func(t *testing.T) { n.Exchange(t, header).Fails(401, "UNAUTHORIZED") })
		}
		t.Run("other endpoints do not take Basic", func(t *testing.T) {
			n.Stranger(t).Do("GET", "/v1/auth/me", nil, "Authorization", servertest.Basic(id, secret)).Fails(401, "UNAUTHORIZED")
		})
		t.Run("the secret is no API key", func(t *testing.T) {
			n.Exchange(t, "Bearer "+secret).Fails(401, "UNAUTHORIZED")
		})
		t.Run("a revoked client is out at once", func(t *testing.T) {
			id, secret := create(t)
			session := n.Holder(t, n.Exchange(t, servertest.Basic(id, secret)).OK().Text("token"))
			session.Get("/v1/auth/me").OK()
			if err := n.Identity.RevokeClient(t.Context(), db.Caller{}, id); err != nil {
				t.Fatalf("revoke the client: %v", err)
			}
			session.Get("/v1/auth/me").Fails(401, "UNAUTHORIZED")
			n.Exchange(t, servertest.Basic(id, secret)).Fails(401, "INVALID_CREDENTIALS")
		})
	})
}
