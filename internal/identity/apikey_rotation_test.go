package identity_test

import (
	"fmt"
	"math"
	"net/url"
	"slices"
	"testing"
	"time"

	"bursar/internal/db/dbtest"
	"bursar/internal/identity"
	"bursar/internal/server/servertest"
)

const day = 24 * time.Hour

// rotation is the answer to rotating a key.
type rotation struct {
	ID           string
	Name         string
	APIKey       string   `json:"api_key"`
	CreatedAt    int64    `json:"created_at"`
	ExpiresAt    int64    `json:"expires_at"`
	AllowedCIDRs []string `json:"allowed_cidrs"`
	Previous     struct {
		ID        string
		ExpiresAt int64 `json:"expires_at"`
	}
}

func rotate(by *servertest.Client, id string, body any) (r rotation) {
	by.Post("/v1/api-keys/"+id+"/rotate", body).OK().Data(&r)
	return r
}

func TestRotatedAPIKeyWorksThroughItsGrace(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		email, _, secret := n.NewKey(t, identity.NewKey{})
		login := func(t *testing.T) *servertest.Client { return n.Login(t, secret) } // the clock outruns sessions
		for name, c := range map[string]struct {
			body  any
			grace time.Duration
		}{
			"a day where nothing is said": {nil, day},
			"as long as asked for":        {servertest.Body{"grace_seconds": 60}, time.Minute},
			"not at all":                  {servertest.Body{"grace_seconds": 0}, 0},
			"30 days at most":             {servertest.Body{"grace_seconds": 2_592_000}, 30 * day},
		} {
			t.Run(name, func(t *testing.T) {
				user := login(t)
				id, old := createKey(user, servertest.Body{"name": "Nightly"})
				next := rotate(user, id, c.body)
				if next.ID == id || next.APIKey == old || next.Name != "Nightly" || next.ExpiresAt != 0 || len(next.AllowedCIDRs) != 0 {
					t.Errorf("the new key is %+v", next)
				}
				if next.Previous.ID != id || next.Previous.ExpiresAt != next.CreatedAt+c.grace.Milliseconds() {
					t.Errorf("the old key is said to be %+v", next.Previous)
				}
				if c.grace > 0 {
					n.Clock.Advance(c.grace - 30*time.Second)
					if got := n.Login(t, old).Get("/v1/auth/me").OK().Text("email"); got != email {
						t.Errorf("the old key logs in %s, want %s", got, email)
					}
					n.Clock.Advance(31 * time.Second)
				}
				n.Exchange(t, "Bearer "+old).Fails(401, "UNAUTHORIZED")
				n.Login(t, next.APIKey)
				login(t).Post("/v1/api-keys/"+id+"/rotate", nil).Fails(404, "RESOURCE_NOT_FOUND")
			})
		}
	})
}

func TestRotatedAPIKeyKeepsItsTerms(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		_, _, secret := n.NewKey(t, identity.NewKey{})
		t.Run("the networks", func(t *testing.T) {
			user := n.Login(t, secret)
			id, _ := createKey(user, servertest.Body{"allowed_cidrs": []string{"203.0.113.0/24", "2001:db8::/32"}})
			next := rotate(user, id, nil)
			if got := fmt.Sprint(next.AllowedCIDRs); got != "[203.0.113.0/24 2001:db8::/32]" {
				t.Errorf("the networks are %s", got)
			}
			n.Exchange(t, "Bearer "+next.APIKey).Fails(401, "UNAUTHORIZED")
		})
		t.Run("the lifetime, counted from now", func(t *testing.T) {
			user := n.Login(t, secret)
			made := user.Post("/v1/api-keys", servertest.Body{"name": "k", "expires_at": n.DB.Now() + (90 * day).Milliseconds()}).OK()
			n.Clock.Advance(89*day + 12*time.Hour)
			next := rotate(n.Login(t, secret), made.Text("id"), nil)
			if got, want := next.ExpiresAt-next.CreatedAt, made.Number("expires_at")-made.Number("created_at"); got != want {
				t.Errorf("the new key lives %d ms, the old one %d", got, want)
			}
			if next.Previous.ExpiresAt != made.Number("expires_at") {
				t.Errorf("the old key ends at %d, its own end was %d", next.Previous.ExpiresAt, made.Number("expires_at"))
			}
		})
		t.Run("a lifetime without end to speak of", func(t *testing.T) {
			body := fmt.Sprintf(`{"name":"k","expires_at":%d}`, int64(math.MaxInt64))
			made := n.Login(t, secret).Post("/v1/api-keys", body)
			if made.Status != 200 {
				made.Invalid("expires_at")
				return
			}
			n.Clock.Advance(day)
			n.Login(t, rotate(n.Login(t, secret), made.Text("id"), nil).APIKey)
		})
	})
}

func TestOneOfManyRotationsWithoutGraceCounts(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		user := n.User(t, servertest.NewEmail())
		id, _ := createKey(user, servertest.Body{})
		answers := make([]*servertest.Answer, 8)
		atOnce(len(answers), func(i int) {
			answers[i] = user.Post("/v1/api-keys/"+id+"/rotate", servertest.Body{"grace_seconds": 0})
		})
		rotated := 0
		for _, answer := range answers {
			if answer.Status == 200 {
				rotated++
				continue
			}
			answer.Fails(404, "RESOURCE_NOT_FOUND")
		}
		if rotated != 1 {
			t.Errorf("the key was rotated %d times", rotated)
		}
	})
}

func TestAPIKeyUseIsNoted(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		user := n.User(t, servertest.NewEmail())
		id, secret := createKey(user, servertest.Body{})
		before := n.DB.Now()
		n.Login(t, secret)
		used, ok := listed(user, id)["last_used_at"].(float64)
		if !ok || int64(used) < before || int64(used) > n.DB.Now() {
			t.Errorf("last_used_at is %v, the key was used after %d", used, before)
		}
		n.Clock.Advance(time.Minute)
		n.Exchange(t, "Bearer "+servertest.OtherEnd(secret)).Fails(401, "UNAUTHORIZED")
		if again := listed(user, id)["last_used_at"]; again != used {
			t.Errorf("a failed login moved last_used_at to %v", again)
		}
	})
}

// Use is noted once a second; in between no one waits for it, and no one gets in
// who would not have.
func TestAPIKeyThatWasUsedAMomentAgoIsCheckedAllTheSame(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		user := n.User(t, servertest.NewEmail())
		id, secret := createKey(user, servertest.Body{})
		n.Login(t, secret)
		n.Login(t, secret)
		user.Delete("/v1/api-keys/" + id).OK()
		n.Exchange(t, "Bearer "+secret).Fails(401, "UNAUTHORIZED")
	})
}

func TestAPIKeyUseIsNotedAgain(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		user := n.User(t, servertest.NewEmail())
		id, secret := createKey(user, servertest.Body{})
		n.Login(t, secret)
		first := listed(user, id)["last_used_at"].(float64)
		for _, step := range []time.Duration{2 * time.Second, -time.Minute} { // a clock may also be set back
			n.Clock.Advance(step)
			n.Login(t, secret)
			again := listed(user, id)["last_used_at"].(float64)
			if again == first {
				t.Errorf("%s later last_used_at is still %v", step, first)
			}
			first = again
		}
	})
}

func TestAPIKeyChangesAreAudited(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		user := n.User(t, servertest.NewEmail())
		id, _ := createKey(user, servertest.Body{"name": "Nightly"})
		rotate(user, id, nil)
		user.Delete("/v1/api-keys/" + id).OK()
		activity := user.Get("/v1/auth/activity")
		for _, action := range []string{"auth.key.created", "auth.key.rotated", "auth.key.revoked"} {
			row := activity.LastRow(action)
			if row["resource_id"] != id || row["resource_type"] != "api_key" || row["actor_id"] != user.UserID || row["outcome"] != "success" {
				t.Errorf("the row of %s is %v", action, row)
			}
		}
	})
}

func TestAPIKeyPages(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		user, other := n.User(t, servertest.NewEmail()), n.User(t, servertest.NewEmail())
		for range 4 {
			createKey(user, servertest.Body{})
		}
		whole := user.Get("/v1/api-keys").OK()
		all := whole.Column("id")
		if cursor, more := whole.Page(); len(all) != 5 || cursor != "" || more || !slices.IsSorted(all) {
			t.Fatalf("the whole list is %s", whole.Body)
		}
		t.Run("add up to the whole list", func(t *testing.T) {
			for _, limit := range []string{"1", "2", "5", "100"} {
				if got := user.On(t).Walk("/v1/api-keys?limit="+limit, nil); !slices.Equal(got, all) {
					t.Errorf("with limit %s the pages are %v, want %v", limit, got, all)
				}
			}
		})
		for _, limit := range []string{"0", "101", "-1", "x", "", "1.5"} {
			t.Run("limit "+limit, func(t *testing.T) { user.On(t).Get("/v1/api-keys?limit=" + limit).Invalid("limit") })
		}
		t.Run("a cursor is good for its owner's list alone", func(t *testing.T) {
			cursor, _ := user.On(t).Get("/v1/api-keys?limit=2").OK().Page()
			other.On(t).Get("/v1/api-keys?cursor=" + url.QueryEscape(cursor)).Invalid("cursor")
			user.On(t).Get("/v1/organizations?cursor=" + url.QueryEscape(cursor)).Invalid("cursor")
			user.On(t).Get("/v1/api-keys?cursor=" + url.QueryEscape(servertest.OtherEnd(cursor))).Invalid("cursor")
			user.On(t).Get("/v1/api-keys?cursor=").Invalid("cursor")
		})
	})
}
