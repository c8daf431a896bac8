package client_test

import (
	"context"
	"errors"
	"net/http"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"bursar/client"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
)

func me(t *testing.T, c *client.Client) {
	t.Helper()
	must[*client.Me](t)(c.Auth.Me(t.Context()))
}

func TestAKeyIsExchangedOnceWhenFirstNeeded(t *testing.T) {
	t.Parallel()
	n := servertest.Start(t, dbtest.SQLite(t))
	c, way := admin(t, n)
	if way.count(exchange) != 0 {
		t.Error("making a client calls the server")
	}
	me(t, c)
	me(t, c)
	if got := way.count(exchange); got != 1 {
		t.Errorf("%d exchanges, want 1", got)
	}
}

func TestAMachineClientSignsInWithItsSecret(t *testing.T) {
	t.Parallel()
	n := servertest.Start(t, dbtest.SQLite(t))
	id, secret, err := n.Identity.CreateClient(t.Context(), db.Caller{}, n.First.WorkspaceID, "robot", "member")
	if err != nil {
		t.Fatal(err)
	}
	if user := must[*client.Me](t)(dial(t, n.URL, client.WithClientSecret(id, secret)).Auth.Me(t.Context())); user.ID != id {
		t.Errorf("signed in as %+v", user)
	}
}

func TestASessionThatEndedIsRenewed(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, s dbtest.Store) {
		n := servertest.Start(t, s)
		ends := map[string]func(c *client.Client){
			"expired": func(*client.Client) { n.Clock.Advance(2 * time.Hour) },
			"revoked": func(c *client.Client) {
				session := must[*client.Session](t)(c.Auth.Exchange(t.Context()))
				must[*client.Logout](t)(dial(t, n.URL, client.WithToken(session.Token)).Auth.Logout(t.Context()))
			},
			"logged out": func(c *client.Client) { must[*client.Logout](t)(c.Auth.Logout(t.Context())) },
		}
		for name, end := range ends {
			t.Run(name, func(t *testing.T) {
				c, way := admin(t, n)
				me(t, c)
				end(c)
				before := way.count(exchange)
				ctx := t.Context()
				created := must[*client.Created](t)(c.Directory.Create(ctx, client.EntryCreateParams{WorkspaceID: n.First.WorkspaceID, Type: client.TypePerson}))
				must[*client.Entry](t)(c.Directory.Get(ctx, created.ID))
				if got := way.count(exchange) - before; got != 1 {
					t.Errorf("%d exchanges, want 1", got)
				}
			})
		}
	})
}

func TestATokenIsUsedUntilItEndsThenTheKey(t *testing.T) {
	t.Parallel()
	n := servertest.Start(t, dbtest.SQLite(t))
	token := n.Admin(t).Token
	c, way := admin(t, n, client.WithToken(token))
	me(t, c)
	if way.count(exchange) != 0 {
		t.Error("the token was not used")
	}
	n.Clock.Advance(2 * time.Hour)
	me(t, c)
	if got := way.count(exchange); got != 1 {
		t.Errorf("%d exchanges, want 1", got)
	}
	_, err := dial(t, n.URL, client.WithToken(token)).Auth.Me(t.Context())
	if !client.IsUnauthorized(err) {
		t.Errorf("an ended token alone: %v", err)
	}
	if _, err := dial(t, n.URL, client.WithToken(token)).Auth.Exchange(t.Context()); err == nil {
		t.Error("a token was exchanged")
	}
}

func TestARevokedKeyIsTriedOnce(t *testing.T) {
	t.Parallel()
	n := servertest.Start(t, dbtest.SQLite(t))
	c, way := admin(t, n)
	me(t, c)
	if _, err := n.Identity.RevokeAnyKey(t.Context(), db.Caller{}, n.First.APIKey); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Auth.Me(t.Context()); !client.IsUnauthorized(err) {
		t.Errorf("with a revoked key: %v", err)
	}
	if got := way.count(exchange); got != 2 {
		t.Errorf("%d exchanges, want 2", got)
	}
}

func TestManyCallersShareOneExchange(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, s dbtest.Store) {
		n := servertest.Start(t, s)
		c, way := admin(t, n)
		for round := 1; round <= 3; round++ {
			var all sync.WaitGroup
			for range 40 {
				all.Go(func() {
					if _, err := c.Auth.Me(t.Context()); err != nil {
						t.Errorf("round %d: %v", round, err)
					}
				})
			}
			all.Wait()
			if got := way.count(exchange); got != round {
				t.Errorf("%d exchanges, want %d", got, round)
			}
			n.Clock.Advance(2 * time.Hour)
		}
	})
}

func TestABadKeyIsTriedOnceForAllWhoWait(t *testing.T) {
	t.Parallel()
	n := servertest.Start(t, dbtest.SQLite(t))
	way := newTap(t)
	release := make(chan struct{})
	way.hold = func(*http.Request) { <-release }
	c := dial(t, n.URL, way.through(), client.WithAPIKey("bk_wrong"))
	failed := make(chan error)
	for range 6 {
		go func() { _, err := c.Auth.Me(t.Context()); failed <- err }()
	}
	for c.Waiting() < 6 {
		runtime.Gosched()
	}
	close(release)
	for range 6 {
		if err := <-failed; !client.IsUnauthorized(err) {
			t.Errorf("with a bad key: %v", err)
		}
	}
	if got := way.sent(); !slices.Equal(got, []string{exchange}) {
		t.Errorf("sent %v", got)
	}
}

// Anyone who waits for an exchange waits as long as they want, and no one else is hurt.
func TestEachWaitsForTheExchangeWithTheirOwnContext(t *testing.T) {
	t.Parallel()
	n := servertest.Start(t, dbtest.SQLite(t))
	arrived, release := make(chan struct{}), make(chan struct{})
	c, way := admin(t, n)
	way.hold = func(r *http.Request) {
		if r.URL.Path == "/v1/auth/token" {
			close(arrived)
			<-release
		}
	}
	first, cancel := context.WithCancel(t.Context())
	gone, stays := make(chan error), make(chan error)
	go func() { _, err := c.Auth.Me(first); gone <- err }()
	<-arrived
	go func() { _, err := c.Auth.Me(t.Context()); stays <- err }()
	for c.Waiting() < 2 {
		runtime.Gosched()
	}
	cancel()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Errorf("who left: %v", err)
	}
	close(release)
	if err := <-stays; err != nil {
		t.Errorf("who stayed: %v", err)
	}
	if got := way.count(exchange); got != 1 {
		t.Errorf("%d exchanges, want 1", got)
	}
}

func TestAnAbandonedExchangeIsCanceled(t *testing.T) {
	t.Parallel()
	n := servertest.Start(t, dbtest.SQLite(t))
	arrived, over := make(chan struct{}), make(chan struct{})
	c, way := admin(t, n)
	way.hold = func(r *http.Request) {
		if r.Context().Done() != nil && way.count(exchange) == 1 {
			close(arrived)
			<-r.Context().Done()
			close(over)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	gone := make(chan error)
	go func() { _, err := c.Auth.Me(ctx); gone <- err }()
	<-arrived
	cancel()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Errorf("who left: %v", err)
	}
	<-over
	way.hold = nil
	me(t, c)
}
