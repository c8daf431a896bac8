package server_test

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/server/servertest"
)

// aboutLiveMoney lists what decides about live money in a workspace: who is paid, how it is guarded, its accounts, and who may do what
// about it.
func aboutLiveMoney(t *testing.T, x *servertest.Tenant) (settings, rights []string) {
	t.Helper()
	owner, of := x.Owner.On(t), "?limit=100&workspace_id="+x.WorkspaceID
	for key, accounts := range x.WhoIsPaid(t) {
		settings = append(settings, fmt.Sprint(key, accounts))
	}
	for _, path := range []string{"/v2/approval-rules" + of, "/v2/limits" + of, "/v2/accounts" + of} {
		for _, row := range owner.Get(path).OK().List() {
			if row["mode"] != "sandbox" {
				settings = append(settings, fmt.Sprint(path, row))
			}
		}
	}
	policy := servertest.Decoded[api.ReceivingPolicy](owner.Get(x.Path("/receiving-policy")))
	settings = append(settings, fmt.Sprint(policy.ReceivingApproval, policy.CoolingHours, policy.SecondPersonHours))
	settings = append(settings, fmt.Sprint(servertest.Decoded[api.PayoutSending](owner.Get(x.Path("/payout-stop"))).Live.Stopped))
	roles := map[string][]string{}
	for _, role := range servertest.Decoded[[]api.Role](owner.Get(x.Path("/roles?limit=100"))) {
		roles[role.Key] = role.Permissions
	}
	for _, m := range servertest.Decoded[[]api.Member](owner.Get(x.Path("/members?limit=100"))) {
		for _, key := range m.Roles {
			for _, p := range roles[key] {
				if access.Decisive().Has(access.Permission(p)) {
					rights = append(rights, m.Email+" "+p)
				}
			}
		}
	}
	slices.Sort(settings)
	slices.Sort(rights)
	return settings, slices.Compact(rights)
}

// decisions are the requests by which a credential tries to decide about live money, besides the one that the table has.
func decisions(o operation, x *servertest.Tenant, viewer *servertest.Client) (all []request) {
	ws := []string{x.WorkspaceID}
	switch o.Operation {
	case api.UpdateReceivingPolicy:
		for _, content := range []body{{"receiving_approval": "one_person"}, {"receiving_approval": "two_persons"}, {"receiving_cooling_hours": 0}, {"receiving_cooling_hours": 90},
			{"second_person_hours": 1}} {
			all = append(all, request{args: ws, body: content})
		}
	case api.AddMember:
		all = append(all, request{args: ws, body: body{"email": servertest.NewEmail(), "role": "admin"}})
	case api.AssignRole:
		all = append(all, request{args: ws, body: body{"user_id": viewer.UserID, "role": "disbursement_manager"}})
	case api.PutRole:
		all = append(all, request{args: []string{x.WorkspaceID, "clerk"}, body: body{"name": "Clerk", "permissions": []string{"ws.read", "ws.payouts.approve"}}})
	case api.CreateApprovalRule, api.SetLimit:
		for _, mode := range []string{"live", "both"} {
			all = append(all, request{body: body{"workspace_id": x.WorkspaceID, "mode": mode, "approvals": 0}},
				request{body: body{"workspace_id": x.WorkspaceID, "mode": mode, "per": "payout", "amount_cents": 1}})
		}
	}
	return all
}

// A credential for the sandbox changes nothing on any route that decides about live money, where a workspace has a live account. One person
// is alone there, so nothing waits for another one. It may take access from others, as everyone can.
func TestNoRouteLetsASandboxCredentialDecideAboutLiveMoney(t *testing.T) {
	signedOnEach(t, func(t *testing.T, n *servertest.Node) {
		for _, o := range operations() {
			if o.Method() == "GET" || !strings.HasPrefix(o.need, "ws.") {
				continue
			}
			t.Run(o.String(), func(t *testing.T) {
				x := n.Tenant(t)
				x.Owner.AddMethod(x.Entry("Ada"), servertest.Account("0001"))
				viewer := x.Member("viewer")
				x.Define("clerk", "ws.read")
				x.Give(viewer, "clerk")
				sandbox := keyOf(t, x, body{"mode": "sandbox", "administer": true})
				x.LiveAccount()
				own := o.ask(x, x.Owner)
				own.headers = nil // of a person
				settings, rights := aboutLiveMoney(t, x)
				for _, r := range append(decisions(o, x, viewer), own) {
					answer := o.do(sandbox.On(t), r)
					n.RunImports(t)
					now, rightsNow := aboutLiveMoney(t, x)
					if !slices.Equal(now, settings) {
						t.Errorf("%v is answered %s, and it is %v, was %v", r.body, answer.Body, now, settings)
					}
					for _, one := range rightsNow {
						if !slices.Contains(rights, one) {
							t.Errorf("%v is answered %s, and %s is new", r.body, answer.Body, one)
						}
					}
				}
			})
		}
	})
}

// The accounts, payouts, batches, deposits and approvals of the sandbox do not exist for a key that is limited to live money, on any route.
// Nor does it create any, or change the sandbox.
func TestEveryRouteForAKeyOfTheOtherMode(t *testing.T) {
	signedOnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		live := keyOf(t, x, body{"mode": "live", "administer": true})
		gone := func(t *testing.T, o operation, r request) {
			t.Helper()
			r.headers = nil // of a person
			if answer := o.do(live.On(t), r); answer.Status != 404 {
				answer.Lacks("mode:sandbox")
			}
		}
		var lists []operation
		for _, o := range operations() {
			switch {
			case !strings.HasPrefix(o.Path(), "/v2/") || !strings.HasPrefix(o.need, "ws."):
			case o.Method() == "GET" && !strings.Contains(o.Path(), "{"):
				lists = append(lists, o)
			default:
				t.Run(o.String(), func(t *testing.T) { gone(t, o, o.ask(x, x.Owner)) })
			}
		}
		approval := x.Owner.Get("/v2/payout-requests/" + aWaitingPayout(x, x.Owner).args[0]).OK().Text("approval_id")
		for _, o := range operations() {
			if strings.HasPrefix(o.Path(), "/v1/approvals/{id}") {
				t.Run(o.String(), func(t *testing.T) {
					gone(t, o, request{args: []string{approval}, body: map[string]any{"approve": body{"digest": "x", "verification": "called"},
						"reject": body{"reason": "unknown"}}[path.Base(o.Path())]})
				})
			}
		}
		for _, o := range append(lists, operation{api.ListApprovals, "ws.payouts.read", inQuery}) {
			for _, row := range o.do(live, o.ask(x, x.Owner)).OK().List() {
				if row["mode"] != "both" && row["kind"] != "receiving_method" {
					t.Errorf("%s lists %v", o, row)
				}
			}
		}
	})
}
