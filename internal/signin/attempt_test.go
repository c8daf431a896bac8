package signin_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"bursar/api"
	"bursar/internal/audit"
	"bursar/internal/db"
)

// The limits run on real time. Attempts find the hasher crowded, so that they are
// over at once and what the time gives back is next to nothing.
const (
	userBudget    = 10
	addressBudget = 30
	addressPerMin = 30
	usersPerMin   = 1
	networkBudget = 300
	networkPerMin = 300
)

func from(ip string) db.Caller {
	return db.Caller{Actor: audit.Actor{Type: audit.System, IP: ip, RequestID: "req_test"}}
}

// admitted counts the attempts that were let through to the hasher, and demands
// that the others were told when to come back.
func admitted(t testing.TB, errs []error) (n int) {
	t.Helper()
	for _, err := range errs {
		if err != nil && strings.Contains(err.Error(), "UNAVAILABLE") {
			n++
			continue
		}
		if f := refused(t, err, api.CodeRateLimited); f.RetryAfter <= 0 || f.RetryAfter > 2*time.Minute {
			t.Errorf("told to come back in %v", f.RetryAfter)
		}
	}
	return n
}

// within demands that a budget was used up and not exceeded.
func within(t testing.TB, got, budget int, perMinute float64, since time.Time) {
	t.Helper()
	if most := budget + 1 + int(time.Since(since).Minutes()*perMinute); got < budget || got > most {
		t.Errorf("%d attempts were let through, want %d", got, budget)
	}
}

func TestGuessesAtOneAccountAreLimited(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		h.person("ada@example.com")
		defer h.Crowd()()
		for name, email := range map[string]string{"a known account": "ada@example.com", "an unknown account": "nobody@example.com"} {
			t.Run(name, func(t *testing.T) {
				since := time.Now()
				var errs []error
				for i := range 2 * userBudget {
					// From one address after the other, and the address typed in many ways.
					typed := []string{email, strings.ToUpper(email), " " + email}[i%3]
					_, err := h.Password(t.Context(), from(fmt.Sprintf("198.51.100.%d", i)), typed, newPassword)
					errs = append(errs, err)
				}
				within(t, admitted(t, errs), userBudget, usersPerMin, since)
			})
		}
		t.Run("others go on", func(t *testing.T) {
			_, err := h.Password(t.Context(), stranger(), "somebody@example.com", newPassword)
			if admitted(t, []error{err}) != 1 {
				t.Error("another account is refused")
			}
		})
	}, limited)
}

func TestGuessesSideBySideDoNotExceedTheBudget(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		h.person("ada@example.com")
		defer h.Crowd()()
		since := time.Now()
		errs := sideBySide(64, func(i int) error {
			_, err := h.Password(t.Context(), from(fmt.Sprintf("198.51.100.%d", i)), "ada@example.com", fmt.Sprint("guess number ", i))
			return err
		})
		within(t, admitted(t, errs), userBudget, usersPerMin, since)
	}, limited)
}

func TestGuessesFromOneAddressAreLimited(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		defer h.Crowd()()
		spray := func(t *testing.T, address func(i int) string) {
			since := time.Now()
			errs := sideBySide(3*addressBudget, func(i int) error {
				_, err := h.Password(t.Context(), from(address(i)), fmt.Sprintf("user%d@example.com", i), "the same password")
				return err
			})
			within(t, admitted(t, errs), addressBudget, addressPerMin, since)
		}
		t.Run("IPv4", func(t *testing.T) { spray(t, func(int) string { return "203.0.113.1" }) })
		t.Run("IPv6, whose network is one", func(t *testing.T) {
			spray(t, func(i int) string { return fmt.Sprintf("2001:db8::%x", i) })
		})
		t.Run("IPv6, one network after the other of somebody who has many", func(t *testing.T) {
			since := time.Now()
			errs := sideBySide(networkBudget+100, func(i int) error {
				_, err := h.Password(t.Context(), from(fmt.Sprintf("2001:db8:5:%x::1", i)), fmt.Sprintf("user%d@example.com", i), "the same password")
				return err
			})
			within(t, admitted(t, errs), networkBudget, networkPerMin, since)
		})
		t.Run("another address goes on", func(t *testing.T) {
			_, err := h.Password(t.Context(), from("203.0.113.2"), "somebody@example.com", newPassword)
			if admitted(t, []error{err}) != 1 {
				t.Error("another address is refused")
			}
		})
	}, limited)
}

// A right password counts as well: else whoever knows one user could tell from
// the budget of an address whether a guess was good.
func TestTheRightPasswordIsRefusedOnceTheBudgetIsSpent(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		h.resident("ada@example.com")
		leave := h.Crowd()
		for i := range userBudget + 1 {
			_, _ = h.Password(t.Context(), from(fmt.Sprintf("198.51.100.%d", i)), "ada@example.com", newPassword)
		}
		leave()
		_, err := h.Password(t.Context(), stranger(), "ada@example.com", goodPassword)
		refused(t, err, api.CodeRateLimited)
	}, limited)
}

func TestGuessesAtCodesAreLimited(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		id := h.person("ada@example.com")
		me, _ := h.enter(id)
		app, codes := h.secondFactor(me)
		since := time.Now()
		errs := sideBySide(32, func(i int) error {
			return h.Code(t.Context(), from(fmt.Sprintf("198.51.100.%d", i)), id, fmt.Sprintf("%06d", i))
		})
		tried := 0
		for _, err := range errs {
			if err != nil && strings.Contains(err.Error(), "INVALID_CREDENTIALS") {
				tried++
			} else {
				refused(t, err, api.CodeRateLimited)
			}
		}
		within(t, tried, userBudget, usersPerMin, since)
		for name, code := range map[string]string{"the right one": app.code(t, 0), "a recovery code": codes[0]} {
			if err := h.Code(t.Context(), stranger(), id, code); err == nil {
				t.Errorf("%s is let through after the budget is spent", name)
			}
		}
	}, limited)
}

// Anyone who types something other than an address must not use up what another kind of
// guess is counted by.
func TestBudgetsOfDifferentKindsAreApart(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		id := h.person("ada@example.com")
		me, _ := h.enter(id)
		app, _ := h.secondFactor(me)
		leave := h.Crowd()
		for i := range 3 * userBudget {
			typed := []string{"code " + id, id, "codes, by account\n" + id}[i%3]
			_, err := h.Password(t.Context(), from(fmt.Sprintf("198.51.100.%d", i)), typed, newPassword)
			if err == nil {
				t.Fatal("signed in")
			}
		}
		leave()
		must(t, h.Code(t.Context(), stranger(), id, app.code(t, 1)))
	}, limited)
}

func TestRequestsForRecoveryAreLimited(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		h.person("ada@example.com")
		for name, email := range map[string]string{"a known account": "ada@example.com", "an unknown account": "nobody@example.com"} {
			t.Run(name, func(t *testing.T) {
				since, asked := time.Now(), 0
				for i := range 2 * userBudget {
					if err := h.Recover(t.Context(), from(fmt.Sprintf("198.51.100.%d", i)), email); err == nil {
						asked++
					} else {
						refused(t, err, api.CodeRateLimited)
					}
				}
				within(t, asked, 3, 1, since)
			})
		}
	}, limited)
}

func TestChangingThePasswordDoesNotGiveMoreGuesses(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		me, _ := h.enter(h.resident("ada@example.com"))
		defer h.Crowd()()
		since := time.Now()
		errs := sideBySide(32, func(i int) error {
			by := me
			by.IP = fmt.Sprintf("198.51.100.%d", i)
			return h.ChangePassword(t.Context(), by, fmt.Sprint("guess number ", i), newPassword, true)
		})
		within(t, admitted(t, errs), userBudget, usersPerMin, since)
	}, limited)
}
