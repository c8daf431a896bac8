package cli

import (
	"strings"
	"testing"

	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
)

// Anyone who removes the last approver, or their role, reads how many approvals no one can decide any more.
func TestRemovingAnApproverShowsWhatWaits(t *testing.T) {
	t.Parallel()
	n := servertest.Start(t, dbtest.SQLite(t))
	for _, args := range [][]string{{"members", "remove", "--yes"}, {"roles", "remove"}} {
		x := n.Tenant(t)
		approver := x.Member("disbursement_authorizer")
		x.Owner.Post("/v1/directory/"+x.Entry("Payee")+"/receiving-methods", servertest.Account("1")).OK()
		args = append(args, approver.Email())
		if args[0] == "roles" {
			args = append(args, "disbursement_authorizer")
		}
		terminal, _, stderr := pipes("BURSAR_URL", n.URL, "BURSAR_TOKEN", x.Owner.Token, "BURSAR_WORKSPACE", x.WorkspaceID, "BURSAR_KEYRING", "off",
			"BURSAR_CONFIG_DIR", t.TempDir())
		if code := Run(t.Context(), args, terminal); code != exitOK || !strings.Contains(stderr.String(), "Pending approvals that no one who is left can decide: 1.") {
			t.Errorf("%v ends with %d: %s", args, code, stderr)
		}
	}
}
