package concurrent_test

import (
	"strings"
	"testing"

	"bursar/internal/access"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	ops "bursar/internal/operator"
	"bursar/internal/server/servertest"
)

// heldUpAtEnd is heldUp for requests that have done everything but commit. A lock of the table would hold them up earlier, when they
// prepare their last statements.
func heldUpAtEnd(t *testing.T, n *servertest.Node, requests ...func() *servertest.Answer) []*servertest.Answer {
	t.Helper()
	_, err := db.Write(t.Context(), n.DB, db.Caller{}, func(tx *db.Tx) (struct{}, audit.Event, error) {
		err := tx.Exec(`CREATE OR REPLACE FUNCTION hold_up() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_advisory_xact_lock_shared(1); RETURN NULL; END'`)
		if err == nil {
			err = tx.Exec(`CREATE OR REPLACE TRIGGER hold_up BEFORE INSERT ON audit_log FOR EACH STATEMENT EXECUTE FUNCTION hold_up()`)
		}
		return struct{}{}, audit.None("a test prepares a lock"), err
	})
	if err != nil {
		t.Fatal(err)
	}
	return heldUp(t, n, `SELECT pg_advisory_xact_lock(1)`, nil, requests...)
}

// at returns a client that calls another node.
func at(n *servertest.Node, c *servertest.Client) *servertest.Client {
	other := *c
	other.Node = n
	return &other
}

// approving is a request that approves what the approver is shown now.
func approving(c *servertest.Client, id string) func() *servertest.Answer {
	digest := c.Get("/v1/approvals/" + id).OK().Text("digest")
	return func() *servertest.Answer {
		return c.Post("/v1/approvals/"+id+"/approve", body{"digest": digest, "verification": "Called the payee."})
	}
}

func TestAnExternalIDIsHeldOnOneNodeOrGivenOnAnother(t *testing.T) {
	t.Parallel()
	store := dbtest.Postgres(t)
	here, there := servertest.Start(t, store), servertest.Start(t, store)
	const held = "PWR"
	for name, give := range map[string]func(c *servertest.Client, workspaceID, entry string) *servertest.Answer{
		"a new entry": func(c *servertest.Client, workspaceID, _ string) *servertest.Answer {
			return c.Post("/v1/directory", body{"workspace_id": workspaceID, "type": "person", "fields": body{}, "name": "Eve", "external_id": held})
		},
		"an entry": func(c *servertest.Client, _, entry string) *servertest.Answer {
			return c.Patch("/v1/directory/"+entry, body{"external_id": held})
		},
		"an entry of a batch": func(c *servertest.Client, workspaceID, entry string) *servertest.Answer {
			return c.Post("/v1/directory/batch", body{"workspace_id": workspaceID, "items": []body{{"id": entry, "external_id": held}}})
		},
	} {
		for order, first := range map[string]int{"is held first": 0, "is given first": 1} {
			t.Run(name+", "+order, func(t *testing.T) {
				x := here.Tenant(t)
				payee, other := x.Entry("Ada"), x.Entry("Bob")
				x.Owner.AddMethod(payee, servertest.Account("111122223333"))
				x.Member("admin")
				requests := []func() *servertest.Answer{
					func() *servertest.Answer { return x.Owner.Patch("/v1/directory/"+payee, body{"external_id": held}) },
					func() *servertest.Answer { return give(at(there, x.Owner), x.WorkspaceID, other) },
				}
				answers := heldUpAtEnd(t, here, requests[first], requests[1-first])
				taken := []bool{}
				for _, a := range answers {
					taken = append(taken, strings.Contains(string(a.Body), "EXTERNAL_ID_TAKEN"))
				}
				if taken[0] || !taken[1] {
					t.Errorf("answered %s and %s", answers[0].Body, answers[1].Body)
				}
			})
		}
	}
}

// A person joins after a request has read the members, and before it reads since when there are two.
func TestAnApproverWhoJoinsMeanwhileIsNotGone(t *testing.T) {
	t.Parallel()
	store := dbtest.Postgres(t)
	here, there := servertest.Start(t, store), servertest.Start(t, store)
	x := here.Tenant(t)
	entry, guest := x.Entry("Ada"), here.User(t, servertest.NewEmail())
	heldUp(t, there, `LOCK TABLE receiving_policy`, func(tx *db.Tx) error {
		_, _, err := access.LockMembers(tx, x.WorkspaceID)
		if err == nil {
			err = access.Join(tx, x.WorkspaceID, guest.UserID, access.Admin)
		}
		return err
	}, func() *servertest.Answer {
		return x.Owner.Post("/v1/directory/"+entry+"/receiving-methods", servertest.Account("111122223333"))
	})
	for _, one := range x.Owner.Get(x.Path("/receiving-policy")).OK().Object()["approvers"].([]any) {
		if from := one.(map[string]any)["counts_from"]; from != 0. {
			t.Errorf("an approver who was there when the workspace first had two counts from %v on", from)
		}
	}
}

func TestTheSecondOfTwoRequestsToTwoNodesSeesTheFirst(t *testing.T) {
	t.Parallel()
	store := dbtest.Postgres(t)
	here, there := servertest.Start(t, store), servertest.Start(t, store)
	t.Run("an approval ends with a merge of its payee", func(t *testing.T) {
		x := here.Tenant(t)
		payee, other := x.Entry("Ada"), x.Entry("Bob")
		x.Owner.AddMethod(payee, servertest.Account("111122223333"))
		second := here.Person(t, x.Member("admin"))
		waits := x.Owner.Patch("/v1/directory/"+payee, body{"name": "Eve"}).OK().Text("approval_id")
		heldUpAtEnd(t, here, func() *servertest.Answer {
			return x.Owner.Post("/v1/directory/"+other+"/merge", body{"sources": []string{payee}})
		}, approving(at(there, second), waits))[1].Fails(422, "APPROVAL_DECIDED")
	})
	t.Run("a leaver keeps no key that they are creating", func(t *testing.T) {
		x := here.Tenant(t)
		grace := here.User(t, servertest.NewEmail()) // whom no organization is home to
		grace.Join(x.Add(grace.Email(), "admin"))
		answers := heldUpAtEnd(t, here, func() *servertest.Answer {
			return grace.Post("/v1/api-keys", body{"name": "child", "workspace_ids": []string{x.WorkspaceID}})
		}, func() *servertest.Answer {
			return at(there, x.Owner).Post(x.OrganizationPath("/leavers"), body{"user_id": grace.UserID})
		})
		answers[1].OK()
		if id := answers[0].OK().Text("id"); here.Count(t, `SELECT count(*) FROM api_key WHERE id = $1 AND revoked_at IS NULL`, id) != 0 {
			t.Error("the key is live")
		}
	})
	t.Run("an operator who may do less has decided by then", func(t *testing.T) {
		who := here.User(t, servertest.NewEmail()).Operate("ops.access")
		email := who.Email()
		deciding := `UPDATE account SET name = name WHERE id = '` + who.UserID + `'`
		heldUp(t, here, deciding, nil, func() *servertest.Answer {
			if _, err := ops.Add(t.Context(), there.DB, db.Caller{}, email, []string{"ops.read"}); err != nil {
				t.Error(err)
			}
			return nil
		})
	})
	for name, lose := range map[string]func(x *servertest.Tenant, owner *servertest.Client, id string) *servertest.Answer{
		"is removed": func(x *servertest.Tenant, owner *servertest.Client, id string) *servertest.Answer {
			return owner.Delete(x.Path("/members/" + id))
		},
		"loses the role": func(x *servertest.Tenant, owner *servertest.Client, id string) *servertest.Answer {
			return owner.Delete(x.Path("/roles/" + id + "/checker"))
		},
		"has a role that loses the permission": func(x *servertest.Tenant, owner *servertest.Client, _ string) *servertest.Answer {
			return owner.Put(x.Path("/roles/checker"), body{"name": "Checker", "permissions": []string{"ws.read"}})
		},
		"came through a key that is compromised": func(_ *servertest.Tenant, owner *servertest.Client, _ string) *servertest.Answer {
			return owner.Post("/v1/api-keys/"+owner.Get("/v1/api-keys").OK().Column("id")[0]+"/compromised", nil)
		},
	} {
		t.Run("who "+name+" has approved by then", func(t *testing.T) {
			x := here.Tenant(t)
			x.Define("checker", "ws.read", "ws.directory.read", "ws.receiving.read", "ws.receiving.approve")
			second := here.Person(t, x.Member("checker"))
			waits := x.Owner.Post("/v1/directory/"+x.Entry("Ada")+"/receiving-methods", servertest.Account("111122223333")).OK().Text("approval_id")
			for _, a := range heldUp(t, here, `LOCK TABLE receiving_method IN SHARE MODE`, nil, approving(second, waits), func() *servertest.Answer {
				return lose(x, at(there, x.Owner), second.UserID)
			}) {
				a.OK()
			}
		})
	}
}
