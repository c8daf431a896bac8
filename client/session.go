package client

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"bursar/api"
)

// session holds the client's session token. It exchanges the credential for a token
// on the first call, shortly before the token expires, and after the server has
// rejected the token.
type session struct {
	exchange func(ctx context.Context) (*api.Session, error) // nil without a credential
	now      func() time.Time

	mu      sync.Mutex
	token   string
	renewAt time.Time // zero when the expiry is unknown
	endsAt  time.Time
	renewal *renewal
}

// renewal is an exchange in progress. All callers that need a token share it, and
// each waits until its own context ends. It is cancelled when the last caller has
// stopped waiting.
type renewal struct {
	done    chan struct{}
	cancel  context.CancelFunc
	waiting int

	session *api.Session
	err     error
}

func newSession(c *Client, set settings) *session {
	s := &session{now: time.Now}
	if set.token != nil {
		s.token = *set.token
	}
	var authorization string
	switch {
	case set.apiKey != nil:
		authorization = "Bearer " + *set.apiKey
	case set.client != nil:
		authorization = "Basic " + base64.StdEncoding.EncodeToString([]byte(set.client.id+":"+set.client.secret))
	default:
		return s
	}
	s.exchange = func(ctx context.Context) (*api.Session, error) {
		// A second exchange only starts another session, so it is safe to retry.
		op := &call{method: api.CreateToken.Method(), path: api.CreateToken.Path(), authorization: authorization, open: true}
		return fetch[api.Session](ctx, c, op)
	}
	return s
}

// get returns a token to call with, or an empty string when there is no credential.
func (s *session) get(ctx context.Context) (string, error) {
	s.mu.Lock()
	token, now := s.token, s.now()
	fresh := s.exchange == nil || (token != "" && (s.renewAt.IsZero() || now.Before(s.renewAt)))
	usable := token != "" && now.Before(s.endsAt)
	s.mu.Unlock()
	if fresh {
		return token, nil
	}
	renewed, err := s.renew(ctx)
	switch {
	case err == nil:
		return renewed.Token, nil
	case usable && ctx.Err() == nil:
		return token, nil // the old token has not expired
	}
	return "", err
}

// drop discards a token that the server rejected. It reports whether the client can
// get another one.
func (s *session) drop(token string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.exchange == nil {
		return false
	}
	if s.token == token {
		s.token = ""
	}
	return true
}

// renew exchanges the credential, or waits for an exchange already in progress.
func (s *session) renew(ctx context.Context) (*api.Session, error) {
	s.mu.Lock()
	r := s.renewal
	if r == nil {
		r = s.start(ctx)
	}
	r.waiting++
	s.mu.Unlock()
	select {
	case <-r.done:
		return r.session, r.err
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.waiting--; r.waiting == 0 {
		r.cancel()
		if s.renewal == r {
			s.renewal = nil
		}
	}
	return nil, fmt.Errorf("bursar: sign in: %w", ctx.Err())
}

// start begins an exchange that continues if the context of its first caller ends,
// because other callers may be waiting for it.
func (s *session) start(ctx context.Context) *renewal {
	shared, cancel := context.WithCancel(context.WithoutCancel(ctx))
	r := &renewal{done: make(chan struct{}), cancel: cancel}
	s.renewal = r
	go func() {
		defer cancel()
		started := s.now()
		r.session, r.err = s.exchange(shared)
		s.mu.Lock()
		if r.err == nil {
			s.keep(r.session, started)
		}
		if s.renewal == r {
			s.renewal = nil
		}
		s.mu.Unlock()
		close(r.done)
	}()
	return r
}

// keep stores a token and when to renew it: a minute before it expires, or a tenth
// of its lifetime before if that is shorter.
func (s *session) keep(got *api.Session, started time.Time) {
	life := lifetime(got, started)
	s.token = got.Token
	s.endsAt = started.Add(life)
	s.renewAt = s.endsAt.Add(-min(time.Minute, life/10))
}

// lifetime returns how long a session lasts. It prefers the times in the token to
// ExpiresAt, because their difference does not depend on this machine's clock.
func lifetime(got *api.Session, now time.Time) time.Duration {
	var claims struct {
		IssuedAt int64 `json:"iat"`
		Expires  int64 `json:"exp"`
	}
	if parts := strings.Split(got.Token, "."); len(parts) == 3 {
		text, err := base64.RawURLEncoding.DecodeString(parts[1])
		if err == nil && json.Unmarshal(text, &claims) == nil && claims.IssuedAt > 0 && claims.Expires > claims.IssuedAt {
			return time.Duration(claims.Expires-claims.IssuedAt) * time.Second
		}
	}
	return max(0, time.UnixMilli(got.ExpiresAt).Sub(now))
}
