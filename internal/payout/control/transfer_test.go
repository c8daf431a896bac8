package control_test

import (
	"testing"

	"bursar/internal/server/servertest"
)

// Anyone who may pay from one account alone must not fill it from one from which they may not.
func TestATransferDoesNotBringMoneyUnderWeakerRules(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		for name, c := range map[string]struct {
			rules, limits []body // whose account is 0 for the source and 1 for the destination
			guarded       bool
		}{
			"nothing":                               {nil, nil, false},
			"a rule of the source":                  {[]body{{"approvals": 1, "account_id": 0}}, nil, true},
			"a rule of the destination":             {[]body{{"approvals": 1, "account_id": 1}}, nil, false},
			"a rule of all":                         {[]body{{"approvals": 1}}, nil, false},
			"the same rule of both":                 {[]body{{"approvals": 1, "account_id": 0}, {"approvals": 1, "account_id": 1}}, nil, false},
			"a weaker rule of the destination":      {[]body{{"approvals": 2, "account_id": 0}, {"approvals": 1, "account_id": 1}}, nil, true},
			"keys in that of the destination":       {[]body{{"approvals": 1, "account_id": 0}, {"approvals": 2, "keys_may_approve": true, "account_id": 1}}, nil, true},
			"a narrower rule of the destination":    {[]body{{"approvals": 1, "account_id": 0}, {"approvals": 1, "account_id": 1, "above_cents": 500}}, nil, true},
			"a wider rule of the destination":       {[]body{{"approvals": 1, "account_id": 0, "above_cents": 500, "rail": "instapay"}, {"approvals": 1, "account_id": 1, "above_cents": 400}}, nil, false},
			"a rule of all that is as strict":       {[]body{{"approvals": 1, "account_id": 0, "rail": "instapay"}, {"approvals": 1}}, nil, false},
			"a limit of the source":                 {nil, []body{{"per": "payout", "amount_cents": 500, "account_id": 0}}, true},
			"a limit of the destination":            {nil, []body{{"per": "payout", "amount_cents": 500, "account_id": 1}}, false},
			"the same limit of both":                {nil, []body{{"per": "payout", "amount_cents": 500, "account_id": 0}, {"per": "payout", "amount_cents": 500, "account_id": 1}}, false},
			"a higher limit of the destination":     {nil, []body{{"per": "payout", "amount_cents": 500, "account_id": 0}, {"per": "payout", "amount_cents": 501, "account_id": 1}}, true},
			"a limit of the destination on a rail":  {nil, []body{{"per": "payout", "amount_cents": 500, "account_id": 0}, {"per": "payout", "amount_cents": 500, "account_id": 1, "rail": "pesonet"}}, true},
			"a limit of each that is as strict":     {nil, []body{{"per": "day", "amount_cents": 500, "account_id": 0}, {"per": "day", "amount_cents": 500, "each": "account"}}, false},
			"a limit of the destination by maker":   {nil, []body{{"per": "day", "amount_cents": 500, "account_id": 0}, {"per": "day", "amount_cents": 500, "account_id": 1, "each": "maker"}}, true},
			"a limit without a count in the second": {nil, []body{{"per": "day", "amount_cents": 500, "count": 2, "account_id": 0}, {"per": "day", "amount_cents": 500, "account_id": 1}}, true},
		} {
			t.Run(name, func(t *testing.T) {
				x := n.Tenant(t)
				accounts := []string{x.Account(1_000), x.Account(0)}
				for path, list := range map[string][]body{"/v2/approval-rules": c.rules, "/v2/limits": c.limits} {
					for _, one := range list {
						if at, is := one["account_id"].(int); is {
							one["account_id"] = accounts[at]
							defer func() { one["account_id"] = at }() // for the other engine
						}
						if path == "/v2/approval-rules" {
							x.StoreRule(one)
							continue
						}
						one["workspace_id"] = x.WorkspaceID
						x.Owner.Post(path, one).Created()
					}
				}
				got := x.Owner.Transfer(accounts[0], accounts[1], 100)
				if c.guarded {
					got.Fails(422, "ACCOUNT_GUARDED")
					x.Owner.Has(accounts[0], 1_000, 0)
				} else {
					got.Created()
				}
			})
		}
	})
}

// Two people have agreed that one account pays without approval. No one fills it alone from another.
func TestATransferToAnAccountWithoutApprovalsIsGuarded(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, maker, second := n.Pair(t)
		main, petty := x.Account(10_000), x.Account(0)
		rule := body{"workspace_id": x.WorkspaceID, "approvals": 0, "account_id": petty, "up_to_cents": 500}
		second.Approve(maker.Post("/v2/approval-rules", rule).Created().Text("approval_id")).OK()
		maker.Transfer(main, petty, 100).Fails(422, "ACCOUNT_GUARDED")
		rule["account_id"] = main
		second.Approve(maker.Post("/v2/approval-rules", rule).Created().Text("approval_id")).OK()
		maker.Transfer(main, petty, 100).Created()
	})
}

func TestTransfersCountForTheLimitsOfTheirAccount(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		main, other, third := x.Account(10_000), x.Account(0), x.Account(10_000)
		x.Owner.Post("/v2/limits", body{"workspace_id": x.WorkspaceID, "per": "day", "amount_cents": 1_000, "each": "account"}).Created()
		x.Owner.Post("/v2/limits", body{"workspace_id": x.WorkspaceID, "per": "day", "amount_cents": 1_500}).Created()
		x.Owner.Transfer(main, other, 600).Created()
		x.Owner.Transfer(main, other, 401).Fails(422, "LIMIT_EXCEEDED")
		x.Owner.Post(payouts, request(main, 401)).Fails(422, "LIMIT_EXCEEDED")
		x.Owner.Pay(main, 400)
		x.Owner.Pay(third, 1_000) // the limit of the workspace is for payouts alone
		x.Owner.Has(other, 600, 0)
	})
}
