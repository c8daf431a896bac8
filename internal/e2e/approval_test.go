package e2e_test

import (
	"strings"
	"testing"

	"bursar/api"
	"bursar/internal/server/servertest"
)

// Anyone who logs in by a device code that they approve at a browser approves at the command line:
// what the screen shows, or what has the digest that they give.
func TestApproveAtTheCommandLine(t *testing.T) {
	t.Parallel()
	s, n, code := login(t, true)
	x := n.FirstTenant(t)
	second := x.Member("admin")
	entry := x.Entry("Ada Lovelace")
	ask := func(number string) api.Approval {
		t.Helper()
		id := x.Owner.Post("/v1/directory/"+entry+"/receiving-methods", servertest.Account(number)).OK().Text("approval_id")
		return servertest.Decoded[api.Approval](x.Owner.Get("/v1/approvals/" + id))
	}
	n.ApproveAtBrowser(t, second, code)
	if got := s.end(); got != 0 {
		t.Fatalf("login ends with %d:\n%s", got, s.shown)
	}
	shown := ask("111122223333")
	s.begin(true, "approvals", "approve", shown.ID, "--verification", "called Ada")
	s.sees("111122223333")
	s.sees("Approve this?")
	if _, err := s.screen.WriteString("y\n"); err != nil {
		t.Fatal(err)
	}
	if got := s.end(); got != 0 || !strings.Contains(s.shown.String(), "New receiving method of Ada Lovelace is approved.") {
		t.Errorf("approve ends with %d:\n%s", got, s.shown)
	}
	given := ask("444455556666")
	if got := s.run("approvals", "approve", given.ID, "--verification", "called Ada", "--digest", shown.Digest); got.Code == 0 || !strings.Contains(got.Err, "look at it again") {
		t.Errorf("another digest: %d %s", got.Code, got.Err)
	}
	if got := s.run("approvals", "approve", given.ID, "--verification", "called Ada", "--digest", given.Digest, "--jq", ".state"); got.Code != 0 || got.Out != "approved\n" {
		t.Errorf("approve with the digest: %d %s%s", got.Code, got.Out, got.Err)
	}
	for _, id := range []string{shown.ID, given.ID} {
		a := servertest.Decoded[api.Approval](x.Owner.Get("/v1/approvals/" + id))
		if a.State != api.ApprovalApproved || a.DecidedBy == nil || a.DecidedBy.ID != second.UserID || a.Verification != "called Ada" {
			t.Errorf("%s is %+v", id, a)
		}
	}
}
