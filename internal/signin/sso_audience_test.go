package signin_test

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"bursar/api"
	"bursar/internal/audit"
	"bursar/internal/db/dbtest"
)

// issuer is an identity provider that signs the claims it is given.
type issuer struct {
	url    string
	key    *rsa.PrivateKey
	claims map[string]any // of the next ID token
}

func startIssuer(t *testing.T) *issuer {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	must(t, err)
	i := &issuer{key: key}
	answer := func(body func() any) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			if err := json.NewEncoder(w).Encode(body()); err != nil {
				t.Error(err)
			}
		}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/openid-configuration", answer(func() any {
		return map[string]any{"issuer": i.url, "authorization_endpoint": i.url + "/authorize", "token_endpoint": i.url + "/token", "jwks_uri": i.url + "/keys",
			"id_token_signing_alg_values_supported": []string{"RS256"}}
	}))
	mux.HandleFunc("/keys", answer(func() any {
		return map[string]any{"keys": []any{map[string]any{"kty": "RSA", "alg": "RS256", "use": "sig", "kid": "1",
			"n": base64.RawURLEncoding.EncodeToString(key.N.Bytes()), "e": base64.RawURLEncoding.EncodeToString(big.NewInt(int64(key.E)).Bytes())}}}
	}))
	mux.HandleFunc("/token", answer(func() any {
		return map[string]any{"access_token": "a", "token_type": "Bearer", "id_token": i.sign(t)}
	}))
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	i.url = server.URL
	return i
}

func (i *issuer) sign(t *testing.T) string {
	part := func(v any) string {
		text, err := json.Marshal(v)
		if err != nil {
			t.Error(err)
		}
		return base64.RawURLEncoding.EncodeToString(text)
	}
	text := part(map[string]any{"alg": "RS256", "kid": "1"}) + "." + part(i.claims)
	sum := sha256.Sum256([]byte(text))
	signature, err := rsa.SignPKCS1v15(rand.Reader, i.key, crypto.SHA256, sum[:])
	if err != nil {
		t.Error(err)
	}
	return text + "." + base64.RawURLEncoding.EncodeToString(signature)
}

// Section 3.1.3.7 of OpenID Connect Core: with several audiences the authorized party is this client, and no token names another.
func TestAnIDTokenIssuedToAnotherClientIsRefused(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		provider := startIssuer(t)
		h := build(t, store, trusting(provider.url, "bursar", "secret"))
		h.person("ada@example.com")
		for name, c := range map[string]struct {
			audience any
			party    string // authorized
			good     bool
		}{
			"one audience": {"bursar", "", true},
			"one audience, and it is the authorized party":    {[]string{"bursar"}, "bursar", true},
			"one audience, another client is authorized":      {"bursar", "other", false},
			"two audiences, this client is authorized":        {[]string{"other", "bursar"}, "bursar", true},
			"two audiences, another client is authorized":     {[]string{"other", "bursar"}, "other", false},
			"two audiences, and no authorized party is named": {[]string{"other", "bursar"}, "", false},
			"another audience": {"other", "bursar", false},
		} {
			t.Run(name, func(t *testing.T) {
				h := h.on(t)
				location, state, err := h.StartSSO(t.Context(), false)
				must(t, err)
				asked, err := url.Parse(location)
				must(t, err)
				provider.claims = map[string]any{"iss": provider.url, "sub": "1", "aud": c.audience, "nonce": asked.Query().Get("nonce"),
					"email": "ada@example.com", "email_verified": true, "iat": time.Now().Unix(), "exp": time.Now().Add(time.Hour).Unix()}
				if c.party != "" {
					provider.claims["azp"] = c.party
				}
				_, err = h.FinishSSO(t.Context(), stranger(), state, url.Values{"state": {asked.Query().Get("state")}, "code": {"c"}})
				if c.good {
					must(t, err)
					return
				}
				refused(t, err, api.CodeInvalidCredentials)
				if row := h.last(audit.LoginFailed); c.party == "other" && !strings.Contains(row.Description, "another client") {
					t.Errorf("the audit log contains %+v", row)
				}
			})
		}
	})
}
