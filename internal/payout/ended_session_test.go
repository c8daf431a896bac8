package payout_test

import (
	"testing"

	"bursar/internal/access"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/server/servertest"
)

// What one person decides alone ends with their session or their role, also if these end after the request was authorized.
func TestWhatOnePersonDecidesEndsWithTheirSession(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		account, live := x.Account(100_000), x.LiveAccount()
		id := pay(n.Person(t, x.Owner), account, 10_000)
		limitPerPayout(x.Owner, x.WorkspaceID, 5_000)
		hold(t, n, x.Owner, id)
		x.Owner.Post(x.Path("/payout-stop"), body{"reason": "a drill"}).OK()
		x.Owner.Patch("/v2/accounts/"+live, body{"status": "frozen"}).OK()
		for name, send := range map[string]func(person *servertest.Client) *servertest.Answer{
			"release a held payout": func(person *servertest.Client) *servertest.Answer {
				return person.Post(payouts+"/"+id+"/confirm", nil)
			},
			"resume payouts": func(person *servertest.Client) *servertest.Answer {
				return person.Post(x.Path("/payout-resume"), body{})
			},
			"unfreeze an account": func(person *servertest.Client) *servertest.Answer {
				return person.Patch("/v2/accounts/"+live, body{"status": "active"})
			},
		} {
			t.Run(name, func(t *testing.T) {
				meanwhile := func(statements ...string) *servertest.Answer {
					person := n.Person(t, x.Owner)
					person.Get(x.Path("")).OK() // the node remembers what they may do
					return servertest.WhileUnderWay(t, n.DB, func(tx *db.Tx) (err error) {
						for _, statement := range statements {
							if err == nil {
								err = tx.Exec(statement, x.Owner.UserID)
							}
						}
						return err
					}, func() *servertest.Answer { return send(person) })
				}
				meanwhile(`UPDATE session SET revoked_at = 1 WHERE account_id = $1 AND method = 'device'`).Fails(401, "UNAUTHORIZED")
				meanwhile(`UPDATE session SET method = method WHERE account_id = $1`, // which the request locks
					`DELETE FROM member_role WHERE account_id = $1`).Fails(403, "FORBIDDEN")
				_, err := db.Write(t.Context(), n.DB, db.Caller{}, func(tx *db.Tx) (struct{}, audit.Event, error) {
					return struct{}{}, audit.None("a test"), access.Grant(tx, x.WorkspaceID, x.Owner.UserID, access.Admin)
				})
				if err != nil {
					t.Fatal(err)
				}
				send(n.Person(t, x.Owner)).OK()
			})
		}
	})
}
