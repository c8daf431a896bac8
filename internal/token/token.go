// Package token signs and verifies the JWTs of sessions. The keys are in the store, so that every node can verify what any node has signed.
package token

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"bursar/internal/access"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/vault"
)

// Keyring signs session tokens and keeps the keys that signed earlier ones. A rotated key stays until every token that it signed has
// expired, unless it was revoked.
type Keyring struct {
	db     *db.DB
	vault  *vault.Vault
	issuer string // and audience: the public address of the server

	mu    sync.Mutex
	epoch uint64
	at    time.Time
	keys  []signingKey // newest first
}

type signingKey struct {
	id      string
	private ed25519.PrivateKey
}

// NewKeyring returns a keyring for a server with a public address, which is the issuer and the audience of its tokens.
func NewKeyring(d *db.DB, v *vault.Vault, issuer string) *Keyring {
	return &Keyring{db: d, vault: v, issuer: issuer}
}

// Session is the session that a token is issued for. Times are Unix milliseconds.
type Session struct {
	ID        string
	UserID    string
	CreatedAt int64
	ExpiresAt int64
}

// Claims are the claims of a session token.
type Claims struct {
	Session string `json:"sid"`
	Key     string `json:"-"` // id of the key that signed the token
	jwt.RegisteredClaims
}

// reloadInterval is how long the keys are cached, so that this node drops a key that has expired.
const reloadInterval = time.Minute

// current returns the keys. It reads them again when access has changed on any node.
func (k *Keyring) current(ctx context.Context) ([]signingKey, error) {
	epoch := k.db.Epoch()
	k.mu.Lock()
	keys, fresh := k.keys, k.epoch == epoch && time.Since(k.at) < reloadInterval
	k.mu.Unlock()
	if fresh {
		return keys, nil
	}
	return k.reload(ctx, epoch)
}

func (k *Keyring) reload(ctx context.Context, epoch uint64) ([]signingKey, error) {
	var rows []sealedKey
	err := k.db.Read(ctx, func(q db.Q) (err error) {
		rows, err = db.Collect(q, func(r db.Rows) sealedKey { return sealedKey{r.Text(0), bytes.Clone(r.Raw(1))} },
			`SELECT id, seed_sealed FROM signing_key ORDER BY id DESC`)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("load the signing keys: %w", err)
	}
	keys := make([]signingKey, len(rows))
	for i, row := range rows {
		if keys[i], err = k.open(row); err != nil {
			return nil, fmt.Errorf("load the signing key %s: %w", row.id, err)
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.epoch, k.at, k.keys = epoch, time.Now(), keys
	return keys, nil
}

// find returns the key with an id. Another node may have just created an unknown key, so find reads the store. admit limits such reads by
// strangers.
func (k *Keyring) find(ctx context.Context, id string, admit func() error) (ed25519.PublicKey, error) {
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

type sealedKey struct {
	id   string
	seed []byte
}

// open opens a key. A damaged key, or one whose vault key is lost, cannot be used; the others still can.
func (k *Keyring) open(row sealedKey) (signingKey, error) {
	text, err := k.vault.Open(0, vault.SigningSeed(row.id), row.seed)
	if errors.Is(err, vault.ErrLost) || errors.Is(err, vault.ErrDamaged) {
		return signingKey{id: row.id}, nil
	}
	if err != nil {
		return signingKey{}, err
	}
	seed, err := base64.StdEncoding.DecodeString(string(text))
	if err != nil || len(seed) != ed25519.SeedSize {
		return signingKey{id: row.id}, nil
	}
	return signingKey{row.id, ed25519.NewKeyFromSeed(seed)}, nil
}

// Sign issues the token of a session.
func (k *Keyring) Sign(ctx context.Context, s Session) (string, error) {
	keys, err := k.current(ctx)
	if err != nil {
		return "", err
	}
	if len(keys) == 0 || keys[0].private == nil {
		return "", fmt.Errorf("sign a token: the store has no usable signing key")
	}
	token := jwt.NewWithClaims(jwt.SigningMethodEdDSA, Claims{
		Session: s.ID,
		RegisteredClaims: jwt.RegisteredClaims{
			Issuer:    k.issuer,
			Audience:  jwt.ClaimStrings{k.issuer},
			Subject:   s.UserID,
			IssuedAt:  jwt.NewNumericDate(time.UnixMilli(s.CreatedAt)),
			ExpiresAt: jwt.NewNumericDate(time.UnixMilli(s.ExpiresAt)),
		},
	})
	token.Header["kid"] = keys[0].id
	text, err := token.SignedString(keys[0].private)
	if err != nil {
		return "", fmt.Errorf("sign a token: %w", err)
	}
	return text, nil
}

// Verify verifies the signature, the form, the issuer, the audience and the expiry of a token, but not whether its session is still live.
// It returns an error only if the store fails.
func (k *Keyring) Verify(ctx context.Context, token string, admit func() error) (c Claims, good bool, err error) {
	var failed error
	parser := jwt.NewParser(
		jwt.WithValidMethods([]string{jwt.SigningMethodEdDSA.Alg()}),
		jwt.WithExpirationRequired(),
		jwt.WithIssuer(k.issuer),
		jwt.WithAudience(k.issuer),
		jwt.WithTimeFunc(func() time.Time { return time.UnixMilli(k.db.Now()) }))
	_, refused := parser.ParseWithClaims(token, &c, func(t *jwt.Token) (any, error) {
		c.Key, _ = t.Header["kid"].(string)
		var key ed25519.PublicKey
		if key, failed = k.find(ctx, c.Key, admit); failed != nil {
			return nil, failed
		}
		if key == nil {
			return nil, errors.New("unknown signing key")
		}
		return key, nil
	})
	return c, refused == nil, failed
}

// Has reports whether tokens of a key are still valid. An operator may have revoked the key after a token was verified.
func (k *Keyring) Has(ctx context.Context, key string) (bool, error) {
	keys, err := k.current(ctx)
	return pick(keys, key) != nil, err
}

// JWK is a public key in the format of RFC 8037.
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

// Public returns the keys that verify session tokens.
func (k *Keyring) Public(ctx context.Context) (JWKS, error) {
	keys, err := k.current(ctx)
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

// Rotate creates a new key, which signs from then on. Tokens signed with earlier keys stay valid until they expire, or end at once if
// revoke is set.
func (k *Keyring) Rotate(ctx context.Context, by db.Caller, revoke bool) (id string, err error) {
	if err := k.vault.Ready(ctx, 0); err != nil {
		return "", err
	}
	return db.Write(ctx, k.db, by, func(tx *db.Tx) (string, audit.Event, error) {
		id, err := InsertKey(tx, k.vault)
		if err != nil {
			return "", audit.Event{}, err
		}
		description := "Rotated the signing key of session tokens"
		if revoke {
			description += " and revoked the earlier ones"
			err = tx.Exec(`DELETE FROM signing_key WHERE id <> $1`, id)
		} else {
			err = tx.Exec(`UPDATE signing_key SET retired_at = $1 WHERE id <> $2 AND retired_at IS NULL`, tx.Now(), id)
		}
		if err != nil {
			return "", audit.Event{}, err
		}
		org, err := access.AuditOrganization(tx.Q, "")
		return id, audit.Event{
			Action:         audit.SigningKeyRotated,
			OrganizationID: org,
			ResourceID:     id,
			Description:    description,
		}, err
	})
}

// InsertKey stores a new signing key. The vault must be ready.
func InsertKey(tx *db.Tx, v *vault.Vault) (id string, err error) {
	seed := make([]byte, ed25519.SeedSize)
	rand.Read(seed)
	id = tx.NewID("sig")
	sealed, err := v.Seal(0, vault.SigningSeed(id), []byte(base64.StdEncoding.EncodeToString(seed)))
	if err != nil {
		return "", err
	}
	return id, tx.Exec(`INSERT INTO signing_key (id, seed_sealed, sealed_by, created_at) VALUES ($1, $2, $3, $4)`,
		id, sealed, vault.KeyOf(sealed), tx.Now())
}

// DeleteRetired deletes the keys that were retired up to a time.
func DeleteRetired(tx *db.Tx, until int64) error {
	return tx.Exec(`DELETE FROM signing_key WHERE retired_at IS NOT NULL AND retired_at <= $1`, until)
}
