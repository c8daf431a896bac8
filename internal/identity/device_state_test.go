package identity_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"bursar/api"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/identity"
	"bursar/internal/server/servertest"
)

// deviceStates are the states of a code and the ways into them.
func deviceStates(n *servertest.Node) map[string]func(t *testing.T) (code string) {
	fresh := func(t *testing.T) string { return n.NewDeviceCode(t, nil) }
	after := func(verb string) func(t *testing.T) string {
		return func(t *testing.T) string {
			code := fresh(t)
			n.Admin(t).Decide(code, verb).OK()
			return code
		}
	}
	return map[string]func(t *testing.T) string{
		"approved": after("approve"),
		"denied":   after("deny"),
		"consumed": func(t *testing.T) string {
			code := after("approve")(t)
			n.PollDevice(t, code).OK()
			return code
		},
		"expired": func(t *testing.T) string {
			code := fresh(t)
			n.Clock.Advance(601 * time.Second)
			return code
		},
	}
}

func TestOnlyPendingDeviceCodesAreDecided(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		for state, reach := range deviceStates(n) {
			t.Run(state, func(t *testing.T) {
				code := reach(t)
				n.Admin(t).Decide(code, "approve").Fails(422, "CODE_NOT_PENDING")
				n.Admin(t).Decide(code, "deny").Fails(422, "CODE_NOT_PENDING")
				n.PollDevice(t, code).DeviceStatus(state, state == "approved")
			})
		}
	})
}

func TestFinishedDeviceCodesAnswerForAnHour(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		tidy := func(t *testing.T) {
			if err := n.Server.Tidy(t.Context()); err != nil {
				t.Fatalf("tidy: %v", err)
			}
		}
		states := deviceStates(n)
		delete(states, "approved") // it has not finished
		for state, reach := range states {
			t.Run(state, func(t *testing.T) {
				code := reach(t)
				n.Clock.Advance(59 * time.Minute)
				tidy(t)
				n.PollDevice(t, code).DeviceStatus(state, false)
				n.Clock.Advance(2 * time.Minute)
				n.PollDevice(t, code).Fails(404, "RESOURCE_NOT_FOUND")
				n.Admin(t).Decide(code, "approve").Fails(404, "RESOURCE_NOT_FOUND")
				n.Clock.Advance(24 * time.Hour)
				tidy(t)
				n.PollDevice(t, code).Fails(404, "RESOURCE_NOT_FOUND")
			})
		}
	})
}

func TestDeviceCodesExpire(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		for name, decided := range map[string]bool{"pending": false, "approved, but not picked up": true} {
			t.Run(name, func(t *testing.T) {
				code := n.NewDeviceCode(t, servertest.Body{"code_challenge": challenge("verifier")})
				if decided {
					n.Admin(t).Decide(code, "approve").OK()
				}
				n.Clock.Advance(590 * time.Second)
				if got := n.PollDevice(t, code).OK().Text("status"); got == "expired" {
					t.Error("the code expired too soon")
				}
				n.Clock.Advance(11 * time.Second)
				n.PollDevice(t, code, "X-Code-Verifier", "verifier").DeviceStatus("expired", false)
			})
		}
	})
}

func TestDeviceDecisionsAreAudited(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		admin := n.Admin(t)
		for verb, action := range map[string]string{"approve": "auth.device.approved", "deny": "auth.device.denied"} {
			t.Run(action, func(t *testing.T) {
				admin := admin.On(t)
				code := n.NewDeviceCode(t, servertest.Body{"intent": "Nightly import"})
				admin.Decide(code, verb).OK()
				row := admin.Get("/v1/auth/activity").LastRow(action)
				if text := fmt.Sprint(row); strings.Contains(text, code) {
					t.Errorf("the code, which is as good as a key, stands in %s", text)
				}
				if row["actor_id"] != n.First.UserID || row["outcome"] != "success" || row["resource_type"] != "device_code" {
					t.Errorf("the row is %v", row)
				}
				if text := row["description"].(string); !strings.Contains(text, "Nightly import") {
					t.Errorf("the description %q does not name the intent", text)
				}
			})
		}
		t.Run("auth.session.created", func(t *testing.T) {
			device := n.DeviceSession(t, admin.On(t))
			row := device.Get("/v1/auth/activity").LastRow("auth.session.created")
			if ended := device.Post("/v1/auth/logout", nil).OK().Text("session_id"); row["resource_id"] != ended || row["actor_id"] != n.First.UserID {
				t.Errorf("the session is %s, the row is %v", ended, row)
			}
		})
		t.Run("an undecided code leaves no row", func(t *testing.T) {
			before := strings.Count(n.Dump(t, "audit_log"), "\n")
			n.PollDevice(t, n.NewDeviceCode(t, nil)).OK()
			if after := strings.Count(n.Dump(t, "audit_log"), "\n"); after != before {
				t.Error("there is a row more")
			}
		})
	})
}

func TestADeviceLoginEndsWithItsApprover(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		ends := map[string]func(t *testing.T, email, keyID string){
			"the key is revoked": func(t *testing.T, _, keyID string) {
				if _, err := n.Identity.RevokeAnyKey(t.Context(), db.Caller{}, keyID); err != nil {
					t.Fatalf("revoke the key: %v", err)
				}
			},
			"the user is disabled": func(t *testing.T, email, _ string) {
				if _, err := n.Identity.DisableUser(t.Context(), db.Caller{}, email); err != nil {
					t.Fatalf("disable the user: %v", err)
				}
			},
		}
		for name, end := range ends {
			t.Run(name+" after the login", func(t *testing.T) {
				email, keyID, secret := n.NewKey(t, identity.NewKey{})
				device := n.DeviceSession(t, n.Login(t, secret))
				device.Get("/v1/auth/me").OK()
				end(t, email, keyID)
				device.Get("/v1/auth/me").Fails(401, "UNAUTHORIZED")
			})
			t.Run(name+" between approval and login", func(t *testing.T) {
				email, keyID, secret := n.NewKey(t, identity.NewKey{})
				code := n.NewDeviceCode(t, nil)
				n.Login(t, secret).Decide(code, "approve").OK()
				end(t, email, keyID)
				if polled := n.PollDevice(t, code); polled.Status == 200 && (polled.Text("status") != "denied" || polled.Text("token") != "") {
					t.Errorf("the poll says %s", polled.Body)
				} else if polled.Status != 200 {
					polled.Fails(401, "UNAUTHORIZED")
				}
			})
		}
		t.Run("how the approver signs in changes between approval and login", func(t *testing.T) {
			email, _, secret := n.NewKey(t, identity.NewKey{})
			change := func(tx *db.Tx) error {
				var id string
				if _, err := tx.Row(`SELECT id FROM account WHERE email = $1`, email).Scan(&id); err != nil {
					return err
				}
				return identity.RaiseCredentialVersion(tx, id)
			}
			at := db.Caller{Actor: audit.Actor{Type: audit.User, IP: "203.0.113.7"}}
			asked, err := n.Identity.NewDeviceCode(t.Context(), at, identity.DeviceInput{})
			must(t, err)
			approver, late, raced := n.Login(t, secret), n.NewDeviceCode(t, nil), asked.Code
			device := n.DeviceSession(t, approver)
			for _, code := range []string{late, raced} {
				approver.Decide(code, "approve").OK()
			}
			refused(t, servertest.WhileUnderWay(t, n.DB, change, func() error {
				_, err := n.Identity.Poll(t.Context(), at, identity.PollInput{Code: raced})
				return err
			}), api.CodeUnauthorized)
			for _, code := range []string{late, raced} {
				n.PollDevice(t, code).DeviceStatus("denied", false)
			}
			device.Get("/v1/auth/me").OK()
		})
		t.Run("a logout of the approver leaves the device alone", func(t *testing.T) {
			approver := n.Admin(t)
			device := n.DeviceSession(t, approver)
			approver.Post("/v1/auth/logout", nil).OK()
			device.Get("/v1/auth/me").OK()
		})
	})
}

// atOnce runs the same thing several times at the same time.
func atOnce(times int, run func(i int)) {
	var all sync.WaitGroup
	for i := range times {
		all.Go(func() { run(i) })
	}
	all.Wait()
}

func TestDeviceRacesHaveOneWinner(t *testing.T) {
	t.Parallel()
	const racers = 8
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		admin := n.Admin(t)
		t.Run("one of many polls gets the token", func(t *testing.T) {
			code := n.NewDeviceCode(t, nil)
			admin.On(t).Decide(code, "approve").OK()
			answers := make([]*servertest.Answer, racers)
			atOnce(racers, func(i int) { answers[i] = n.PollDevice(t, code) })
			tokens := 0
			for _, answer := range answers {
				if answer.OK().Text("token") != "" {
					tokens++
				}
			}
			if tokens != 1 {
				t.Errorf("%d polls got a token", tokens)
			}
		})
		t.Run("one of many decisions counts", func(t *testing.T) {
			code := n.NewDeviceCode(t, nil)
			answers := make([]*servertest.Answer, racers)
			atOnce(racers, func(i int) { answers[i] = admin.On(t).Decide(code, []string{"approve", "deny"}[i%2]) })
			status := ""
			for _, answer := range answers {
				if answer.Status != 200 {
					answer.Fails(422, "CODE_NOT_PENDING")
					continue
				}
				if status != "" {
					t.Error("two decisions were accepted")
				}
				status = answer.Text("status")
			}
			n.PollDevice(t, code).DeviceStatus(status, status == "approved")
		})
	})
}
