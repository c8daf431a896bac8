package client

import (
	"context"
	"iter"
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
	return list(ctx, s.c, api.ListAPIKeys, p.query())
}

// All iterates over the caller's keys.
func (s *KeyService) All(ctx context.Context, p ListParams) iter.Seq2[APIKey, error] {
	return all(ctx, s.c, api.ListAPIKeys, p.query())
}

// Create creates a key. Only the result of Create contains its secret.
func (s *KeyService) Create(ctx context.Context, p KeyCreateParams) (*NewAPIKey, error) {
	body := api.APIKeyCreate{Name: p.Name, AllowedCIDRs: p.AllowedCIDRs, ScopeRequest: p.Scope}
	if !p.ExpiresAt.IsZero() {
		body.ExpiresAt = new(p.ExpiresAt.UnixMilli())
	}
	return submit(ctx, s.c, api.CreateAPIKey, body)
}

// Rotate replaces a key with a new one of the same name. The old key stays valid for the
// grace period.
func (s *KeyService) Rotate(ctx context.Context, id string, p KeyRotateParams) (*NewAPIKey, error) {
	var body api.APIKeyRotate
	if p.Grace != nil {
		body.GraceSeconds = new(int64(*p.Grace / time.Second))
	}
	return submit(ctx, s.c, api.RotateAPIKey, body, id)
}

// Revoke revokes a key and ends the sessions that it started.
func (s *KeyService) Revoke(ctx context.Context, id string) (*Revoked, error) {
	return run(ctx, s.c, api.RevokeAPIKey, id)
}

// RevokeCompromised revokes a key that someone else may have. It suspends the members, roles and machine clients that came through it.
func (s *KeyService) RevokeCompromised(ctx context.Context, id string) (*CompromisedKey, error) {
	return run(ctx, s.c, api.ReportCompromisedAPIKey, id)
}
