package payout_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"bursar/internal/access"
	"bursar/internal/audit"
	"bursar/internal/config"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/identity"
	"bursar/internal/server/servertest"
)

// What one person decides alone ends with their session or their role, also if these end after the request was authorized.
func TestWhatOnePersonDecidesEndsWithTheirSession(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		account, live := x.Account(100_000), x.LiveAccount()
		id := n.Person(t, x.Owner).Pay(account, 10_000)
		limitPerPayout(x.Owner, x.WorkspaceID, 5_000)
		x.Owner.PayoutHeld(id)
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

// The same holds for a machine client that sends its secret with each request, and so has no session.
func TestWhatAClientDecidesEndsWithItsSecret(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		account := x.Account(0)
		requests := map[string]func(client *servertest.Client, with string) *servertest.Answer{
			"set a limit": func(client *servertest.Client, with string) *servertest.Answer {
				limit := body{"workspace_id": x.WorkspaceID, "per": "payout", "amount_cents": 100}
				return client.Do("POST", "/v2/limits", limit, "Authorization", with)
			},
			"make a rule": func(client *servertest.Client, with string) *servertest.Answer {
				return client.Do("POST", "/v2/approval-rules", body{"workspace_id": x.WorkspaceID, "approvals": 0}, "Authorization", with)
			},
			"freeze an account": func(client *servertest.Client, with string) *servertest.Answer {
				return client.Do("PATCH", "/v2/accounts/"+account, body{"status": "frozen"}, "Authorization", with)
			},
		}
		for end, statement := range map[string]string{
			"the secret is replaced": `UPDATE account SET secret_hash = 'another' WHERE id = $1`,
			"the secret ends":        `UPDATE account SET secret_hash = NULL WHERE id = $1`,
			"its key is revoked":     `UPDATE api_key SET revoked_at = 1 WHERE id = (SELECT secret_key_id FROM account WHERE id = $1)`,
		} {
			for name, send := range requests {
				t.Run(name+", and "+end, func(t *testing.T) {
					id, _, err := n.Identity.CreateClient(t.Context(), db.Caller{}, x.WorkspaceID, "ERP", "admin")
					if err != nil {
						t.Fatal(err)
					}
					secret := x.Owner.Again(t).Post(x.Path("/clients/"+id+"/rotate"), nil).OK().Text("secret")
					client, with := n.Stranger(t), servertest.Basic(id, secret)
					client.Do("GET", "/v2/accounts/"+account, nil, "Authorization", with).OK() // the node remembers the client
					servertest.WhileUnderWay(t, n.DB, func(tx *db.Tx) error {
						if err := identity.LockUser(tx, id); err != nil {
							return err
						}
						return tx.Exec(statement, id)
					}, func() *servertest.Answer { return send(client, with) }).Fails(401, "UNAUTHORIZED")
				})
			}
		}
	})
}

func TestAPayoutEndsWithTheAccessOfItsMakerWhileItIsScreened(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		meanwhile := func() {}
		screening := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			meanwhile()
			_, _ = io.WriteString(w, `{"decision":"allow"}`)
		}))
		t.Cleanup(screening.Close)
		n := servertest.Start(t, store, func(c *config.Serve) { c.ScreeningURL = screening.URL })
		for name, end := range map[string]func(x *servertest.Tenant, maker *servertest.Client) (code string){
			"they sign out": func(_ *servertest.Tenant, maker *servertest.Client) string {
				maker.Post("/v1/auth/logout", nil).OK()
				return "UNAUTHORIZED"
			},
			"they are removed": func(x *servertest.Tenant, maker *servertest.Client) string {
				x.Owner.Delete(x.Path("/members/" + maker.UserID)).OK()
				return "RESOURCE_NOT_FOUND"
			},
			"they lose the role": func(x *servertest.Tenant, maker *servertest.Client) string {
				x.Owner.Delete(x.Path("/roles/" + maker.UserID + "/disbursement_manager")).OK()
				return "FORBIDDEN"
			},
		} {
			for what, send := range map[string]func(maker *servertest.Client, account string) *servertest.Answer{
				"a payout": func(maker *servertest.Client, account string) *servertest.Answer {
					return maker.Post(payouts, request(account, 100))
				},
				"a batch": func(maker *servertest.Client, account string) *servertest.Answer {
					return maker.Post(batches, body{"source_account_id": account, "currency": "PHP",
						"payouts": []body{{"amount_cents": 100, "settlement_account": to(bpi, "1234567890")}}})
				},
				"a draft": func(maker *servertest.Client, account string) *servertest.Answer {
					return maker.Post(payouts+"/"+maker.Pay(account, 100, body{"status": "draft"})+"/publish", nil)
				},
			} {
				t.Run(what+", and "+name, func(t *testing.T) {
					x := n.Tenant(t)
					maker, account, code := x.Member("disbursement_manager"), x.Account(1_000), ""
					meanwhile = func() { code = end(x, maker) }
					answer := send(maker, account)
					if answer.Code() != code {
						t.Errorf("it is answered %s, want %s", answer.Body, code)
					}
					if sent := n.Count(t, `SELECT count(*) FROM payout WHERE account_id = $1 AND status <> 'draft'`, account); sent != 0 {
						t.Error("the payout was made")
					}
				})
			}
		}
	})
}
