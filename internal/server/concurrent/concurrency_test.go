package concurrent_test

import (
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"bursar/api"
	"bursar/internal/server/servertest"
	"bursar/internal/wait"
)

// oneEntry demands that equal requests with one key made one entry, and that
// whoever was not told so was told to come back.
func oneEntry(t *testing.T, n *servertest.Node, name string, answers []*servertest.Answer) {
	t.Helper()
	ids := map[string]bool{}
	for _, a := range answers {
		switch {
		case a.Status == 200:
			ids[a.Text("id")] = true
		case a.Status == 409 && a.Code() == "IDEMPOTENCY_CONFLICT" && a.Header.Get("Retry-After") == "1":
		default:
			t.Errorf("answered %d %s, Retry-After %q", a.Status, a.Body, a.Header.Get("Retry-After"))
		}
	}
	made := n.Count(t, `SELECT count(*) FROM directory_entry WHERE label = $1`, name)
	rows := n.Count(t, `SELECT count(*) FROM audit_entry WHERE action = 'directory.entry.created' AND description LIKE '% ' || $1`, name)
	if len(ids) != 1 || made != 1 || rows != 1 {
		t.Errorf("%d entries and %d rows were made, %v were told", made, rows, ids)
	}
}

func TestEqualRequestsAtOnceHappenOnce(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		for round := range 3 {
			name := fmt.Sprintf("round-%d", round)
			oneEntry(t, n, name, servertest.SideBySide(16, func(int) *servertest.Answer {
				return once(x.Owner, name, "POST", "/v1/directory", person(x, name))
			}))
		}
	})
}

func TestTwoAdminsCannotBothGo(t *testing.T) {
	for name, path := range map[string]string{"removing each other": "/members/%s", "taking the role from each other": "/roles/%s/admin"} {
		t.Run(name, func(t *testing.T) {
			servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
				for range 5 {
					x := n.Tenant(t)
					admins := []*servertest.Client{x.Owner, x.Member("admin")}
					answers := servertest.SideBySide(2, func(i int) *servertest.Answer {
						return admins[i].Delete(x.Path(fmt.Sprintf(path, admins[1-i].UserID)))
					})
					left := n.Count(t, `SELECT count(*) FROM member_role WHERE workspace_id = $1 AND role = 'admin'`, x.WorkspaceID)
					if got := servertest.Statuses(answers); left != 1 || got["200"] != 1 {
						t.Errorf("%d admins are left after %v", left, got)
					}
				}
			})
		})
	}
}

func TestDeviceCodeGivesOneToken(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		approvers := []*servertest.Client{x.Owner, x.Member("viewer")}
		for range 3 {
			code := x.Owner.Post("/v1/auth/device-code", nil).OK().Text("code")
			tokens := make(chan string, 100)
			answers := servertest.SideBySide(10, func(i int) *servertest.Answer {
				if i < len(approvers) {
					return approvers[i].Post("/v1/auth/device-code/"+code+"/approve", nil)
				}
				for deadline := time.Now().Add(wait.Limit()); ; {
					poll := n.Stranger(t).Get("/v1/auth/device-code/" + code)
					if token := poll.Text("token"); token != "" {
						tokens <- token
					}
					if poll.Text("status") != "pending" || time.Now().After(deadline) {
						return poll
					}
				}
			})
			close(tokens)
			decided := answers[:len(approvers)]
			if got := servertest.Statuses(decided); got["200"] != 1 || got["422 CODE_NOT_PENDING"] != 1 {
				t.Errorf("approvals were answered %v", got)
			}
			if len(tokens) != 1 {
				t.Fatalf("%d tokens were handed out", len(tokens))
			}
			winner := approvers[slices.IndexFunc(decided, func(a *servertest.Answer) bool { return a.Status == 200 })]
			session := n.Stranger(t)
			session.Token = <-tokens
			if got := session.Get("/v1/auth/me").OK().Text("id"); got != winner.UserID {
				t.Errorf("the token is of %s, approved by %s", got, winner.UserID)
			}
		}
	})
}

func TestConcurrentPatchesLoseNothing(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)

		t.Run("of different fields of an entry", func(t *testing.T) {
			c, entry := x.Owner.On(t), x.Entry("Busy")
			servertest.SideBySide(16, func(i int) *servertest.Answer {
				return c.Patch("/v1/directory/"+entry, body{"fields": body{fmt.Sprintf("key-%d", i): i}}).OK()
			})
			if got := servertest.Decoded[struct{ Fields map[string]int }](c.Get("/v1/directory/" + entry)).Fields; len(got) != 16 {
				t.Errorf("the fields are %v", got)
			}
		})

		for name, path := range map[string]string{"of a workspace": x.Path(""), "of an organization": x.OrganizationPath("/settings")} {
			t.Run("of name and slug "+name, func(t *testing.T) {
				c := x.Owner.On(t)
				for round := range 10 {
					text := fmt.Sprintf("round-%d-%s", round, strings.ToLower(rand.Text()))
					servertest.SideBySide(2, func(i int) *servertest.Answer {
						return c.Patch(path, body{[]string{"name", "slug"}[i]: text}).OK()
					})
					if got := c.Get(path).OK(); got.Text("name") != text || got.Text("slug") != text {
						t.Fatalf("after both were set to %s it is %s", text, got.Body)
					}
				}
			})
		}

		t.Run("of defaults among receiving methods", func(t *testing.T) {
			c, entry := x.Owner.On(t), x.Entry("Payee")
			path := "/v1/directory/" + entry + "/receiving-methods"
			method := body{"provider": "bank", "account_name": "Ada Lovelace", "account_id": "0001"}
			method["is_default"] = true
			ids := servertest.SideBySide(8, func(int) string { return c.Post(path, method).OK().Text("id") })
			servertest.SideBySide(8, func(i int) *servertest.Answer { return c.Patch(path+"/"+ids[i], body{"is_default": true}).OK() })
			servertest.SideBySide(4, func(i int) *servertest.Answer { return c.Delete(path + "/" + ids[i]).OK() })
			defaults := 0
			methods := servertest.Decoded[api.Entry](c.Get("/v1/directory/" + entry)).ReceivingMethods
			for _, m := range *methods {
				if m.IsDefault {
					defaults++
				}
			}
			if defaults != 1 || len(*methods) != 4 {
				t.Errorf("%d of %d methods are the default", defaults, len(*methods))
			}
		})
	})
}
