package payout_test

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"bursar/api"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
)

func TestWhoStopsAndResumes(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n, x, live := servertest.StartLive(t, store)
		sandbox := x.Account(10_000)
		stop, resume := x.Path("/payout-stop"), x.Path("/payout-resume")
		elsewhere := n.Tenant(t)
		for _, outsider := range []*servertest.Client{elsewhere.Owner} {
			outsider.Get(stop).Fails(404, "RESOURCE_NOT_FOUND")
			outsider.Post(stop, body{"reason": "x"}).Fails(404, "RESOURCE_NOT_FOUND")
			outsider.Post(resume, body{}).Fails(404, "RESOURCE_NOT_FOUND")
		}

		// A sole person resumes alone.
		x.Owner.Post(stop, body{"reason": "a drill"}).OK()
		if got := servertest.Decoded[api.PayoutSending](x.Owner.Post(resume, body{}).OK()); got.Live.Stopped || got.Sandbox.Stopped {
			t.Errorf("a sole person resumes: %+v", got)
		}

		viewer, maker, authorizer := x.Member("viewer"), x.Member("disbursement_manager"), n.Person(t, x.Member("disbursement_authorizer"))
		x.EverybodyCounts()
		viewer.Post(stop, body{"reason": "x"}).Fails(403, "FORBIDDEN")
		viewer.Post(resume, body{}).Fails(403, "FORBIDDEN")
		n.Clock.Advance(time.Hour) // stopping takes no recent login
		refresh(t, maker, x.Owner, viewer)
		first := servertest.Decoded[api.PayoutSending](maker.Post(stop, body{"reason": "wrong file"}).OK())
		if !first.Live.Stopped || !first.Sandbox.Stopped || first.Live.Reason != "wrong file" || first.Live.StoppedBy.ID != maker.UserID {
			t.Errorf("stopped: %+v", first)
		}
		n.Clock.Advance(time.Minute)
		if added := x.RowsAdded(func() { maker.Post(stop, body{"reason": "wrong file"}).OK() }); added != 0 {
			t.Errorf("the same stop again leaves %d rows", added)
		}
		added := x.RowsAdded(func() { x.Owner.Post(stop, body{"reason": "wrong amounts", "mode": "live"}).OK() })
		now := servertest.Decoded[api.PayoutSending](viewer.Get(stop).OK())
		if added != 1 || now.Live.StoppedAt != first.Live.StoppedAt || now.Live.Reason != "wrong amounts" || now.Live.StoppedBy.ID != x.Owner.UserID || now.Sandbox.Reason != "wrong file" {
			t.Errorf("%d rows, and stopped again: %+v", added, now)
		}

		paying := x.Owner.Pay(live, 1_000)
		authorizer = n.Person(t, authorizer.Again(t))
		authorizer.Post(payouts+"/"+paying+"/approve", body{"digest": digestOf(authorizer, paying)}).OK()
		trying := x.Owner.Pay(sandbox, 1_000)
		authorizer.Post(payouts+"/"+trying+"/approve", body{"digest": digestOf(authorizer, trying)}).OK()
		for _, id := range []string{paying, trying} {
			if got := x.Owner.Get(payouts + "/" + id).OK().Object(); got["status"] != "pending" || got["sending_stopped"] != true {
				t.Errorf("while stopped: %v", got)
			}
		}
		for _, row := range x.Owner.Get(payouts + "?workspace_id=" + x.WorkspaceID).OK().List() {
			if row["sending_stopped"] != true {
				t.Errorf("in the list: %v", row)
			}
		}
		n.RunPayouts(t)
		x.Owner.PayoutIs(paying, "pending")

		// In the sandbox one person suffices.
		if got := servertest.Decoded[api.PayoutSending](maker.Post(resume, body{"mode": "sandbox"}).OK()); !got.Live.Stopped || got.Sandbox.Stopped {
			t.Errorf("the sandbox resumes: %+v", got)
		}
		n.RunPayouts(t)
		x.Owner.PayoutIs(trying, "completed")
		x.Owner.PayoutIs(paying, "pending")

		key := []string{"Idempotency-Key", "resume-1"}
		waits := maker.Do(http.MethodPost, resume, body{}, key...).Fails(403, "SECOND_PERSON_REQUIRED").Detail("approval_id")
		for _, again := range []string{
			maker.Do(http.MethodPost, resume, body{}, key...).Fails(403, "SECOND_PERSON_REQUIRED").Detail("approval_id"),
			authorizer.Post(resume, body{"mode": "live"}).Fails(403, "SECOND_PERSON_REQUIRED").Detail("approval_id"),
			viewer.Get(stop).OK().Text("approval_id"),
		} {
			if again != waits || waits == "" {
				t.Errorf("it waits for %s, and then for %s", waits, again)
			}
		}
		n.Person(t, maker).Approve(waits).Fails(403, "FORBIDDEN")

		// A stop comes before any release.
		authorizer.Post(stop, body{"reason": "wrong amounts", "mode": "live"}).OK()
		authorizer.Approve(waits).Fails(422, "APPROVAL_DECIDED")
		if got := servertest.Decoded[api.PayoutSending](viewer.Get(stop).OK()); !got.Live.Stopped || got.ApprovalID != "" {
			t.Errorf("after the other stop: %+v", got)
		}
		waits = maker.Post(resume, body{}).Fails(403, "SECOND_PERSON_REQUIRED").Detail("approval_id")
		maker.Post("/v1/approvals/"+waits+"/withdraw", nil).OK()
		waits = maker.Post(resume, body{}).Fails(403, "SECOND_PERSON_REQUIRED").Detail("approval_id")
		n.Write(t, func(tx *db.Tx) error {
			return tx.Exec(`UPDATE payout_stop SET version = version + 1 WHERE workspace_id = $1 AND mode = 'live'`, x.WorkspaceID)
		})
		authorizer.Approve(waits).Fails(422, "APPROVAL_CHANGED")
		authorizer.Post("/v1/approvals/"+waits+"/reject", body{"reason": "no"}).OK()
		n.RunPayouts(t)
		x.Owner.PayoutIs(paying, "pending")

		waits = maker.Post(resume, body{}).Fails(403, "SECOND_PERSON_REQUIRED").Detail("approval_id")
		authorizer.Approve(waits).OK()
		if got := x.Owner.Get(payouts + "/" + paying).OK().Object(); got["sending_stopped"] != nil {
			t.Errorf("after both agreed: %v", got)
		}
		n.RunPayouts(t)
		x.Owner.PayoutIs(paying, "processing")
		var actions []string
		for _, row := range x.Owner.Get(x.AuditPath() + "&resource_id=" + x.WorkspaceID + "&limit=100").OK().List() {
			actions = append(actions, row["action"].(string))
		}
		slices.Reverse(actions)
		actions = slices.DeleteFunc(actions, func(a string) bool { return a[:7] != "payout." })
		if want := []string{
			"payout.sending.stopped", "payout.sending.resumed", "payout.sending.resumed", // by a sole person, in both modes
			"payout.sending.stopped", "payout.sending.resumed", // refused
			"payout.sending.stopped", "payout.sending.stopped", "payout.sending.resumed",
			"payout.sending.requested", "payout.sending.approved", "payout.sending.stopped", "payout.sending.requested", "payout.sending.withdrawn",
			"payout.sending.requested", "payout.sending.rejected", "payout.sending.requested", "payout.sending.approved",
		}; !slices.Equal(actions, want) {
			t.Errorf("the log: got %q, want %q", actions, want)
		}
	})
}

// refresh signs people in again, whose sessions are old.
func refresh(t *testing.T, people ...*servertest.Client) {
	t.Helper()
	for _, c := range people {
		c.Token = c.Again(t).Token
	}
}

// digestOf is the digest of what the approval of a payout shows.
func digestOf(c *servertest.Client, id string) string {
	return c.Get("/v1/approvals/" + c.Get(payouts+"/"+id).OK().Text("approval_id")).OK().Text("digest")
}

// A stop in one workspace holds up no other.
func TestAStopHoldsUpNoOtherWorkspace(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, other := n.Tenant(t), n.Tenant(t)
		x.Owner.Post(x.Path("/payout-stop"), body{"reason": "a drill", "mode": "sandbox"}).OK()
		made := x.Owner.Post(payouts, request(x.Account(1_000), 1_000)).Created()
		if made.Object()["sending_stopped"] != true {
			t.Errorf("the answer to a new payout: %s", made.Body)
		}
		others := other.Owner.Pay(other.Account(1_000), 1_000)
		n.RunPayouts(t)
		other.Owner.PayoutIs(others, "completed")
		x.Owner.PayoutIs(made.Text("id"), "pending")
		robot := x.Machine(x.Owner, "disbursement_manager")
		robot.Post(x.Path("/payout-stop"), body{"reason": "by a program"}).OK()
		robot.Post(x.Path("/payout-resume"), body{}).Fails(403, "FORBIDDEN")
		x.Owner.Post(x.Path("/payout-resume"), body{}).OK()
		n.RunPayouts(t)
		x.Owner.PayoutIs(made.Text("id"), "completed")
	})
}
