package e2e_test

import (
	"strings"
	"testing"
	"time"

	"bursar/internal/server/servertest"
)

// Where no other person could approve it, the requester of a held payout releases it after a fresh login at the command line.
func TestConfirmAtTheCommandLine(t *testing.T) {
	t.Parallel()
	s, n, code := login(t, true)
	x := n.FirstTenant(t)
	n.ApproveAtBrowser(t, x.Owner, code)
	if got := s.end(); got != 0 {
		t.Fatalf("login ends with %d:\n%s", got, s.shown)
	}
	for _, id := range []string{"first", "second"} {
		if got := s.run("payouts", "create", "--bank-code", "BOPIPHMMXXX", "--account-number", "1234567890", "--account-name", "Ada", "--amount", "5,000", "--external-id", id); got.Code != 0 {
			t.Fatalf("create ends with %d: %s", got.Code, got.Err)
		}
	}
	x.Owner.Post("/v2/limits", servertest.Body{"workspace_id": x.WorkspaceID, "per": "payout", "amount_cents": 400_000}).Created()
	n.RunPayouts(t)
	if got := s.run("payouts", "confirm", "first"); got.Code != 0 || !strings.HasPrefix(got.Err, "PHP 5,000.00 to Ada is pending (sandbox), over instapay") {
		t.Errorf("confirm ends with %d: %s", got.Code, got.Err)
	}
	n.RunPayouts(t)
	if got := s.run("payouts", "watch", "first"); got.Code != 0 || got.Out != "completed\n" {
		t.Errorf("the released payout is %s%s", got.Out, got.Err)
	}
	n.Clock.Advance(16 * time.Minute)
	if got := s.run("payouts", "confirm", "second"); got.Code != 1 || !strings.Contains(got.Err, "\nRun 'bursar login', then try again.\n") {
		t.Errorf("confirm without a fresh login ends with %d: %s", got.Code, got.Err)
	}
}
