package signin_test

import (
	"errors"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"bursar/api"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/identity"
	"bursar/internal/signin"
)

func TestAnAuthenticatorAppIsOfferedASecret(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		me, _ := h.enter(h.person("ada@example.com"))
		key, err := h.NewTOTP(me)
		must(t, err)
		address, err := url.Parse(key.URL())
		must(t, err)
		if address.Scheme != "otpauth" || address.Query().Get("issuer") != "Bursar" || key.AccountName() != "ada@example.com" || len(key.Secret()) != 32 {
			t.Errorf("offered %s", key.URL())
		}
		if again, err := h.NewTOTP(me); err != nil || again.Secret() == key.Secret() {
			t.Errorf("the same secret is offered again: %v", err)
		}
		if n := h.count(`SELECT count(*) FROM totp`); n != 0 {
			t.Error("what is only offered is stored")
		}
	})
}

func TestTheSecondFactorIsOnOnceACodeShowsThatTheAppHasIt(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		id := h.resident("ada@example.com")
		me, _ := h.enter(id)
		key, err := h.NewTOTP(me)
		must(t, err)
		a := app{key.Secret(), h.clock}
		for _, wrong := range []string{"", "000000", "abcdef", a.code(t, -5), a.code(t, 5)} {
			_, err := h.EnableTOTP(t.Context(), me, a.secret, wrong)
			invalid(t, err, "code")
		}
		if n := h.count(`SELECT count(*) FROM totp`) + h.count(`SELECT count(*) FROM recovery_code`); n != 0 {
			t.Fatal("a wrong code stored something")
		}
		if got, err := h.Password(t.Context(), stranger(), "ada@example.com", goodPassword); err != nil || got.NeedsCode {
			t.Fatalf("signing in asks for a code: %+v, %v", got, err)
		}
		_, err = h.EnableTOTP(t.Context(), me, a.secret, a.code(t, 0))
		must(t, err)
		if got, err := h.Password(t.Context(), stranger(), "ada@example.com", goodPassword); err != nil || !got.NeedsCode {
			t.Errorf("signing in asks for no code: %+v, %v", got, err)
		}
		if row := h.last(audit.TOTPEnabled); row.ActorID != id || row.Resource != id || strings.Contains(row.Description, a.secret) {
			t.Errorf("the audit log says %+v", row)
		}
	})
}

func TestAWrongPasswordDoesNotRevealASecondFactor(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		me, _ := h.enter(h.resident("ada@example.com"))
		h.secondFactor(me)
		got, err := h.Password(t.Context(), stranger(), "ada@example.com", newPassword)
		if refused(t, err, api.CodeInvalidCredentials); got != (signin.Proven{}) {
			t.Errorf("told %+v", got)
		}
	})
}

func TestCodesAreGoodAroundTheirTime(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		for name, c := range map[string]struct {
			steps int
			good  bool
		}{
			"of now":          {0, true},
			"one step before": {-1, true},
			"one step after":  {1, true},
		} {
			t.Run(name, func(t *testing.T) {
				h := h.on(t)
				id := h.person(strings.ReplaceAll(name, " ", ".") + "@example.com")
				me, _ := h.enter(id)
				a, _ := h.secondFactor(me)
				h.middle()
				if err := h.Code(t.Context(), stranger(), id, a.code(t, c.steps)); (err == nil) != c.good {
					t.Errorf("answered %v", err)
				}
			})
		}
	})
}

// middle moves the clock to the middle of a step.
func (h *house) middle() {
	now := h.clock.Now().UnixMilli() % 30_000
	h.clock.Advance(time.Duration(45_000-now) * time.Millisecond)
}

func TestACodeOfTwoStepsAgoOrAheadIsWrong(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		id := h.person("ada@example.com")
		me, _ := h.enter(id)
		a, _ := h.secondFactor(me)
		h.middle()
		for _, steps := range []int{-2, 2} {
			refused(t, h.Code(t.Context(), stranger(), id, a.code(t, steps)), api.CodeInvalidCredentials)
		}
	})
}

func TestCodesAreReadAsPeopleTypeThem(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		id := h.person("ada@example.com")
		me, _ := h.enter(id)
		a, codes := h.secondFactor(me)
		code := a.code(t, 0)
		must(t, h.Code(t.Context(), stranger(), id, " "+code[:3]+" "+code[3:]+"\t"))
		must(t, h.Code(t.Context(), stranger(), id, strings.ToLower(strings.ReplaceAll(codes[0], "-", " "))))
	})
}

func TestACodeIsGoodOnce(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		id := h.person("ada@example.com")
		me, _ := h.enter(id)
		a, _ := h.secondFactor(me)
		t.Run("one after the other", func(t *testing.T) {
			h := h.on(t)
			h.middle()
			code := a.code(t, 0)
			must(t, h.Code(t.Context(), stranger(), id, code))
			refused(t, h.Code(t.Context(), stranger(), id, code), api.CodeInvalidCredentials)
		})
		t.Run("an earlier one is over with it", func(t *testing.T) {
			h := h.on(t)
			h.clock.Advance(5 * time.Minute)
			h.middle()
			must(t, h.Code(t.Context(), stranger(), id, a.code(t, 1)))
			refused(t, h.Code(t.Context(), stranger(), id, a.code(t, 0)), api.CodeInvalidCredentials)
		})
		t.Run("side by side", func(t *testing.T) {
			h := h.on(t)
			for range 5 {
				h.clock.Advance(5 * time.Minute)
				h.middle()
				code := a.code(t, 0)
				if n := succeeded(sideBySide(8, func(int) error { return h.Code(t.Context(), stranger(), id, code) })); n != 1 {
					t.Errorf("one code was good %d times", n)
				}
			}
		})
		t.Run("the one that turned it on is used", func(t *testing.T) {
			h := h.on(t)
			me, _ := h.enter(h.person("bob@example.com"))
			key, err := h.NewTOTP(me)
			must(t, err)
			h.middle()
			code := app{key.Secret(), h.clock}.code(t, 0)
			_, err = h.EnableTOTP(t.Context(), me, key.Secret(), code)
			must(t, err)
			refused(t, h.Code(t.Context(), stranger(), me.ID, code), api.CodeInvalidCredentials)
		})
	})
}

func TestAWrongCodeIsOnRecord(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		id := h.person("ada@example.com")
		me, _ := h.enter(id)
		h.secondFactor(me)
		refused(t, h.Code(t.Context(), stranger(), id, "wrong"), api.CodeInvalidCredentials)
		if row := h.last(audit.LoginFailed); row.ActorID != id || row.Outcome != "failure" || row.Description != "Sign-in failed: wrong code" {
			t.Errorf("the audit log says %+v", row)
		}
	})
}

func TestCodesOfADisabledAccountAreWrong(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		id := h.person("ada@example.com")
		me, _ := h.enter(id)
		a, codes := h.secondFactor(me)
		_, err := h.identity.DisableUser(t.Context(), stranger(), "ada@example.com")
		must(t, err)
		for _, code := range []string{a.code(t, 0), codes[0]} {
			refused(t, h.Code(t.Context(), stranger(), id, code), api.CodeInvalidCredentials)
		}
	})
}

var recoveryForm = regexp.MustCompile(`^[A-HJ-NP-Z2-9]{4}(-[A-HJ-NP-Z2-9]{4}){3}$`)

func TestRecoveryCodes(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		id := h.person("ada@example.com")
		me, _ := h.enter(id)
		_, codes := h.secondFactor(me)
		t.Run("are ten that differ and can be typed", func(t *testing.T) {
			seen := map[string]bool{}
			for _, code := range codes {
				if !recoveryForm.MatchString(code) {
					t.Errorf("%q", code)
				}
				seen[code] = true
			}
			if len(seen) != 10 {
				t.Errorf("there are %d", len(seen))
			}
		})
		t.Run("are stored hashed", func(t *testing.T) {
			h := h.on(t)
			for _, code := range codes {
				if n := h.count(`SELECT count(*) FROM recovery_code WHERE hash = $1 OR hash = $2`, code, strings.ReplaceAll(code, "-", "")); n != 0 {
					t.Errorf("%q is stored as it is", code)
				}
			}
		})
		t.Run("are good once", func(t *testing.T) {
			h := h.on(t)
			must(t, h.Code(t.Context(), stranger(), id, codes[0]))
			refused(t, h.Code(t.Context(), stranger(), id, codes[0]), api.CodeInvalidCredentials)
			if f, err := h.Factors(t.Context(), me); err != nil || f.RecoveryCodes != 9 {
				t.Errorf("%d are left, %v", f.RecoveryCodes, err)
			}
			if row := h.last(audit.RecoveryCodeUsed); row.ActorID != id || row.Resource != id || strings.Contains(row.Description, codes[0]) {
				t.Errorf("the audit log says %+v", row)
			}
		})
		t.Run("are good once side by side", func(t *testing.T) {
			h := h.on(t)
			if n := succeeded(sideBySide(8, func(int) error { return h.Code(t.Context(), stranger(), id, codes[1]) })); n != 1 {
				t.Errorf("one code was good %d times", n)
			}
		})
		t.Run("are their owner's alone", func(t *testing.T) {
			h := h.on(t)
			other, _ := h.enter(h.person("bob@example.com"))
			h.secondFactor(other)
			refused(t, h.Code(t.Context(), stranger(), other.ID, codes[2]), api.CodeInvalidCredentials)
			must(t, h.Code(t.Context(), stranger(), id, codes[2]))
		})
		t.Run("new ones end the old", func(t *testing.T) {
			h := h.on(t)
			fresh, err := h.NewRecoveryCodes(t.Context(), me)
			must(t, err)
			refused(t, h.Code(t.Context(), stranger(), id, codes[3]), api.CodeInvalidCredentials)
			must(t, h.Code(t.Context(), stranger(), id, fresh[3]))
			if row := h.last(audit.RecoveryCodesMade); row.ActorID != id || row.Resource != id {
				t.Errorf("the audit log says %+v", row)
			}
		})
		t.Run("need a second factor", func(t *testing.T) {
			h := h.on(t)
			plain, _ := h.enter(h.person("carla@example.com"))
			_, err := h.NewRecoveryCodes(t.Context(), plain)
			refused(t, err, api.CodeNotFound)
		})
	})
}

// Anyone who finds an open browser cannot put their own app in the place of its owner's.
func TestASecondFactorIsNotReplaced(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		me, _ := h.enter(h.person("ada@example.com"))
		a, codes := h.secondFactor(me)
		key, err := h.NewTOTP(me)
		must(t, err)
		_, err = h.EnableTOTP(t.Context(), me, key.Secret(), app{key.Secret(), h.clock}.code(t, 0))
		invalid(t, err, "code")
		must(t, h.Code(t.Context(), stranger(), me.ID, a.code(t, 0)))
		must(t, h.Code(t.Context(), stranger(), me.ID, codes[0]))
	})
}

func TestTurningTheSecondFactorOff(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		t.Run("needs a code", func(t *testing.T) {
			h := h.on(t)
			me, _ := h.enter(h.person("one@example.com"))
			h.secondFactor(me)
			for _, wrong := range []string{"", "123456", goodPassword} {
				invalid(t, h.DisableTOTP(t.Context(), me, wrong), "code")
			}
			if f, err := h.Factors(t.Context(), me); err != nil || f.TOTPSince == 0 || f.RecoveryCodes != 10 {
				t.Errorf("left are %+v, %v", f, err)
			}
		})
		t.Run("by the app", func(t *testing.T) {
			h := h.on(t)
			me, _ := h.enter(h.resident("two@example.com"))
			a, codes := h.secondFactor(me)
			must(t, h.DisableTOTP(t.Context(), me, a.code(t, 0)))
			if got, err := h.Password(t.Context(), stranger(), "two@example.com", goodPassword); err != nil || got.NeedsCode {
				t.Errorf("signing in still asks for a code: %v", err)
			}
			refused(t, h.Code(t.Context(), stranger(), me.ID, codes[0]), api.CodeInvalidCredentials)
			if row := h.last(audit.TOTPDisabled); row.ActorID != me.ID || row.Resource != me.ID {
				t.Errorf("the audit log says %+v", row)
			}
		})
		t.Run("by a recovery code", func(t *testing.T) {
			h := h.on(t)
			me, _ := h.enter(h.person("three@example.com"))
			_, codes := h.secondFactor(me)
			must(t, h.DisableTOTP(t.Context(), me, codes[9]))
		})
	})
}

// What was proven with the old password, or without the second factor, begins no session after the user has changed.
func TestASignInEndsIfTheSignInMethodsChange(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		for name, change := range map[string]func(h *house, me db.Caller, a app) error{
			"the password": func(h *house, me db.Caller, _ app) error {
				return h.ChangePassword(h.t.Context(), me, goodPassword, newPassword, true)
			},
			"the recovery codes": func(h *house, me db.Caller, _ app) error {
				_, err := h.NewRecoveryCodes(h.t.Context(), me)
				return err
			},
			"the second factor is off": func(h *house, me db.Caller, a app) error {
				return h.DisableTOTP(h.t.Context(), me, a.code(h.t, 0))
			},
			"the account was disabled meanwhile": func(h *house, me db.Caller, _ app) error {
				_, err := h.identity.DisableUser(h.t.Context(), db.Caller{}, me.Email)
				if err == nil {
					_, err = h.identity.EnableUser(h.t.Context(), db.Caller{}, me.Email)
				}
				return err
			},
		} {
			t.Run(name, func(t *testing.T) {
				h, email := h.on(t), strings.ReplaceAll(name, " ", ".")+"@example.com"
				me, _ := h.enter(h.resident(email))
				a, codes := h.secondFactor(me)
				half, err := h.Password(t.Context(), stranger(), email, goodPassword)
				must(t, err)
				whole, err := h.SecondStep(t.Context(), stranger(), half, codes[0])
				must(t, err)
				must(t, change(h, me, a))
				_, err = h.SecondStep(t.Context(), stranger(), half, codes[1])
				if refused(t, err, api.CodeInvalidCredentials); !errors.Is(err, identity.ErrCredentialsChanged) {
					t.Errorf("the second step says %v", err)
				}
				_, err = h.identity.BeginWeb(t.Context(), stranger(), identity.WebSignIn{UserID: whole.UserID, Method: whole.Method, SecondFactor: true, Version: whole.Version})
				refused(t, err, api.CodeInvalidCredentials)
			})
		}
	})
}
