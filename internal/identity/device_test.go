package identity_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
)

// challenge is what a client sends ahead of its verifier.
func challenge(verifier string) string {
	sum := sha256.Sum256([]byte(verifier))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// sameAtBothLevels demands that the fields in data stand beside it, too.
func sameAtBothLevels(t *testing.T, answer *servertest.Answer) servertest.Body {
	t.Helper()
	var top servertest.Body
	if err := json.Unmarshal(answer.OK().Body, &top); err != nil {
		t.Fatalf("decode %s: %v", answer.Body, err)
	}
	delete(top, "ok")
	delete(top, "data")
	data := answer.Object()
	if !maps.Equal(top, data) {
		t.Errorf("the fields at the top are %v, those in data %v", top, data)
	}
	return data
}

func TestDeviceCodeCreation(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		t.Run("a code comes with all that a person needs", func(t *testing.T) {
			before := n.Clock.Now().Add(600 * time.Second).Unix()
			answer := n.Stranger(t).Post("/v1/auth/device-code", servertest.Body{})
			code := sameAtBothLevels(t, answer)
			after := n.Clock.Now().Add(600 * time.Second).Unix()
			if text := code["code"].(string); !regexp.MustCompile(`^[ABCDEFGHJKLMNPQRSTUVWXYZ23456789]{6}$`).MatchString(text) {
				t.Errorf("the code is %q", text)
			}
			if got, want := code["verification_url"], "http://bursar.test/device?code="+code["code"].(string); got != want {
				t.Errorf("verification_url is %q, want %q", got, want)
			}
			if end := answer.Number("expires_at"); end < before || end > after {
				t.Errorf("expires_at is %d, want one from %d to %d", end, before, after)
			}
			if got := answer.Number("interval"); got != 5 {
				t.Errorf("interval is %d", got)
			}
		})
		t.Run("an agent may call itself whatever it likes", func(t *testing.T) {
			n.Stranger(t).Do("POST", "/v1/auth/device-code", nil, "User-Agent", "caf\xe9 "+strings.Repeat("x", 500)).OK()
		})
		t.Run("codes differ", func(t *testing.T) {
			if first, second := n.NewDeviceCode(t, nil), n.NewDeviceCode(t, nil); first == second {
				t.Errorf("both codes are %q", first)
			}
		})
		for name, body := range map[string]any{
			"no body":                   nil,
			"an empty body":             "{}",
			"an empty intent":           servertest.Body{"intent": ""},
			"an intent of 64 letters":   servertest.Body{"intent": strings.Repeat("é", 64)},
			"a challenge":               servertest.Body{"code_challenge": challenge("x")},
			"an intent and a challenge": servertest.Body{"intent": "Sign in", "code_challenge": challenge("x")},
		} {
			t.Run("takes "+name, func(t *testing.T) { n.NewDeviceCode(t, body) })
		}
		for name, c := range map[string]struct {
			body  any
			field string
		}{
			"an intent of 65 letters":           {servertest.Body{"intent": strings.Repeat("é", 65)}, "intent"},
			"an intent with control characters": {servertest.Body{"intent": "a\u0000b"}, "intent"},
			"an intent of two lines":            {servertest.Body{"intent": "a\nb"}, "intent"},
			"a challenge of 42 characters":      {servertest.Body{"code_challenge": challenge("x")[1:]}, "code_challenge"},
			"a challenge of 44 characters":      {servertest.Body{"code_challenge": challenge("x") + "A"}, "code_challenge"},
			"a challenge in the other base64":   {servertest.Body{"code_challenge": strings.Repeat("+", 43)}, "code_challenge"},
			"a challenge with a line end":       {servertest.Body{"code_challenge": challenge("x") + "\n"}, "code_challenge"},
		} {
			t.Run("refuses "+name, func(t *testing.T) {
				n.Stranger(t).Post("/v1/auth/device-code", c.body).Invalid(c.field)
			})
		}
		t.Run("tells all that is wrong at once", func(t *testing.T) {
			n.Stranger(t).Post("/v1/auth/device-code", servertest.Body{"intent": 1, "code_challenge": "x"}).Invalid("intent", "code_challenge")
		})
	})
}

func TestDeviceLogin(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		user := n.User(t, "dora@example.com")
		code := n.NewDeviceCode(t, nil)
		if got := sameAtBothLevels(t, n.PollDevice(t, code)); got["status"] != "pending" || len(got) != 1 {
			t.Errorf("a fresh code is %v", got)
		}
		if got := user.Decide(code, "approve").OK().Object(); got["code"] != code || got["status"] != "approved" {
			t.Errorf("approving answers %v", got)
		}
		first := sameAtBothLevels(t, n.PollDevice(t, code))
		if first["status"] != "approved" || len(first) != 2 {
			t.Fatalf("the first poll after approval answers %v", first)
		}
		if again := sameAtBothLevels(t, n.PollDevice(t, code)); again["status"] != "consumed" || len(again) != 1 {
			t.Errorf("the second poll after approval answers %v", again)
		}
		device := n.Holder(t, first["token"].(string))
		me := device.Get("/v1/auth/me").OK().Object()
		if me["id"] != user.UserID || me["email"] != "dora@example.com" {
			t.Errorf("the device is logged in as %v", me)
		}
		device.Post("/v1/auth/logout", nil).OK()
		user.Get("/v1/auth/me").OK()
		for _, said := range []string{"Signed in with an API key", "Signed in with a device code", "Signed out"} {
			if n.Count(t, `SELECT count(*) FROM audit_entry WHERE actor_id = $1 AND description = $2`, user.UserID, said) != 1 {
				t.Errorf("the audit log does not say %q", said)
			}
		}
	})
}

func TestDeviceCodesAreReadAsPeopleTypeThem(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		admin := n.Admin(t)
		for name, typed := range map[string]func(code string) string{
			"lower case":     strings.ToLower,
			"a dash":         func(code string) string { return code[:3] + "-" + code[3:] },
			"spaces":         func(code string) string { return " " + code[:3] + " " + code[3:] + " " },
			"all of it":      func(code string) string { return strings.ToLower(code[:2] + "-" + code[2:4] + " - " + code[4:]) },
			"nothing to add": func(code string) string { return code },
		} {
			t.Run(name, func(t *testing.T) {
				code := n.NewDeviceCode(t, nil)
				text := typed(code)
				n.PollDevice(t, text).DeviceStatus("pending", false)
				if got := admin.On(t).Decide(url.PathEscape(text), "approve").OK().Text("code"); got != code {
					t.Errorf("approved %q, want %q", got, code)
				}
				n.PollDevice(t, text).DeviceStatus("approved", true)
			})
		}
		for name, code := range map[string]string{
			"a code that was never made": "AAAAAA",
			"too short":                  "AAAAA",
			"too long":                   "AAAAAAA",
			"letters that are not used":  "OOOOOO",
			"not even letters":           "%\x00/é?",
		} {
			t.Run("unknown: "+name, func(t *testing.T) {
				n.PollDevice(t, code).Fails(404, "RESOURCE_NOT_FOUND")
				admin.On(t).Decide(url.PathEscape(code), "approve").Fails(404, "RESOURCE_NOT_FOUND")
				admin.On(t).Decide(url.PathEscape(code), "deny").Fails(404, "RESOURCE_NOT_FOUND")
			})
		}
	})
}

func TestCodeChallengeBindsTheTokenToItsClient(t *testing.T) {
	t.Parallel()
	const verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		code := n.NewDeviceCode(t, servertest.Body{"code_challenge": "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"}) // RFC 7636, appendix B
		n.PollDevice(t, code).DeviceStatus("pending", false)
		n.Admin(t).Decide(code, "approve").OK()
		for name, headers := range map[string][]string{
			"no verifier":       nil,
			"an empty verifier": {"X-Code-Verifier", ""},
			"a wrong verifier":  {"X-Code-Verifier", servertest.OtherEnd(verifier)},
			"the challenge":     {"X-Code-Verifier", challenge(verifier)},
		} {
			t.Run(name+" sees the status alone", func(t *testing.T) {
				n.PollDevice(t, code, headers...).DeviceStatus("approved", false)
			})
		}
		t.Run("the verifier gets the token", func(t *testing.T) {
			n.PollDevice(t, code, "X-Code-Verifier", verifier).DeviceStatus("approved", true)
			n.PollDevice(t, code, "X-Code-Verifier", verifier).DeviceStatus("consumed", false)
		})
		t.Run("a verifier that was not asked for does no harm", func(t *testing.T) {
			code := n.NewDeviceCode(t, nil)
			n.Admin(t).Decide(code, "approve").OK()
			n.PollDevice(t, code, "X-Code-Verifier", verifier).DeviceStatus("approved", true)
		})
	})
}
