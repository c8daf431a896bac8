package server_test

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"bursar/internal/db/dbtest"
	"bursar/internal/identity"
	"bursar/internal/server/servertest"
)

// The buckets run on real time: the tests only empty them. A rate by the minute
// refills too slowly to get in the way.
const slowRate = "5/m" // a burst of 10

// spend calls until it is refused and returns the refusal. The burst must have
// been let through, and no more than it and what the time that passed gives.
func spend(t *testing.T, burst int, perMinute float64, call func(i int) *servertest.Answer) *servertest.Answer {
	t.Helper()
	start := time.Now()
	for i := 0; ; i++ {
		answer := call(i)
		if answer.Status == 429 {
			if i < burst {
				t.Fatalf("refused after %d calls, want %d", i, burst)
			}
			return wantLimited(t, answer)
		}
		if gained := int(time.Since(start).Minutes() * perMinute); i > burst+gained {
			t.Fatalf("%d calls were let through, want %d", i, burst)
		}
	}
}

func wantLimited(t *testing.T, answer *servertest.Answer) *servertest.Answer {
	t.Helper()
	answer.Fails(429, "RATE_LIMITED")
	if seconds, err := strconv.Atoi(answer.Header.Get("Retry-After")); err != nil || seconds < 1 || seconds > 60 {
		t.Errorf("Retry-After is %q", answer.Header.Get("Retry-After"))
	}
	return answer
}

var rateLimitForm = regexp.MustCompile(`^"default";r=(\d+);t=(\d+)$`)

func wantRateHeaders(t *testing.T, answer *servertest.Answer, policy string) (remaining int) {
	t.Helper()
	if got := answer.Header.Get("RateLimit-Policy"); got != policy {
		t.Errorf("status %d: RateLimit-Policy is %q, want %q", answer.Status, got, policy)
	}
	found := rateLimitForm.FindStringSubmatch(answer.Header.Get("RateLimit"))
	if found == nil {
		t.Fatalf("status %d: RateLimit is %q", answer.Status, answer.Header.Get("RateLimit"))
	}
	remaining, _ = strconv.Atoi(found[1])
	return remaining
}

func TestRateLimitHeadersOnEveryAnswer(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store, servertest.RateLimit("50/s"))
		admin, viewer := n.Admin(t), n.Member(t, servertest.NewEmail(), "viewer")
		code := n.NewDeviceCode(t, nil)
		admin.Decide(code, "deny").OK()
		ws := "?workspace_id=" + n.First.WorkspaceID
		for name, call := range map[string]func(t *testing.T) *servertest.Answer{
			"200 for a caller":   func(t *testing.T) *servertest.Answer { return admin.On(t).Get("/v1/auth/me") },
			"200 for a stranger": func(t *testing.T) *servertest.Answer { return n.PollDevice(t, code) },
			"400":                func(t *testing.T) *servertest.Answer { return admin.On(t).Get("/v1/directory") },
			"400 for a stranger": func(t *testing.T) *servertest.Answer { return n.Stranger(t).Post("/v1/auth/device-code", "{") },
			"401":                func(t *testing.T) *servertest.Answer { return n.Stranger(t).Get("/v1/auth/me") },
			"401 for a key":      func(t *testing.T) *servertest.Answer { return n.Exchange(t, "Bearer x") },
			"403":                func(t *testing.T) *servertest.Answer { return viewer.On(t).Get("/v1/audit" + ws) },
			"404":                func(t *testing.T) *servertest.Answer { return admin.On(t).Get("/v1/directory/entry_x") },
			"404 of a path":      func(t *testing.T) *servertest.Answer { return admin.On(t).Get("/v1/nothing") },
			"405":                func(t *testing.T) *servertest.Answer { return admin.On(t).Put("/v1/auth/me", nil) },
			"413": func(t *testing.T) *servertest.Answer {
				return admin.On(t).Post("/v1/directory", strings.Repeat(" ", 1<<20+1))
			},
			"422": func(t *testing.T) *servertest.Answer { return admin.On(t).Decide(code, "approve") },
		} {
			t.Run(name, func(t *testing.T) {
				answer := call(t)
				if got := strconv.Itoa(answer.Status); !strings.HasPrefix(name, got) {
					t.Fatalf("the status is %s", got)
				}
				if left := wantRateHeaders(t, answer, `"default";q=100;w=2`); left < 1 || left >= 100 {
					t.Errorf("%d calls are left of 100", left)
				}
			})
		}
	})
}

func TestCallersAreLimitedEachForThemselves(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store, servertest.RateLimit(slowRate))
		busy, quiet := n.Admin(t), n.User(t, servertest.NewEmail())
		sameUser := n.Admin(t)
		refused := spend(t, 10, 5, func(int) *servertest.Answer { return busy.Get("/v1/auth/me") })
		t.Run("the refusal tells the limit", func(t *testing.T) {
			if left := wantRateHeaders(t, refused, `"default";q=10;w=120`); left != 0 {
				t.Errorf("%d calls are left", left)
			}
		})
		t.Run("whatever they ask for", func(t *testing.T) {
			wantLimited(t, busy.On(t).Post("/v1/organizations", servertest.Body{"name": "More"}))
		})
		t.Run("with all of their sessions", func(t *testing.T) {
			wantLimited(t, sameUser.On(t).Get("/v1/auth/me"))
		})
		t.Run("others go on", func(t *testing.T) {
			quiet.On(t).Get("/v1/auth/me").OK()
			n.Stranger(t).Get("/v1/auth/me").Fails(401, "UNAUTHORIZED")
		})
	})
}

// A batch counts as one request for every 100 items, and one that costs more than there can be
// gets through some time.
func TestABatchCostsWhatItHolds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rate, policy string
		items, left  int
	}{
		{slowRate, `"default";q=10;w=120`, 100, 9}, {slowRate, `"default";q=10;w=120`, 101, 8},
		{slowRate, `"default";q=10;w=120`, 1000, 0}, {"1/m", `"default";q=2;w=120`, 1000, 0},
	} {
		n := servertest.Start(t, dbtest.SQLite(t), servertest.RateLimit(c.rate))
		items := slices.Repeat([]servertest.Body{{"type": "person", "name": "Ada"}}, c.items)
		batch := servertest.Body{"workspace_id": n.First.WorkspaceID, "items": items}
		admin := n.Admin(t)
		if left := wantRateHeaders(t, admin.Post("/v1/directory/batch", batch).OK(), c.policy); left != c.left {
			t.Errorf("%d items leave %d calls at %s, want %d", c.items, left, c.rate, c.left)
		}
		if c.left == 0 {
			wantLimited(t, admin.Post("/v1/directory/batch", batch))
		}
	}
}

func TestAFileOfPayoutsCostsWhatItHolds(t *testing.T) {
	t.Parallel()
	n := servertest.Start(t, dbtest.SQLite(t), servertest.RateLimit(slowRate))
	account := n.FirstTenant(t).Account(0)
	file := "amount,bank_code,account_number,account_name\n" + strings.Repeat("1.00,BOPIPHMMXXX,1234567890,Ada\n", 101)
	answer := n.Admin(t).Do("POST", "/v2/batch-payout-requests?dry_run=true&currency=PHP&source_account_id="+account, file, "Content-Type", "text/csv").OK()
	if left := wantRateHeaders(t, answer, `"default";q=10;w=120`); left != 7 {
		t.Errorf("the account and 101 lines leave %d calls, want 7", left)
	}
}

func TestReadersOfWhatIsPublicAreLimitedByAddress(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/docs", "/docs/style.css", "/openapi.json", "/audit-log/checkpoint", "/audit-log/tile/0/000.p/1"} {
		n := servertest.Start(t, dbtest.SQLite(t), servertest.RateLimit(slowRate), servertest.AuditKey(filepath.Join(t.TempDir(), "audit.key")))
		n.SequenceAudit(t)
		spend(t, 10, 5, func(int) *servertest.Answer { return n.Outside(t, path) })
	}
}

func TestStrangersAreLimitedByAddress(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store, servertest.RateLimit(slowRate), servertest.TrustProxy())
		admin := n.Admin(t)
		busy, quiet := servertest.From("203.0.113.1"), servertest.From("203.0.113.2")
		refused := spend(t, 10, 5, func(int) *servertest.Answer { return n.Stranger(t).Do("GET", "/v1/auth/me", nil, busy...) })
		wantRateHeaders(t, refused, `"default";q=10;w=120`)
		for name, call := range map[string]func(t *testing.T) *servertest.Answer{
			"with garbage": func(t *testing.T) *servertest.Answer { return n.Holder(t, "x").Do("GET", "/v1/auth/me", nil, busy...) },
			"for a device code": func(t *testing.T) *servertest.Answer {
				return n.Stranger(t).Do("POST", "/v1/auth/device-code", nil, busy...)
			},
			"for a token": func(t *testing.T) *servertest.Answer { return n.Exchange(t, "Bearer "+n.First.APIKey, busy...) },
		} {
			t.Run("the address is refused "+name, func(t *testing.T) { wantLimited(t, call(t)) })
		}
		t.Run("another address goes on", func(t *testing.T) {
			n.Stranger(t).Do("GET", "/v1/auth/me", nil, quiet...).Fails(401, "UNAUTHORIZED")
		})
		t.Run("a caller with a session goes on", func(t *testing.T) {
			admin.On(t).Do("GET", "/v1/auth/me", nil, busy...).OK()
		})
	})
}

func TestDeviceCodeBudget(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store, servertest.RateLimit("50/s"), servertest.TrustProxy())
		create := func(t *testing.T, from string) *servertest.Answer {
			return n.Stranger(t).Do("POST", "/v1/auth/device-code", nil, servertest.From(from)...)
		}
		wantRateHeaders(t, spend(t, 10, 10, func(int) *servertest.Answer { return create(t, "203.0.113.1") }), `"default";q=100;w=2`)
		create(t, "203.0.113.2").OK()
	})
}

func TestFailedExchangeBudget(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store, servertest.RateLimit("50/s"), servertest.TrustProxy())
		good := "Bearer " + n.First.APIKey
		guesses := []string{"Bearer " + servertest.WithChecksum(strings.Repeat("z", 30)), "Bearer garbage", servertest.Basic("cli_x", "guess")}
		busy := servertest.From("203.0.113.1")
		spend(t, 20, 20, func(i int) *servertest.Answer { return n.Exchange(t, guesses[i%len(guesses)], busy...) })
		t.Run("then even a good key is refused", func(t *testing.T) {
			wantLimited(t, n.Exchange(t, good, busy...))
		})
		t.Run("from another address it is not", func(t *testing.T) {
			n.Exchange(t, good, servertest.From("203.0.113.2")...).OK()
		})
		t.Run("good keys do not use it up", func(t *testing.T) {
			for range 25 {
				n.Exchange(t, good, servertest.From("203.0.113.3")...).OK()
			}
		})
	})
}

func TestLimitsCanBeTurnedOff(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store, servertest.RateLimit("off"))
		admin, code := n.Admin(t), n.NewDeviceCode(t, nil)
		_, _, key := n.NewKey(t, identity.NewKey{})
		for name, c := range map[string]struct {
			times int
			call  func(t *testing.T) *servertest.Answer
		}{
			"callers":        {110, func(t *testing.T) *servertest.Answer { return admin.On(t).Get("/v1/auth/me") }},
			"strangers":      {110, func(t *testing.T) *servertest.Answer { return n.Stranger(t).Get("/v1/auth/me") }},
			"device codes":   {15, func(t *testing.T) *servertest.Answer { return n.Stranger(t).Post("/v1/auth/device-code", nil) }},
			"failed logins":  {25, func(t *testing.T) *servertest.Answer { return n.Exchange(t, "Bearer "+servertest.OtherEnd(key)) }},
			"polls":          {15, func(t *testing.T) *servertest.Answer { return n.PollDevice(t, code) }},
			"unknown codes":  {110, func(t *testing.T) *servertest.Answer { return n.PollDevice(t, "AAAAAA") }},
			"unknown routes": {110, func(t *testing.T) *servertest.Answer { return n.Stranger(t).Get("/v1/nothing") }},
		} {
			t.Run(name, func(t *testing.T) {
				for i := range c.times {
					answer := c.call(t)
					if answer.Status == 429 {
						t.Fatalf("refused after %d calls", i)
					}
					for _, header := range []string{"RateLimit", "RateLimit-Policy", "Retry-After"} {
						if got := answer.Header.Values(header); len(got) > 0 {
							t.Fatalf("%s is %s", header, fmt.Sprint(got))
						}
					}
				}
			})
		}
	})
}
