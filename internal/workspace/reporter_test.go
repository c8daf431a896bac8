package workspace_test

import (
	"fmt"
	"testing"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
)

// report reports a key as compromised, in a browser session of its owner.
func report(t *testing.T, n *servertest.Node, owner *servertest.Client, key string) api.CompromisedKey {
	t.Helper()
	return servertest.Decoded[api.CompromisedKey](n.Person(t, owner).Post("/v1/api-keys/"+key+"/compromised", nil))
}

// helper adds a member who can add and remove others, and makes no approver.
func helper(x *servertest.Tenant) *servertest.Client {
	x.Define("helper", "ws.read", "ws.members.read", "ws.members.write", "ws.directory.read", "ws.directory.write", "ws.receiving.read", "ws.payouts.read", "ws.accounts.read", "ws.audit.read", "ws.keys.read", "ws.receiving.write")
	return x.Member("helper")
}

// Someone who leaves must not lock out those whom they once invited.
func TestSomeoneWhoHasLeftOnlyReportsWhatCameThroughTheirKey(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		leaver := helper(x)
		key, program := stolenKey(t, n, leaver)
		colleague, crook := ghost(t, x, program, "viewer"), ghost(t, x, program, "viewer")
		n.Person(t, leaver).Delete(x.Path("/members/" + leaver.UserID)).OK()
		for again := range 2 {
			got := report(t, n, leaver, key)
			if again == 0 && (len(got.Suspended) != 2 || !got.Suspended[0].Reported) || again == 1 && len(got.Suspended) != 0 {
				t.Errorf("report %d: %+v", again, got)
			}
			for _, who := range []*servertest.Client{colleague, crook} {
				who.Get(x.Path("")).OK()
			}
		}
		waiting := suspended(x)
		if len(waiting) != 2 || !waiting[0].Reported {
			t.Fatalf("the admin is asked about %+v", waiting)
		}
		for _, one := range waiting {
			verb := map[string]string{colleague.UserID: "confirm", crook.UserID: "remove"}[one.UserID]
			n.Person(t, x.Owner).Post(x.Path("/suspended/"+one.ID+"/"+verb), nil).OK()
		}
		colleague.Get(x.Path("")).OK()
		crook.Get(x.Path("")).Fails(404, "RESOURCE_NOT_FOUND")
		if left := suspended(x); len(left) != 0 {
			t.Errorf("still waiting is %+v", left)
		}
	})
}

func TestOneWhomTheThiefRemovedSuspendsWhatCameThroughTheirKey(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		for by, remove := range map[string]func(x *servertest.Tenant, thief, puppet, victim *servertest.Client){
			"the key": func(x *servertest.Tenant, thief, _, victim *servertest.Client) {
				thief.Delete(x.Path("/members/" + victim.UserID)).OK()
			},
			"someone who came with it": func(x *servertest.Tenant, _, puppet, victim *servertest.Client) {
				n.Person(t, puppet).Delete(x.Path("/members/" + victim.UserID)).OK()
			},
		} {
			x := n.Tenant(t)
			victim := helper(x)
			key, thief := stolenKey(t, n, victim)
			puppet := ghost(t, x, thief, "helper")
			remove(x, thief, puppet, victim)
			if got := report(t, n, victim, key); len(got.Suspended) != 1 || got.Suspended[0].Reported {
				t.Errorf("removed by %s: %+v", by, got)
			}
			puppet.Get(x.Path("")).Fails(404, "RESOURCE_NOT_FOUND")
		}
	})
}

func TestAReportedLastAdminIsNotRemoved(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		key, program := stolenKey(t, n, x.Owner)
		admin := ghost(t, x, program, "admin")
		role, _ := access.BuiltInRole(access.Admin)
		x.Define("steward", role.Permissions.Names()...)
		steward := x.Member("viewer")
		_, err := db.Write(t.Context(), n.DB, db.Caller{}, func(tx *db.Tx) (any, audit.Event, error) { // who can do all that an admin can
			return nil, audit.Event{Action: audit.MemberRoleAssigned, WorkspaceID: x.WorkspaceID, ResourceID: steward.UserID},
				tx.Exec(`UPDATE member_role SET role = 'steward' WHERE workspace_id = $1 AND account_id = $2`, x.WorkspaceID, steward.UserID)
		})
		if err != nil {
			t.Fatal(err)
		}
		n.Person(t, x.Owner).Delete(x.Path("/members/" + x.Owner.UserID)).OK()
		got := report(t, n, x.Owner, key)
		if len(got.Suspended) != 1 || !got.Suspended[0].Reported {
			t.Fatalf("the report is %+v", got)
		}
		n.Person(t, steward).Post(x.Path("/suspended/"+got.Suspended[0].ID+"/remove"), nil).Fails(422, "LAST_ADMIN")
		admin.Get(x.Path("")).OK()
	})
}

// A ghost adds another one and leaves, before the key is reported.
func TestWhatAMemberOfAKeyAddedIsSuspendedAfterTheyHaveLeft(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		helper(x)
		key, thief := stolenKey(t, n, x.Owner)
		first := ghost(t, x, thief, "helper")
		second, third := ghost(t, x, n.Person(t, first), "viewer"), n.User(t, servertest.NewEmail())
		invitation := n.Person(t, first).Post(x.Path("/members"), body{"email": third.Email(), "role": "viewer"}).OK().Text("user_id")
		n.Person(t, first).Delete(x.Path("/members/" + first.UserID)).OK()
		if got := report(t, n, x.Owner, key); len(got.Suspended) != 1 || got.InvitationsEnded != 1 {
			t.Errorf("the report is %+v", got)
		}
		second.Get(x.Path("")).Fails(404, "RESOURCE_NOT_FOUND")
		accept(third, invitation).Fails(404, "RESOURCE_NOT_FOUND")
	})
}

// A key that gave access ten thousand times is reported by a bounded number of statements.
func TestAKeyWithManyGrantsIsReportedInOneTransaction(t *testing.T) {
	const many = 2000
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		key, _ := stolenKey(t, n, x.Owner)
		giveMany(t, n, x, key, many)
		got := report(t, n, x.Owner, key)
		if got.SuspendedCount != many || len(got.Suspended) != 1000 {
			t.Errorf("%d are suspended, %d are listed", got.SuspendedCount, len(got.Suspended))
		}
		if left := n.Count(t, `SELECT count(*) FROM workspace_member WHERE workspace_id = $1`, x.WorkspaceID); left != 1 {
			t.Errorf("%d members are left", left)
		}
	})
}

// giveMany stores members who came through a key of the owner.
func giveMany(t testing.TB, n *servertest.Node, x *servertest.Tenant, key string, many int) {
	t.Helper()
	_, err := db.Write(t.Context(), n.DB, db.Caller{}, func(tx *db.Tx) (any, audit.Event, error) {
		var accounts, members, roles [][]any
		for i := range many {
			id := tx.NewID("usr")
			accounts = append(accounts, []any{id, fmt.Sprintf("%s-%d@example.com", key, i), tx.Now()})
			members = append(members, []any{x.WorkspaceID, id, tx.Now(), x.Owner.UserID, key})
			roles = append(roles, []any{x.WorkspaceID, id, x.Owner.UserID, key})
		}
		err := tx.InsertRows(`INSERT INTO account (id, kind, email, email_proof, name, status, created_at) VALUES `, `($1, 'person', $2, '*', $2, 'active', $3)`, accounts)
		if err == nil {
			err = tx.InsertRows(`INSERT INTO workspace_member (workspace_id, account_id, member_id, joined_at, accepted, given_by, given_key_id, through_key_id) VALUES `,
				`($1, $2, $2, $3, TRUE, $4, $5, $5)`, members)
		}
		if err == nil {
			err = tx.InsertRows(`INSERT INTO member_role (workspace_id, account_id, role, granted_at, not_before, given_by, given_key_id, through_key_id) VALUES `,
				`($1, $2, 'viewer', 0, 0, $3, $4, $4)`, roles)
		}
		return nil, audit.None("a test"), err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// BenchmarkReport measures the report of a key with which 10,000 members were added.
func BenchmarkReport(b *testing.B) {
	for name, store := range map[string]func(testing.TB) dbtest.Store{"sqlite": dbtest.SQLite, "postgres": dbtest.Postgres} {
		b.Run(name, func(b *testing.B) {
			n := servertest.Start(b, store(b))
			for b.Loop() {
				b.StopTimer()
				x := n.Tenant(b)
				key := x.Owner.Get("/v1/api-keys").OK().Column("id")[0]
				giveMany(b, n, x, key, 10_000)
				b.StartTimer()
				if _, err := n.Identity.RevokeAnyCompromisedKey(b.Context(), db.Caller{Actor: audit.SystemActor("bench")}, key); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
