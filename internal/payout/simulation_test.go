package payout_test

import (
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"bursar/api"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/payout"
	"bursar/internal/server/servertest"
)

const (
	simulatedServices = "/v2/simulations/services/"
	health            = payouts + "/health/"
)

// simulate says how a service is from now on in the sandbox of a workspace.
func simulate(x *servertest.Tenant, service, status string) {
	x.Owner.T().Helper()
	x.Owner.Post(simulatedServices+service, body{"workspace_id": x.WorkspaceID, "status": status}).OK()
}

// healthy demands how a service is, and how many payouts wait for it.
func healthy(c *servertest.Client, query, status string, waiting int64) {
	c.T().Helper()
	if got := servertest.Decoded[api.ServiceHealth](c.Get(health + query)); got.Status != status || got.QueueDepth != waiting {
		c.T().Errorf("%s is %s and %d wait, want %s and %d", query, got.Status, got.QueueDepth, status, waiting)
	}
}

// valid demands whether a payout would be made.
func valid(c *servertest.Client, account string, want bool) {
	c.T().Helper()
	if got := servertest.Decoded[api.PayoutRehearsal](c.Post(payouts+"/validate", request(account, 100))); got.Valid != want {
		c.T().Errorf("the rehearsal says %+v", got)
	}
}

func TestWhatIsDownInAWorkspaceIsUpInAnother(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		for service, code := range map[string]string{"instapay": "RAIL_UNAVAILABLE", "simulator": "RAIL_UNAVAILABLE", bpi: "BANK_UNAVAILABLE"} {
			a, b := n.Tenant(t), n.Tenant(t)
			from, other := a.Account(100_000), b.Account(100_000)
			waits := a.Owner.Pay(from, 1_000)
			simulate(a, service, "down")

			a.Owner.Post(payouts, request(from, 1_000)).Fails(422, code)
			valid(a.Owner, from, false)
			valid(b.Owner, other, true)
			goes := b.Owner.Pay(other, 1_000)
			n.RunPayouts(t)
			a.Owner.PayoutIs(waits, "pending")
			b.Owner.PayoutIs(goes, "completed")

			for _, query := range []string{"", "?workspace_id=" + a.WorkspaceID} {
				healthy(a.Owner, service+query, "down", 1)
			}
			for _, query := range []string{"", "?workspace_id=" + b.WorkspaceID} {
				healthy(b.Owner, service+query, "up", 0)
			}
			if service == "simulator" {
				healthy(a.Owner, "instapay", "down", 1)
				healthy(b.Owner, "instapay", "up", 0)
			}
			simulate(b, service, "up") // which changes nothing for the other one
			healthy(a.Owner, service, "down", 1)
			simulate(a, service, "up")
			n.RunPayouts(t)
			a.Owner.PayoutIs(waits, "completed")
			healthy(a.Owner, service, "up", 0)
		}
	})
}

func TestWithoutAWorkspaceAServiceIsAsItIsWhereItIsWorst(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		a := n.Tenant(t)
		b := *a
		b.WorkspaceID = a.Owner.Post("/v1/workspaces", body{"name": "Other", "organization_id": a.OrganizationID}).OK().Text("id")
		inB := b.Member("viewer")
		for _, c := range []struct{ inA, inB, worst string }{
			{"down", "degraded", "down"}, {"up", "degraded", "degraded"}, {"degraded", "down", "down"}, {"degraded", "up", "degraded"}, {"up", "up", "up"},
		} {
			simulate(a, "instapay", c.inA)
			simulate(&b, "instapay", c.inB)
			healthy(a.Owner, "instapay", c.worst, 0)
			healthy(a.Owner, "instapay?workspace_id="+a.WorkspaceID, c.inA, 0)
			healthy(a.Owner, "instapay?workspace_id="+b.WorkspaceID, c.inB, 0)
			healthy(inB, "instapay", c.inB, 0)
		}
	})
}

func TestStrangersNeitherSeeNorChangeTheSandboxOfAWorkspace(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		a, b := n.Tenant(t), n.Tenant(t)
		inA, down := "?workspace_id="+a.WorkspaceID, body{"workspace_id": a.WorkspaceID, "status": "down"}
		robotOf := func(x *servertest.Tenant) []string {
			by := db.Caller{}
			by.ID = x.Owner.UserID
			id, secret, err := n.Identity.CreateClient(t.Context(), by, x.WorkspaceID, "Robot", "admin")
			if err != nil {
				t.Fatal(err)
			}
			return []string{"Authorization", servertest.Basic(id, secret)}
		}
		robot, own, foreign := n.Stranger(t), robotOf(a), robotOf(b)
		b.Owner.Get(health+"instapay"+inA).Fails(404, "RESOURCE_NOT_FOUND")
		b.Owner.Post(simulatedServices+"instapay", down).Fails(404, "RESOURCE_NOT_FOUND")
		robot.Do("GET", health+"instapay"+inA, nil, foreign...).Fails(404, "RESOURCE_NOT_FOUND")
		robot.Do("POST", simulatedServices+"instapay", down, foreign...).Fails(404, "RESOURCE_NOT_FOUND")
		a.Owner.Post(simulatedServices+"instapay", body{"status": "down"}).Invalid("workspace_id")
		viewer := a.Member("viewer")
		viewer.Post(simulatedServices+"instapay", down).Fails(403, "FORBIDDEN")
		healthy(viewer, "instapay"+inA, "up", 0)

		// A client without a workspace means its own.
		robot.Do("POST", simulatedServices+"instapay", body{"status": "down"}, foreign...).OK()
		healthy(a.Owner, "instapay", "up", 0)
		healthy(b.Owner, "instapay", "down", 0)
		robot.Do("POST", simulatedServices+"instapay", body{"status": "degraded"}, own...).OK()
		for _, query := range []string{"", inA} {
			if got := robot.Do("GET", health+"instapay"+query, nil, own...).OK().Text("status"); got != "degraded" {
				t.Errorf("the client sees that it is %s", got)
			}
		}
		row := a.Owner.Get("/v1/audit?workspace_id=" + a.WorkspaceID).OK().LastRow("rail.service.simulated")
		if row["resource_id"] != "instapay" {
			t.Errorf("the log says %v", row)
		}
	})
}

// A store that was restored does not know what it has paid since.
func TestNoLivePayoutIsCreatedWhileRailsAreStopped(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n, x, live := servertest.StartLive(t, store)
		before := body{"external_id": "salary of May"}
		id := x.Owner.Pay(live, 1_000, before)
		n.Write(t, func(tx *db.Tx) error {
			_, err := payout.StopRails(tx, "restored from an archive")
			return err
		})
		if got := x.Owner.Post(payouts, request(live, 1_000)).Fails(http.StatusUnprocessableEntity, "RAIL_UNAVAILABLE"); !strings.Contains(string(got.Body), "restored from an archive") {
			t.Errorf("the reason is missing: %s", got.Body)
		}
		valid(x.Owner, live, false)
		if got := x.Owner.Post(payouts, request(live, 1_000, before)).OK().Text("id"); got != id {
			t.Errorf("the payout that exists is %s, want %s", got, id)
		}
		draft := x.Owner.Post(payouts, request(live, 1_000, body{"status": "draft"})).Created().Text("id")
		x.Owner.Post(payouts+"/"+draft+"/publish", body{}).Fails(http.StatusUnprocessableEntity, "RAIL_UNAVAILABLE")
		x.Owner.Pay(x.Account(1_000), 1_000) // the simulator is part of the store

		if _, err := payout.ResumeRails(t.Context(), n.DB, db.Caller{}, nil, true); err != nil {
			t.Fatal(err)
		}
		x.Owner.Post(payouts+"/"+draft+"/publish", body{}).OK()
		x.Owner.Pay(live, 1_000)
	})
}

// A rail that has the name of one of the sandbox and carries real money is another one.
func TestWhatIsDownInTheSandboxIsUpForLiveAccounts(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n, x, live := servertest.StartLive(t, store)
		for _, service := range []string{"instapay", "simulator", bpi} {
			simulate(x, service, "down")
		}
		valid(x.Owner, live, true)
		id := x.Owner.Pay(live, 1_000)
		healthy(x.Owner, "instapay", "up", 1)
		healthy(x.Owner, "instapay?mode=live&workspace_id="+x.WorkspaceID, "up", 1)
		healthy(x.Owner, "instapay?mode=sandbox", "down", 0)
		n.RunPayouts(t)
		x.Owner.PayoutIs(id, "processing")
	})
}

// A payout is processing before the simulator has it. Anyone who drives it in between waits for that.
func TestAPayoutIsDrivenWhileItIsOnItsWayToTheSimulator(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		x, id, driven := driveOnItsWay(t, store, "1234569011")
		driven.OK()
		x.Node.RunPayouts(t)
		x.Owner.PayoutIs(id, "completed")
	})
}

func TestAPayoutThatIsRefusedOnItsWayCannotBeDriven(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		_, _, driven := driveOnItsWay(t, store, "1234569001")
		if driven.Fails(422, "PAYOUT_STATE"); driven.Detail("status") != "failed" {
			t.Errorf("the payout is said to be %v", driven.Detail("status"))
		}
	})
}

// driveOnItsWay settles a payout that the simulator is just about to get.
func driveOnItsWay(t *testing.T, store dbtest.Store, number string) (x *servertest.Tenant, id string, answer *servertest.Answer) {
	t.Helper()
	var onItsWay atomic.Bool
	claimed, looked := make(chan struct{}), make(chan struct{})
	look := sync.OnceFunc(func() { close(looked) })
	store.Config.Trace = func(sql string, _ []any) {
		switch {
		case strings.HasPrefix(sql, "INSERT INTO simulated_payment") && onItsWay.CompareAndSwap(false, true):
			close(claimed)
			select {
			case <-looked:
			case <-time.After(10 * time.Second): // no one looks, and anyone who writes waits for this transaction
			}
		case strings.Contains(sql, " FROM payout_attempt ") && onItsWay.Load():
			look()
		}
	}
	n := servertest.Start(t, store)
	x = n.Tenant(t)
	id = x.Owner.Pay(x.Account(100_000), 1_000, body{"settlement_account": to(bpi, number)})
	driven := make(chan *servertest.Answer, 1)
	go func() {
		<-claimed
		driven <- x.Owner.Post("/v2/simulations/payouts/"+id+"/settle", nil)
		look()
	}()
	n.RunPayouts(t)
	return x, id, <-driven
}
