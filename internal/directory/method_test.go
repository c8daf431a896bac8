package directory_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
)

// methodsOf lists the methods of an entry as "account_id", the default with a star.
func methodsOf(t *testing.T, c *servertest.Client, entry string) string {
	t.Helper()
	var data struct {
		Methods []struct {
			AccountID string `json:"account_id"`
			IsDefault bool   `json:"is_default"`
		} `json:"receiving_methods"`
	}
	c.Get("/v1/directory/" + entry).OK().Data(&data)
	var names []string
	for _, m := range data.Methods {
		if m.IsDefault {
			m.AccountID += "*"
		}
		names = append(names, m.AccountID)
	}
	return strings.Join(names, " ")
}

func TestReceivingMethodLivesFromAdditionToRemoval(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		admin := n.Admin(t)
		entry := admin.Entry(nil)
		path := "/v1/directory/" + entry + "/receiving-methods"
		want := servertest.Body{"provider": "Bank É", "account_name": strings.Repeat("é", 200), "account_id": "PH-001 22", "is_default": true, "status": "active"}
		added := admin.Post(path, servertest.Body{"provider": "Bank É", "account_name": strings.Repeat("é", 200), "account_id": "PH-001 22"}).OK().Object()
		id := added["id"].(string)
		want["id"] = id
		expect := func(what string, got servertest.Body) {
			t.Helper()
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("the answer to %s:\n%s", what, diff)
			}
			read := admin.Get("/v1/directory/" + entry).OK().Object()["receiving_methods"]
			if diff := cmp.Diff([]any{want}, read); diff != "" {
				t.Errorf("read after %s:\n%s", what, diff)
			}
		}
		expect("POST", added)
		// What a method is paid by never changes: each change makes a successor, and the id of
		// what it succeeds goes on to name it.
		first := id
		change := func(what string, body servertest.Body) {
			t.Helper()
			made := admin.Patch(path+"/"+first, body).OK().Object()
			want["replaces"], want["id"] = id, made["id"]
			if id == made["id"] {
				t.Errorf("%s changed the method itself", what)
			}
			id = made["id"].(string)
			expect(what, made)
		}
		want["provider"] = "wallet"
		change("PATCH of the provider", servertest.Body{"provider": "wallet"})
		want["account_name"], want["account_id"] = "Grace", "9"
		change("PATCH of the account", servertest.Body{"account_name": "Grace", "account_id": "9"})
		n.Unchanged(t, func() {
			for _, nothing := range []any{nil, "{}", servertest.Body{"provider": "wallet", "is_default": true}} {
				expect("PATCH of nothing", admin.Patch(path+"/"+id, nothing).OK().Object())
			}
		})
		if diff := cmp.Diff(servertest.Body{"id": id, "deleted": true}, admin.Delete(path+"/"+id).OK().Object()); diff != "" {
			t.Errorf("the answer to DELETE:\n%s", diff)
		}
		if got := methodsOf(t, admin, entry); got != "" {
			t.Errorf("after removal there is %s", got)
		}
		for _, verb := range []string{http.MethodPatch, http.MethodDelete} {
			admin.Do(verb, path+"/"+id, nil).Fails(http.StatusNotFound, "RESOURCE_NOT_FOUND")
		}
		for method, actions := range map[string][]string{first: {"added"}, id: {"updated", "removed"}} {
			for i := range actions {
				actions[i] = "directory.receiving_method." + actions[i]
			}
			if got := n.Audited(t, method); !slices.Equal(got, actions) {
				t.Errorf("the audit log says %v, want %v", got, actions)
			}
		}
	})
}

func TestExactlyOneReceivingMethodIsTheDefault(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		admin := n.Admin(t)
		entry := admin.Entry(nil)
		path := "/v1/directory/" + entry + "/receiving-methods/"
		ids := map[string]string{}
		add := func(number string, more ...servertest.Body) {
			ids[number] = admin.AddMethod(entry, servertest.Account(number, more...))
		}
		makeDefault, giveUp := servertest.Body{"is_default": true}, servertest.Body{"is_default": false}
		steps := []struct {
			name string
			run  func()
			want string
		}{
			{"the first is it, even against its will", func() { add("a", giveUp) }, "a*"},
			{"a second is not", func() { add("b") }, "a* b"},
			{"a third that asks for it is", func() { add("c", makeDefault) }, "a b c*"},
			{"a change moves it", func() { admin.Patch(path+ids["a"], makeDefault).OK() }, "a* b c"},
			{"a change of something else does not", func() { admin.Patch(path+ids["b"], servertest.Body{"provider": "wallet"}).OK() }, "a* b c"},
			{"it cannot be given up", func() {
				admin.Patch(path+ids["a"], servertest.Body{"is_default": false, "provider": "x"}).Invalid("is_default")
			}, "a* b c"},
			{"giving up what one has not is fine", func() { admin.Patch(path+ids["b"], giveUp).OK() }, "a* b c"},
			{"removing another leaves it", func() { admin.Delete(path + ids["b"]).OK() }, "a* c"},
			{"removing it promotes the oldest", func() { add("d"); admin.Patch(path+ids["d"], makeDefault).OK(); admin.Delete(path + ids["d"]).OK() }, "a* c"},
			{"and the next oldest", func() { admin.Delete(path + ids["a"]).OK() }, "c*"},
			{"until there is none", func() { admin.Delete(path + ids["c"]).OK() }, ""},
			{"and it begins again", func() { add("e") }, "e*"},
		}
		for _, step := range steps {
			step.run()
			if got := methodsOf(t, admin, entry); got != step.want {
				t.Fatalf("%s: the methods are %q, want %q", step.name, got, step.want)
			}
		}
	})
}

func TestReceivingMethodThatBreaksRulesIsRefusedWithAllOfThem(t *testing.T) {
	t.Parallel()
	cases := map[string]servertest.Body{
		"blank texts":        {"provider": " ", "account_name": "\u00a0", "account_id": "  "},
		"control characters": {"provider": "a\u0000", "account_name": "a\nb", "account_id": "1\u007f"},
	}
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		admin := n.Admin(t)
		entry := admin.Entry(nil)
		path := "/v1/directory/" + entry + "/receiving-methods"
		id := admin.AddMethod(entry, servertest.Account("1"))
		for name, bad := range cases {
			t.Run(name, func(t *testing.T) {
				n.Unchanged(t, func() {
					admin.On(t).Post(path, bad).Invalid("provider", "account_name", "account_id")
					admin.On(t).Patch(path+"/"+id, bad).Invalid("provider", "account_name", "account_id")
				})
			})
		}
		t.Run("the longest texts fit", func(t *testing.T) {
			admin.On(t).AddMethod(entry, servertest.Body{"provider": strings.Repeat("é", 64), "account_name": strings.Repeat("é", 200), "account_id": strings.Repeat("é", 128)})
		})
	})
}

func TestAnEntryHasAtMost50ReceivingMethods(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		admin := n.Admin(t)
		entry := admin.Entry(nil)
		path := "/v1/directory/" + entry + "/receiving-methods"
		var last string
		for i := range 50 {
			last = admin.AddMethod(entry, servertest.Account(fmt.Sprint(i)))
		}
		n.Unchanged(t, func() { admin.Post(path, servertest.Account("51")).Fails(http.StatusUnprocessableEntity, "TOO_MANY") })
		admin.AddMethod(admin.Entry(nil), servertest.Account("1"))
		admin.Delete(path + "/" + last).OK()
		admin.AddMethod(entry, servertest.Account("50"))
	})
}

func TestReceivingMethodsTakeAPermissionAndLeaveNoNumbersBehind(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		admin := n.Admin(t)
		entry := admin.Entry(nil)
		path := "/v1/directory/" + entry + "/receiving-methods"
		first := admin.AddMethod(entry, servertest.Account("SECRET-1"))
		for _, role := range []string{"viewer", "member", "disbursement_manager", "disbursement_authorizer", "auditor"} {
			t.Run(role, func(t *testing.T) {
				caller := n.Member(t, role+"@example.com", role)
				for _, answer := range []*servertest.Answer{
					caller.Post(path, servertest.Account("SECRET-2", servertest.Body{"account_name": "SECRET-NAME"})),
					caller.Patch(path+"/"+first, servertest.Body{"account_id": "SECRET-3"}),
					caller.Delete(path + "/" + first),
				} {
					if got := answer.Fails(http.StatusForbidden, "FORBIDDEN").Detail("permission"); got != "ws.receiving.write" {
						t.Errorf("the missing permission is %q", got)
					}
				}
			})
		}
		if got := methodsOf(t, admin, entry); got != "SECRET-1*" {
			t.Errorf("after refusals the methods are %s", got)
		}
		t.Run("directory_manager", func(t *testing.T) {
			manager := n.Member(t, "manager@example.com", "directory_manager")
			id := manager.AddMethod(entry, servertest.Account("SECRET-4"))
			manager.Patch(path+"/"+id, servertest.Body{"account_id": "SECRET-5", "account_name": "SECRET-NAME"}).OK()
			manager.Delete(path + "/" + id).OK()
		})
		rows := n.Contents(t)["audit_entry"]
		if len(rows) < 10 {
			t.Errorf("the audit log has only %d rows", len(rows))
		}
		for _, row := range rows {
			if strings.Contains(row, "SECRET") {
				t.Errorf("an audit row gives an account away: %s", row)
			}
		}
		if strings.Contains(n.Log.String(), "SECRET") {
			t.Error("the log gives an account away")
		}
	})
}
