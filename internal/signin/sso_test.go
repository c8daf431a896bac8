package signin_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"bursar/api"
	"bursar/internal/audit"
	"bursar/internal/browsertest/oidctest"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/fault"
	"bursar/internal/identity"
	"bursar/internal/signin"
)

const providersPassword = "at the provider"

// vouched is someone whom the provider knows.
func vouched(email string, verified bool) oidctest.User {
	return oidctest.User{Email: email, Verified: verified, Name: "Name of " + email, Password: providersPassword}
}

// eachWithProvider runs a test on every engine in a house with an identity
// provider that knows some people.
func eachWithProvider(t *testing.T, users []oidctest.User, run func(t *testing.T, h *house)) {
	t.Helper()
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		p := oidctest.Start(t, users[0], publicURL+signin.CallbackPath)
		for _, user := range users[1:] {
			p.Add(user)
		}
		h := build(t, store, trusting(p.Issuer, p.ClientID, p.ClientSecret))
		h.provider = p
		run(t, h)
	})
}

func trusting(issuer, id, secret string) option {
	return func(s *settings) {
		s.Provider = signin.Provider{Issuer: issuer, ClientID: id, ClientSecret: secret, Name: "Northwind"}
	}
}

// atProvider signs someone in at the provider and returns what it sends back.
func atProvider(t testing.TB, location, email string) url.Values {
	t.Helper()
	return oidctest.SignIn(t, location, email, providersPassword)
}

// bySSO signs someone in by way of the provider.
func (h *house) bySSO(email string) (signin.Proven, error) {
	h.t.Helper()
	location, state, err := h.StartSSO(h.t.Context(), false)
	must(h.t, err)
	return h.FinishSSO(h.t.Context(), stranger(), state, atProvider(h.t, location, email))
}

func TestTheProviderIdentifiesThePerson(t *testing.T) {
	eachWithProvider(t, []oidctest.User{vouched("Ada@Example.com", true)}, func(t *testing.T, h *house) {
		id := h.person("ada@example.com")
		got, err := h.bySSO("Ada@Example.com")
		if want := (signin.Proven{UserID: id, Method: identity.BySSO, SecondFactor: true}); err != nil || got != want {
			t.Fatalf("proves %+v, %v", got, err)
		}
		if name := h.text(`SELECT name FROM account WHERE id = $1`, id); name != "User ada@example.com" {
			t.Errorf("the name became %q", name)
		}
	})
}

func TestTheProviderIsAskedSafely(t *testing.T) {
	eachWithProvider(t, []oidctest.User{vouched("ada@example.com", true)}, func(t *testing.T, h *house) {
		location, state, err := h.StartSSO(t.Context(), false)
		must(t, err)
		address, err := url.Parse(location)
		must(t, err)
		q := address.Query()
		if q.Get("state") != state.State || q.Get("nonce") != state.Nonce || q.Get("code_challenge_method") != "S256" || q.Get("code_challenge") == "" ||
			q.Get("redirect_uri") != publicURL+signin.CallbackPath || q.Get("response_type") != "code" {
			t.Errorf("asked by %s", location)
		}
		if strings.Contains(location, state.Verifier) {
			t.Error("the verifier is in the address")
		}
		_, again, err := h.StartSSO(t.Context(), false)
		if must(t, err); again.State == state.State || again.Nonce == state.Nonce || again.Verifier == state.Verifier || len(state.State) < 20 {
			t.Error("what is asked with can be guessed")
		}
	})
}

func TestWhomTheProviderDoesNotProve(t *testing.T) {
	users := []oidctest.User{vouched("unverified@example.com", false), vouched("nobody@example.com", true), vouched("gone@example.com", true)}
	eachWithProvider(t, users, func(t *testing.T, h *house) {
		h.resident("unverified@example.com")
		gone := h.person("gone@example.com")
		_, err := h.identity.DisableUser(t.Context(), db.Caller{}, "gone@example.com")
		must(t, err)
		for name, c := range map[string]struct{ email, told, why, userID string }{
			"an address that it does not vouch for": {"unverified@example.com", "your identity provider has not verified your email address",
				"the identity provider has not verified the email address", ""},
			"an address that nobody has": {"nobody@example.com", "no account here has the email address that your identity provider sent: ask for an invitation",
				"the identity provider sent an address that no account has", ""},
			"a disabled account": {"gone@example.com", "no account here has the email address that your identity provider sent: ask for an invitation",
				"the account is disabled", gone},
		} {
			t.Run(name, func(t *testing.T) {
				h := h.on(t)
				before := h.count(`SELECT count(*) FROM account`)
				got, err := h.bySSO(c.email)
				if f := refused(t, err, api.CodeInvalidCredentials); f.Message != c.told || got != (signin.Proven{}) {
					t.Errorf("told %q and %+v", f.Message, got)
				}
				row := h.last(audit.LoginFailed)
				if row.Description != "Sign-in failed: "+c.why || row.ActorID != c.userID || row.Outcome != "failure" || row.IP != home {
					t.Errorf("the audit log says %+v", row)
				}
				if h.count(`SELECT count(*) FROM account`) != before {
					t.Error("an account was made")
				}
			})
		}
	})
}

func TestWhoIsInvitedIsCompleteByTheProvider(t *testing.T) {
	eachWithProvider(t, []oidctest.User{vouched(bobsAddress, true)}, func(t *testing.T, h *house) {
		w := pending(h)
		got, err := h.bySSO(bobsAddress)
		if err != nil || got.UserID != w.userID {
			t.Fatalf("proves %+v, %v", got, err)
		}
		w.settled(t, h)
		if name := h.text(`SELECT name FROM account WHERE id = $1`, w.userID); name != "Name of "+bobsAddress {
			t.Errorf("the name is %q", name)
		}
		row := h.last(audit.UserEnabled)
		if row.ActorID != w.userID || row.Resource != w.userID || row.Outcome != "success" || row.OrganizationID != "" {
			t.Errorf("the audit log says %+v", row)
		}
		t.Run("and nothing changes the next time", func(t *testing.T) {
			h := h.on(t)
			_, err := h.bySSO(bobsAddress)
			if must(t, err); len(h.trail(audit.UserEnabled)) != 1 {
				t.Error("it is on record again")
			}
		})
	})
}

func TestTheProviderTakesAnAccountBack(t *testing.T) {
	eachWithProvider(t, []oidctest.User{vouched(bobsAddress, true)}, func(t *testing.T, h *house) {
		w := invitedTwice(h)
		wayIn := h.seize(w.userID)
		_, err := h.bySSO(bobsAddress)
		must(t, err)
		w.settled(t, h)
		wayIn.closed(t, h)
		if row := h.last(audit.UserEnabled); row.OrganizationID != "" { // whoever seized it must not read where its owner is
			t.Errorf("it is on record for %s", row.OrganizationID)
		}
	})
}

// Signing in by the provider keeps what a user that is settled has.
func TestTheProviderTakesNothingFromASettledAccount(t *testing.T) {
	eachWithProvider(t, []oidctest.User{vouched(bobsAddress, true)}, func(t *testing.T, h *house) {
		_, session := h.enter(h.resident(bobsAddress))
		_, err := h.bySSO(bobsAddress)
		if must(t, err); !h.signedIn(session) || !h.knows(bobsAddress, goodPassword) {
			t.Error("the password or the session is gone")
		}
	})
}

// An address can be given to someone new at the provider. The user stays that of
// whoever signed in first, until an operator says otherwise.
func TestAnAccountBelongsToTheSubjectThatSignedInFirst(t *testing.T) {
	known := func(subject, email string) oidctest.User {
		user := vouched(email, true)
		user.Subject = subject
		return user
	}
	eachWithProvider(t, []oidctest.User{known("7", bobsAddress)}, func(t *testing.T, h *house) {
		id := h.person(bobsAddress)
		h.person("other@example.com")
		_, err := h.bySSO(bobsAddress)
		must(t, err)
		if row := h.last(audit.UserBound); row.ActorID != id || row.Resource != id || row.Outcome != "success" {
			t.Errorf("the audit log says %+v", row)
		}
		t.Run("who has the address later is refused", func(t *testing.T) {
			h := h.on(t)
			h.provider.Add(known("7", "robert@x.example"))
			h.provider.Add(known("8", bobsAddress))
			got, err := h.bySSO(bobsAddress)
			if refused(t, err, api.CodeInvalidCredentials); got != (signin.Proven{}) {
				t.Errorf("proves %+v", got)
			}
			if row := h.last(audit.LoginFailed); row.ActorID != id || !strings.Contains(row.Description, "another subject") {
				t.Errorf("the audit log says %+v", row)
			}
		})
		t.Run("who had it is let in by any address, and by none into another account", func(t *testing.T) {
			h := h.on(t)
			for _, email := range []string{"robert@x.example", "other@example.com"} {
				h.provider.Add(known("7", email))
				if got, err := h.bySSO(email); err != nil || got.UserID != id {
					t.Errorf("%s proves %+v, %v", email, got, err)
				}
			}
		})
		t.Run("an operator lets in who has it now", func(t *testing.T) {
			h := h.on(t)
			_, err := h.Reset(t.Context(), db.Caller{}, bobsAddress, false)
			must(t, err)
			if got, err := h.bySSO(bobsAddress); err != nil || got.UserID != id {
				t.Errorf("proves %+v, %v", got, err)
			}
		})
	})
}

// Unicode has letters whose lower case is a letter of another address.
func TestTheKelvinSignIsNotAK(t *testing.T) {
	const kelvin = "\u212aim@example.com"
	eachWithProvider(t, []oidctest.User{vouched(kelvin, true)}, func(t *testing.T, h *house) {
		h.resident("kim@example.com")
		got, err := h.bySSO(kelvin)
		if refused(t, err, api.CodeInvalidCredentials); got != (signin.Proven{}) {
			t.Errorf("proves %+v", got)
		}
		if h.knows(kelvin, goodPassword) || !h.knows("KIM@Example.COM", goodPassword) {
			t.Error("addresses are not compared by the case of ASCII")
		}
	})
}

func TestAnAnswerThatWasNotAskedForIsRefused(t *testing.T) {
	eachWithProvider(t, []oidctest.User{vouched("ada@example.com", true)}, func(t *testing.T, h *house) {
		h.person("ada@example.com")
		begin := func(t *testing.T) (signin.SSOState, url.Values) {
			t.Helper()
			location, state, err := h.StartSSO(t.Context(), false)
			must(t, err)
			return state, atProvider(t, location, "ada@example.com")
		}
		another := func(t *testing.T) signin.SSOState {
			t.Helper()
			_, state, err := h.StartSSO(t.Context(), false)
			must(t, err)
			return state
		}
		for name, change := range map[string]func(t *testing.T, state *signin.SSOState, back url.Values){
			"the state is another":             func(t *testing.T, s *signin.SSOState, _ url.Values) { s.State = another(t).State },
			"the state is missing":             func(_ *testing.T, _ *signin.SSOState, back url.Values) { back.Del("state") },
			"nothing was begun":                func(_ *testing.T, s *signin.SSOState, back url.Values) { *s = signin.SSOState{}; back.Del("state") },
			"the nonce is another":             func(t *testing.T, s *signin.SSOState, _ url.Values) { s.Nonce = another(t).Nonce },
			"the verifier is another":          func(t *testing.T, s *signin.SSOState, _ url.Values) { s.Verifier = another(t).Verifier },
			"the code is made up":              func(_ *testing.T, _ *signin.SSOState, back url.Values) { back.Set("code", "made-up") },
			"the code is missing":              func(_ *testing.T, _ *signin.SSOState, back url.Values) { back.Del("code") },
			"the provider says that it failed": func(_ *testing.T, _ *signin.SSOState, back url.Values) { back.Set("error", "access_denied") },
		} {
			t.Run(name, func(t *testing.T) {
				state, back := begin(t)
				change(t, &state, back)
				got, err := h.FinishSSO(t.Context(), stranger(), state, back)
				if refused(t, err, api.CodeInvalidCredentials); got != (signin.Proven{}) {
					t.Errorf("proves %+v", got)
				}
			})
		}
		t.Run("it was used before", func(t *testing.T) {
			state, back := begin(t)
			_, err := h.FinishSSO(t.Context(), stranger(), state, back)
			must(t, err)
			_, err = h.FinishSSO(t.Context(), stranger(), state, back)
			refused(t, err, api.CodeInvalidCredentials)
		})
		t.Run("a refused answer is on record without what came back", func(t *testing.T) {
			h := h.on(t)
			state, back := begin(t)
			back.Set("code", "made-up-code")
			_, err := h.FinishSSO(t.Context(), stranger(), state, back)
			refused(t, err, api.CodeInvalidCredentials)
			if row := h.last(audit.LoginFailed); strings.Contains(row.Description, "made-up-code") || row.IP != home {
				t.Errorf("the audit log says %+v", row)
			}
		})
	})
}

func TestAProviderThatIsDownIsSaidToBe(t *testing.T) {
	down := httptest.NewServer(nil)
	down.Close()
	broken := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "on fire", http.StatusBadGateway) }))
	t.Cleanup(broken.Close)
	for name, issuer := range map[string]string{"it does not answer": down.URL, "it answers nonsense": broken.URL} {
		t.Run(name, func(t *testing.T) {
			h := build(t, dbtest.SQLite(t), trusting(issuer, "bursar", "secret"))
			_, _, err := h.StartSSO(t.Context(), false)
			if !signin.Unreachable(err) {
				t.Errorf("beginning: %v", err)
			}
			_, err = h.FinishSSO(t.Context(), stranger(), signin.SSOState{State: "s"}, url.Values{"state": {"s"}, "code": {"c"}})
			var f *fault.Fault
			if !signin.Unreachable(err) || errors.As(err, &f) {
				t.Errorf("finishing: %v", err)
			}
		})
	}
}

// A server starts without the provider, and finds it once it is there.
func TestAProviderThatWasDownIsAskedAgain(t *testing.T) {
	t.Parallel()
	var up atomic.Bool
	var issuer string
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !up.Load() {
			http.Error(w, "starting", http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"issuer": %[1]q, "authorization_endpoint": "%[1]s/authorize", "token_endpoint": "%[1]s/token", "jwks_uri": "%[1]s/keys"}`, issuer)
	}))
	t.Cleanup(front.Close)
	issuer = front.URL
	h := build(t, dbtest.SQLite(t), trusting(issuer, "bursar", "secret"))
	if _, _, err := h.StartSSO(t.Context(), false); !signin.Unreachable(err) {
		t.Fatalf("while it is down: %v", err)
	}
	up.Store(true)
	h.clock.Advance(10 * time.Second) // it is left alone for a moment
	if _, _, err := h.StartSSO(t.Context(), false); err != nil {
		t.Errorf("once it is up: %v", err)
	}
}

func TestWithoutAProviderThereIsNoSingleSignOn(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		if name := h.ProviderName(); name != "" {
			t.Errorf("the button says %q", name)
		}
		_, _, err := h.StartSSO(t.Context(), false)
		refused(t, err, api.CodeNotFound)
		_, err = h.FinishSSO(t.Context(), stranger(), signin.SSOState{}, nil)
		refused(t, err, api.CodeNotFound)
	})
}

// Who is signed in already, and is to show again that it is them, is not let through
// by the session that they have at the provider.
func TestTheProviderIsAskedToAskAgain(t *testing.T) {
	eachWithProvider(t, []oidctest.User{vouched("ada@example.com", true)}, func(t *testing.T, h *house) {
		h.resident("ada@example.com")
		location, state, err := h.StartSSO(t.Context(), true)
		must(t, err)
		asked, err := url.Parse(location)
		must(t, err)
		if asked.Query().Get("prompt") != "login" || asked.Query().Get("max_age") != "0" {
			t.Errorf("the provider is asked %s", location)
		}
		if _, err := h.FinishSSO(t.Context(), stranger(), state, atProvider(t, location, "ada@example.com")); err != nil {
			t.Errorf("who has just signed in there is refused: %v", err)
		}
		location, state, err = h.StartSSO(t.Context(), true)
		must(t, err)
		state.Since += time.Hour.Milliseconds() // as if the provider's session were old
		_, err = h.FinishSSO(t.Context(), stranger(), state, atProvider(t, location, "ada@example.com"))
		refused(t, err, api.CodeInvalidCredentials)
	})
}
