package client

import (
	"context"
	"iter"
	"net/http"
	"time"

	"bursar/api"
)

// KeyService manages the caller's own API keys.
type KeyService struct{ c *Client }

// KeyCreateParams describe a new API key.
type KeyCreateParams struct {
	Name string
	// ExpiresAt is when the key expires. Zero means never.
	ExpiresAt time.Time
	// AllowedCIDRs are the networks that the key may be used from. If it is empty, the key works from any network.
	AllowedCIDRs []string
	// Scope limits the key, and sets whether it administers.
	Scope ScopeParams
}

// KeyRotateParams set how a key is replaced.
type KeyRotateParams struct {
	// Grace is how long the old key stays valid: a day if it is nil, not at all if it is
	// 0.
	Grace *time.Duration
}

// List reads the caller's keys, without their secrets.
func (s *KeyService) List(ctx context.Context, p ListParams) (*Page[APIKey], error) {
	return list[APIKey](ctx, s.c, p.query(), "/api-keys")
}

// All iterates over the caller's keys.
func (s *KeyService) All(ctx context.Context, p ListParams) iter.Seq2[APIKey, error] {
	return walk(p.Cursor, func(cursor string) (*Page[APIKey], error) {
		return s.List(ctx, p.at(cursor))
	})
}

// Create creates a key. Only the result of Create contains its secret.
func (s *KeyService) Create(ctx context.Context, p KeyCreateParams) (*NewAPIKey, error) {
	body := api.APIKeyCreate{Name: p.Name, AllowedCIDRs: p.AllowedCIDRs, ScopeRequest: p.Scope}
	if !p.ExpiresAt.IsZero() {
		body.ExpiresAt = new(p.ExpiresAt.UnixMilli())
	}
	return change[NewAPIKey](ctx, s.c, http.MethodPost, body, "/api-keys")
}

// Rotate replaces a key with a new one of the same name. The old key stays valid for the
// grace period.
func (s *KeyService) Rotate(ctx context.Context, id string, p KeyRotateParams) (*NewAPIKey, error) {
	var body api.APIKeyRotate
	if p.Grace != nil {
		body.GraceSeconds = new(int64(*p.Grace / time.Second))
	}
	return change[NewAPIKey](ctx, s.c, http.MethodPost, body, "/api-keys", id, "rotate")
}

// Revoke revokes a key and ends the sessions that it started.
func (s *KeyService) Revoke(ctx context.Context, id string) (*Revoked, error) {
	return change[Revoked](ctx, s.c, http.MethodDelete, nil, "/api-keys", id)
}

// RevokeCompromised revokes a key that someone else may have. It suspends the members, roles and machine clients that came through it.
func (s *KeyService) RevokeCompromised(ctx context.Context, id string) (*CompromisedKey, error) {
	return change[CompromisedKey](ctx, s.c, http.MethodPost, nil, "/api-keys", id, "compromised")
}
