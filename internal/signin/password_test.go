package signin_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"bursar/api"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/identity"
	"bursar/internal/signin"
)

func TestTheRightPasswordIdentifiesThePerson(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		id := h.resident("ada@example.com")
		want := signin.Proven{UserID: id, Method: identity.ByPassword, Version: 1}
		for _, email := range []string{"ada@example.com", "ADA@Example.com", "  ada@example.com "} {
			if got, err := h.Password(t.Context(), stranger(), email, goodPassword); err != nil || got != want {
				t.Errorf("%q: %+v, %v", email, got, err)
			}
		}
	})
}

// wrongPairs are the ways in which a password can be wrong, which no one can tell
// apart, each with the reason in the audit log and whose log it is.
func wrongPairs(h *house) map[string]struct {
	email, password, why, userID string
} {
	known := h.resident("ada@example.com")
	gone := h.resident("gone@example.com")
	_, err := h.identity.DisableUser(h.t.Context(), db.Caller{}, "gone@example.com")
	must(h.t, err)
	bare := h.person("bare@example.com")
	invited, _ := h.tenant("boss@example.com").invite("invited@example.com", "viewer")
	return map[string]struct{ email, password, why, userID string }{
		"a wrong password":                       {"ada@example.com", newPassword, "wrong password", known},
		"no password":                            {"ada@example.com", "", "wrong password", known},
		"a very long password":                   {"ada@example.com", strings.Repeat(goodPassword, 100), "wrong password", known},
		"the right password in capitals":         {"ada@example.com", strings.ToUpper(goodPassword), "wrong password", known},
		"an unknown account":                     {"nobody@example.com", goodPassword, "wrong password", ""},
		"no address":                             {"", goodPassword, "wrong password", ""},
		"an invited account":                     {"invited@example.com", goodPassword, "wrong password", invited},
		"an account without a password":          {"bare@example.com", "", "wrong password", bare},
		"a disabled account, wrong password":     {"gone@example.com", newPassword, "wrong password", gone},
		"a disabled account, the right password": {"gone@example.com", goodPassword, "the account is disabled", gone},
	}
}

func TestAWrongPairIsAnsweredTheSameForEveryCaller(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		for name, c := range wrongPairs(h) {
			t.Run(name, func(t *testing.T) {
				h := h.on(t)
				got, err := h.Password(t.Context(), stranger(), c.email, c.password)
				f := refused(t, err, api.CodeInvalidCredentials)
				if f.Message != "the email address or the password is incorrect" || f.Details != nil || got != (signin.Proven{}) {
					t.Errorf("answered %+v and %+v", f, got)
				}
				row := h.last(audit.LoginFailed)
				if row.Outcome != "failure" || row.ActorID != c.userID || row.ActorType != "user" || row.Description != "Sign-in failed: "+c.why || row.IP != home {
					t.Errorf("the audit log says %+v", row)
				}
			})
		}
	})
}

// Where the hasher has no place left everyone who needs it is turned away: who
// would be answered without it would be answered faster.
func TestAWrongPairTakesTheSameWorkForEveryCaller(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		pairs := wrongPairs(h)
		leave := h.Crowd()
		defer leave()
		for name, c := range pairs {
			if _, err := h.Password(t.Context(), stranger(), c.email, c.password); err == nil || !strings.Contains(err.Error(), "UNAVAILABLE") {
				t.Errorf("%s: answered without hashing: %v", name, err)
			}
		}
	})
}

func TestAFailedSignInDoesNotRevealWhatWasTyped(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		h.resident("ada@example.com")
		for _, email := range []string{"ada@example.com", "typo-secret@example.com"} {
			_, err := h.Password(t.Context(), stranger(), email, "hunter2 was my dog")
			refused(t, err, api.CodeInvalidCredentials)
		}
		for _, row := range h.trail(audit.LoginFailed) {
			if text := fmt.Sprint(row); strings.Contains(text, "hunter2") || strings.Contains(text, "typo-secret") {
				t.Errorf("the audit log tells %s", text)
			}
		}
	})
}

func TestEqualTextsAreOnePassword(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		for i, c := range []struct{ set, typed string }{
			{"caf\u00e9 near the harbour", "cafe\u0301 near the harbour"}, // one letter, or a letter and a mark
			{"ﬁne weather tomorrow", "fine weather tomorrow"},             // a ligature
			{"Ｗide open meadows", "Wide open meadows"},                    // a fullwidth letter
			{"half an \u212bngstrom wide", "half an \u00c5ngstrom wide"},  // a sign and a letter
		} {
			email := fmt.Sprintf("user%d@example.com", i)
			h.person(email)
			_, err := h.RedeemWithPassword(t.Context(), stranger(), h.userLink(email), "User", c.set)
			must(t, err)
			if !h.knows(email, c.typed) || !h.knows(email, c.set) {
				t.Errorf("%q is not %q", c.typed, c.set)
			}
		}
	})
}

var storedForm = regexp.MustCompile(`^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$`)

func TestPasswordsAreStoredHashed(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		a, b := h.resident("ada@example.com"), h.resident("bob@example.com")
		hash := func(id string) string { return h.text(`SELECT password_hash FROM account WHERE id = $1`, id) }
		for _, id := range []string{a, b} {
			if got := hash(id); !storedForm.MatchString(got) || strings.Contains(got, goodPassword) {
				t.Errorf("stored as %q", got)
			}
		}
		if hash(a) == hash(b) {
			t.Error("equal passwords are stored alike")
		}
	}, slowHashes)
}

func TestChangingThePassword(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		t.Run("takes the new one and ends the old", func(t *testing.T) {
			h := h.on(t)
			me, _ := h.enter(h.resident("one@example.com"))
			must(t, h.ChangePassword(t.Context(), me, goodPassword, newPassword, true))
			if h.knows("one@example.com", goodPassword) || !h.knows("one@example.com", newPassword) {
				t.Error("the old password is good, or the new one is not")
			}
		})
		t.Run("needs the present one", func(t *testing.T) {
			h := h.on(t)
			me, _ := h.enter(h.resident("two@example.com"))
			for _, wrong := range []string{"", newPassword, strings.ToUpper(goodPassword)} {
				invalid(t, h.ChangePassword(t.Context(), me, wrong, newPassword, true), "current")
			}
			if h.knows("two@example.com", newPassword) {
				t.Error("the password was changed")
			}
			if n := h.count(`SELECT count(*) FROM audit_entry WHERE action = $1 AND actor_id = $2 AND description LIKE '%when changing it'`,
				string(audit.LoginFailed), me.ID); n != 3 {
				t.Errorf("of three wrong passwords %d are on record", n)
			}
		})
		t.Run("needs a good new one", func(t *testing.T) {
			h := h.on(t)
			me, _ := h.enter(h.resident("three@example.com"))
			for _, bad := range []string{"", "short", "password1234", "three@example.com"} {
				invalid(t, h.ChangePassword(t.Context(), me, goodPassword, bad, true), "password")
			}
		})
		t.Run("ends all other sessions and keeps this one", func(t *testing.T) {
			h := h.on(t)
			id := h.resident("four@example.com")
			me, here := h.enter(id)
			_, there := h.enter(id)
			_, others := h.enter(h.resident("five@example.com"))
			must(t, h.ChangePassword(t.Context(), me, goodPassword, newPassword, true))
			if !h.signedIn(here) || h.signedIn(there) || !h.signedIn(others) {
				t.Errorf("this session %v, the other %v, somebody else's %v", h.signedIn(here), h.signedIn(there), h.signedIn(others))
			}
		})
		t.Run("leaves all sessions where it fails", func(t *testing.T) {
			h := h.on(t)
			id := h.resident("six@example.com")
			me, _ := h.enter(id)
			_, there := h.enter(id)
			invalid(t, h.ChangePassword(t.Context(), me, newPassword, newPassword, true), "current")
			if !h.signedIn(there) {
				t.Error("another session is ended")
			}
		})
		t.Run("who has none chooses one", func(t *testing.T) {
			h := h.on(t)
			me, _ := h.enter(h.person("seven@example.com"))
			must(t, h.ChangePassword(t.Context(), me, "", goodPassword, true))
			if !h.knows("seven@example.com", goodPassword) {
				t.Error("the password is not good")
			}
		})
		t.Run("is on record without the passwords", func(t *testing.T) {
			h := h.on(t)
			me, _ := h.enter(h.resident("eight@example.com"))
			must(t, h.ChangePassword(t.Context(), me, goodPassword, newPassword, true))
			row := h.last(audit.PasswordChanged)
			if row.ActorID != me.ID || row.ActorType != "user" || row.Resource != me.ID || row.Description != "Changed the password" {
				t.Errorf("the audit log says %+v", row)
			}
		})
	})
}

// A request may have been authenticated a moment before someone changes the password, and
// must not change how the user signs in after it.
func TestARequestUnderWayChangesNothingAfterItsSessionHasEnded(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		id := h.resident("ada@example.com")
		thief, _ := h.enter(id)
		owner, _ := h.enter(id)
		key, err := h.NewTOTP(thief)
		must(t, err)
		must(t, h.identity.EndOtherSessions(t.Context(), owner))
		refused(t, h.ChangePassword(t.Context(), thief, goodPassword, newPassword, true), api.CodeUnauthorized)
		_, err = h.EnableTOTP(t.Context(), thief, key.Secret(), app{key.Secret(), h.clock}.code(t, 0))
		refused(t, err, api.CodeUnauthorized)
		if !h.knows("ada@example.com", goodPassword) {
			t.Error("the password was changed")
		}
	})
}
