package server_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"bursar/api"
	"bursar/internal/server/servertest"
)

func TestOperationTableIsComplete(t *testing.T) {
	for _, o := range api.Operations() {
		if !slices.ContainsFunc(operations(), func(listed operation) bool { return listed.Operation == o }) {
			t.Errorf("operations lacks %s, api.%s", o, o.Name())
		}
	}
}

// caller is someone who tries every operation.
type caller struct {
	name           string
	client         *servertest.Client
	known          bool     // has a session
	inWorkspace    bool     // is a member of it
	inOrganization bool     // is a member of it
	owner          bool     // of the organization
	held           []string // permissions in the workspace
}

// may is the status that the contract gives the caller for a need.
func (c caller) may(need string) int {
	workspace, organization := strings.HasPrefix(need, "ws."), strings.HasPrefix(need, "org.")
	switch {
	case need == nothing:
		return 200
	case !c.known:
		return 401
	case strings.HasPrefix(need, "ops."): // none of them is an operator
		return 404
	case workspace && !c.inWorkspace, organization && !c.inOrganization:
		return 404
	case workspace && !slices.Contains(c.held, need), need == "org.settings.write" && !c.owner:
		return 403
	}
	return 200
}

// cast is a tenant with one caller of every kind. The tenant's Owner, who
// prepares requests, is an admin who owns nothing: the owner of the organization
// has left the workspace.
func cast(t *testing.T, n *servertest.Node) (*servertest.Tenant, []caller) {
	x := n.Tenant(t)
	owner := x.Owner
	elsewhere := owner.Post("/v1/workspaces", body{"name": "Elsewhere", "organization_id": x.OrganizationID}).OK().Text("id")
	email := servertest.NewEmail()
	colleague := n.User(t, email)
	colleague.Join(owner.Post("/v1/workspaces/"+elsewhere+"/members", body{"email": email, "role": "admin"}).OK().Text("user_id"))
	x.Owner = x.Member("admin")
	x.Owner.Delete(x.Path("/members/" + owner.UserID)).OK()
	callers := []caller{
		{name: "somebody without a token", client: n.Stranger(t)},
		{name: "a user from elsewhere", client: n.Tenant(t).Owner, known: true},
		{name: "a member without a role", client: x.Bystander(), known: true, inWorkspace: true, inOrganization: true},
		{name: "the owner of the organization", client: owner, known: true, inOrganization: true, owner: true},
		{name: "a member of the organization", client: colleague, known: true, inOrganization: true},
	}
	for role, permissions := range servertest.BuiltInRoles() {
		callers = append(callers, caller{name: role, client: x.Member(role), known: true, inWorkspace: true, inOrganization: true, held: permissions})
	}
	return x, callers
}

func TestEveryRouteForEveryRole(t *testing.T) {
	signedOnEach(t, func(t *testing.T, n *servertest.Node) {
		x, callers := cast(t, n)
		for _, o := range operations() {
			t.Run(o.String()+" needs "+o.need, func(t *testing.T) {
				refused := o.ask(x, x.Owner) // a refusal leaves it good for the next
				for _, c := range callers {
					want, r := c.may(o.need), refused
					if c.owner && strings.HasSuffix(o.Path(), "/second-person/extend") {
						want = 200 // also of one who is not a member
					}
					if other := alternatives()[o.Operation]; want == 403 && other != "" {
						want = c.may(other)
					}
					if want == 200 {
						prepares := c.client
						if !c.known {
							prepares = x.Owner
						}
						r = o.ask(x, prepares)
					} else {
						r.headers = nil // of a session that is not the caller's
					}
					got := o.do(c.client.On(t), r)
					if want == 200 && got.Status == 201 {
						want = 201
					}
					if code := codeFor(want, o); got.Status != want || got.Code() != code {
						t.Errorf("%s: want %d %s, got %d %s", c.name, want, code, got.Status, got.Body)
					}
					if want == 403 && got.Detail("permission") != o.need {
						t.Errorf("%s: the missing permission is %q, want %q", c.name, got.Detail("permission"), o.need)
					}
				}
			})
		}
	})
}

// codeFor is the code of an error with a status.
func codeFor(status int, o operation) string {
	switch status {
	case 401:
		return "UNAUTHORIZED"
	case 403:
		return "FORBIDDEN"
	case 404:
		return o.missing()
	}
	return ""
}

// Whatever the role of a machine client, it never decides who else may do something: its
// secret outlives whoever made it.
func TestAMachineClientNeverDecidesWhoMayDoWhat(t *testing.T) {
	signedOnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		machine := machineClient(t, n, x, "admin")
		for _, o := range operations() {
			if !strings.HasPrefix(o.need, "ws.") {
				continue
			}
			t.Run(o.String()+" needs "+o.need, func(t *testing.T) {
				r := o.ask(x, x.Owner)
				r.headers = nil // of a person
				got := o.do(machine.On(t), r)
				if !slices.Contains(ofPeople(), o.need) {
					got.OK()
				} else if got.Fails(403, "FORBIDDEN"); got.Detail("permission") != o.need {
					t.Errorf("the missing permission is %q", got.Detail("permission"))
				}
			})
		}
	})
}

// deciding are the permissions to change what others may do.
func deciding() []string {
	return []string{"ws.members.write", "ws.roles.write", "ws.keys.write"}
}

// ofPeople are the permissions that no machine client holds.
func ofPeople() []string { return append(deciding(), "ws.receiving.approve", "ws.payouts.approve") }

// targets are the operations that change a member or a role: each makes the request whose
// target holds a role. No one may touch what is above them.
func targets() map[api.Operation]func(x *servertest.Tenant, role string) request {
	return map[api.Operation]func(x *servertest.Tenant, role string) request{
		api.AddMember: func(x *servertest.Tenant, role string) request {
			return request{args: []string{x.WorkspaceID}, body: body{"email": servertest.NewEmail(), "role": role}}
		},
		api.RemoveMember: func(x *servertest.Tenant, role string) request {
			return request{args: []string{x.WorkspaceID, x.Add(servertest.NewEmail(), role)}}
		},
		api.AssignRole: func(x *servertest.Tenant, role string) request {
			return request{args: []string{x.WorkspaceID}, body: body{"user_id": x.Bystander().UserID, "role": role}}
		},
		api.RemoveRole: func(x *servertest.Tenant, role string) request {
			// The role that is taken allows nothing: it is the member who is above.
			x.Owner.Put(x.Path("/roles/nothing"), body{"name": "Nothing", "permissions": []string{}}).OK()
			id := x.Add(servertest.NewEmail(), role)
			x.Owner.Post(x.Path("/roles"), body{"user_id": id, "role": "nothing"}).OK()
			return request{args: []string{x.WorkspaceID, id, "nothing"}}
		},
		api.ConfirmSuspendedAccess: func(x *servertest.Tenant, role string) request {
			return request{args: []string{x.WorkspaceID, suspendedWith(x, role)}}
		},
		api.RemoveSuspendedAccess: func(x *servertest.Tenant, role string) request {
			return request{args: []string{x.WorkspaceID, suspendedWith(x, role)}}
		},
		api.PutRole: func(x *servertest.Tenant, role string) request {
			return request{args: []string{x.WorkspaceID, role}, body: body{"name": servertest.NewEmail(), "permissions": []string{}}}
		},
		api.DeleteRole: func(x *servertest.Tenant, role string) request {
			return request{args: []string{x.WorkspaceID, role}}
		},
		api.RotateClient: clientWith,
	}
}

func TestNoOneChangesAccessAboveTheirOwn(t *testing.T) {
	var walked []operation
	for _, o := range operations() {
		if !slices.Contains(deciding(), o.need) {
			continue
		}
		if targets()[o.Operation] == nil {
			t.Errorf("%s changes what others may do: say here how its target can be above the caller", o)
			continue
		}
		walked = append(walked, o)
	}
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		all := servertest.BuiltInRoles()["admin"]
		for _, p := range all {
			t.Run(p, func(t *testing.T) {
				x := n.Tenant(t)
				holder := func(permissions ...string) *servertest.Client {
					role := roleKey()
					x.Define(role, permissions...)
					return x.Member(role)
				}
				below := holder(slices.DeleteFunc(slices.Clone(all), func(other string) bool { return other == p })...)
				above := map[string]*servertest.Client{} // by what the operation needs
				for _, need := range deciding() {
					above[need] = holder(need, p)
				}
				for _, o := range walked {
					if strings.Contains(o.Path(), "/clients/") && slices.Contains(ofPeople(), p) {
						continue // no machine client holds it
					}
					t.Run(o.String(), func(t *testing.T) {
						target := roleKey()
						x.Define(target, p)
						r := targets()[o.Operation](x, target)
						refused := o.do(below.On(t), r).Fails(403, "FORBIDDEN")
						if got := refused.Detail("permission"); got != p {
							t.Errorf("the missing permission is %q", got)
						}
						if strings.HasSuffix(o.Path(), "/confirm") && strings.HasSuffix(p, ".approve") {
							return // a role that approves is not given back by one person
						}
						if answer := o.do(above[o.need].On(t), r); answer.Status != http.StatusForbidden || answer.Code() != "SECOND_PERSON_REQUIRED" {
							answer.OK() // a role that approves waits for another person
						}
					})
				}
			})
		}
	})
}
