package approval_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/mail/smtptest"
	"bursar/internal/server/servertest"
	"bursar/internal/wait"
)

// What is about payouts is told to those who may approve payouts, and to no others.
func TestApprovalsOfPayoutsAreMailedToWhoMayApproveThose(t *testing.T) {
	servertest.OnMail(t, func(t *testing.T, n *servertest.Node, box *smtptest.Server) {
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
	servertest.OnMail(t, func(t *testing.T, n *servertest.Node, box *smtptest.Server) {
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
			waits = append(waits, maker.Post("/v1/directory/"+entry+"/receiving-methods", servertest.Account("0001")).OK().Text("approval_id"))
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

func TestAnApprovalThatCannotBeOpenedDelaysNoOtherNotice(t *testing.T) {
	servertest.OnMail(t, func(t *testing.T, n *servertest.Node, box *smtptest.Server) {
		x, maker, second := n.Pair(t)
		id := maker.Post("/v1/directory/"+x.Entry("Payee")+"/receiving-methods", servertest.Account("0001")).OK().Text("approval_id")
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

// heldMail waits for a mail about a payout that is held, to an address.
func heldMail(t *testing.T, box *smtptest.Server, to, payoutID string) smtptest.Received {
	t.Helper()
	for all := 1; ; all++ {
		if m := box.Wait(t, all)[all-1]; slices.Equal(m.To, []string{to}) && strings.Contains(m.Text, payoutID) {
			return m
		}
	}
}

// holdOne makes a payout that a limit holds when it is due, and returns its id.
func holdOne(t *testing.T, n *servertest.Node, x *servertest.Tenant, maker *servertest.Client, approve func(approvalID string)) string {
	t.Helper()
	sending := func(step string, b body) { x.Owner.Post(x.Path(step), b).OK() }
	sending("/payout-stop", body{"reason": "the limit comes first", "mode": "sandbox"})
	p := maker.Post("/v2/payout-requests", body{"source_account_id": x.Account(100_000), "amount_cents": 10_000, "currency": "PHP",
		"settlement_account": body{"bank_account_name": "Planted Payee", "bank_account_number": "1234567890", "bank_code": "BOPIPHMMXXX"}}).Created()
	if waits := p.Text("approval_id"); waits != "" {
		approve(waits)
	}
	x.Owner.Post("/v2/limits", body{"workspace_id": x.WorkspaceID, "per": "payout", "amount_cents": 5_000}).OK()
	sending("/payout-resume", body{"mode": "sandbox"})
	wait.Until(t, "the payout is held", func() bool { // by the node in the background, maybe
		n.RunPayouts(t)
		return maker.Get("/v2/payout-requests/"+p.Text("id")).OK().Text("attention") == "recheck"
	})
	return p.Text("id")
}

// Each is told once, when the payout is held, and not by the housekeeping. No mail names a payee.
func TestRequesterAndApproversAreMailedWhatHoldsAPayout(t *testing.T) {
	servertest.OnMail(t, func(t *testing.T, n *servertest.Node, box *smtptest.Server) {
		x, maker, second := n.Pair(t)
		third := x.Member("disbursement_authorizer")
		x.EverybodyCounts()
		id := holdOne(t, n, x, maker, func(waits string) { second.Approve(waits).OK() })
		waits := maker.Get("/v2/payout-requests/" + id).OK().Text("recheck_approval_id")
		for to, want := range map[string][2]string{
			maker.Email():  {"A payout of yours is on hold", "/w/" + x.WorkspaceID + "/payouts/" + id},
			second.Email(): {"A payout on hold needs your approval", "/w/" + x.WorkspaceID + "/approvals/" + waits},
			third.Email():  {"A payout on hold needs your approval", "/w/" + x.WorkspaceID + "/approvals/" + waits},
		} {
			m := heldMail(t, box, to, id)
			if m.Subject != want[0] || !strings.Contains(m.Text, "at most 50.00 by one payout") || !strings.Contains(m.Text, want[1]) || strings.Contains(m.Text, "Planted") {
				t.Errorf("%s is told %q: %s", to, m.Subject, m.Text)
			}
		}
		if err := n.Server.Tidy(t.Context()); err != nil {
			t.Fatal(err)
		}
		second.Post("/v1/approvals/"+waits+"/reject", body{"reason": "no more"}).OK()
		if err := n.Server.Tidy(t.Context()); err != nil {
			t.Fatal(err)
		}
		about := 0
		for all := 1; ; all++ { // the last one is of the rejection
			m := box.Wait(t, all)[all-1]
			if strings.Contains(m.Text, "held") || strings.Contains(m.Subject, "held") {
				about++
			}
			if m.Subject == "Your held payout is rejected" {
				break
			}
		}
		if about > 4 {
			t.Errorf("%d mails about one payout", about)
		}
	})
}

func TestARequesterAloneIsMailedToConfirmAHeldPayout(t *testing.T) {
	servertest.OnMail(t, func(t *testing.T, n *servertest.Node, box *smtptest.Server) {
		x := n.Tenant(t)
		id := holdOne(t, n, x, x.Owner, nil)
		m := heldMail(t, box, x.Owner.Email(), id)
		if m.Subject != "A payout of yours is on hold: confirm it" || !strings.Contains(m.Text, "at most 50.00 by one payout") || !strings.Contains(m.Text, "sign in again and confirm it") {
			t.Errorf("the requester is told %q: %s", m.Subject, m.Text)
		}
	})
}

func TestTheOwnerOfAMachineClientIsMailedWhatHoldsItsPayout(t *testing.T) {
	servertest.OnMail(t, func(t *testing.T, n *servertest.Node, box *smtptest.Server) {
		x := n.Tenant(t)
		by := db.Caller{}
		by.ID = x.Owner.UserID
		id, secret, err := n.Identity.CreateClient(t.Context(), by, x.WorkspaceID, "Payroll robot", "disbursement_manager")
		if err != nil {
			t.Fatal(err)
		}
		robot := n.Holder(t, n.Exchange(t, servertest.Basic(id, secret)).OK().Text("token"))
		m := heldMail(t, box, x.Owner.Email(), holdOne(t, n, x, robot, nil))
		if m.Subject != "A payout of your machine client “Payroll robot” is on hold" || !strings.Contains(m.Text, "a machine client cannot confirm it") {
			t.Errorf("the owner is told %q: %s", m.Subject, m.Text)
		}
	})
}

// Thousands of accounts in a file are one approval, of which an approver gets one mail.
func TestAFileOfThousandsOfLinesIsOneApprovalAndOneMail(t *testing.T) {
	dbtest.TakesSeconds(t)
	servertest.OnMail(t, func(t *testing.T, n *servertest.Node, box *smtptest.Server) {
		x := n.Tenant(t)
		second := x.Member("admin")
		const count = 2000 // of which an import takes a few hundred in a transaction, and a decision fewer
		var lines strings.Builder
		for i := range count {
			fmt.Fprintf(&lines, "person,Payee %d,bank,Payee %d,1000%05d\n", i, i, i)
		}
		id := x.ImportLines(lines.String())
		waits := x.Owner.Get("/v1/approvals?state=pending&workspace_id=" + x.WorkspaceID).OK().Column("id")
		if !slices.Equal(waits, []string{id}) {
			t.Fatalf("%v wait", waits)
		}
		if err := n.Server.Tidy(t.Context()); err != nil {
			t.Fatal(err)
		}
		for all := 1; ; all++ {
			if m := box.Wait(t, all)[all-1]; strings.Contains(m.Subject, "for your approval") && slices.Equal(m.To, []string{second.Email()}) {
				break
			}
		}
		if left := n.Count(t, `SELECT count(*) FROM approval WHERE told <> state`); left != 0 {
			t.Errorf("%d approvals are still to be told of", left)
		}
		n.Person(t, second).Approve(id).OK()
		n.RunDecisions(t)
		wait.Until(t, "all lines are carried out", func() bool { // by the node in the background, maybe
			return n.Count(t, `SELECT count(*) FROM directory_import_line WHERE state = 'approved'`) == count
		})
		if left := n.Count(t, `SELECT count(*) FROM receiving_method WHERE status <> 'active'`); left != 0 {
			t.Errorf("%d methods are not approved", left)
		}
	})
}
