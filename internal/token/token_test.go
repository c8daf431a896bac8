package token_test

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/token"
	"bursar/internal/vault"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

const issuer = "https://pay.example.com"

// node is a store with a signing key, and a clock.
type node struct {
	db    *db.DB
	vault *vault.Vault
	late  atomic.Int64 // how far the clock was advanced
}

func (n *node) now() time.Time { return time.Now().Add(time.Duration(n.late.Load())) }

func onEach(t *testing.T, run func(t *testing.T, n *node)) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := &node{}
		n.db = store.OpenAt(t, n.now)
		n.vault = store.Vault(n.db)
		if err := n.vault.Ready(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		_, err := db.Write(t.Context(), n.db, db.Caller{}, func(tx *db.Tx) (string, audit.Event, error) {
			id, err := token.InsertKey(tx, n.vault)
			return id, audit.None("a test"), err
		})
		if err != nil {
			t.Fatal(err)
		}
		run(t, n)
	})
}

// session is one that begins now.
func session(n *node) token.Session {
	now := n.db.Now()
	return token.Session{ID: "ses_1", UserID: "usr_1", CreatedAt: now, ExpiresAt: now + time.Hour.Milliseconds()}
}

func sign(t *testing.T, k *token.Keyring, s token.Session) string {
	t.Helper()
	text, err := k.Sign(t.Context(), s)
	if err != nil {
		t.Fatalf("sign a token: %v", err)
	}
	return text
}

// forge signs claims as someone does who knows everything but the right key.
func forge(t *testing.T, method jwt.SigningMethod, kid, key any, expires time.Time) string {
	t.Helper()
	made := jwt.NewWithClaims(method, jwt.MapClaims{"iss": issuer, "aud": issuer, "sub": "usr_1", "sid": "ses_1", "exp": expires.Unix()})
	made.Header["kid"] = kid
	text, err := made.SignedString(key)
	if err != nil {
		t.Fatalf("forge a token: %v", err)
	}
	return text
}

func admitted() error { return nil }

func TestTokensNameTheirSession(t *testing.T) {
	onEach(t, func(t *testing.T, n *node) {
		k, s := token.NewKeyring(n.db, n.vault, issuer), session(n)
		text := sign(t, k, s)
		c, good, err := k.Verify(t.Context(), text, admitted)
		if err != nil || !good {
			t.Fatalf("the token is good: %t, %v", good, err)
		}
		if c.Session != s.ID || c.Subject != s.UserID || c.Issuer != issuer || !slices.Equal(c.Audience, jwt.ClaimStrings{issuer}) ||
			c.IssuedAt.Unix() != s.CreatedAt/1000 || c.ExpiresAt.Unix() != s.ExpiresAt/1000 {
			t.Errorf("the token says %+v", c)
		}
	})
}

func TestTokensThatAreRefused(t *testing.T) {
	onEach(t, func(t *testing.T, n *node) {
		k, s := token.NewKeyring(n.db, n.vault, issuer), session(n)
		good := sign(t, k, s)
		other := s
		other.UserID = "usr_2"
		head, rest, _ := strings.Cut(good, ".")
		payload, signature, _ := strings.Cut(rest, ".")
		_, otherRest, _ := strings.Cut(sign(t, k, other), ".")
		otherPayload, _, _ := strings.Cut(otherRest, ".")

		expired := s
		expired.CreatedAt, expired.ExpiresAt = s.CreatedAt-2*time.Hour.Milliseconds(), s.CreatedAt-time.Second.Milliseconds()
		set, err := k.Public(t.Context())
		if err != nil || len(set.Keys) != 1 {
			t.Fatalf("the public keys are %+v, %v", set, err)
		}
		kid := set.Keys[0].ID
		public, err := base64.RawURLEncoding.DecodeString(set.Keys[0].X)
		if err != nil {
			t.Fatal(err)
		}
		_, foreign, err := ed25519.GenerateKey(nil)
		if err != nil {
			t.Fatal(err)
		}
		later := n.now().Add(time.Hour)
		for name, text := range map[string]string{
			"nothing":                        "",
			"no token":                       "bk_123",
			"without a signature":            head + "." + payload + ".",
			"another payload":                head + "." + otherPayload + "." + signature,
			"another signature":              head + "." + payload + "." + strings.Repeat("A", len(signature)),
			"more behind it":                 good + ".x",
			"expired":                        sign(t, k, expired),
			"of another public address":      sign(t, token.NewKeyring(n.db, n.vault, "https://other.example.com"), s),
			"another key":                    forge(t, jwt.SigningMethodEdDSA, kid, foreign, later),
			"an unknown key":                 forge(t, jwt.SigningMethodEdDSA, "sig_unknown", foreign, later),
			"a key without a name":           forge(t, jwt.SigningMethodEdDSA, nil, foreign, later),
			"a number for a key":             forge(t, jwt.SigningMethodEdDSA, 1, foreign, later),
			"no algorithm":                   forge(t, jwt.SigningMethodNone, kid, jwt.UnsafeAllowNoneSignatureType, later),
			"the public key as a shared one": forge(t, jwt.SigningMethodHS256, kid, public, later),
		} {
			if _, good, err := k.Verify(t.Context(), text, admitted); good || err != nil {
				t.Errorf("%s is good: %t, %v", name, good, err)
			}
		}

		if _, ok, err := k.Verify(t.Context(), good, admitted); !ok || err != nil {
			t.Fatalf("the token that the others were made of is good: %t, %v", ok, err)
		}
		n.late.Add(int64(time.Hour))
		if _, ok, err := k.Verify(t.Context(), good, admitted); ok || err != nil {
			t.Errorf("after its time it is good: %t, %v", ok, err)
		}
	})
}

func TestRotatedKeys(t *testing.T) {
	onEach(t, func(t *testing.T, n *node) {
		k, s := token.NewKeyring(n.db, n.vault, issuer), session(n)
		before := sign(t, k, s)
		id, err := k.Rotate(t.Context(), db.Caller{}, false)
		if err != nil {
			t.Fatalf("rotate the key: %v", err)
		}
		after := sign(t, k, s)
		if parsed, _, err := jwt.NewParser().ParseUnverified(after, &token.Claims{}); err != nil || parsed.Header["kid"] != id {
			t.Errorf("the new token is signed by %v, %v", parsed.Header["kid"], err)
		}
		another := token.NewKeyring(n.db, n.vault, issuer) // as another node has it
		for name, text := range map[string]string{"before": before, "after": after} {
			for _, ring := range []*token.Keyring{k, another} {
				if _, good, err := ring.Verify(t.Context(), text, admitted); !good || err != nil {
					t.Errorf("a token from %s the rotation is good: %t, %v", name, good, err)
				}
			}
		}
		set, err := k.Public(t.Context())
		if err != nil || len(set.Keys) != 2 || set.Keys[0].ID != id {
			t.Errorf("the public keys are %+v, %v", set, err)
		}
	})
}

func TestRevokedKeys(t *testing.T) {
	onEach(t, func(t *testing.T, n *node) {
		k, s := token.NewKeyring(n.db, n.vault, issuer), session(n)
		before := sign(t, k, s)
		c, _, err := k.Verify(t.Context(), before, admitted)
		if err != nil {
			t.Fatal(err)
		}
		id, err := k.Rotate(t.Context(), db.Caller{}, true)
		if err != nil {
			t.Fatalf("rotate the key: %v", err)
		}
		if _, good, err := k.Verify(t.Context(), before, admitted); good || err != nil {
			t.Errorf("a token of a revoked key is good: %t, %v", good, err)
		}
		for key, want := range map[string]bool{c.Key: false, id: true} {
			if has, err := k.Has(t.Context(), key); has != want || err != nil {
				t.Errorf("the ring has %s: %t, %v", key, has, err)
			}
		}
	})
}

func TestUnknownKeysAreLookedUpOnlyIfAdmitted(t *testing.T) {
	onEach(t, func(t *testing.T, n *node) {
		k := token.NewKeyring(n.db, n.vault, issuer)
		_, foreign, err := ed25519.GenerateKey(nil)
		if err != nil {
			t.Fatal(err)
		}
		full := errors.New("too many")
		asked := 0
		refuse := func() error { asked++; return full }
		if _, good, err := k.Verify(t.Context(), sign(t, k, session(n)), refuse); !good || err != nil || asked != 0 {
			t.Errorf("a token of a known key is good: %t, %v; asked %d times", good, err, asked)
		}
		stranger := forge(t, jwt.SigningMethodEdDSA, "sig_unknown", foreign, n.now().Add(time.Hour))
		if _, good, err := k.Verify(t.Context(), stranger, refuse); good || !errors.Is(err, full) || asked != 1 {
			t.Errorf("a token of an unknown key is good: %t, %v; asked %d times", good, err, asked)
		}
	})
}

func TestNothingIsSignedWithoutAKey(t *testing.T) {
	t.Parallel()
	store := dbtest.SQLite(t)
	d := store.Open(t)
	if text, err := token.NewKeyring(d, store.Vault(d), issuer).Sign(t.Context(), token.Session{ID: "ses_1"}); err == nil {
		t.Errorf("an empty store signs %s", text)
	}
}
