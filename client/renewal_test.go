package client

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"testing"
	"time"

	"bursar/api"
)

// jwt is a token with only what says how long it lives.
func jwt(issued, expires int64) string {
	claims := base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, `{"iat":%d,"exp":%d}`, issued, expires))
	return "e30." + claims + ".sig"
}

func TestASessionIsRenewedShortlyBeforeItEnds(t *testing.T) {
	t.Parallel()
	for name, skew := range map[string]int64{"clocks agree": 0, "the server is a day behind": -86400, "the server is a day ahead": 86400} {
		t.Run(name, func(t *testing.T) {
			now := time.Unix(1_800_000_000, 0)
			exchanges := 0
			s := &session{now: func() time.Time { return now }, exchange: func(context.Context) (*api.Session, error) {
				exchanges++
				issued := now.Unix() + skew
				return &api.Session{Token: jwt(issued, issued+3600), ExpiresAt: (issued + 3600) * 1000}, nil
			}}
			steps := []struct {
				wait time.Duration
				want int
			}{{0, 1}, {time.Hour - 61*time.Second, 1}, {2 * time.Second, 2}, {time.Minute, 2}, {3 * time.Hour, 3}}
			for _, step := range steps {
				now = now.Add(step.wait)
				if _, err := s.get(t.Context()); err != nil || exchanges != step.want {
					t.Errorf("after %s: %d exchanges, want %d (%v)", step.wait, exchanges, step.want, err)
				}
			}
		})
	}
}

func TestASessionIsUsedToItsEndWhereItCannotBeRenewed(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0)
	down := errors.New("down")
	var fail error
	s := &session{now: func() time.Time { return now }, exchange: func(context.Context) (*api.Session, error) {
		// Not a JWT: what the server says of the end counts.
		return &api.Session{Token: "opaque", ExpiresAt: now.Add(100 * time.Second).UnixMilli()}, fail
	}}
	for _, step := range []struct {
		wait time.Duration
		want error
	}{{0, nil}, {95 * time.Second, nil}, {6 * time.Second, down}} {
		now = now.Add(step.wait)
		token, err := s.get(t.Context())
		if !errors.Is(err, step.want) || (err == nil) != (token == "opaque") {
			t.Errorf("after %s: %q, %v, want %v", step.wait, token, err, step.want)
		}
		fail = down
	}
}

func TestLifetimeOfATokenThatCannotBeRead(t *testing.T) {
	t.Parallel()
	now := time.UnixMilli(1_800_000_000_000)
	for _, token := range []string{"", "a.b.c", "a.!.c", jwt(0, 5), jwt(5, 5), jwt(9, 5), "e30.W10.x"} {
		if got := lifetime(&api.Session{Token: token, ExpiresAt: now.Add(time.Hour).UnixMilli()}, now); got != time.Hour {
			t.Errorf("%q lives %s", token, got)
		}
	}
	if got := lifetime(&api.Session{ExpiresAt: 1}, now); got != 0 {
		t.Errorf("an ended session lives %s", got)
	}
}
