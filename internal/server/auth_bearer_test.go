package server_test

import (
	"crypto/ed25519"
	"encoding/base64"
	"maps"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
	"bursar/internal/vault"
)

// authorization is the header, or none where it is empty.
func authorization(header string) []string {
	if header == "" {
		return nil
	}
	return []string{"Authorization", header}
}

var pathParameter = regexp.MustCompile(`\{[^}]*\}`)

// forger makes tokens like a real one.
type forger struct {
	t      *testing.T
	kid    any
	claims jwt.MapClaims
}

func newForger(t *testing.T, token string) forger {
	t.Helper()
	f := forger{t: t, claims: jwt.MapClaims{}}
	parsed, _, err := jwt.NewParser().ParseUnverified(token, f.claims)
	if err != nil {
		t.Fatalf("parse a token: %v", err)
	}
	f.kid = parsed.Header["kid"]
	return f
}

// sign signs the claims of the real token with some of them changed. A nil
// value takes a claim away.
func (f forger) sign(method jwt.SigningMethod, key any, changed jwt.MapClaims) string {
	f.t.Helper()
	claims := maps.Clone(f.claims)
	maps.Copy(claims, changed)
	maps.DeleteFunc(claims, func(_ string, value any) bool { return value == nil })
	token := jwt.NewWithClaims(method, claims)
	token.Header["kid"] = f.kid
	text, err := token.SignedString(key)
	if err != nil {
		f.t.Fatalf("sign a token: %v", err)
	}
	return text
}

// signingKey is the server's own: only a thief of the store and of the vault key has it.
func signingKey(t *testing.T, n *servertest.Node) ed25519.PrivateKey {
	t.Helper()
	var id string
	var sealed, text []byte
	err := n.DB.Read(t.Context(), func(q db.Q) (err error) {
		_, err = q.Row(`SELECT id, seed_sealed FROM signing_key`).Scan(&id, &sealed)
		return err
	})
	if err == nil {
		text, err = n.Vault.Open(0, vault.SigningSeed(id), sealed)
	}
	seed, decodeErr := base64.StdEncoding.DecodeString(string(text))
	if err != nil || decodeErr != nil {
		t.Fatalf("read the signing key: %v %v", err, decodeErr)
	}
	return ed25519.NewKeyFromSeed(seed)
}

// withPayload is the token with another payload under the same signature.
func withPayload(token, other string) string {
	parts, others := strings.Split(token, "."), strings.Split(other, ".")
	return parts[0] + "." + others[1] + "." + parts[2]
}

func badCredentials(t *testing.T, n *servertest.Node) map[string]string {
	stale := n.Admin(t)
	n.Clock.Advance(2 * time.Hour)
	admin, other := n.Admin(t), n.User(t, "other@example.com")
	_, foreign, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatalf("make a key: %v", err)
	}
	own := signingKey(t, n)
	forge := newForger(t, admin.Token)
	unsigned := forge.sign(jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, nil)
	return map[string]string{
		"none":                   "",
		"garbage":                "Bearer garbage",
		"a scheme alone":         "Bearer",
		"no scheme":              admin.Token,
		"another scheme":         "Token " + admin.Token,
		"an API key":             "Bearer " + n.First.APIKey,
		"an expired token":       "Bearer " + stale.Token,
		"a foreign signature":    "Bearer " + forge.sign(jwt.SigningMethodEdDSA, foreign, nil),
		"no signature":           "Bearer " + unsigned,
		"a cut signature":        "Bearer " + admin.Token[:strings.LastIndex(admin.Token, ".")+1],
		"algorithm none":         "Bearer " + withPayload(unsigned, admin.Token) + strings.Split(admin.Token, ".")[2],
		"the public key as HMAC": "Bearer " + forge.sign(jwt.SigningMethodHS256, []byte(own.Public().(ed25519.PublicKey)), nil),
		"another user's payload": "Bearer " + withPayload(admin.Token, other.Token),
		"a session nobody has":   "Bearer " + forge.sign(jwt.SigningMethodEdDSA, own, jwt.MapClaims{"sid": "ses_01jd2t7x9y1z3a5b7c9d1e3f5g"}),
		"no session":             "Bearer " + forge.sign(jwt.SigningMethodEdDSA, own, jwt.MapClaims{"sid": nil}),
		"no expiry":              "Bearer " + forge.sign(jwt.SigningMethodEdDSA, own, jwt.MapClaims{"exp": nil}),
		"no issuer":              "Bearer " + forge.sign(jwt.SigningMethodEdDSA, own, jwt.MapClaims{"iss": nil}),
		"another issuer":         "Bearer " + forge.sign(jwt.SigningMethodEdDSA, own, jwt.MapClaims{"iss": "https://pay.example.com"}),
		"no audience":            "Bearer " + forge.sign(jwt.SigningMethodEdDSA, own, jwt.MapClaims{"aud": nil}),
		"another audience":       "Bearer " + forge.sign(jwt.SigningMethodEdDSA, own, jwt.MapClaims{"aud": "https://pay.example.com"}),
		"an expired session":     "Bearer " + newForger(t, stale.Token).sign(jwt.SigningMethodEdDSA, own, jwt.MapClaims{"exp": n.DB.Now() + 1e6}),
		"two tokens":             "Bearer " + admin.Token + " " + admin.Token,
	}
}

func TestEveryRouteRequiresASession(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		for name, header := range badCredentials(t, n) {
			t.Run(name, func(t *testing.T) {
				stranger := n.Stranger(t)
				for _, o := range operations() {
					if o.need != nothing {
						stranger.Do(o.Method(), pathParameter.ReplaceAllString(o.Path(), "x"), nil, authorization(header)...).Fails(401, "UNAUTHORIZED")
					}
				}
			})
		}
	})
}

func TestRefusalsDescribeHowToAuthenticate(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		for name, c := range map[string]struct{ header, says string }{
			"an API key is to be exchanged":   {"Bearer " + n.First.APIKey, "exchange"},
			"a client has to exchange, too":   {servertest.Basic("cli_x", "secret"), "Bearer"},
			"nothing at all":                  {"", "not authenticated"},
			"a token that is not a token":     {"Bearer x", "not authenticated"},
			"an API key with a wrong ending":  {"Bearer " + servertest.OtherEnd(n.First.APIKey), "exchange"},
			"a scheme that we have never met": {"Token x", "Bearer"},
		} {
			t.Run(name, func(t *testing.T) {
				refused := n.Stranger(t).Do("GET", "/v1/auth/me", nil, authorization(c.header)...).Fails(401, "UNAUTHORIZED")
				if got := refused.Message(); !strings.Contains(got, c.says) {
					t.Errorf("the message %q does not say %q", got, c.says)
				}
				if got := refused.Header.Get("WWW-Authenticate"); !strings.HasPrefix(got, "Bearer") {
					t.Errorf("WWW-Authenticate is %q", got)
				}
			})
		}
	})
}
