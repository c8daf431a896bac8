package server_test

import (
	"fmt"
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

// A refusal is recorded with what was asked for, which is as long as its sender likes. The cut
// must not leave half a character. What is no id stands where it can be erased.
func TestALongIDDoesNotInflateTheAuditLog(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		x := n.Tenant(t)
		viewer := x.Member("viewer")
		for _, id := range []string{strings.Repeat("a", 30_000), "a" + strings.Repeat("€", 10_000)} {
			viewer.Delete(x.Path("/members/"+url.PathEscape(id))).Fails(403, "FORBIDDEN")
			row := x.Audit("&outcome=denied")[0]
			if row["resource_id"] != "" {
				t.Errorf("the resource is %v", row["resource_id"])
			}
			got := row["description"].(string)
			_, asked, _ := strings.Cut(got, "asked for ")
			kept, cut := strings.CutSuffix(asked, "…")
			if !cut || !strings.HasPrefix(id, kept) || len(got) < 990 || len(got) > 1000 {
				t.Errorf("recorded %d bytes: %.20s…%s", len(got), got, got[max(0, len(got)-20):])
			}
		}
	})
}

// Anyone who has a /48 has 65,536 networks of the size that counts as one address. Each failed
// exchange leaves an audit row and each device code a row of its own.
func TestANetworkCannotEvadeTheBudgetOfAnAddress(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store, servertest.RateLimit("1000/s"), servertest.TrustProxy())
		for name, try := range map[string]struct {
			budget int
			call   func(from ...string) *servertest.Answer
		}{
			"keys": {200, func(from ...string) *servertest.Answer { return n.Exchange(t, "Bearer garbage", from...) }},
			"codes made": {100, func(from ...string) *servertest.Answer {
				return n.Stranger(t).Do("POST", "/v1/auth/device-code", nil, from...)
			}},
		} {
			t.Run(name, func(t *testing.T) {
				refused := 0
				for i := range 2 * try.budget {
					answer := try.call(servertest.From(fmt.Sprintf("2001:db8:1:%x::1", i))...)
					if answer.Status == http.StatusTooManyRequests {
						refused++
					}
					if refused > 0 && i < try.budget {
						t.Fatalf("attempt %d was refused", i)
					}
				}
				if refused == 0 {
					t.Error("nothing was refused")
				}
				if answer := try.call(servertest.From("2001:db8:2::1")...); answer.Status == http.StatusTooManyRequests {
					t.Error("another network is refused, too")
				}
			})
		}
	})
}

// Strangers have as many networks as they like. What they fail at is recorded up to a budget over all of them, and then counted.
func TestFailuresFromManyNetworksAreRecordedUpToABudget(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store, servertest.RateLimit("1000/s"), servertest.TrustProxy())
		metrics, since := metricsOf(t, n), time.Now()
		client := newRobot(t, n.Tenant(t), "viewer")
		rows := func() int { return n.Count(t, `SELECT count(*) FROM audit_entry WHERE action = 'auth.login.failed'`) }
		const budget, tries = 1000, 1200
		try := func(i int) {
			n.Exchange(t, "Bearer garbage", servertest.From(fmt.Sprintf("2001:db8:%x::1", i))...).Fails(http.StatusUnauthorized, "UNAUTHORIZED")
		}
		servertest.SideBySide(8, func(worker int) struct{} {
			for i := worker; i < tries; i += 8 {
				try(i)
			}
			return struct{}{}
		})
		left := rows()
		if most := budget + 1 + int(time.Since(since)/(30*time.Second)); left < budget || left > most {
			t.Errorf("%d failures left %d rows, want %d", tries, left, budget)
		}
		if got := n.Count(t, `SELECT count(*) FROM budget`); got > 2*left+20 {
			t.Errorf("%d budgets are stored for %d recorded failures", got, left)
		}
		if got := metrics()["bursar_login_failures_unrecorded_total"]; got != float64(tries-left) {
			t.Errorf("the metric is %v, want %d", got, tries-left)
		}
		t.Run("those of an account are still recorded", func(t *testing.T) {
			before := n.Count(t, `SELECT count(*) FROM audit_entry WHERE action = 'auth.login.failed' AND actor_id <> ''`)
			n.Exchange(t, servertest.Basic(client.id, "guess"), servertest.From("192.0.2.1")...).Fails(http.StatusUnauthorized, "INVALID_CREDENTIALS")
			if got := n.Count(t, `SELECT count(*) FROM audit_entry WHERE action = 'auth.login.failed' AND actor_id <> ''`); got != before+1 {
				t.Errorf("there are %d rows, want %d", got, before+1)
			}
		})
		t.Run("good credentials are accepted", func(t *testing.T) {
			n.Exchange(t, "Bearer "+n.First.APIKey, servertest.From("192.0.2.2")...).OK()
		})
		t.Run("the budget grows back", func(t *testing.T) {
			n.Clock.Advance(time.Minute)
			before := rows()
			try(tries)
			if rows() != before+1 {
				t.Error("the failure was not recorded")
			}
		})
	})
}

// What a stranger has used up is used up at every node, and after a restart, until it
// grows back.
func TestAttemptsCountAtAllNodesAndAfterARestart(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		start := func() *servertest.Node {
			return servertest.Start(t, store, servertest.RateLimit("1000/s"), servertest.TrustProxy())
		}
		one, two := start(), start()
		code := codeFrom(t, one, "192.0.2.1")
		const guesser = "203.0.113.1"
		for name, try := range map[string]struct {
			budget int
			call   func(n *servertest.Node) (status int)
		}{
			"passwords": {10, func(n *servertest.Node) int {
				status, _, _ := n.Form(t, "/signin", "", "email", "ada@example.com", "password", "a guess that is wrong")
				return status
			}},
			"keys": {20, func(n *servertest.Node) int {
				return n.Exchange(t, "Bearer garbage", servertest.From(guesser)...).Status
			}},
			"device codes": {20, func(n *servertest.Node) int { return pollFrom(t, n, guesser, unknownCode).Status }},
			"codes made": {10, func(n *servertest.Node) int {
				return n.Stranger(t).Do("POST", "/v1/auth/device-code", nil, servertest.From(guesser)...).Status
			}},
		} {
			t.Run(name, func(t *testing.T) {
				for range try.budget {
					if status := try.call(one); status == http.StatusTooManyRequests {
						t.Fatal("refused too early")
					}
				}
				for try.call(one) != http.StatusTooManyRequests { // an attempt has grown back meanwhile
				}
				if status := try.call(two); status != http.StatusTooManyRequests {
					t.Errorf("the other node answers %d", status)
				}
				if name != "passwords" { // of which one grows back in a minute
					return
				}
				if status := try.call(start()); status != http.StatusTooManyRequests {
					t.Errorf("after a restart the answer is %d", status)
				}
			})
		}
		pollFrom(t, one, "192.0.2.1", code).DeviceStatus("pending", false)
		t.Run("what has grown back leaves nothing behind", func(t *testing.T) {
			one.Clock.Advance(time.Hour)
			if err := one.Server.Tidy(t.Context()); err != nil {
				t.Fatal(err)
			}
			if left := one.Count(t, `SELECT count(*) FROM budget`); left != 0 {
				t.Errorf("%d rows are left", left)
			}
		})
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
