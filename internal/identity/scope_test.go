package identity_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
)

// limited returns a session of a new key of a person.
func limited(t *testing.T, by *servertest.Client, body servertest.Body) *servertest.Client {
	t.Helper()
	_, secret := createKey(by.On(t), body)
	return by.Node.Login(t, secret)
}

// scopeOf returns what an answer shows of a scope.
func scopeOf(key servertest.Body) servertest.Body {
	scope := servertest.Body{}
	for _, name := range []string{"permissions", "workspace_ids", "mode", "administer"} {
		if value, ok := key[name]; ok {
			scope[name] = value
		}
	}
	return scope
}

func TestAWorkspaceOutsideTheScopeOfAKeyDoesNotExist(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		second := x.Owner.Post("/v1/workspaces", servertest.Body{"name": "Second", "organization_id": x.OrganizationID}).OK().Text("id")
		other := x.Owner.Post("/v1/organizations", servertest.Body{"name": "Other"}).OK().Text("id")
		third := x.Owner.Post("/v1/workspaces", servertest.Body{"name": "Third", "organization_id": other}).OK().Text("id")
		invitation := n.Tenant(t).Add(x.Owner.Email(), "viewer")
		if got := x.Owner.Get("/v1/invitations").OK().Column("id"); len(got) != 1 {
			t.Fatalf("the person's invitations are %v", got)
		}

		key := limited(t, x.Owner, servertest.Body{"workspace_ids": []string{second}, "administer": true})
		if got := key.Get("/v1/workspaces").OK().Column("id"); !slices.Equal(got, []string{second}) {
			t.Errorf("its workspaces are %v", got)
		}
		if got := key.Get("/v1/organizations").OK().Column("id"); !slices.Equal(got, []string{x.OrganizationID}) {
			t.Errorf("its organizations are %v", got)
		}
		key.Get("/v1/workspaces/" + second).OK()
		key.Get(x.OrganizationPath("")).OK()
		for _, path := range []string{"/v1/workspaces/" + third, x.Path(""), x.Path("/members"), x.AuditPath(), "/v1/directory?workspace_id=" + third,
			"/v1/organizations/" + other, "/v1/organizations/" + other + "/owners", "/v1/audit?organization_id=" + other} {
			key.Get(path).Fails(404, "RESOURCE_NOT_FOUND")
		}
		if got := key.Get("/v1/invitations").OK().List(); len(got) != 0 {
			t.Errorf("its invitations are %v", got)
		}
		key.Post("/v1/invitations/"+invitation+"/accept", nil).Fails(404, "RESOURCE_NOT_FOUND")
		key.Post("/v1/invitations/"+invitation+"/decline", nil).Fails(404, "RESOURCE_NOT_FOUND")

		t.Run("nor does it change an organization, or the account", func(t *testing.T) {
			key := key.On(t)
			key.Patch(x.OrganizationPath("/settings"), servertest.Body{"name": "Mine"}).Lacks("org.settings.write")
			key.Post("/v1/workspaces", servertest.Body{"name": "Fourth", "organization_id": x.OrganizationID}).Lacks("org.settings.write")
			key.Get(x.OrganizationAuditPath()).Lacks("org.settings.write")
			key.Post("/v1/organizations", servertest.Body{"name": "Fifth"}).Lacks("org.settings.write")
			key.Get("/v1/auth/activity").Lacks("ws.audit.read")
		})
		t.Run("while the person sees all of it", func(t *testing.T) {
			if got := x.Owner.On(t).Get("/v1/workspaces").OK().Column("id"); len(got) != 3 {
				t.Errorf("their workspaces are %v", got)
			}
		})
		t.Run("of the workspaces of a scope, only those exist that its owner still belongs to", func(t *testing.T) {
			colleague := servertest.NewEmail()
			user := n.User(t, colleague)
			user.Join(x.Owner.Post("/v1/workspaces/"+second+"/members", servertest.Body{"email": colleague, "role": "viewer"}).OK().Text("user_id"))
			key := limited(t, user, servertest.Body{"workspace_ids": []string{second}})
			key.Get("/v1/workspaces/" + second).OK()
			x.Owner.Delete("/v1/workspaces/" + second + "/members/" + user.UserID).OK()
			key.Get("/v1/workspaces/"+second).Fails(404, "RESOURCE_NOT_FOUND")
			key.Get(x.OrganizationPath("")).Fails(404, "RESOURCE_NOT_FOUND")
		})
	})
}

func TestTheHealthOfAServiceIsOfTheWorkspacesOfTheScope(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		second := x.Owner.Post("/v1/workspaces", servertest.Body{"name": "Second", "organization_id": x.OrganizationID}).OK().Text("id")
		x.Owner.Post("/v2/simulations/services/instapay", servertest.Body{"workspace_id": x.WorkspaceID, "status": "down", "reason": "a test"}).OK()
		const health = "/v2/payout-requests/health/instapay?mode=sandbox"
		for name, c := range map[string]struct {
			by   *servertest.Client
			want string
		}{
			"of the person":        {x.Owner, "down"},
			"of the workspace":     {limited(t, x.Owner, servertest.Body{"workspace_ids": []string{x.WorkspaceID}}), "down"},
			"of another workspace": {limited(t, x.Owner, servertest.Body{"workspace_ids": []string{second}}), "up"},
		} {
			if got := c.by.Get(health).OK().Text("status"); got != c.want {
				t.Errorf("%s: it is %s, want %s", name, got, c.want)
			}
		}
		limited(t, x.Owner, servertest.Body{"workspace_ids": []string{second}}).Get(health+"&workspace_id="+x.WorkspaceID).Fails(404, "RESOURCE_NOT_FOUND")
	})
}

func TestAKeyHasNoMoreThanThePermissionsOfItsScope(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		entry := x.Entry("Ada")
		reader := limited(t, x.Owner, servertest.Body{"permissions": []string{"ws.directory.read", "ws.read"}, "administer": true})
		reader.Get("/v1/directory/" + entry).OK()
		reader.Get("/v1/organizations").OK()
		reader.Patch("/v1/directory/"+entry, servertest.Body{"name": "Eve"}).Lacks("ws.directory.write")
		reader.Post(x.Path("/members"), servertest.Body{"email": servertest.NewEmail(), "role": "viewer"}).Lacks("ws.members.write")
		reader.Delete(x.Path("/members/" + x.Owner.UserID)).Lacks("ws.members.write")
		reader.Get(x.OrganizationAuditPath()).Lacks("ws.audit.read")

		t.Run("nor gives it a role that allows more", func(t *testing.T) {
			key := limited(t, x.Owner, servertest.Body{"permissions": []string{"ws.read", "ws.members.read", "ws.members.write"}, "administer": true})
			key.Post(x.Path("/members"), servertest.Body{"email": servertest.NewEmail(), "role": "viewer"}).Lacks("ws.directory.read")
		})
		t.Run("while its owner has all", func(t *testing.T) {
			x.Owner.On(t).Patch("/v1/directory/"+entry, servertest.Body{"name": "Eve"}).OK()
		})
	})
}

func TestWhatOutlivesAKeyIsMadeOnlyWithOneThatAdministers(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		colleague := x.Member("admin")
		client, _, err := n.Identity.CreateClient(t.Context(), db.Caller{}, x.WorkspaceID, "Payroll", "viewer")
		if err != nil {
			t.Fatal(err)
		}
		owners := x.OrganizationPath("/owners")
		key := limited(t, x.Owner, servertest.Body{})
		ways := map[string]*servertest.Client{"a key": key, "a device login that it approved": n.DeviceSession(t, key)}
		for name, by := range ways {
			t.Run(name, func(t *testing.T) {
				by, before := by.On(t), n.Dump(t, "organization", "organization_member", "workspace")
				by.Post(owners, servertest.Body{"user_id": colleague.UserID}).Lacks("administer")
				by.Delete(owners + "/" + x.Owner.UserID).Lacks("administer")
				for _, change := range []servertest.Body{{"require_second_factor": false}, {"require_second_factor": true},
					{"audit_retention_days": 365}, {"name": "Mine"}, {"slug": "mine"}} {
					by.Patch(x.OrganizationPath("/settings"), change).Lacks("administer")
				}
				by.Post("/v1/workspaces", servertest.Body{"name": "Mine", "organization_id": x.OrganizationID}).Lacks("administer")
				by.Post("/v1/api-keys", servertest.Body{"name": "kept"}).Lacks("administer")
				by.Post(x.Path("/clients/"+client+"/rotate"), nil).Lacks("administer")
				if after := n.Dump(t, "organization", "organization_member", "workspace"); after != before {
					t.Errorf("it was:\n%s\nit is:\n%s", before, after)
				}
			})
		}
		t.Run("which keys of the operator do", func(t *testing.T) {
			x.Owner.On(t).Post(owners, servertest.Body{"user_id": colleague.UserID}).OK()
			x.Owner.On(t).Delete(owners + "/" + colleague.UserID).OK()
			x.Owner.On(t).Patch(x.OrganizationPath("/settings"), servertest.Body{"audit_retention_days": 365, "name": "Renamed"}).OK()
			x.Owner.On(t).Post(x.Path("/clients/"+client+"/rotate"), nil).OK()
		})
		t.Run("and keys that were asked for", func(t *testing.T) {
			limited(t, x.Owner, servertest.Body{"administer": true}).Patch(x.OrganizationPath("/settings"), servertest.Body{"name": "Again"}).OK()
		})
	})
}

func TestWhatIsMadeWithAKeyLiesWithinItsScope(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		second := x.Owner.Post("/v1/workspaces", servertest.Body{"name": "Second", "organization_id": x.OrganizationID}).OK().Text("id")
		scope := servertest.Body{"permissions": []any{"ws.read", "ws.keys.read", "ws.keys.write"}, "workspace_ids": []any{x.WorkspaceID},
			"mode": "sandbox", "administer": true}
		parent := limited(t, x.Owner, scope)

		t.Run("a key that asks for nothing", func(t *testing.T) {
			made := parent.On(t).Post("/v1/api-keys", servertest.Body{"name": "child"}).OK()
			want := servertest.Body{"permissions": scope["permissions"], "workspace_ids": scope["workspace_ids"], "mode": "sandbox", "administer": false}
			if diff := cmp.Diff(want, scopeOf(made.Object())); diff != "" {
				t.Errorf("want (-), got (+):\n%s", diff)
			}
			child := n.Login(t, made.Text("api_key"))
			child.Get(x.Path("/clients")).OK()
			child.Get(x.Path("/members")).Lacks("ws.members.read")
			child.Get("/v1/workspaces/"+second).Fails(404, "RESOURCE_NOT_FOUND")
			child.Post("/v1/api-keys", servertest.Body{"name": "grandchild"}).Lacks("administer")
		})
		t.Run("a key that asks for less", func(t *testing.T) {
			made := parent.On(t).Post("/v1/api-keys", servertest.Body{"name": "less", "permissions": []string{"ws.read"}, "administer": true}).OK()
			want := servertest.Body{"permissions": []any{"ws.read"}, "workspace_ids": scope["workspace_ids"], "mode": "sandbox", "administer": true}
			if diff := cmp.Diff(want, scopeOf(made.Object())); diff != "" {
				t.Errorf("want (-), got (+):\n%s", diff)
			}
		})
		t.Run("a key that asks for more is refused", func(t *testing.T) {
			n.Unchanged(t, func() {
				parent.On(t).Post("/v1/api-keys", servertest.Body{"name": "more", "permissions": []string{"ws.members.read"}}).Invalid("permissions")
				parent.On(t).Post("/v1/api-keys", servertest.Body{"name": "more", "workspace_ids": []string{x.WorkspaceID, second}}).Invalid("workspace_ids")
				parent.On(t).Post("/v1/api-keys", servertest.Body{"name": "more", "mode": "live"}).Invalid("mode")
			})
		})
		t.Run("a device login that it approves", func(t *testing.T) {
			device := n.DeviceSession(t, parent)
			device.Get(x.Path("/clients")).OK()
			device.Get(x.Path("/members")).Lacks("ws.members.read")
			device.Get("/v1/workspaces/"+second).Fails(404, "RESOURCE_NOT_FOUND")
			made := device.Post("/v1/api-keys", servertest.Body{"name": "by device"}).OK()
			if got := made.Text("mode"); got != "sandbox" {
				t.Errorf("its key is for %s", got)
			}
		})
		t.Run("a client secret that it makes", func(t *testing.T) {
			x.Define("keeper", "ws.read", "ws.keys.read")
			id, _, err := n.Identity.CreateClient(t.Context(), db.Caller{}, x.WorkspaceID, "Keeper", "keeper")
			if err != nil {
				t.Fatal(err)
			}
			narrow := limited(t, x.Owner, servertest.Body{"mode": "sandbox", "administer": true,
				"permissions": []string{"ws.read", "ws.keys.read", "ws.keys.write"}})
			x.Define("keeper", "ws.read")
			secret := narrow.Post(x.Path("/clients/"+id+"/rotate"), nil).OK().Text("secret")
			x.Define("keeper", "ws.read", "ws.directory.read", "ws.accounts.read")
			client := n.Holder(t, n.Exchange(t, servertest.Basic(id, secret)).OK().Text("token"))
			client.Get(x.Path("")).OK()
			client.Get("/v1/directory?workspace_id=" + x.WorkspaceID).Lacks("ws.directory.read")
			n.Stranger(t).Do("GET", "/v2/accounts?workspace_id="+x.WorkspaceID, nil, "Authorization", servertest.Basic(id, secret)).Lacks("ws.accounts.read")
			for _, row := range x.Owner.On(t).Get(x.Path("/clients")).OK().List() {
				if row["id"] != id {
					continue
				}
				want := servertest.Body{"permissions": []any{"ws.read"}, "mode": "sandbox", "administer": false}
				if diff := cmp.Diff(want, scopeOf(row)); diff != "" {
					t.Errorf("listed: want (-), got (+):\n%s", diff)
				}
			}
		})
		t.Run("its successor", func(t *testing.T) {
			id, secret := createKey(x.Owner.On(t), servertest.Body{"permissions": scope["permissions"], "workspace_ids": scope["workspace_ids"], "mode": "live"})
			next := n.Login(t, secret).Post("/v1/api-keys/"+id+"/rotate", nil).OK()
			want := servertest.Body{"permissions": scope["permissions"], "workspace_ids": scope["workspace_ids"], "mode": "live", "administer": false}
			if diff := cmp.Diff(want, scopeOf(next.Object())); diff != "" {
				t.Errorf("want (-), got (+):\n%s", diff)
			}
			n.Login(t, next.Text("api_key")).Get("/v1/workspaces/"+second).Fails(404, "RESOURCE_NOT_FOUND")
		})
	})
}

func TestALimitedKeySeesAndRevokesOnlyItself(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		other, _ := createKey(x.Owner, servertest.Body{})
		for name, body := range map[string]servertest.Body{
			"to permissions": {"permissions": []string{"ws.read"}, "administer": true},
			"to workspaces":  {"workspace_ids": []string{x.WorkspaceID}, "administer": true},
			"to a mode":      {"mode": "live", "administer": true},
		} {
			t.Run("limited "+name, func(t *testing.T) {
				id, secret := createKey(x.Owner.On(t), body)
				key := n.Login(t, secret)
				createKey(key, servertest.Body{})
				if got := key.Get("/v1/api-keys").OK().Column("id"); !slices.Equal(got, []string{id}) {
					t.Errorf("it sees %v", got)
				}
				key.Delete("/v1/api-keys/"+other).Fails(404, "RESOURCE_NOT_FOUND")
				key.Post("/v1/api-keys/"+other+"/rotate", nil).Fails(403, "FORBIDDEN")
				key.Delete("/v1/api-keys/" + id).OK()
				key.Get("/v1/auth/me").Fails(401, "UNAUTHORIZED")
			})
		}
		t.Run("one that does not administer revokes itself and what was made with it", func(t *testing.T) {
			id, secret := createKey(x.Owner.On(t), servertest.Body{"allowed_cidrs": []string{"127.0.0.0/8"}, "expires_at": n.DB.Now() + time.Hour.Milliseconds()})
			key := n.Login(t, secret)
			key.Delete("/v1/api-keys/" + other).Lacks("administer")
			key.Post("/v1/api-keys/"+other+"/compromised", nil).Lacks("administer")
			key.Delete("/v1/api-keys/key_nobody").Fails(404, "RESOURCE_NOT_FOUND")
			if listed(key, other) == nil {
				t.Error("it does not see the other one")
			}
			key.Delete("/v1/api-keys/" + id).OK()
		})
		t.Run("one that administers and is not limited revokes all of its owner's", func(t *testing.T) {
			limited(t, x.Owner, servertest.Body{"administer": true}).Delete("/v1/api-keys/" + other).OK()
		})
	})
}

func TestAScopeIsOfOnesOwn(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		x, foreign := n.Tenant(t), n.Tenant(t)
		viewer := x.Member("viewer")
		many := make([]string, 101)
		for i := range many {
			many[i] = x.WorkspaceID
		}
		for name, c := range map[string]struct {
			by    *servertest.Client
			body  servertest.Body
			field string
		}{
			"a permission that does not exist":        {x.Owner, servertest.Body{"permissions": []string{"ws.read", "ws.frobnicate"}}, "permissions"},
			"a permission of an organization":         {x.Owner, servertest.Body{"permissions": []string{"org.settings.write"}}, "permissions"},
			"no permission":                           {x.Owner, servertest.Body{"permissions": []string{}}, "permissions"},
			"a permission that one does not hold":     {viewer, servertest.Body{"permissions": []string{"ws.read", "ws.write"}}, "permissions"},
			"a workspace of others":                   {x.Owner, servertest.Body{"workspace_ids": []string{foreign.WorkspaceID}}, "workspace_ids"},
			"a workspace that does not exist":         {x.Owner, servertest.Body{"workspace_ids": []string{"ws_nowhere"}}, "workspace_ids"},
			"no workspace":                            {x.Owner, servertest.Body{"workspace_ids": []string{}}, "workspace_ids"},
			"more workspaces than a scope can have":   {x.Owner, servertest.Body{"workspace_ids": many}, "workspace_ids"},
			"a mode that does not exist":              {x.Owner, servertest.Body{"mode": "test"}, "mode"},
			"a mode that is no scope of a credential": {x.Owner, servertest.Body{"mode": "none"}, "mode"},
		} {
			t.Run(name, func(t *testing.T) {
				c.body["name"] = "test"
				n.Unchanged(t, func() { c.by.On(t).Post("/v1/api-keys", c.body).Invalid(c.field) })
			})
		}
		t.Run("what is there and what is not look the same", func(t *testing.T) {
			ask := func(id string) string {
				return string(x.Owner.On(t).Post("/v1/api-keys", servertest.Body{"name": "test", "workspace_ids": []string{id}}).Body)
			}
			if there, not := ask(foreign.WorkspaceID), ask("ws_nowhere"); there != not {
				t.Errorf("%s\n%s", there, not)
			}
		})
		t.Run("a key shows its scope where it is made and listed", func(t *testing.T) {
			owner := x.Owner.On(t)
			body := servertest.Body{"name": "test", "permissions": []any{"ws.read", "ws.directory.read"}, "workspace_ids": []any{x.WorkspaceID}, "mode": "live", "administer": true}
			want := servertest.Body{"permissions": []any{"ws.read", "ws.directory.read"}, "workspace_ids": []any{x.WorkspaceID}, "mode": "live", "administer": true}
			made := owner.Post("/v1/api-keys", body).OK()
			if diff := cmp.Diff(want, scopeOf(made.Object())); diff != "" {
				t.Errorf("made: want (-), got (+):\n%s", diff)
			}
			if diff := cmp.Diff(want, scopeOf(listed(owner, made.Text("id")))); diff != "" {
				t.Errorf("listed: want (-), got (+):\n%s", diff)
			}
			plain, _ := createKey(owner, servertest.Body{})
			if diff := cmp.Diff(servertest.Body{"mode": "both", "administer": false}, scopeOf(listed(owner, plain))); diff != "" {
				t.Errorf("without a scope: want (-), got (+):\n%s", diff)
			}
		})
	})
}

func TestACallerSeesWhatTheirCredentialIsLimitedTo(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		me := func(c *servertest.Client) any {
			var got servertest.Body
			c.Get("/v1/auth/me").OK().Data(&got)
			return got["scope"]
		}
		narrow := servertest.Body{"permissions": []any{"ws.read", "ws.directory.read"}, "workspace_ids": []any{x.WorkspaceID}, "mode": "sandbox", "administer": false}
		for name, c := range map[string]struct {
			by   *servertest.Client
			want any
		}{
			"a person":                   {n.Person(t, x.Owner), nil},
			"a key that can do all":      {limited(t, x.Owner, servertest.Body{"administer": true}), nil},
			"one that cannot administer": {limited(t, x.Owner, servertest.Body{}), map[string]any{"mode": "both", "administer": false}},
			"a limited one":              {limited(t, x.Owner, maps.Clone(narrow)), map[string]any(narrow)},
		} {
			if diff := cmp.Diff(c.want, me(c.by)); diff != "" {
				t.Errorf("%s: want (-), got (+):\n%s", name, diff)
			}
		}
	})
}
