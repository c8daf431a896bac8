package identity_test

import (
	"io"
	"strings"
	"testing"

	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
)

// lateBody is the body of a request that is sent only after something has happened.
type lateBody struct {
	io.Reader
	before func()
}

func (b *lateBody) Read(p []byte) (int, error) {
	if b.before != nil {
		b.before()
		b.before = nil
	}
	return b.Reader.Read(p)
}

// Whoever begins a request and holds back its body must not act with a session that was
// ended meanwhile.
func TestASessionThatEndsBeforeTheBodyArrivesIsOver(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		thief, person := n.Admin(t), n.Admin(t)
		body := &lateBody{strings.NewReader(`{"name":"escape"}`), func() { thief.Post("/v1/auth/logout", nil).OK() }}
		// The server asks for the body when it has authenticated the caller.
		thief.Do("POST", "/v1/api-keys", body, "Expect", "100-continue").Fails(401, "UNAUTHORIZED")
		if keys := person.Get("/v1/api-keys").OK().List(); len(keys) != 1 {
			t.Errorf("there are %d keys", len(keys))
		}
	})
}
