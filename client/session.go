package client

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"bursar/api"
)

// session holds the token of a client. It exchanges the credential for a token when one is
// needed, shortly before one expires, and after one was refused.
type session struct {
	exchange func(ctx context.Context) (*api.Session, error) // nil without a credential
	now      func() time.Time

	mu      sync.Mutex
	token   string
	renewAt time.Time // zero if it is not known
	endsAt  time.Time
	flight  *flight
}

// flight is a running exchange. Everybody who needs a token waits for the same one; it is
// cancelled when nobody waits any more.
type flight struct {
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
		// A second exchange only creates a second session, so it is safe to retry.
		op := &call{method: http.MethodPost, path: "/auth/token", authorization: authorization, open: true}
		return fetch[api.Session](ctx, c, op)
	}
	return s
}

// get returns a token, or "" if there is no credential.
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
		return token, nil // it is still valid
	}
	return "", err
}

// drop forgets a token that was refused. It says whether another one can be obtained.
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

// renew exchanges the credential, or waits for an exchange that is running.
func (s *session) renew(ctx context.Context) (*api.Session, error) {
	s.mu.Lock()
	f := s.flight
	if f == nil {
		f = s.start(ctx)
	}
	f.waiting++
	s.mu.Unlock()
	select {
	case <-f.done:
		return f.session, f.err
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if f.waiting--; f.waiting == 0 {
		f.cancel()
		if s.flight == f {
			s.flight = nil
		}
	}
	return nil, fmt.Errorf("bursar: sign in: %w", ctx.Err())
}

// start begins an exchange that goes on if the first who asked gives up.
func (s *session) start(ctx context.Context) *flight {
	shared, cancel := context.WithCancel(context.WithoutCancel(ctx))
	f := &flight{done: make(chan struct{}), cancel: cancel}
	s.flight = f
	go func() {
		defer cancel()
		started := s.now()
		f.session, f.err = s.exchange(shared)
		s.mu.Lock()
		if f.err == nil {
			s.keep(f.session, started)
		}
		if s.flight == f {
			s.flight = nil
		}
		s.mu.Unlock()
		close(f.done)
	}()
	return f
}

// keep stores a token and when to renew it: a minute before it expires, or a tenth of its
// life if that is less.
func (s *session) keep(got *api.Session, started time.Time) {
	life := lifetime(got, started)
	s.token = got.Token
	s.endsAt = started.Add(life)
	s.renewAt = s.endsAt.Add(-min(time.Minute, life/10))
}

// lifetime returns how long a session lasts. The token tells, so the clock of this machine
// does not matter.
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
