package server_test

import (
	"slices"
	"strings"
	"testing"

	"bursar/api"
	"bursar/internal/server/servertest"
)

// keyOf returns a session of a new key of the tenant's owner with a scope.
func keyOf(t testing.TB, x *servertest.Tenant, scope body) *servertest.Client {
	t.Helper()
	scope["name"] = "scoped"
	return x.Node.Login(t, x.Owner.On(t).Post("/v1/api-keys", scope).OK().Text("api_key"))
}

// To a key that is limited to a workspace, no route works in another one, nor in the organization of another one.
func TestEveryRouteForAKeyOfAnotherWorkspace(t *testing.T) {
	signedOnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		organization := x.Owner.Post("/v1/organizations", body{"name": "Elsewhere"}).OK().Text("id")
		elsewhere := x.Owner.Post("/v1/workspaces", body{"name": "Elsewhere", "organization_id": organization}).OK().Text("id")
		key := keyOf(t, x, body{"workspace_ids": []string{elsewhere}, "administer": true})
		for _, o := range operations() {
			if o.need == nothing || o.need == anySession || strings.HasPrefix(o.need, "ops.") { // which are of no workspace
				continue
			}
			t.Run(o.String(), func(t *testing.T) {
				r := o.ask(x, x.Owner)
				r.headers = nil // of a person
				o.do(key.On(t), r).Fails(404, o.missing())
			})
		}
		if got := key.Get("/v1/workspaces").OK().Column("id"); !slices.Equal(got, []string{elsewhere}) {
			t.Errorf("it is listed %v", got)
		}
		if got := key.Get("/v1/organizations").OK().Column("id"); !slices.Equal(got, []string{organization}) {
			t.Errorf("it is listed %v", got)
		}
	})
}

// A key that is limited to permissions lacks every other one on every route, although its owner holds it.
func TestEveryRouteForAKeyWithoutThePermission(t *testing.T) {
	signedOnEach(t, func(t *testing.T, n *servertest.Node) {
		x, all := n.Tenant(t), servertest.BuiltInRoles()["admin"]
		keys := map[string]*servertest.Client{}
		for _, o := range operations() {
			if !strings.HasPrefix(o.need, "ws.") {
				continue
			}
			t.Run(o.String()+" needs "+o.need, func(t *testing.T) {
				key := keys[o.need]
				switch other := alternatives()[o.Operation]; {
				case o.Operation == api.ListApprovals: // it lists those that the caller may see, by several permissions
					key = keyOf(t, x, body{"permissions": []string{"ws.read"}})
				case other != "":
					key = keyOf(t, x, body{"permissions": without(all, o.need, other)})
				case key == nil:
					key = keyOf(t, x, body{"permissions": without(all, o.need), "administer": true})
					keys[o.need] = key
				}
				r := o.ask(x, x.Owner)
				r.headers = nil // of a person
				o.do(key.On(t), r).Lacks(o.need)
			})
		}
	})
}

// A key that does not administer changes no organization on any route, although its owner may.
func TestEveryRouteThatChangesAnOrganizationNeedsAKeyThatAdministers(t *testing.T) {
	signedOnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		key := keyOf(t, x, body{})
		for _, o := range operations() {
			if o.need != "org.settings.write" || o.Method() == "GET" {
				continue
			}
			t.Run(o.String(), func(t *testing.T) {
				r := o.ask(x, x.Owner)
				r.headers = nil // of a person
				o.do(key.On(t), r).Lacks("administer")
			})
		}
	})
}

// without returns the permissions that are not one of the others.
func without(all []string, others ...string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(p string) bool { return slices.Contains(others, p) })
}
