package mail_test

import (
	"fmt"
	"strings"
	"testing"

	"bursar/internal/mail"
)

func TestAMailAboutHeldPayoutsNamesAFewAndCountsAll(t *testing.T) {
	h := mail.HeldPayouts{To: recipient, Workspace: "Payroll", Task: mail.ApproveHeld, Link: secret, Payouts: []mail.HeldPayout{
		{ID: "bat_1", Batch: 3, Why: "the limit lim_1: at most 50.00 by one payout"},
	}}
	for i := range 30 {
		h.Payouts = append(h.Payouts, mail.HeldPayout{ID: fmt.Sprint("po_", i), Why: "the rule rul_1"})
	}
	got := arrive(t, h.Message())
	if got.Subject != "33 payouts on hold need your approval" {
		t.Errorf("subject: %q", got.Subject)
	}
	for _, part := range []string{
		"33 payouts in the workspace “Payroll” on Bursar are on hold.", "Batch bat_1, payouts: 3. Held by the limit lim_1: at most 50.00 by one payout.",
		"Payout po_18. Held by the rule rul_1.", "And 11 more.", secret,
	} {
		if !strings.Contains(got.Text, part) || !strings.Contains(got.HTML, part) {
			t.Errorf("%q is not in both of\n%s\n%s", part, got.Text, got.HTML)
		}
	}
	if strings.Contains(got.Text, "po_19") {
		t.Errorf("the mail is endless:\n%s", got.Text)
	}
}

// The creator of the client chose its name.
func TestAMailAboutHeldPayoutsShowsNamesAsPlainText(t *testing.T) {
	m := mail.HeldPayouts{To: recipient, Task: mail.EndHeld, Client: "x\r\nBcc: evil@example.com", Payouts: []mail.HeldPayout{{ID: "po_1"}}, Link: secret}.Message()
	if strings.ContainsAny(m.Subject, "\r\n") || strings.Contains(m.Text, "evil@example.com") {
		t.Errorf("the message is %q: %s", m.Subject, m.Text)
	}
}
