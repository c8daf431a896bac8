package client

import (
	"context"
	"errors"
	"iter"

	"bursar/api"
)

// AuthService manages the caller's sessions and device logins, and reads their activity.
type AuthService struct{ c *Client }

// Me returns the user that the client is signed in as. It includes the scope of a credential that is limited or does not administer.
func (s *AuthService) Me(ctx context.Context) (*Me, error) {
	return run(ctx, s.c, api.GetMe)
}

// Activity reads one page of the caller's own audit rows that belong to no workspace, newest first. Examples are sign-ins and changes of
// API keys. A page has 25 rows unless p sets a limit.
func (s *AuthService) Activity(ctx context.Context, p ListParams) (*Page[AuditEntry], error) {
	return list(ctx, s.c, api.ListMyActivity, p.query())
}

// AllActivity iterates over all pages of [AuthService.Activity].
func (s *AuthService) AllActivity(ctx context.Context, p ListParams) iter.Seq2[AuditEntry, error] {
	return all(ctx, s.c, api.ListMyActivity, p.query())
}

// Exchange signs in at once and uses the new session from then on. A client signs in automatically, so call it only to check the credential
// or to learn when the session ends.
func (s *AuthService) Exchange(ctx context.Context) (*Session, error) {
	if s.c.session.exchange == nil {
		return nil, errors.New("bursar: there is nothing to exchange: use WithAPIKey or WithClientSecret")
	}
	got, err := s.c.session.renew(ctx)
	if err != nil {
		return nil, err
	}
	copied := *got
	return &copied, nil
}

// Logout ends the session. A client with a credential signs in again on its next call.
func (s *AuthService) Logout(ctx context.Context) (*Logout, error) {
	op := &call{method: api.LogOut.Method(), path: api.LogOut.Path(), final: true}
	token, err := s.c.session.get(ctx)
	if err != nil {
		return nil, err
	}
	response, attempts, err := s.c.send(ctx, op)
	if IsUnauthorized(err) && attempts > 1 {
		// An earlier attempt has ended the session, and its response was lost.
		s.c.session.drop(token)
		return &Logout{Revoked: true}, nil
	}
	if err != nil {
		return nil, err
	}
	s.c.session.drop(token)
	var done api.Logout
	return &done, decode(op, response, &envelope{Data: &done})
}
