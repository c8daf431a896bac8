package identity_test

import (
	"io"
	"strings"
	"testing"

	"bursar/api"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/identity"
	"bursar/internal/server/servertest"
	"bursar/internal/wait"
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

// Anyone who begins a request and holds back its body must not act with a session that was
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

// A request may have been authenticated a moment before the caller's sessions are ended.
// It must not leave a credential behind that no one revokes then.
func TestARequestUnderWayMakesNoCredentialAfterItsSessionHasEnded(t *testing.T) {
	each(t, func(t *testing.T, n *node) {
		p := n.place()
		thief, owner := p.use(p.begin(p.admin.ID, "").Secret), p.use(p.begin(p.admin.ID, "").Secret)
		key, err := call(n, owner, n.CreateKey, identity.NewKeyInput{APIKeyCreate: api.APIKeyCreate{Name: "key"}})
		must(t, err)
		client, err := call(n, owner, n.clients.Create, identity.CreateClientInput{WorkspaceID: p.workspaceID, Name: "Payroll", Role: "viewer"})
		must(t, err)
		code, err := n.NewDeviceCode(t.Context(), stranger(), identity.DeviceInput{})
		must(t, err)
		must(t, n.EndOtherSessions(t.Context(), owner))
		for name, attempt := range map[string]func() error{
			"make a key": func() error {
				_, err := call(n, thief, n.CreateKey, identity.NewKeyInput{APIKeyCreate: api.APIKeyCreate{Name: "escape"}})
				return err
			},
			"rotate a key": func() error {
				_, err := call(n, thief, n.RotateKey, identity.RotateInput{ID: key.ID})
				return err
			},
			"approve a device": func() error {
				_, err := call(n, thief, n.Approve, identity.CodeInput{Code: code.Code})
				return err
			},
			"make a machine client": func() error {
				_, err := call(n, thief, n.clients.Create, identity.CreateClientInput{WorkspaceID: p.workspaceID, Name: "Escape", Role: "viewer"})
				return err
			},
			"rotate a machine client": func() error {
				_, err := call(n, thief, n.clients.Rotate, identity.ClientInput{WorkspaceID: p.workspaceID, ID: client.ID})
				return err
			},
		} {
			t.Run(name, func(t *testing.T) { refused(t, attempt(), api.CodeUnauthorized) })
		}
	})
}

// A session ends before a transaction that gives something in it, which is then refused, or after it.
func TestASessionDoesNotEndBesideWhatItGives(t *testing.T) {
	each(t, func(t *testing.T, n *node) {
		if n.db.Engine() == "sqlite" {
			return // it has one writer
		}
		p := n.place()
		thief, owner := p.use(p.begin(p.admin.ID, "").Secret), p.use(p.begin(p.admin.ID, "").Secret)
		ended := make(chan error, 1)
		_, err := db.Write(t.Context(), n.db, db.Caller{}, func(tx *db.Tx) (struct{}, audit.Event, error) {
			err, pid := identity.RequireSession(tx, thief), 0
			if err == nil {
				_, err = tx.Row(`SELECT pg_backend_pid()`).Scan(&pid)
			}
			if err != nil {
				return struct{}{}, audit.Event{}, err
			}
			go func() {
				_, err := n.EndSession(t.Context(), owner, thief.SessionID)
				ended <- err
			}()
			wait.Until(t, "the session ends, or waits to", func() bool {
				return len(ended) > 0 || n.count(`SELECT count(*) FROM pg_stat_activity WHERE $1::int = ANY (pg_blocking_pids(pid))`, pid) > 0
			})
			if len(ended) > 0 {
				t.Error("the session ended meanwhile")
			}
			return struct{}{}, audit.None("a test"), nil
		})
		must(t, err)
		must(t, <-ended)
	})
}
