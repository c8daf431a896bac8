package organization_test

import (
	"slices"
	"testing"

	"bursar/api"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/identity"
	"bursar/internal/server/servertest"
)

// theft is an organization into which a thief has brought an owner with the key of another one.
type theft struct {
	*servertest.Tenant
	n      *servertest.Node
	key    string
	thief  *servertest.Client
	puppet *servertest.Client // owner through the key
}

func stolenOwnership(t *testing.T, n *servertest.Node) theft {
	t.Helper()
	x := theft{Tenant: n.Tenant(t), n: n}
	id, secret, err := n.Identity.CreateKeyFor(t.Context(), db.Caller{}, x.Owner.Email(), identity.NewKey{Name: "stolen", Scope: audit.Scope{Administer: true}})
	if err != nil {
		t.Fatal(err)
	}
	x.key, x.thief, x.puppet = id, n.Login(t, secret), x.Member("viewer")
	x.own(x.thief, x.puppet)
	return x
}

func (x theft) own(by, who *servertest.Client) {
	by.Post(x.OrganizationPath("/owners"), body{"user_id": who.UserID}).OK()
}

// isOwner reports whether someone can do what owners do.
func (x theft) isOwner(who *servertest.Client) bool {
	return who.Get("/v1/audit?organization_id="+x.OrganizationID).Status == 200
}

func (x theft) report(t *testing.T, by *servertest.Client) api.CompromisedKey {
	t.Helper()
	return servertest.Decoded[api.CompromisedKey](x.n.Person(t, by).Post("/v1/api-keys/"+x.key+"/compromised", nil))
}

func (x theft) waiting(by *servertest.Client) []api.SuspendedOwner {
	return servertest.Decoded[[]api.SuspendedOwner](by.Get(x.OrganizationPath("/suspended")))
}

func TestAnOwnerWhoCameThroughACompromisedKeyIsSuspended(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := stolenOwnership(t, n)
		honest, second := x.Member("viewer"), x.Member("viewer")
		x.own(n.Person(t, x.Owner), honest)
		x.own(n.Person(t, x.puppet), second) // without the key
		n.Person(t, x.puppet).Delete(x.OrganizationPath("/owners/" + x.puppet.UserID)).OK()
		x.own(x.thief, x.puppet)
		got := x.report(t, x.Owner)
		if len(got.SuspendedOwners) != 2 || len(got.Suspended) != 0 {
			t.Errorf("the report is %+v", got)
		}
		for who, want := range map[*servertest.Client]bool{x.puppet: false, second: false, honest: true, x.Owner: true} {
			if x.isOwner(who) != want {
				t.Errorf("%s is an owner: %v", who.Email(), !want)
			}
		}
		x.puppet.Get(x.Path("")).OK() // still a member
		n.Person(t, x.puppet).Post(x.OrganizationPath("/owners"), body{"user_id": second.UserID}).Fails(403, "FORBIDDEN")

		for _, one := range x.waiting(honest) {
			path := x.OrganizationPath("/suspended/" + one.ID)
			n.Person(t, x.puppet).Post(path+"/confirm", nil).Fails(403, "FORBIDDEN")
			verb := map[string]string{x.puppet.UserID: "/remove", second.UserID: "/confirm"}[one.UserID]
			n.Person(t, honest).Post(path+verb, nil).OK()
			n.Person(t, honest).Post(path+verb, nil).Fails(404, "RESOURCE_NOT_FOUND")
		}
		if !x.isOwner(second) || x.isOwner(x.puppet) || len(x.waiting(honest)) != 0 {
			t.Error("the decisions did not hold")
		}
		if again := x.report(t, x.Owner); len(again.SuspendedOwners) != 0 {
			t.Errorf("who was confirmed is suspended again: %+v", again)
		}
	})
}

func TestTheLastOwnerIsNotSuspendedAndDecidesNothing(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := stolenOwnership(t, n)
		other := x.Member("viewer")
		x.own(x.thief, other)
		n.Person(t, x.puppet).Delete(x.OrganizationPath("/owners/" + x.Owner.UserID)).OK()
		got := x.report(t, x.Owner) // whom the puppet has removed
		if len(got.SuspendedOwners) != 2 || got.SuspendedOwners[0].LastOwner == got.SuspendedOwners[1].LastOwner {
			t.Fatalf("the report is %+v", got)
		}
		kept := x.puppet
		if x.isOwner(other) {
			kept = other
		}
		waiting := x.waiting(kept)
		if !x.isOwner(kept) || len(waiting) != 1 {
			t.Fatalf("waiting is %+v", waiting)
		}
		n.Person(t, kept).Post(x.OrganizationPath("/suspended/"+waiting[0].ID+"/confirm"), nil).Fails(403, "FORBIDDEN")
	})
}

// A thief could make the owner of the key a former owner, or have them leave.
func TestTheReportOfAFormerOwnerSuspendsWhoCameThroughTheirKey(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		for name, end := range map[string]func(x theft){
			"they left": func(x theft) { n.Person(t, x.Owner).Delete(x.OrganizationPath("/owners/" + x.Owner.UserID)).OK() },
			"a puppet removed them and left": func(x theft) {
				for _, who := range []*servertest.Client{x.Owner, x.puppet} {
					n.Person(t, x.puppet).Delete(x.OrganizationPath("/owners/" + who.UserID)).OK()
				}
			},
		} {
			x := stolenOwnership(t, n)
			honest, other := x.Member("viewer"), x.Member("viewer")
			x.own(n.Person(t, x.Owner), honest)
			x.own(x.thief, other)
			end(x)
			x.report(t, x.Owner)
			if x.isOwner(x.puppet) || x.isOwner(other) || !x.isOwner(honest) {
				t.Errorf("%s: the wrong owners are suspended", name)
			}
		}
	})
}

func TestRemovingASuspendedOwnerWhoWasAddedAgainEndsTheirOwnership(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		for _, again := range []bool{false, true} {
			x := stolenOwnership(t, n)
			x.report(t, x.Owner)
			owner := n.Person(t, x.Owner)
			if again {
				x.own(owner, x.puppet)
			}
			owner.Post(x.OrganizationPath("/suspended/"+x.waiting(owner)[0].ID+"/remove"), nil).OK()
			if x.isOwner(x.puppet) {
				t.Error("the removed owner is one still")
			}
			id := owner.Get(x.OrganizationAuditPath() + "&action=iam.organization.owner_removed").OK().Column("id")[0]
			row := servertest.Decoded[api.AuditEntry](owner.Get("/v1/audit/" + id + "?organization_id=" + x.OrganizationID))
			named := slices.ContainsFunc(row.Changes, func(c api.AuditChange) bool {
				return c.Field == "owners" && string(c.Before) == `"`+x.puppet.UserID+`"`
			})
			if named != again {
				t.Errorf("added again: %v, the changes are %+v", again, row.Changes)
			}
		}
	})
}

// The creator of a workspace is its admin. Alone there, they stay, and the report names them.
func TestAWorkspaceThatAnOwnerOfACompromisedKeyCreatedIsSuspendedForThem(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := stolenOwnership(t, n)
		create := func(name string) string {
			return x.puppet.Post("/v1/workspaces", body{"name": name, "organization_id": x.OrganizationID}).OK().Text("id")
		}
		shared, alone := create("Shared"), create("Alone")
		n.Person(t, x.puppet).Post("/v1/workspaces/"+shared+"/members", body{"email": x.Owner.Email(), "role": "admin"}).OK()
		suspended := map[string]bool{}
		for _, one := range x.report(t, x.Owner).Suspended {
			suspended[one.WorkspaceID+" "+one.UserID] = true
		}
		if !suspended[shared+" "+x.puppet.UserID] || !suspended[alone+" "+x.puppet.UserID] {
			t.Errorf("suspended are %v, want %s in %s and %s", suspended, x.puppet.UserID, shared, alone)
		}
		x.puppet.Get("/v1/workspaces/"+shared).Fails(404, "RESOURCE_NOT_FOUND")
		x.puppet.Get("/v1/workspaces/" + alone).OK()
		x.puppet.Post("/v1/workspaces", body{"name": "More", "organization_id": x.OrganizationID}).Fails(403, "FORBIDDEN")
	})
}
