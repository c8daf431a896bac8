package identity_test

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/identity"
	"bursar/internal/server/servertest"
)

// publicKeys are the keys at /.well-known/jwks.json by their ids.
func publicKeys(t *testing.T, n *servertest.Node) map[string]ed25519.PublicKey {
	t.Helper()
	var set struct{ Keys []map[string]string }
	if err := json.Unmarshal(n.Outside(t, "/.well-known/jwks.json").OK().Body, &set); err != nil {
		t.Fatalf("decode the public keys: %v", err)
	}
	keys := map[string]ed25519.PublicKey{}
	for _, key := range set.Keys {
		x, err := base64.RawURLEncoding.DecodeString(key["x"])
		if err != nil || len(x) != ed25519.PublicKeySize {
			t.Fatalf("x of %v is no Ed25519 key: %v", key, err)
		}
		if key["kty"] != "OKP" || key["crv"] != "Ed25519" || key["alg"] != "EdDSA" || key["use"] != "sig" || len(key) != 6 {
			t.Errorf("the public key is described as %v", key)
		}
		keys[key["kid"]] = x
	}
	return keys
}

// verified reads a token as a stranger with the public keys does.
func verified(t *testing.T, n *servertest.Node, token string) (kid string, claims jwt.MapClaims) {
	t.Helper()
	keys := publicKeys(t, n)
	claims = jwt.MapClaims{}
	_, err := jwt.ParseWithClaims(token, claims, func(token *jwt.Token) (any, error) {
		kid, _ = token.Header["kid"].(string)
		return keys[kid], nil
	}, jwt.WithValidMethods([]string{"EdDSA"}), jwt.WithTimeFunc(n.Clock.Now))
	if err != nil {
		t.Fatalf("the public keys do not verify the token: %v", err)
	}
	return kid, claims
}

func TestPublicKeysVerifySessionTokens(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		admin := n.Admin(t)
		_, claims := verified(t, n, admin.Token)
		names := slices.Sorted(maps.Keys(claims))
		if want := []string{"aud", "exp", "iat", "iss", "sid", "sub"}; !slices.Equal(names, want) {
			t.Errorf("the claims are %v, want %v", names, want)
		}
		if audience, err := claims.GetAudience(); err != nil || !slices.Equal(audience, []string{"http://bursar.test"}) {
			t.Errorf("the token is meant for %v: %v", audience, err)
		}
		if claims["iss"] != "http://bursar.test" || claims["sub"] != n.First.UserID {
			t.Errorf("the token is issued by %v for %v", claims["iss"], claims["sub"])
		}
		issued, expires := claims["iat"].(float64), claims["exp"].(float64)
		if expires-issued != time.Hour.Seconds() {
			t.Errorf("the token lives %v seconds", expires-issued)
		}
		if got := admin.Post("/v1/auth/logout", nil).OK().Text("session_id"); got != claims["sid"] {
			t.Errorf("sid is %v, the session was %v", claims["sid"], got)
		}
	})
}

func TestSigningKeyRotation(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		before := n.Admin(t)
		oldKey, _ := verified(t, n, before.Token)
		newKey, err := n.Identity.Tokens().Rotate(t.Context(), db.Caller{}, false)
		if err != nil {
			t.Fatalf("rotate: %v", err)
		}
		after := n.Admin(t)
		t.Run("logs nobody out", func(t *testing.T) {
			before.On(t).Get("/v1/auth/me").OK()
		})
		t.Run("new tokens are signed with the new key", func(t *testing.T) {
			if kid, _ := verified(t, n, after.Token); kid != newKey || kid == oldKey {
				t.Errorf("the new token is signed with %q; the new key is %q, the old %q", kid, newKey, oldKey)
			}
		})
		t.Run("the old key stays public as long as a token of its time may live", func(t *testing.T) {
			n.Clock.Advance(12 * time.Hour)
			if err := n.Server.Tidy(t.Context()); err != nil {
				t.Fatalf("tidy: %v", err)
			}
			if keys := publicKeys(t, n); keys[oldKey] == nil || keys[newKey] == nil || len(keys) != 2 {
				t.Errorf("the public keys are %v, want %s and %s", slices.Collect(maps.Keys(keys)), oldKey, newKey)
			}
		})
		t.Run("and leaves later", func(t *testing.T) {
			n.Clock.Advance(24 * time.Hour)
			if err := n.Server.Tidy(t.Context()); err != nil {
				t.Fatalf("tidy: %v", err)
			}
			n.Admin(t).Post("/v1/auth/logout", nil).OK() // keys are looked up again when access changes
			if keys := publicKeys(t, n); keys[oldKey] != nil || keys[newKey] == nil {
				t.Errorf("the public keys are %v, want %s alone", slices.Collect(maps.Keys(keys)), newKey)
			}
		})
	})
}

func TestTokensOfARevokedSigningKeyAreBadAtOnce(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		used, unused := n.Admin(t), n.Admin(t)
		used.Get("/v1/auth/me").OK()
		if _, err := n.Identity.Tokens().Rotate(t.Context(), db.Caller{}, false); err != nil {
			t.Fatalf("rotate: %v", err)
		}
		newer := n.Admin(t)
		newer.Get("/v1/auth/me").OK()
		key, err := n.Identity.Tokens().Rotate(t.Context(), db.Caller{}, true)
		if err != nil {
			t.Fatalf("rotate: %v", err)
		}
		for name, holder := range map[string]*servertest.Client{"used before": used, "never used": unused, "of a later key": newer} {
			if answer := holder.Get("/v1/auth/me"); answer.Status != 401 {
				t.Errorf("a token %s is answered with %d", name, answer.Status)
			}
		}
		if keys := publicKeys(t, n); len(keys) != 1 || keys[key] == nil {
			t.Errorf("the public keys are %v, want %s alone", slices.Collect(maps.Keys(keys)), key)
		}
		n.Admin(t).Get("/v1/auth/me").OK()
	})
}

func TestLogoutEndsThisSessionAtOnce(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		here, there := n.Admin(t), n.Admin(t)
		here.Get("/v1/auth/me").OK()
		if ended := here.Post("/v1/auth/logout", nil).OK().Object(); ended["revoked"] != true {
			t.Errorf("logout answers %v", ended)
		}
		here.Get("/v1/auth/me").Fails(401, "UNAUTHORIZED")
		here.Post("/v1/auth/logout", nil).Fails(401, "UNAUTHORIZED")
		there.Get("/v1/auth/me").OK()
		n.Admin(t).Get("/v1/auth/me").OK()
	})
}

func TestSessionLifetimes(t *testing.T) {
	t.Parallel()
	const margin = 2 * time.Second // tokens count in seconds
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		_, _, brief := n.NewKey(t, identity.NewKey{ExpiresAt: n.DB.Now() + (10 * time.Minute).Milliseconds()})
		for _, c := range []struct {
			name  string
			login func(t *testing.T) *servertest.Client
			lives time.Duration
		}{
			{"as long as its key, where the key ends sooner", func(t *testing.T) *servertest.Client { return n.Login(t, brief) }, 10 * time.Minute},
			{"1 h after key exchange", func(t *testing.T) *servertest.Client { return n.Admin(t) }, time.Hour},
			{"12 h after device login", func(t *testing.T) *servertest.Client { return n.DeviceSession(t, n.Admin(t)) }, 12 * time.Hour},
		} {
			t.Run(c.name, func(t *testing.T) {
				session := c.login(t)
				n.Clock.Advance(c.lives - margin*5)
				session.Get("/v1/auth/me").OK()
				n.Clock.Advance(margin * 6)
				session.Get("/v1/auth/me").Fails(401, "UNAUTHORIZED")
			})
		}
	})
}
