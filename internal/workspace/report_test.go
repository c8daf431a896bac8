package workspace_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"bursar/api"
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

// A thief could make the owner of the key a former member, or have them leave.
func TestTheReportOfAFormerMemberSuspendsWhatCameThroughTheirKey(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		for name, end := range map[string]func(x *servertest.Tenant, victim, puppet *servertest.Client){
			"they left": func(x *servertest.Tenant, victim, _ *servertest.Client) {
				n.Person(t, victim).Delete(x.Path("/members/" + victim.UserID)).OK()
			},
			"a puppet removed them and left": func(x *servertest.Tenant, victim, puppet *servertest.Client) {
				for _, who := range []*servertest.Client{victim, puppet} {
					n.Person(t, puppet).Delete(x.Path("/members/" + who.UserID)).OK()
				}
			},
		} {
			x := n.Tenant(t)
			victim := helper(x)
			key, thief := stolenKey(t, n, victim)
			puppet, other := ghost(t, x, thief, "helper"), ghost(t, x, thief, "viewer")
			end(x, victim, puppet)
			report(t, n, victim, key)
			for _, who := range []*servertest.Client{puppet, other} {
				if answer := who.Get(x.Path("")); answer.Code() != "RESOURCE_NOT_FOUND" {
					t.Errorf("%s: the answer is %d", name, answer.Status)
				}
			}
		}
	})
}

func TestAPersonAddedThroughACompromisedKeyDecidesAboutNoOther(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		for name, puppeteer := range map[string]func(x *servertest.Tenant, thief *servertest.Client) *servertest.Client{
			"a member": func(x *servertest.Tenant, thief *servertest.Client) *servertest.Client {
				return ghost(t, x, thief, "admin")
			},
			"a role": func(x *servertest.Tenant, thief *servertest.Client) *servertest.Client {
				colleague := x.Member("viewer")
				thief.Post(x.Path("/roles"), body{"user_id": colleague.UserID, "role": "admin"}).OK()
				return colleague
			},
		} {
			x := n.Tenant(t)
			key, thief := stolenKey(t, n, x.Owner)
			ghost(t, x, thief, "viewer")
			admin := n.Person(t, puppeteer(x, thief))
			admin.Delete(x.Path("/members/" + x.Owner.UserID)).OK()
			report(t, n, x.Owner, key)
			waiting := admin.Get(x.Path("/suspended")).OK().Column("id") // they are the last admin, and stay
			if len(waiting) != 1 {
				t.Fatalf("%s: waiting is %v", name, waiting)
			}
			for _, verb := range []string{"/confirm", "/remove"} {
				admin.Post(x.Path("/suspended/"+waiting[0]+verb), nil).Fails(403, "FORBIDDEN")
			}
			n.Person(t, x.Member("admin")).Post(x.Path("/suspended/"+waiting[0]+"/remove"), nil).OK()
		}
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

// A key that gave access very often is reported in one transaction, with few statements.
func TestAKeyWithManyGrantsIsReportedInOneTransaction(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		var statements atomic.Int64
		store.Config.Trace = func(string, []any) { statements.Add(1) }
		n := servertest.Start(t, store)
		reported := func(many int) int64 {
			x := n.Tenant(t)
			key, _ := stolenKey(t, n, x.Owner)
			giveMany(t, n, x, key, many)
			person := n.Person(t, x.Owner)
			writes, before := n.DB.Writes(), statements.Load()
			got := servertest.Decoded[api.CompromisedKey](person.Post("/v1/api-keys/"+key+"/compromised", nil))
			took := statements.Load() - before
			if writes = n.DB.Writes() - writes; writes != 1 {
				t.Errorf("the report takes %d transactions", writes)
			}
			if got.SuspendedCount != int64(many) || len(got.Suspended) != min(many, 1000) {
				t.Errorf("%d are suspended, %d are listed", got.SuspendedCount, len(got.Suspended))
			}
			if left := n.Count(t, `SELECT count(*) FROM workspace_member WHERE workspace_id = $1`, x.WorkspaceID); left != 1 {
				t.Errorf("%d members are left", left)
			}
			return took
		}
		// A node may send a few of its own meanwhile.
		const more = 30
		if few, many := reported(64), reported((1+more)*64); many-few > more*8 {
			t.Errorf("%d times 64 more members take %d more statements", more, many-few)
		}
	})
}

// giveMany stores members who came through a key of the owner.
func giveMany(t testing.TB, n *servertest.Node, x *servertest.Tenant, key string, many int) {
	t.Helper()
	_, err := db.Write(t.Context(), n.DB, db.Caller{}, func(tx *db.Tx) (any, audit.Event, error) {
		origin := "ori_" + key
		if err := tx.Exec(`INSERT INTO access_origin (id, key_id) VALUES ($1, $2)`, origin, key); err != nil {
			return nil, audit.Event{}, err
		}
		var users, members, roles [][]any
		for i := range many {
			id := tx.NewID("usr")
			users = append(users, []any{id, fmt.Sprintf("%s-%d@example.com", key, i), tx.Now()})
			members = append(members, []any{x.WorkspaceID, id, tx.Now(), x.Owner.UserID, key, origin})
			roles = append(roles, []any{x.WorkspaceID, id, x.Owner.UserID, key, origin})
		}
		err := tx.InsertRows(`INSERT INTO account (id, kind, email, email_proof, name, status, created_at) VALUES `, `($1, 'person', $2, '*', $2, 'active', $3)`, users)
		if err == nil {
			err = tx.InsertRows(`INSERT INTO workspace_member (workspace_id, account_id, member_id, joined_at, accepted, given_by, given_key_id, origin_id) VALUES `,
				`($1, $2, $2, $3, TRUE, $4, $5, $6)`, members)
		}
		if err == nil {
			err = tx.InsertRows(`INSERT INTO member_role (workspace_id, account_id, role, granted_at, not_before, given_by, given_key_id, origin_id) VALUES `,
				`($1, $2, 'viewer', 0, 0, $3, $4, $5)`, roles)
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
