package payout_test

import (
	"testing"

	"bursar/internal/db"
	"bursar/internal/server/servertest"
)

// What one person decides alone ends with their session, also if the session ends after the request was authorized.
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
				person := n.Person(t, x.Owner)
				servertest.WhileUnderWay(t, n.DB, func(tx *db.Tx) error {
					return tx.Exec(`UPDATE session SET revoked_at = 1 WHERE account_id = $1 AND method = 'device'`, x.Owner.UserID)
				}, func() *servertest.Answer { return send(person) }).Fails(401, "UNAUTHORIZED")
				send(n.Person(t, x.Owner)).OK()
			})
		}
	})
}
