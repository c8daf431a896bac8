package server_test

import (
	"slices"
	"strings"
	"testing"

	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/mail/smtptest"
	"bursar/internal/server/servertest"
)

// What is about payouts is told to those who may approve payouts, and to no others.
func TestApprovalsOfPayoutsAreMailedToWhoMayApproveThose(t *testing.T) {
	withMail(t, func(t *testing.T, n *servertest.Node, box *smtptest.Server) {
		x := n.Tenant(t)
		x.Define("keepers", "ws.read", "ws.directory.read", "ws.receiving.read", "ws.receiving.approve")
		x.Member("keepers")
		authorizer := x.Member("disbursement_authorizer")
		x.Owner.Post("/v2/approval-rules", body{"workspace_id": x.WorkspaceID, "approvals": 0}).Created()
		if err := n.Server.Tidy(t.Context()); err != nil {
			t.Fatal(err)
		}
		for all := 1; ; all++ {
			m := box.Wait(t, all)[all-1]
			if !strings.Contains(m.Subject, "for your approval") {
				continue
			}
			if m.Subject != "A change of how payouts are guarded waits for your approval" || !slices.Equal(m.To, []string{authorizer.Email()}) || strings.Contains(m.Text, "phone") {
				t.Errorf("%s is told %q: %s", m.To, m.Subject, m.Text)
			}
			break
		}
	})
}

// Those who may approve get one mail for all that waits, and who asked one for how it ended. No
// mail names a payee or an account.
func TestApprovalsAreMailed(t *testing.T) {
	withMail(t, func(t *testing.T, n *servertest.Node, box *smtptest.Server) {
		x, maker, second := n.Pair(t)
		tell := func() {
			t.Helper()
			if err := n.Server.Tidy(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		entry := x.Entry("Planted Payee")
		var waits []string
		for range 3 {
			waits = append(waits, maker.Post("/v1/directory/"+entry+"/receiving-methods", bankAccount()).OK().Text("approval_id"))
		}
		tell()
		wanted := func(about string) smtptest.Received {
			t.Helper()
			for all := 1; ; all++ {
				if m := box.Wait(t, all)[all-1]; strings.Contains(m.Subject, "where money goes") && strings.Contains(m.Subject, about) {
					return m
				}
			}
		}
		told := wanted("for your approval")
		if !slices.Equal(told.To, []string{second.Email()}) || !strings.Contains(told.Text, "/w/"+x.WorkspaceID+"/approvals") || strings.Contains(told.Text, "Planted") {
			t.Errorf("%s is told %q", told.To, told.Text)
		}
		second.Post("/v1/approvals/"+waits[0]+"/reject", body{"reason": "unknown to the payee"}).OK()
		maker.Post("/v1/approvals/"+waits[1]+"/withdraw", nil).OK() // of which nobody is told
		second.Approve(waits[2]).OK()
		tell()
		if m := wanted("rejected"); !slices.Equal(m.To, []string{maker.Email()}) || !strings.Contains(m.Text, "unknown to the payee") {
			t.Errorf("%s is told %q", m.To, m.Text)
		}
		if m := wanted("is approved"); !slices.Equal(m.To, []string{maker.Email()}) {
			t.Errorf("%s is told of the approval", m.To)
		}
		if n.Count(t, `SELECT count(*) FROM approval WHERE told <> state`) != 0 {
			t.Error("somebody would be told again")
		}
	})
}

func TestAnApprovalThatDoesNotOpenKeepsNobodyFromBeingTold(t *testing.T) {
	withMail(t, func(t *testing.T, n *servertest.Node, box *smtptest.Server) {
		x, maker, second := n.Pair(t)
		id := maker.Post("/v1/directory/"+x.Entry("Payee")+"/receiving-methods", bankAccount()).OK().Text("approval_id")
		_, err := db.Write(t.Context(), n.DB, db.Caller{}, func(tx *db.Tx) (struct{}, audit.Event, error) {
			return struct{}{}, audit.None("a test"), tx.Exec(`UPDATE approval SET payload_sealed = $2 WHERE id = $1`, id, []byte("damaged"))
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := n.Server.Tidy(t.Context()); err != nil {
			t.Fatal(err)
		}
		for all := 1; ; all++ {
			if m := box.Wait(t, all)[all-1]; strings.Contains(m.Subject, "for your approval") {
				if !slices.Equal(m.To, []string{second.Email()}) {
					t.Errorf("%s is told", m.To)
				}
				return
			}
		}
	})
}
