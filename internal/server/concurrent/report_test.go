package concurrent_test

import (
	"sync"
	"testing"

	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/identity"
	"bursar/internal/server/servertest"
	"bursar/internal/torture"
)

// A thief gives access with a stolen key on one node while its owner reports it on the other.
func TestNothingThatAKeyGivesOnOneNodeOutlivesItsReportOnAnother(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		here, there := servertest.Start(t, store), servertest.Start(t, store)
		for range torture.Rounds(4, 200) {
			x := here.Tenant(t)
			viewer, owner := x.Member("viewer"), here.Person(t, x.Owner)
			key, secret, err := here.Identity.CreateKeyFor(t.Context(), db.Caller{}, x.Owner.Email(), identity.NewKey{Name: "stolen", Scope: audit.Scope{Administer: true}})
			if err != nil {
				t.Fatal(err)
			}
			thief := there.Login(t, secret)
			var all sync.WaitGroup
			for _, give := range []func() *servertest.Answer{
				func() *servertest.Answer {
					return thief.Post(x.Path("/members"), servertest.Body{"email": servertest.NewEmail(), "role": "viewer"})
				},
				func() *servertest.Answer {
					return thief.Post(x.Path("/roles"), servertest.Body{"user_id": viewer.UserID, "role": "member"})
				},
				func() *servertest.Answer {
					return thief.Post(x.OrganizationPath("/owners"), servertest.Body{"user_id": viewer.UserID})
				},
				func() *servertest.Answer {
					return thief.Post("/v1/api-keys", servertest.Body{"name": "child", "administer": true})
				},
			} {
				all.Go(func() {
					for give().Status != 401 { // until the report has ended the session
					}
				})
			}
			owner.Post("/v1/api-keys/"+key+"/compromised", nil).OK()
			all.Wait()
			for _, table := range []string{"workspace_member", "member_role", "organization_member"} {
				if left := here.Count(t, `SELECT count(*) FROM `+table+` m JOIN access_origin o ON o.id = m.origin_id WHERE o.key_id = $1`, key); left != 0 {
					t.Errorf("%d rows of %s came through the key and are in force", left, table)
				}
			}
			if left := here.Count(t, `SELECT count(*) FROM api_key WHERE revoked_at IS NULL AND (id = $1 OR parent_id = $1)`, key); left != 0 {
				t.Errorf("%d keys are live", left)
			}
		}
	})
}
