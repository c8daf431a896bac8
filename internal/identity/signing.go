package identity

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"bursar/internal/audit"
	"bursar/internal/db"
)

// keyring signs session tokens and knows the keys that signed earlier ones. A
// key that was rotated out stays until no token of its time can be alive.
type keyring struct {
	db     *db.DB
	issuer string

	mu    sync.Mutex
	epoch uint64
	at    time.Time
	keys  []signingKey // newest first
}

type signingKey struct {
	id      string
	private ed25519.PrivateKey
}

// claims are what a session token says.
type claims struct {
	Session string `json:"sid"`
	jwt.RegisteredClaims
}

// reloadInterval is when a key that has expired is forgotten at the latest.
const reloadInterval = time.Minute

// current is the list of keys, read again when access changed anywhere.
func (k *keyring) current(ctx context.Context) ([]signingKey, error) {
	epoch := k.db.Epoch()
	k.mu.Lock()
	keys, fresh := k.keys, k.epoch == epoch && time.Since(k.at) < reloadInterval
	k.mu.Unlock()
	if fresh {
		return keys, nil
	}
	return k.reload(ctx, epoch)
}

func (k *keyring) reload(ctx context.Context, epoch uint64) ([]signingKey, error) {
	var keys []signingKey
	err := k.db.Read(ctx, func(q db.Q) (err error) {
		keys, err = db.Collect(q, readSigningKey, `SELECT id, seed FROM signing_key ORDER BY id DESC`)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("load the signing keys: %w", err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.epoch, k.at, k.keys = epoch, time.Now(), keys
	return keys, nil
}

// find is the key with an id. One that is not known may have been made on another
// node a moment ago, so the store is asked, if admit lets whoever sent it cause that.
func (k *keyring) find(ctx context.Context, id string, admit func() error) (ed25519.PublicKey, error) {
	keys, err := k.current(ctx)
	if err != nil {
		return nil, err
	}
	if key := pick(keys, id); key != nil {
		return key, nil
	}
	if err := admit(); err != nil {
		return nil, err
	}
	keys, err = k.reload(ctx, k.db.Epoch())
	return pick(keys, id), err
}

func pick(keys []signingKey, id string) ed25519.PublicKey {
	for _, key := range keys {
		if key.id == id && key.private != nil {
			return key.private.Public().(ed25519.PublicKey)
		}
	}
	return nil
}

func readSigningKey(r db.Rows) signingKey {
	seed, err := base64.StdEncoding.DecodeString(r.Text(1))
	if err != nil || len(seed) != ed25519.SeedSize {
		return signingKey{id: r.Text(0)}
	}
	return signingKey{r.Text(0), ed25519.NewKeyFromSeed(seed)}
}

func (k *keyring) sign(ctx context.Context, s session) (string, error) {
	keys, err := k.current(ctx)
	if err != nil {
		return "", err
	}
	if len(keys) == 0 || keys[0].private == nil {
		return "", fmt.Errorf("sign a token: the store has no usable signing key")
	}
	token := jwt.NewWithClaims(jwt.SigningMethodEdDSA, claims{
		Session: s.id,
		RegisteredClaims: jwt.RegisteredClaims{
			Issuer:    k.issuer,
			Subject:   s.accountID,
			IssuedAt:  jwt.NewNumericDate(time.UnixMilli(s.createdAt)),
			ExpiresAt: jwt.NewNumericDate(time.UnixMilli(s.expiresAt)),
		},
	})
	token.Header["kid"] = keys[0].id
	text, err := token.SignedString(keys[0].private)
	if err != nil {
		return "", fmt.Errorf("sign a token: %w", err)
	}
	return text, nil
}

// verify checks the signature and the form of a token, not yet its session. A
// token that is not good is told from a store that does not answer.
func (k *keyring) verify(ctx context.Context, token string, admit func() error) (c claims, good bool, err error) {
	var failed error
	parser := jwt.NewParser(
		jwt.WithValidMethods([]string{jwt.SigningMethodEdDSA.Alg()}),
		jwt.WithExpirationRequired(),
		jwt.WithTimeFunc(func() time.Time { return time.UnixMilli(k.db.Now()) }))
	_, refused := parser.ParseWithClaims(token, &c, func(t *jwt.Token) (any, error) {
		id, _ := t.Header["kid"].(string)
		var key ed25519.PublicKey
		if key, failed = k.find(ctx, id, admit); failed != nil {
			return nil, failed
		}
		if key == nil {
			return nil, errors.New("unknown signing key")
		}
		return key, nil
	})
	return c, refused == nil, failed
}

// JWK is a public key as RFC 8037 writes it.
type JWK struct {
	KeyType   string `json:"kty"`
	Curve     string `json:"crv"`
	ID        string `json:"kid"`
	Use       string `json:"use"`
	Algorithm string `json:"alg"`
	X         string `json:"x"`
}

// JWKS is the set of public keys that tokens may be signed with.
type JWKS struct {
	Keys []JWK `json:"keys"`
}

// PublicKeys are the keys that verify session tokens.
func (s *Service) PublicKeys(ctx context.Context) (JWKS, error) {
	keys, err := s.keys.current(ctx)
	if err != nil {
		return JWKS{}, err
	}
	set := JWKS{Keys: []JWK{}}
	for _, key := range keys {
		if key.private == nil {
			continue
		}
		public := key.private.Public().(ed25519.PublicKey)
		set.Keys = append(set.Keys, JWK{"OKP", "Ed25519", key.id, "sig", "EdDSA", base64.RawURLEncoding.EncodeToString(public)})
	}
	return set, nil
}

// RotateSigningKey makes a new key, which signs from now on. Tokens signed with
// earlier ones stay good.
func (s *Service) RotateSigningKey(ctx context.Context, by db.Caller) (id string, err error) {
	return db.Write(ctx, s.db, by, func(tx *db.Tx) (string, audit.Event, error) {
		id, err := insertSigningKey(tx)
		if err != nil {
			return "", audit.Event{}, err
		}
		now := tx.Now()
		if err := tx.Exec(`UPDATE signing_key SET retired_at = $1 WHERE id <> $2 AND retired_at IS NULL`, now, id); err != nil {
			return "", audit.Event{}, err
		}
		org, err := FiledUnder(tx.Q, "")
		return id, audit.Event{
			Action:         audit.SigningKeyRotated,
			OrganizationID: org,
			ResourceID:     id,
			Description:    "Rotated the signing key of session tokens",
		}, err
	})
}

func insertSigningKey(tx *db.Tx) (id string, err error) {
	seed := make([]byte, ed25519.SeedSize)
	rand.Read(seed)
	id = tx.NewID("sig")
	return id, tx.Exec(`INSERT INTO signing_key (id, seed, created_at) VALUES ($1, $2, $3)`,
		id, base64.StdEncoding.EncodeToString(seed), tx.Now())
}
