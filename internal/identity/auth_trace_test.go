package identity_test

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
)

func TestFailedLoginsAreAudited(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store, servertest.TrustProxy())
		admin := n.Admin(t)
		created := admin.Post("/v1/api-keys", servertest.Body{"name": "short-lived"}).OK()
		keyID, secret := created.Text("id"), created.Text("api_key")
		admin.Delete("/v1/api-keys/" + keyID).OK()
		from := append(servertest.From("203.0.113.9"), "X-Request-Id", "failed-login")
		n.Exchange(t, "Bearer "+secret, from...).Fails(401, "UNAUTHORIZED")
		want := servertest.Body{
			"outcome": "failure", "actor_id": n.First.UserID, "actor_type": "api_key", "actor_email": "admin@example.com",
			"resource_id": keyID, "ip": "203.0.113.9", "request_id": "failed-login",
		}
		for name, path := range map[string]string{
			"the owner of the key sees it":             "/v1/auth/activity",
			"so does the owner of their organization":  "/v1/audit?organization_id=" + n.First.OrganizationID,
			"also among the failures of the key alone": "/v1/audit?outcome=failure&action=auth.login.failed&organization_id=" + n.First.OrganizationID,
		} {
			t.Run(name, func(t *testing.T) {
				row := admin.On(t).Get(path).LastRow("auth.login.failed")
				for field, value := range want {
					if row[field] != value {
						t.Errorf("%s is %v, want %v", field, row[field], value)
					}
				}
			})
		}
		t.Run("nobody else does", func(t *testing.T) {
			member := n.Member(t, servertest.NewEmail(), "admin")
			if rows := member.Get("/v1/auth/activity").Rows("auth.login.failed"); len(rows) > 0 {
				t.Errorf("somebody else's failed logins are shown: %v", rows)
			}
			member.Get("/v1/audit?organization_id="+n.First.OrganizationID).Fails(403, "FORBIDDEN")
		})
		t.Run("a client's failures are filed with its organization", func(t *testing.T) {
			id, _, err := n.Identity.CreateClient(t.Context(), db.Caller{}, n.First.WorkspaceID, "Payroll", "viewer")
			if err != nil {
				t.Fatalf("create a client: %v", err)
			}
			n.Exchange(t, servertest.Basic(id, "wrong")).Fails(401, "INVALID_CREDENTIALS")
			path := "/v1/audit?action=auth.login.failed&actor=" + id + "&organization_id=" + n.First.OrganizationID
			if row := admin.On(t).Get(path).LastRow("auth.login.failed"); row["actor_type"] != "client" || row["outcome"] != "failure" {
				t.Errorf("the row is %v", row)
			}
		})
		t.Run("a key that is nobody's leaves a row, too", func(t *testing.T) {
			n.Exchange(t, "Bearer "+servertest.WithChecksum(strings.Repeat("y", 30)), "X-Request-Id", "nobodys-key").Fails(401, "UNAUTHORIZED")
			rows := n.Dump(t, "audit_log")
			if !strings.Contains(rows, "nobodys-key") {
				t.Error("there is no row")
			}
		})
	})
}

func TestSessionsAreAudited(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		session := n.Admin(t)
		session.Post("/v1/auth/logout", nil).OK()
		activity := n.Admin(t).Get("/v1/auth/activity")
		ended := activity.LastRow("auth.session.revoked")
		starts := activity.Rows("auth.session.created")
		if len(starts) != 2 || starts[1]["resource_id"] != ended["resource_id"] || ended["resource_type"] != "session" {
			t.Errorf("sessions began with %v, one ended with %v", starts, ended)
		}
	})
}

func TestSecretsAreNeitherStoredNorLogged(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		admin := n.Admin(t)
		_, clientSecret, err := n.Identity.CreateClient(t.Context(), db.Caller{}, n.First.WorkspaceID, "Payroll", "viewer")
		if err != nil {
			t.Fatalf("create a client: %v", err)
		}
		made := admin.Do("POST", "/v1/api-keys", servertest.Body{"name": "made"}, "Idempotency-Key", "a-secret-of-the-client").OK()
		rotated := admin.Post("/v1/api-keys/"+made.Text("id")+"/rotate", nil).OK()
		mistyped := servertest.OtherEnd(rotated.Text("api_key"))
		n.Exchange(t, "Bearer "+mistyped).Fails(401, "UNAUTHORIZED")
		n.Exchange(t, servertest.Basic("cli_x", "a wrong secret")).Fails(401, "INVALID_CREDENTIALS")
		verifier, code := "a verifier of some length, as the client makes it", ""
		code = n.NewDeviceCode(t, servertest.Body{"code_challenge": challenge(verifier)})
		admin.Post("/v1/auth/device-code/"+code+"/approve", nil).OK()
		device := n.PollDevice(t, code, "X-Code-Verifier", verifier).OK().Text("token")
		n.Stranger(t).Get("/v1/auth/me?token=" + url.QueryEscape(device))

		stored, logged := n.Dump(t), n.Log.String()
		if !strings.Contains(stored, n.First.UserID) || !strings.Contains(logged, n.First.UserID) {
			t.Fatal("the test does not see what is stored or logged")
		}
		for name, secret := range map[string]string{
			"the first key":       n.First.APIKey,
			"a key":               made.Text("api_key"),
			"a rotated key":       rotated.Text("api_key"),
			"a mistyped key":      mistyped,
			"a client's secret":   clientSecret,
			"a wrong secret":      "a wrong secret",
			"a session token":     admin.Token,
			"a device's token":    device,
			"a code verifier":     verifier,
			"an idempotency key":  "a-secret-of-the-client",
			"a token's signature": admin.Token[strings.LastIndex(admin.Token, ".")+1:],
		} {
			t.Run(name, func(t *testing.T) {
				if strings.Contains(stored, secret) {
					t.Error("the secret stands in the store")
				}
				if strings.Contains(logged, secret) {
					t.Error("the secret stands in the log")
				}
			})
		}
	})
}

func TestADeviceLoginActsAsThePersonWhoApprovedIt(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		admin := n.Admin(t)
		entry := servertest.Body{"workspace_id": n.First.WorkspaceID, "type": "person", "fields": servertest.Body{}}
		admin.Post("/v1/directory", entry).OK()
		n.DeviceSession(t, admin).Post("/v1/directory", entry).OK()

		got := admin.Get("/v1/audit?action=directory.entry.created&workspace_id=" + n.First.WorkspaceID).OK().Column("actor_type")
		if want := []string{"user", "api_key"}; !slices.Equal(got, want) {
			t.Errorf("the actors are %v, want %v", got, want)
		}
	})
}

func TestWhatConcernsNoOrganizationIsFiledUnderTheFirst(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		n.Tenant(t)
		by := db.Caller{Actor: audit.SystemActor("operator")}
		if _, err := n.Identity.Tokens().Rotate(t.Context(), by, false); err != nil {
			t.Fatal(err)
		}
		if _, err := n.Identity.CreateUser(t.Context(), by, servertest.NewEmail(), "Nobody's"); err != nil {
			t.Fatal(err)
		}
		path := "/v1/audit?limit=2&organization_id=" + n.First.OrganizationID + "&action="
		for _, action := range []string{"auth.signing_key.rotated", "iam.user.created"} {
			if got := n.Admin(t).Get(path + action).OK().Column("actor_type"); len(got) == 0 || got[0] != "system" {
				t.Errorf("%s is filed as %v", action, got)
			}
		}
	})
}
