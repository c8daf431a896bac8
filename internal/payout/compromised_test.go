package payout_test

import (
	"testing"

	"bursar/api"
	"bursar/internal/server/servertest"
)

// approvedWithKey makes a payout that the key of a colleague approves, and returns it with the id of the key.
func approvedWithKey(t *testing.T, x *servertest.Tenant) (id, key string, colleague *servertest.Client) {
	account := x.Account(100_000)
	colleague = x.Member("admin") // a session of a key
	rule := x.Owner.Post("/v2/approval-rules", body{"workspace_id": x.WorkspaceID, "approvals": 1, "keys_may_approve": true}).Created()
	x.Node.Person(t, colleague).Approve(rule.Text("approval_id")).OK()
	id = x.Owner.Pay(account, 10_000)
	return id, colleague.Get("/v1/api-keys").OK().Column("id")[0], colleague
}

func TestAPayoutThatWasApprovedWithACompromisedKeyIsHeld(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		id, key, colleague := approvedWithKey(t, x)
		approve(colleague, id).OK()
		colleague.Post("/v1/api-keys/"+key+"/compromised", nil).OK()
		x.Owner.PayoutHeld(id)
	})
}

func TestTheVoteOfACompromisedKeyDoesNotCount(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		for _, compromised := range []bool{true, false} {
			x := n.Tenant(t)
			colleague := x.Member("admin") // a session of a key
			second, third := n.Person(t, x.Member("disbursement_authorizer")), n.Person(t, x.Member("disbursement_authorizer"))
			x.EverybodyCounts()
			rule := x.Owner.Post("/v2/approval-rules", body{"workspace_id": x.WorkspaceID, "approvals": 2, "keys_may_approve": true}).Created()
			second.Approve(rule.Text("approval_id")).OK()
			id := x.Owner.Pay(x.Account(100_000), 10_000)
			approve(colleague, id).OK()
			path := "/v1/api-keys/" + colleague.Get("/v1/api-keys").OK().Column("id")[0]
			if compromised {
				colleague.Post(path+"/compromised", nil).OK()
			} else {
				colleague.Delete(path).OK()
			}
			approve(second, id).OK()
			if compromised {
				x.Owner.PayoutIs(id, "initiated")
				approve(third, id).OK()
			}
			x.Owner.PayoutIs(id, "pending")
		}
	})
}

func TestAPayoutThatWasApprovedWithAKeyThatIsOnlyRevokedIsSent(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		id, key, colleague := approvedWithKey(t, x)
		approve(colleague, id).OK()
		colleague.Delete("/v1/api-keys/" + key).OK()
		n.RunPayouts(t)
		if got := x.Owner.Get(payouts + "/" + id).OK().Text("status"); got != "completed" {
			t.Errorf("it is %s", got)
		}
	})
}

// stolenKey makes a key that administers for a person, and returns its id and a session of a thief who has it.
func stolenKey(t *testing.T, n *servertest.Node, person *servertest.Client) (id string, thief *servertest.Client) {
	stolen := person.Post("/v1/api-keys", body{"name": "stolen", "administer": true}).OK()
	return stolen.Text("id"), n.Login(t, stolen.Text("api_key"))
}

// puppetOf makes a person whom a thief adds with a role.
func puppetOf(t *testing.T, x *servertest.Tenant, thief *servertest.Client, role string) *servertest.Client {
	puppet := x.Node.User(t, servertest.NewEmail())
	puppet.Join(thief.Post(x.Path("/members"), body{"email": puppet.Email(), "role": role}).OK().Text("user_id"))
	return puppet
}

// A thief with the key of an admin who is alone adds an approver of their own, requests a payout, and approves it as a person.
func TestAPayoutThatWasApprovedByWhoCameThroughACompromisedKeyIsHeld(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		for decision, held := range map[string]bool{"": true, "remove": true, "confirm": false} {
			x := n.Tenant(t)
			person, account := n.Person(t, x.Owner), x.Account(100_000)
			key, thief := stolenKey(t, n, person)
			puppet := puppetOf(t, x, thief, "disbursement_authorizer")
			id := thief.Pay(account, 10_000)
			approve(n.Person(t, puppet), id).OK()
			person.Post("/v1/api-keys/"+key+"/compromised", nil).OK()
			if decision != "" {
				person.Post(x.Path("/suspended/"+person.Get(x.Path("/suspended")).OK().Column("id")[0]+"/"+decision), nil).OK()
			}
			if held {
				x.Owner.PayoutHeld(id)
				continue
			}
			n.RunPayouts(t)
			x.Owner.PayoutIs(id, "completed")
		}
	})
}

// An approver became a member with one key and got the role with another.
func TestAPayoutIsHeldIfItsApproverCameThroughACompromisedKeyAndLeftBeforeTheReport(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		for reported := range 2 {
			x := n.Tenant(t)
			person, account := n.Person(t, x.Owner), x.Account(100_000)
			first, thief := stolenKey(t, n, person)
			second, accomplice := stolenKey(t, n, person)
			puppet := puppetOf(t, x, thief, "viewer")
			accomplice.Post(x.Path("/roles"), body{"user_id": puppet.UserID, "role": "disbursement_authorizer"}).OK()
			id := person.Pay(account, 10_000)
			approve(n.Person(t, puppet), id).OK()
			thief.Delete(x.Path("/members/" + puppet.UserID)).OK()
			person.Post("/v1/api-keys/"+[]string{first, second}[reported]+"/compromised", nil).OK()
			person.PayoutHeld(id)
		}
	})
}

func TestAPayoutThatNeededNoApprovalIsHeldIfItsRequestCameThroughACompromisedKey(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		for name, request := range map[string]func(x *servertest.Tenant, thief, person *servertest.Client, account string) (id string){
			"with the key": func(_ *servertest.Tenant, thief, _ *servertest.Client, account string) string {
				return thief.Pay(account, 10_000)
			},
			"with a key made with it": func(_ *servertest.Tenant, thief, _ *servertest.Client, account string) string {
				_, heir := stolenKey(t, n, thief)
				return heir.Pay(account, 10_000)
			},
			"in a batch": func(_ *servertest.Tenant, thief, _ *servertest.Client, account string) string {
				var b api.PayoutBatch
				thief.Post(batches, body{"source_account_id": account, "currency": "PHP", "payouts": []body{
					{"amount_cents": 10_000, "settlement_account": to(bpi, "1234567890")}}}).Created().Data(&b)
				return b.Results[0].ID
			},
			"by publishing a draft": func(_ *servertest.Tenant, thief, person *servertest.Client, account string) string {
				id := person.Pay(account, 10_000, body{"status": "draft"})
				thief.Post(payouts+"/"+id+"/publish", nil).OK()
				return id
			},
			"by changing a draft": func(_ *servertest.Tenant, thief, person *servertest.Client, account string) string {
				id := person.Pay(account, 10_000, body{"status": "draft"})
				thief.Patch(payouts+"/"+id, body{"settlement_account": to(bpi, "1234567891")}).OK()
				person.Post(payouts+"/"+id+"/publish", nil).OK()
				return id
			},
			"by someone who was added with it": func(x *servertest.Tenant, thief, _ *servertest.Client, account string) string {
				return n.Person(t, puppetOf(t, x, thief, "disbursement_manager")).Pay(account, 10_000)
			},
		} {
			x, _, approver := n.Pair(t)
			person, account := n.Person(t, x.Owner), x.Account(100_000)
			rule := person.Post("/v2/approval-rules", body{"workspace_id": x.WorkspaceID, "approvals": 0}).Created()
			approver.Approve(rule.Text("approval_id")).OK()
			key, thief := stolenKey(t, n, person)
			id := request(x, thief, person, account)
			person.PayoutIs(id, "pending")
			person.Post("/v1/api-keys/"+key+"/compromised", nil).OK()
			n.RunPayouts(t)
			if p := person.Get(payouts + "/" + id).OK(); p.Text("attention") != "recheck" {
				t.Errorf("%s: it is %s", name, p.Text("status"))
			}
		}
	})
}

func TestAPayoutThatWasRequestedWithACompromisedKeyAndApprovedByAnotherPersonIsSent(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, _, approver := n.Pair(t)
		person, account := n.Person(t, x.Owner), x.Account(100_000)
		key, thief := stolenKey(t, n, person)
		id := thief.Pay(account, 10_000)
		approve(approver, id).OK()
		person.Post("/v1/api-keys/"+key+"/compromised", nil).OK()
		n.RunPayouts(t)
		person.PayoutIs(id, "completed")
	})
}
