package identity_test

import (
	"sync/atomic"
	"testing"
	"time"

	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/identity"
	"bursar/internal/server/servertest"
)

// A token of a key that is bound to networks and expires must not make a key that is
// neither, or that outlives it.
func TestAKeyMadeWithAKeyIsNeitherStrongerNorLongerLived(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		end := n.DB.Now() + time.Hour.Milliseconds()
		_, _, secret := n.NewKey(t, identity.NewKey{ExpiresAt: end, AllowedCIDRs: []string{"127.0.0.0/8", "10.0.0.0/8"}})
		ways := map[string]func(t *testing.T) *servertest.Client{
			"by exchange":                         func(t *testing.T) *servertest.Client { return n.Login(t, secret) },
			"by a device code approved with it":   func(t *testing.T) *servertest.Client { return n.DeviceSession(t, n.Login(t, secret)) },
			"by a key that was made with the key": func(t *testing.T) *servertest.Client { return n.Login(t, childOf(n.Login(t, secret))) },
		}
		for way, login := range ways {
			t.Run(way, func(t *testing.T) {
				user := login(t)
				made := user.Post("/v1/api-keys", servertest.Body{"name": "escape"}).OK()
				if made.Number("expires_at") != end {
					t.Errorf("the key expires at %d, the one that it was made with at %d", made.Number("expires_at"), end)
				}
				if got := made.Object()["allowed_cidrs"].([]any); len(got) != 2 {
					t.Errorf("its networks are %v", got)
				}
				later := user.Post("/v1/api-keys", servertest.Body{"name": "later", "expires_at": end + 1}).OK()
				if later.Number("expires_at") != end {
					t.Errorf("a key that was to live longer expires at %d", later.Number("expires_at"))
				}
				sooner := user.Post("/v1/api-keys", servertest.Body{"name": "sooner", "expires_at": end - 1, "allowed_cidrs": []string{"10.1.0.0/16"}}).OK()
				if sooner.Number("expires_at") != end-1 {
					t.Errorf("a key that was to live shorter expires at %d", sooner.Number("expires_at"))
				}
				for _, network := range []string{"0.0.0.0/0", "11.0.0.0/8", "10.0.0.0/7", "::/0"} {
					user.Post("/v1/api-keys", servertest.Body{"name": "wider", "allowed_cidrs": []string{network}}).Invalid("allowed_cidrs")
				}
			})
		}
	})
}

// Nor must it get a secret of a machine client that is neither, or that outlives it.
func TestAClientSecretMadeWithAKeyIsNeitherStrongerNorLongerLived(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store, servertest.TrustProxy())
		x := n.Tenant(t)
		inside, outside := servertest.From("10.1.2.3"), servertest.From("203.0.113.9")
		clientID, _, err := n.Identity.CreateClient(t.Context(), db.Caller{}, x.WorkspaceID, "Payroll", "viewer")
		if err != nil {
			t.Fatal(err)
		}
		rotateClient := func(t *testing.T, by *servertest.Client) (basic string) {
			t.Helper()
			return servertest.Basic(clientID, by.On(t).Post(x.Path("/clients/"+clientID+"/rotate"), nil).OK().Text("secret"))
		}
		ends := map[string]func(t *testing.T, key, keyID string){
			"revoked": func(t *testing.T, key, keyID string) { x.Owner.On(t).Delete("/v1/api-keys/" + keyID).OK() },
			"rotated": func(t *testing.T, key, keyID string) {
				rotate(n.Holder(t, n.Exchange(t, "Bearer "+key, inside...).OK().Text("token")), keyID, servertest.Body{"grace_seconds": 0})
			},
			"expired": func(t *testing.T, key, keyID string) { n.Clock.Advance(11 * time.Minute) },
		}
		for name, end := range ends {
			t.Run(name, func(t *testing.T) {
				made := x.Owner.On(t).Post("/v1/api-keys", servertest.Body{"name": name, "allowed_cidrs": []string{"10.0.0.0/8"},
					"administer": true, "expires_at": n.DB.Now() + (10 * time.Minute).Milliseconds()}).OK()
				thief := n.Holder(t, n.Exchange(t, "Bearer "+made.Text("api_key"), inside...).OK().Text("token"))
				secret := rotateClient(t, thief)
				n.Exchange(t, secret, outside...).Fails(401, "INVALID_CREDENTIALS")
				session := n.Holder(t, n.Exchange(t, secret, inside...).OK().Text("token"))
				session.Get("/v1/auth/me").OK()
				end(t, made.Text("api_key"), made.Text("id"))
				session.Get("/v1/auth/me").Fails(401, "UNAUTHORIZED")
				n.Exchange(t, secret, inside...).Fails(401, "INVALID_CREDENTIALS")
				n.Exchange(t, rotateClient(t, deviceLogin(t, n, x.Owner.UserID)), outside...).OK()
			})
		}
	})
}

// A device code that is approved with a key begins a session where those of the key begin.
func TestADeviceOutsideOfTheNetworksOfAKeyIsNotApprovedWithIt(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store, servertest.TrustProxy())
		inside, outside := servertest.From("10.1.2.3"), servertest.From("203.0.113.9")
		_, _, secret := n.NewKey(t, identity.NewKey{AllowedCIDRs: []string{"10.0.0.0/8"}})
		thief := n.Holder(t, n.Exchange(t, "Bearer "+secret, inside...).OK().Text("token"))
		newCode := func(body any, from []string) string {
			return n.Stranger(t).Do("POST", "/v1/auth/device-code", body, from...).OK().Text("code")
		}
		thief.Decide(newCode(nil, outside), "approve").Fails(403, "FORBIDDEN")
		// With a challenge the token may be fetched from elsewhere.
		const verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
		code := newCode(servertest.Body{"code_challenge": "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"}, inside)
		thief.Decide(code, "approve").OK()
		verified := []string{"X-Code-Verifier", verifier}
		n.PollDevice(t, code, append(verified, outside...)...).OK().DeviceStatus("approved", false)
		n.PollDevice(t, code, append(verified, inside...)...).OK().DeviceStatus("approved", true)
	})
}

// A thief must not make a key hard to revoke by making and revoking thousands with it.
func TestRevokingAKeyTakesNoLongerForKeysThatHaveEnded(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		var statements atomic.Int64
		store.Config.Trace = func(string, []any) { statements.Add(1) }
		n := servertest.Start(t, store)
		revoke := func(ended int) int64 {
			_, id, secret := n.NewKey(t, identity.NewKey{})
			user := n.Login(t, secret)
			for i := range ended {
				if i%2 == 0 {
					child, _ := createKey(user, servertest.Body{})
					user.Delete("/v1/api-keys/" + child).OK()
				} else {
					createKey(user, servertest.Body{"expires_at": n.DB.Now() + time.Second.Milliseconds()})
				}
			}
			n.Clock.Advance(time.Minute)
			user.Get("/v1/auth/me").OK()
			before := statements.Load()
			user.Delete("/v1/api-keys/" + id).OK()
			return statements.Load() - before
		}
		// A node may send a few of its own meanwhile.
		if none, many := revoke(0), revoke(20); many >= none+20 {
			t.Errorf("revoking a key takes %d statements, and %d after it made 20 that have ended", none, many)
		}
	})
}

func childOf(user *servertest.Client) string {
	return user.Post("/v1/api-keys", servertest.Body{"name": "child", "administer": true}).OK().Text("api_key")
}

func TestKeysAndSessionsEndWithTheKeyThatTheyWereMadeWith(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		ends := map[string]func(t *testing.T, user *servertest.Client, id string){
			"revoked": func(t *testing.T, user *servertest.Client, id string) { user.On(t).Delete("/v1/api-keys/" + id).OK() },
			"revoked by the operator": func(t *testing.T, _ *servertest.Client, id string) {
				if _, err := n.Identity.RevokeAnyKey(t.Context(), db.Caller{}, id); err != nil {
					t.Fatal(err)
				}
			},
			"rotated without grace": func(t *testing.T, user *servertest.Client, id string) {
				rotate(user.On(t), id, servertest.Body{"grace_seconds": 0})
			},
			"rotated, when its grace is over": func(t *testing.T, user *servertest.Client, id string) {
				rotate(user.On(t), id, servertest.Body{"grace_seconds": 60})
				user.On(t).Get("/v1/auth/me").OK()
				n.Clock.Advance(time.Minute)
			},
		}
		for name, end := range ends {
			t.Run(name, func(t *testing.T) {
				_, id, secret := n.NewKey(t, identity.NewKey{})
				user := n.Login(t, secret)
				device := n.DeviceSession(t, user)
				child := childOf(device)
				grandchild := childOf(n.Login(t, child))
				sessions := []*servertest.Client{user, device, n.Login(t, child), n.DeviceSession(t, n.Login(t, child)), n.Login(t, grandchild)}
				end(t, user, id)
				for i, session := range sessions {
					if got := session.Get("/v1/auth/me"); got.Status != 401 {
						t.Errorf("session %d is answered %d", i, got.Status)
					}
				}
				for i, key := range []string{secret, child, grandchild} {
					if got := n.Exchange(t, "Bearer "+key); got.Status != 401 {
						t.Errorf("key %d is answered %d", i, got.Status)
					}
				}
			})
		}
	})
}

func TestAKeyRotatesOnlyItselfAndWhatWasMadeWithIt(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		end := n.DB.Now() + (10 * day).Milliseconds()
		email, id, secret := n.NewKey(t, identity.NewKey{ExpiresAt: end})
		other, _, err := n.Identity.CreateKeyFor(t.Context(), db.Caller{}, email, identity.NewKey{Name: "stronger"})
		if err != nil {
			t.Fatal(err)
		}
		user := n.Login(t, secret)
		user.Post("/v1/api-keys/"+other+"/rotate", nil).Fails(403, "FORBIDDEN")
		user.Post("/v1/api-keys/key_00000000000000000000000000/rotate", nil).Fails(404, "RESOURCE_NOT_FOUND")

		child := user.Post("/v1/api-keys", servertest.Body{"name": "child", "administer": true}).OK().Text("id")
		n.Clock.Advance(day)
		user = n.Login(t, secret)
		if next := rotate(user, child, nil); next.ExpiresAt != end {
			t.Errorf("the child's successor expires at %d, the key at %d", next.ExpiresAt, end)
		}
		if next := rotate(user, id, nil); next.ExpiresAt != end {
			t.Errorf("the key has prolonged itself to %d from %d", next.ExpiresAt, end)
		}
	})
}

// deviceLogin is a session that a person approved for a command line.
func deviceLogin(t *testing.T, n *servertest.Node, userID string) *servertest.Client {
	t.Helper()
	code := n.NewDeviceCode(t, nil)
	approve(t, n, userID, code)
	return n.Holder(t, n.PollDevice(t, code).OK().Text("token"))
}

func approve(t *testing.T, n *servertest.Node, userID, code string) {
	t.Helper()
	person := db.Caller{Actor: audit.Actor{Type: audit.User, ID: userID, LoggedInAt: n.DB.Now()}}
	if _, err := n.Identity.Approve(t.Context(), person, identity.CodeInput{Code: code}); err != nil {
		t.Fatalf("approve the device: %v", err)
	}
}

func TestMakingCredentialsNeedsARecentLogin(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		device := deviceLogin(t, n, n.First.UserID)
		id, _ := createKey(device, servertest.Body{})
		n.Clock.Advance(15 * time.Minute)
		device.Get("/v1/auth/me").OK()
		retry := []string{"Idempotency-Key", "retried-after-login"}
		device.Do("POST", "/v1/api-keys", servertest.Body{"name": "late"}, retry...).Fails(403, "RECENT_LOGIN_REQUIRED")
		device.Post("/v1/api-keys/"+id+"/rotate", nil).Fails(403, "RECENT_LOGIN_REQUIRED")
		owners := "/v1/organizations/" + n.First.OrganizationID + "/owners"
		device.Post(owners, servertest.Body{"user_id": n.First.UserID}).Fails(403, "RECENT_LOGIN_REQUIRED")
		device.Delete(owners+"/"+n.First.UserID).Fails(403, "RECENT_LOGIN_REQUIRED")
		device.Patch("/v1/organizations/"+n.First.OrganizationID+"/settings", servertest.Body{"audit_retention_days": 400}).Fails(403, "RECENT_LOGIN_REQUIRED")
		device.Post("/v1/workspaces/"+n.First.WorkspaceID+"/clients/cli_1/rotate", nil).Fails(403, "RECENT_LOGIN_REQUIRED")
		deviceLogin(t, n, n.First.UserID).Do("POST", "/v1/api-keys", servertest.Body{"name": "late"}, retry...).OK()

		t.Run("but not in a session that depends on a key", func(t *testing.T) {
			admin := n.Admin(t)
			old := n.DeviceSession(t, admin)
			n.Clock.Advance(15 * time.Minute)
			createKey(admin, servertest.Body{})
			createKey(old, servertest.Body{})
		})
		t.Run("and not for the specification's operations", func(t *testing.T) {
			device.On(t).Entry(nil)
			device.On(t).Post("/v1/workspaces/"+n.First.WorkspaceID+"/members", servertest.Body{"email": servertest.NewEmail(), "role": "viewer"}).OK()
		})
	})
}

func TestADeviceLoginCannotApproveItsSuccessor(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		for name, device := range map[string]*servertest.Client{
			"of a person": deviceLogin(t, n, n.First.UserID),
			"of a key":    n.DeviceSession(t, n.Admin(t)),
		} {
			t.Run(name, func(t *testing.T) {
				code := n.NewDeviceCode(t, nil)
				device.On(t).Decide(code, "approve").Fails(403, "FORBIDDEN")
				n.PollDevice(t, code).DeviceStatus("pending", false)
			})
		}
	})
}

// Someone who saw a code on a screen must not get the token for it.
func TestATokenWithoutAChallengeGoesOnlyToTheAddressThatAsked(t *testing.T) {
	t.Parallel()
	n := servertest.Start(t, dbtest.SQLite(t), servertest.TrustProxy())
	for name, c := range map[string]struct {
		asked, polled string
		handed        bool
	}{
		"the same address":            {"192.0.2.7", "192.0.2.7", true},
		"a neighbour":                 {"192.0.2.7", "192.0.2.8", false},
		"the same IPv6 network":       {"2001:db8:1:2::7", "2001:db8:1:2:ffff::8", true},
		"another IPv6 network":        {"2001:db8:1:2::7", "2001:db8:1:3::7", false},
		"IPv4 in IPv6 and plain IPv4": {"::ffff:192.0.2.7", "192.0.2.7", true},
	} {
		t.Run(name, func(t *testing.T) {
			code := n.Stranger(t).Do("POST", "/v1/auth/device-code", nil, servertest.From(c.asked)...).OK().Text("code")
			approve(t, n, n.First.UserID, code)
			n.PollDevice(t, code, servertest.From(c.polled)...).DeviceStatus("approved", c.handed)
		})
	}
}
