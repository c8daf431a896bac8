package server_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/identity"
	"bursar/internal/server/servertest"
)

func TestAForgedTokenIsNotLookedAtOnceTheBudgetIsSpent(t *testing.T) {
	t.Parallel()
	n := servertest.Start(t, dbtest.SQLite(t), servertest.RateLimit("5/m"))
	forged := n.Stranger(t)
	forged.Token = "eyJhbGciOiJFZERTQSIsImtpZCI6Im5vYm9keXMifQ.eyJleHAiOjk5OTk5OTk5OTl9.AAAA"
	for range 10 {
		forged.Get("/v1/auth/me").Fails(401, "UNAUTHORIZED")
	}
	for range 3 {
		forged.Get("/v1/auth/me").Fails(429, "RATE_LIMITED")
	}
}

// A refusal is recorded with the id that was asked for, which is as long as its sender
// likes. The cut must not leave half a character.
func TestALongIDDoesNotInflateTheAuditLog(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		x := n.Tenant(t)
		viewer := x.Member("viewer")
		for _, id := range []string{strings.Repeat("a", 30_000), "a" + strings.Repeat("€", 10_000)} {
			viewer.Delete(x.Path("/members/"+url.PathEscape(id))).Fails(403, "FORBIDDEN")
			row := x.Audit("&outcome=denied")[0]
			got := row["resource_id"].(string)
			kept, cut := strings.CutSuffix(got, "…")
			if !cut || !strings.HasPrefix(id, kept) || len(got) < 990 || len(got) > 1000 {
				t.Errorf("recorded %d bytes: %.20s…%s", len(got), got, got[max(0, len(got)-20):])
			}
		}
	})
}

func TestGuessesOfStrangersDoNotStopApprovals(t *testing.T) {
	t.Parallel()
	n := servertest.Start(t, dbtest.SQLite(t), servertest.RateLimit("1000/s"), servertest.TrustProxy())
	code := codeFrom(t, n, "192.0.2.1")
	admin := n.Admin(t)
	for i := range 6 {
		for range 20 {
			pollFrom(t, n, "198.51.100."+string(rune('1'+i)), "ZZZZZZ")
		}
	}
	admin.Do("POST", "/v1/auth/device-code/"+code+"/approve", nil, "X-Forwarded-For", "203.0.113.9").OK()
}

func TestADeviceSessionEndsWithTheKeyThatApprovedIt(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		_, key, err := n.Identity.CreateKeyFor(t.Context(), db.Caller{}, "admin@example.com",
			identity.NewKey{Name: "short", ExpiresAt: n.Clock.Now().Add(10 * time.Minute).UnixMilli()})
		if err != nil {
			t.Fatal(err)
		}
		device := n.DeviceSession(t, n.Login(t, key))
		device.Get("/v1/auth/me").OK()
		n.Clock.Advance(11 * time.Minute)
		device.Get("/v1/auth/me").Fails(401, "UNAUTHORIZED")
	})
}

func TestAnswersAreNotKeptByCaches(t *testing.T) {
	t.Parallel()
	n := servertest.Start(t, dbtest.SQLite(t))
	for _, path := range []string{"/v1/auth/me", "/v1/nope", "/v1/workspaces"} {
		if got := n.Admin(t).Get(path).Header.Get("Cache-Control"); got != "no-store" {
			t.Errorf("%s: Cache-Control is %q", path, got)
		}
	}
}

func TestTheLogNamesWhoLoggedIn(t *testing.T) {
	t.Parallel()
	n := servertest.Start(t, dbtest.SQLite(t))
	admin := n.Admin(t)
	if want := `"route":"POST /v1/auth/token","status":200`; !strings.Contains(n.Log.String(), want) {
		t.Fatalf("no line has %s", want)
	}
	for line := range strings.Lines(n.Log.String()) {
		if strings.Contains(line, "/v1/auth/token") && !strings.Contains(line, `"actor":"`+admin.UserID+`"`) {
			t.Errorf("the actor is missing: %s", line)
		}
	}
}

func TestASearchTakesEightWordsAtMost(t *testing.T) {
	t.Parallel()
	n := servertest.Start(t, dbtest.SQLite(t))
	path := "/v1/directory?workspace_id=" + n.First.WorkspaceID + "&q="
	admin := n.Admin(t)
	admin.Get(path + strings.Repeat("same+", 20)).OK()
	admin.Get(path + "a+b+c+d+e+f+g+h").OK()
	admin.Get(path + "a+b+c+d+e+f+g+h+i").Invalid("q")
}

func TestANetworkOfMappedAddressesIsTheOneItStandsFor(t *testing.T) {
	t.Parallel()
	n := servertest.Start(t, dbtest.SQLite(t))
	made := n.Admin(t).Post("/v1/api-keys", servertest.Body{"name": "mapped", "allowed_cidrs": []string{"::ffff:127.0.0.0/104"}}).OK()
	if status := n.Exchange(t, "Bearer "+made.Text("api_key")).Status; status != http.StatusOK {
		t.Errorf("the key is refused from its network with %d", status)
	}
}
