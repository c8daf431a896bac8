// Package identity authenticates callers. It manages people and machine clients, their sessions, API keys, device codes, links, and the
// notices about changes to their credentials.
package identity

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"time"

	"bursar/internal/audit"
	"bursar/internal/budget"
	"bursar/internal/cache"
	"bursar/internal/db"
	"bursar/internal/limit"
	"bursar/internal/token"
	"bursar/internal/vault"
	"bursar/internal/web"
)

// Config contains an operator's settings of logins.
type Config struct {
	PublicURL string
	DeviceTTL time.Duration // of a session after device login
	KeyTTL    time.Duration // of a session after key exchange
	WebTTL    time.Duration // of a browser's session, even if it is in use
	WebIdle   time.Duration // of a browser's session that is idle
	LimitsOff bool
	Notices   *Notices  // nil if people are not notified by mail of changes to their credentials
	Failures  *Failures // nil if unrecorded failures are not counted
}

// Service authenticates people and machines.
type Service struct {
	db       *db.DB
	config   Config
	tokens   *token.Keyring
	cursors  *web.Cursors
	verified cache.Cache[string, *verified]
	browsers cache.Cache[string, *browser]
	passed   cache.Cache[[sha256.Size]byte, *cachedBasic] // by the digest of the header
	budgets  *budget.Budgets
	failures *Failures
	polls    *limit.Buckets // by device code
}

// Limits of attempts by strangers.
var (
	newCodes     = budget.Kind{Name: "device codes made, by address", Burst: 10, Every: 6 * time.Second}
	failedLogins = budget.Kind{Name: "failed key exchanges, by address", Burst: 20, Every: 3 * time.Second}
	// A network has more than enough addresses to evade the two limits above.
	newCodesOfNetwork = budget.Kind{Name: "device codes made, by network", Burst: 100, Every: time.Second}
	failuresOfNetwork = budget.Kind{Name: "failed key exchanges, by network", Burst: 200, Every: time.Second}

	unknownCodes = budget.Kind{Name: "guesses at device codes, by address or caller", Burst: 20, Every: 3 * time.Second}
	allUnknown   = budget.Kind{Name: "guesses at device codes", Burst: 100, Every: 600 * time.Millisecond}
)

// maxCachedTokens bounds the cache of verified tokens.
const maxCachedTokens = 20_000

// New returns the service. Prepare must have run on the store.
func New(d *db.DB, v *vault.Vault, cursors *web.Cursors, c Config) *Service {
	s := &Service{
		db:       d,
		config:   c,
		tokens:   token.NewKeyring(d, v, c.PublicURL),
		cursors:  cursors,
		verified: cache.New[string, *verified](maxCachedTokens),
		browsers: cache.New[string, *browser](maxCachedTokens),
		passed:   cache.New[[sha256.Size]byte, *cachedBasic](maxCachedTokens),
	}
	if !c.LimitsOff {
		s.budgets = budget.New(d)
		s.polls = limit.New(0.5, 10, time.Now)
	}
	if s.failures = c.Failures; s.failures == nil {
		s.failures = NewFailures(d, s.budgets)
	}
	return s
}

// Tokens returns the keyring that signs the service's session tokens.
func (s *Service) Tokens() *token.Keyring { return s.tokens }

// cursorKeyName is the name of the store's secret that signs list cursors.
const cursorKeyName = "cursor_key"

// Prepare creates the secrets that a store needs before its first request, and returns the key of list cursors. If several nodes do so at
// once, one of them wins.
func Prepare(ctx context.Context, d *db.DB, v *vault.Vault) (cursorKey []byte, err error) {
	if err := v.Start(ctx); err != nil {
		return nil, err
	}
	text, err := v.StoredSecret(ctx, cursorKeyName)
	if err != nil {
		return nil, err
	}
	if text == nil {
		by := db.SystemCaller()
		if _, err := db.Write(ctx, d, by, func(tx *db.Tx) (struct{}, audit.Event, error) { return makeSecrets(tx, v) }); err != nil {
			return nil, fmt.Errorf("make the secrets of a new store: %w", err)
		}
		if text, err = v.StoredSecret(ctx, cursorKeyName); err != nil {
			return nil, err
		}
	}
	key, err := base64.StdEncoding.DecodeString(string(text))
	if err != nil || len(key) < 32 {
		return nil, fmt.Errorf("the cursor key in the store is malformed")
	}
	return key, nil
}

func makeSecrets(tx *db.Tx, v *vault.Vault) (struct{}, audit.Event, error) {
	exempt := audit.None("nobody asked for the secrets of a new store")
	key := make([]byte, 32)
	rand.Read(key)
	won, err := v.InsertSecret(tx, cursorKeyName, []byte(base64.StdEncoding.EncodeToString(key)))
	if err != nil || !won {
		return struct{}{}, exempt, err
	}
	_, err = token.InsertKey(tx, v)
	return struct{}{}, exempt, err
}
